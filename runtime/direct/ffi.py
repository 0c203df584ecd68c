"""Calls of functions that are registered with XLA's foreign function interface: jaxlib's LAPACK, and our own.

In: a function's name, what it reads and writes, and its attributes. Out: its address, and the frame that it takes
(XLA_FFI_CallFrame in `xla/ffi/api/c_api.h`). Decision to know: only functions that are known to need nothing but their
arguments are called. Where one asks XLA for more (memory, threads, state), the frame's table of XLA's functions
refuses, and its call fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...codegen.ir.jax_compat import initialize_lapack, lapack_handlers
from . import blas
from .hlo_module import ELEMENT_TYPES
from .native_code import native_code
from .object_code import once
from .steps import DirectCallRefused, Value, Word, Words

_BUFFER = 1  # XLA_FFI_ArgType, XLA_FFI_RetType
_SCALAR = 3  # XLA_FFI_AttrType
_EXECUTE = 3  # XLA_FFI_ExecutionStage
_FUNCTIONS = 40  # of XLA_FFI_Api, and some to spare
_DETAILS = 1  # the one of them that returns nothing
# Sizes in bytes up to the last field that the interface counts.
_FRAME_BYTES, _ARGUMENTS_BYTES, _ATTRIBUTES_BYTES, _BUFFER_BYTES = 168, 40, 48, 48


def call_frame(
    target: str, arguments: Sequence[Value], results: Sequence[Value], attributes: Mapping[str, np.generic]
) -> tuple[int, Words]:
    """The address of a function, and the frame that it is called with.

    Raises:
        DirectCallRefused: the function is none that is known.
    """
    frame: list[Word] = [_FRAME_BYTES, 0, _api(), 0, _EXECUTE]
    frame += [*_buffers(arguments), *_buffers(results), *_attributes(attributes), 0]
    return _address(target), Words(frame)


@once
def _api() -> Words:
    """XLA_FFI_Api: size, extension, version (a struct of three words), internal functions, functions."""
    code = native_code()
    functions = [code.address("hlograph_ffi_refuse")] * _FUNCTIONS
    functions[_DETAILS] = code.address("hlograph_ffi_details")
    words = [0, 0, 24, 0, 0, 0, *functions]
    return Words([8 * len(words), *words[1:]])


def _numbers(numbers: Sequence[int]) -> Words:
    """An array of int32."""
    return _bytes(np.array(numbers, np.int32).tobytes())


def _bytes(data: bytes) -> Words:
    return Words([int(word) for word in np.frombuffer(data + bytes(-len(data) % 8), np.uint64)])


def _buffers(values: Sequence[Value]) -> list[Word]:
    """XLA_FFI_Args or XLA_FFI_Rets, of XLA_FFI_Buffer; XLA_FFI_DataType has XLA's numbers of types."""
    buffers = [
        Words([_BUFFER_BYTES, 0, ELEMENT_TYPES[value.dtype], value.buffer, len(value.shape), Words(value.shape)])
        for value in values
    ]
    return [_ARGUMENTS_BYTES, 0, len(values), _numbers([_BUFFER] * len(values)), Words(buffers)]


def _attributes(attributes: Mapping[str, np.generic]) -> list[Word]:
    """XLA_FFI_Attrs, sorted by name."""
    items = sorted((name.encode(), value) for name, value in attributes.items())
    names = Words([Words([_bytes(name), len(name)]) for name, _ in items])
    scalars = Words([Words([ELEMENT_TYPES[value.dtype], _bytes(value.tobytes())]) for _, value in items])
    return [_ATTRIBUTES_BYTES, 0, len(items), _numbers([_SCALAR] * len(items)), names, scalars]


def _address(target: str) -> int:
    """The function behind a name."""
    if target in blas.TARGETS:
        return blas.address(target)
    if target not in lapack_handlers():
        raise DirectCallRefused(f"{target} is a function that is not known to do without XLA's runtime")
    initialize_lapack()
    return lapack_handlers()[target]
