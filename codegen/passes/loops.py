"""What a `stablehlo.while` does, for passes that move work into loops and out of them.

    %r:3 = stablehlo.while(%i = %c0, %h = %x, %ys = %zeros)      Loop.of(op): counter 0, trip_count 512
      cond: compare LT, %i, %c512
      do:   %h1 = ...                                            loop.affine(%i) = Affine(1, 0)
            %y1 = reshape %h1                                    loop.stack(2) = Stack(axis 0, width 1, [Write(%y1, 0)])
            %ys1 = dynamic_update_slice %ys, %y1, %i, %z
            return %i + %c1, %h1, %ys1

In: a loop that runs a number of times which the module tells (what `jax.lax.scan` and `fori_loop` with constant bounds,
and hlograph's own scans, lower to). Out: its counter, places as functions of the step's number 0, 1, ..., which carries
are invariants, which are stacks (each step writes its part, all parts are written once), and how a step reads arrays.
Decision to know: `step number` is always 0 for the first time through the body, whatever the counter starts at; a
reversed loop is one whose places fall. Nothing here changes the module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import mlir
from ..mlir import ir
from .matching import constant, owner, require, shape_of, users
from .report import Refused

_DEEPEST = 40  # of the ops between a counter and a place


@dataclass(frozen=True)
class Affine:
    """The integer `slope * i + start` at step `i`."""

    slope: int
    start: int

    def bounds(self, count: int) -> tuple[int, int]:
        """The least and the greatest value over steps 0 ... count - 1."""
        last = self.slope * max(count - 1, 0) + self.start
        return min(self.start, last), max(self.start, last)


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


@dataclass
class Loop:
    """A `stablehlo.while` with a known number of steps.

    Attributes:
        op: the op.
        condition: the block that decides.
        body: the block that is repeated.
        counter: the carry that the condition compares.
        trip_count: how often the body runs.
        invariants: carries that every step returns as they are.
    """

    op: ir.Operation
    condition: ir.Block
    body: ir.Block
    counter: int
    trip_count: int
    invariants: frozenset[int]
    _affine: dict[ir.Value, Affine | None] = field(default_factory=dict)

    @staticmethod
    def of(op: ir.Operation) -> Loop:
        """Reads a `stablehlo.while`.

        Raises:
            Refused: the number of its steps is not known.
        """
        require(op.name == "stablehlo.while", f"{op.name} is not a stablehlo.while")
        condition, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
        returned = returned_by(body)
        arguments = list(body.arguments)
        invariants = frozenset(place for place, value in enumerate(returned) if value == arguments[place])
        counter, trip_count = _count(op, condition, body, returned, invariants)
        return Loop(op, condition, body, counter, trip_count, invariants)

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

        Seen through: the counter and other carries that grow by a constant, constants, add, subtract, multiply,
        negate, convert, reshape, and select, minimum, maximum and clamp that come out the same way at every step.
        """
        return self._affine_at(value, 0)

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
        parts: list[tuple[int, int, ir.Operation]] = []  # start at step 0, size, op
        slope: int | None = None
        for op in chain:
            along, start, size = self._window(op, op.operands[1], op.operands[2:], shape)
            require(axis in (None, along), "it is written along several axes")
            require(slope in (None, start.slope), "its writes advance at different rates")
            axis, slope = along, start.slope
            parts.append((start.start, size, op))
        assert axis is not None and slope is not None
        parts.sort(key=lambda part: part[0])
        first, end = parts[0][0], parts[0][0]
        for begin, size, _ in parts:
            require(begin == end, "its writes overlap or leave gaps")
            end = begin + size
        width = end - first
        total = shape[axis]
        require(
            abs(slope) == width
            and total == width * self.trip_count
            and first == (0 if slope > 0 else width * (self.trip_count - 1)),
            f"its {self.trip_count} steps do not write each of the {total} elements of axis {axis} exactly once",
        )
        place = Affine(1, 0) if slope > 0 else Affine(-1, self.trip_count - 1)
        writes = tuple(Write(op, op.operands[1], begin - first) for begin, _, op in parts)
        return Stack(carry, axis, width, place, writes, len(users(argument)) != 1)

    def reads(self, value: ir.Value) -> tuple[list[Read], list[ir.Operation]]:
        """How the body's ops use an array (a carry's block argument, or a value from outside).

        Returns:
            The slices at affine places; and the other users (ops of nested blocks and the body's return included).
        """
        reads, others = [], []
        for op in users(value):
            try:
                require(op.name == "stablehlo.dynamic_slice" and op.operands[0] == value and op.block == self.body, "")
                axis, start, size = self._window(op, op.results[0], op.operands[1:], shape_of(value))
            except Refused:
                others.append(op)
                continue
            low, high = start.bounds(self.trip_count)
            extent = shape_of(value)[axis]
            if extent is None or low < 0 or high + size > extent:  # it would be clamped
                others.append(op)
            else:
                reads.append(Read(op, axis, start, size))
        return reads, others

    # ---- how it is found -------------------------------------------------------------------------------------------

    def _window(
        self, op: ir.Operation, window: ir.Value, starts: Sequence[ir.Value], shape: tuple[int | None, ...]
    ) -> tuple[int, Affine, int]:
        """The axis along which a slice moves, where it starts there, and its size."""
        sizes = shape_of(window)
        moving: tuple[int, Affine, int] | None = None
        for axis, start in enumerate(starts):
            place = self.affine(start)
            size = sizes[axis]
            require(place is not None, f"its place along axis {axis} is not an affine function of the step")
            assert place is not None
            require(size is not None and shape[axis] is not None, f"axis {axis} has a dynamic size")
            if place.slope == 0:
                whole = sizes[axis] == shape[axis]  # its start is then clamped to 0
                require(whole, f"{op.name} takes a part of axis {axis}, along which it does not move")
                continue
            require(moving is None, f"{op.name} moves along several axes")
            assert size is not None
            moving = (axis, place, size)
        require(moving is not None, f"{op.name} does not move from step to step")
        assert moving is not None
        return moving

    def _affine_at(self, value: ir.Value, depth: int) -> Affine | None:
        if value in self._affine:
            return self._affine[value]
        found = None if depth > _DEEPEST else self._find_affine(value, depth + 1)
        if found is not None:
            low, high = found.bounds(self.trip_count)
            limits = _limits(value)
            if limits is None or low < limits[0] or high > limits[1]:
                found = None  # it would wrap around
        self._affine[value] = found
        return found

    def _find_affine(self, value: ir.Value, depth: int) -> Affine | None:
        carry = self.carry_of(value)
        if carry is not None:
            return self._carried(carry, value)
        op = owner(value)
        if op is None or _limits(value) is None:
            return None
        if op.name == "stablehlo.constant":
            number = _integer(value)
            return None if number is None else Affine(0, number)
        if not self.inside(value):
            number = _integer(value)
            return None if number is None else Affine(0, number)
        if op.name == "stablehlo.select":
            chosen = self._decided(op.operands[0], depth)
            return None if chosen is None else self._affine_at(op.operands[1 if chosen else 2], depth)
        if op.name not in _AFFINE:
            return None
        operands = [self._affine_at(operand, depth) for operand in op.operands]
        known = [operand for operand in operands if operand is not None]
        return _combined(op.name, known, self.trip_count) if len(known) == len(operands) else None

    def _carried(self, carry: int, argument: ir.Value) -> Affine | None:
        start = _integer(self.initial(carry))
        if start is None:
            return None
        if carry in self.invariants:
            return Affine(0, start)
        step = _increment(terminator(self.body).operands[carry], argument, self._constant_inside)
        return None if step is None else Affine(step, start)

    def _constant_inside(self, value: ir.Value) -> int | None:
        carry = self.carry_of(value)
        if carry is not None:
            return _integer(self.initial(carry)) if carry in self.invariants else None
        return _integer(value)

    def _decided(self, value: ir.Value, depth: int) -> bool | None:
        """What a comparison gives at every step, if it is the same."""
        op = owner(value)
        if op is None or op.name != "stablehlo.compare" or _limits(op.operands[0]) is None:
            return None
        lhs, rhs = (self._affine_at(operand, depth) for operand in op.operands)
        if lhs is None or rhs is None:
            return None
        low, high = Affine(lhs.slope - rhs.slope, lhs.start - rhs.start).bounds(self.trip_count)
        direction = comparison(op)
        always = {"LT": high < 0, "LE": high <= 0, "GT": low > 0, "GE": low >= 0, "EQ": low == high == 0}
        never = {"LT": low >= 0, "LE": low > 0, "GT": high <= 0, "GE": high < 0, "EQ": low > 0 or high < 0}
        if direction == "NE":
            return True if never["EQ"] else False if always["EQ"] else None
        return True if always[direction] else False if never[direction] else None


