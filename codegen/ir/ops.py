"""Ops made at the current place, under StableHLO's names; types and attributes follow from the operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .attributes import dense_attr
from .bindings import ir, stablehlo
from .values import dtype_of, static_shape


def tensor_type(like: ir.Value, shape: Sequence[int]) -> ir.RankedTensorType:
    """A type with the elements of another value."""
    return ir.RankedTensorType.get(list(shape), ir.RankedTensorType(like.type).element_type)


def reshape(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A reshape, unless the shape is this already."""
    return value if static_shape(value) == tuple(shape) else stablehlo.reshape(tensor_type(value, shape), value)


def transpose(value: ir.Value, permutation: Sequence[int]) -> ir.Value:
    """A transpose, unless it moves nothing."""
    if list(permutation) == sorted(permutation):
        return value
    return stablehlo.transpose(value, _array(permutation))


def reverse(value: ir.Value, axis: int) -> ir.Value:
    """A reverse of one axis."""
    return stablehlo.reverse(value, _array([axis]))


def pad(
    value: ir.Value, padding: ir.Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> ir.Value:
    """A pad, unless it adds nothing."""
    if not any((*low, *high, *interior)):
        return value
    return stablehlo.pad(value, padding, _array(low), _array(high), _array(interior))


def concatenate(values: Sequence[ir.Value], axis: int) -> ir.Value:
    """A concatenate, unless there is but one value."""
    return values[0] if len(values) == 1 else stablehlo.concatenate(list(values), axis)


def strided(value: ir.Value, start: Sequence[int], limit: Sequence[int], stride: Sequence[int]) -> ir.Value:
    """A slice, unless it takes all."""
    if not any(start) and tuple(limit) == static_shape(value) and set(stride) <= {1}:
        return value
    return stablehlo.slice(value, _array(start), _array(limit), _array(stride))


def positive_zeros(value: ir.Value) -> ir.Value:
    """The value with -0.0 replaced by 0.0, which is what adding 0.0 does; XLA takes `x + 0.0` for `x`, so not by that.

    Nothing to do for integers.
    """
    if dtype_of(value).kind in "iub":
        return value
    zero = full_like(value, 0.0)
    equal = stablehlo.compare(value, zero, stablehlo.ComparisonDirectionAttr.get("EQ"))
    return stablehlo.select(equal, zero, value)


def _array(numbers: Sequence[int]) -> ir.DenseI64ArrayAttr:
    return ir.DenseI64ArrayAttr.get(list(numbers))


def full_like(value: ir.Value, number: float | int, shape: Sequence[int] | None = None) -> ir.Value:
    """A constant of one number, with a value's dtype, and its shape unless another is given.

    Raises:
        Refused: the value's shape is asked for, and it has a dynamic dimension.
    """
    element = ir.RankedTensorType(value.type).element_type
    kind = ir.RankedTensorType.get(list(static_shape(value) if shape is None else shape), element)
    scalar = np.asarray(number).astype(dtype_of(value))
    if isinstance(element, ir.ComplexType):
        return stablehlo.constant(dense_attr(np.full(tuple(kind.shape), scalar), value.type.context))
    attribute: ir.Attribute
    if isinstance(element, ir.IntegerType):
        attribute = ir.IntegerAttr.get(element, int(scalar))
    else:
        attribute = ir.FloatAttr.get(element, float(scalar))
    return stablehlo.constant(ir.DenseElementsAttr.get_splat(kind, attribute))


def reduce_with(name: str, value: ir.Value, init: ir.Value, dimensions: Sequence[int]) -> ir.Value:
    """A `stablehlo.reduce` of one array by one op, e.g. `stablehlo.add`; the reverse of `reduction`."""
    tensor = ir.RankedTensorType(value.type)
    shape = [size for axis, size in enumerate(tensor.shape) if axis not in dimensions]
    scalar = ir.RankedTensorType.get([], tensor.element_type)
    made = ir.Operation.create(
        "stablehlo.reduce",
        results=[ir.RankedTensorType.get(shape, tensor.element_type)],
        operands=[value, init],
        attributes={"dimensions": ir.DenseI64ArrayAttr.get(sorted(dimensions))},
        regions=1,
    )
    block = made.regions[0].blocks.append(scalar, scalar, arg_locs=[made.location] * 2)
    with ir.InsertionPoint(block):
        inner = ir.Operation.create(name, results=[scalar], operands=list(block.arguments))
        ir.Operation.create("stablehlo.return", operands=list(inner.results))
    return made.results[0]
