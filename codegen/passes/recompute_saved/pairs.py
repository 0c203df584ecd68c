"""A loop that saves values, and the later loop that reads them.

In: a `stablehlo.while`. Out: which of its stacks another loop reads row by row, and for each such slice the value of
the first loop's body that it gives, at which of its steps. Decision to know: the two loops' steps are put into
relation by places alone: step `i` of the first loop wrote the row that step `j` of the second reads, `i = slope * j +
start`. Only slices with the relation that most have are taken; stacks that are used in any other way are `shared`, and
stay.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ...analysis.loops import Affine, Loop, Read, Stack, slices_of
from ...ir.attributes import integers
from ...ir.bindings import ir
from ...ir.kinds import STABLEHLO
from ...ir.refused import Refused, require
from ...ir.values import owner, shape_of, users

_MOST = 64  # ops between a stack and its reductions


@dataclass(frozen=True)
class Saved:
    """A slice, in the later loop, of what the first loop has stacked.

    Attributes:
        op: the slice.
        stack: the stack.
        value: what the first loop's body wrote there; of the slice's type.
    """

    op: ir.Operation
    stack: Stack
    value: ir.Value


@dataclass(frozen=True)
class Stored:
    """Where a value of the first loop's body is stacked.

    Attributes:
        carry: the stack's carry.
        written: what is written to it: the value, but for axes of size 1.
    """

    carry: int
    written: ir.Value


@dataclass(frozen=True)
class Pair:
    """Two loops.

    Attributes:
        forward: the loop that saves.
        reader: the loop that reads.
        steps: the step of `forward` as a function of the step of `reader`.
        saved: the slices.
        stacks: of `forward`, by carry.
        shared: carries of stacks that stay in any case.
        reduced: carries of stacks of which otherwise only reductions are needed: they go if the later loop does not
            read them.
    """

    forward: Loop
    reader: Loop
    steps: Affine
    saved: list[Saved]
    stacks: dict[int, Stack]
    shared: set[int]
    reduced: set[int]

    def stacks_by_value(self) -> dict[ir.Value, Stored]:
        """Where values of the body are stacked, by their `unit_root`.

        Of several stacks of one value it is one that stays, if there is one.
        """
        found: dict[ir.Value, Stored] = {}
        read = {saved.stack.carry for saved in self.saved} | self.shared
        for carry, stack in sorted(self.stacks.items(), key=lambda item: item[0] in self.reduced):
            for write in stack.writes:
                root = unit_root(write.value)
                if carry in read and (root not in found or carry in self.shared):
                    found[root] = Stored(carry, write.value)
        return found

    def row(self, stored: Stored) -> Affine:
        """Where a value's slice of a stack starts, as a function of the step of `forward`."""
        stack = self.stacks[stored.carry]
        offset = next(write.offset for write in stack.writes if write.value == stored.written)
        return Affine(stack.width * stack.place.slope, stack.width * stack.place.start + offset)


def find_pair(op: ir.Operation, reductions_sink: bool) -> Pair | None:
    """The loop that reads most of what a loop saves; None where it saves nothing for another loop.

    Args:
        op: a `stablehlo.while`.
        reductions_sink: whether reductions of its stacks are going to move into it.

    Raises:
        Refused: it does, but not in a way that is understood.
    """
    if not any(slices_of(result)[0] for result in op.results):
        return None
    forward = Loop.of(op)
    require(forward.most > 0, "it does not run")
    stacks, shared, reduced, slices = _stacks(forward, reductions_sink)
    found: list[tuple[Loop, Affine, Saved]] = []
    for reader, carry, read in slices:
        match = _match(stacks[carry], read)
        if match is None or not _within(match[0], reader, forward):
            shared.add(carry)
        else:
            found.append((reader, match[0], Saved(read.op, stacks[carry], match[1])))
    require(found, "no later loop reads row by row what it saves")
    groups: Counter[tuple[int, Affine]] = Counter()
    places = {id(reader): place for place, (reader, _, _) in enumerate(found)}
    for reader, steps, _ in found:
        groups[places[id(reader)], steps] += 1
    (place, steps), _ = groups.most_common(1)[0]
    reader = found[place][0]
    require(
        not len(op.attributes) and not len(reader.op.attributes), "the loops have attributes, which fit their carries"
    )
    chosen = []
    for other, relation, saved in found:
        if other is reader and relation == steps:
            chosen.append(saved)
        else:
            shared.add(saved.stack.carry)
    return Pair(forward, reader, steps, chosen, stacks, shared, reduced - shared)


