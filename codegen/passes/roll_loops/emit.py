"""The function with its runs rolled up.

In: a function, the sequence of its ops, and plans of runs in it. Out: a new function before the old one: ops outside of
runs are copied, and a run becomes the ops and loops of its plan (loop.py has the loops). Decision to know: values of a
run are kept by what they are in its block, all repetitions in one array (or the last one only), and taken apart again
only for a reader that is in no run.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass

import numpy as np

from ...ir import ops
from ...ir.bindings import ir
from ...ir.clone import clone, replace_operands
from ...ir.values import Array, constant_value, sizes_of
from .plan import Plan, tiled
from .snapshot import Sequence, distinct

# A concatenation of fewer values is copied as it is.
_JOINED = 8


class Emitter:
    """Makes the new function.

    Attributes:
        sequence: the ops.
        plans: of runs that do not overlap, by position.
        arrays: for each run, the results of its block that exist for all repetitions.
        finals: for each run, the results of its block that exist for the last repetition.
        wanted: for each run, the repetitions whose results are read outside of it, by result.
    """

    def __init__(self, sequence: Sequence, plans: List[Plan]):
        self.sequence, self.plans = sequence, plans
        self.snapshot = sequence.snapshot
        self.starts = np.array([plan.run.start for plan in plans], np.int64)
        self.ends = np.array([plan.run.end for plan in plans], np.int64)
        self.arrays: list[dict[int, ir.Value]] = [{} for _ in plans]
        self.finals: list[dict[int, ir.Value]] = [{} for _ in plans]
        self.wanted = [outside(sequence, plan.run.start, plan.run.period, plan.run.count) for plan in plans]
        self.values: dict[int, ir.Value] = {}
        self.columns: dict[bytes, Column] = {}
        self.location = ir.Location.unknown(self.snapshot.ops[0].context)

    def copy(self, position: int) -> None:
        """An op outside of runs."""
        sequence = self.sequence
        index = int(sequence.ops[position])
        op = self.snapshot.ops[index]
        codes = sequence.codes[sequence.first[position] : sequence.first[position + 1]]
        with op.location:
            if op.name == "stablehlo.concatenate" and len(codes) >= _JOINED:
                axis = ir.IntegerAttr(op.attributes["dimension"]).value
                self.values[position * sequence.stride] = self.concatenation(codes, axis)
                return
            copy = self.clone(index, [self.resolve(code) for code in codes.tolist()])
        for number, result in enumerate(copy.results):
            self.values[position * sequence.stride + number] = result

    def clone(self, index: int, operands: List[ir.Value]) -> ir.Operation:
        """A copy of an op with other operands, also those that its regions read from outside."""
        op = self.snapshot.ops[index]
        own = len(op.operands)
        copy = clone(op, operands[:own])
        if len(operands) > own:
            first, end = self.snapshot.first[index : index + 2].tolist()
            old = map(self.snapshot.value, self.snapshot.operands[first + own : end].tolist())
            known = dict(zip(old, operands[own:], strict=True))
            replace_operands(copy, lambda value: known.get(value, value))
        return copy

    # ---- values -------------------------------------------------------------------------------------------------

    def resolve(self, code: int) -> ir.Value:
        """The value that a code stands for, in the new function."""
        found = self.values.get(code)
        if found is not None:
            return found
        if code < 0:
            leaf = self.snapshot.ops[int(self.snapshot.owners[-1 - code])]
            made = clone(leaf).results[0]
        else:
            number = int(np.searchsorted(self.starts, code // self.sequence.stride, side="right")) - 1
            run = self.plans[number].run
            repetition, node = divmod(code - run.start * self.sequence.stride, run.period * self.sequence.stride)
            if repetition == run.count - 1 and node in self.finals[number]:
                made = self.finals[number][node]
            else:
                made = rows(self.arrays[number][node], repetition, 1, 1)
                made = ops.reshape(made, sizes_of(made)[1:])
        self.values[code] = made
        return made

    def constant(self, code: int) -> ir.Operation | None:
        """The constant that a code stands for, in the old function."""
        owner = int(self.snapshot.owners[-1 - code]) if code < 0 else -1
        return self.snapshot.ops[owner] if owner >= 0 and self.snapshot.names[owner] == "stablehlo.constant" else None

    def pieces(self, codes: Array) -> list[Piece]:
        """Values as rows of what runs have made, and single ones."""
        stride, count = self.sequence.stride, len(codes)
        positions = codes // stride
        runs = np.searchsorted(self.starts, positions, side="right") - 1
        inside = (codes >= 0) & (runs >= 0)
        if len(self.starts):
            inside &= positions < self.ends[np.maximum(runs, 0)]
        runs = np.where(inside, runs, -1)
        nodes, repetitions = codes.copy(), np.zeros_like(codes)
        for number in distinct(runs[inside]).tolist():
            run, chosen = self.plans[number].run, runs == number
            repetitions[chosen], nodes[chosen] = np.divmod(codes[chosen] - run.start * stride, run.period * stride)
        same = (runs[1:] == runs[:-1]) & (nodes[1:] == nodes[:-1]) & (runs[1:] >= 0)
        steps = np.append(np.where(same, np.diff(repetitions), 0), 0)
        # A piece goes on as long as the step stays; a step of zero never does.
        ends = np.append(np.flatnonzero((np.diff(steps[:-1]) != 0) | (steps[1:-1] == 0)) + 2, count)
        found: list[Piece] = []
        start = 0
        while start < count:
            alone = steps[start] == 0
            end = start + 1 if alone else int(ends[np.searchsorted(ends, start + 2)])
            step = 1 if alone else int(steps[start])
            found.append(Piece(int(runs[start]), int(nodes[start]), int(repetitions[start]), step, end - start))
            start = end
        return found

    def column(self, codes: Array) -> Column:
        """One array for a value of each repetition."""
        key = codes.tobytes()
        if key not in self.columns:
            self.columns[key] = self._column(codes)
        return self.columns[key]

    def _column(self, codes: Array) -> Column:
        constants = [op for code in codes.tolist() if (op := self.constant(code)) is not None]
        known = [(constant_value(op), sizes_of(op.results[0])) for op in constants]
        if len(known) == len(codes) and all(value is not None for value, _ in known):
            table = np.stack([np.broadcast_to(value, shape) for value, shape in known])  # type: ignore[arg-type]
            return Column(ops.constant(table), 0, 1, len(table), _distances(table))
        parts = self.pieces(codes)
        array = self.rows_of(parts[0]) if len(parts) == 1 else None
        if array is not None:
            return Column(array, parts[0].first, parts[0].step, parts[0].count)
        return Column(ops.concatenate([self.piece(piece) for piece in parts], 0), 0, 1, len(codes))

    def rows_of(self, piece: Piece) -> ir.Value | None:
        """The array that a piece consists of rows of."""
        return self.arrays[piece.run].get(piece.code) if piece.run >= 0 else None

    def piece(self, piece: Piece) -> ir.Value:
        """The values of a piece, (count, ...)."""
        array = self.rows_of(piece)
        if array is not None:
            return rows(array, piece.first, piece.count, piece.step)
        code = piece.code
        if piece.run >= 0:
            run = self.plans[piece.run].run
            code += (run.start + piece.first * run.period) * self.sequence.stride
        value = self.resolve(code)
        return ops.reshape(value, [1, *sizes_of(value)])

    def concatenation(self, codes: Array, axis: int) -> ir.Value:
        """Values along an axis, those of a run together."""
        parts = []
        for piece in self.pieces(codes):
            array = self.piece(piece)
            inner = sizes_of(array)[1:]
            rank = len(inner)
            moved = ops.transpose(array, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
            parts.append(ops.reshape(moved, [*inner[:axis], piece.count * inner[axis], *inner[axis + 1 :]]))
        return ops.concatenate(parts, axis)


def outside(sequence: Sequence, start: int, period: int, count: int) -> dict[int, set[int]]:
    """The results of a run's block that are read outside of it, and of which repetitions.

    Repetitions are listed as the last one only, or as 0 where an earlier one is read as well.
    """
    stride = sequence.stride
    end = start + period * count
    later = sequence.codes[sequence.first[end] :]
    read = distinct(later[(later >= start * stride) & (later < end * stride)]) - start * stride
    nodes, repetitions = read % (period * stride), read // (period * stride)
    found: dict[int, set[int]] = {}
    early = distinct(nodes[repetitions < count - 1])
    for node in early.tolist():
        found[node] = {0}
    for node in distinct(nodes[repetitions == count - 1]).tolist():
        found.setdefault(node, set()).add(count - 1)
    return found


# ---- values that differ from repetition to repetition, as one array -------------------------------------------------
#
# Values that an earlier run made at regular distances are rows of its stack already; constants become a table; what is
# left is joined.


@dataclass
class Column:
    """A value for each repetition: row `first + step * repetition` of an array.

    Attributes:
        array: (rows, ...).
        first: the row of the first repetition.
        step: how many rows further the next one is; may be negative, or zero for a single repetition.
        count: repetitions.
        affine: for constants that are integers without axes at equal distances: the distance, and the first.
    """

    array: ir.Value
    first: int
    step: int
    count: int
    affine: tuple[int, int] | None = None

    def all(self) -> ir.Value:
        """The rows of all repetitions, in order."""
        return rows(self.array, self.first, self.count, self.step)

    def row(self, number: ir.Value) -> ir.Value:
        """The row of a repetition in a loop."""
        if self.affine is not None:
            return ops.convert(ops.affine(number, *self.affine), self.array)
        return ops.row(self.array, ops.affine(number, self.step, self.first))


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


def _distances(table: Array) -> tuple[int, int] | None:
    """The distance of integers at equal distances, and the first."""
    if table.ndim > 1 or table.dtype.kind not in "iu" or len(table) < 2:
        return None
    first, last, steps = int(table[0]), int(table[-1]), np.diff(table.astype(object))
    return (int(steps[0]), first) if (steps == steps[0]).all() and max(abs(first), abs(last)) < 1 << 30 else None


# ---- slices of an array that follow one another: `tiles` and `put_together` are inverse -----------------------------


def rows(value: ir.Value, first: int, count: int, step: int) -> ir.Value:
    """Elements `first`, `first + step`, ... along the leading axis; the step may be negative, not zero."""
    inner = sizes_of(value)[1:]
    if count == 1:
        step = 1
    low = first if step > 0 else first + (count - 1) * step
    high = low + (count - 1) * abs(step) + 1
    found = ops.slice(value, [low] + [0] * len(inner), [high, *inner], [abs(step)] + [1] * len(inner))
    return found if step > 0 else ops.reverse(found, 0)


def tiles(array: ir.Value, places: Array, sizes: List[int]) -> ir.Value:
    """Slices of an array at places that follow one another, (count, ...)."""
    axis, step = tiled(places, list(sizes)) or (0, 1)
    count, width, distance = len(places), sizes[axis], abs(step)
    low = [int(start) for start in places.min(axis=0)]
    high = [start + size for start, size in zip(low, sizes, strict=True)]
    high[axis] = int(places[:, axis].max()) + width
    strides = [1] * len(low)
    if width == 1:
        strides[axis] = distance
    taken = ops.slice(array, low, high, strides)
    if width > 1 and distance > width:
        filling = ops.scalar(0, array)
        more = [0] * len(low)
        more[axis] = distance - width
        taken = ops.pad(taken, filling, [0] * len(low), more)
    each = 1 if width == 1 else distance
    found = ops.reshape(taken, [*sizes[:axis], count, each, *sizes[axis + 1 :]])
    found = ops.transpose(found, [axis, *[other for other in range(len(low) + 1) if other != axis]])
    found = rows(found, 0, count, 1) if step > 0 else rows(found, count - 1, count, -1)
    return ops.slice(found, [0] * (len(low) + 1), [count, *sizes], [1] * (len(low) + 1))


def put_together(array: ir.Value, places: Array, whole: List[int]) -> ir.Value:
    """The sum of pads at places that do not overlap: the inverse of `tiles`, zero where there are none."""
    sizes = sizes_of(array)[1:]
    axis, step = tiled(places, sizes) or (0, 1)
    count, distance, rank = len(places), abs(step), len(sizes)
    filling = ops.scalar(0, array)
    if step < 0:
        array = rows(array, count - 1, count, -1)
    more = [0] * (rank + 1)
    more[axis + 1] = distance - sizes[axis]
    array = ops.pad(array, filling, [0] * (rank + 1), more)
    array = ops.transpose(array, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
    array = ops.reshape(array, [*sizes[:axis], count * distance, *sizes[axis + 1 :]])
    low = [int(start) for start in places.min(axis=0)]
    taken = sizes_of(array)
    return ops.pad(array, filling, low, [full - one - size for full, one, size in zip(whole, low, taken, strict=True)])
