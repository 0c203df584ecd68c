"""Parameters in a file beside the module's: arrays in the safetensors format, mapped into memory when they are read.

In: a program, and where its file will be. Out: the module without its large constants, and a file of them; and back, as
bindings that are the file's own memory. The module has, on its op,

    hlograph.parameters = ["weights.safetensors", "<SHA-256 of that file's header>"]

and the file is

    8 bytes: length of the header | header: JSON, padded with spaces | the arrays, without gaps

Each entry of the header is `"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}`; `__metadata__` holds
texts: the SHA-256 of each array. Decisions to know: the module names a file in its own folder, never a path. Each array
starts at a multiple of 64 bytes, which the format allows but its library does not do: XLA takes such arrays in place.
Between arrays that end elsewhere lie entries of bytes that mean nothing. The library would also copy each array on its
way. The header's digest tells another file at once; the arrays themselves are read once, and compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import ml_dtypes
import numpy as np

from ..errors import ArtifactError, OptionError
from ..ir.bindings import ir
from ..parameters import Array, Parameter, digest_of, put_in, take_out
from ..program import Program, Pullback
from .files import open_regular

# ---- the file -------------------------------------------------------------------------------------------------------

SUFFIX = ".safetensors"
ATTRIBUTE = "hlograph.parameters"
_ALIGNMENT = 64
_LONGEST_HEADER = 100_000_000  # the format's own limit
_GAP = "hlograph.gap."
_WORDS = {
    "BOOL": "bool_",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
}
_TYPES = {name: getattr(ml_dtypes, word, getattr(np, word, None)) for name, word in _WORDS.items()}
_DTYPES = {name: np.dtype(type_) for name, type_ in _TYPES.items() if type_ is not None}  # those that ml_dtypes has
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
# Complex numbers stand as pairs along a last axis.
_PAIRS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}


class Tensors:
    """What is in a file, mapped into memory; it stays open, to see whether somebody writes to it.

    Args:
        path: the file, or that of which it is a part.
        start, size: the part; to the end of the file where no size is given.

    Attributes:
        path: likewise.
        arrays: by name; read-only, and the file's own memory.
        digest: SHA-256 of the header, which holds the SHA-256 of each array.
        places: of each array its first byte in the file, and how many it has.

    Raises:
        ArtifactNotFoundError: there is no such file.
        ArtifactError: it is not of the format, or truncated.
    """

    def __init__(self, path: Path, start: int = 0, size: int | None = None) -> None:
        self.path = path
        with open_regular(path) as stream:
            self._descriptor = os.dup(stream.fileno())
            weakref.finalize(self, os.close, self._descriptor)
            self._known = self._state()  # when its bytes were last known to be right
            whole = self._known[0]
            size = whole - start if size is None else size
            stream.seek(start)
            length = int.from_bytes(stream.read(8), "little")
            if start + size > whole or size < 8 or length > min(size - 8, _LONGEST_HEADER):
                raise ArtifactError(f"{path} is not a safetensors file, or truncated")
            text = stream.read(length)
            data = np.memmap(stream, np.uint8, "r", offset=start, shape=(size,))[8 + length :]
        try:
            header = json.loads(text)
            metadata = header.pop("__metadata__", {})
            self.arrays: Mapping[str, Array] = {
                name: _array(entry, data) for name, entry in header.items() if _GAP not in name
            }
            self._kinds = {name: _kind(entry) for name, entry in header.items()}
            offsets = {name: entry["data_offsets"] for name, entry in header.items()}
            self.places = {name: (start + 8 + length + first, end - first) for name, (first, end) in offsets.items()}
            ends = max((end for _, end in offsets.values()), default=0)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise ArtifactError(f"{path} is not a safetensors file: {type(error).__name__}: {error}") from None
        if ends != data.size:
            raise ArtifactError(f"{path} has {data.size} bytes of arrays, and its header says {ends}")
        self.digest = hashlib.sha256(text).hexdigest()
        self._digests: Mapping[str, str] = metadata if isinstance(metadata, dict) else {}

    def part(self, name: str) -> bytes:
        """The bytes of an array, read anew.

        Raises:
            ArtifactError: there is not one of this name, it is cut off, or these are not the bytes that were written.
        """
        if name not in self.places:
            raise ArtifactError(f"{self.path} has no part {name!r:.80}")
        start, size = self.places[name]
        with open_regular(self.path) as stream:
            stream.seek(start)
            data = stream.read(size)
        if hashlib.sha256(data).hexdigest() != self._digests.get(name):
            raise ArtifactError(f"{self.path}: its part {name!r} is damaged, or not the one that was written")
        return data

    def refuse_change(self) -> None:
        """Raises `ArtifactError` where the file was written to since it was mapped; cheap where it was not.

        What was put in its place is another file: then this one is as it was, under no name.
        """
        state = self._state()
        if state == self._known:
            return
        if state[0] < self._known[0]:
            raise ArtifactError(f"{self.path} was cut off since it was loaded; load the program again")
        self.check()
        self._known = state

    def check(self) -> None:
        """Raises `ArtifactError` unless each array's bytes are those that were written."""
        for name, array in self.arrays.items():
            if digest_of(array) != self._digests.get(name):
                raise ArtifactError(
                    f"{self.path}: the values of {name!r} are not those that were written: it is damaged; get it again"
                )

    def holds(self, contents: Contents) -> bool:
        """Whether these contents are in it by its header, maybe among others."""
        entries = json.loads(contents.header)
        return all(
            self._digests.get(name) == digest and self._kinds.get(name) == _kind(entries[name])
            for name, digest in contents.digests.items()
        )

    def _state(self) -> tuple[int, int, int]:
        """Its size, when it was written to last, and when anything of it was changed last.

        Programs can set the second time, and not the third, which a chmod or another link changes too.
        """
        status = os.fstat(self._descriptor)
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def fits(dtype: np.dtype[Any]) -> bool:
    """Whether the format has a dtype."""
    return dtype in _NAMES or dtype in _PAIRS


