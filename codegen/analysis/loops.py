"""What a `stablehlo.while` does, for passes that move work into loops and out of them.

    %r:3 = stablehlo.while(%i = %c0, %h = %x, %ys = %zeros)      Loop.of(op): counter 0, trip_count 512
      cond: compare LT, %i, %c512
      do:   %h1 = ...                                            loop.affine(%i) = Affine(1, 0)
            %y1 = reshape %h1                                    loop.stack(2) = Stack(axis 0, width 1, [Write(%y1, 0)])
            %ys1 = dynamic_update_slice %ys, %y1, %i, %z
            return %i + %c1, %h1, %ys1

In: a loop that runs a number of times which the module tells (what `jax.lax.scan` and `fori_loop` with constant bounds,
and hlograph's own scans, lower to), or a live size of a padded module (`known.py`). Out: its counter, places as
functions of the step's number 0, 1, ..., which carries are invariants, which are stacks (each step writes its part, all
parts are written once), and how a step reads arrays. Decision to know: `step number` is always 0 for the first time
through the body, whatever the counter starts at; a reversed loop is one whose places fall. Numbers that a call's sizes
decide are dimension expressions; what is said about places holds at every call. Nothing here changes the module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..dims import Dim, maximum, substitute, symbol
from ..ir.bindings import ir
from ..ir.kinds import MIRRORED, direction_of
from ..ir.refused import Refused, needed, require
from ..ir.values import owner, returned_by, shape_of, terminator, users
from ..ir.while_ops import argument_number, increment, invariants
from .known import Element, LiveSizes, limits_of


@dataclass(frozen=True)
class Affine:
    """The integer `slope * i + start` at step `i`."""

    slope: int
    start: Dim

    def bounds(self, count: Dim) -> tuple[Dim, Dim]:
        """The least and the greatest value over steps 0 ... count - 1, if there are any."""
        steps = max(count - 1, 0) if isinstance(count, int) else count - 1
        last = self.start + steps * self.slope
        return (self.start, last) if self.slope >= 0 else (last, self.start)


@dataclass(frozen=True)
class Write:
    """One `dynamic_update_slice` of a stack.

    Attributes:
        op: the op.
        value: what is written (the axis is there, with the size that is written).
        offset: where along the axis, counted from the beginning of the step's part.
    """

    op: ir.Operation
    value: ir.Value
    offset: int


@dataclass(frozen=True)
class Stack:
    """A carry of which every step writes a part, along one axis, all of it being written once.

    A loop whose number of steps is a live size leaves what lies behind the live part as it was before the loop.

    Attributes:
        carry: its number.
        axis: the axis along which steps lie.
        width: how much of the axis a step writes: 1, or the factor by which the body is unrolled.
        place: where a step's part begins, in units of `width`: `i`, or `trip_count - 1 - i` in a reversed loop.
        writes: a step's writes, by offset; their sizes add up to `width`.
        read: whether the body also uses the carry otherwise than for these writes.
    """

    carry: int
    axis: int
    width: int
    place: Affine
    writes: tuple[Write, ...]
    read: bool


@dataclass(frozen=True)
class Read:
    """One `dynamic_slice` of an array in the loop's body, at an affine place along one axis, whole along the others.

    Attributes:
        op: the op.
        axis: the axis.
        start: where along the axis the slice starts.
        size: its size there.
    """

    op: ir.Operation
    axis: int
    start: Affine
    size: int


def slices_of(value: ir.Value) -> tuple[list[tuple[ir.Operation, ir.Operation]], list[ir.Operation]]:
    """The slices that bodies of loops take of an array, each behind its loop; and the other users of the array.

    It may go through a carry that the loop passes on as it is, for its body alone.
    """
    slices: list[tuple[ir.Operation, ir.Operation]] = []
    others: list[ir.Operation] = []
    for use in value.uses:
        op, source, place = use.owner.operation, value, use.operand_number
        inner, loop = [op], op.parent.operation if op.parent is not None else None
        if op.name == "stablehlo.while":
            condition, body = (region.blocks[0] for region in op.regions)
            returned = returned_by(body)
            source = body.arguments[place]
            passed = returned[place] == source and returned.count(source) == 1
            if passed and not users(op.results[place]) and not users(condition.arguments[place]):
                loop, inner = op, [user for user in users(source) if user != terminator(body)]
        for user in inner:
            if user.name == "stablehlo.slice" and user.results[0].type == value.type:
                inner_slices, inner_others = slices_of(user.results[0])
                slices, others = [*slices, *inner_slices], [*others, *inner_others]
                continue
            sliced = user.name == "stablehlo.dynamic_slice" and user.operands[0] == source
            if (
                loop is not None
                and loop.name == "stablehlo.while"
                and sliced
                and user.block == loop.regions[1].blocks[0]
            ):
                slices.append((loop, user))
            else:
                others.append(user)
    return slices, others


def undivided(value: ir.Value) -> ir.Value:
    """An array behind slices of all of it."""
    while (op := owner(value)) is not None and op.name == "stablehlo.slice" and op.operands[0].type == value.type:
        value = op.operands[0]
    return value


@dataclass
class Loop:
    """A `stablehlo.while` with a known number of steps.

    Attributes:
        op: the op.
        condition: the block that decides.
        body: the block that is repeated.
        counter: the carry that the condition compares.
        trip_count: how often the body runs.
        most: how often at most: the same where that is known.
        invariants: carries that every step returns as they are.
        sizes: what integers outside of it are.
    """

    op: ir.Operation
    condition: ir.Block
    body: ir.Block
    counter: int
    trip_count: Dim
    most: int
    invariants: frozenset[int]
    sizes: LiveSizes

    @staticmethod
    def of(op: ir.Operation, sizes: LiveSizes | None = None) -> Loop:
        """Reads a `stablehlo.while`; integers outside of it are sizes as `sizes` says, or as its function does.

        Raises:
            Refused: the number of its steps is not known.
        """
        require(op.name == "stablehlo.while", f"{op.name} is not a stablehlo.while")
        condition, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
        loop = Loop(op, condition, body, 0, 0, 0, invariants(op), sizes or LiveSizes.of(op))
        loop.counter, loop.trip_count = _count_steps(op, loop.sizes)
        most = loop.sizes.interval(loop.trip_count)[1]
        loop.most = needed(most, "the number of its steps is not known: it has no upper bound")
        return loop

    @property
    def is_live(self) -> bool:
        """Whether the number of steps is a live size."""
        return not isinstance(self.trip_count, int)

    @property
    def returned(self) -> list[ir.Value]:
        """What the body returns: each carry's next value."""
        return returned_by(self.body)

    def initial(self, carry: int) -> ir.Value:
        """A carry's value before the loop."""
        return self.op.operands[carry]

    def inside(self, value: ir.Value) -> bool:
        """Whether a value is computed in the body, at any depth, or is one of its arguments."""
        block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
        while block != self.body:
            parent = block.owner
            if parent is None or parent.operation.parent is None:
                return False
            block = parent.operation.block
        return True

    def carry_of(self, value: ir.Value) -> int | None:
        """The number of the carry whose block argument (of the body) a value is."""
        return argument_number(self.body, value)

    def affine(self, value: ir.Value) -> Affine | None:
        """A scalar integer of the body as a function of the step's number; None where it is not affine, or not known.

        Seen through: the counter and other carries that grow by a constant, constants, arithmetic, convert, reshape,
        and select, minimum, maximum and clamp that come out the same way at every step; all of these also as elements
        of short vectors.
        """
        found = self._places.dim(value)
        return None if found is None else affine_of(found)

    @cached_property
    def _places(self) -> _Places:
        return _Places(self)

    def stack(self, carry: int) -> Stack:
        """How a carry is written.

        Raises:
            Refused: it is no stack; the reason says why.
        """
        argument = self.body.arguments[carry]
        chain = []
        value = terminator(self.body).operands[carry]
        while value != argument:
            op = owner(value)
            if op is None or op.name != "stablehlo.dynamic_update_slice":
                raise Refused("the carry is not updated by dynamic_update_slice alone")
            require(len(users(value)) == 1, "the updated stack is also used in the body")
            chain.append(op)
            value = op.operands[0]
        require(chain, "the carry is not written")
        shape = shape_of(argument)
        axis: int | None = None
        parts: list[tuple[Dim, int, ir.Operation]] = []  # start at step 0, size, op
        slope: int | None = None
        for op in chain:
            along, start, size = self._window(op, op.operands[1], op.operands[2:], shape)
            require(axis in (None, along), "it is written along several axes")
            require(slope in (None, start.slope), "its writes advance at different rates")
            axis, slope = along, start.slope
            parts.append((start.start, size, op))
        total = None if axis is None else shape[axis]
        assert axis is not None and slope is not None and total is not None
        writes, first = _in_order(parts)
        width = writes[-1].offset + (shape_of(writes[-1].value)[axis] or 0)
        rows = self.trip_count * width
        filled = self.sizes.at_most(rows, total) if self.is_live else rows == total
        require(
            abs(slope) == width and filled and first == (0 if slope > 0 else width * (self.trip_count - 1)),
            f"its {self.trip_count} steps do not write each of the {total} elements of axis {axis} exactly once",
        )
        place = Affine(1, 0) if slope > 0 else Affine(-1, self.trip_count - 1)
        return Stack(carry, axis, width, place, writes, len(users(argument)) != 1)

    def read(self, op: ir.Operation) -> Read | None:
        """What a `dynamic_slice` of the body reads; None where it is not at affine places inside of the array."""
        value = op.operands[0]
        try:
            axis, start, size = self._window(op, op.results[0], op.operands[1:], shape_of(value))
        except Refused:
            return None
        low, high = start.bounds(self.trip_count)
        extent = shape_of(value)[axis]
        inside = extent is not None and self.sizes.at_most(0, low) and self.sizes.at_most(high + size, extent)
        return Read(op, axis, start, size) if inside else None  # it would be clamped

    # ---- how it is found -------------------------------------------------------------------------------------------

    def _window(
        self, op: ir.Operation, window: ir.Value, starts: Sequence[ir.Value], shape: tuple[int | None, ...]
    ) -> tuple[int, Affine, int]:
        """The axis along which a slice moves, where it starts there, and its size."""
        sizes = shape_of(window)
        moving: tuple[int, Affine, int] | None = None
        for axis, start in enumerate(starts):
            place = needed(self.affine(start), f"its place along axis {axis} is not an affine function of the step")
            size = needed(sizes[axis], f"axis {axis} has a dynamic size")
            require(shape[axis] is not None, f"axis {axis} has a dynamic size")
            if place.slope == 0:
                whole = sizes[axis] == shape[axis]  # its start is then clamped to 0
                require(whole, f"{op.name} takes a part of axis {axis}, along which it does not move")
                continue
            require(moving is None, f"{op.name} moves along several axes")
            moving = (axis, place, size)
        return needed(moving, f"{op.name} does not move from step to step")


