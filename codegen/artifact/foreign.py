"""Files that are not ours, parsed in a process of their own first: MLIR's parser does not survive everything.

In: a file's bytes. Out: the same module in bytecode that MLIR has just written, which the caller's process parses in
their place. Decision to know: the child is a fresh Python (0.3 s) and no fork, so that it works in any thread, in a
forked process, and with its streams closed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

from ..errors import ArtifactError
from . import child
from .limits import cut

_START = 60.0  # seconds in which the child begins, on a machine with other work
_WAIT = 10.0  # times the processor time that it may take
_COMMAND = ["-P", "-m", child.__name__]


def parse(data: bytes, filename: str) -> bytes:
    """The module of a file in MLIR's bytecode.

    Raises:
        ArtifactError: it is no module, or the parser died of it or did not end; or no process can be started.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise _not_started(filename, "there is no Python interpreter to start")
    limit = _START + _WAIT * child.seconds(len(data))
    try:
        process = subprocess.Popen(
            [sys.executable, *_COMMAND, filename],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(filename, str(error)) from None
    try:
        answer, errors = process.communicate(data, limit)
    except BaseException as error:
        process.kill()
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise ArtifactError(_reason(filename, f"it did not end within {limit:.0f} s")) from None
        raise
    return _module(answer, errors, process.returncode, filename)


def _module(answer: bytes, errors: bytes, status: int, filename: str) -> bytes:
    _, ready, found = answer.partition(child.READY)  # the interpreter may be set up to print something first
    if not ready:
        lines = errors.decode(errors="replace").strip().splitlines() or [_end(status)]
        raise _not_started(filename, lines[-1])
    if found.endswith(child.END):  # where signals of children are ignored there is no status
        if found.startswith(child.MODULE):
            return found[len(child.MODULE) : -len(child.END)]
        if found.startswith(child.ERROR):
            raise ArtifactError(found[len(child.ERROR) : -len(child.END)].decode(errors="replace"))
    raise ArtifactError(_reason(filename, _end(status)))


def _end(status: int) -> str:
    if status == -getattr(signal, "SIGPROF", 0):
        return "that took too long"
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"it died of {signal.Signals(-status).name}"
    return f"it ended with status {status}"


def _reason(filename: str, what: str) -> str:
    return (
        f"{filename} cannot be parsed: it is not as hlograph saves files, so it was parsed in a process of its own "
        f"first, and {what}. It is damaged, or too large; see docs/security.md"
    )


def _not_started(filename: str, why: str) -> ArtifactError:
    return ArtifactError(
        f"{filename} is not as hlograph saves files, so it is to be parsed in a process of its own first, which cannot "
        f"be started: {cut(why, 300)}. If you know where the file is from, pass trusted=True to parse it here"
    )


def _environment() -> dict[str, str]:
    """This process's, and where it imports from."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": path}
