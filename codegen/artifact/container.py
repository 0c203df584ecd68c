"""Several parts in one file: an uncompressed zip, whose parts can be mapped into memory.

In: names and bytes; or a path. Out: the file; or a `Container`, which gives each part's bytes and its place. Decision
to know: nothing is compressed, so no part is larger than the file; whether a part is the one that was written, its
digest says, which whoever reads it has.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol

from ..errors import ArtifactError
from .files import open_regular, write_atomically

ALIGNMENT = 64  # bytes: XLA's client for CPU takes arrays that lie so without a copy
MAGIC = b"PK\x03\x04"

_HEADER = struct.Struct("<4s5H3I2H")  # of a part: its last two numbers are the lengths of the name and of what follows
_PADDING = 0xD935  # of the kinds of extra fields, the one that Android's tools pad with
_WHEN = (1980, 1, 1, 0, 0, 0)
_WRITTEN = (OSError, zipfile.LargeZipFile)
_READ = (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, struct.error, UnicodeError)


class Streamed(Protocol):
    """A part that is not in one piece of memory.

    Attributes:
        size: in bytes.
    """

    @property
    def size(self) -> int:
        """See above."""

    def write(self, stream: IO[bytes]) -> None:
        """Writes it."""


def write(path: str | os.PathLike[str], parts: Mapping[str, bytes | Streamed]) -> Path:
    """Writes a file of parts, whole or not at all.

    Args:
        path: the file.
        parts: by name, in the order in which they are to lie in the file; each begins at a multiple of `ALIGNMENT`.

    Raises:
        ArtifactError: the file cannot be written.
    """
    target = Path(path)
    try:
        with write_atomically(target) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, data in parts.items():
                _add(archive, stream, name, data)
    except _WRITTEN as error:
        raise ArtifactError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}") from None
    return target


def _add(archive: zipfile.ZipFile, stream: IO[bytes], name: str, data: bytes | Streamed) -> None:
    info = zipfile.ZipInfo(name, _WHEN)
    info.external_attr = 0o644 << 16
    info.file_size = len(data) if isinstance(data, bytes) else data.size
    large = info.file_size * 1.05 > zipfile.ZIP64_LIMIT
    sizes = 20 if large else 0  # bytes that zipfile adds for sizes of 64 bits
    start = stream.tell() + _HEADER.size + len(name.encode()) + sizes + 4
    info.extra = struct.pack("<HH", _PADDING, -start % ALIGNMENT).ljust(4 + -start % ALIGNMENT, b"\0")
    with archive.open(info, "w", force_zip64=large) as part:
        if isinstance(data, bytes):
            part.write(data)
        else:
            data.write(part)


def is_container(path: str | os.PathLike[str]) -> bool:
    """Whether a regular file begins as a zip does; what cannot be read does not, and of a pipe nothing is read."""
    try:
        with open_regular(path) as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except ArtifactError:
        return False


class Container:
    """A file of parts that was opened; the parts are read when they are asked for.

    Args:
        path: the file.

    Attributes:
        path: the file.
        names: of the parts, as they lie in the file.

    Raises:
        ArtifactNotFoundError: no such file.
        ArtifactError: it is no zip, is cut off, or has parts that are compressed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with open_regular(self.path) as stream:
            try:
                self._places = self._read(stream)
            except ArtifactError:
                raise
            except _READ as error:
                raise self._error(f"it is damaged, cut off or no zip: {error}") from None
        self.names = tuple(self._places)

    def place(self, name: str) -> tuple[int, int]:
        """Where a part lies in the file: its first byte and the number of its bytes.

        Raises:
            ArtifactError: there is no such part.
        """
        try:
            return self._places[name]
        except KeyError:
            raise self._error(f"it has no part {name!r}") from None

    def read(self, name: str, digest: str = "") -> bytes:
        """A part.

        Args:
            name: of it.
            digest: what its SHA-256 must be, in hexadecimal digits; not looked at where it is "".

        Raises:
            ArtifactError: there is no such part, or it is another one.
        """
        start, size = self.place(name)
        with open_regular(self.path) as stream:
            stream.seek(start)
            data = stream.read(size)
        if len(data) != size:
            raise self._error(f"its part {name!r} is cut off")
        if digest and hashlib.sha256(data).hexdigest() != digest:
            raise self._error(f"its part {name!r} is damaged, or is not the one that was written with the others")
        return data

    def _read(self, stream: IO[bytes]) -> dict[str, tuple[int, int]]:
        size = os.fstat(stream.fileno()).st_size
        places: dict[str, tuple[int, int]] = {}
        with zipfile.ZipFile(stream) as archive:
            infos = archive.infolist()
        for info in infos:
            name = info.filename[:80]
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
                raise self._error(f"its part {name!r} is compressed or encrypted, which hlograph's files are not")
            start = _start(stream, info)
            if not 0 <= start <= size - info.file_size:
                raise self._error(f"its part {name!r} lies beyond the end")
            places[info.filename] = start, info.file_size
        return places

    def _error(self, what: str) -> ArtifactError:
        return ArtifactError(f"{self.path} cannot be read as a bundle: {what}")


def _start(stream: IO[bytes], info: zipfile.ZipInfo) -> int:
    """The first byte of a part, behind its header.

    Raises:
        zipfile.BadZipFile: there is none.
    """
    stream.seek(max(info.header_offset, 0))
    header = stream.read(_HEADER.size)
    if len(header) != _HEADER.size or header[:4] != MAGIC:
        raise zipfile.BadZipFile(f"part {info.filename[:80]!r} has no header")
    *_, name, extra = _HEADER.unpack(header)
    return info.header_offset + _HEADER.size + int(name) + int(extra)
