"""Where a size comes from: axes of the same origin are equally long.

In: an axis of a value. Out: the axis of an argument, the scalar or the number that decides its size, as far back as can
be followed. A loop's carries keep their sizes.
"""

from __future__ import annotations

from typing import TypeAlias

from ...ir.bindings import ir
from ...ir.op_sheet import form_of
from ...ir.values import constant, owner, shape_of

Origin: TypeAlias = "tuple[ir.Value, int] | ir.Value | int"

_SHAPE_OPERANDS = {"stablehlo.dynamic_broadcast_in_dim": 1, "stablehlo.dynamic_iota": 0, "stablehlo.dynamic_reshape": 1}


def origin_of(value: ir.Value, axis: int) -> Origin:
    """What decides the size of an axis."""
    while True:
        size = shape_of(value)[axis]
        if size is not None:
            return size
        found = _before(value, axis)
        if found is None:
            return value, axis
        if not isinstance(found, tuple):
            scalar = _scalar(found)
            if not isinstance(scalar, tuple):
                return scalar
            found = scalar
        value, axis = found


def _before(value: ir.Value, axis: int) -> Origin | None:
    """A value whose axis has the same size, or the size itself; None where nothing is known."""
    op = owner(value)
    if op is None:
        return _carried(value, axis)
    if op.name in _SHAPE_OPERANDS:
        return element_of(op.operands[_SHAPE_OPERANDS[op.name]], axis)
    if op.name == "stablehlo.while":
        return op.operands[ir.OpResult(value).result_number], axis
    if op.name == "stablehlo.scatter":
        return op.operands[0], axis
    form = form_of(op)
    if form is None or axis in form.sized:
        return None
    return next(((x, own) for x, own in zip(op.operands, form.places(axis), strict=False) if own is not None), None)


def _carried(argument: ir.Value, axis: int) -> Origin | None:
    block = argument.owner
    assert isinstance(block, ir.Block), "a block argument"
    parent = block.owner.operation
    if parent.name != "stablehlo.while":
        return None
    return parent.operands[ir.BlockArgument(argument).arg_number], axis


def element_of(vector: ir.Value, place: int) -> Origin | None:
    """An element of a vector: a scalar, or a number."""
    known = constant(vector)
    if known is not None:
        return int(known if known.ndim == 0 else known[place])
    op = owner(vector)
    if op is None:
        return None
    if op.name == "stablehlo.reshape":
        return op.operands[0] if not shape_of(op.operands[0]) else None
    if op.name == "stablehlo.concatenate":
        for part in op.operands:
            (count,) = shape_of(part)
            if place < (count or 0):
                return element_of(part, place)
            place -= count or 0
    return None


def _scalar(scalar: ir.Value | int) -> Origin:
    """Where a size as a scalar comes from."""
    if isinstance(scalar, int):
        return scalar
    op = owner(scalar)
    if op is not None and op.name == "stablehlo.convert":
        return _scalar(op.operands[0])
    if op is not None and op.name == "stablehlo.get_dimension_size":
        return op.operands[0], ir.IntegerAttr(op.attributes["dimension"]).value
    return scalar
