"""Two loops, of which the second reads what the first has saved, or computes it again: which values are the same.

    while(%i, %h)                                          while(%j, %g)
      do: %x1 = row %i of %x                                 do: %x2 = row 511 - %j of %x
          %s = sine (add %h, %x1)                                %h2 = row 511 - %j of %hs
          saves %h at row %i of %hs                              %c = cosine (add %h2, %x2)

In: a loop, and later ones. Out: the one that reads most of what it saves, the step of the first to which each of its
steps belongs, `i = 511 - j`, and for values of its body the values of the first one's that they are: `%x2` is `%x1`,
`%h2` is `%h`, and the second sum the first. Decisions to know: the relation is found by places alone, of slices of what
the first loop has stacked, or of arrays that both read; only what has the relation that most have is taken. Graph
libraries put the initial values of a state in front of its stack; a row read there is the state as it was that many
steps before. A value is known by a number, which follows from its op and the numbers of what that reads; places are
numbered as functions of the first loop's step, and axes of size 1 do not count. What has an effect, or stands behind a
barrier, is like nothing else.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TypeAlias, cast

from ..dims import Dim
from ..ir.bindings import ir
from ..ir.kinds import EFFECTS, STABLEHLO
from ..ir.refused import Refused, needed, require
from ..ir.values import (
    ancestors,
    attributes_of,
    constant,
    integers,
    owner,
    reached,
    shape_of,
    static_bytes,
    unit_root,
    users,
    walk,
)
from .costs import effort, is_cheap, is_large
from .loops import Affine, Loop, Read, Stack, Write, slices_of, undivided

_FARTHEST = 64  # ops between a stack and its reductions
_ROWS = ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice", "stablehlo.return")
_LATER = 8  # loops in which a loop's work is looked for, where they do not read what it has stacked

_Match: TypeAlias = "tuple[Affine, ir.Value]"


# Where a value of the first loop's body is stacked, but for axes of size 1.
Place: TypeAlias = "tuple[Stack, Write]"


@dataclass(frozen=True)
class Pair:
    """Two loops.

    Attributes:
        forward: the loop that saves.
        reader: the loop that reads.
        steps: the step of `forward` as a function of the step of `reader`.
        saved: values of `reader`'s body that it needs, each with the one of `forward`'s body that it is: a slice of its
            stack, or what is computed again.
        stacks: of `forward`, by carry.
        read: carries of stacks that the reader reads.
        shared: carries of stacks that stay in any case.
        reduced: carries of stacks of which otherwise only reductions are needed: they go if the later loop does not
            read them.
        rows: the values of `forward`'s body that the reader reads from stacks, by their `unit_root`.
        redone: ops of `forward`'s body that the reader does again, with what that costs.
    """

    forward: Loop
    reader: Loop
    steps: Affine
    saved: dict[ir.Value, ir.Value]
    stacks: dict[int, Stack]
    read: set[int]
    shared: set[int]
    reduced: set[int]
    rows: set[ir.Value]
    redone: dict[ir.Operation, int]

    def stacks_by_value(self) -> dict[ir.Value, Place]:
        """Where values of the body are stacked, by their `unit_root`.

        Of several stacks of one value it is one that stays, if there is one.
        """
        found: dict[ir.Value, Place] = {}
        for carry, stack in sorted(self.stacks.items(), key=lambda item: item[0] in self.reduced):
            for write in stack.writes:
                root = unit_root(write.value)
                if carry in self.read | self.shared and (root not in found or carry in self.shared):
                    found[root] = (stack, write)
        return found


def find_pair(
    op: ir.Operation, reductions_sink: bool, later: Sequence[ir.Operation], settled: Sequence[ir.Operation] = ()
) -> Pair | None:
    """The loop that reads most of what a loop saves, or reads beside it; None where there is none.

    Args:
        op: a `stablehlo.while`.
        reductions_sink: whether reductions of its stacks are going to move into it.
        later: loops that may do its work again.
        settled: loops that are not asked for.

    Raises:
        Refused: it saves something, but not in a way that is understood.
    """
    used = any(map(users, op.results))
    later = [loop for loop in later if used and loop.block == op.block and loop not in settled]
    is_read = any(slices_of(result)[0] for result in op.results)
    if not later and (settled or not is_read):
        return None
    forward, reader_of = Loop.of(op), cache(_known_loop)
    require(forward.most > 0, "it does not run")
    stacks, shared, reduced = dict[int, Stack](), set[int](), set[int]()
    joined = set[ir.Value]()  # slices of a stack that has rows in front
    found: list[tuple[int, ir.Operation, ir.Value, list[_Match]]] = []  # of each slice its stack, loop and what it is
    for carry, result in enumerate(op.results):
        if carry in forward.invariants or not users(result):
            continue
        try:
            stack = stacks[carry] = forward.stack(carry)
        except Refused:
            continue
        slices, others = slices_of(result)
        parts: list[tuple[Dim, ir.Value]] = [(write.offset, write.value) for write in stack.writes]
        rows = [(*each, parts) for each in slices]
        for other in list(others):
            if behind := _behind(forward, stack, other):
                slices, rest = slices_of(other.results[0])
                rows += [(*each, behind) for each in slices]
                joined.update(read.results[0] for _, read in slices)
                others[others.index(other) :] = [*others[others.index(other) + 1 :], *rest]
        if stack.read:
            shared.add(carry)
        for other in others:
            sinks = reductions_sink and _only_reduced(other, stack.axis, op.block)
            (reduced if sinks else shared).add(carry)
        for loop, read, values in rows:
            found.append((carry, loop, read.results[0], _matches(forward, stack, reader_of(loop), read, values)))
    votes = Counter((loop, steps) for _, loop, _, matches in found if loop not in settled for steps, _ in matches)
    for loop in () if found else later[:_LATER]:
        votes.update((loop, steps) for steps in _beside(forward, reader_of(loop)))
    if not votes and (settled or not is_read):
        return None
    require(votes, "no later loop reads row by row what it saves")
    ((most, relation), _), *_ = votes.most_common(1)
    require(not len(op.attributes) and not len(most.attributes), "the loops have attributes, which fit their carries")
    reader = needed(reader_of(most), "it was read")
    same, read_here = dict[ir.Value, ir.Value](), set[int]()
    for carry, loop, row, matches in found:
        value = next((value for steps, value in matches if loop == most and steps == relation), None)
        (shared if value is None else read_here).add(carry)
        same |= {} if value is None else {row: value}
    rows_read, redone = set(map(unit_root, same.values())), dict[ir.Operation, int]()
    # A gradient goes backwards; work that is not cheap must be in both.
    if most in later and relation.slope == -1 and not _costly(forward.body).isdisjoint(_costly(reader.body)):
        again = _repeated(forward, reader, relation, same)
        size = forward.most * sum(static_bytes(value.type) or 0 for value in set(again.values()))
        if not is_large(size) or joined.intersection(again):
            makers = [owner(value) for x, value in again.items() if x not in same and unit_root(x) == x]
            redone = {op: effort(op) for op in makers if op is not None and op.block == forward.body}
            same |= again
    saved = {x: value for x, value in same.items() if _is_needed(x, same, reader.body)}
    require(saved, "nothing of it is needed")
    return Pair(forward, reader, relation, saved, stacks, read_here, shared, reduced - shared, rows_read, redone)


def _costly(body: ir.Block) -> set[Hashable]:
    """Which ops a body has that are more than arithmetic, by name and types."""
    ops = [view.operation for view in body.operations]
    return {
        (op.name, *[x.type for x in (*op.operands, *op.results)])
        for op in ops
        if not is_cheap(op) and op.name not in _ROWS
    }


def _known_loop(op: ir.Operation) -> Loop | None:
    with suppress(Refused):
        return Loop.of(op)
    return None


def _is_needed(value: ir.Value, same: Container[ir.Value], body: ir.Block) -> bool:
    around = [next(each for each in (user, *ancestors(user)) if each.block == body) for user in users(value)]
    return any(not user.results or any(x not in same for x in user.results) for user in around)


def _behind(forward: Loop, stack: Stack, join: ir.Operation) -> list[tuple[Dim, ir.Value]]:
    """Where an op puts rows in front of a stack: what is at row `i`, `i + 1`, ... of all when step `i` has written."""
    plain = stack.width == 1 and stack.place == Affine(1, 0)
    if not plain or join.name != "stablehlo.concatenate" or len(join.operands) != 2 or len(stack.writes) != 1:
        return []
    front, rows = join.operands
    depth = shape_of(front)[stack.axis]
    along = ir.IntegerAttr(join.attributes["dimension"]).value == stack.axis == 0
    if undivided(rows) != forward.op.results[stack.carry] or not along or depth is None:
        return []
    found: list[tuple[Dim, ir.Value]] = [(depth, stack.writes[0].value)]
    value = unit_root(stack.writes[0].value)
    carried = [(unit_root(x), c) for c, x in enumerate(forward.returned)]
    for place in reversed(range(depth)):
        before = [c for x, c in carried if x == value and _is_row(forward.initial(c), front, place)]
        if not before:
            break
        value = forward.body.arguments[before[0]]
        found.append((place, value))
    return found


def _is_row(value: ir.Value, array: ir.Value, place: int) -> bool:
    """Whether a value is the row at a place of an array, as far as is seen."""
    row, whole = unit_root(value), owner(array)
    if shape_of(array)[0] == 1:
        return row == unit_root(array)
    number, other = constant(row), constant(array)
    if number is not None and other is not None and not number.ndim and not other.ndim:
        return bool(number == other)
    if whole is not None and whole.name == "stablehlo.concatenate" and len(whole.operands) == shape_of(array)[0]:
        return row == unit_root(whole.operands[place])
    cut = owner(row)
    taken = cut is not None and cut.name == "stablehlo.slice" and cut.operands[0] == array
    return cut is not None and taken and integers(cut, "start_indices")[0] == place


def _only_reduced(op: ir.Operation, axis: int, block: ir.Block) -> bool:
    """Whether an op on a stack is elementwise work that ends in reductions over the steps' axis, or is such a one."""

    def following(op: ir.Operation) -> list[ir.Operation]:
        return users(op.results[0]) if op.name in STABLEHLO else []

    def fits(op: ir.Operation) -> bool:
        ends = op.name == "stablehlo.reduce" and axis in integers(op, "dimensions")
        return op.block == block and len(op.results) == 1 and (ends or op.name in STABLEHLO)

    work = list(islice(reached([op], following), _FARTHEST + 1))
    return len(work) <= _FARTHEST and all(map(fits, work))


