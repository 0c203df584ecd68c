"""Runs the self-test in a process of its own, and makes a verdict of what becomes of it.

In: nothing. Out: a `Verdict`, which is stored. A self-test that dies, hangs or finds a difference is one that did not
pass. Several processes may want one at once: one of them runs it, the others wait for its verdict.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from .verdict import COMMAND, Verdict, place, read, store

SECONDS = 240.0  # that a self-test may take; 20 are usual
STAGE, PASSED, FAILED = "stage: ", "passed: ", "failed: "  # how lines begin that the self-test prints
# Signals that tell of machine code gone wrong; others come from outside.
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}
# The CPU alone, without options and caches of JAX's and XLA's that may be set.
_SET = {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false", "PYTHONWARNINGS": "ignore"}


def supervise(*, again: bool = False) -> Verdict:
    """The verdict on disk, or that of a self-test.

    Args:
        again: runs it in any case.
    """
    path = place()
    with _alone(path):
        found = None if again else read()
        if found is None:
            found = run([sys.executable, "-P", *COMMAND, "--kernels"])
            with contextlib.suppress(OSError):
                store(found, path)
        return found


def run(arguments: Sequence[str], seconds: float = SECONDS) -> Verdict:
    """Runs a self-test, without a look at what is stored.

    Args:
        arguments: its command line.
        seconds: how long it may take.
    """
    start = time.monotonic()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))} | _SET
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=environment,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # what it has forked, too
            process.wait()
        lines, complaints = _lines(output), _lines(errors)
    good, lasting, reason = _judged(lines, complaints, status, seconds)
    tried = tuple(line for line in lines if not line.startswith((STAGE, PASSED, FAILED)))
    return Verdict(good, reason, lasting, time.time(), time.monotonic() - start, tried)


def _judged(lines: Sequence[str], errors: Sequence[str], status: int | None, limit: float) -> tuple[bool, bool, str]:
    """Whether a self-test passed, whether that lasts, and why: from what it printed, and its exit status.

    Args:
        lines, errors: what it printed.
        status: None where it was ended from here.
        limit: the seconds that it had.
    """
    last = {x: [line.removeprefix(x) for line in lines if line.startswith(x)][-1:] for x in (STAGE, PASSED, FAILED)}
    where = (last[STAGE] or ["its start"])[0]
    if status is None:
        return False, False, f"the self-test hung for {limit:.0f} s in: {where}"
    if status < 0:
        with contextlib.suppress(ValueError):
            return False, -status in _CRASHES, f"the self-test died of {signal.Signals(-status).name} in: {where}"
        return False, False, f"the self-test died of signal {-status} in: {where}"
    if last[FAILED]:
        return False, True, f"the self-test failed: {last[FAILED][0]}"
    if status or not last[PASSED]:
        return False, False, f"the self-test stopped in: {where} ({errors[-1] if errors else ''})"
    return True, True, last[PASSED][0]


def _lines(file: IO[bytes]) -> list[str]:
    file.seek(0)
    return str(file.read(1 << 20), "utf-8", "replace").splitlines()


@contextlib.contextmanager
def _alone(path: Path | None) -> Iterator[None]:
    """While no other process runs a self-test for this place, if that can be told; at most for the time it may take."""
    import fcntl

    try:
        lock = "" if path is None else path.with_suffix(".lock")
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
            except OSError:  # a file system without locks
                break
        yield
    finally:
        os.close(handle)
