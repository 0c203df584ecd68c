"""Calls of functions that are registered with XLA's foreign function interface: jaxlib's LAPACK, and our own.

In: a `CustomCall`. Out: the function's address, and the frame that it takes (XLA_FFI_CallFrame in
`xla/ffi/api/c_api.h`). Decision to know: only functions that are known to need nothing but their arguments are called.
Where one asks XLA for more (memory, threads, state), the frame's table of XLA's functions refuses, and its call fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...codegen.ir.jax_compat import initialize_lapack, lapack_handlers
from . import blas
from .hlo_module import ELEMENT_TYPES
from .native_code import native_code
from .steps import CustomCall, DirectCallRefused, Value, Within, Word

_BUFFER = 1  # XLA_FFI_ArgType, XLA_FFI_RetType
_SCALAR = 3  # XLA_FFI_AttrType
_EXECUTE = 3  # XLA_FFI_ExecutionStage
_FUNCTIONS = 40  # of XLA_FFI_Api, and some to spare
_DETAILS = 1  # the one of them that returns nothing
# Sizes in bytes up to the last field that the interface counts.
_FRAME_BYTES, _ARGUMENTS_BYTES, _ATTRIBUTES_BYTES, _BUFFER_BYTES = 168, 40, 48, 48


class CallFrames:
    """Writes call frames.

    Args:
        write: places words in a workspace and gives the number of the first one.
    """

    def __init__(self, write: Callable[[Sequence[Word]], int]) -> None:
        self._write = write
        self._interface: Within | None = None

    def call(self, call: CustomCall) -> tuple[int, Within]:
        """The address of a function, and of the frame that it is called with.

        Raises:
            DirectCallRefused: the function is none that is known.
        """
        frame: list[Word] = [_FRAME_BYTES, 0, self._api(), 0, _EXECUTE]
        frame += [*self._buffers(call.arguments), *self._buffers(call.results), *self._attributes(call), 0]
        return _address(call.target), self._place(frame)

    def _place(self, words: Sequence[Word]) -> Within:
        return Within(self._write(words))

    def _api(self) -> Within:
        """XLA_FFI_Api: size, extension, version (a struct of three words), internal functions, functions."""
        if self._interface is None:
            code = native_code()
            functions = [code.address("hlograph_ffi_refuse")] * _FUNCTIONS
            functions[_DETAILS] = code.address("hlograph_ffi_details")
            words = [0, 0, 24, 0, 0, 0, *functions]
            self._interface = self._place([8 * len(words), *words[1:]])
        return self._interface

    def _numbers(self, numbers: Sequence[int]) -> Within:
        """An array of int32."""
        padded = np.array([*numbers, *[0] * (len(numbers) % 2)], np.int32)
        return self._place([int(word) for word in padded.view(np.uint64)])

    def _buffers(self, values: Sequence[Value]) -> list[Word]:
        """XLA_FFI_Args or XLA_FFI_Rets."""
        buffers = self._place([self._buffer(value) for value in values])
        return [_ARGUMENTS_BYTES, 0, len(values), self._numbers([_BUFFER] * len(values)), buffers]

    def _buffer(self, value: Value) -> Within:
        """XLA_FFI_Buffer."""
        dims = self._place(value.shape)
        type_ = ELEMENT_TYPES[value.dtype]  # XLA_FFI_DataType has the same numbers
        return self._place([_BUFFER_BYTES, 0, type_, value.buffer, len(value.shape), dims])

    def _attributes(self, call: CustomCall) -> list[Word]:
        """XLA_FFI_Attrs, sorted by name."""
        items = sorted(call.attributes.items(), key=lambda item: item[0].encode())
        names = self._place([self._place([self._bytes(name.encode()), len(name.encode())]) for name, _ in items])
        scalars = self._place([self._scalar(value) for _, value in items])
        return [_ATTRIBUTES_BYTES, 0, len(items), self._numbers([_SCALAR] * len(items)), names, scalars]

    def _scalar(self, value: np.generic) -> Within:
        return self._place([ELEMENT_TYPES[value.dtype], self._bytes(value.tobytes())])

    def _bytes(self, data: bytes) -> Within:
        padded = data + bytes(-len(data) % 8)
        return self._place([int(word) for word in np.frombuffer(padded, np.uint64)])


def _address(target: str) -> int:
    """The function behind a name."""
    if target in blas.TARGETS:
        return blas.address(target)
    if target not in lapack_handlers():
        raise DirectCallRefused(f"{target} is a function that is not known to do without XLA's runtime")
    initialize_lapack()
    return lapack_handlers()[target]
