"""Ops that the rewrites of this package make."""

from __future__ import annotations

from collections.abc import Sequence

from ...mlir import ir, stablehlo
from ..matching import dtype_of, full_like, static_shape


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
