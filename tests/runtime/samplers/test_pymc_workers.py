"""Processes that PyMC's samplers start: forked where functions need no threads, and none that runs a script again."""

import multiprocessing
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytensor
import pytest
from pytensor.tensor.fft import rfft

import hlograph
from hlograph.errors import OptionError

pm = pytest.importorskip("pymc", minversion="6.3")

from pymc_models import regression  # noqa: E402

import hlograph.pymc  # noqa: E402
from hlograph.runtime.samplers import hooks as workers  # noqa: E402

FORKS = pytest.mark.skipif(
    multiprocessing.get_start_method() != "fork" or platform.machine() not in ("x86_64", "AMD64"),
    reason="processes are forked where that is the default, and functions called directly on x86",
)
QUICK: dict[str, Any] = {"progressbar": False, "random_seed": 3, "compute_convergence_checks": False}
MODE = {"compile_kwargs": {"mode": "STABLEHLO"}}


def sampled(make: Callable[[], Any], count: bool = False, **options: Any) -> Any:
    with regression(count):
        return pm.sample(
            30, **{"tune": 30, "chains": 2, "step": make(), "nuts_sampler": "pymc", **MODE, **QUICK, **options}
        )


@pytest.fixture(autouse=True, scope="module")
def _installed() -> Iterator[None]:
    """Also where another test has taken out what the import puts into PyMC."""
    hlograph.pymc.install(nutpie=False)
    yield
    hlograph.pymc.uninstall()


STEPS: dict[str, Callable[[], Any]] = {
    "NUTS": lambda: None,
    "Metropolis": lambda: pm.Metropolis(**MODE),
    "Slice": lambda: pm.Slice(**MODE),
    "Gibbs": lambda: None,
}


@FORKS
@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", STEPS)
def test_functions_that_are_called_directly_run_in_forked_processes(name: str, monkeypatch: Any) -> None:
    """With what shared variables hold there, from the first call on; the draws are those of one process."""
    found: list[str] = []
    fitting = workers._fitting
    monkeypatch.setattr(workers, "_fitting", lambda *args: found.append(fitting(*args)) or found[-1])
    monkeypatch.setattr(workers, "unguarded", lambda: "nowhere")
    several, one = (sampled(STEPS[name], count=name == "Gibbs", cores=cores) for cores in (2, 1))
    assert [context.get_start_method() for context in found] == ["fork"]
    for variable in one.posterior:
        np.testing.assert_array_equal(several.posterior[variable], one.posterior[variable])


@FORKS
@pytest.mark.filterwarnings("ignore:os.fork")
def test_a_step_in_the_mode_beside_another_mode() -> None:
    """PyMC is not told of the mode, and forks."""
    with regression():
        found = pm.sample(20, tune=20, chains=2, cores=2, step=pm.Metropolis(**MODE), **QUICK)
    assert np.isfinite(found.posterior.slopes).all()


def in_fft() -> Any:
    with pm.Model() as made:
        spectrum = rfft(pm.Normal("b", shape=(1, 8)))
        pm.Normal("y", spectrum.sum(), 1, observed=2.0)
    return made


def test_functions_that_need_threads_are_not_forked(monkeypatch: Any) -> None:
    """By PyMC's choice they get others; who insists on a fork is warned."""
    monkeypatch.setattr(workers.multiprocessing, "get_start_method", lambda: "fork")
    with in_fft() as made:
        step = pm.Metropolis(**MODE)
    point = made.initial_point()
    work = [*workers._works(step)]
    context = multiprocessing.get_context("spawn")
    chosen = workers.Workers(context, given=False)
    assert workers._fitting(chosen, work, point) is chosen
    if "fork" in multiprocessing.get_all_start_methods():
        given = workers.Workers(multiprocessing.get_context("fork"), given=True)
        with pytest.warns(UserWarning, match="not called directly.*wait for ever"):
            assert workers._fitting(given, work, point) is given


def test_what_pymc_chooses() -> None:
    from pymc.sampling.parallel import _initialize_multiprocessing_context as context

    for mode, given, wanted in [
        ("STABLEHLO", None, {"forkserver", "spawn"}),
        (hlograph.Mode(), "spawn", {"spawn"}),
        ("FAST_COMPILE", None, {multiprocessing.get_start_method()}),
    ]:
        assert context(given, mode=mode).get_start_method() in wanted
    with pytensor.config.change_flags(mode="STABLEHLO"):
        assert isinstance(context(None), workers.Workers)