def terminator(block: ir.Block) -> ir.Operation:
    """A block's last op, without a walk along the block."""
    last = ir.InsertionPoint.at_block_terminator(block).ref_operation
    assert last is not None, "a block with a terminator"
    return last.operation


def returned_by(block: ir.Block) -> list[ir.Value]:
    """The operands of a block's terminator."""
    return list(terminator(block).operands)


def argument_number(block: ir.Block, value: ir.Value) -> int | None:
    """Which of a block's arguments a value is."""
    if isinstance(value.owner, ir.Block) and value.owner == block:
        return ir.BlockArgument(value).arg_number
    return None


def comparison(op: ir.Operation) -> str:
    """The direction of a `stablehlo.compare`: `LT`, `LE`, `GT`, `GE`, `EQ` or `NE`."""
    text = str(op.attributes["comparison_direction"])
    return text.removeprefix("#stablehlo<comparison_direction ").removesuffix(">")


_AFFINE = frozenset(
    f"stablehlo.{name}"
    for name in ("add", "subtract", "multiply", "negate", "convert", "reshape", "minimum", "maximum", "clamp")
)


def _combined(name: str, known: list[Affine], count: int) -> Affine | None:
    """An op on affine integers."""
    kind = name.removeprefix("stablehlo.")
    first = known[0]
    if kind in ("convert", "reshape"):
        return first
    if kind == "negate":
        return Affine(-first.slope, -first.start)
    second = known[1]
    if kind == "add":
        return Affine(first.slope + second.slope, first.start + second.start)
    if kind == "subtract":
        return Affine(first.slope - second.slope, first.start - second.start)
    if kind == "multiply":
        if first.slope and second.slope:
            return None
        slope = first.slope * second.start + second.slope * first.start
        return Affine(slope, first.start * second.start)
    if kind == "clamp":
        low = _combined("maximum", [first, second], count)
        return None if low is None else _combined("minimum", [low, known[2]], count)
    below, above = Affine(first.slope - second.slope, first.start - second.start).bounds(count)
    if above <= 0:
        return first if kind == "minimum" else second
    if below >= 0:
        return second if kind == "minimum" else first
    return None