@dataclass(frozen=True)
class Contents:
    """What a file will hold.

    Attributes:
        header: as text, with what pads it.
        parts: the arrays' bytes, and what lies between them.
        digests: SHA-256 of each array, by name.
    """

    header: bytes
    parts: Sequence[Array | Contents]
    digests: Mapping[str, str]

    @property
    def digest(self) -> str:
        """SHA-256 of the header."""
        return hashlib.sha256(self.header).hexdigest()

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
        return 8 + len(self.header) + sum(part.nbytes for part in self.parts)

    def write(self, stream: IO[bytes]) -> None:
        """Writes the file."""
        stream.write(len(self.header).to_bytes(8, "little") + self.header)
        for part in self.parts:
            if isinstance(part, Contents):
                part.write(stream)
            else:
                stream.write(part.data)


def contents(arrays: Mapping[str, Array], inner: Mapping[str, Contents] | None = None) -> Contents:
    """What a file of arrays holds; the arrays are not copied.

    Args:
        arrays: by name.
        inner: files in the file, by name, as arrays of bytes.
    """
    digests = {name: digest_of(array) for name, array in arrays.items()}
    header: dict[str, Any] = {"__metadata__": digests}
    parts: list[Array | Contents] = []
    place = 0

    def add(name: str, dtype: str, shape: list[int], data: Array | Contents) -> None:
        nonlocal place
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + data.nbytes]}
        parts.append(data)
        place += data.nbytes

    for name, array in arrays.items():
        flat = np.ascontiguousarray(array).reshape(-1)
        shape, dtype = list(array.shape), array.dtype
        if dtype in _PAIRS:
            shape, dtype = [*shape, 2], _PAIRS[dtype]
        add(name, _NAMES[dtype], shape, flat.view(np.uint8))
        if gap := -place % _ALIGNMENT:
            add(f"{_GAP}{len(parts)}", "U8", [gap], np.zeros(gap, np.uint8))
    for name, file in (inner or {}).items():
        add(name, "U8", [file.nbytes], file)
    text = json.dumps(header, separators=(",", ":")).encode()
    return Contents(text + b" " * (-(8 + len(text)) % _ALIGNMENT), parts, digests)


