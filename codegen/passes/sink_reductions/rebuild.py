"""The new loop: without stacks, with accumulators and thinner stacks.

In: a `Region` and plans. Out: the loop, and the ops that nothing needs any more, which are left in place for MLIR to
drop (Python's handles of what a loop holds must not outlive it). Decision to know: where XLA:CPU would compute an
expensive value again in each of several accumulators, a step takes in what the step before has made, which is in
memory then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from ...analysis.cost import MOVING
from ...analysis.loops import Affine, Loop, Stack
from ...ir import ops
from ...ir.attributes import integers
from ...ir.bindings import ir, stablehlo
from ...ir.clone import clone
from ...ir.kinds import STABLEHLO
from ...ir.rows import Rows
from ...ir.values import dtype_of, owner, static_shape
from ...ir.while_ops import rebuild_while, wider
from ..report import Report
from .accumulate import Accumulation, Progress
from .lift import Lifted, Node, hoist, joins_steps
from .plan import Plan, carry_number, pieces_of
from .region import Region
from .steps import Part, apart


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
    below = _below(region, [*kept, *_operands(region, reductions)])
    nodes = [*(r.node for r in reductions if not r.passed), *(node for node in below if not joins_steps(node))]
    done = [node.op for node in [*nodes, *below]] + [op for r in reductions for op in (r.op, *r.passed)]
    outside: list[ir.Value] = []
    for node in nodes:
        for value, row in zip(node.op.operands, node.rows, strict=True):
            if value not in region.lifted:
                hoist(value, op)
                outside += [value] if row is not None else []
    moved = apart(outside, op.block, done)
    rows = Rows(moved)
    keep = [carry for carry, result in enumerate(op.results) if result not in gone]
    counting = loop.affine(loop.body.arguments[loop.counter]) == Affine(1, 0)
    with ir.InsertionPoint(op), op.location:
        starts = [reduction.start() for reduction in reductions]
        added = [value for start in starts for value in start]
        added += [
            _without_steps(region, value)
            if loop.is_live
            else _empty(value, loop.most * region.lifted[value].width, region.lifted[value])
            for value in kept
        ]
        late = sorted(gone, key=lambda value: carry_number(region, value)) if _is_late(region, gone, len(added)) else []
        late = [] if loop.is_live and kept else late  # the first step would write into a row that is not live
        added += [_empty(value, region.lifted[value].width, region.lifted[value]) for value in late]
        if not counting:
            added.append(ops.index(0))

    advance = partial(_advance, region, rows, reductions, starts, kept, _falls(region, gone))

    def step(extra: list[ir.Value], known: dict[ir.Value, ir.Value], returned: list[ir.Value]) -> Sequence[ir.Value]:
        counter = number = known[loop.body.arguments[loop.counter]] if counting else extra[-1]
        written = {value: _written(region.stacks[value], known) for value in gone}
        stacks = written
        if late:
            held = extra[len(added) - len(late) - (not counting) :]
            stacks = {value: partial(_itself, row) for value, row in zip(late, held, strict=False)}
            number = stablehlo.subtract(counter, ops.scalar(1, counter))
        following = advance(extra, stacks, number)
        if late:
            first = ops.compare("EQ", counter, ops.scalar(0, counter))
            # What the first step writes into a stack is written over by the second, or behind the loop.
            reduced_ = len(following) - len(kept)
            chosen = zip(extra[:reduced_], following[:reduced_], strict=True)
            following[:reduced_] = [stablehlo.select(_for_all(first, y), x, y) for x, y in chosen]
            following += [written[value]() for value in late]
        if not counting:
            following.append(stablehlo.add(counter, ops.scalar(1, counter)))
        return following

    with op.location, ir.InsertionPoint(op):
        new = rebuild_while(op, keep, added, step)
    for place, carry in enumerate(keep):
        op.results[carry].replace_all_uses_with(new.results[place])
    finals: list[ir.Value] = []
    finals.extend(list(new.results)[len(keep) :])
    if late:
        held = finals[len(added) - len(late) - (not counting) :]
        after = list(op.block.operations)
        place = next(number for number, operation in enumerate(after) if operation.operation == new) + 1
        with ir.InsertionPoint(after[place]), op.location:
            last = loop.sizes.emit(loop.trip_count - 1, ops.tensor_type(np.int32, []))
            rows_of_last = {value: partial(_itself, row) for value, row in zip(late, held, strict=False)}
            advanced = advance(finals, rows_of_last, last)
            if loop.is_live:  # it may run no step
                any_ = ops.compare("GE", last, ops.scalar(0, last))
                pairs = zip(advanced, finals, strict=False)
                advanced = [stablehlo.select(_for_all(any_, x), x, y) for x, y in pairs]
            finals = advanced
    results = iter(finals)
    for reduction, start in zip(reductions, starts, strict=True):
        carries = [next(results) for _ in start]
        with ir.InsertionPoint(reduction.op), reduction.op.location:
            carries = _beside(region, reduction, carries, rows)
            for old, value in zip(reduction.op.results, reduction.finish(carries), strict=True):
                old.replace_all_uses_with(value)
    for value in kept:
        value.replace_all_uses_with(_with_pieces(region, value, next(results), rows))
    return [op, *done]


# What XLA:CPU computes again in each fusion that uses it, at several nanoseconds an element.
_RECOMPUTED = frozenset(("stablehlo.sine", "stablehlo.cosine", "stablehlo.tan"))
_CHEAP = STABLEHLO - {f"stablehlo.{name}" for name in ("exponential", "tanh", "logistic", "log", "sqrt", "rsqrt")}


def _is_late(region: Region, gone: set[ir.Value], carries: int) -> bool:
    """Whether a step takes in what the step before has made, which is in memory then.

    Each accumulator is a fusion of its own to XLA:CPU, which would compute a sine again in each.
    """
    if carries < 2:
        return False
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


def _itself(value: ir.Value) -> ir.Value:
    return value


def _for_all(flag: ir.Value, like: ir.Value) -> ir.Value:
    """A scalar condition for every element of an array."""
    return ops.broadcast_in_dim(flag, static_shape(like))


def _advance(
    region: Region,
    rows: Rows,
    reductions: Sequence[Accumulation],
    starts: Sequence[Sequence[ir.Value]],
    kept: Sequence[ir.Value],
    falls: bool,
    carries: Sequence[ir.Value],
    stacks: Mapping[ir.Value, Callable[[], ir.Value]],
    number: ir.Value,
) -> list[ir.Value]:
    """Takes one step's part in.

    Args:
        region, rows, reductions, starts, kept, falls: what is the same at every step.
        carries: the accumulators and the thinner stacks.
        stacks: make the step's parts of what was stacked.
        number: the step's number.
    """
    following: list[ir.Value] = []
    given = iter(carries)
    places: dict[tuple[int, int], ir.Value] = {}

    def place(lifted: Lifted) -> ir.Value:
        return _place(region.loop, falls, number, lifted, places)

    part = Part(region.nodes, stacks, rows, place, _width)
    for reduction, start in zip(reductions, starts, strict=True):
        own = [next(given) for _ in start]
        before = _before(reduction, part, number) if reduction.counts else None
        following += reduction.update(own, Progress(part, before, falls))
    for value in kept:
        lifted = replace(region.lifted[value], offset=0)
        start_ = place(lifted)
        zero = ops.scalar(0, start_)
        indices = [start_ if axis == lifted.axis else zero for axis in range(len(static_shape(value)))]
        following.append(ops.dynamic_update_slice(next(given), part.of(value), indices))
    return following


def _operands(region: Region, reductions: Sequence[Accumulation]) -> list[ir.Value]:
    return [value for reduction in reductions for value in region.sources(reduction.node)]


def _below(region: Region, values: Sequence[ir.Value]) -> list[Node]:
    """The nodes that make values, down to the stacks."""
    found: dict[ir.Value, Node] = {}
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in region.nodes and value not in found:
            found[value] = region.nodes[value]
            pending.extend(region.sources(region.nodes[value]))
    return list(found.values())


def _empty(value: ir.Value, size: int, lifted: Lifted) -> ir.Value:
    """Zeros for so much of a stack."""
    shape = list(static_shape(value))
    shape[lifted.axis] = size
    return ops.filled(value, 0, shape)


def _without_steps(region: Region, value: ir.Value) -> ir.Value:
    """What a lifted value would be if the loop had run no step: the rest of it stays so."""
    made = {stack: region.loop.initial(carry_number(region, stack)) for stack in region.stacks}
    below = {node.op for node in _below(region, [value])}
    for result, node in region.nodes.items():  # in the block's order
        if node.op in below:
            made[result] = clone(node.op, [made.get(operand, operand) for operand in node.op.operands]).results[0]
    return made[value]


def _written(stack: Stack, known: dict[ir.Value, ir.Value]) -> Callable[[], ir.Value]:
    def part() -> ir.Value:
        return ops.concatenate([known.get(write.value, write.value) for write in stack.writes], stack.axis)

    return part


def _falls(region: Region, gone: set[ir.Value]) -> bool:
    return any(region.stacks[value].place.slope < 0 for value in gone)


def _width(lifted: Lifted) -> int:
    return lifted.width


def _place(
    loop: Loop, falls: bool, number: ir.Value, lifted: Lifted, places: dict[tuple[int, int], ir.Value]
) -> ir.Value:
    """Where a step's part begins: offset + place * width."""
    key = (lifted.width, lifted.offset)
    if key not in places:
        place = number
        if falls:
            place = stablehlo.subtract(loop.sizes.emit(loop.trip_count - 1, number.type), number)
        if lifted.width != 1:
            place = stablehlo.multiply(place, ops.scalar(lifted.width, number))
        if lifted.offset:
            place = stablehlo.add(place, ops.scalar(lifted.offset, number))
        places[key] = place
    return places[key]


