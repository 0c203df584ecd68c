"""An executable as a C function: no Python in a call, and any number of threads at once.

In: a `DirectCall`, and values of the arguments that a form does not take. Out: an address. What it does is in
`native/function.c`: here is the struct that it reads.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..calls.memory import aligned
from .call import DirectCall
from .object_code import functions

_HEADER, _SLOTS, _LINE = 16, 64, 8  # words of the struct before its slots, how many of them, words of each
_REFERRED = 4096  # bytes from which an aligned array is read where the caller has it


class Form(NamedTuple):
    """How a C function is called.

    Attributes:
        name: what users call it.
        signature: in C.
        sizes: number of its parameters that are sizes; the others are pointers.
        pointers: number of them.
    """

    name: str
    signature: str
    sizes: int
    pointers: int

    @property
    def prototype(self) -> Any:
        """Its type; calls of it let go of the interpreter's lock."""
        types = [ctypes.c_size_t] * self.sizes + [ctypes.c_void_p] * self.pointers
        return ctypes.CFUNCTYPE(ctypes.c_long, *types)


_LOGP = "long logp(size_t dim, const double *x, double *gradient, double *logp, const void *user)"
_EXPAND = "long expand(size_t dim, size_t expanded, const double *x, double *out, const void *user)"
_ARRAYS = "long f(const void *const *inputs, void *const *outputs, const void *user)"
_ALL = (
    Form("arrays", _ARRAYS, 0, 3),
    Form("logp", _LOGP, 1, 4),
    Form("density", _LOGP, 1, 4),
    Form("expand", _EXPAND, 2, 3),
)
FORMS = {form.name: form for form in _ALL}


class CProgram:
    """An executable that C calls, until this object is gone.

    Attributes:
        address: of the function.
    """

    def __init__(self, direct: DirectCall, form: Form, given: int, data: int, checks: int) -> None:
        """Makes it.

        Args:
            direct: an executable whose results are the form's, and the flags of checks behind them.
            form: how it is called.
            given: number of arguments that its caller gives.
            data: address of the table of the other ones' addresses, or 0.
            checks: number of flags.

        Raises:
            DirectCallRefused: its code cannot be loaded.
        """
        executable = direct.executable
        results = {value.buffer.allocation for value in executable.results}
        written = [
            i in executable.donated or value.buffer.allocation in results
            for i, value in enumerate(executable.parameters)
        ]
        referred = [i for i in range(given, len(written)) if not written[i]]
        place, size = direct.layout(referred)
        inputs: list[int] = []
        for i, value in enumerate(executable.parameters):
            where = 1 if i in referred else 2 if value.buffer.size >= _REFERRED and not written[i] else 0
            inputs += (place(value), value.buffer.size, where)
        outputs = [word for value in executable.results for word in (place(value), value.buffer.size)]
        self._held = direct, np.array(inputs, np.uint64), np.array(outputs, np.uint64)
        words = direct.steps.words
        self._program = aligned((_HEADER + _SLOTS * _LINE,), np.dtype(np.uint64))
        self._program[:] = 0
        self._program[:12] = (
            size,
            direct.code.address,
            len(words),
            words.ctypes.data,
            len(executable.parameters),
            given,
            self._held[1].ctypes.data,
            len(executable.results) - bool(checks),
            self._held[2].ctypes.data,
            checks,
            executable.results[-1].dtype.itemsize if checks else 0,
            data,
        )
        self._code = functions(self._program.ctypes.data)
        self.address = self._code.address(f"hlograph_{form.name}")
        self._release = ctypes.CFUNCTYPE(None)(self._code.address("hlograph_release"))

    def __del__(self) -> None:
        if not sys.is_finalizing() and hasattr(self, "_release"):
            self._release()


def table(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The arrays' addresses, as C functions take them for data."""
    return np.array([array.ctypes.data for array in arrays], np.uint64)
