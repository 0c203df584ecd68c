"""Small builders of StableHLO ops with static shapes, at the current insertion point.

In: values. Out: values. One function for each op that rolled code needs around what it copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.attributes import dense_attr
from ...ir.bindings import current_context, ir
from ...ir.types import numpy_dtype
from ...ir.values import owner

Array = np.ndarray[Any, Any]


def shape(value: ir.Value) -> list[int]:
    """A tensor's dimensions."""
    return list(ir.RankedTensorType(value.type).shape)


def tensor(dimensions: Sequence[int], like: ir.Value | ir.Type) -> ir.Type:
    """A tensor type with the element type of another."""
    type_ = like if isinstance(like, ir.Type) else like.type
    return ir.RankedTensorType.get(list(dimensions), ir.RankedTensorType(type_).element_type)


def integers(values: Sequence[int]) -> ir.Attribute:
    """The attribute of a list of integers."""
    return ir.DenseI64ArrayAttr.get([int(value) for value in values])


def make(name: str, type_: ir.Type, operands: Sequence[ir.Value], **attributes: ir.Attribute) -> ir.Value:
    """An op of one result."""
    return ir.Operation.create(
        f"stablehlo.{name}", results=[type_], operands=list(operands), attributes=attributes
    ).results[0]


def constant(array: Array) -> ir.Value:
    """A constant."""
    attribute = dense_attr(array, current_context())
    return make("constant", attribute.type, [], value=attribute)


def index(number: int) -> ir.Value:
    """A constant index."""
    return constant(np.array(number, np.int32))


def splat(array: Array, dimensions: Sequence[int]) -> ir.Value:
    """A scalar constant in each element."""
    return broadcast(constant(array), dimensions, [])


def zeros(type_: ir.Type) -> ir.Value:
    """A tensor of zeros."""
    ranked = ir.RankedTensorType(type_)
    return splat(np.zeros((), numpy_dtype(ranked.element_type)), ranked.shape)


def broadcast(value: ir.Value, dimensions: Sequence[int], axes: Sequence[int]) -> ir.Value:
    """`broadcast_in_dim`."""
    type_ = tensor(dimensions, value)
    if type_ == value.type:
        return value
    return make("broadcast_in_dim", type_, [value], broadcast_dimensions=integers(axes))


def reshape(value: ir.Value, dimensions: Sequence[int]) -> ir.Value:
    """`reshape`; nothing where the shape is that already."""
    type_ = tensor(dimensions, value)
    made = owner(value)
    if made is not None and made.name == "stablehlo.reshape":
        value = made.operands[0]
    return value if type_ == value.type else make("reshape", type_, [value])


def transpose(value: ir.Value, axes: Sequence[int]) -> ir.Value:
    """`transpose`; nothing where axes stay."""
    if list(axes) == list(range(len(axes))):
        return value
    old = shape(value)
    return make("transpose", tensor([old[axis] for axis in axes], value), [value], permutation=integers(axes))


def cut(value: ir.Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> ir.Value:
    """`slice`; nothing where all is taken."""
    dimensions = [
        max(0, -(-(limit - start) // stride)) for start, limit, stride in zip(starts, limits, strides, strict=True)
    ]
    if dimensions == shape(value):
        return value
    return make(
        "slice",
        tensor(dimensions, value),
        [value],
        start_indices=integers(starts),
        limit_indices=integers(limits),
        strides=integers(strides),
    )


def rows(value: ir.Value, first: int, count: int, step: int) -> ir.Value:
    """Elements `first`, `first + step`, ... along the leading axis; the step may be negative, not zero."""
    inner = shape(value)[1:]
    if count == 1:
        step = 1
    low = first if step > 0 else first + (count - 1) * step
    high = low + (count - 1) * abs(step) + 1
    found = cut(value, [low] + [0] * len(inner), [high, *inner], [abs(step)] + [1] * len(inner))
    return found if step > 0 else make("reverse", found.type, [found], dimensions=integers([0]))


def join(values: Sequence[ir.Value], axis: int = 0) -> ir.Value:
    """`concatenate`; nothing for a single value."""
    if len(values) == 1:
        return values[0]
    dimensions = shape(values[0])
    dimensions[axis] = sum(shape(value)[axis] for value in values)
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis)
    return make("concatenate", tensor(dimensions, values[0]), values, dimension=attribute)


def pad(value: ir.Value, filling: ir.Value, low: Sequence[int], high: Sequence[int]) -> ir.Value:
    """`pad` without interior."""
    if not any(low) and not any(high):
        return value
    dimensions = [size + one + other for size, one, other in zip(shape(value), low, high, strict=True)]
    return make(
        "pad",
        tensor(dimensions, value),
        [value, filling],
        edge_padding_low=integers(low),
        edge_padding_high=integers(high),
        interior_padding=integers([0] * len(dimensions)),
    )


def read(value: ir.Value, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    """`dynamic_slice`."""
    return make("dynamic_slice", tensor(sizes, value), [value, *starts], slice_sizes=integers(sizes))


def write(value: ir.Value, update: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
    """`dynamic_update_slice`."""
    return make("dynamic_update_slice", value.type, [value, update, *starts])


def read_row(value: ir.Value, number: ir.Value) -> ir.Value:
    """One element along the leading axis, without it."""
    inner = shape(value)[1:]
    zero = [index(0)] * len(inner)
    return reshape(read(value, [number, *zero], [1, *inner]), inner)


def write_row(value: ir.Value, row: ir.Value, number: ir.Value) -> ir.Value:
    """Another element along the leading axis."""
    inner = shape(value)[1:]
    return write(value, reshape(row, [1, *inner]), [number, *[index(0)] * len(inner)])


def affine(number: ir.Value, first: int, step: int) -> ir.Value:
    """`first + step * number`."""
    if step != 1:
        number = make("multiply", number.type, [number, index(step)])
    if first:
        number = make("add", number.type, [number, index(first)])
    return number
