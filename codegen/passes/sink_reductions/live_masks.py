"""Masks of a padded module that let every step through: the rows of a loop that runs a live number of steps are live.

    %m = compare LT, iota, %t : tensor<512xi1>                 a loop of %t steps:
    %p = broadcast_in_dim %m, dims = [0]                         true in each step's row
    %s = select %p, %ys, %zeros                                  a step's part is its part of %ys

In: an op after a loop, and where its operands have the steps. Out: whether a condition holds in all rows that the loop
writes; which operand a mask is. What a mask does to the other rows is not looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.loops import Loop
from ...ir.attributes import integers
from ...ir.bindings import ir
from ...ir.kinds import direction_of
from ...ir.values import constant, owner, shape_of, unspread
from ..stepwise import Lifted, Node

_DEEPEST = 16


def masked(op: ir.Operation, known: Mapping[ir.Value, Lifted], loop: Loop) -> Node | None:
    """A select that takes its second operand, which has the steps, in each of them."""
    if not loop.is_live or op.name != "stablehlo.select" or op.operands[1] not in known:
        return None
    lifted = known[op.operands[1]]
    if not holds(op.operands[0], lifted, loop):
        return None
    third = lifted if op.operands[2] in known else None
    return Node(op, lifted, (None, lifted, third), same=1)


def holds(value: ir.Value, lifted: Lifted, loop: Loop, depth: int = 0) -> bool:
    """Whether booleans are true in all rows that the loop writes."""
    op = owner(value)
    if op is None or depth > _DEEPEST:
        return False
    if op.name == "stablehlo.and":
        return all(holds(operand, lifted, loop, depth + 1) for operand in op.operands)
    if op.name == "stablehlo.broadcast_in_dim":
        axes = integers(op, "broadcast_dimensions")
        if lifted.axis not in axes:
            return False
        axis = axes.index(lifted.axis)
        same = shape_of(op.operands[0])[axis] == shape_of(op.results[0])[lifted.axis]
        return same and holds(op.operands[0], Lifted(axis, lifted.width, lifted.offset), loop, depth + 1)
    if op.name == "stablehlo.compare":
        return _compares(op, lifted, loop)
    found = constant(value)
    return found is not None and bool(found.all())


def _compares(op: ir.Operation, lifted: Lifted, loop: Loop) -> bool:
    """Whether it compares the place along the steps' axis with a size that the live rows stay below."""
    place, limit = owner(op.operands[0]), loop.sizes.dim(unspread(op.operands[1]))
    if direction_of(op) != "LT" or place is None or place.name != "stablehlo.iota" or limit is None:
        return False
    along = ir.IntegerAttr(place.attributes["iota_dimension"]).value == lifted.axis
    return along and loop.sizes.at_most(loop.trip_count * lifted.width + lifted.offset, limit)
