"""A model in processes that have no JAX: the C example and the Python one, built and run, beside NumPy."""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import plugin
import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "without_jax.py"
pytestmark = pytest.mark.skipif(plugin.library() is None, reason=plugin.MISSING)


def expected(n: int) -> list[float]:
    """Loss and gradient, by NumPy."""
    i = np.arange(3000)
    features = (i * 7919 % 2003 / 1001.5 - 1).reshape(1000, 3)[:n]
    labels = (i[:n] ** 2 * 7919 % 2003 / 1001.5 - 1 > 0).astype(float)
    eta = features @ [0.5, -0.25, 0.125]
    loss = np.logaddexp(0, eta).sum() - labels @ eta
    return [loss, *((1 / (1 + np.exp(-eta)) - labels) @ features)]


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the model is."""
    made = tmp_path_factory.mktemp("model")
    written = run(sys.executable, EXAMPLE, "write", made)
    assert written.returncode == 0, written.stderr
    return made


def check(lines: Sequence[str]) -> None:
    """Three lengths are NumPy's, and the fourth is above the bound."""
    assert len(lines) == 4
    for n, line in zip((1, 100, 1000), lines[:3], strict=True):
        assert line.startswith(f"{n}: loss")
        found = [float(word) for word in re.findall(r"-?\d[\d.e+-]*", line.partition(":")[2])]
        np.testing.assert_allclose(found, expected(n), rtol=1e-12)
    assert re.match("1001: .*(check 1|n must hold)", lines[3])


def test_in_python(folder: Path) -> None:
    """In a process in which neither JAX nor hlograph can be imported."""
    without = "import sys; sys.modules.update(dict.fromkeys(['jax', 'jaxlib', 'hlograph', 'pytensor'])); import runpy; "
    without += f"sys.argv[1:] = {['run', str(folder), str(plugin.library())]!r}; "
    done = run(sys.executable, "-c", without + f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')")
    assert done.returncode == 0, done.stderr
    check(done.stdout.splitlines())


@pytest.mark.skipif(shutil.which("cc") is None or shutil.which("make") is None, reason="there is no C compiler")
def test_in_c(folder: Path) -> None:
    """Warnings are errors; so is a file that is no model, in the plugin's words."""
    library = plugin.library()
    assert library is not None
    program = folder / "run_model"
    words = ["make", "-s", "-C", ROOT, f"PJRT_HEADER={library.parent / 'include'}", "-f", ROOT / "Makefile"]
    compiled = run(*words, "build/c/run_model", f"PY={sys.executable}")
    assert compiled.returncode == 0, compiled.stderr
    shutil.copy(ROOT / "build" / "c" / "run_model", program)
    done = run(program, library, folder / "logistic.mlirbc")
    assert done.returncode == 0, done.stderr
    check(done.stdout.splitlines())
    for arguments, message in (
        ((), "usage"),
        (("no_such_plugin.so", folder / "logistic.mlirbc"), "no_such_plugin"),
        ((library, folder / "no_such_file"), "no_such_file"),
        ((library, folder / "logistic.json"), "Client_Compile: "),
    ):
        refused = run(program, *arguments)
        assert refused.returncode == 1
        assert message in refused.stderr
