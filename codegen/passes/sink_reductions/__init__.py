"""sink_reductions: reductions of what a loop stacks move into the loop.

    %r:3 = stablehlo.while(%i, %h, %ys = %zeros)        %r:3 = stablehlo.while(%i, %h, %acc = %zero)
      do: %ys1 = dynamic_update_slice %ys, %h1, %i, %z    do: %row = dynamic_slice %data, %i, %z
    %d = subtract %r#2, %data                       ->        %d = subtract %h1, %row
    %s = reduce(%d init: %zero) applies add                   %s = reduce(%d init: %zero) applies add
           across dimensions = [0, 1]                         %acc1 = add %acc, %s

In: a loop, and what follows it in its block. Out: a loop with accumulators, or a thinner stack where the steps' axis is
not reduced. Decision to know: stacks that are used together go together. Where anything needs one of them whole, all of
them stay.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from ...analysis.costs import MOVING
from ...analysis.loops import Affine, Loop, Stack
from ...ir import ops
from ...ir.bindings import ir, run_pipeline, stablehlo
from ...ir.kinds import EFFECTS, STABLEHLO, is_elementwise
from ...ir.ops import Rows, clone
from ...ir.refused import Refused, needed, require
from ...ir.values import owner, reached, sizes_of, static_bytes, static_shape, users
from ...ir.while_ops import rebuild_while
from ..report import Report
from ..stepwise import (
    Accumulation,
    Lifted,
    Monoid,
    Node,
    Part,
    Progress,
    Written,
    advance,
    apart,
    dependent,
    hoist,
    late,
    reads,
    split,
    used_elsewhere,
)
from .region import Region, deviations, exponentials, is_difference, lift, masked, summed

_HOLDERS = ("stablehlo.while", "stablehlo.if", "stablehlo.case")

# Without a loop there is nothing to do.
TRIGGERS = frozenset({"stablehlo.while"})


def run(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
    """Moves reductions into the loops of a module, in place; without `reassociate` only where no rounding changes."""
    while _sink_all(module, report, reassociate):
        # Drops what the old loops consisted of; all handles of operations are invalid after it.
        run_pipeline(module, "canonicalize,cse")


def _sink_all(module: ir.Module, report: Report, reassociate: bool) -> bool:
    """Moves reductions into all loops but those in new bodies, which have their turn in the next round."""
    pending = [block for op in module.body.operations for region in op.operation.regions for block in region.blocks]
    dead: set[ir.Operation] = set()
    while pending:
        operations = [operation.operation for operation in pending.pop().operations]
        for op in operations:
            if op.name not in _HOLDERS or op in dead:
                continue
            if op.name == "stablehlo.while" and _sink(op, dead, report, reassociate):
                continue
            pending.extend(inner for region in op.regions for inner in region.blocks)
    return bool(dead)


def _sink(op: ir.Operation, dead: set[ir.Operation], report: Report, reassociate: bool) -> bool:
    """Moves reductions of a loop's stacks into it.

    Args:
        op: a `stablehlo.while`.
        dead: ops that nothing needs any more; those that become so are added.
        report: takes note of each stack.
        reassociate: whether rounding may change.

    Returns:
        Whether anything was done.
    """
    try:
        loop = Loop.of(op)
    except Refused as refusal:
        report.refused(op, str(refusal))
        return False
    stacks: dict[ir.Value, Stack] = {}
    for carry, result in enumerate(op.results):
        used = any(user not in dead for user in users(result)) and not users(loop.condition.arguments[carry])
        with suppress(Refused):
            if used and 0 not in sizes_of(result) and not (stack := loop.stack(carry)).read:  # what is nothing stays
                stacks[result] = stack
    if not stacks:
        return False
    if loop.trip_count == 0:
        report.refused(op, "it runs no step")
        return False
    region = explore(loop, stacks, dead, reassociate)
    plans = plan(region, report)
    if plans:
        dead.update(transform(region, plans, report))
    return bool(plans)


# ---- which stacks can go, and what takes their place ----------------------------------------------------------------

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
    # For each lifted value the stacks that it is made from.
    roots = {value: {value} for value in region.stacks}
    for value, node in region.nodes.items():
        if value in useful:
            roots[value] = set().union(*(roots[source] for source in region.sources(node)))
    reduced = [set().union(*(roots[v] for v in region.sources(r.node))) for r in region.reductions]
    groups = [{value} for value in region.stacks]
    for members in (*reduced, *(roots[value] for value in region.whole if value in roots)):
        met = [group for group in groups if group & members]
        groups = [*(group for group in groups if group not in met), set().union(*met)]
    plans = []
    for group in groups:
        found = Plan(
            [value for value in region.stacks if value in group],
            [each for each, members in zip(region.reductions, reduced, strict=True) if members & group],
            [value for value in region.whole if roots.get(value, set()) & group],
        )
        reason = _reason(region, found) if found.reductions or found.kept else "nothing is made of it"
        for value in found.stacks if reason else ():
            report.refused(region.loop.op, f"stack {region.stacks[value].carry}: {reason}")
        if not reason:
            plans.append(found)
    return plans


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
        if any(user not in gone and user not in dead for user in (difference.through[-1], *users(value))):
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


# ---- the new loop: without stacks, with accumulators and thinner stacks ---------------------------------------------
# What nothing needs any more is left in place for MLIR to drop: Python's handles of what a loop holds must not outlive
# it.


def transform(region: Region, plans: Sequence[Plan], report: Report) -> list[ir.Operation]:
    """Builds the loop without the stacks, and replaces what was made of them.

    Returns:
        The ops that nothing needs any more.
    """
    loop = region.loop
    op = loop.op
    reductions = [reduction for found in plans for reduction in found.reductions]
    kept = [value for found in plans for value in found.kept]
    gone = {value for found in plans for value in found.stacks}
    for value in gone:
        text = ", ".join([r.op.name for r in reductions] + [f"a stack of {value.type}" for value in kept])
        report.applied(op, result=f"stack {region.stacks[value].carry} became {text}")
    below = region.below([*kept, *(value for r in reductions for value in region.sources(r.node))])
    nodes = [*(r.node for r in reductions if not r.passed), *(node for node in below if not node.joins_steps)]
    done = [node.op for node in [*nodes, *below]] + [op for r in reductions for op in (r.op, *r.passed)]
    read = [(x, row) for node in nodes for x, row in zip(node.op.operands, node.rows, strict=True)]
    read = [(x, row) for x, row in read if x not in region.lifted]
    hoist([x for x, _ in read], op)
    rows = Rows(apart([x for x, row in read if row is not None], op.block, done, _is_light)[0])
    keep = [carry for carry, result in enumerate(op.results) if result not in gone]
    counting = loop.affine(loop.body.arguments[loop.counter]) == Affine(1, 0)
    falls = any(region.stacks[value].place.slope < 0 for value in gone)
    with ir.InsertionPoint(op), op.location:
        written = [Written(region.nodes[x].op, region.nodes[x], first=[_before(region, x)]) for x in kept]
        everything = [*reductions, *written]
        starts = [each.start() for each in everything]
        added = [value for start in starts for value in start]
        counter = [] if counting else [ops.index(0)]
    costly = len(added) > 1 and _is_costly(region, gone)

    def step(extra: list[ir.Value], known: dict[ir.Value, ir.Value], returned: list[ir.Value]) -> Sequence[ir.Value]:
        number = known[loop.body.arguments[loop.counter]] if counting else extra[-1]
        stacks = {value: partial(_part_of, region.stacks[value], known, costly) for value in gone}
        places: dict[tuple[int, int], ir.Value] = {}

        def place(lifted: Lifted) -> ir.Value:
            """Where the step's part begins: offset + place * width."""
            key = (lifted.width, lifted.offset)
            if key not in places:
                last = loop.sizes.emit(loop.trip_count - 1, number.type) if falls else None
                places[key] = ops.affine(number if last is None else stablehlo.subtract(last, number), *key)
            return places[key]

        part = Part(region.nodes, stacks, rows, place, lambda lifted: lifted.width)
        progress = Progress(part, lambda lifted: ops.affine(number, lifted.width), falls)
        following = advance(everything, list(split(extra, starts)), progress)
        return [*following, *(stablehlo.add(x, ops.scalar(1, x)) for x in extra[len(added) :])]

    with op.location, ir.InsertionPoint(op):
        new = rebuild_while(op, keep, [*added, *counter], step)
    for place, carry in enumerate(keep):
        op.results[carry].replace_all_uses_with(new.results[place])
    finals = split(list(new.results)[len(keep) :], starts)
    for each, carries in zip(everything, finals, strict=True):
        values = [carries[0]]
        with ir.InsertionPoint(each.op), each.op.location:
            if isinstance(each, Written):
                values = [_with_pieces(region, each.op.results[0], carries[0], rows)]
            else:
                values = each.finish(_beside(region, each, list(carries), rows))
        for old, value in zip(each.op.results, values, strict=True):
            old.replace_all_uses_with(value)
    return [op, *done]