def _in_order(parts: Sequence[tuple[Dim, int, ir.Operation]]) -> tuple[tuple[Write, ...], Dim]:
    """A step's writes by offset, and where the first one starts at step 0.

    Args:
        parts: of each write the start at step 0, the size, and the op.

    Raises:
        Refused: they do not lie side by side.
    """
    gaps = "its writes overlap or leave gaps"
    offsets: list[tuple[int, int, ir.Operation]] = []
    for begin, size, op in parts:
        offset = begin - parts[0][0]
        require(isinstance(offset, int), gaps)
        assert isinstance(offset, int)
        offsets.append((offset, size, op))
    offsets.sort(key=lambda part: part[0])
    end = low = offsets[0][0]
    for offset, size, _ in offsets:
        require(offset == end, gaps)
        end = offset + size
    return tuple(Write(op, op.operands[1], offset - low) for offset, _, op in offsets), parts[0][0] + low


# ---- integers of a body -------------------------------------------------------------------------------------------

STEP = "number.of.the.step"  # 0 for the first time through the body


def affine_of(dim: Dim) -> Affine | None:
    """An expression of the step's number as an affine function of it; None where it is none."""
    start = substitute(dim, {STEP: 0})
    slope = substitute(dim, {STEP: 1}) - start
    return Affine(slope, start) if isinstance(slope, int) and dim == start + slope * symbol(STEP) else None


