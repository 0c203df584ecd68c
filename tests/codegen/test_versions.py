"""What is installed and does not fit: said at import, in words that name what was found and what is needed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import numpy as np
import pytensor.tensor as pt
import pytest

import hlograph
from hlograph.codegen import versions
from hlograph.codegen.ir import jax_compat
from hlograph.errors import UnsupportedVersionError
from hlograph.runtime.direct import verdict

REPOSITORY = Path(__file__).resolve().parents[2]
INSTALLED = {
    "jax": ("0.12.0", ["jaxlib<=0.12.0,>=0.11.2", "numpy>=2.2", 'jaxlib==0.11.2; extra == "minimum-jaxlib"']),
    "jaxlib": ("0.12.0", []),
    "numpy": ("2.4.1", []),
    "pytensor": ("3.3.7", ["scipy<2,>=1", "numpy>=2.0"]),
    "aesara": ("2.9.4", ["numpy<2.0.0,>=1.17.0", "scipy<=1.12.0,>=0.14"]),
}


@pytest.fixture
def installed(monkeypatch):
    """Sets what seems to be installed; None is a package that is not."""

    def pretend(**changes: str | None) -> None:
        def version(name: str) -> str:
            found = changes.get(name, INSTALLED[name][0])
            if found is None:
                raise versions.PackageNotFoundError(name)
            return found

        monkeypatch.setattr(versions, "version", version)
        monkeypatch.setattr(versions, "requires", lambda name: INSTALLED[name][1])

    return pretend


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"jax": "0.7.0"}, ["needs jax >= 0.7.1", "found 0.7.0"]),
        (
            {"jax": "0.6.2", "jaxlib": None},
            ["needs jax >= 0.7.1 (found 0.6.2) and jaxlib >= 0.7.1 (none"],
        ),
        ({"jax": None}, ["needs jax >= 0.7.1", "none is installed"]),
        ({"jaxlib": "0.6.2"}, ["needs jaxlib >= 0.7.1", "found 0.6.2"]),
        ({"numpy": "1.25.2"}, ["needs numpy >= 1.26", "found 1.25.2"]),
        ({"jaxlib": "0.11.1"}, ["jax 0.12.0 needs jaxlib", ">= 0.11.2", "found 0.11.1"]),
        ({"jaxlib": "0.12.0.1"}, ["jax 0.12.0 needs jaxlib", "<= 0.12.0", "found 0.12.0.1"]),
        ({"numpy": "2.1.3"}, ["jax 0.12.0 needs numpy >= 2.2", "found 2.1.3"]),
    ],
)
def test_what_hlograph_itself_needs(installed, changes, words):
    installed(**changes)
    with pytest.raises(UnsupportedVersionError) as error:
        versions.check_core()
    assert [word for word in words if word not in str(error.value)] == []
    assert isinstance(error.value, ImportError)


@pytest.mark.parametrize("changes", [{}, {"jaxlib": "0.11.2"}, {"jax": "0.12", "numpy": "2.2.0rc1"}])
def test_what_fits(installed, changes):
    installed(**changes)
    versions.check_core()
    versions.check_library("pytensor")


@pytest.mark.parametrize(
    ("package", "changes", "words"),
    [
        ("pytensor", {"pytensor": "2.37.0"}, ["needs pytensor >= 2.38", "found 2.37.0"]),
        ("pytensor", {"numpy": "1.26.4"}, ["pytensor 3.3.7 needs numpy >= 2.0", "found 1.26.4"]),
        ("aesara", {}, ["aesara 2.9.4 needs numpy", "< 2.0.0", "found 2.4.1"]),
        ("aesara", {"aesara": "2.8.12"}, ["needs aesara >= 2.9", "found 2.8.12"]),
    ],
)
def test_what_a_graph_library_needs(installed, package, changes, words):
    installed(**changes)
    with pytest.raises(UnsupportedVersionError) as error:
        versions.check_library(package)
    assert [word for word in words if word not in str(error.value)] == []


def test_the_minima_are_those_that_installers_see():
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert settings["dependencies"] == [f"{name}>={minimum}" for name, minimum in versions.MINIMA.items()]
    assert f"pytensor>={versions.LIBRARY_MINIMA['pytensor']}" in settings["optional-dependencies"]["pytensor"]


def test_importing_imports_no_library():
    code = "import hlograph, sys; print({'jax', 'jaxlib', 'numpy', 'pytensor', 'aesara'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"


# ---- a jaxlib that nobody has tried yet ------------------------------------------------------------------------------


def test_a_jaxlib_that_nobody_has_tried_runs_everything_and_stats_say_what_is_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = pt.dvector("x")
    assert jax_compat.proven_jaxlib()
    assert hlograph.function([x], x + 1).stats.unproven == ""
    monkeypatch.setattr(verdict, "proven_jaxlib", lambda: False)
    monkeypatch.setattr(jax_compat, "own_call", lambda compiled: compiled.no_such_name)
    monkeypatch.setenv(verdict.SWITCH, "0")
    function = hlograph.function([x], pt.exp(x).sum(), policy="padded", outputs="numpy")
    for size in (3, 5):
        np.testing.assert_allclose(function(np.arange(float(size))), np.exp(np.arange(size)).sum(), rtol=1e-12)
    assert "is not one that the tests have run with (0.7 to 0.12)" in function.stats.unproven
    assert function.stats.unproven.endswith("; switched off by HLOGRAPH_DIRECT")
    assert hlograph.jit(lambda x: x + 1)(1) == 2


WITHOUT = {
    (
        "jax",
        "jaxlib",
    ): "hlograph needs jax >= 0.7.1 (none is installed) and jaxlib >= 0.7.1 (none is installed). Install",
    ("jax",): "hlograph needs jax >= 0.7.1 (none is installed). Install with: pip install 'jax>=0.7.1'",
    ("jaxlib",): f"jax {jax.__version__} needs jaxlib",
}


@pytest.mark.parametrize("missing", WITHOUT)
def test_without_jax_it_can_be_imported_and_its_first_use_says_what_is_missing(missing: tuple[str, ...]) -> None:
    """Every public name, also after the first; the command line has its help."""
    code = f"""
