"""Files that are written whole or not at all, and regular files opened for reading; what a file says of itself.

In: a path, and what writes to a stream. Out: the file with the new content, or the old one as it was. A file says the
format, who wrote it, and a digest of its bytes:

    module @logp attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 5f0c...", hlograph.format = "1"} {

In: a file's bytes. Out: whether hlograph wrote exactly these. Decisions to know: the digest is that of the bytes with
its own digits replaced by zeros, so that it is checked before anything is parsed, in text and in bytecode (where
strings stand as they are). It tells damage and edits; it is no signature, for anyone can compute it. So nothing is left
out for a file because its digest is right, but what its reader has been told to leave out.
"""

from __future__ import annotations

import enum
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import BinaryIO

from ..errors import ArtifactError, ArtifactNotFoundError
from ..ir.modules import MAGIC

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
        raise ArtifactError(f"cannot read {path!r}: no file has a NUL character in its name")
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
        raise ArtifactError(f"cannot read {path}: it is no regular file; copy what it gives to one")


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary stream whose content takes the place of a file's when the block ends well.

    A file that is there keeps its mode; a symbolic link stays, and what it leads to is written. What is no regular file
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
    """Where a file is from, as it says."""

    OURS = "hlograph wrote exactly these bytes"
    EDITED = "hlograph wrote it, and it was changed since"
    FOREIGN = "it does not say that hlograph wrote it"


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