def names(path: Path, part: str) -> bool:
    """Whether a file's header names a part, also where what comes behind the header is cut off."""
    with open_regular(path) as stream:
        header = stream.read(min(int.from_bytes(stream.read(8), "little"), _LONGEST_HEADER))
    return header.startswith(b"{") and json.dumps(part).encode() in header


def _kind(entry: Mapping[str, Any]) -> tuple[Any, Any]:
    return entry["dtype"], entry["shape"]


def _array(entry: Mapping[str, Any], data: Array) -> Array:
    start, end = entry["data_offsets"]
    shape = entry["shape"]
    dtype = _DTYPES[entry["dtype"]]
    if not all(type(size) is int and size >= 0 for size in [*shape, start, end]):
        raise ValueError(f"shape {shape} and offsets {start}, {end} must be numbers of at least 0")
    part = data[start:end]
    if part.nbytes != end - start:
        raise ValueError(f"an array ends at {end}, beyond the end of the file: it is truncated")
    return part.view(np.ndarray).view(dtype).reshape(shape)


def of_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    """An array as it was before it was written: complex numbers of their pairs."""
    if dtype in _PAIRS and _PAIRS[dtype] == array.dtype and array.shape[-1:] == (2,):
        return array.reshape(-1).view(dtype).reshape(array.shape[:-1])
    return array


# ---- programs -------------------------------------------------------------------------------------------------------


def is_name(name: str) -> bool:
    """Whether a name is that of a file in the same folder, on any system."""
    return bool(name) and name not in (".", "..") and not set(name) & set("/\\:\0") and name.isprintable()


def file_of(path: Path, parameters: str | bool) -> Path:
    """Where the parameters of a module's file go.

    Raises:
        OptionError: what is given is no file's name.
    """
    if parameters is True:
        return path.with_suffix(SUFFIX)
    if not isinstance(parameters, str) or not is_name(parameters) or not parameters.endswith(SUFFIX):
        raise OptionError(
            f"parameters={parameters!r}: give True, or the name of a file ({path.stem}{SUFFIX}), which is written to "
            "the folder of the module"
        )
    return path.with_name(parameters)


def bound(program: Program) -> dict[int, Parameter]:
    """A program's parameters, by the arguments' places."""
    return {i: x for i, x in program.bindings.items() if isinstance(x, Parameter)}


def self_contained(program: Program) -> Program:
    """The program with its parameters as constants; itself where it has none."""
    arrays = {place: parameter.get_value() for place, parameter in bound(program).items()}
    if not arrays:
        return program
    module = program.copy_module()
    put_in(module, arrays)
    if ATTRIBUTE in module.operation.attributes:
        del module.operation.attributes[ATTRIBUTE]
    pullback = program.pullback
    if pullback is not None:
        inner = pullback.program.copy_module()
        put_in(inner, arrays)
        made = Program(inner, filename=pullback.program.filename)
        pullback = Pullback(made, pullback.arguments, pullback.results)
    bindings = {i: x for i, x in program.bindings.items() if i not in arrays}
    return program._with(module, bindings=bindings, pullback=pullback, source=None)


