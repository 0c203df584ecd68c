"""What breaks with the newest pre-releases: private names, plans for CPU, tests. `make canary` installs and runs it.

    python tests/canary.py --seconds 900

The self-test of direct calls and the smoke test run first, then as many of all tests as the time allows. The exit
status is 1 when a name that something needs is gone or changed, when one-kernel plans do not form, or when a test
fails.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("jax", "jaxlib", "pytensor", "numpy")
TESTS = ("tests/codegen", "tests/runtime", "tests/dialects")


def describe(package: str) -> str:
    """A package's release, and whether it is one for everybody."""
    try:
        found = version(package)
    except PackageNotFoundError:
        return f"{package}: not installed"
    early = any(mark in found for mark in ("a", "b", "rc", "dev"))
    return f"{package} {found} ({'a pre-release' if early else 'no pre-release is newer than this final release'})"


def names() -> bool:
    """Prints each private name with its state; whether all are there."""
    import private_names

    found = private_names.report()
    for name, state in found:
        path = name.paths[0] if len(name.paths) == 1 else f"{name.paths[0]} (or {len(name.paths) - 1} older)"
        print(f"{state:8}{path:75}{'' if state == 'ok' else f'{name.used_by}; without: {name.without}'}".rstrip())
    bad = sum(state != "ok" for _, state in found)
    print(f"==> {len(found)} private names: {len(found) - bad} ok, {bad} gone or changed")
    return not bad


def run(*command: str, seconds: float) -> str:
    """Runs a command with a limit; "ok", "failed", or how far it came."""
    if seconds < 1:
        return "not run: no time is left"
    with subprocess.Popen([sys.executable, *command], cwd=REPOSITORY) as process:
        try:
            return "ok" if not process.wait(seconds) else "failed"
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # pytest then prints what has failed so far
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
        return f"not finished in {seconds:.0f} s; failures so far are above"


def main() -> int:
    """Prints everything; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=900.0, help="for all tests together")
    end = time.monotonic() + parser.parse_args().seconds
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # XLA's info lines
    print(*(f"==> {describe(package)}" for package in PACKAGES), sep="\n", flush=True)
    results = {"private names": "ok" if names() else "failed"}
    sys.stdout.flush()
    # In a process of its own: XLA ends the process where it cannot do what is asked.
    results["one-kernel plans"] = run("tests/kernels.py", seconds=120)
    print("==> self-test of direct calls", flush=True)
    results["direct calls"] = run("-m", "hlograph.runtime.direct", "--again", seconds=300)
    pytest = ("-m", "pytest", "-q", "--tb=short", "-n", "2")
    print("==> smoke test", flush=True)
    results["smoke test"] = run(*pytest, "tests/test_smoke.py", seconds=end - time.monotonic())
    for folder in TESTS:
        print(f"==> {folder}", flush=True)
        results[folder] = run(*pytest, "--maxfail=50", folder, seconds=end - time.monotonic())
    print(*(f"==> {what}: {result}" for what, result in results.items()), sep="\n")
    return int("failed" in results.values())


if __name__ == "__main__":
    sys.exit(main())
