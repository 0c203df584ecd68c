"""The loop over blocks, written out.

In: a plan of a loop. Out: the loop, and behind it what is left over of the axis, once more. Results that lie along the
axis are written into an array, block by block; those that are summed up are added in a wider type. Decision to know:
the loop stands where the first of its results was made; what it reads is moved before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import ops
from ...ir.bindings import ir
from ...ir.rows import Rows
from ...ir.values import owner
from ...ir.while_ops import counted
from ..stepwise.accumulate import Accumulation, Monoid, Progress, Written, advance, split
from ..stepwise.order import hoist
from ..stepwise.parts import Lifted, Node, Part
from .axes import is_free
from .plan import Loop


def emit(loop: Loop) -> None:
    """Makes a loop, and puts its results in place of those that it computes."""
    nodes = [_node(loop, place) for place in loop.made]
    made: dict[ir.Value, Node] = {result: node for node in nodes for result in node.op.results}
    leaves = [value for node in nodes for value in node.op.operands if value not in made]
    rows = Rows([op for value in leaves if (op := owner(value)) is not None and is_free(value)])
    first = loop.region.op(loop.outputs[0])
    hoist(leaves, first)
    with ir.InsertionPoint(first), first.location:
        everything = [_output(loop, made[loop.region.op(place).results[0]], place) for place in loop.outputs]
        starts = [each.start() for each in everything]

        def step(start: ir.Value, size: int, carries: Sequence[ir.Value]) -> list[ir.Value]:
            part = Part(made, {}, rows, lambda _: start, lambda _: size)
            return advance(everything, list(split(carries, starts)), Progress(part))

        carries = [value for start in starts for value in start]
        whole = loop.size // loop.rows * loop.rows
        carries = counted(0, whole, loop.rows, carries, lambda start, values: step(start, loop.rows, values))
        if whole < loop.size:
            carries = step(ops.index(whole), loop.size - whole, carries)
        for each, own in zip(everything, split(carries, starts), strict=True):
            for old, new in zip(each.op.results, each.finish(own), strict=True):
                old.replace_all_uses_with(new)


def _node(loop: Loop, place: int) -> Node:
    """How an op is done block by block."""
    axes = loop.summed[place] if place in loop.summed else loop.region.forms[place].places(loop.along[place])
    rows = tuple(None if axis is None else Lifted(axis) for axis in axes)
    lifted = Lifted(loop.along[place]) if place in loop.along else next(row for row in rows if row is not None)
    return Node(loop.region.op(place), lifted, rows)


def _output(loop: Loop, node: Node, place: int) -> Accumulation:
    """What becomes of an op's results over the blocks."""
    if place in loop.summed:
        return Monoid(node.op, node)
    return Written(node.op, node, first=[ops.filled(result, 0) for result in node.op.results])
