"""From the bytes of a file to an MLIR module, verified, with limits; and the process in which files are parsed first.

In: text, MLIR bytecode or portable bytecode. Out: the module, in its own context; or an `ArtifactError`. MLIR keeps
equal attributes once, so a list of twice the same list, forty times over, is small in memory alone: how much a module
is shows when it is written out, which the child does as well. Limits are far above those of real models.

`python -m hlograph.codegen.artifact.parsing` is that process. On stdin it gets each file's bytes and its name, as
`multiprocessing.connection` sends them; on stdout it says "ready", and for each file the status and the answer of a
fork that parsed it: "module" and the module in MLIR's bytecode, or "error" and a message; and "end". A fork may neither
compute for long, nor take much memory, nor nest deeper than any thread of the other process could; the process itself
reads no file. It ends with its stdin, and when nothing was asked of it for some seconds. Where there is no `fork` it
serves one file.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import select
import signal
import sys
from multiprocessing.connection import Connection, Pipe
from typing import Any

from ..errors import ArtifactError
from ..ir.bindings import diagnostics, ir, new_context
from ..ir.modules import parse_module, to_bytecode
from ..ir.portable import MAGIC, deserialize_portable, is_portable
from ..ir.values import names_of, walk

BYTES = 2**34  # of a file; 1 GB of constants take 2 GB of text
WRITTEN, WRITTEN_OF_A_LINE = 2**26, 2**12  # characters of a module that is written out, without large constants
NESTING = 256  # of attributes, types and ops
RANK = 64  # axes of a tensor, which is NumPy's limit
ELEMENTS = 2**40  # of a tensor without open sizes
MESSAGE = 2000  # characters of what MLIR says

READY, MODULE, ERROR, END = b"ready\n", b"module\n", b"error\n", b"end\n"
STACK = 2**20  # bytes
MEMORY, MEMORY_OF_A_BYTE = 2**31, 32  # bytes beyond what the process begins with; more for each byte of the file
IDLE = 10.0  # seconds in which another file may come
NOTHING = 75  # status of a fork to which none came
FORKS = sys.platform == "linux"

_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"')
_SHAPE = re.compile(rb"<([0-9?][0-9?x]*)x[a-z!]")
_DEEP_OP = re.compile(rb"^ {%d}" % (2 * NESTING + 2), re.MULTILINE)
_FULL_LINE = re.compile(rb"^(?:[^\n\[{(<]*[\[{(<]){%d}.*$" % NESTING, re.MULTILINE)
_BRACKET = re.compile(rb"[\[{(<\]})]|(?<!-)>")
# What MLIR's verifier takes, and XLA, StableHLO's passes or the bindings do not survive.
_STRANGE = {
    re.compile(rb"#loc\b|\bloc\("): "an attribute that is or holds a location; take it out",
    re.compile(rb"f6E\dM\dFN\b"): "6-bit elements, on which XLA ends the process; use f8E4M3FN or another type",
    re.compile(rb"tensor<[0-9?x]*(?:complex<\w+>|[^<>,\s]+), (?!#stablehlo\.bounds<)"): (
        "a type whose encoding is not StableHLO's"
    ),
}


def check_bytes(data: bytes, filename: str) -> None:
    """Raises `ArtifactError` for a file that is too large, or neither bytecode nor text."""
    check_size(len(data), filename)
    if data.startswith(MAGIC):
        return
    if not data.strip():
        raise ArtifactError(f"{filename} is empty")
    if data[8:9] == b"{" and 8 + int.from_bytes(data[:8], "little") <= len(data):
        raise ArtifactError(
            f"{filename} is no module but arrays (safetensors): hlograph.load_bundle reads what hlograph.bundle wrote"
        )
    if b"\0" in data:
        raise ArtifactError(f"{filename} is not StableHLO text: it has a NUL byte at {data.index(bytes(1))}")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ArtifactError(
            f"{filename} is neither StableHLO text nor bytecode: byte {error.start} is not UTF-8"
        ) from None


def check_size(size: int, filename: str) -> None:
    """Raises `ArtifactError` for a file of too many bytes."""
    if size > BYTES:
        raise ArtifactError(f"{filename} has {size} bytes; at most {BYTES} are read")


def parse(data: bytes, filename: str) -> ir.Module:
    """The module; what MLIR says about it is in the error, not on stderr.

    Raises:
        ArtifactError: the bytes are malformed, truncated, not StableHLO, or from a newer StableHLO.
    """
    context = new_context()
    with diagnostics(context):
        try:
            if is_portable(data):
                module = deserialize_portable(data, context, filename)
            else:
                module = parse_module(data, context, filename)
            module.operation.verify()
        except ir.MLIRError as error:
            raise ArtifactError(cut(f"{filename} is not valid StableHLO: {error}")) from None
        except ArtifactError as error:
            raise ArtifactError(cut(str(error))) from None
        except (RuntimeError, OverflowError, MemoryError, SystemError) as error:
            raise ArtifactError(cut(f"{filename} is not a module that MLIR can read: {error}")) from None
    return module


def parse_limited(data: bytes, filename: str) -> ir.Module:
    """`parse`, of a module that is not too much for others than the parser.

    Raises:
        ArtifactError: as `parse` does, and with what is too much.
    """
    module = parse(data, filename)
    written: Any = module.operation.get_asm(binary=True, large_elements_limit=16, assume_verified=True)
    problem = _problem(_TEXTS.sub(b'""', written), len(written))
    if problem:
        raise ArtifactError(f"{filename} has {problem}")
    return module


def _problem(text: bytes, size: int) -> str:
    """What is wrong with a module that is written out, its texts left out; "" where nothing is."""
    most = WRITTEN + WRITTEN_OF_A_LINE * text.count(b"\n")
    if size > most:
        return f"attributes and types of {size} characters when written out; at most {most} are read"
    if _DEEP_OP.search(text):
        return f"ops nested more than {NESTING} deep"
    if any(_depth(line[0]) > NESTING for line in _FULL_LINE.finditer(text)):
        return f"an attribute or type nested more than {NESTING} deep"
    for shape in set(_SHAPE.findall(text)):
        sizes = shape.split(b"x")
        if len(sizes) > RANK:
            return f"a tensor of {len(sizes)} axes; arrays have at most {RANK}"
        if math.prod(int(size) for size in sizes if size.isdigit()) > ELEMENTS:
            return f"a tensor of {cut(shape.decode(), 100)} elements; at most {ELEMENTS} are read"
    return next((what for pattern, what in _STRANGE.items() if pattern.search(text)), "")


def _depth(line: bytes) -> int:
    depth = most = 0
    for bracket in _BRACKET.findall(line):
        depth += 1 if bracket in b"[{(<" else -1
        most = max(most, depth)
    return most


def cut(message: str, length: int = MESSAGE) -> str:
    """The beginning of a message that is too long to be shown."""
    return message if len(message) <= length else f"{message[:length]}... ({len(message) - length} more characters)"


# ---- the child process ----------------------------------------------------------------------------------------------


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
        module = parse_limited(data, filename)
        for operation in walk(module):
            _read_names(operation)
        found = MODULE + to_bytecode(module)
    except ArtifactError as error:
        found = ERROR + str(error).encode(errors="backslashreplace")
    return found + END


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
