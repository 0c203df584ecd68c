"""Which of a loop's stacks can go, and what takes their place.

In: a `Region`. Out: plans: stacks that go together, the reductions that move into the loop, and thinner values that
become stacks in their place. Decision to know: stacks that are used together go together; where anything needs one of
them whole, all of them stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...analysis.loops import Loop, Stack
from ...ir.bindings import ir
from ...ir.kinds import EFFECTS
from ...ir.refused import Refused, require
from ...ir.values import static_bytes, static_shape, users
from ..report import Report
from ..stepwise import Accumulation, Lifted, Monoid, Node, dependent, late, reads
from .region import Region, lift, masked, summed
from .two_passes import deviations, exponentials, is_difference

# A stack is replaced by others if they take less than this share of its memory.
_THINNER = 0.5


@dataclass
class Plan:
    """Stacks that go together.

    Attributes:
        stacks: they.
        reductions: what moves into the loop.
        kept: lifted values that become stacks in their place.
    """

    stacks: list[ir.Value]
    reductions: list[Accumulation]
    kept: list[ir.Value]


def plan(region: Region, report: Report) -> list[Plan]:
    """The stacks that can go, and what takes their place."""
    useful = _useful(region)
    for value, node in region.nodes.items():
        if value not in useful:
            for source in region.sources(node):
                if source in useful or source in region.stacks:
                    region.whole.setdefault(source, f"nothing is reduced in what {node.op.name} makes of it")
    roots = _roots(region, useful)
    groups: list[tuple[set[ir.Value], Plan]] = []
    joined: list[tuple[frozenset[ir.Value], Any]] = [
        (frozenset().union(*(roots[v] for v in region.sources(r.node))), r) for r in region.reductions
    ]
    joined += [(roots[value], value) for value in region.whole if value in roots]
    for stacks, item in joined:
        members = set(stacks)
        fresh = Plan([], [item], []) if isinstance(item, Accumulation) else Plan([], [], [item])
        apart_ = []
        for group in groups:
            if group[0] & members:
                members |= group[0]
                fresh.reductions += group[1].reductions
                fresh.kept += group[1].kept
            else:
                apart_.append(group)
        groups = [*apart_, (members, fresh)]
    plans = []
    for members, found in groups:
        found.stacks = [value for value in region.stacks if value in members]
        reason = _reason(region, found)
        for value in found.stacks:
            if reason:
                report.refused(region.loop.op, f"stack {carry_number(region, value)}: {reason}")
        if not reason:
            found.reductions.sort(key=lambda reduction: region.reductions.index(reduction))
            plans.append(found)
    return plans


def carry_number(region: Region, value: ir.Value) -> int:
    return next(number for number, result in enumerate(region.loop.op.results) if result == value)


def _useful(region: Region) -> set[ir.Value]:
    """Lifted values that lead to a reduction, or to something that takes much less memory."""
    useful: set[ir.Value] = set()
    for reduction in region.reductions:
        useful.update(region.sources(reduction.node))
    for value, node in reversed(region.nodes.items()):
        size, sources = static_bytes(value.type) or 0, region.sources(node)
        smaller = any(size <= _THINNER * (static_bytes(source.type) or 0) for source in sources)
        if value in useful or smaller:
            useful.add(value)
            useful.update(region.sources(node))
    return useful


def _roots(region: Region, useful: set[ir.Value]) -> dict[ir.Value, frozenset[ir.Value]]:
    """For each lifted value the stacks that it is made from."""
    roots = {value: frozenset([value]) for value in region.stacks}
    for value, node in region.nodes.items():
        if value in useful:
            roots[value] = frozenset().union(*(roots[source] for source in region.sources(node)))
    return roots


def _reason(region: Region, found: Plan) -> str:
    """Why stacks have to stay; "" where they can go."""
    for value in found.kept:
        if value in region.stacks:
            return f"the whole stack is needed: {region.whole[value]}"
    before = sum(static_bytes(value.type) or 0 for value in found.stacks)
    after = sum(static_bytes(value.type) or 0 for value in found.kept)
    if found.kept and after > _THINNER * before:
        value = max(found.kept, key=lambda value: static_bytes(value.type) or 0)
        return f"what is made of it is needed as a whole and is not much smaller ({value.type}): {region.whole[value]}"
    if not all(map(region.counts_live_rows, found.reductions)):
        return "rows that the loop does not write may count in what is reduced"
    for reduction in found.reductions:
        whole = region.is_whole(region.sources(reduction.node)[0], reduction.lifted)
        if not whole and pieces(region, reduction.node) is None:
            return "the steps are a part of what is reduced, in a way that is not known"
    for value in found.kept:
        if not region.is_whole(value, region.lifted[value]) and pieces(region, region.nodes[value]) is None:
            return "what is left over of the steps is needed as a whole"
    return ""


def pieces(region: Region, node: Node) -> tuple[Sequence[int], int, int] | None:
    """Of the concatenates of steps with what is no step's below a node: the operands' sizes, a step's, and which it is.

    None where there is a stack without one, or they do not agree.
    """
    found: set[tuple[tuple[int, ...], int, int]] = set()
    pending, seen = [node], set[ir.Value]()
    while pending:
        current = pending.pop()
        if current.joins_steps:
            along = ir.IntegerAttr(current.op.attributes["dimension"]).value
            steps = next(place for place, row in enumerate(current.rows) if row is not None)
            sizes = tuple(static_shape(value)[along] for value in current.op.operands)
            found.add((sizes, current.lifted.width, steps))
            continue
        values = [value for value in region.sources(current) if value not in seen]
        if any(value in region.stacks for value in values):
            return None
        seen.update(values)
        pending += [region.nodes[value] for value in values]
    if len(found) != 1:
        return None
    ((sizes, width, steps),) = found
    everywhere = [node.lifted, *(region.lifted[value] for value in seen)]
    even = all(size * lifted.width % width == 0 for lifted in everywhere for size in sizes)
    return (sizes, width, steps) if even else None


# ---- what steps could do themselves, and what needs a stack whole ---------------------------------------------------
#
# Ops are visited in the order of the block, so that all that an op reads is known when its turn comes.

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
