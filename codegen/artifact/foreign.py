"""Files parsed in a process of their own first: MLIR's parser does not survive everything.

In: a file's bytes. Out: the same module in bytecode that MLIR has just written, which the caller's process parses in
their place. Decision to know: the child is a Python of its own (0.3 s) and no fork of this process, so that it works in
any thread, in a forked process, and with its streams closed. It forks for each file (see `parsing`), and waits some
seconds for the next one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from typing import IO

from .. import forks
from ..errors import ArtifactError
from . import parsing
from .parsing import cut

_START = 60.0  # seconds in which the child begins, on a machine with other work
_WAIT = 10.0  # times the processor time that it may take
_COMMAND = ["-P", "-m", parsing.__name__]
_lock = forks.lock()
_waiting: list[_Child] = []  # at most one


def parse(data: bytes, filename: str) -> bytes:
    """The module of a file in MLIR's bytecode.

    Raises:
        ArtifactError: it is no module, or the parser died of it or did not end; or no process can be started.
    """
    with _lock:
        found = None
        while found is None:
            asked = _waiting.pop() if _waiting else _Child(filename)
            try:
                found = asked.ask(data, filename)
            finally:
                if found is not None and asked.may_wait():
                    _waiting.append(asked)
                else:
                    asked.end()
    return _module(*found, filename)


class _Child:
    """A process that parses files, one after the other.

    Args:
        filename: of the first one, for messages.

    Raises:
        ArtifactError: none can be started.
    """

    def __init__(self, filename: str) -> None:
        self._ready = self._late = False
        if not sys.executable or getattr(sys, "frozen", False):
            raise _not_started(filename, "there is no Python interpreter to start")
        try:
            self._process = subprocess.Popen(
                [sys.executable, *_COMMAND],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise _not_started(filename, str(error)) from None
        streams = self._process.stdin, self._process.stdout, self._process.stderr
        self._streams = [_beyond_standard(stream) for stream in streams if stream is not None]

    def ask(self, data: bytes, filename: str) -> tuple[bytes, int] | None:
        """The answer of the fork that parsed a file, and its status; None where the child had waited long enough.

        Raises:
            ArtifactError: there is none.
        """
        waited = self._ready
        limit = _START + _WAIT * parsing.seconds(len(data))
        watch = threading.Timer(limit, self._kill, [True])
        watch.start()
        to, back, _ = (stream.fileno() for stream in self._streams)
        try:
            self._wait_for_start(back)
            sending, answers = Connection(os.dup(to), readable=False), Connection(os.dup(back), writable=False)
            with sending, answers:
                sending.send_bytes(data)
                sending.send_bytes(filename.encode(errors="surrogateescape"))
                status = int(answers.recv_bytes())
                return answers.recv_bytes(), status
        except (EOFError, OSError, ValueError):
            if self._late:
                raise ArtifactError(_reason(filename, f"it did not end within {limit:.0f} s")) from None
            status = self._process.wait()
            if waited and status == 0:
                return None
            if self._ready:
                raise ArtifactError(_reason(filename, _end(status))) from None
            lines = self._streams[2].read().decode(errors="replace").strip().splitlines()
            raise _not_started(filename, lines[-1] if lines else _end(status)) from None
        finally:
            watch.cancel()
            watch.join()

    def may_wait(self) -> bool:
        """Whether it can be asked again."""
        return parsing.FORKS and not self._late

    def end(self) -> None:
        """Ends it."""
        self._kill()
        self._process.wait()
        self.leave()

    def leave(self) -> None:
        """Closes its streams; it ends by itself."""
        for stream in self._streams:
            stream.close()

    def forget(self) -> None:
        """Leaves it to the process that this one was forked from."""
        self.leave()
        self._process.returncode = 0

    def _wait_for_start(self, back: int) -> None:
        found = b""
        while not self._ready:
            part = os.read(back, 2**16)
            if not part:
                raise EOFError
            found += part  # the interpreter may be set up to print something first
            self._ready = found.endswith(parsing.READY)

    def _kill(self, late: bool = False) -> None:
        self._late = late or self._late
        if self._process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL) if hasattr(os, "killpg") else self._process.kill()


def _beyond_standard(stream: IO[bytes]) -> IO[bytes]:
    """A stream that no library prints to: in a process without stdin or stderr its number may be theirs."""
    if stream.fileno() > 2:
        return stream
    import fcntl

    with stream:
        return open(fcntl.fcntl(stream.fileno(), fcntl.F_DUPFD_CLOEXEC, 3), stream.mode, 0)


def _module(answer: bytes, status: int, filename: str) -> bytes:
    if answer.endswith(parsing.END):
        if answer.startswith(parsing.MODULE):
            return answer[len(parsing.MODULE) : -len(parsing.END)]
        if answer.startswith(parsing.ERROR):
            raise ArtifactError(answer[len(parsing.ERROR) : -len(parsing.END)].decode(errors="replace"))
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
        f"{filename} cannot be parsed: it was parsed in a process of its own first, and {what}. It is damaged, or too "
        "large; see docs/security.md"
    )


def _not_started(filename: str, why: str) -> ArtifactError:
    return ArtifactError(
        f"{filename} is to be parsed in a process of its own first, which cannot be started: {cut(why, 300)}. If you "
        "know where the file is from, pass trusted=True to parse it here"
    )


def _environment() -> dict[str, str]:
    """This process's, and where it imports from; NumPy's library starts no threads, which forks would be warned of."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}


def _leave_to_parent() -> None:
    while _waiting:
        _waiting.pop().forget()


@atexit.register
def _end_all() -> None:
    while _waiting:
        _waiting.pop().end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
