"""Memory that NumPy and XLA:CPU both use: arguments that XLA reads in place, results that NumPy reads in place."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from ctypes import c_char
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from ...codegen.ir.jax_compat import enable_x64

ALIGNMENT = 64  # bytes; XLA:CPU reads an array in place from there

KEPT = 1 << 26  # bytes of memory that calls have used and later ones of the same function will; as in direct/native
FIRST_ADDRESS = 64  # of `memory_at`
_ADDRESSES = 1 << 48


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any], raw: Any = None) -> np.ndarray[Any, Any]:
    """An uninitialized array that XLA:CPU can use in place; in `raw`, bytes which are `ALIGNMENT` more, or new ones."""
    count = math.prod(shape) * dtype.itemsize
    raw = np.empty(count + ALIGNMENT, np.uint8) if raw is None else raw
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count].view(dtype).reshape(shape)


def pool(size: int) -> deque[Any]:
    """For what calls at the same time take for themselves (`pop`) and give back (`append`), both in one step.

    What is given back beyond `KEPT` bytes takes the place of the oldest; `size` is the bytes of one.
    """
    return deque(maxlen=max(1, KEPT // max(1, size)))


def is_aligned(array: np.ndarray[Any, Any]) -> bool:
    """Whether XLA:CPU can use an array in place."""
    return array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0


def in_place(host: np.ndarray[Any, Any], device: Any) -> jax.Array | None:
    """A JAX array on the memory of an aligned array; None where JAX copies."""
    with enable_x64(True), jax.ensure_compile_time_eval():  # it may be made while something else is traced
        array = jax.device_put(host, device)
    array.block_until_ready()
    return array if not host.size or array.unsafe_buffer_pointer() == host.ctypes.data else None


def memory_at(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """What lies at each address as an array: `memory_at(shape, dtype)[address - FIRST_ADDRESS, ...]`.

    Taking one element of it makes an array on known memory five times as fast as making it anew. Nothing is read before
    that; an address at which there is nothing ends the process.

    Args:
        shape, dtype: of the array at each address, in C order; at most 8 kB.
    """
    strides = [1]
    for axis in range(len(shape)):
        strides.append(math.prod(shape[axis + 1 :]) * dtype.itemsize)
    described = {
        "version": 3,
        "shape": (_ADDRESSES, *shape),
        "strides": tuple(strides),
        "typestr": f"|V{dtype.itemsize:d}",
        "data": (FIRST_ADDRESS, False),
    }
    return np.asarray(SimpleNamespace(__array_interface__=described)).view(dtype)


def sharer(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[Any], np.ndarray[Any, Any]]:
    """A function from a result that is there to its own memory, as an array of this shape and dtype; not for size 0.

    See `shared_memory`.
    """
    memory_type: Any = c_char * (math.prod(shape) * dtype.itemsize)

    def share(array: Any) -> np.ndarray[Any, Any]:
        memory = memory_type.from_address(array.unsafe_buffer_pointer())
        memory.owner = array
        return np.ndarray(shape, dtype, memory)

    return share


def shared_memory(array: jax.Array) -> np.ndarray[Any, Any]:
    """A result's own memory on the CPU as a NumPy array that can be written to; it keeps the result alive.

    Nothing else may hold the result: an executable's result shares its memory with no argument, constant or other
    result.
    """
    array.block_until_ready()
    dtype = np.dtype(array.dtype)
    return sharer(array.shape, dtype)(array) if array.size else np.empty(array.shape, dtype)
