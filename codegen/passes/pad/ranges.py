"""The range of a loop's counter: an index that is computed from it is in range without a clamp.

In: a `while` that counts from a size by a positive step for as long as the counter is below a size. Out: the counter's
range inside the body, as dimensions, and the ranges of what is computed from it by adding and subtracting sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...analysis.loops import counter_of
from ...builder import Tensor
from ...builder.types import DType
from ...dims import Dim
from ...ir.bindings import ir
from ...ir.refused import Refused
from ...ir.values import constant
from ...ir.walk import returned_by
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


def counter(env: Mapping[ir.Value, Live], operation: ir.Operation) -> tuple[int, Range] | None:
    """Which carry of a `while` is its counter, and its range in the body; `env` has the values outside of it."""
    body = operation.regions[1].blocks[0]
    same = [place for place, value in enumerate(returned_by(body)) if value == body.arguments[place]]

    def dim(value: ir.Value) -> Dim | None:
        known, number = env.get(value), constant(value)
        if known is None and number is not None and number.size == 1 and number.dtype.kind in "iu":
            return int(number.reshape(()))
        return None if known is None or known.dims else _size(known.tensor)

    try:
        found = counter_of(operation, same, dim)
    except Refused:
        return None
    if found.direction != "LT" or found.step < 1:
        return None
    return found.carry, Range(found.start, found.limit - 1)


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


def _size(tensor: Tensor) -> Dim | None:
    sizes = tensor.sizes
    return None if isinstance(sizes, tuple) else sizes
