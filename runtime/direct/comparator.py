"""Whether a sort's comparator is an order of NaN, infinities and zeros too; only then do all stable sorts agree."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence

import numpy as np


def makes_an_order(address: int, dtypes: Sequence[np.dtype]) -> bool:
    """Whether the comparator of tuples of these dtypes at an address is an order."""
    compare = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(address)
    result = ctypes.c_bool(False)

    def less(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> bool:
        pointers = [array.ctypes.data for pair in zip(left, right, strict=True) for array in pair]
        elements = (ctypes.c_void_p * len(pointers))(*pointers)
        compare(ctypes.byref(result), None, elements, None, None, None)
        return result.value

    samples = _samples(dtypes)
    table = np.array([[less(left, right) for right in samples] for left in samples])
    alike = ~(table | table.T)  # neither is before the other
    irreflexive = not table.diagonal().any()
    asymmetric = not (table & table.T).any()
    return irreflexive and asymmetric and _transitive(table) and _transitive(alike)


def _transitive(table: np.ndarray) -> bool:
    steps = table.astype(np.int64)
    return not ((steps @ steps > 0) & ~table).any()


def _samples(dtypes: Sequence[np.dtype]) -> list[list[np.ndarray]]:
    """Tuples of elements: all of the special ones of the first two arrays with one another."""
    special = [_special(dtype) for dtype in dtypes]
    first = [column if i < 2 else column[:2] for i, column in enumerate(special[:3])]
    rest = [column[0] for column in special[3:]]
    return [[*chosen, *rest] for chosen in itertools.product(*first)]


def _special(dtype: np.dtype) -> list[np.ndarray]:
    values: list[float] = [0, 1, 2]
    if dtype.kind in "fc":
        values = [1.0, np.nan, -np.inf, -1.0, -0.0, 0.0, np.inf, -np.nan]
    return [np.array(value, dtype) for value in values]
