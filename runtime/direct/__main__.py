"""`python -m hlograph.runtime.direct`: whether kernels may be called directly here, as a self-test has found.

It prints the verdict, and runs the self-test where there is none yet; with `--again` in any case. The self-test is a
process of its own: one that dies, hangs or finds a difference is one that did not pass. Several processes may want one
at once: one of them runs it, the others wait for its verdict.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

from . import verdict
from .verdict import COMMAND, Verdict

SECONDS = 240.0  # that a self-test may take; 20 are usual
# Signals that tell of machine code gone wrong; others come from outside.
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0 where kernels may be called directly, 1 where not."""
    parser = argparse.ArgumentParser(prog="python -m hlograph.runtime.direct", description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="run the self-test although there is a verdict")
    parser.add_argument("--kernels", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.kernels:
        from .self_test import run

        return run()
    if reason := verdict.unsupported():
        print(f"no direct calls: {reason}")
        return 1
    found = supervise(again=given.again)
    print(*(f"  {line}" for line in found.tried), sep="\n")
    print(f"{'direct calls' if found.good else 'no direct calls'}: {found.reason}")
    print(f"kept in {verdict.place() or 'no file: ' + verdict.NOWHERE}")
    if verdict.switched_off():
        print(f"switched off by {verdict.SWITCH}")
    return 0 if found.good else 1


def supervise(*, again: bool = False) -> Verdict:
    """The verdict on disk, or that of a self-test.

    Args:
        again: runs it in any case.
    """
    with _alone():
        found = None if again else verdict.read()
        if found is None:
            found = judge([sys.executable, *COMMAND, "--kernels"])
            with contextlib.suppress(OSError):
                verdict.store(found)
        return found


def judge(arguments: Sequence[str], seconds: float = SECONDS) -> Verdict:
    """What becomes of a self-test.

    Args:
        arguments: its command line. The last line that it prints says what it was at, or what came out.
        seconds: how long it may take.
    """
    from .self_test import FAILED

    null = subprocess.DEVNULL
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        try:
            status = subprocess.run(arguments, stdout=output, stderr=null, timeout=seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            status = None
        output.seek(0)
        *tried, last = output.read(1 << 20).splitlines() or ["its start"]
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

    path = verdict.place()
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


if __name__ == "__main__":
    sys.exit(main())
