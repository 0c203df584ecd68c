"""A slice of elementwise work, computed from slices of what the work reads.

    %d = subtract %a, %b                              %a1 = dynamic_slice %a, %i, %z
    %s = dynamic_slice %d, %i, %z, sizes = [1, 8]  ->  %b1 = dynamic_slice %b, %i, %z
                                                      %s = subtract %a1, %b1 : tensor<1x8xf32>

In: the ops to take apart (elementwise work, broadcasts, transposes, constants, iotas), and where the slice starts.
Out: the slice, made at the current place. Decision to know: `dynamic_slice` moves a start that would leave the array
back into it; all arrays of elementwise work have one shape, so that their slices move alike. Where an axis is
broadcast from size 1, the slice of it starts at 0; an iota's start is clamped by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir.attributes import attributes_of, dense_attr, integers
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import STABLEHLO
from ...ir.types import numpy_dtype
from ...ir.values import constant, owner, static_shape

# Operands that may be scalars where the result is not.
_SCALARS = {"stablehlo.select": (0,), "stablehlo.clamp": (0, 2)}
_SHAPED = frozenset(f"stablehlo.{name}" for name in ("broadcast_in_dim", "constant", "iota", "transpose"))


def separable(op: ir.Operation) -> bool:
    """Whether a slice of the op's result can be computed from slices of its operands."""
    if len(op.results) != 1 or op.regions:
        return False
    if op.name == "stablehlo.constant":
        found = constant(op.results[0])
        return found is not None and found.ndim == 0 and found.dtype.kind != "c"
    if op.name == "stablehlo.bitcast_convert":
        return static_shape(op.results[0]) == static_shape(op.operands[0])
    return op.name in _SHAPED or op.name in STABLEHLO


class Rows:
    """Slices at one place, each made once.

    Args:
        moved: the ops to take apart.
    """

    def __init__(self, moved: Sequence[ir.Operation]):
        self._moved = {op.results[0] for op in moved}
        self._made: dict[tuple[ir.Value, tuple[ir.Value, ...], tuple[int, ...]], ir.Value] = {}

    def take(self, value: ir.Value, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
        """The slice of a value that starts at `starts` and has these sizes."""
        if tuple(sizes) == static_shape(value):
            return value
        key = (value, tuple(starts), tuple(sizes))
        if key not in self._made:
            op = owner(value)
            assert op is not None or value not in self._moved
            taken = self._take_apart(op, starts, sizes) if op is not None and value in self._moved else None
            self._made[key] = stablehlo.dynamic_slice(value, list(starts), list(sizes)) if taken is None else taken
        return self._made[key]

    def _take_apart(self, op: ir.Operation, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
        type_ = ir.RankedTensorType.get(list(sizes), ir.RankedTensorType(op.results[0].type).element_type)
        if op.name == "stablehlo.constant":
            splat = ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()
            return stablehlo.constant(ir.DenseElementsAttr.get_splat(type_, splat))
        if op.name == "stablehlo.iota":
            return _iota(op, starts, sizes, type_)
        if op.name == "stablehlo.broadcast_in_dim":
            return self._broadcast(op, starts, sizes, type_)
        if op.name == "stablehlo.transpose":
            permutation = integers(op, "permutation")
            inverse = [permutation.index(axis) for axis in range(len(permutation))]
            operand = self.take(op.operands[0], [starts[axis] for axis in inverse], [sizes[axis] for axis in inverse])
            return stablehlo.transpose(operand, list(permutation))
        scalars = _SCALARS.get(op.name, ())
        operands = [
            operand if place in scalars and not static_shape(operand) else self.take(operand, starts, sizes)
            for place, operand in enumerate(op.operands)
        ]
        made = ir.Operation.create(op.name, results=[type_], operands=operands, attributes=attributes_of(op.attributes))
        return made.results[0]

    def _broadcast(
        self, op: ir.Operation, starts: Sequence[ir.Value], sizes: Sequence[int], type_: ir.Type
    ) -> ir.Value:
        operand, axes = op.operands[0], integers(op, "broadcast_dimensions")
        shape, whole = static_shape(operand), static_shape(op.results[0])
        kept = [axis if shape[place] == whole[axis] else None for place, axis in enumerate(axes)]
        part = [1 if axis is None else sizes[axis] for axis in kept]
        if tuple(part) != shape:
            places = [_index(0, starts) if axis is None else starts[axis] for axis in kept]
            operand = self.take(operand, places, part)
        return stablehlo.broadcast_in_dim(type_, operand, list(axes))


def _index(number: int, starts: Sequence[ir.Value]) -> ir.Value:
    """A constant of the type of the starts."""
    dtype = numpy_dtype(ir.RankedTensorType(starts[0].type).element_type)
    return stablehlo.constant(dense_attr(np.array(number, dtype), starts[0].type.context))


def _iota(op: ir.Operation, starts: Sequence[ir.Value], sizes: Sequence[int], type_: ir.Type) -> ir.Value:
    axis = ir.IntegerAttr(op.attributes["iota_dimension"]).value
    extent = static_shape(op.results[0])[axis]
    if sizes[axis] == extent:
        return stablehlo.iota(type_, axis)
    start = stablehlo.clamp(_index(0, starts), starts[axis], _index(extent - sizes[axis], starts))
    integer = ir.RankedTensorType.get(list(sizes), ir.RankedTensorType(start.type).element_type)
    along = stablehlo.add(stablehlo.iota(integer, axis), stablehlo.broadcast_in_dim(integer, start, []))
    return stablehlo.convert(type_, along)