class _Places(LiveSizes):
    """Integers of a loop's body, as expressions of the live sizes and of the step's number, affine in this one."""

    def __init__(self, loop: Loop):
        super().__init__(intervals=loop.sizes.intervals)
        self._loop = loop

    def at_most(self, a: Dim, b: Dim) -> bool:
        """Whether `a <= b` at every call and in every step."""
        rest = affine_of(b - a)
        return rest is not None and self._loop.sizes.at_most(0, rest.bounds(self._loop.trip_count)[0])

    def _given(self, element: Element) -> Dim | None:
        value, place = element
        loop = self._loop
        carry = loop.carry_of(value)
        if carry is None:
            return None if loop.inside(value) else loop.sizes.element(value, place)
        start = loop.sizes.dim(loop.initial(carry))
        if start is None or carry in loop.invariants:
            return start
        step = increment(loop.returned[carry], value, self._constant)
        return None if step is None else start + step * symbol(STEP)

    def _constant(self, value: ir.Value) -> Dim | None:
        carry = self._loop.carry_of(value)
        return self.dim(value) if carry is None or carry in self._loop.invariants else None

    def _find(self, element: Element, depth: int) -> Dim | None:
        op, place = owner(element[0]), element[1]
        if op is None or op.name != "stablehlo.select":
            return super()._find(element, depth)
        chosen = self._decided(op, place, depth)
        return None if chosen is None else self._at((op.operands[1 if chosen else 2], place), depth)

    def _combined(self, name: str, known: list[Dim]) -> Dim | None:
        """Of two numbers the smaller or the greater one only where it is the same one at every step."""
        if name == "stablehlo.clamp":
            low = self._combined("stablehlo.maximum", known[:2])
            return None if low is None else self._combined("stablehlo.minimum", [low, known[2]])
        if name not in ("stablehlo.minimum", "stablehlo.maximum"):
            return super()._combined(name, known)
        in_order = known if self.at_most(*known) else known[::-1] if self.at_most(*known[::-1]) else [None, None]
        return in_order[0 if name == "stablehlo.minimum" else 1]

    def _decided(self, select: ir.Operation, place: int, depth: int) -> bool | None:
        """Which way a select goes at every step, if it is the same; its condition must be a comparison."""
        op = owner(select.operands[0])
        if op is None or op.name != "stablehlo.compare":
            return None
        place = place if shape_of(op.results[0]) else 0
        a, b = (self._at((operand, place), depth) for operand in op.operands)
        if a is None or b is None:
            return None
        direction = direction_of(op)
        if direction in ("GT", "GE"):
            a, b, direction = b, a, MIRRORED[direction]
        if direction in ("EQ", "NE"):
            apart = self.at_most(a + 1, b) or self.at_most(b + 1, a)
            return None if not apart and a != b else apart == (direction == "NE")
        less = int(direction == "LT")  # a + less <= b
        return True if self.at_most(a + less, b) else False if self.at_most(b + 1 - less, a) else None


