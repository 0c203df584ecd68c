"""What scatters write into, and of what sizes: arrays of one number that are written into are each writer's own.

    before  %z = stablehlo.dynamic_broadcast_in_dim %zero, ...
            %r = "stablehlo.scatter"(%z, %places, %x)
    after   %z = select(min(%places) > max(%places), %other, %zero)
            %r = "stablehlo.scatter"(%z, %places, %x)

IREE 3.13 makes what depends on no array anew for each scatter into it, and merges the copies again, when it no longer
asks who writes into them: each result then holds the updates of all. What depends on the places is made once, and
copied. It also wants what it knows of the number of places in both types, of the places and of the updates.
Rounding: none.
"""

from __future__ import annotations

import numpy as np

from ...ir import open_ops as op_
from ...ir import ops
from ...ir.attributes import scatter_numbers
from ...ir.bindings import DYNAMIC, ir, stablehlo
from ...ir.values import constant, dtype_of, shape_of
from ...ir.walk import walk


def own_operands(module: ir.Module) -> None:
    """Gives each scatter into one number everywhere an array that is not known to be that, in place."""
    for op in walk(module):
        if op.name != "stablehlo.scatter":
            continue
        _agree(op)
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


def _agree(scatter: ir.Operation) -> None:
    """Types of places and updates that know the same of how many there are."""
    count = len(scatter.results)
    numbers = scatter_numbers(scatter.attributes["scatter_dimension_numbers"])
    places = scatter.operands[count]
    if len(scatter.operands) != 2 * count + 1:
        return
    of_places = [axis for axis in range(len(shape_of(places))) if axis != numbers.index_vector_dim]
    for number in range(count):
        updates = scatter.operands[count + 1 + number]
        window = list(numbers.update_window_dims)
        of_updates = [axis for axis in range(len(shape_of(updates))) if axis not in window]
        pairs = list(zip(of_places, of_updates, strict=True))
        for operand, source, turned in (
            (count, updates, pairs),
            (count + 1 + number, scatter.operands[count], [(b, a) for a, b in pairs]),
        ):
            _tell(scatter, operand, source, turned)


def _tell(scatter: ir.Operation, place: int, source: ir.Value, axes: list[tuple[int, int]]) -> None:
    """Gives an operand the sizes that are known of another one, along pairs of axes: its own, and the other's."""
    value = scatter.operands[place]
    sizes = list(shape_of(value))
    for own, other in axes:
        sizes[own] = shape_of(source)[other] if sizes[own] is None else sizes[own]
    if sizes != list(shape_of(value)):
        with ir.InsertionPoint(scatter), scatter.location:
            type_ = ops.tensor_type(value, [DYNAMIC if size is None else size for size in sizes])
            scatter.operands[place] = op_.typed(value, type_)
