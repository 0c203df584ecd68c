"""Ops that the rewrites of this package make: counted loops, elements, dots of vectors.

Decision to know: XLA:CPU compiles a `while` whose body touches few bytes as one kernel, and computes what a
`dynamic_slice` reads and a `dynamic_update_slice` writes in place; so a loop here reads and writes small parts of its
carries, and never a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...ir.attributes import Array, dense_attr
from ...ir.bindings import ir, stablehlo
from ...ir.ops import full_like, reshape, tensor_type
from ...ir.values import dtype_of, static_shape

Step = Callable[[ir.Value, list[ir.Value]], Sequence[ir.Value]]


def constant_of(array: Array, like: ir.Value) -> ir.Value:
    """A constant, in the context of another value."""
    return stablehlo.constant(dense_attr(array, like.type.context))


def number(value: int, like: ir.Value) -> ir.Value:
    """An index: a scalar int32."""
    return constant_of(np.asarray(value, np.int32), like)


def numbers(count: int, like: ir.Value) -> ir.Value:
    """0, 1, ..., count - 1 as int32."""
    kind = ir.RankedTensorType.get([count], ir.IntegerType.get_signless(32, like.type.context))
    return stablehlo.iota(kind, 0)


def spread(value: ir.Value, shape: Sequence[int], axes: Sequence[int]) -> ir.Value:
    """A broadcast that puts the value's axes at `axes`."""
    if static_shape(value) == tuple(shape):
        return value
    return stablehlo.broadcast_in_dim(tensor_type(value, shape), value, ir.DenseI64ArrayAttr.get(list(axes)))


def compare(kind: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """An elementwise comparison: EQ, GT, ..."""
    return stablehlo.compare(lhs, rhs, stablehlo.ComparisonDirectionAttr.get(kind))


def part(value: ir.Value, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    """A `dynamic_slice`."""
    return stablehlo.dynamic_slice(value, list(starts), ir.DenseI64ArrayAttr.get(list(sizes)))


def written(value: ir.Value, update: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
    """A `dynamic_update_slice`."""
    return stablehlo.dynamic_update_slice(value, update, list(starts))


def cut(value: ir.Value, starts: Sequence[int], limits: Sequence[int]) -> ir.Value:
    """A slice without strides."""
    if not any(starts) and tuple(limits) == static_shape(value):
        return value
    lists = [ir.DenseI64ArrayAttr.get(list(each)) for each in (starts, limits, [1] * len(starts))]
    return stablehlo.slice(value, *lists)


def dot(lhs: ir.Value, rhs: ir.Value, contract: tuple[Sequence[int], Sequence[int]]) -> ir.Value:
    """A `dot_general` without batch axes."""
    attribute = stablehlo.DotDimensionNumbers.get(
        lhs_batching_dimensions=[],
        rhs_batching_dimensions=[],
        lhs_contracting_dimensions=list(contract[0]),
        rhs_contracting_dimensions=list(contract[1]),
    )
    shape = [
        size
        for value, axes in zip((lhs, rhs), contract, strict=True)
        for axis, size in enumerate(static_shape(value))
        if axis not in axes
    ]
    return stablehlo.dot_general(tensor_type(lhs, shape), lhs, rhs, attribute)


def loop(start: int, stop: int, step: int, carries: Sequence[ir.Value], body: Step) -> list[ir.Value]:
    """A `stablehlo.while` over `range(start, stop, step)`; without a turn, the carries themselves.

    Args:
        start: the first index.
        stop: where it ends.
        step: how far the index moves, at least 1.
        carries: their values before the loop.
        body: from the index (int32) and the carries, the carries' next values.
    """
    if start >= stop:
        return list(carries)
    first = number(start, carries[0])
    inits = [first, *carries]
    types = [value.type for value in inits]
    location = ir.Location.current
    made = ir.Operation.create("stablehlo.while", results=types, operands=inits, regions=2)
    condition, block = (region.blocks.append(*types, arg_locs=[location] * len(types)) for region in made.regions)
    with ir.InsertionPoint(condition):
        more = compare("LT", condition.arguments[0], number(stop, first))
        ir.Operation.create("stablehlo.return", operands=[more])
    with ir.InsertionPoint(block):
        index, *values = block.arguments
        following = body(index, list(values))
        ahead = stablehlo.add(index, number(step, first))
        ir.Operation.create("stablehlo.return", operands=[ahead, *following])
    return [made.results[place] for place in range(1, len(inits))]


def unrolled_loop(count: int, unroll: int, carries: Sequence[ir.Value], body: Step) -> list[ir.Value]:
    """`loop` over `range(count)`, several turns in one; what is left over is a second loop.

    `body` is called with an index that may be `counter + constant`.
    """

    def turns(index: ir.Value, values: list[ir.Value]) -> Sequence[ir.Value]:
        for offset in range(unroll):
            place = stablehlo.add(index, number(offset, index)) if offset else index
            values = list(body(place, values))
        return values

    whole = count // unroll * unroll
    carries = loop(0, whole, unroll, carries, turns)
    return loop(whole, count, 1, carries, body)


def zeros(like: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A constant of zeros with a value's dtype."""
    return full_like(like, 0, shape)


def is_real_float(value: ir.Value) -> bool:
    """Whether a value is of float32 or float64."""
    return dtype_of(value) in (np.float32, np.float64)


def scalar(value: ir.Value) -> ir.Value:
    """An array of one element as a scalar."""
    return reshape(value, [])
