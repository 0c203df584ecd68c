"""The loop over blocks, written out.

In: a plan of a loop. Out: the loop, and behind it what is left over of the axis, once more. Results that lie along the
axis are written into an array, block by block; those that are summed up are added in a wider type. Decision to know:
the loop stands as early as it can; ops before it that read its results are moved behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import ops
from ...ir.attributes import PREFIX
from ...ir.bindings import ir, stablehlo
from ...ir.clone import clone
from ...ir.kinds import identity
from ...ir.op_sheet import shortened
from ...ir.values import dtype_of, owner, sizes_of
from ...ir.while_ops import add_to_sum, counted, end_sum, start_sum, wider
from .axes import is_free
from .plan import Loop


def emit(loop: Loop) -> None:
    """Makes a loop, and puts its results in place of those that it computes."""
    straight, made = loop.region.straight, loop.made
    leaves = [source for place in made for source in straight.reads[place] if source not in made]
    position = max(leaves, default=-1) + 1
    before = straight.ops[position]
    with ir.InsertionPoint(before), loop.region.op(loop.outputs[0]).location:
        results = _write(loop)
    for place, values in zip(loop.outputs, results, strict=True):
        for old, new in zip(loop.region.op(place).results, values, strict=True):
            old.replace_all_uses_with(new)
    moved = straight.behind(loop.outputs, straight.users)
    for place in sorted(moved):
        if place < position:
            straight.ops[place].move_before(before)


def _write(loop: Loop) -> list[list[ir.Value]]:
    outputs = [_Output(loop, place) for place in loop.outputs]
    counts = [len(output.inits) for output in outputs]

    def step(start: Any, rows: int, carries: Sequence[ir.Value]) -> list[ir.Value]:
        part = _Part(loop, start, rows)
        pairs = zip(outputs, _split(carries, counts), strict=True)
        return [value for output, own in pairs for value in output.add(own, part)]

    carries = [init for output in outputs for init in output.inits]
    whole = loop.size // loop.rows * loop.rows
    carries = counted(0, whole, loop.rows, carries, lambda start, values: step(start, loop.rows, values))
    if whole < loop.size:
        carries = step(whole, loop.size - whole, carries)
    return [output.finish(values) for output, values in zip(outputs, _split(carries, counts), strict=True)]


def _split(values: Sequence[ir.Value], counts: Sequence[int]) -> list[Sequence[ir.Value]]:
    ends = np.cumsum(counts).tolist()
    return [values[end - count : end] for end, count in zip(ends, counts, strict=True)]


class _Output:
    """What one op's results become over the blocks.

    Args:
        loop: the loop.
        place: the op's.
    """

    def __init__(self, loop: Loop, place: int):
        self._place, self._axis = place, loop.along.get(place)
        self._results = list(loop.region.op(place).results)
        op = loop.region.op(place)
        self._monoid = loop.region.forms[place].monoid
        init = op.operands[1] if op.name == "stablehlo.reduce" else None
        if self._axis is not None:
            self.inits = [ops.filled(result, 0) for result in op.results]
        elif self._monoid == "add":
            self.inits = start_sum(op.results[0], init)
        else:
            assert init is not None
            kind = wider(dtype_of(init)) if self._monoid == "multiply" else dtype_of(init)
            self.inits = [ops.broadcast_in_dim(ops.convert(init, kind), sizes_of(op.results[0]))]

    def add(self, carries: Sequence[ir.Value], part: _Part) -> list[ir.Value]:
        """The carries with one more block."""
        values = part.values[self._place]
        if self._axis is None:
            (value,) = values
            if self._monoid == "add":
                return add_to_sum(carries, value)
            (carry,) = carries
            return [ops.elementwise(f"stablehlo.{self._monoid}", carry, ops.convert(value, carry.type))]
        starts = part.starts(len(sizes_of(values[0])), self._axis)
        pairs = zip(carries, values, strict=True)
        return [ops.dynamic_update_slice(carry, value, starts) for carry, value in pairs]

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """The op's results."""
        if self._axis is None and self._monoid == "add":
            return [end_sum(carries, self._results[0])]
        return [ops.convert(value, own) for value, own in zip(carries, self._results, strict=True)]


