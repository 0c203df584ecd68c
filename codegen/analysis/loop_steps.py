"""How often the body of a `stablehlo.while` runs.

In: a loop whose condition compares a counter with a constant or a live size, and whose body adds a constant to it. Out:
the counter's carry, and the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

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


def count_steps(op: ir.Operation, invariants: Collection[int], sizes: LiveSizes) -> tuple[int, Dim]:
    """The counter's carry, and how often the body runs.

    Args:
        op: the loop.
        invariants: carries that every step returns as they are.
        sizes: the live sizes of its function.

    Raises:
        Refused: the condition is not a comparison of a counter with a constant or a live size.
    """
    reason = "the number of its steps is not known: "
    condition, body = (region.blocks[0] for region in op.regions)
    test = owner(returned_by(condition)[0])
    if test is None or test.name != "stablehlo.compare":
        raise Refused(f"{reason}its condition is not a comparison of a counter with a constant")

    def integer(block: ir.Block, value: ir.Value) -> Dim | None:
        carry = argument_number(block, value)
        if carry is None:
            return sizes.dim(value)
        return sizes.dim(op.operands[carry]) if carry in invariants else None

    lhs, rhs = test.operands
    direction = direction_of(test)
    counter, limit = argument_number(condition, lhs), integer(condition, rhs)
    if counter is None or counter in invariants or limit is None:
        direction = MIRRORED[direction]
        counter, limit = argument_number(condition, rhs), integer(condition, lhs)
    if counter is None or counter in invariants or limit is None:
        raise Refused(f"{reason}its condition does not compare a counter with a constant or a size")
    low, high = needed(
        limits_of(condition.arguments[counter]),
        f"{reason}its condition does not compare a counter with a constant or a size",
    )
    start = sizes.dim(op.operands[counter])
    if start is None:
        raise Refused(f"{reason}its counter does not start at a constant")
    step = increment(returned_by(body)[counter], body.arguments[counter], lambda value: integer(body, value))
    step = needed(step or None, f"{reason}its counter does not advance by a constant")
    count = _steps(start, limit, step, direction, sizes)
    if count is None:
        raise Refused(f"{reason}its counter never reaches its limit")
    last = start + count * step
    require(sizes.at_most(low, last) and sizes.at_most(last, high), f"{reason}its counter wraps around")
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
