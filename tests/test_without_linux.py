"""hlograph on a system without what Linux and macOS have: `fork`, users, process groups, some signals and modules."""

import subprocess
import sys
from pathlib import Path

CODE = """
import os, pkgutil, signal, sys, warnings
from importlib import import_module

warnings.simplefilter("ignore")
for name in ("jax", "scipy", "pytensor", "pymc", "nutpie", "numpyro"):
    import_module(name)  # which ask the system for what this process loses now

for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "geteuid", "getuid", "killpg", "nice", "register_at_fork", "sched_getaffinity", "sysconf"):
    delattr(os, name)
for name in ("SIGBUS", "SIGSYS", "SIGTRAP", "pthread_sigmask"):
    delattr(signal, name)
sys.platform = "another"

import hlograph

folder = os.path.dirname(os.path.dirname(hlograph.__file__))
names = ["hlograph"]
for top in ("codegen", "dialects", "runtime", "tools"):
    names += [m.name for m in pkgutil.walk_packages([os.path.join(folder, top)], f"hlograph.{top}.")]
for name in names:
    if "aesara" not in name and not name.endswith("__main__"):
        import_module(name)

import numpy as np
import pytensor.tensor as pt

x = pt.dvector("x")
data = np.arange(3.0)
program = hlograph.emit_stablehlo(([x], pt.exp(x).sum()))
path = program.save("model.mlir")
foreign = "func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> { return %x : tensor<3xf64> }"
for function in (
    hlograph.function([x], pt.exp(x).sum()),
    hlograph.function([x], pt.exp(x).sum(), outputs="numpy"),
    hlograph.load(path).compile(outputs="numpy"),
):
    np.testing.assert_allclose(function(data), np.exp(data).sum(), rtol=1e-12)
np.testing.assert_array_equal(hlograph.Program.parse(foreign).compile()(data), data)
np.testing.assert_array_equal(hlograph.jit(lambda x: x + 1, dims={"x": ("n",)})(data), data + 1)
print("modules:", len([name for name in sys.modules if name.startswith("hlograph")]))
"""


def test_everything_imports_and_runs_without_what_linux_has(tmp_path) -> None:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    repository = Path(__file__).resolve().parent.parent
    files = [path for top in ("codegen", "dialects", "runtime", "tools") for path in (repository / top).rglob("*.py")]
    named = [path for path in files if "aesara" not in str(path.relative_to(repository)) and path.name != "__main__.py"]
    assert int(done.stdout.split()[-1]) > len(named)