def split(program: Program, name: str, limit: int) -> tuple[Program, Contents]:
    """Parts a program from its parameters, and from its constants of at least this many bytes.

    Args:
        program: it stays as it is.
        name: of the file that the parameters go to.
        limit: in bytes.

    Returns:
        The program for a file in the same folder, not bound; and what the file `name` is to hold.
    """
    module = program.copy_module()
    pullback = program.pullback
    inner = None if pullback is None else pullback.program.copy_module()
    arguments = program.signature.arguments
    modules = [module] if inner is None else [module, inner]
    found = take_out(modules, len(arguments), limit, fits=fits)
    own = {arguments[i].parameter: parameter for i, parameter in bound(program).items()}
    file = contents({name: parameter.array for name, parameter in own.items()} | found)
    for each, parameter in own.items():
        parameter.refuse_other(file.digests[each])
    _name_file(module, name, file.digest)
    if pullback is not None and inner is not None:
        pullback = Pullback(Program(inner), pullback.arguments, pullback.results)
    return Program(module, filename=program.filename, pullback=pullback), file


def _name_file(module: ir.Module, name: str, digest: str) -> None:
    with module.context:
        texts = [ir.StringAttr.get(text) for text in (name, digest)]
        module.operation.attributes[ATTRIBUTE] = ir.ArrayAttr.get(texts)


def share(program: Program, contents: Contents, file: Path) -> bool:
    """Has what `split` gave use a file that holds the contents already, byte for byte; whether there is one."""
    try:
        found = Tensors(file)
        found.check()
    except ArtifactError:
        return False
    if found.holds(contents):
        _name_file(program._module, file.name, found.digest)
        return True
    return False


def bind(
    program: Program, path: Path, given: str | os.PathLike[str] | None = None, *, place: tuple[int, int] | None = None
) -> None:
    """Gives a program that was read the values of its parameters.

    Args:
        program: it.
        path: the file that it was read from.
        given: the file of the parameters; None for the one that the module names, in the same folder.
        place: first byte and size of the part of the program's own file that they are.

    Raises:
        ArtifactNotFoundError: there is no such file.
        ArtifactError: it is another one, truncated or damaged, or the module's word for it is none.
    """
    arguments = program.signature.arguments
    first = next((i for i, argument in enumerate(arguments) if argument.parameter), None)
    if first is None:
        if given is not None:
            raise ArtifactError(f"{path} has no parameters, and parameters={given} was given")
        return
    if place is None:
        found = Tensors(named_file(program, path)[0] if given is None else Path(given))
    else:
        found = Tensors(path, *place)
    if not all(argument.parameter for argument in arguments[first:]):
        raise ArtifactError(f"{path}: parameters must be the last arguments of @main")
    if found.digest != named_file(program, path)[1]:
        raise ArtifactError(f"{found.path} is not the file that {path} was saved with: its header differs")
    values = {}
    for i, argument in enumerate(arguments[first:], first):
        if argument.parameter not in found.arrays:
            raise ArtifactError(f"{found.path} has no {argument.parameter!r}, which is a parameter of {path}")
        array = of_dtype(found.arrays[argument.parameter], argument.dtype)
        if array.dtype != argument.dtype or array.shape != argument.dims:
            raise ArtifactError(
                f"{found.path} has {argument.parameter!r} as {array.dtype}{array.shape}, not as {argument}"
            )
        values[i] = Parameter(array, argument.parameter, frozen=True, check=found.refuse_change)
    found.check()
    program.bindings.update(values)


def named_file(program: Program, path: Path) -> tuple[Path, str]:
    """The file of parameters that a module names, beside its own, and the digest that it says about it.

    Raises:
        ArtifactError: it names no file of its folder.
    """
    attributes = program._module.operation.attributes
    texts: list[str] = []
    if ATTRIBUTE in attributes:
        try:
            texts = [ir.StringAttr(item).value for item in ir.ArrayAttr(attributes[ATTRIBUTE])]
        except (ValueError, TypeError):
            texts = []
    if len(texts) != 2 or not is_name(texts[0]):
        raise ArtifactError(f"{path} has parameters, and {ATTRIBUTE} does not name a file in its folder: {texts}")
    return path.with_name(texts[0]), texts[1]