def _stacks(
    forward: Loop, reductions_sink: bool
) -> tuple[dict[int, Stack], set[int], set[int], list[tuple[Loop, int, Read]]]:
    """The loop's stacks, those that stay, those that are reduced, and the slices of all in later loops."""
    stacks: dict[int, Stack] = {}
    shared: set[int] = set()
    reduced: set[int] = set()
    slices: list[tuple[Loop, int, Read]] = []
    readers: dict[ir.Operation, Loop | None] = {}
    for carry, result in enumerate(forward.op.results):
        if carry in forward.invariants or not users(result):
            continue
        try:
            stacks[carry] = forward.stack(carry)
        except Refused:
            continue
        if stacks[carry].read:
            shared.add(carry)
        found, others = slices_of(result)
        for op in others:
            sinks = reductions_sink and _only_reduced(op, stacks[carry].axis, forward.op.block)
            (reduced if sinks else shared).add(carry)
        for loop, op in found:
            if loop not in readers:
                readers[loop] = _known(loop)
            reader = readers[loop]
            read = reader.read(op) if reader is not None else None
            if reader is None or read is None:
                shared.add(carry)
            else:
                slices.append((reader, carry, read))
    return stacks, shared, reduced, slices


def _known(op: ir.Operation) -> Loop | None:
    try:
        return Loop.of(op)
    except Refused:
        return None


def _only_reduced(op: ir.Operation, axis: int, block: ir.Block) -> bool:
    """Whether an op on a stack is elementwise work that ends in reductions over the steps' axis, or is such a one."""
    pending, seen = [op], set[ir.Value]()
    while pending:
        op = pending.pop()
        if op.block != block or len(op.results) != 1 or len(seen) > _MOST:
            return False
        if op.name == "stablehlo.reduce" and axis in integers(op, "dimensions"):
            continue
        if op.name not in STABLEHLO:
            return False
        if op.results[0] not in seen:
            seen.add(op.results[0])
            pending += users(op.results[0])
    return True


def _match(stack: Stack, read: Read) -> tuple[Affine, ir.Value] | None:
    """Which step of the first loop wrote what a slice reads, by the step of the later loop; and what it wrote."""
    rate = stack.width * stack.place.slope
    if read.axis != stack.axis or read.start.slope % stack.width:
        return None
    for write in stack.writes:
        distance = read.start.start - write.offset - stack.width * stack.place.start
        if (stack.width == 1 or distance % stack.width == 0) and shape_of(write.value)[stack.axis] == read.size:
            start = distance * rate if abs(rate) == 1 else distance // rate
            return Affine(read.start.slope // rate, start), write.value
    return None


def _within(steps: Affine, reader: Loop, forward: Loop) -> bool:
    """Whether all these steps are steps of the first loop."""
    low, high = steps.bounds(reader.trip_count)
    return forward.sizes.at_most(0, low) and forward.sizes.at_most(high, forward.trip_count - 1)


def unit_root(value: ir.Value) -> ir.Value:
    """What a value is, up to axes of size 1 added or taken away."""
    op = owner(value)
    while op is not None and op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        inner, outer = shape_of(op.operands[0]), shape_of(op.results[0])
        if None in inner or [size for size in inner if size != 1] != [size for size in outer if size != 1]:
            break
        if op.name == "stablehlo.broadcast_in_dim" and list(_axes(op)) != sorted(_axes(op)):
            break
        value = op.operands[0]
        op = owner(value)
    return value


def _axes(op: ir.Operation) -> tuple[int, ...]:
    return tuple(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
