"""The function with its runs rolled up.

In: a function, the sequence of its ops, and plans of runs in it. Out: a new function before the old one: ops outside of
runs are copied, and a run becomes the ops and loops of its plan (loop.py has the loops). Decision to know: values of a
run are kept by what they are in its block, all repetitions in one array (or the last one only), and taken apart again
only for a reader that is in no run.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from typing import Any

import numpy as np

from ...ir.attributes import attributes_of
from ...ir.bindings import ir
from ...ir.types import numpy_dtype
from . import build, columns
from .columns import Column
from .plan import Plan, tiled
from .sequence import Sequence, distinct

Array = np.ndarray[Any, Any]

# A concatenation of fewer values is copied as it is.
_JOINED = 8
# Elements of a constant up to which it is repeated where it is read.
SMALL_CONSTANT = 64


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

    def function(self, old: ir.Operation) -> ir.Operation:
        """The new function, before the old one."""
        from .loop import RunEmitter

        with old.context, old.location:
            new = ir.Operation.create(
                "func.func", attributes=attributes_of(old.attributes), regions=1, ip=ir.InsertionPoint(old)
            )
            arguments = self.snapshot.arguments
            block = new.regions[0].blocks.append(
                *[value.type for value in arguments], arg_locs=[old.location] * len(arguments)
            )
            self.values.update((-1 - place, value) for place, value in enumerate(block.arguments))
            starts = {plan.run.start: number for number, plan in enumerate(self.plans)}
            position, end = 0, len(self.sequence.ops)
            number: int | None
            with ir.InsertionPoint(block):
                while position < end:
                    number = starts.get(position)
                    if number is None:
                        self.copy(position)
                        position += 1
                    else:
                        run = self.plans[number].run
                        with self.snapshot.ops[run.template(0)].location:
                            RunEmitter(self, number).emit()
                        position = run.end
        return new

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
        copy = op.clone(ip=ir.InsertionPoint.current)
        own = len(op.operands)
        for place, value in enumerate(operands[:own]):
            copy.operands[place] = value
        if len(operands) > own:
            numbers = self.snapshot.operands_of(index)[own:]
            _replace(copy, {self.snapshot.value(old): new for old, new in zip(numbers, operands[own:], strict=True)})
        return copy

    # ---- values -------------------------------------------------------------------------------------------------

    def resolve(self, code: int) -> ir.Value:
        """The value that a code stands for, in the new function."""
        found = self.values.get(code)
        if found is not None:
            return found
        if code < 0:
            leaf = self.snapshot.ops[int(self.snapshot.owners[-1 - code])]
            made = leaf.clone(ip=ir.InsertionPoint.current).results[0]
        else:
            number = self.run_of(code // self.sequence.stride)
            run = self.plans[number].run
            repetition, node = divmod(code - run.start * self.sequence.stride, run.period * self.sequence.stride)
            if repetition == run.count - 1 and node in self.finals[number]:
                made = self.finals[number][node]
            else:
                made = build.rows(self.arrays[number][node], repetition, 1, 1)
                made = build.reshape(made, build.shape(made)[1:])
        self.values[code] = made
        return made

    def run_of(self, position: int) -> int:
        """The run that a position lies in; -1 for none."""
        number = int(np.searchsorted(self.starts, position, side="right")) - 1
        return number if number >= 0 and position < self.ends[number] else -1

    def constant(self, code: int) -> ir.Operation | None:
        """The constant that a code stands for, in the old function."""
        owner = int(self.snapshot.owners[-1 - code]) if code < 0 else -1
        return self.snapshot.ops[owner] if owner >= 0 and self.snapshot.names[owner] == "stablehlo.constant" else None

    def pieces(self, codes: Array) -> list[columns.Piece]:
        """Values as rows of what runs have made, and single ones."""
        return split(self.sequence, self.plans, self.starts, self.ends, codes)

    def column(self, codes: Array) -> Column:
        """One array for a value of each repetition."""
        key = codes.tobytes()
        if key not in self.columns:
            self.columns[key] = self._column(codes)
        return self.columns[key]

    def _column(self, codes: Array) -> Column:
        if (codes < 0).all():
            constants = [self.constant(code) for code in codes.tolist()]
            known = [op for op in constants if op is not None]
            table = columns.table(known) if len(known) == len(constants) else None
            if table is not None:
                return columns.from_table(table)
        parts = self.pieces(codes)
        if len(parts) == 1:
            piece = parts[0]
            array = self.rows_of(piece)
            if array is not None:
                return Column(array, piece.first, piece.step, piece.count)
        return Column(build.join([self.piece(piece) for piece in parts]), 0, 1, len(codes))

    def rows_of(self, piece: columns.Piece) -> ir.Value | None:
        """The array that a piece consists of rows of."""
        return self.arrays[piece.run].get(piece.code) if piece.run >= 0 else None

    def piece(self, piece: columns.Piece) -> ir.Value:
        """The values of a piece, (count, ...)."""
        array = self.rows_of(piece)
        if array is not None:
            return build.rows(array, piece.first, piece.count, piece.step)
        code = piece.code
        if piece.run >= 0:
            run = self.plans[piece.run].run
            code += (run.start + piece.first * run.period) * self.sequence.stride
        value = self.resolve(code)
        return build.reshape(value, [1, *build.shape(value)])

    def concatenation(self, codes: Array, axis: int) -> ir.Value:
        """Values along an axis, those of a run together."""
        parts = []
        for piece in self.pieces(codes):
            array = self.piece(piece)
            inner = build.shape(array)[1:]
            rank = len(inner)
            moved = build.transpose(array, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
            parts.append(build.reshape(moved, [*inner[:axis], piece.count * inner[axis], *inner[axis + 1 :]]))
        return build.join(parts, axis)


def split(sequence: Sequence, plans: List[Plan], starts: Array, ends: Array, codes: Array) -> list[columns.Piece]:
    """Values as rows of what runs have made, and single ones."""
    stride = sequence.stride
    positions = codes // stride
    runs = np.searchsorted(starts, positions, side="right") - 1
    inside = (codes >= 0) & (runs >= 0)
    if len(starts):
        inside &= positions < ends[np.maximum(runs, 0)]
    runs = np.where(inside, runs, -1)
    nodes, repetitions = np.zeros_like(codes), np.zeros_like(codes)
    for number in distinct(runs[inside]).tolist():
        run, chosen = plans[number].run, runs == number
        relative = codes[chosen] - run.start * stride
        nodes[chosen] = relative % (run.period * stride)
        repetitions[chosen] = relative // (run.period * stride)
    return columns.pieces(codes, runs, nodes, repetitions)


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


def _replace(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                for place, operand in enumerate(inner.operation.operands):
                    if operand in values:
                        inner.operation.operands[place] = values[operand]
                _replace(inner.operation, values)


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
    taken = build.cut(array, low, high, strides)
    if width > 1 and distance > width:
        filling = build.constant(np.zeros((), numpy_dtype(ir.RankedTensorType(array.type).element_type)))
        more = [0] * len(low)
        more[axis] = distance - width
        taken = build.pad(taken, filling, [0] * len(low), more)
    each = 1 if width == 1 else distance
    found = build.reshape(taken, [*sizes[:axis], count, each, *sizes[axis + 1 :]])
    found = build.transpose(found, [axis, *[other for other in range(len(low) + 1) if other != axis]])
    found = build.rows(found, 0, count, 1) if step > 0 else build.rows(found, count - 1, count, -1)
    return build.cut(found, [0] * (len(low) + 1), [count, *sizes], [1] * (len(low) + 1))


def put_together(array: ir.Value, places: Array, whole: List[int]) -> ir.Value:
    """The sum of pads at places that do not overlap: the inverse of `tiles`, zero where there are none."""
    sizes = build.shape(array)[1:]
    axis, step = tiled(places, sizes) or (0, 1)
    count, distance, rank = len(places), abs(step), len(sizes)
    filling = build.constant(np.zeros((), numpy_dtype(ir.RankedTensorType(array.type).element_type)))
    if step < 0:
        array = build.rows(array, count - 1, count, -1)
    more = [0] * (rank + 1)
    more[axis + 1] = distance - sizes[axis]
    array = build.pad(array, filling, [0] * (rank + 1), more)
    array = build.transpose(array, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
    array = build.reshape(array, [*sizes[:axis], count * distance, *sizes[axis + 1 :]])
    low = [int(start) for start in places.min(axis=0)]
    taken = build.shape(array)
    return build.pad(
        array, filling, low, [full - one - size for full, one, size in zip(whole, low, taken, strict=True)]
    )


def chain_total(entry: ir.Value, parts: List[ir.Value]) -> ir.Value:
    """What a sum started from, and all that was added to it."""
    total = parts[0]
    for part in parts[1:]:
        total = build.make("add", total.type, [total, part])
    return build.make("add", total.type, [entry, total])
