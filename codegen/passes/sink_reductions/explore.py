"""What follows a loop is looked at: what its steps could do themselves, and what needs a stack whole.

In: a loop and its stacks. Out: a `Region`. Decision to know: ops are visited in the order of the block, so that all
that an op reads is known when its turn comes; nothing is changed here.
"""

from __future__ import annotations

from ...analysis.loops import Loop, Stack
from ...ir.bindings import ir
from ...ir.kinds import EFFECTS
from ...ir.refused import Refused, require
from ...ir.values import users
from ..stepwise import Accumulation, Lifted, Monoid, dependent, late, reads
from .lift import lift, summed
from .live_masks import masked
from .patterns import deviations, exponentials, is_difference
from .region import Region

_COMPARED = "it is compared with a reduction of itself in a way that is not known"
_FIXED = EFFECTS | {"func.call", "stablehlo.composite", "stablehlo.optimization_barrier"}


def explore(loop: Loop, stacks: dict[ir.Value, Stack], dead: set[ir.Operation], reassociate: bool) -> Region:
    """Follows the stacks as far as steps could do the work, and notes where they cannot."""
    region = Region(loop, stacks, {value: Lifted(stack.axis, stack.width) for value, stack in stacks.items()})
    behind = [op for op in dependent(loop.op) if op not in dead]
    depends: set[ir.Value] = {result for op in (loop.op, *behind) for result in op.results}
    for op in behind:
        try:
            _visit(op, region, depends, reassociate)
        except Refused as refusal:
            for value in op.operands:
                value = region.differences[value].value if value in region.differences else value
                if value in region.lifted:
                    region.whole.setdefault(value, str(refusal))
        if op.regions:
            for value in region.lifted.keys() & set(reads(op)) - set(op.operands):
                region.whole.setdefault(value, f"{op.name} uses it inside")
    gone = {op for reduction in region.reductions for op in (reduction.op, *reduction.passed)}
    for value, difference in region.differences.items():
        if any(user not in gone and user not in dead for user in (difference.op, *users(value))):
            region.whole.setdefault(difference.value, _COMPARED)
    return region


def _visit(op: ir.Operation, region: Region, depends: set[ir.Value], reassociate: bool) -> None:
    """Takes up one op that depends on the loop.

    Raises:
        Refused: no step can do its part of it.
    """
    if not any(value in region.lifted or value in region.differences for value in op.operands):
        return
    require(op.name not in ("func.return", "stablehlo.return"), "it is returned")
    mask = masked(op, region.lifted, region.loop)
    reduction: Accumulation | None = deviations(op, region) or exponentials(op, region)
    if reduction is None and is_difference(op, region, depends):
        return
    asked = "and reassociate=false is asked for"
    if reduction is None:
        _check_operands(op, region, depends)
        node = summed(op, region.lifted)
        if node is None:
            node = mask or lift(op, region.lifted)
            adds = op.name in ("stablehlo.reduce", "stablehlo.dot_general") and not Monoid(op, node).exact
            require(reassociate or not adds, f"{op.name} of a part of it may be added up in another order, {asked}")
            live = region.loop.is_live and node.joins_steps
            require(not live, "it is joined behind a number of steps that varies")
            region.nodes[op.results[0]] = node
            region.lifted[op.results[0]] = node.lifted
            return
        reduction = Monoid(op, node)
        require(not reduction.refusal, reduction.refusal)
    require(reassociate or reduction.exact, f"{op.name} in another order rounds differently, {asked}")
    region.reductions.append(reduction)


def _check_operands(op: ir.Operation, region: Region, depends: set[ir.Value]) -> None:
    """Whether what an op reads is there for each step.

    Raises:
        Refused: it is not.
    """
    left_over = op.name == "stablehlo.concatenate" and any(
        region.lifted[value].axis == ir.IntegerAttr(op.attributes["dimension"]).value
        for value in op.operands
        if value in region.lifted
    )  # joins the steps with what an unrolled loop has left over, which is done beside the loop
    for value in op.operands:
        if value in region.lifted or left_over:
            continue
        require(value not in region.differences, _COMPARED)
        require(value not in depends, f"{op.name} combines it with another result of the loop")
        fixed = next((other.name for other in late([value], region.loop.op) if other.name in _FIXED), "")
        require(not fixed, f"another operand is computed after the loop, by {fixed}")
