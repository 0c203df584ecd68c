"""The process in which files are parsed first: `python -m hlograph.codegen.artifact.child`.

In: on stdin, for each file, its bytes and its name, as `multiprocessing.connection` sends them. Out: on stdout "ready",
and for each file the status and the answer of a fork that parsed it: "module" and the module in MLIR's bytecode, or
"error" and a message; and "end". Decisions to know: a fork may neither compute for long, nor take much memory, nor nest
deeper than any thread of the other process could; the process itself reads no file. It ends with its stdin, and when
nothing was asked of it for some seconds. Where there is no `fork` it serves one file.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from multiprocessing.connection import Connection, Pipe

from ..errors import ArtifactError
from ..ir.modules import to_bytecode
from .parsing import parse_limited

READY, MODULE, ERROR, END = b"ready\n", b"module\n", b"error\n", b"end\n"
STACK = 2**20  # bytes
MEMORY, MEMORY_OF_A_BYTE = 2**31, 32  # bytes beyond what the process begins with; more for each byte of the file
IDLE = 10.0  # seconds in which another file may come
NOTHING = 75  # status of a fork to which none came
FORKS = sys.platform == "linux"


def seconds(size: int) -> float:
    """Processor time that a file of this many bytes may take to parse; 1 MB of text takes 0.05 s."""
    return 1 + size / 2**21


def main() -> None:
    """Has forks parse, and hands their answers on."""
    for number in ("SIGCHLD", "SIGPROF"):  # that the parent ignores signals, or blocks them, is inherited
        if hasattr(signal, number):
            signal.signal(getattr(signal, number), signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    output = Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # what libraries print
    os.write(output.fileno(), READY)
    if not FORKS:
        _hand_on(output, 0, _served())
    while FORKS:
        ours, theirs = Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            _work(theirs)
        theirs.close()
        try:
            answer = ours.recv_bytes()
        except EOFError:
            answer = b""
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == NOTHING:
            return
        _hand_on(output, status, answer)
        ours.close()


def _hand_on(output: Connection, status: int, answer: bytes) -> None:
    output.send_bytes(str(status).encode())
    output.send_bytes(answer)


def _work(answers: Connection) -> None:
    """What a fork does: it waits for a file and answers. It is made before the file comes, and does what all need."""
    try:
        with contextlib.suppress(OSError):  # there is no such device
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        _answer(b"module {}", "")
        if select.select([0], [], [], IDLE)[0]:
            answers.send_bytes(_served())
            os._exit(0)
    except EOFError:
        os._exit(NOTHING)
    except BaseException:
        os._exit(1)
    os._exit(NOTHING)


def _served() -> bytes:
    """The answer for the file that comes next."""
    given = Connection(os.dup(0), writable=False)
    data, filename = given.recv_bytes(), given.recv_bytes().decode(errors="surrogateescape")
    _limit(len(data))
    return _answer(data, filename)


def _answer(data: bytes, filename: str) -> bytes:
    try:
        found = MODULE + to_bytecode(parse_limited(data, filename))
    except ArtifactError as error:
        found = ERROR + str(error).encode(errors="backslashreplace")
    return found + END


def _limit(size: int) -> None:
    """Limits what the system can limit."""
    import resource

    signal.setitimer(signal.ITIMER_PROF, seconds(size))  # SIGPROF ends the process
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_STACK: STACK,
        resource.RLIMIT_AS: _address_space() + MEMORY + MEMORY_OF_A_BYTE * size,
    }
    for kind, value in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # the system has it, but not this one
            _, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _address_space() -> int:
    """Bytes of address space in use; where the system does not tell, what libraries take at most."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 2**34


if __name__ == "__main__":
    main()
