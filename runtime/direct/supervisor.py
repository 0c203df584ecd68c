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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .verdict import COMMAND, Verdict, place, read, store

SECONDS = 240.0  # that a self-test may take; 20 are usual
STAGE, PASSED, FAILED = "stage: ", "passed: ", "failed: "  # how lines begin that the self-test prints
# Signals that tell of machine code gone wrong; others come from outside.
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}


def supervise(*, again: bool = False) -> Verdict:
    """The verdict on disk, or that of a self-test.

    Args:
        again: runs it in any case.
    """
    with _alone():
        found = None if again else read()
        if found is None:
            found = run([sys.executable, "-P", *COMMAND, "--kernels"])
            with contextlib.suppress(OSError):
                store(found)
        return found


def run(arguments: Sequence[str], seconds: float = SECONDS) -> Verdict:
    """Runs a self-test, without a look at what is stored.

    Args:
        arguments: its command line.
        seconds: how long it may take.
    """
    start = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=_environment(os.environ),
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
        printed = _Printed.of(_text(output).splitlines(), _text(errors).splitlines())
    return printed.verdict(status, time.monotonic() - start, seconds)


@dataclass(frozen=True)
class _Printed:
    """What a self-test has printed: where it was last, what it has tried, and how it ended."""

    stage: str
    tried: tuple[str, ...]
    passed: str
    failed: str
    error: str

    @staticmethod
    def of(lines: Sequence[str], errors: Sequence[str]) -> _Printed:
        def last(beginning: str) -> str:
            found = [line.removeprefix(beginning) for line in lines if line.startswith(beginning)]
            return found[-1] if found else ""

        tried = tuple(line for line in lines if not line.startswith((STAGE, PASSED, FAILED)))
        return _Printed(last(STAGE) or "its start", tried, last(PASSED), last(FAILED), errors[-1] if errors else "")

    def verdict(self, status: int | None, took: float, limit: float) -> Verdict:
        """From the exit status as well; None where it was ended from here."""
        good, lasting = False, True
        if status is None:
            reason, lasting = f"the self-test hung for {limit:.0f} s in: {self.stage}", False
        elif status < 0:
            reason = f"the self-test died of {_name(-status)} in: {self.stage}"
            lasting = -status in _CRASHES
        elif self.failed:
            reason = f"the self-test failed: {self.failed}"
        elif status or not self.passed:
            reason, lasting = f"the self-test stopped in: {self.stage} ({self.error})", False
        else:
            reason, good = self.passed, True
        return Verdict(good, reason, lasting, time.time(), took, self.tried)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number:d}"


def _text(file: object) -> str:
    file.seek(0)  # type: ignore[attr-defined]
    return str(file.read(1 << 20), "utf-8", "replace")  # type: ignore[attr-defined]


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """The CPU alone, without options and caches of JAX's and XLA's that may be set here."""
    kept = {name: value for name, value in given.items() if not name.startswith(("JAX_", "XLA_"))}
    return {**kept, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false", "PYTHONWARNINGS": "ignore"}


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """While no other process of this user runs a self-test, if that can be told; at most for the time it may take."""
    import fcntl

    path = place().with_suffix(".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
