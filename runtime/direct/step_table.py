"""The table of an executable's steps, as words that C runs (`native/steps.c`).

In: steps, and a `Layout`, which gives words their places in a workspace. Out: the place of the table. Every line is
of `LINE` words: what the step is, and words of its own; tables of loops and branches are tables like the whole.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from .ffi import CallFrames
from .object_code import ObjectCode
from .steps import Case, Copy, CustomCall, DirectCallRefused, Kernel, Sort, Step, While, Within, Word

# As in native/native.h and native/sort.c.
LINE = 8
_KERNEL, _COPY, _GROUPS, _WHILE, _CASE, _SORT, _CUSTOM_CALL = range(1, 8)
_MOST_ARRAYS = 16


class StepTable:
    """Writes tables.

    Args:
        code: of the executable's functions.
        write: places words in a workspace and gives the number of the first one.
    """

    def __init__(self, code: ObjectCode, write: Callable[[Sequence[Word]], int]) -> None:
        self._code = code
        self._write = write
        self._frames = CallFrames(write)
        # XLA_CPU_KernelCallFrame's numbers of work groups {x, y, z} and this one's, for kernels of one.
        self._one = self._place([1, 1, 1]), self._place([0, 0, 0])

    def write(self, steps: Sequence[Step]) -> int:
        """Places the table of these steps; the number of its first word.

        Raises:
            DirectCallRefused: a function is not there, or a sort's comparator makes no order.
        """
        lines: list[Word] = []
        for step in steps:
            line = self._line(step)
            lines += [*line, *[0] * (LINE - len(line))]
        return self._write([*lines, *[0] * LINE])

    def _place(self, words: Sequence[Word]) -> Within:
        return Within(self._write(words))

    def _table(self, steps: Sequence[Step]) -> Within:
        return Within(self.write(steps))

    def _line(self, step: Step) -> list[Word]:
        match step:
            case Kernel():
                return self._kernel(step)
            case Copy(source, destination):
                return [_COPY, destination, source, source.size]
            case While(condition, body, predicate, turns):
                tables = [self._table(condition), self._table(body)]
                return [_WHILE, *tables, predicate, turns is not None, turns or 0]
            case Case(index, branches):
                tables = [self._table(branch) for branch in branches]
                return [_CASE, index, index.size, len(tables), self._place(tables)]
            case Sort():
                return [_SORT, self._sort(step)]
            case CustomCall():
                return [_CUSTOM_CALL, *self._frames.call(step)]

    def _kernel(self, kernel: Kernel) -> list[Word]:
        buffers = self._place([word for buffer in kernel.buffers for word in (buffer, buffer.size)])
        several = kernel.groups != (1, 1, 1)
        groups = (self._place(kernel.groups), self._place([0, 0, 0])) if several else self._one
        frame = self._place([*groups, len(kernel.buffers), buffers])
        return [_GROUPS if several else _KERNEL, self._code.address(kernel.name), frame]

    def _sort(self, sort: Sort) -> Within:
        address = self._code.address(sort.comparator)
        if len(sort.arrays) > _MOST_ARRAYS:
            raise DirectCallRefused(f"a sort of {len(sort.arrays):d} arrays together")
        if sort.shape[1] >= 1 << 32:
            raise DirectCallRefused("a sort of more elements than 32 bits count")
        if not _makes_an_order(address, [array.dtype for array in sort.arrays]):
            raise DirectCallRefused("a sort's comparator puts NaN in no place of the order")
        largest = max(array.dtype.itemsize for array in sort.arrays)
        scratch = self._place([0] * -(-sort.shape[1] * (8 + largest) // 8))
        arrays = [word for array in sort.arrays for word in (array.buffer, array.dtype.itemsize)]
        return self._place([address, len(sort.arrays), *sort.shape, scratch, *arrays])


# --- Comparators


def _makes_an_order(address: int, dtypes: Sequence[np.dtype]) -> bool:
    """Whether a comparator is an order of NaN, infinities and zeros too; only then do all stable sorts agree."""
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
