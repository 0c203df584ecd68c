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

from collections.abc import Callable, Sequence

from ...analysis.cost import MOVING
from ...analysis.loops import Affine, Loop, Stack
from ...ir import ops
from ...ir.bindings import ir, run_pipeline, stablehlo
from ...ir.clone import clone
from ...ir.kinds import STABLEHLO
from ...ir.refused import Refused, needed
from ...ir.rows import Rows
from ...ir.values import owner, sizes_of, static_shape, users
from ...ir.while_ops import rebuild_while
from ..report import Report
from ..stepwise import Accumulation, Lifted, Part, Progress, Written, advance, apart, hoist, split
from .plan import Plan, carry_number, explore, pieces, plan
from .region import Region

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
        stack = _stack(loop, carry, dead)
        if isinstance(stack, Stack):
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


def _stack(loop: Loop, carry: int, dead: set[ir.Operation]) -> Stack | None:
    if 0 in sizes_of(loop.op.results[carry]):  # what is nothing would be moved for ever
        return None
    try:
        stack = loop.stack(carry)
    except Refused:
        return None
    used = [user for user in users(loop.op.results[carry]) if user not in dead]
    return stack if used and not stack.read and not users(loop.condition.arguments[carry]) else None


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
        report.applied(op, result=f"stack {carry_number(region, value)} became {text}")
    below = region.below([*kept, *(value for r in reductions for value in region.sources(r.node))])
    nodes = [*(r.node for r in reductions if not r.passed), *(node for node in below if not node.joins_steps)]
    done = [node.op for node in [*nodes, *below]] + [op for r in reductions for op in (r.op, *r.passed)]
    read = [(x, row) for node in nodes for x, row in zip(node.op.operands, node.rows, strict=True)]
    read = [(x, row) for x, row in read if x not in region.lifted]
    hoist([x for x, _ in read], op)
    rows = Rows(apart([x for x, row in read if row is not None], op.block, done))
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
        stacks = {value: _part_of(region.stacks[value], known, costly) for value in gone}
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


# What XLA:CPU computes again in each fusion that uses it, at several nanoseconds an element.
_RECOMPUTED = frozenset(("stablehlo.sine", "stablehlo.cosine", "stablehlo.tan"))
_CHEAP = STABLEHLO - {f"stablehlo.{name}" for name in ("exponential", "tanh", "logistic", "log", "sqrt", "rsqrt")}


def _is_costly(region: Region, gone: set[ir.Value]) -> bool:
    """Whether XLA:CPU would compute a sine again in each accumulator, which is a fusion of its own."""
    pending = [write.value for value in gone for write in region.stacks[value].writes]
    seen = set()
    while pending:
        op = owner(pending.pop())
        if op is None or op in seen or not region.loop.inside(op.results[0]):
            continue
        seen.add(op)
        if op.name in _RECOMPUTED:
            return True
        if op.name in _CHEAP or op.name in MOVING:
            pending.extend(op.operands)
    return False


def _part_of(stack: Stack, known: dict[ir.Value, ir.Value], barrier: bool) -> Callable[[], ir.Value]:
    """What a step writes into a stack."""

    def part() -> ir.Value:
        made = ops.concatenate([known.get(write.value, write.value) for write in stack.writes], stack.axis)
        return ops.optimization_barrier([made])[0] if barrier else made

    return part


def _before(region: Region, value: ir.Value) -> ir.Value:
    """A thinner stack before the loop: zeros, or what it would be without a step, as the rest of it stays so."""
    loop = region.loop
    if not loop.is_live:
        shape, lifted = list(static_shape(value)), region.lifted[value]
        shape[lifted.axis] = loop.most * lifted.width
        return ops.filled(value, 0, shape)
    made = {stack: loop.initial(carry_number(region, stack)) for stack in region.stacks}
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
