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

from ...ir import ops
from ...ir.bindings import ir
from ...ir.clone import clone, replace_operands
from ...ir.values import sizes_of
from . import columns, tiles
from .columns import Column
from .plan import Plan
from .sequence import Sequence, distinct

Array = np.ndarray[Any, Any]

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
            old = map(self.snapshot.value, self.snapshot.operands_of(index)[own:])
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
            number = self.run_of(code // self.sequence.stride)
            run = self.plans[number].run
            repetition, node = divmod(code - run.start * self.sequence.stride, run.period * self.sequence.stride)
            if repetition == run.count - 1 and node in self.finals[number]:
                made = self.finals[number][node]
            else:
                made = tiles.rows(self.arrays[number][node], repetition, 1, 1)
                made = ops.reshape(made, sizes_of(made)[1:])
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
        return Column(ops.concatenate([self.piece(piece) for piece in parts], 0), 0, 1, len(codes))

    def rows_of(self, piece: columns.Piece) -> ir.Value | None:
        """The array that a piece consists of rows of."""
        return self.arrays[piece.run].get(piece.code) if piece.run >= 0 else None

    def piece(self, piece: columns.Piece) -> ir.Value:
        """The values of a piece, (count, ...)."""
        array = self.rows_of(piece)
        if array is not None:
            return tiles.rows(array, piece.first, piece.count, piece.step)
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