def _matches(
    forward: Loop, stack: Stack, reader: Loop | None, op: ir.Operation, values: Sequence[tuple[Dim, ir.Value]]
) -> list[_Match]:
    """Which step of the first loop had what a slice reads, by the step of the later loop, and what that is.

    Args:
        forward, stack: the first loop, and what it has stacked.
        reader, op: the later loop, and the slice.
        values: what the slice may be, each with how many rows stand in front of it in a step's part.
    """
    read = None if reader is None else reader.read(op)
    if reader is None or read is None or read.axis != stack.axis or read.start.slope % stack.width:
        return []
    rate, found = stack.width * stack.place.slope, []
    for front, value in values:
        distance = read.start.start - front - stack.width * stack.place.start
        whole = read.size == (shape_of(value)[stack.axis] if stack.width > 1 else 1)
        if whole and (stack.width == 1 or distance % stack.width == 0):
            steps = Affine(read.start.slope // rate, distance * rate if abs(rate) == 1 else distance // rate)
            found += [(steps, value)] if _is_within(forward, reader, steps) else []
    return found


def _beside(forward: Loop, reader: Loop | None) -> list[Affine]:
    pairs = itertools.product(_rows_read(forward), [] if reader is None else _rows_read(reader))
    ends = [(one.start, other.start) for (x, one), (y, other) in pairs if x == y and one.axis == other.axis]
    found = [Affine(b.slope * a.slope, (b.start - a.start) * a.slope) for a, b in ends if abs(a.slope * b.slope) == 1]
    return [steps for steps in found if reader is not None and _is_within(forward, reader, steps)]


def _rows_read(loop: Loop) -> Iterator[tuple[ir.Value, Read]]:
    """The arrays from outside that a loop's body reads row by row."""
    for op in (view.operation for view in loop.body.operations):
        read = loop.read(op) if op.name == "stablehlo.dynamic_slice" else None
        carry = None if read is None else loop.carry_of(op.operands[0])
        if read is not None and (carry in loop.invariants or not loop.inside(op.operands[0])):
            yield op.operands[0] if carry is None else loop.initial(carry), read


def _is_within(forward: Loop, reader: Loop, steps: Affine) -> bool:
    low, high = steps.bounds(reader.trip_count)
    return forward.sizes.at_most(0, low) and forward.sizes.at_most(high, forward.trip_count - 1)


# ---- values that are the same ----------------------------------------------------------------------------------------


Number: TypeAlias = "tuple[int, ir.Type]"

_APART = EFFECTS | {"stablehlo.constant", "stablehlo.optimization_barrier", "func.call"}


def _repeated(first: Loop, second: Loop, steps: Affine, read: Mapping[ir.Value, ir.Value]) -> dict[ir.Value, ir.Value]:
    """Values of the second loop's body with those of the first one's that they are; what costs nothing is left out.

    Args:
        first: a loop.
        second: a later one.
        steps: the step of the first one as a function of that of the second; its slope is 1 or -1.
        read: what is known of the second one's body: rows of what the first one has stacked.
    """
    ids: dict[Hashable, int] = {}
    own, known = _Numbers(first, Affine(1, 0), ids), dict[Number, ir.Value]()
    for x in [*first.body.arguments, *(x for op in first.body.operations for x in op.operation.results)]:
        known.setdefault(own[x], x)
    again = _Numbers(second, steps, ids)
    again.update({x: (own[value][0], x.type) for x, value in read.items()})
    values: list[ir.Value] = [x for op in second.body.operations for x in op.operation.results]
    moving = [x for x in values if second.inside(x) and second.affine(x) is None]  # others are free: places, invariants
    return {x: known[again[x]] for x in moving if again[x] in known}


class _Numbers(dict[ir.Value, Number]):
    """Numbers of the values of a loop's body, found when asked for; equal only for values of one type."""

    def __init__(self, loop: Loop, steps: Affine, ids: dict[Hashable, int]) -> None:
        super().__init__()
        self._loop, self._steps, self._ids = loop, steps, ids

    def __missing__(self, value: ir.Value) -> Number:
        found = self[value] = self._find(value)
        return found

    def _find(self, value: ir.Value) -> Number:
        loop, root, op = self._loop, unit_root(value), owner(value)
        if root != value:
            return self[root][0], value.type
        carry, key = loop.carry_of(value), cast(Hashable, value)
        if carry is not None and carry in loop.invariants:
            return self[loop.initial(carry)]
        place = loop.affine(value) if loop.inside(value) else None
        if place is not None:  # in steps of the first loop: j = slope * (i - start)
            slope = place.slope * self._steps.slope
            key = "place", slope, place.start - self._steps.start * slope
        elif op is not None and loop.inside(value) and not any(inner.name in _APART for inner in walk(op)):
            key = ir.OpResult(value).result_number, self._key(op, {})
        return self._ids.setdefault((key, value.type), len(self._ids)), value.type

    def _key(self, op: ir.Operation, inside: dict[ir.Value, int]) -> Hashable:
        """What must be equal in two ops that do the same; values that the op holds are counted."""
        read = tuple([inside[x] if x in inside else self[x] for x in op.operands])
        held = []
        for block in [block for region in op.regions for block in region.blocks]:
            inside.update((x, len(inside)) for x in block.arguments)
            for view in block.operations:
                held.append(self._key(view.operation, inside))
                inside.update((x, len(inside)) for x in view.operation.results)
        types = tuple([x.type for x in op.results])
        return op.name, types, read, tuple(attributes_of(op.attributes).items()), tuple(held)