def _is_light(op: ir.Operation, inside: Container[ir.Operation]) -> bool:
    if op.name in ("stablehlo.constant", "stablehlo.iota", "stablehlo.broadcast_in_dim"):
        return True
    return (is_elementwise(op) or op.name == "stablehlo.transpose") and not used_elsewhere(op, inside)


# What XLA:CPU computes again in each fusion that uses it, at several nanoseconds an element.
_RECOMPUTED = frozenset(("stablehlo.sine", "stablehlo.cosine", "stablehlo.tan"))
_CHEAP = STABLEHLO - {f"stablehlo.{name}" for name in ("exponential", "tanh", "logistic", "log", "sqrt", "rsqrt")}


def _is_costly(region: Region, gone: set[ir.Value]) -> bool:
    """Whether XLA:CPU would compute a sine again in each accumulator, which is its own fusion."""

    def following(value: ir.Value) -> Sequence[ir.Value]:
        op = owner(value)
        cheap = op is not None and region.loop.inside(value) and (op.name in _CHEAP or op.name in MOVING)
        return list(op.operands) if op is not None and cheap else []

    written = [write.value for value in gone for write in region.stacks[value].writes]
    makers = (owner(value) for value in reached(written, following) if region.loop.inside(value))
    return any(op is not None and op.name in _RECOMPUTED for op in makers)