# ---- how often the body runs ---------------------------------------------------------------------------------------


_UNKNOWN = "the number of its steps is not known: "


def _count_steps(op: ir.Operation, sizes: LiveSizes) -> tuple[int, Dim]:
    """The carry that counts, and how often the body of a `stablehlo.while` runs.

    Raises:
        Refused: that is not known.
    """
    condition, body = (region.blocks[0] for region in op.regions)
    same, test = invariants(op), owner(returned_by(condition)[0])
    if test is None or test.name != "stablehlo.compare":
        raise Refused(f"{_UNKNOWN}its condition is not a comparison of a counter with a constant")

    def integer(block: ir.Block, value: ir.Value) -> Dim | None:
        carry = argument_number(block, value)
        if carry is None:
            return sizes.dim(value)
        return sizes.dim(op.operands[carry]) if carry in same else None

    lhs, rhs = test.operands
    direction = direction_of(test)
    counter, limit = argument_number(condition, lhs), integer(condition, rhs)
    if counter is None or counter in same or limit is None:
        direction = MIRRORED[direction]
        counter, limit = argument_number(condition, rhs), integer(condition, lhs)
    ends = None if counter is None or counter in same else limits_of(condition.arguments[counter])
    if counter is None or limit is None or ends is None:
        raise Refused(f"{_UNKNOWN}its condition does not compare a counter with a constant or a size")
    start = sizes.dim(op.operands[counter])
    if start is None:
        raise Refused(f"{_UNKNOWN}its counter does not start at a constant")
    step = increment(returned_by(body)[counter], body.arguments[counter], lambda value: integer(body, value))
    step = needed(step or None, f"{_UNKNOWN}its counter does not advance by a constant")
    count = _steps(start, limit, step, direction, sizes)
    if count is None:
        raise Refused(f"{_UNKNOWN}its counter never reaches its limit")
    last = start + count * step
    fits = sizes.at_most(ends[0], last) and sizes.at_most(last, ends[1])
    require(fits, f"{_UNKNOWN}its counter wraps around")
    return counter, count


def _steps(start: Dim, limit: Dim, step: int, direction: str, sizes: LiveSizes) -> Dim | None:
    """For how many values start, start + step, ... the comparison with the limit holds before it first fails."""
    if direction in ("LE", "GE"):
        limit, direction = (limit + 1, "LT") if direction == "LE" else (limit - 1, "GT")
    if direction == "GT":
        start, limit, step, direction = -start, -limit, -step, "LT"
    distance = limit - start
    if direction == "LT":
        if sizes.at_most(distance, 0):
            return 0
        if step < 0:
            return None
        reached = distance if sizes.at_most(0, distance) else maximum(distance, 0)
        return (reached + (step - 1)) // step
    if not isinstance(distance, int):
        return None
    if direction == "NE":
        count, rest = divmod(distance, step)
        return count if rest == 0 and count >= 0 else None
    return 1 if distance == 0 else 0  # EQ
