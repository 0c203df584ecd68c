"""The range of a loop's counter: an index that is computed from it is in range without a clamp.

In: a `while` that counts from a size by a positive step for as long as the counter is below a size. Out: the counter's
range inside the body, as dimensions, and the ranges of what is computed from it by adding and subtracting sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...builder import Tensor
from ...builder.types import DType
from ...dims import Dim
from ...ir.attributes import constant_value
from ...ir.bindings import ir
from .live import Interval, Live


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest value of an integer scalar."""

    low: Dim
    high: Dim

    def within(self, interval: Callable[[Dim], Interval], room: Dim) -> bool:
        """Whether all of it is in `[0, room]`, by the least and the greatest value of dimensions."""
        least, rest = interval(self.low)[0], interval(room - self.high)[0]
        return least is not None and least >= 0 and rest is not None and rest >= 0


def counter(
    env: Mapping[ir.Value, Live], operation: ir.Operation, operands: Sequence[Live]
) -> tuple[int, Range] | None:
    """Which carry of a `while` is its counter, and its range in the body.

    Args:
        env: the values outside of it.
        operation: the `while`.
        operands: what its carries begin with.
    """
    condition, body = (region.blocks[0] for region in operation.regions)
    test = _owner(_returned(condition)[0])
    if test is None or test.name != "stablehlo.compare":
        return None
    left, right = test.operands
    place = _place(condition, left)
    if "LT" not in str(test.attributes["comparison_direction"]) or place is None:
        return None
    results = _returned(body)
    limit = _limit(env, condition, body, right, operands, results)
    first = _size(operands[place].tensor)
    step = _owner(results[place])
    if limit is None or first is None or step is None or step.name != "stablehlo.add":
        return None
    argument = body.arguments[place]
    others = [value for value in step.operands if value != argument]
    if len(others) != 1 or not _is_positive(env, others[0]):
        return None
    return place, Range(first, limit - 1)


def propagate(
    ranges: dict[int, Range],
    exact: Callable[[tuple[Dim, Dim], DType], bool],
    name: str,
    operands: Sequence[Tensor],
    result: Tensor,
) -> None:
    """Records the range of a scalar that is computed from one that has a range.

    Args:
        ranges: what is known, by uid.
        exact: whether values of a dtype are what their sizes say.
        name: the op's name.
        operands: the op's operands.
        result: its result.
    """
    found = [ranges.get(x.uid) for x in operands]
    known: Range | None = None
    if name == "stablehlo.convert":
        known = found[0]
    elif name in ("stablehlo.add", "stablehlo.subtract"):
        (a, b), (x, y) = found, operands
        left, right = _size(x), _size(y)
        if name == "stablehlo.add" and a is not None and right is not None:
            known = Range(a.low + right, a.high + right)
        elif name == "stablehlo.add" and b is not None and left is not None:
            known = Range(left + b.low, left + b.high)
        elif name == "stablehlo.subtract" and a is not None and right is not None:
            known = Range(a.low - right, a.high - right)
        elif name == "stablehlo.subtract" and b is not None and left is not None:
            known = Range(left - b.high, left - b.low)
    if known is not None and exact((known.low, known.high), result.dtype):
        ranges[result.uid] = known


def _returned(block: ir.Block) -> list[ir.Value]:
    return list(list(block.operations)[-1].operation.operands)


def _owner(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _place(block: ir.Block, value: ir.Value) -> int | None:
    return next((place for place, argument in enumerate(block.arguments) if argument == value), None)


def _size(tensor: Tensor) -> Dim | None:
    sizes = tensor.sizes
    return None if isinstance(sizes, tuple) else sizes


def _limit(
    env: Mapping[ir.Value, Live],
    condition: ir.Block,
    body: ir.Block,
    value: ir.Value,
    operands: Sequence[Live],
    results: Sequence[ir.Value],
) -> Dim | None:
    """The size that the counter stays below: one from outside, or a carry that never changes."""
    place = _place(condition, value)
    if place is not None:
        return _size(operands[place].tensor) if results[place] == body.arguments[place] else None
    known = env.get(value)
    return None if known is None or known.dims else _size(known.tensor)


def _is_positive(env: Mapping[ir.Value, Live], value: ir.Value) -> bool:
    owner = _owner(value)
    if owner is not None and owner.name == "stablehlo.constant":
        literal = constant_value(owner)
    else:
        known = env.get(value)
        literal = None if known is None else known.tensor.literal
    return literal is not None and literal.size == 1 and bool(literal.reshape(())[()] > 0)
