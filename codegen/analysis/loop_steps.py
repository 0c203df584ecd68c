"""How often the body of a `stablehlo.while` runs; blocks and their ends.

In: a loop whose condition compares a counter with a constant or a live size, and whose body adds a constant to it. Out:
the counter's carry, and the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..dims import Dim, maximum
from ..ir.bindings import ir
from ..ir.refused import Refused, require
from ..ir.values import owner
from .live_sizes import LiveSizes, limits_of

if TYPE_CHECKING:
    from .loops import Loop


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


def count_steps(loop: Loop, returned: list[ir.Value]) -> tuple[int, Dim]:
    """The counter's carry, and how often the body runs.

    Raises:
        Refused: the condition is not a comparison of a counter with a constant or a live size.
    """
    reason = "the number of its steps is not known: "
    test = owner(returned_by(loop.condition)[0])
    if test is None or test.name != "stablehlo.compare":
        raise Refused(f"{reason}its condition is not a comparison of a counter with a constant")

    def integer(block: ir.Block, value: ir.Value) -> Dim | None:
        carry = argument_number(block, value)
        if carry is None:
            return loop.integer(value)
        return loop.integer(loop.initial(carry)) if carry in loop.invariants else None

    lhs, rhs = test.operands
    direction = comparison(test)
    counter, limit = argument_number(loop.condition, lhs), integer(loop.condition, rhs)
    if counter is None or counter in loop.invariants or limit is None:
        direction = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
        counter, limit = argument_number(loop.condition, rhs), integer(loop.condition, lhs)
    if counter is None or counter in loop.invariants or limit is None:
        raise Refused(f"{reason}its condition does not compare a counter with a constant or a size")
    limits = limits_of(loop.condition.arguments[counter])
    if limits is None:
        raise Refused(f"{reason}its condition does not compare a counter with a constant or a size")
    start = loop.integer(loop.initial(counter))
    require(start is not None, f"{reason}its counter does not start at a constant")
    step = increment(returned[counter], loop.body.arguments[counter], lambda value: integer(loop.body, value))
    require(step is not None and step != 0, f"{reason}its counter does not advance by a constant")
    assert start is not None and step is not None
    count = _steps(start, limit, step, direction, loop.sizes)
    require(count is not None, f"{reason}its counter never reaches its limit")
    assert count is not None
    last = start + count * step
    fits = loop.sizes.at_most(limits[0], last) and loop.sizes.at_most(last, limits[1])
    require(fits, f"{reason}its counter wraps around")
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
