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

from . import ops
from .bindings import ir, stablehlo
from .kinds import STABLEHLO
from .op_sheet import form_of
from .ops import clone
from .values import constant, constant_attribute, owner, static_shape

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
            self._made[key] = ops.dynamic_slice(value, starts, sizes) if taken is None else taken
        return self._made[key]

    def _take_apart(self, op: ir.Operation, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
        if op.name == "stablehlo.constant":
            elements = constant_attribute(op)
            assert elements is not None
            kind = ops.tensor_type(op.results[0], sizes)
            return stablehlo.constant(ir.DenseElementsAttr.get_splat(kind, elements.get_splat_value()))
        if op.name == "stablehlo.iota":
            return _iota(op, starts, sizes)
        form = form_of(op)
        assert form is not None
        operands = []
        for operand, axes in zip(op.operands, form.operands, strict=True):
            part = [1 if axis is None else sizes[axis] for axis in axes]
            if tuple(part) != static_shape(operand):
                places = [ops.scalar(0, starts[0]) if axis is None else starts[axis] for axis in axes]
                operand = self.take(operand, places, part)
            operands.append(operand)
        return clone(op, operands, sizes).results[0]


def _iota(op: ir.Operation, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    axis, result = ir.IntegerAttr(op.attributes["iota_dimension"]).value, op.results[0]
    extent = static_shape(result)[axis]
    if sizes[axis] == extent:
        return ops.iota(sizes, axis, result)
    last = ops.scalar(extent - sizes[axis], starts[0])
    start = stablehlo.clamp(ops.scalar(0, starts[0]), starts[axis], last)
    along = stablehlo.add(ops.iota(sizes, axis, start), ops.broadcast_in_dim(start, sizes))
    return ops.convert(along, result)
