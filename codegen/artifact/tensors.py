"""Arrays in a file of the safetensors format, mapped into memory when they are read.

    8 bytes: length of the header | header: JSON, padded with spaces | the arrays, without gaps

Each entry of the header is `"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}`; `__metadata__` holds
texts. In: arrays by name; a path. Out: a file that any reader of the format takes; arrays that are the file's own
memory. Decision to know: each array starts at a multiple of 64 bytes, which the format allows but its library does not
do: XLA takes such arrays in place. Between arrays that end elsewhere lie entries of bytes that mean nothing. The
library would also copy each array on its way.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import ml_dtypes
import numpy as np

from ..errors import ArtifactError
from ..parameters import Array, digest_of
from .files import open_regular

Check = Callable[[str], object]
_ALIGNMENT = 64
_LONGEST_HEADER = 100_000_000  # the format's own limit
_GAP = "hlograph.gap."
_DTYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(bool),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "U16": np.dtype(np.uint16),
    "I16": np.dtype(np.int16),
    "U32": np.dtype(np.uint32),
    "I32": np.dtype(np.int32),
    "U64": np.dtype(np.uint64),
    "I64": np.dtype(np.int64),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
}
if hasattr(ml_dtypes, "float8_e8m0fnu"):
    _DTYPES["F8_E8M0"] = np.dtype(ml_dtypes.float8_e8m0fnu)
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
# Complex numbers stand as pairs along a last axis.
_PAIRS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}


@dataclass(frozen=True)
class Tensors:
    """What is in a file.

    Attributes:
        arrays: by name; read-only, and the file's own memory.
        digest: SHA-256 of the header, which holds the SHA-256 of each array.
        digests: of each array, by name, as the header has them.
        places: of each array its first byte in the file, and how many it has.
        file: it.
    """

    arrays: Mapping[str, Array]
    digest: str
    digests: Mapping[str, str]
    places: Mapping[str, tuple[int, int]]
    file: File

    def part(self, name: str) -> bytes:
        """The bytes of an array, read anew.

        Raises:
            ArtifactError: there is none of this name, it is cut off, or these are not the bytes that were written.
        """
        if name not in self.places:
            raise ArtifactError(f"{self.file.path} has no part {name!r:.80}")
        start, size = self.places[name]
        with open_regular(self.file.path) as stream:
            stream.seek(start)
            data = stream.read(size)
        if hashlib.sha256(data).hexdigest() != self.digests.get(name):
            raise ArtifactError(f"{self.file.path}: its part {name!r} is damaged, or not the one that was written")
        return data

    def refuse_change(self) -> None:
        """Raises `ArtifactError` where the file was written to since it was mapped; cheap where it was not.

        What was put in its place is another file: then this one is as it was, under no name.
        """
        if self.file.is_as_it_was():
            return
        state = self.file.state()
        if state[0] < self.file.known[0]:
            raise ArtifactError(f"{self.file.path} was cut off since it was loaded; load the program again")
        self.check(self.file.path)
        self.file.known = state

    def check(self, path: Path) -> None:
        """Raises `ArtifactError` unless each array's bytes are those that were written."""
        for name, array in self.arrays.items():
            if digest_of(array) != self.digests.get(name):
                raise ArtifactError(
                    f"{path}: the values of {name!r} are not those that were written: it is damaged; get it again"
                )


class File:
    """A file that stays open, to see whether somebody writes to it.

    Args:
        path: for messages.
        stream: the file, which may be closed then.

    Attributes:
        path: likewise.
        known: its state when its bytes were last known to be right.
    """

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self.path = path
        self._descriptor = os.dup(stream.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self.known = self.state()

    def state(self) -> tuple[int, int, int]:
        """Its size, when it was written to last, and when anything of it was changed last.

        Programs can set the second time, and not the third, which a chmod or another link changes too.
        """
        status = os.fstat(self._descriptor)
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def is_as_it_was(self) -> bool:
        """Whether surely nobody wrote to it."""
        return self.state() == self.known


def fits(dtype: np.dtype[Any]) -> bool:
    """Whether the format has a dtype."""
    return dtype in _NAMES or dtype in _PAIRS


@dataclass(frozen=True)
class Contents:
    """What a file will hold.

    Attributes:
        header: as text, with what pads it.
        parts: the arrays' bytes, and what lies between them.
        checks: by the number of a part, what is given its digest when it is written, and may refuse it.
    """

    header: bytes
    parts: Sequence[Array | Contents]
    checks: Mapping[int, Check]

    @property
    def digest(self) -> str:
        """See `Tensors`."""
        return hashlib.sha256(self.header).hexdigest()

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
        return 8 + len(self.header) + sum(part.nbytes for part in self.parts)

    def write(self, stream: IO[bytes]) -> None:
        """Writes the file."""
        stream.write(len(self.header).to_bytes(8, "little") + self.header)
        for number, part in enumerate(self.parts):
            if isinstance(part, Contents):
                part.write(stream)
                continue
            if number not in self.checks:
                stream.write(part.data)
                continue
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(1) as pool:  # hashing takes as long as writing, and neither needs Python's lock
                digest = pool.submit(digest_of, part)
                stream.write(part.data)
            self.checks[number](digest.result())


def contents(
    arrays: Mapping[str, Array],
    known: Mapping[str, tuple[str, Check]] | None = None,
    inner: Mapping[str, Contents] | None = None,
) -> Contents:
    """What a file of arrays holds; the arrays are not copied.

    Args:
        arrays: by name.
        known: of some arrays the SHA-256 that they had, and what is given the one that they have when they are written.
        inner: files in the file, by name, as arrays of bytes.
    """
    known = known or {}
    digests = {name: known[name][0] if name in known else digest_of(array) for name, array in arrays.items()}
    header: dict[str, Any] = {"__metadata__": digests}
    parts: list[Array | Contents] = []
    checks: dict[int, Check] = {}
    place = 0

    def add(name: str, dtype: str, shape: list[int], data: Array | Contents) -> None:
        nonlocal place
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + data.nbytes]}
        parts.append(data)
        place += data.nbytes

    for name, array in arrays.items():
        flat = np.ascontiguousarray(array).reshape(-1)
        if name in known:
            checks[len(parts)] = known[name][1]
        shape, dtype = list(array.shape), array.dtype
        if dtype in _PAIRS:
            shape, dtype = [*shape, 2], _PAIRS[dtype]
        add(name, _NAMES[dtype], shape, flat.view(np.uint8))
        if gap := -place % _ALIGNMENT:
            add(f"{_GAP}{len(parts)}", "U8", [gap], np.zeros(gap, np.uint8))
    for name, file in (inner or {}).items():
        add(name, "U8", [file.nbytes], file)
    text = json.dumps(header, separators=(",", ":")).encode()
    return Contents(text + b" " * (-(8 + len(text)) % _ALIGNMENT), parts, checks)


