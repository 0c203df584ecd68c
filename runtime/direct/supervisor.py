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

from .verdict import COMMAND, Verdict, place, read, store

SECONDS = 240.0  # that a self-test may take; 20 are usual
FAILED = 3  # its exit status where it found something wrong
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
            found = run([sys.executable, *COMMAND, "--kernels"])
            with contextlib.suppress(OSError):
                store(found)
        return found


def run(arguments: Sequence[str], seconds: float = SECONDS) -> Verdict:
    """Runs a self-test, without a look at what is stored.

    Args:
        arguments: its command line. The last line that it prints says what it was at, or what came out.
        seconds: how long it may take.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        null = subprocess.DEVNULL
        try:
            status = subprocess.run(arguments, stdout=output, stderr=null, timeout=seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            status = None
        output.seek(0)
        lines = output.read(1 << 20).splitlines()
    *tried, last = lines or ["its start"]
    lasting = status in (0, FAILED)
    if status is None:
        last = f"the self-test hung for {seconds:.0f} s in: {last}"
    elif status < 0:
        lasting = -status in _CRASHES
        last = f"the self-test died of {signal.Signals(-status).name} in: {last}"
    elif status:
        last = f"the self-test {'failed' if lasting else 'stopped in'}: {last}"
    return Verdict(status == 0, last, lasting, time.time(), tuple(tried))


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """While no other process runs a self-test for this place, if that can be told."""
    import fcntl

    path = place()
    if path is None:
        yield
        return
    handle = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