def _before(reduction: Accumulation, part: Part, number: ir.Value) -> ir.Value:
    """How many elements of each result have been seen before this step."""
    x = part.operands(reduction.node)[0]
    count = prod(static_shape(x)[axis] for axis in integers(reduction.op, "dimensions"))
    steps = ops.convert(number, wider(dtype_of(reduction.op.results[0])))
    return stablehlo.multiply(steps, ops.scalar(count, steps))


def _beside(region: Region, reduction: Accumulation, carries: list[ir.Value], rows: Rows) -> list[ir.Value]:
    """Takes in the pieces of the axis that are no step's."""
    node = reduction.node
    lifted = node.lifted
    value = region.sources(node)[0]
    if region.loop.is_live or static_shape(value)[lifted.axis] == region.loop.most * lifted.width:
        return carries
    sizes, width, steps = pieces_of(region, node)
    others = prod(static_shape(value)[axis] for axis in integers(reduction.op, "dimensions")) if reduction.counts else 0
    seen = sizes[steps]
    for piece in [*range(steps + 1, len(sizes)), *range(steps - 1, -1, -1)]:
        part = _piece(region, rows, sizes, width, piece)
        before = None
        if reduction.counts:
            count = np.array(seen * (others // sum(sizes)), wider(dtype_of(reduction.op.results[0])))
            before = ops.constant(count)
        carries = reduction.update(carries, Progress(part, before, piece < steps))
        seen += sizes[piece]
    return carries


def _piece(region: Region, rows: Rows, sizes: Sequence[int], width: int, piece: int) -> Part:
    """One piece of the axis that is no step's; it grows with merged axes as a step's part does."""

    def start(lifted: Lifted) -> ir.Value:
        return ops.index(sum(sizes[:piece]) * lifted.width // width)

    def size(lifted: Lifted) -> int:
        return sizes[piece] * lifted.width // width

    return Part(region.nodes, {}, rows, start, size, piece)


def _with_pieces(region: Region, value: ir.Value, steps_part: ir.Value, rows: Rows) -> ir.Value:
    """A stack that was kept, with the pieces of the axis that are no step's."""
    lifted, node = region.lifted[value], region.nodes[value]
    if region.loop.is_live or static_shape(value)[lifted.axis] == region.loop.most * lifted.width:
        return steps_part
    sizes, width, steps = pieces_of(region, node)
    with ir.InsertionPoint(node.op), node.op.location:
        parts = [
            steps_part if piece == steps else _piece(region, rows, sizes, width, piece).of(value)
            for piece in range(len(sizes))
        ]
        return ops.concatenate(parts, lifted.axis)
