"""lit's settings: every .py and .mlir file below this folder is a test, run by the environment that lit runs in."""

import os
import shlex
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent
build = here.parent / "build" / "lit"
# Not resolved: in a virtual environment the interpreter is a link to the system's, and its folder has our scripts.
bin_folder = Path(sys.executable).parent

config.name = "hlograph"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".py", ".mlir"]
config.excludes = ["lit.cfg.py", "common.py", "building.py", "inputs", "Inputs", "__pycache__"]
config.test_source_root = str(here)
config.test_exec_root = str(build)

config.environment["JAX_PLATFORMS"] = "cpu"
config.environment["PYTENSOR_FLAGS"] = f"base_compiledir={build / 'pytensor'}"
config.environment["PYTHONWARNINGS"] = os.environ.get("PYTHONWARNINGS", "")
# What tests share: ops/common.py, builder/building.py.
shared = [str(here / "ops"), str(here / "builder")]
config.environment["PYTHONPATH"] = os.pathsep.join([*shared, *filter(None, [os.environ.get("PYTHONPATH")])])
config.environment["PATH"] = os.pathsep.join([str(bin_folder), os.environ.get("PATH", "")])

# `%hlograph` is the installed entry point, so that the tests run what a user runs.
for pattern, program in [
    ("%python", Path(sys.executable)),
    ("%hlograph", bin_folder / "hlograph"),
    (r"\bfilecheck\b", bin_folder / "filecheck"),
]:
    config.substitutions.append((pattern, shlex.quote(str(program))))
