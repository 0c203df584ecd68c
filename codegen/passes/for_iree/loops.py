"""Loops in the form that IREE compiles: every carry changes and keeps its size, a flag stands for long conditions.

    before  while(%x : ?, %fixed, %i)  cond { reduce(compare LT ...) }  do { ...; return %y, %fixed, %next }
    after   while(%go, %x : ?, %i)     cond { return %go }              do { ...; return %holds, select(_, %x, %y), _ }

Where a carry is passed on as it is, where a condition reads arrays, and where more is known of the size of what is
passed on than of the carry's, IREE 3.13's compiler refuses the module, or ends. Rounding: none; the same ops run in the
same order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import open_ops as op_
from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.clone import clone_block
from ...ir.values import owner, shape_of
from ...ir.walk import returned_by
from ...ir.while_ops import loop

DONE = "hlograph.plain"


def plain_loop(op: ir.Operation) -> list[ir.Value] | None:
    """A loop of what changes in it, of sizes as they are known, by a flag where its condition reads arrays."""
    condition, body = (region.blocks[0] for region in op.regions)
    if DONE in op.attributes:
        return None
    returned = returned_by(body)
    fixed = {place: op.operands[place] for place, value in enumerate(returned) if value == body.arguments[place]}
    keep = [place for place in range(len(returned)) if place not in fixed]
    by_flag = _reads_arrays(condition)
    if not keep or not (fixed or by_flag or any(op_.is_open(op.operands[place]) for place in keep)):
        return None

    def made_of(block: ir.Block, values: Sequence[ir.Value]) -> list[ir.Value]:
        known = {block.arguments[place]: value for place, value in fixed.items()}
        known |= {block.arguments[place]: value for place, value in zip(keep, values, strict=True)}
        return clone_block(block, known)[0]

    def test(*values: ir.Value) -> list[ir.Value]:
        return [values[0]] if by_flag else made_of(condition, values)

    def step(*values: ir.Value) -> list[ir.Value]:
        carries = values[by_flag:]
        made = made_of(body, carries)
        following = [made[place] for place in keep]
        following = [
            _sized_as(x, y) if by_flag or x.type != y.type else y for x, y in zip(carries, following, strict=True)
        ]
        return [*flag(following), *following]

    def flag(values: Sequence[ir.Value]) -> list[ir.Value]:
        return made_of(condition, values) if by_flag else []

    inits = [op.operands[place] for place in keep]
    results = loop([*flag(inits), *inits], test, step)
    made = owner(results[0])
    assert made is not None, "a result of the loop"
    made.attributes[DONE] = ir.UnitAttr.get()
    changed = dict(zip(keep, results[by_flag:], strict=True))
    return [changed.get(place, fixed.get(place, op.operands[place])) for place in range(len(returned))]


def _reads_arrays(condition: ir.Block) -> bool:
    """Whether a loop's condition reads or makes an array on its way."""
    inside = [op.operation for op in condition.operations]
    return any(len(shape_of(value)) > 0 for op in inside for value in (*op.operands, *op.results))


def _sized_as(carry: ir.Value, value: ir.Value) -> ir.Value:
    """A value in such a form that its size is the carry's: a choice that never falls on the carry."""
    if not op_.is_open(carry):
        return value
    size = op_.size(carry, shape_of(carry).index(None))
    never = ops.compare("EQ", op_.number(size), ops.constant(np.int64(2**61 - 1)))
    return stablehlo.select(never, carry, op_.typed(value, carry.type))
