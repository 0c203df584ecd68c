"""Values that differ from repetition to repetition, as one array that is read by the number of the repetition.

In: for each repetition a value, by its code. Out: a `Column`: an array with a leading axis, and how the number of the
repetition gives a row. Values that an earlier run made at regular distances are rows of its stack already; constants
become a table; what is left is joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir import ops
from ...ir.attributes import constant_value
from ...ir.bindings import ir
from . import tiles

Array = np.ndarray[Any, Any]


@dataclass
class Column:
    """A value for each repetition: row `first + step * repetition` of an array.

    Attributes:
        array: (rows, ...).
        first: the row of the first repetition.
        step: how many rows further the next one is; may be negative, or zero for a single repetition.
        count: repetitions.
        affine: for constants that are integers without axes at equal distances: the first, and the distance.
    """

    array: ir.Value
    first: int
    step: int
    count: int
    affine: tuple[int, int] | None = None

    def all(self) -> ir.Value:
        """The rows of all repetitions, in order."""
        return tiles.rows(self.array, self.first, self.count, self.step)

    def row(self, number: ir.Value) -> ir.Value:
        """The row of a repetition in a loop."""
        if self.affine is not None:
            return ops.convert(tiles.affine(number, *self.affine), self.array)
        return ops.row(self.array, tiles.affine(number, self.first, self.step))


@dataclass(frozen=True)
class Piece:
    """Values that follow one another: rows of a run's result, or a single value.

    Attributes:
        run: the number of the run; -1 for a single value.
        code: what identifies the result in the run's block, or the value.
        first: the repetition of the first value.
        step: how many repetitions further the next one is.
        count: how many values.
    """

    run: int
    code: int
    first: int
    step: int
    count: int


def pieces(codes: Array, runs: Array, nodes: Array, repetitions: Array) -> list[Piece]:
    """Splits values into pieces.

    Args:
        codes: the values.
        runs: the run of each; -1 where it is in none.
        nodes: which result of the run's block each is.
        repetitions: of which repetition.
    """
    count = len(codes)
    found: list[Piece] = []
    start = 0
    same = (runs[1:] == runs[:-1]) & (nodes[1:] == nodes[:-1]) & (runs[1:] >= 0)
    steps = np.where(same, np.diff(repetitions), 0)
    # A piece goes on as long as the step stays; a step of zero never does.
    goes_on = np.flatnonzero((np.diff(steps) != 0) | (steps[1:] == 0)) + 2
    ends = np.append(goes_on, count)
    while start < count:
        if runs[start] < 0 or start + 1 == count or steps[start] == 0:
            run = int(runs[start])
            found.append(Piece(run, int(codes[start]) if run < 0 else int(nodes[start]), int(repetitions[start]), 1, 1))
            start += 1
            continue
        end = int(ends[np.searchsorted(ends, start + 2)])
        found.append(
            Piece(int(runs[start]), int(nodes[start]), int(repetitions[start]), int(steps[start]), end - start)
        )
        start = end
    return found


def table(attributes: Sequence[ir.Operation]) -> Array | None:
    """Constants as one array, (count, ...); None where one of them cannot be read."""
    rows = []
    for op in attributes:
        value = constant_value(op)
        if value is None:
            return None
        rows.append(np.broadcast_to(value, tuple(ir.RankedTensorType(op.results[0].type).shape)))
    return np.stack(rows)


def from_table(array: Array) -> Column:
    """The column of constants."""
    affine = None
    if array.ndim == 1 and array.dtype.kind in "iu" and len(array) > 1:
        wide = array.astype(object)
        steps = wide[1:] - wide[:-1]
        if (steps == steps[0]).all() and max(abs(int(wide[0])), abs(int(wide[-1]))) < 1 << 30:
            affine = (int(wide[0]), int(steps[0]))
    return Column(ops.constant(array), 0, 1, len(array), affine)