import sys
sys.modules.update(dict.fromkeys({missing!r}))
import hlograph, hlograph.errors
assert "jit" in dir(hlograph) and hlograph.__version__
free = ["HlographError", "__version__", "errors", "lowers"]
for name in set(hlograph.__all__) - set(free):
    try:
        getattr(hlograph, name)
    except hlograph.errors.UnsupportedVersionError as error:
        assert str(error).startswith({WITHOUT[missing]!r}), error
        assert "pip install" in str(error)
    else:
        raise AssertionError(name)
for name in ("pytensor", "nutpie", "pymc", "passes"):
    try:
        __import__("hlograph." + name)
    except ImportError as error:
        assert str(error).startswith({WITHOUT[missing]!r}), error
import runpy
for words, code in (["--help"], 0), (["run", "--help"], 0), (["--version"], 0), (["run", "no.mlir"], 1):
    sys.argv = ["hlograph", *words]
    try:
        runpy.run_module("hlograph", run_name="__main__")
    except SystemExit as end:
        assert end.code == code, (words, end.code)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage: hlograph run" in done.stdout
    assert done.stderr.startswith(f"hlograph: error: {WITHOUT[missing]}")


def test_what_is_installed_is_shown_without_jax(monkeypatch, capsys):
    pytest.importorskip("click")
    from hlograph.tools.cli import main

    def version(package: str) -> str:
        if package == "jaxlib":
            raise versions.PackageNotFoundError(package)
        return "1.2"

    monkeypatch.setattr("importlib.metadata.version", version)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "hlograph 1.2 (jax 1.2, no jaxlib)\n"