def _integer(value: ir.Value) -> int | None:
    """A constant's integer, also behind conversions and reshapes of scalars."""
    op = owner(value)
    while op is not None and op.name in ("stablehlo.convert", "stablehlo.reshape"):
        if _limits(op.operands[0]) is None:
            return None
        value, op = op.operands[0], owner(op.operands[0])
    if _limits(value) is None:
        return None
    found = constant(value)
    return int(found) if found is not None and found.ndim == 0 else None


def _limits(value: ir.Value) -> tuple[int, int] | None:
    """The least and the greatest value of a scalar integer's type; None for what is no scalar integer."""
    if not isinstance(value.type, ir.RankedTensorType):
        return None
    type_ = ir.RankedTensorType(value.type)
    if any(size != 1 for size in type_.shape) or not isinstance(type_.element_type, ir.IntegerType):
        return None
    dtype = mlir.dtype_of(type_.element_type)
    if dtype.kind not in "iu":
        return None
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _increment(value: ir.Value, argument: ir.Value, integer: object) -> int | None:
    """How much a carry grows at every step, if that is a constant."""
    op = owner(value)
    assert callable(integer)
    if op is None or op.name not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    lhs, rhs = op.operands
    if lhs == argument:
        step = integer(rhs)
        return None if step is None else int(step) if op.name == "stablehlo.add" else -int(step)
    if rhs == argument and op.name == "stablehlo.add":
        step = integer(lhs)
        return None if step is None else int(step)
    return None


def _count(
    op: ir.Operation, condition: ir.Block, body: ir.Block, returned: list[ir.Value], invariants: frozenset[int]
) -> tuple[int, int]:
    """The counter's carry, and how often the body runs.

    Raises:
        Refused: the condition is not a comparison of a counter with a constant.
    """
    reason = "the number of its steps is not known: "
    test = owner(returned_by(condition)[0])
    if test is None or test.name != "stablehlo.compare":
        raise Refused(f"{reason}its condition is not a comparison of a counter with a constant")

    def integer(block: ir.Block, value: ir.Value) -> int | None:
        carry = argument_number(block, value)
        if carry is None:
            return _integer(value)
        return _integer(op.operands[carry]) if carry in invariants else None

    lhs, rhs = test.operands
    direction = comparison(test)
    counter, limit = argument_number(condition, lhs), integer(condition, rhs)
    if counter is None or counter in invariants or limit is None:
        direction = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
        counter, limit = argument_number(condition, rhs), integer(condition, lhs)
    if counter is None or counter in invariants or limit is None or _limits(condition.arguments[counter]) is None:
        raise Refused(f"{reason}its condition does not compare a counter with a constant")
    start = _integer(op.operands[counter])
    require(start is not None, f"{reason}its counter does not start at a constant")
    step = _increment(returned[counter], body.arguments[counter], lambda value: integer(body, value))
    require(step is not None and step != 0, f"{reason}its counter does not advance by a constant")
    assert start is not None and step is not None
    count = _steps(start, limit, step, direction)
    require(count is not None, f"{reason}its counter never reaches its limit")
    assert count is not None
    limits = _limits(condition.arguments[counter])
    last = start + step * count
    require(limits is not None and limits[0] <= last <= limits[1], f"{reason}its counter wraps around")
    return counter, count


def _steps(start: int, limit: int, step: int, direction: str) -> int | None:
    """For how many values start, start + step, ... the comparison with the limit holds before it first fails."""
    if direction in ("LE", "GE"):
        limit, direction = (limit + 1, "LT") if direction == "LE" else (limit - 1, "GT")
    if direction == "LT":
        return 0 if start >= limit else -((start - limit) // step) if step > 0 else None
    if direction == "GT":
        return 0 if start <= limit else -((limit - start) // -step) if step < 0 else None
    if direction == "NE":
        count, rest = divmod(limit - start, step)
        return count if rest == 0 and count >= 0 else None
    return (1 if step else None) if start == limit else 0  # EQ
