"""Concatenates in forms that IREE compiles: no empty parts; of columns of one element a choice by index.

    before  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<?x1xi64>, tensor<?x1xi64>) -> tensor<?x2xi64>
    after   %r = select(iota 1 == 0, broadcast %a, broadcast %b)

IREE 3.13 puts the joined columns on the stack when something else is computed beside them, and refuses what has no
known size there. Rounding: none.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...ir import open_ops as op_
from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.values import constant, dtype_of, owner, shape_of


def joined(op: ir.Operation) -> ir.Value | None:
    """A concatenate without empty parts; of single columns a choice by index."""
    axis, result = ir.IntegerAttr(op.attributes["dimension"]).value, op.results[0]
    parts = [part for part in op.operands if shape_of(part)[axis] != 0]
    if not op_.is_open(result, *op.operands):
        return None
    if len(parts) == 1:
        return op_.typed(parts[0], result.type)
    if len(parts) > 1 and all(shape_of(part)[axis] == 1 for part in parts):
        return _chosen(parts, axis, result.type)
    scalars = {place: scalar for place, part in enumerate(parts) if (scalar := _scalar(part)) is not None}
    if scalars:
        return _with_scalars(parts, scalars, result.type)
    if len(parts) == len(op.operands) or not parts:
        return None
    return op_.concatenate(parts, axis, result.type)


def _with_scalars(parts: list[ir.Value], scalars: Mapping[int, ir.Value], type_: ir.Type) -> ir.Value:
    """A row with zeros in the places of scalars, over which these are written."""
    zero = ops.constant(np.zeros(1, dtype_of(parts[0])))
    row = op_.concatenate([zero if place in scalars else part for place, part in enumerate(parts)], 0, type_)
    extents = op_.sizes(row)
    start: op_.Size = 0
    for place, part in enumerate(parts):
        if place in scalars:
            here = ops.compare("EQ", op_.iota(extents, 0), op_.broadcast(op_.number(start), extents, []))
            row = stablehlo.select(here, op_.broadcast(scalars[place], extents, [], type_), row)
        start = op_.compute("add", start, op_.size(part, 0))
    return row


def _scalar(part: ir.Value) -> ir.Value | None:
    """The scalar that a row of one element is made of: IREE reads a row that begins so as a shape, and ends."""
    made = owner(part)
    if made is None or made.name not in ("stablehlo.reshape", "stablehlo.broadcast_in_dim") or shape_of(part) != (1,):
        return None
    scalar = made.operands[0]
    return scalar if not shape_of(scalar) and constant(scalar) is None else None


def _chosen(parts: list[ir.Value], axis: int, type_: ir.Type) -> ir.Value:
    extents = op_.sizes(parts[0])
    extents[axis] = len(parts)
    axes = range(len(extents))
    index = op_.iota(extents, axis)
    found = op_.broadcast(parts[-1], extents, axes, type_)
    for place in range(len(parts) - 2, -1, -1):
        here = ops.compare("EQ", index, op_.full(place, np.int64, extents))
        found = stablehlo.select(here, op_.broadcast(parts[place], extents, axes, type_), found)
    return found
