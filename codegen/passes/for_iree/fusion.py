"""Reductions whose results meet themselves along another axis, which IREE computes wrong.

    before  %v = reduce(%x) ...            after   %v = reduce(%x) ...
            %z = multiply(broadcast %v along 0,             %w = reverse (reverse %v)
                          broadcast %v along 1)             %z = multiply(broadcast %w along 0, broadcast %w along 1)

IREE 3.13 gives zeros for some elements of the product above, where element (i, j) needs rows i and j. With two reverses
between the reduction and the product it is right. Rounding:
none.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import ops
from ...ir.attributes import integers
from ...ir.bindings import ir
from ...ir.kinds import having
from ...ir.open_ops import BROADCASTS
from ...ir.values import owner, shape_of
from ...ir.walk import walk
from ..report import Report

Axes = tuple[int | None, ...]
# A reduction's result -> the ways in which its axes lie along those of a value that is computed of it.
_Ways = dict[ir.Value, set[Axes]]

_ELEMENTWISE = having("elementwise")


def separate_reductions(module: ir.Module, report: Report) -> None:
    """Puts a copy between a reduction and what reads it in two ways, in place."""
    for op in walk(module):
        for region in op.regions:
            for block in region.blocks:
                for value in _met_twice(block):
                    _copy(value, report)


def _met_twice(block: ir.Block) -> list[ir.Value]:
    """The results of reductions that one op reads in two ways."""
    ways: dict[ir.Value, _Ways] = {}
    found: dict[ir.Value, None] = {}
    for each in block.operations:
        op = each.operation
        move = _moves(op)
        merged: _Ways = {}
        if move is not None:
            for place, operand in enumerate(op.operands):
                for source, axes in ways.get(operand, {}).items():
                    merged.setdefault(source, set()).update(move(place, way) for way in axes)
        found.update(dict.fromkeys(source for source, axes in merged.items() if len(axes) > 1))
        for result in op.results:
            own: _Ways = {source: set(axes) for source, axes in merged.items() if len(axes) == 1}
            if op.name == "stablehlo.reduce" and shape_of(result):
                own[result] = {tuple(range(len(shape_of(result))))}
            if own:
                ways[result] = own
    return list(found)


def _moves(op: ir.Operation) -> Callable[[int, Axes], Axes] | None:
    """Where an op puts the axes of an operand; None of one that starts a kernel of its own."""
    if op.name in _ELEMENTWISE:
        return lambda _, way: way
    if op.name in BROADCASTS:
        places = integers(op, "broadcast_dimensions")
        return lambda _, way: tuple(None if axis is None else places[axis] for axis in way)
    if op.name == "stablehlo.transpose":
        permutation = integers(op, "permutation")
        return lambda _, way: tuple(None if axis is None else permutation.index(axis) for axis in way)
    if op.name == "stablehlo.reduce":
        gone = integers(op, "dimensions")
        kept = [axis for axis in range(len(shape_of(op.operands[0]))) if axis not in gone]
        return lambda _, way: tuple(kept.index(axis) if axis in kept else None for axis in way)
    return None


def _copy(value: ir.Value, report: Report) -> None:
    made = owner(value)
    assert made is not None, "the result of a reduction"
    report.applied(made, "separate_reductions")
    following = list(made.block.operations)
    place = next(number for number, each in enumerate(following) if each.operation == made)
    with ir.InsertionPoint(following[place + 1]), made.location:
        turned = ops.reverse(value, 0)
        copy = ops.reverse(turned, 0)
    value.replace_all_uses_with(copy)
    first = owner(turned)
    assert first is not None
    first.operands[0] = value
