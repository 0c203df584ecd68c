"""What scatters write into: arrays of one number that are written into are each writer's own.

    before  %z = stablehlo.dynamic_broadcast_in_dim %zero, ...
            %r = "stablehlo.scatter"(%z, %places, %x)
    after   %z = select(min(%places) > max(%places), %other, %zero)
            %r = "stablehlo.scatter"(%z, %places, %x)

IREE 3.13 makes what depends on no array anew for each scatter into it, and merges the copies again, when it no longer
asks who writes into them: each result then holds the updates of all. What depends on the places is made once, and
copied. Rounding: none.
"""

from __future__ import annotations

import numpy as np

from ...ir import open_ops as op_
from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.values import constant, dtype_of, shape_of
from ...ir.walk import walk


def own_operands(module: ir.Module) -> None:
    """Gives each scatter into one number everywhere an array that is not known to be that, in place."""
    for op in walk(module):
        if op.name != "stablehlo.scatter":
            continue
        for place in range(len(op.results)):
            value = op.operands[place]
            if op_.is_open(value) and constant(value) is not None:
                with ir.InsertionPoint(op), op.location:
                    op.operands[place] = _of_places(value, op.operands[len(op.results)])


def _of_places(value: ir.Value, places: ir.Value) -> ir.Value:
    zero, axes = ops.constant(np.zeros((), dtype_of(places))), range(len(shape_of(places)))
    least, greatest = (ops.reduce(f"stablehlo.{name}", places, zero, axes) for name in ("minimum", "maximum"))
    number = constant(value)
    assert number is not None, "one number everywhere"
    other = op_.full(0 if number.any() else 1, dtype_of(value), op_.sizes(value), value.type)
    return stablehlo.select(ops.compare("GT", least, greatest), other, value)
