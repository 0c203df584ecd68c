"""Two reductions over the steps that need more than their own op, as values that the loop carries.

A sum of squared differences from the mean of the same values, and a sum of exponentials of differences from their
greatest value. Decision to know: squared deviations are merged part by part (Chan, Golub and LeVeque 1979), a sum of
exponentials is scaled whenever the greatest value so far grows (Milakov and Gimelshein 2018); both give what the two
passes give where these overflow or meet an infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from ...ir import ops
from ...ir.attributes import integers
from ...ir.bindings import ir, stablehlo
from ...ir.values import dtype_of, static_shape, unspread
from ...ir.while_ops import add_to_sum, end_sum, start_sum, wider
from ..stepwise import Accumulation, Progress


def _widened(value: ir.Value) -> ir.Value:
    return ops.convert(value, wider(dtype_of(value)))


def _sum(value: ir.Value, like: ir.Operation) -> ir.Value:
    """The sum of a part, over the axes of a reduction."""
    dimensions = integers(like, "dimensions")
    shape = static_shape(value)
    if all(shape[axis] == 1 for axis in dimensions):
        kept = [size for axis, size in enumerate(shape) if axis not in dimensions]
        return ops.reshape(value, kept)
    return ops.reduce("stablehlo.add", value, ops.scalar(0, value), dimensions)


def _along(value: ir.Value, part: ir.Value, op: ir.Operation) -> ir.Value:
    """One value for each result, for every element that goes into it."""
    reduced = integers(op, "dimensions")
    axes = [axis for axis in range(len(static_shape(part))) if axis not in reduced]
    return ops.broadcast_in_dim(value, static_shape(part), axes)


@dataclass(frozen=True)
class SquaredDeviations(Accumulation):
    """`sum((x - mean(x))**2)`; the carries are mean, sum of squares, and whether an element was infinite or NaN.

    Attributes:
        mean: makes the mean that the two passes would take: a sum by a number.
    """

    mean: ir.Operation = field(kw_only=True)

    def start(self) -> list[ir.Value]:
        """Nothing seen."""
        result = self.op.results[0]
        zero = start_sum(result)
        return [*zero, *zero, ops.filled(bool, False, static_shape(result))]

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """The part's own mean and sum of squares, merged."""
        assert progress.before is not None
        mean, squares, odd = self._parts(carries)
        x = _widened(progress.part.operands(self.node)[0])
        shape = static_shape(mean[0])
        reduced = integers(self.op, "dimensions")
        count = prod(static_shape(x)[axis] for axis in reduced)
        number = ops.scalar(count, x)
        places = ops.convert(progress.before(self.lifted), x)
        before = stablehlo.multiply(places, ops.scalar(count // static_shape(x)[self.lifted.axis], x))
        total = stablehlo.add(before, number)
        if count == 1:
            return self._one(carries, ops.reshape(x, shape), total)
        own = stablehlo.divide(_sum(x, self.op), ops.broadcast_in_dim(number, shape))
        rest = stablehlo.subtract(x, _along(own, x, self.op))
        own_squares = _sum(stablehlo.multiply(rest, rest), self.op)
        delta = self._from(mean, own)
        share = ops.broadcast_in_dim(stablehlo.divide(number, total), shape)
        weight = ops.broadcast_in_dim(stablehlo.divide(stablehlo.multiply(before, number), total), shape)
        between = stablehlo.multiply(stablehlo.multiply(delta, weight), delta)  # 0, not NaN, where weight is 0
        merged = add_to_sum(add_to_sum(squares, own_squares), between)
        finite = _sum(ops.convert(stablehlo.not_(stablehlo.is_finite(x)), x), self.op)
        seen = ops.compare("GT", finite, ops.filled(finite, 0))
        return [*add_to_sum(mean, stablehlo.multiply(delta, share)), *merged, stablehlo.or_(odd, seen)]

    def _one(self, carries: Sequence[ir.Value], x: ir.Value, total: ir.Value) -> list[ir.Value]:
        """One more element for each result (Welford 1962)."""
        mean, squares, odd = self._parts(carries)
        delta = self._from(mean, x)
        mean = add_to_sum(mean, stablehlo.divide(delta, ops.broadcast_in_dim(total, static_shape(x))))
        squares = add_to_sum(squares, stablehlo.multiply(delta, self._from(mean, x)))
        return [*mean, *squares, stablehlo.or_(odd, stablehlo.not_(stablehlo.is_finite(x)))]

    def _parts(self, carries: Sequence[ir.Value]) -> tuple[list[ir.Value], list[ir.Value], ir.Value]:
        """The carries of the mean, those of the sum of squares, and whether an element was infinite or NaN."""
        *sums, odd = carries
        return sums[: len(sums) // 2], sums[len(sums) // 2 :], odd

    def _from(self, mean: Sequence[ir.Value], x: ir.Value) -> ir.Value:
        """The difference of a value from the mean."""
        for part in mean:
            x = stablehlo.subtract(x, part)
        return x

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """As the two passes have it: NaN where an element is infinite or NaN, infinite where the mean overflows."""
        _, sums, odd = self._parts(carries)
        squares = end_sum(sums, self.op.results[0])
        total = unspread(self.mean.operands[0])  # finite where the mean is
        lost = stablehlo.select(odd, ops.filled(squares, np.nan), ops.filled(squares, np.inf))
        fine = stablehlo.and_(stablehlo.is_finite(total), stablehlo.not_(odd))
        return [stablehlo.select(fine, squares, lost)]


@dataclass(frozen=True)
class Exponentials(Accumulation):
    """`sum(exp(x - max(x)))`; the carries are the greatest value so far, and the sum relative to it.

    Attributes:
        guarded: 0 is subtracted where the greatest value is not finite.
    """

    guarded: bool = field(kw_only=True)

    def start(self) -> list[ir.Value]:
        """Nothing seen."""
        result = self.op.results[0]
        low = ops.filled(result, -np.inf)
        return [low, *start_sum(result)]

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """The sum so far is scaled to the greatest value with the part."""
        greatest, *sums = carries
        x = progress.part.operands(self.node)[0]
        if prod(static_shape(x)[axis] for axis in integers(self.op, "dimensions")) == 1:
            return self._one(greatest, sums, ops.reshape(x, static_shape(greatest)))
        own = self._greatest(x)
        largest = stablehlo.maximum(greatest, own)
        base, own_base = _or_zero(largest), _or_zero(own)
        # Relative to the part's own greatest value, so that it is itself such a sum, which an inner loop may do.
        terms = stablehlo.exponential(stablehlo.subtract(x, _along(own_base, x, self.op)))
        scales = [_widened(stablehlo.exponential(stablehlo.subtract(each, base))) for each in (greatest, own)]
        sums = [stablehlo.multiply(each, scales[0]) for each in sums]
        return [largest, *add_to_sum(sums, stablehlo.multiply(_widened(_sum(terms, self.op)), scales[1]))]

    def _one(self, greatest: ir.Value, sums: Sequence[ir.Value], x: ir.Value) -> list[ir.Value]:
        """One more element for each result, with one exponential: that of the greater of the two is 1."""
        largest = stablehlo.maximum(greatest, x)
        rest = _widened(stablehlo.exponential(stablehlo.negate(stablehlo.abs(stablehlo.subtract(x, greatest)))))
        grows = ops.compare("GT", x, greatest)
        scaled = [stablehlo.select(grows, stablehlo.multiply(each, rest), each) for each in sums]
        summed = add_to_sum(scaled, stablehlo.select(grows, ops.filled(rest, 1), rest))
        # Where the greatest is not finite: no term yet (-inf), or a sum that is infinite or NaN, as it is.
        limit = [_widened(stablehlo.maximum(largest, ops.filled(largest, 0))), *sums[1:]]
        finite = stablehlo.is_finite(largest)
        return [largest, *(stablehlo.select(finite, each, other) for each, other in zip(summed, limit, strict=True))]

    def _greatest(self, x: ir.Value) -> ir.Value:
        return ops.reduce("stablehlo.maximum", x, ops.scalar(-np.inf, x), integers(self.op, "dimensions"))

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """Without the guard, differences from an infinite value are NaN."""
        greatest, *sums = carries
        total = end_sum(sums, self.op.results[0])
        if self.guarded:
            return [total]
        return [stablehlo.select(stablehlo.is_finite(greatest), total, ops.filled(total, np.nan))]


def _or_zero(value: ir.Value) -> ir.Value:
    """A value where it is finite, otherwise 0."""
    return stablehlo.select(stablehlo.is_finite(value), value, ops.filled(value, 0))
