"""Reductions over the steps of a loop, as values that the loop carries.

In: a reduction of lifted values. Out: what the carries start from, how a step (or a piece beside the loop) goes into
them, and what is made of them in the end. Any `stablehlo.reduce` over a monoid (argmin and argmax are reductions of
pairs), a dot that contracts the steps, and two that need more than their own op: a sum of squared differences from the
mean of the same values, and a sum of exponentials of differences from their greatest value. Decision to know: a sum of
squared deviations is merged part by part (Chan, Golub and LeVeque 1979), a sum of exponentials is scaled whenever the
greatest value so far grows (Milakov and Gimelshein 2018); both give what the two passes give where these overflow or
meet an infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from ...ir import ops
from ...ir.attributes import dot_numbers, integers
from ...ir.bindings import ir, stablehlo
from ...ir.clone import clone
from ...ir.kinds import having
from ...ir.values import constant, dtype_of, static_shape, unspread
from ...ir.while_ops import add_to_sum, end_sum, start_sum, wider
from ...signature import LIVE
from .lift import Lifted, Node
from .steps import Part

_SELECTING = frozenset(f"stablehlo.{name}" for name in ("compare", "select", "and", "or", "not", "return", "constant"))
_EXACT = having("ordered")
_MODULAR = frozenset(f"stablehlo.{name}" for name in ("add", "multiply"))


@dataclass(frozen=True)
class Progress:
    """What a part is in the course of the reduction.

    Attributes:
        part: the part's values.
        before: elements per result that went into the carries before, as a scalar of the type that they have.
        backward: the part lies before those in the order of the axis.
    """

    part: Part
    before: ir.Value | None = None
    backward: bool = False


@dataclass(frozen=True)
class Accumulation:
    """A reduction over the steps.

    Attributes:
        op: the reduction, whose results it makes.
        node: how the op (or what stands for it) takes its operands.
    """

    op: ir.Operation
    node: Node

    #: Whether the number of elements so far is needed.
    counts = False

    @property
    def exact(self) -> bool:
        """Whether results keep every bit, whatever the order."""
        return False

    @property
    def passed(self) -> list[ir.Operation]:
        """Ops between the lifted values and `op` that go with it."""
        return []

    @property
    def lifted(self) -> Lifted:
        """The place of the steps in what is reduced."""
        return self.node.lifted

    def start(self) -> list[ir.Value]:
        """What the carries start from."""
        raise NotImplementedError

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """The carries with one more part in them."""
        raise NotImplementedError

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """The op's results."""
        return list(carries)


# ---- any monoid ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Monoid(Accumulation):
    """A `stablehlo.reduce`, of one or several arrays."""

    @property
    def exact(self) -> bool:
        """For choices, logic and integers."""
        names = _names(self.op)
        integers_only = all(dtype_of(result).kind in "iub" for result in self.op.results)
        return set(names) <= _SELECTING or (
            len(names) == 2 and (names[0] in _EXACT or (names[0] in _MODULAR and integers_only))
        )

    @property
    def _is_sum(self) -> bool:
        return not self.exact and _names(self.op)[0] == "stablehlo.add"

    def start(self) -> list[ir.Value]:
        """The initial values."""
        if self._is_sum:
            return start_sum(self.op.results[0])
        count = len(self.op.results)
        inits = list(self.op.operands)[count:]
        return [
            ops.broadcast_in_dim(init, static_shape(result))
            for init, result in zip(inits, self.op.results, strict=True)
        ]

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """The part is reduced by itself, and combined with the carries."""
        parts = reduce_part(self.op, progress.part.operands(self.node))
        if self._is_sum:
            return add_to_sum(carries, parts[0])
        order = (parts, carries) if progress.backward else (carries, parts)
        return combine(self.op, *order)

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """The op's results."""
        if self._is_sum:
            return [end_sum(carries, self.op.results[0])]
        return [ops.convert(value, result) for value, result in zip(carries, self.op.results, strict=True)]


def _widened(value: ir.Value) -> ir.Value:
    return ops.convert(value, wider(dtype_of(value)))


def monoid(node: Node) -> str:
    """Why a `stablehlo.reduce` cannot be accumulated; "" where it can."""
    op = node.op
    names = _names(op)
    if set(names) <= _SELECTING or (len(names) == 2 and names[0] in _EXACT):
        return ""
    if len(names) == 2 and names[0] in _MODULAR:
        identity = 0 if names[0] == "stablehlo.add" else 1
        init = constant(op.operands[1])
        return (
            ""
            if init is not None and init.ndim == 0 and init == identity
            else f"it starts from another value than {identity}"
        )
    return f"it combines elements with {' then '.join(names[:-1])}, which is no monoid that is known"


def _names(op: ir.Operation) -> list[str]:
    return [inner.operation.name for inner in op.regions[0].blocks[0].operations]


