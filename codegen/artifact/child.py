"""The process in which a foreign file is parsed first: `python -m hlograph.codegen.artifact.child NAME`.

In: the file's bytes on stdin. Out: on stdout "ready", and then "module" and the module in MLIR's bytecode, or "error"
and a message; and "end". Decision to know: it imports MLIR's bindings and little more, and may neither compute for
long, nor take much memory, nor nest deeper than any thread of the other process could.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import BinaryIO

from ..errors import ArtifactError
from ..ir.modules import to_bytecode
from . import nesting
from .parsing import check_printed, parse

READY, MODULE, ERROR, END = b"ready\n", b"module\n", b"error\n", b"end\n"
STACK = 2**20  # bytes
MEMORY, MEMORY_OF_A_BYTE = 2**31, 32  # bytes beyond what the process begins with; more for each byte of the file


def seconds(size: int) -> float:
    """Processor time that a file of this many bytes may take to parse; 1 MB of text takes 0.05 s."""
    return 1 + size / 2**21


def main() -> None:
    """Reads, parses, answers."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print
    output.write(READY)
    output.flush()
    data = sys.stdin.buffer.read()
    _limit(len(data))
    _answer(data, sys.argv[1], output)


def _answer(data: bytes, filename: str, output: BinaryIO) -> None:
    try:
        module = parse(data, filename)
        nesting.check(module, filename)
        check_printed(module, filename)
        found = MODULE, to_bytecode(module)
    except ArtifactError as error:
        found = ERROR, str(error).encode(errors="backslashreplace")
    for part in (*found, END):
        output.write(part)
    output.close()


def _limit(size: int) -> None:
    """Limits what the system can limit."""
    try:
        import resource
    except ImportError:  # Windows
        return
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
