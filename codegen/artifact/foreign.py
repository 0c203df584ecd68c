"""Files parsed in a process of their own first: MLIR's parser does not survive everything.

In: a file's bytes. Out: the same module in bytecode that MLIR has just written, which the caller's process parses in
their place. `python -m hlograph.codegen.artifact.foreign` is that process: its own Python (0.3 s), and no fork of
this one, so that it works in any thread, in a forked process, and with its streams closed. They talk in messages over a
socket:

    "ready"                                  when it has imported what it needs
    the bytes of a file; its name            taken by a fork, which neither computes for long nor takes much memory, nor
                                             nests deeper than any thread of this process could
    the fork's status, "module" and bytecode, or "error" and a message

The process itself parses nothing. It ends with the socket, and when nothing was asked of it for some seconds. Where
forks are not safe it serves one file.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe

from .. import forks
from ..errors import ArtifactError
from ..ir.bindings import ir
from ..ir.modules import to_bytecode
from ..ir.values import names_of, walk
from .files import cut, parse_limited

_COMMAND = ["-P", "-m", __name__]
_START = 60.0  # seconds in which the process begins, on a machine with other work
_WAIT = 10.0  # times the processor time that it may take
READY, MODULE, ERROR = b"ready", b"module\n", b"error\n"
STACK = 2**20  # bytes
MEMORY, MEMORY_OF_A_BYTE = 2**31, 32  # bytes beyond what a fork begins with; more for each byte of the file
IDLE = 10.0  # seconds in which another file may come
NOTHING = 75  # status of a fork to which none came
FORKS = sys.platform == "linux"

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
            child = _waiting.pop() if _waiting else _Child(filename)
            try:
                found = child.ask(data, filename)
            finally:
                if found is not None and FORKS:
                    _waiting.append(child)
                else:
                    child.end()
    text, _, answer = found.partition(b"\n")
    status = int(text)
    if status == 0 and answer.startswith(MODULE):
        return answer[len(MODULE) :]
    if status == 0 and answer.startswith(ERROR):
        raise ArtifactError(answer[len(ERROR) :].decode(errors="replace"))
    raise ArtifactError(_reason(filename, _end(status)))


class _Child:
    """The process.

    Args:
        filename: of the first file, for messages.

    Raises:
        ArtifactError: it cannot be started.
    """

    def __init__(self, filename: str) -> None:
        self._waits = False
        if not sys.executable or getattr(sys, "frozen", False):
            raise _not_started(filename, "there is no Python interpreter to start")
        # NumPy's library is to start no threads, which forks would be warned of.
        path = os.pathsep.join(entry for entry in sys.path if entry)
        try:
            self._socket, theirs = _ends()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, *_COMMAND, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            raise _not_started(filename, str(error)) from None
        assert self._process.stderr is not None
        self._printed = self._process.stderr

    def ask(self, data: bytes, filename: str) -> bytes | None:
        """The status and the answer of the fork that parsed a file; None where the process had waited long enough.

        Raises:
            ArtifactError: there is none.
        """
        waited, limit = self._waits, _WAIT * seconds(len(data))
        try:
            if not waited:
                if not self._socket.poll(_START):
                    raise _not_started(filename, f"it does not answer within {_START:.0f} s")
                self._socket.recv_bytes()
                self._waits = True
            self._socket.send_bytes(data)
            self._socket.send_bytes(filename.encode(errors="surrogateescape"))
            if not self._socket.poll(limit):
                raise ArtifactError(_reason(filename, f"it did not end within {limit:.0f} s"))
            return self._socket.recv_bytes()
        except (EOFError, OSError):
            status = self._process.wait()
        if waited and status == 0:
            return None
        if self._waits:
            raise ArtifactError(_reason(filename, _end(status)))
        lines = self._printed.read().decode(errors="replace").strip().splitlines()
        raise _not_started(filename, lines[-1] if lines else _end(status))

    def end(self) -> None:
        """Ends it, and its forks."""
        if self._process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL) if hasattr(os, "killpg") else self._process.kill()
        self._process.wait()
        self._leave()

    def forget(self) -> None:
        """Leaves it to the process that this one was forked from."""
        self._process.returncode = 0
        self._leave()

    def _leave(self) -> None:
        self._socket.close()
        self._printed.close()


def _ends() -> Iterator[Connection]:
    """The ends of a pipe. No library prints to their numbers, also in a process without stdin or stderr."""
    for end in Pipe():
        if end.fileno() > 2:
            yield end
            continue
        import fcntl

        with end:
            yield Connection(fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, 3))


def _end(status: int) -> str:
    if status == -signal.SIGPROF:
        return "that took too long"
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"it died of {signal.Signals(-status).name}"
    return f"it ended with status {status}"


def _reason(filename: str, what: str) -> str:
    return (
        f"{filename} cannot be parsed: it was parsed in its own process first, and {what}. It is damaged, or too "
        "large; see docs/explanation/security.md"
    )


def _not_started(filename: str, why: str) -> ArtifactError:
    return ArtifactError(
        f"{filename} is to be parsed in its own process first, which cannot be started: {cut(why, 300)}. If you "
        "know where the file is from, pass trusted=True to parse it here"
    )


def _leave_to_parent() -> None:
    while _waiting:
        _waiting.pop().forget()


@atexit.register
def _end_all() -> None:
    while _waiting:
        _waiting.pop().end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


# ---- the process ----------------------------------------------------------------------------------------------------


def seconds(size: int) -> float:
    """Processor time that a file of this many bytes may take to parse; 1 MB of text takes 0.05 s."""
    return 1 + size / 2**21


def main() -> None:
    """Has forks parse, and hands their answers on."""
    for number in (signal.SIGCHLD, signal.SIGPROF):  # that the parent ignores signals, or blocks them, is inherited
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    asked = Connection(int(sys.argv[1]))
    asked.send_bytes(READY)
    while True:
        status, answer = _by_fork(asked) if FORKS else (0, _served(asked))
        if status == NOTHING:
            return
        asked.send_bytes(b"%d\n%b" % (status, answer))
        if not FORKS:
            return


def _by_fork(asked: Connection) -> tuple[int, bytes]:
    """Status and answer of a fork; it is made before the file comes, and does what all need."""
    ours, theirs = Pipe(duplex=False)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            with contextlib.suppress(OSError):  # there is no such device
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            _answer(b"module {}", "")
            status = NOTHING
            if asked.poll(IDLE):
                theirs.send_bytes(_served(asked))
                status = 0
        except EOFError:
            pass
        except BaseException:
            status = 1
        finally:
            os._exit(status)
    theirs.close()
    with ours:
        try:
            answer = ours.recv_bytes()
        except EOFError:
            answer = b""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), answer


def _served(asked: Connection) -> bytes:
    data, filename = asked.recv_bytes(), asked.recv_bytes().decode(errors="surrogateescape")
    _limit(len(data))
    return _answer(data, filename)


def _answer(data: bytes, filename: str) -> bytes:
    try:
        module = parse_limited(data, filename)
        for operation in walk(module):
            _read_names(operation)
        return MODULE + to_bytecode(module)
    except ArtifactError as error:
        return ERROR + str(error).encode(errors="backslashreplace")


_DICTIONARIES = ("arg_attrs", "res_attrs", "mhlo.frontend_attributes", "mhlo.backend_config", "backend_config")


def _read_names(operation: ir.Operation) -> None:
    """Reads the names of attributes as whoever checks them will: some that are not UTF-8 end the process."""
    with contextlib.suppress(Exception):  # others are an error there, too
        for name in names_of(operation.attributes):
            value = operation.attributes[name] if name in _DICTIONARIES else None
            for item in ir.ArrayAttr(value) if isinstance(value, ir.ArrayAttr) else [value]:
                if isinstance(item, ir.DictAttr):
                    names_of(item)


def _limit(size: int) -> None:
    """Limits what the system can limit."""
    import resource

    signal.setitimer(signal.ITIMER_PROF, seconds(size))  # SIGPROF ends the process
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        used = 2**34  # what libraries take at most
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_STACK: STACK,
        resource.RLIMIT_AS: used + MEMORY + MEMORY_OF_A_BYTE * size,
    }
    for kind, value in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # the system has it, but not this one
            _, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


if __name__ == "__main__":
    main()
