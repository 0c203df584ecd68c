"""How often the body of a `stablehlo.while` runs.

In: a loop whose condition compares a counter with a constant or a live size, and whose body adds a constant to it. Out:
the counter's carry, and the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ..dims import Dim, maximum
from ..ir.bindings import ir
from ..ir.kinds import MIRRORED, direction_of
from ..ir.refused import Refused, needed, require
from ..ir.values import owner
from ..ir.walk import returned_by
from .live_sizes import LiveSizes, limits_of


def argument_number(block: ir.Block, value: ir.Value) -> int | None:
    """Which of a block's arguments a value is."""
    if isinstance(value.owner, ir.Block) and value.owner == block:
        return ir.BlockArgument(value).arg_number
    return None


def increment(value: ir.Value, argument: ir.Value, integer: Callable[[ir.Value], Dim | None]) -> int | None:
    """How much a carry grows at every step, if that is a constant."""
    op = owner(value)
    if op is None or op.name not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    lhs, rhs = op.operands
    if lhs == argument:
        step = integer(rhs)
    elif rhs == argument and op.name == "stablehlo.add":
        step = integer(lhs)
    else:
        return None
    if not isinstance(step, int):
        return None
    return step if op.name == "stablehlo.add" else -step


@dataclass(frozen=True)
class Counter:
    """A loop's counter: `start, start + step, ...` for as long as `counter direction limit` holds.

    Attributes:
        carry: which of the loop's carries it is.
    """

    carry: int
    start: Dim
    step: int
    limit: Dim
    direction: str


def counter_of(op: ir.Operation, invariants: Collection[int], dim: Callable[[ir.Value], Dim | None]) -> Counter:
    """The counter of a `stablehlo.while`.

    Args:
        op: the loop.
        invariants: carries that every step returns as they are.
        dim: what an integer scalar is as a size, None where that is not known.

    Raises:
        Refused: the condition is not a comparison of a counter with a constant or a size.
    """
    condition, body = (region.blocks[0] for region in op.regions)
    test = owner(returned_by(condition)[0])
    if test is None or test.name != "stablehlo.compare":
        raise Refused(f"{_UNKNOWN}its condition is not a comparison of a counter with a constant")

    def integer(block: ir.Block, value: ir.Value) -> Dim | None:
        carry = argument_number(block, value)
        if carry is None:
            return dim(value)
        return dim(op.operands[carry]) if carry in invariants else None

    lhs, rhs = test.operands
    direction = direction_of(test)
    counter, limit = argument_number(condition, lhs), integer(condition, rhs)
    if counter is None or counter in invariants or limit is None:
        direction = MIRRORED[direction]
        counter, limit = argument_number(condition, rhs), integer(condition, lhs)
    if counter is None or counter in invariants or limit is None or limits_of(condition.arguments[counter]) is None:
        raise Refused(f"{_UNKNOWN}its condition does not compare a counter with a constant or a size")
    start = dim(op.operands[counter])
    if start is None:
        raise Refused(f"{_UNKNOWN}its counter does not start at a constant")
    step = increment(returned_by(body)[counter], body.arguments[counter], lambda value: integer(body, value))
    step = needed(step or None, f"{_UNKNOWN}its counter does not advance by a constant")
    return Counter(counter, start, step, limit, direction)


_UNKNOWN = "the number of its steps is not known: "


def count_steps(op: ir.Operation, invariants: Collection[int], sizes: LiveSizes) -> tuple[int, Dim]:
    """The counter's carry, and how often the body runs.

    Args:
        op, invariants: see `counter_of`.
        sizes: the live sizes of its function.

    Raises:
        Refused: that is not known.
    """
    found = counter_of(op, invariants, sizes.dim)
    count = _steps(found.start, found.limit, found.step, found.direction, sizes)
    if count is None:
        raise Refused(f"{_UNKNOWN}its counter never reaches its limit")
    low, high = needed(limits_of(op.operands[found.carry]), "it is a scalar integer")
    last = found.start + count * found.step
    require(sizes.at_most(low, last) and sizes.at_most(last, high), f"{_UNKNOWN}its counter wraps around")
    return found.carry, count


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