def _part_of(stack: Stack, known: dict[ir.Value, ir.Value], barrier: bool) -> ir.Value:
    made = ops.concatenate([known.get(write.value, write.value) for write in stack.writes], stack.axis)
    return ops.optimization_barrier([made])[0] if barrier else made


def _before(region: Region, value: ir.Value) -> ir.Value:
    """A thinner stack before the loop: zeros, or what it would be without a step, as the rest of it stays so."""
    loop = region.loop
    if not loop.is_live:
        shape, lifted = list(static_shape(value)), region.lifted[value]
        shape[lifted.axis] = loop.most * lifted.width
        return ops.filled(value, 0, shape)
    made = {stack: loop.initial(region.stacks[stack].carry) for stack in region.stacks}
    below = {node.op for node in region.below([value])}
    for result, node in region.nodes.items():  # in the block's order
        if node.op in below:
            made[result] = clone(node.op, [made.get(operand, operand) for operand in node.op.operands]).results[0]
    return made[value]


# ---- what an unrolled loop has left over of the axis --------------------------------------------------------------


def _beside(region: Region, reduction: Accumulation, carries: list[ir.Value], rows: Rows) -> list[ir.Value]:
    """Takes in the pieces of the axis that are no step's."""
    if region.is_whole(region.sources(reduction.node)[0], reduction.lifted):
        return carries
    sizes, width, steps = needed(pieces(region, reduction.node), "it was checked")
    seen = sizes[steps]
    for piece in [*range(steps + 1, len(sizes)), *range(steps - 1, -1, -1)]:
        progress = Progress(
            _piece(region, rows, sizes, width, piece),
            lambda lifted, seen=seen: ops.index(seen * lifted.width // width),  # type: ignore[misc]
            piece < steps,
        )
        carries = reduction.update(carries, progress)
        seen += sizes[piece]
    return carries


def _piece(region: Region, rows: Rows, sizes: Sequence[int], width: int, piece: int) -> Part:
    """One piece of the axis that is no step's; it grows with merged axes as a step's part does."""

    def start(lifted: Lifted) -> ir.Value:
        return ops.index(sum(sizes[:piece]) * lifted.width // width)

    return Part(region.nodes, {}, rows, start, lambda lifted: sizes[piece] * lifted.width // width, piece)


def _with_pieces(region: Region, value: ir.Value, steps_part: ir.Value, rows: Rows) -> ir.Value:
    """A stack that was kept, with the pieces of the axis that are no step's."""
    if region.is_whole(value, region.lifted[value]):
        return steps_part
    sizes, width, steps = needed(pieces(region, region.nodes[value]), "it was checked")
    parts = [_piece(region, rows, sizes, width, piece) for piece in range(len(sizes))]
    values = [steps_part if place == steps else part.of(value) for place, part in enumerate(parts)]
    return ops.concatenate(values, region.lifted[value].axis)