class _Part:
    """The values of one block.

    Args:
        loop: the loop.
        start: where the block begins.
        rows: of the block.
    """

    def __init__(self, loop: Loop, start: Any, rows: int):
        self._loop, self._start, self._rows = loop, start, rows
        self._slices: dict[tuple[ir.Value, int], ir.Value] = {}
        self.values: dict[int, list[ir.Value]] = {}
        for place in loop.made:
            self.values[place] = self._make(place)

    def starts(self, rank: int, axis: int) -> list[ir.Value]:
        """Where the block begins in an array that has the axis."""
        start = ops.index(self._start) if isinstance(self._start, int) else self._start
        return [start if each == axis else ops.index(0) for each in range(rank)]

    def _make(self, place: int) -> list[ir.Value]:
        loop = self._loop
        op = loop.region.op(place)
        if place in loop.summed:
            return self._sum(op, loop.summed[place])
        axis = loop.along[place]
        operands = self._operands(op, loop.region.forms[place].places(axis))
        shape = sizes_of(op.results[0])
        shape[axis] = self._rows
        return list(clone(op, operands, shape, **shortened(op, axis, self._rows)).results)

    def _sum(self, op: ir.Operation, axes: list[int | None]) -> list[ir.Value]:
        operands = self._operands(op, axes)
        if op.name == "stablehlo.reduce":
            operands[1] = ops.constant(identity(self._loop.region.forms[self._place(op)].monoid, dtype_of(operands[1])))
        made = clone(op, operands)
        if _LIVE in made.attributes:
            del made.attributes[_LIVE]
        return list(made.results)

    def _place(self, op: ir.Operation) -> int:
        return self._loop.region.straight.place[op.results[0]]

    def _operands(self, op: ir.Operation, along: Sequence[int | None]) -> list[ir.Value]:
        places = self._loop.region.straight.place
        found = []
        for value, axis in zip(op.operands, along, strict=True):
            made = self.values.get(places.get(value, -1))
            if made is not None:
                found.append(made[ir.OpResult(value).result_number])
            else:
                found.append(value if axis is None else self._slice(value, axis))
        return found

    def _slice(self, value: ir.Value, axis: int) -> ir.Value:
        if (value, axis) not in self._slices:
            shape = [self._rows if each == axis else size for each, size in enumerate(sizes_of(value))]
            made = self._free(value, shape, axis) if is_free(value) else self._cut(value, shape, axis)
            self._slices[value, axis] = made
        return self._slices[value, axis]

    def _cut(self, value: ir.Value, shape: Sequence[int], axis: int) -> ir.Value:
        if not isinstance(self._start, int):
            return ops.dynamic_slice(value, self.starts(len(shape), axis), shape)
        starts = [self._start if each == axis else 0 for each in range(len(shape))]
        return ops.slice(value, starts, [start + size for start, size in zip(starts, shape, strict=True)])

    def _free(self, value: ir.Value, shape: Sequence[int], axis: int) -> ir.Value:
        op = owner(value)
        assert op is not None
        if op.name == "stablehlo.broadcast_in_dim":
            return ops.broadcast_in_dim(op.operands[0], shape)
        if op.name == "stablehlo.constant":
            splat = ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()
            return stablehlo.constant(ir.DenseElementsAttr.get_splat(ops.tensor_type(value, shape), splat))
        dimension = ir.IntegerAttr(op.attributes["iota_dimension"]).value
        if dimension != axis:
            return ops.iota(shape, dimension, value)
        (start,) = self.starts(1, 0)
        return ops.convert(stablehlo.add(ops.iota(shape, axis), ops.broadcast_in_dim(start, shape)), value)


_LIVE = f"{PREFIX}live"