def reduce_part(op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """A `stablehlo.reduce` of a part; one along axes of size 1 is a reshape."""
    dimensions = integers(op, "dimensions")
    count = len(op.results)
    if all(static_shape(operands[0])[axis] == 1 for axis in dimensions):
        pairs = zip(op.results, operands[:count], strict=True)
        return [ops.reshape(x, static_shape(result)) for result, x in pairs]
    copy = clone(op, operands)
    mark_part(copy, op, dimensions)
    return list(copy.results)


def mark_part(copy: ir.Operation, op: ir.Operation, axes: Sequence[int]) -> None:
    """What counts of a part, where the padding pass says it of the whole: all of the steps' axis.

    Args:
        copy: the op on parts.
        op: the op on whole arrays.
        axes: those of the first operand that are reduced.
    """
    if LIVE not in op.attributes:
        return
    sizes, whole = static_shape(copy.operands[0]), static_shape(op.operands[0])
    marks = list(ir.ArrayAttr(op.attributes[LIVE]))
    for number, axis in enumerate(axes):
        if sizes[axis] != whole[axis]:
            marks[number] = ir.StringAttr.get(str(sizes[axis]))
    copy.attributes[LIVE] = ir.ArrayAttr.get(marks)


def combine(op: ir.Operation, first: Sequence[ir.Value], second: Sequence[ir.Value]) -> list[ir.Value]:
    """What a reduction's body makes of two values, for whole arrays, element by element."""
    block = op.regions[0].blocks[0]
    shape = list(static_shape(op.results[0]))
    known: dict[ir.Value, ir.Value] = dict(zip(block.arguments, [*first, *second], strict=True))
    for operation in block.operations:
        inner = operation.operation
        if inner.name == "stablehlo.return":
            return [known[value] for value in inner.operands]
        if inner.name == "stablehlo.constant":
            known[inner.results[0]] = ops.broadcast_in_dim(clone(inner).results[0], shape)
            continue
        copy = clone(inner, [known.get(value, value) for value in inner.operands], shape)
        known.update(zip(inner.results, copy.results, strict=True))
    raise AssertionError("a region without a terminator")


# ---- dots ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dot(Accumulation):
    """A `stablehlo.dot_general` that contracts the steps: a sum of the steps' own dots."""

    @property
    def exact(self) -> bool:
        """For integers."""
        return dtype_of(self.op.results[0]).kind in "iub"

    def start(self) -> list[ir.Value]:
        """Zeros."""
        return start_sum(self.op.results[0])

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """One more product."""
        copy = clone(self.op, progress.part.operands(self.node))
        numbers = dot_numbers(self.op.attributes["dot_dimension_numbers"])
        mark_part(copy, self.op, list(numbers.lhs_contracting_dimensions))
        return add_to_sum(carries, copy.results[0])

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """The op's result."""
        return [end_sum(carries, self.op.results[0])]


# ---- squared deviations, exponentials -----------------------------------------------------------------------------


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
        between: the ops from the values to the sum.
    """

    mean: ir.Operation = field(kw_only=True)
    between: tuple[ir.Operation, ...] = ()

    counts = True

    @property
    def passed(self) -> list[ir.Operation]:
        """The difference and the square."""
        return list(self.between)

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
        total = stablehlo.add(progress.before, number)
        if count == 1:
            return self._one(carries, ops.reshape(x, shape), total)
        own = stablehlo.divide(_sum(x, self.op), ops.broadcast_in_dim(number, shape))
        rest = stablehlo.subtract(x, _along(own, x, self.op))
        own_squares = _sum(stablehlo.multiply(rest, rest), self.op)
        delta = self._from(mean, own)
        share = ops.broadcast_in_dim(stablehlo.divide(number, total), shape)
        weight = ops.broadcast_in_dim(stablehlo.divide(stablehlo.multiply(progress.before, number), total), shape)
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
        lost = stablehlo.select(
            odd,
            ops.filled(squares, np.nan),
            ops.filled(squares, np.inf),
        )
        fine = stablehlo.and_(stablehlo.is_finite(total), stablehlo.not_(odd))
        return [stablehlo.select(fine, squares, lost)]


@dataclass(frozen=True)
class Exponentials(Accumulation):
    """`sum(exp(x - max(x)))`; the carries are the greatest value so far, and the sum relative to it.

    Attributes:
        guarded: 0 is subtracted where the greatest value is not finite.
        between: the ops from the values to the sum.
    """

    guarded: bool = field(kw_only=True)
    between: tuple[ir.Operation, ...] = ()

    @property
    def passed(self) -> list[ir.Operation]:
        """The difference and the exponential."""
        return list(self.between)

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
        return [
            stablehlo.select(
                stablehlo.is_finite(greatest),
                total,
                ops.filled(total, np.nan),
            )
        ]


def _or_zero(value: ir.Value) -> ir.Value:
    """A value where it is finite, otherwise 0."""
    return stablehlo.select(stablehlo.is_finite(value), value, ops.filled(value, 0))