def holding(path: Path, contents: Contents) -> str:
    """The digest of a file's header if the file holds these contents, byte for byte, maybe among others; else "".

    Raises:
        GraphError: as when the contents are written.
    """
    try:
        found = read(path)
    except ArtifactError:
        return ""
    entries = json.loads(contents.header)
    digests = entries.pop("__metadata__")
    for number, (name, entry) in enumerate(entries.items()):
        if _GAP in name:
            continue
        array = found.arrays.get(name)
        if array is None or found.digests.get(name) != digests[name] or list(array.shape) != entry["shape"]:
            return ""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        written: Any = contents.parts[number]
        if array.dtype != _DTYPES[entry["dtype"]] or not np.array_equal(flat, written):
            return ""
        if number in contents.checks:
            contents.checks[number](digest_of(flat))
    return found.digest


def read(path: Path, start: int = 0, size: int | None = None) -> Tensors:
    """Maps a file into memory.

    Args:
        path: it, or the file of which it is a part.
        start, size: the part; to the end of the file where no size is given.

    Raises:
        ArtifactNotFoundError: there is no such file.
        ArtifactError: it is not of the format, or truncated.
    """
    with open_regular(path) as stream:
        file = File(path, stream)
        whole = file.known[0]
        size = whole - start if size is None else size
        stream.seek(start)
        length = int.from_bytes(stream.read(8), "little")
        if start + size > whole or size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise ArtifactError(f"{path} is not a safetensors file, or truncated")
        text = stream.read(length)
        data = np.memmap(stream, np.uint8, "r", offset=start, shape=(size,))
    try:
        header = json.loads(text)
        metadata = header.pop("__metadata__", {})
        arrays = {name: _array(entry, data[8 + length :]) for name, entry in header.items() if _GAP not in name}
        offsets = {name: entry["data_offsets"] for name, entry in header.items()}
        places = {name: (start + 8 + length + first, end - first) for name, (first, end) in offsets.items()}
        ends = max((end for _, end in offsets.values()), default=0)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ArtifactError(f"{path} is not a safetensors file: {type(error).__name__}: {error}") from None
    if ends != data.size - 8 - length:
        raise ArtifactError(f"{path} has {data.size - 8 - length} bytes of arrays, and its header says {ends}")
    digests = metadata if isinstance(metadata, dict) else {}
    return Tensors(arrays, hashlib.sha256(text).hexdigest(), digests, places, file)


def names(path: Path, part: str) -> bool:
    """Whether a file's header names a part, also where what comes behind the header is cut off."""
    with open_regular(path) as stream:
        header = stream.read(min(int.from_bytes(stream.read(8), "little"), _LONGEST_HEADER))
    return header.startswith(b"{") and json.dumps(part).encode() in header


def _array(entry: Mapping[str, Any], data: Array) -> Array:
    start, end = entry["data_offsets"]
    shape = entry["shape"]
    dtype = _DTYPES[entry["dtype"]]
    if not all(type(size) is int and size >= 0 for size in [*shape, start, end]):
        raise ValueError(f"shape {shape} and offsets {start}, {end} must be numbers of at least 0")
    part = data[start:end]
    if part.nbytes != end - start:
        raise ValueError(f"an array ends at {end}, behind the end of the file: it is truncated")
    return part.view(np.ndarray).view(dtype).reshape(shape)


def of_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    """An array as it was before it was written: complex numbers of their pairs."""
    if _PAIRS.get(dtype) == array.dtype and array.shape[-1:] == (2,):
        return array.reshape(-1).view(dtype).reshape(array.shape[:-1])
    return array
