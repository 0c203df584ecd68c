"""Files that are written whole or not at all, and regular files opened for reading; what a file says about itself.

In: a path, and what writes to a stream. Out: the file with the new content, or the old one as it was. A file says the
format, who wrote it, and a digest of its bytes:

    module @logp attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 5f0c...", hlograph.format = "1"} {

In: a file's bytes. Out: whether hlograph wrote exactly these. Decisions to know: the digest is that of the bytes with
its own digits replaced by zeros, so that it is checked before anything is parsed, in text and in bytecode (where
strings stand as they are). It tells damage and edits; it is no signature, for anyone can compute it. So nothing is left
out for a file because its digest is right, but what its reader has been told to leave out.

And from the bytes of a file to an MLIR module, verified, with limits. In: text, MLIR bytecode or portable bytecode.
Out: the module, in its own context; or an `ArtifactError`. MLIR keeps equal attributes once, so a list of twice the
same list, forty times over, is small in memory alone: how much a module is shows when it is written out. Limits are far
above those of real models.
"""

from __future__ import annotations

import enum
import hashlib
import math
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import ArtifactError, ArtifactNotFoundError
from ..ir.bindings import diagnostics, ir, new_context
from ..ir.modules import MAGIC, deserialize_portable, is_portable, parse_module

_NEW = 0o666  # less the process's umask, which the system takes off


@contextmanager
def open_regular(path: str | os.PathLike[str], *, pipes: bool = False) -> Iterator[BinaryIO]:
    """A regular file, opened for reading; devices and pipes, whose bytes may never end or never come, are refused.

    Args:
        path: it.
        pipes: whether it may be a pipe, too.

    Raises:
        ArtifactNotFoundError: there is no such file.
        ArtifactError: it is a folder, a pipe or a device; or it cannot be opened, or read in the block.
    """
    if "\0" in os.fspath(path):
        raise ArtifactError(f"cannot read {path!r}: a file name cannot contain a NUL character")
    try:
        mode = os.stat(path).st_mode
        if pipes and stat.S_ISFIFO(mode):
            with open(path, "rb") as stream:
                yield stream
            return
        _check_regular(path, mode)  # to open a pipe, even for a moment, takes its writer's reader away
        # Without waiting for the other end of what has become a pipe.
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as stream:
            _check_regular(path, os.fstat(stream.fileno()).st_mode)
            yield stream
    except FileNotFoundError:
        raise ArtifactNotFoundError(f"no such file: {path}") from None
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror or error}") from None


def _check_regular(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # to open a folder says what it is
        raise ArtifactError(f"cannot read {path}: it is not a regular file; copy its contents to one")


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary stream whose content takes the place of a file's when the block ends well.

    An existing file keeps its mode; a symbolic link stays, and its target is written. What is not a regular file
    (a pipe, a terminal) is written to as it is.

    Raises:
        OSError: the folder or the file cannot be written to, or the disk is full; it has the name of the file.
    """
    target = Path(os.path.realpath(path))
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("wb") as stream:
            yield stream
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, os.strerror(13), str(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _NEW)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None:  # the system names no file where it was a write that failed
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


FORMAT = 1
MARKS = _DIGEST, _FORMAT = "hlograph.digest", "hlograph.format"
_ZEROS = b"0" * 64
_MARK = re.compile(rb"hlograph ([\w.+-]{1,64}) format ([1-9]\d{0,8}) sha256 ([0-9a-f]{64})")


class Origin(enum.Enum):
    """Where a file is from, as its digest says."""

    OURS = "matches: hlograph wrote exactly these bytes"
    EDITED = "differs: changed since hlograph wrote it"
    FOREIGN = "none: not written by hlograph"


def mark(data: bytes) -> tuple[str, int] | None:
    """The writer and the format's number that a file says, true or not; None where it says nothing."""
    found = _MARK.search(data)
    return None if found is None else (f"hlograph {found[1].decode()}", int(found[2]))


def marks() -> dict[str, str]:
    """The module's attributes in a file that is not sealed yet."""
    try:
        release = version("hlograph")
    except PackageNotFoundError:  # the folder was put on the path by hand
        release = "unknown"
    return {_DIGEST: f"hlograph {release} format {FORMAT} sha256 {_ZEROS.decode()}", _FORMAT: str(FORMAT)}


def seal(data: bytes) -> bytes:
    """The content of a file, from what is printed or serialized of a module with `marks`.

    Raises:
        ArtifactError: some other string looks like a digest.
    """
    found = list(_MARK.finditer(data))
    if len(found) != 1 or found[0][3] != _ZEROS:
        raise ArtifactError("a name or message of the program looks like the digest that a file begins with; change it")
    start, end = found[0].span(3)
    return b"".join([data[:start], _digest(data, start, end), data[end:]])


def origin(data: bytes, filename: str) -> Origin:
    """Where a file is from, as it says; line ends of text are of no account.

    Raises:
        ArtifactError: it has a newer format, or is bytecode that was changed.
    """
    is_text = not data.startswith(MAGIC)
    if is_text and b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    found = _MARK.search(data)
    if found is not None and int(found[2]) > FORMAT:
        release = found[1].decode()
        raise ArtifactError(
            f"{filename} has format {int(found[2])}, which hlograph {release} wrote; this one reads up to format "
            f"{FORMAT}: install hlograph {release} or newer"
        )
    if found is not None and _digest(data, *found.span(3)) == found[3]:
        return Origin.OURS
    if found is None and _DIGEST.encode() not in data:
        return Origin.FOREIGN
    if is_text:
        return Origin.EDITED
    raise ArtifactError(
        f"{filename} is damaged: its bytes are not those that were saved (the digest in it differs); get it again"
    )


def _digest(data: bytes, start: int, end: int) -> bytes:
    view = memoryview(data)
    found = hashlib.sha256(view[:start])
    found.update(_ZEROS)
    found.update(view[end:])
    return found.hexdigest().encode()


BYTES = 2**34  # of a file; 1 GB of constants take 2 GB of text
WRITTEN, WRITTEN_OF_A_LINE = 2**26, 2**12  # characters of a module that is written out, without large constants
NESTING = 256  # of attributes, types and ops
RANK = 64  # axes of a tensor, which is NumPy's limit
ELEMENTS = 2**40  # of a tensor without dynamic sizes
MESSAGE = 2000  # characters of what MLIR says

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
