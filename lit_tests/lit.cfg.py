"""lit's settings: every .py and .mlir file below this folder is a test, run by the environment that lit runs in."""

import atexit
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent
build = here.parent / "build" / "lit"
# Not resolved: in a virtual environment the interpreter is a link to the system's, and its folder has our scripts.
bin_folder = Path(sys.executable).parent
# As tests/conftest.py: in an environment that two checkouts use, the tests of one would run the code of the other.
found = Path(importlib.util.find_spec("hlograph.codegen").origin).resolve().parent.parent
if found != here.parent:
    lit_config.fatal(f"these tests are {here.parent}'s, but `import hlograph` finds {found}'s: run `make setup` here")

config.name = "hlograph"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".py", ".mlir"]
config.excludes = [
    "lit.cfg.py",
    "common.py",
    "terms.py",
    "building.py",
    "forks.py",
    "inputs",
    "Inputs",
    "__pycache__",
]
config.test_source_root = str(here)
config.test_exec_root = str(build)

config.environment["JAX_PLATFORMS"] = "cpu"
config.environment["PYTENSOR_FLAGS"] = f"base_compiledir={build / 'pytensor'}"
config.environment["PYTHONWARNINGS"] = os.environ.get("PYTHONWARNINGS", "")
# What tests share: ops/common.py and terms.py, builder/building.py, and tests/padded_runs.py.
shared = [str(here / "ops"), str(here / "builder"), str(here.parent / "tests")]
config.environment["PYTHONPATH"] = os.pathsep.join([*shared, *filter(None, [os.environ.get("PYTHONPATH")])])
config.environment["PATH"] = os.pathsep.join([str(bin_folder), os.environ.get("PATH", "")])


def start_server() -> Path:
    """Starts forks.py, which ends with lit; the socket that it listens on."""
    folder = tempfile.mkdtemp(prefix="hlograph-lit-")
    path = Path(folder) / "socket"
    environment = {**os.environ, **config.environment}
    command = [sys.executable, str(here / "forks.py"), "serve", str(path)]
    server = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def stop(pid: int = os.getpid()) -> None:
        if os.getpid() == pid:  # lit's workers are forks of this process
            server.stdin.close()
            server.wait()
            shutil.rmtree(folder)

    atexit.register(stop)
    while not path.exists():
        if server.poll() is not None:
            lit_config.fatal(f"{' '.join(command)} ended with status {server.returncode}")
        time.sleep(0.02)
    return path


# `%hlograph` is the installed entry point, so that the tests run what a user runs; elsewhere than in tools/ (see
# lit.local.cfg there) it is a fork of a process that has imported it, which takes a tenth of the time. On Linux only:
# other systems' libraries do not all survive a fork. `lit -D forks=0` starts real processes everywhere.
config.real_programs = [
    ("%python", shlex.quote(sys.executable)),
    ("%hlograph", shlex.quote(str(bin_folder / "hlograph"))),
    (r"\bfilecheck\b", shlex.quote(str(bin_folder / "filecheck"))),
]
# The modules are the tests' own: no process of their own to parse them in. Not in tools/, as above.
config.trusted = [(f"%hlograph {name} ", f"%hlograph {name} --trusted ") for name in ("opt", "explain", "run")]
config.substitutions += config.trusted
if sys.platform == "linux" and lit_config.params.get("forks", "1") == "1":
    ask = [sys.executable, "-I", "-S", str(here / "forks.py"), str(start_server())]
    config.substitutions += [
        (pattern, shlex.join([*ask, name]))
        for (pattern, _), name in zip(config.real_programs, ["python", "hlograph", "filecheck"], strict=True)
    ]
else:
    config.substitutions += config.real_programs