def pathfinder(**options: Any) -> None:
    extras = pytest.importorskip("pymc_extras")
    extras.fit(method="pathfinder", num_paths=2, cores=2, progressbar=False, random_seed=1, **MODE, **options)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "run",
    [
        lambda: pm.sample_smc(20, chains=2, cores=2, progressbar=False, random_seed=1, **MODE),
        lambda: pm.sample(20, tune=20, cores=2, nuts_sampler="pymc", mp_ctx="spawn", **MODE, **QUICK),
        pathfinder,
    ],
    ids=["sequential Monte Carlo", "spawn", "Pathfinder"],
)
def test_a_script_without_a_guard_stops_before_the_first_worker(run: Callable[[], Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(workers, "unguarded", lambda: "line 7 is under no guard")
    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", lambda self: pytest.fail("a process"))
    with regression(), pytest.raises(OptionError, match=r"line 7 is under no guard: .*__main__.*cores=1"):
        run()


def test_a_population_is_stepped_in_one_process() -> None:
    """PyMC would fork, and compile there."""
    assert np.isfinite(sampled(lambda: pm.DEMetropolis(**MODE), chains=4, cores=2).posterior.slopes).all()


SCRIPTS = {
    "probe()": True,
    "import sys\nfor i in range(1):\n    probe(\n        i\n    )": True,
    "def run():\n    probe()\nif 1:\n    run()": True,
    'if __name__ == "__main__":\n    x = 1\nprobe()': True,
    'if __name__ == "__main__":\n    probe()': False,
    'def run():\n    probe()\nif __name__ == "__main__":\n    run()': False,
    '__name__ == "__main__" and probe()': False,
    'x = probe() if __name__ == "__main__" else None': False,
    'def run():\n    if __name__ == "__main__":\n        probe()\nrun()': False,
    'def run():\n    if __name__ != "__main__":\n        return\n    probe()\nrun()': False,
    'import sys\nif __name__ != "__main__":\n    sys.exit()\nprobe()': False,
    "import multiprocessing\nif multiprocessing.parent_process() is None:\n    probe()": False,
    "exec('probe()')": True,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_line_of_a_script_that_comes_to_a_sampler(script: str, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "script.py"
    path.write_text(script)
    found: list[str] = []
    main = ModuleType("__main__")
    vars(main).update(__file__=str(path), probe=lambda *_: found.append(workers.unguarded()))
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(compile(script, str(path), "exec"), vars(main))
    assert [bool(place) for place in found] == [SCRIPTS[script]]


@pytest.mark.parametrize(("name", "found"), [(None, False), ("<stdin>", True), ("ipython.py", False)])
def test_main_modules_that_are_no_scripts(name: str | None, found: bool, monkeypatch: Any) -> None:
    """Notebooks and `python -c` have no file, standard input one that is not there."""
    main = ModuleType("__main__")
    if name is not None:
        main.__file__ = name
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert bool(workers.unguarded()) == found


@FORKS
@pytest.mark.skipif("HLOGRAPH_NIGHTLY" not in os.environ, reason="another process imports PyMC")
def test_a_plain_script(tmp_path: Path) -> None:
    """The functions of a count and a number are called directly; a sampler that compiles in its workers is refused."""
    path = tmp_path / "plain.py"
    path.write_text(
        """
import warnings
import pymc as pm
import hlograph.pymc

print("once")
with pm.Model():
    pm.Normal("y", pm.Poisson("k", 3), 1, observed=2.0)
    trace = pm.sample(50, tune=50, chains=2, cores=2, progressbar=False, backend="STABLEHLO")
    print(trace.posterior.sizes)
    pm.sample_smc(20, chains=2, cores=2, progressbar=False, backend="STABLEHLO")
"""
    )
    found = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=200)
    assert found.stdout.count("once") == 1
    assert "'chain': 2" in found.stdout
    assert "OptionError: " in found.stderr
    assert "line 11 of plain.py" in found.stderr
