"""Ctrl-C while a first call imports and compiles: the next one works."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import hlograph

NIGHTLY = "HLOGRAPH_NIGHTLY" in os.environ

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
import hlograph

# A process that was started in the background ignores Ctrl-C, and so do those that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

def work():
    fn = hlograph.load(sys.argv[1], trusted=True).compile(outputs=sys.argv[2])
    return float(fn(np.ones((5, 8), np.float32)))

def until_done():
    interrupts = 0
    while True:
        try:
            return work(), interrupts
        except KeyboardInterrupt:
            interrupts += 1
"""

AT_IMPORTS = """
class Interrupting:
    left = ["jaxlib.mlir.dialects._stablehlo_ops_gen", "jax._src.interpreters.mlir", "jaxlib.mlir.dialects.mhlo"]

    def find_spec(self, name, path=None, target=None):
        if name in self.left:
            self.left.remove(name)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
print(*until_done(), Interrupting.left)
"""

AT_TIMES = """
def kill():
    time.sleep(float(sys.argv[3]))
    os.kill(os.getpid(), signal.SIGINT)

thread = threading.Thread(target=kill)
thread.start()
found, _ = until_done()
try:
    thread.join()
    time.sleep(0.1)
except KeyboardInterrupt:
    pass
print(found, work())
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = hlograph.jit(lambda x: jnp.tanh(x).sum(), dims={"x": ("n", 8)}).program(np.ones((3, 8), np.float32))
    return program.save(tmp_path_factory.mktemp("programs") / "f.mlir")


def run(script: str, *args: object) -> list[str]:
    code = PRELUDE + textwrap.dedent(script)
    found = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, timeout=120, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


def test_in_imports(saved: Path) -> None:
    value, interrupts, left = run(AT_IMPORTS, saved, "jax")
    assert float(value) == pytest.approx(40 * np.tanh(1.0), rel=1e-6)
    assert (int(interrupts), left) == (3, "[]")


@pytest.mark.skipif(not NIGHTLY, reason="takes minutes")
@pytest.mark.parametrize("outputs", ["jax", "numpy"])
@pytest.mark.parametrize("moment", np.arange(0.0, 4.0, 0.1).round(2))
def test_at_any_moment(saved: Path, outputs: str, moment: float) -> None:
    expected = pytest.approx(40 * np.tanh(1.0), rel=1e-6)
    assert [float(value) for value in run(AT_TIMES, saved, outputs, moment)] == [expected, expected]
