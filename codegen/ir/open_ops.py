"""Ops on values whose sizes may be open, made at the current place.

In: values, and sizes: an int, or an int64 scalar of the module. Out: values. Decision to know: an axis of unknown size
never stretches (only a static 1 does), which IREE must be told of each broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from . import ops
from .attributes import integers
from .bindings import DYNAMIC, ir, stablehlo
from .values import constant as constant_of
from .values import dtype_of, owner, shape_of, sizes_of

Size: TypeAlias = "int | ir.Value"
BROADCASTS = ("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")


def is_open(*values: ir.Value) -> bool:
    """Whether one of the values has a size that is not known."""
    return any(None in shape_of(value) for value in values)


# ---- sizes ------------------------------------------------------------------------------------------------------


def size(value: ir.Value, axis: int) -> Size:
    """The size of an axis."""
    known = shape_of(value)[axis]
    return ops.convert(stablehlo.get_dimension_size(value, axis), np.int64) if known is None else known


def sizes(value: ir.Value) -> list[Size]:
    """The sizes of all axes."""
    return [size(value, axis) for axis in range(len(shape_of(value)))]


def elements(vector: ir.Value) -> list[Size]:
    """The elements of a vector of integers, such as the shape that a dynamic op is given."""
    (count,) = sizes_of(vector)
    known = constant_of(vector)
    if known is not None:
        return [int(number) for number in np.broadcast_to(known, (count,))]
    made = owner(vector)
    if made is not None and made.name == "stablehlo.concatenate":
        return [size for part in made.operands for size in elements(part)]
    if made is not None and made.name == "stablehlo.slice":
        (start,), (limit,), (stride,) = (integers(made, name) for name in ("start_indices", "limit_indices", "strides"))
        return elements(made.operands[0])[start:limit:stride]
    if made is not None and made.name == "stablehlo.reshape" and not shape_of(made.operands[0]):
        return [ops.convert(made.operands[0], np.int64)]
    return [ops.convert(ops.reshape(ops.slice(vector, [k], [k + 1]), []), np.int64) for k in range(count)]


def number(size: Size) -> ir.Value:
    """A size as an int64 scalar."""
    return ops.constant(np.int64(size)) if isinstance(size, int) else size


def vector(sizes: Sequence[Size]) -> ir.Value:
    """Sizes as a vector of int64."""
    if all(isinstance(each, int) for each in sizes):
        return ops.constant(np.array(sizes, np.int64))
    return ops.concatenate([ops.reshape(number(each), [1]) for each in sizes], 0)


_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "maximum": max,
    "minimum": min,
}


def compute(name: str, one: Size, other: Size) -> Size:
    """A size by arithmetic on two: `add`, `subtract`, `multiply`, `maximum` or `minimum`."""
    if isinstance(one, int) and isinstance(other, int):
        return _ARITHMETIC[name](one, other)
    return ops.elementwise(f"stablehlo.{name}", number(one), number(other))


def _type(like: Any, sizes: Sequence[Size]) -> ir.RankedTensorType:
    return ops.tensor_type(like, [each if isinstance(each, int) else DYNAMIC for each in sizes])


# ---- values -----------------------------------------------------------------------------------------------------


def broadcast(value: ir.Value, sizes: Sequence[Size], axes: Sequence[int], type_: ir.Type | None = None) -> ir.Value:
    """A broadcast that puts the value's axes at `axes`; of a type that may say less of the sizes than is known."""
    wanted = _type(value, sizes) if type_ is None else ir.RankedTensorType(type_)
    if wanted.has_static_shape and not is_open(value):
        return ops.broadcast_in_dim(value, list(wanted.shape), axes)
    if value.type == wanted and list(axes) == list(range(len(sizes))):
        return value
    return broadcast_to(value, vector(sizes), axes, wanted)


def reshape(value: ir.Value, sizes: Sequence[Size]) -> ir.Value:
    """A reshape to sizes of as many elements."""
    known = [each for each in sizes if isinstance(each, int)]
    if len(known) == len(sizes) and not is_open(value):
        return ops.reshape(value, known)
    return stablehlo.dynamic_reshape(_type(value, sizes), value, vector(sizes))


def broadcast_to(value: ir.Value, shape: ir.Value, axes: Sequence[int], type_: ir.Type) -> ir.Value:
    """A broadcast to a shape that is a value, of which IREE is told which axes stretch.

    One of a broadcast is one of what that was made of: IREE does so itself, and forgets then what it was told.
    """
    made = owner(value)
    while made is not None and made.name in BROADCASTS:
        inner = integers(made, "broadcast_dimensions")
        value, axes = made.operands[0], [axes[axis] for axis in inner]
        made = owner(value)
    own = shape_of(value)
    result = ir.Operation.create(
        "stablehlo.dynamic_broadcast_in_dim",
        results=[type_],
        operands=[value, shape],
        attributes={
            "broadcast_dimensions": ops.integer_list(axes),
            "known_expanding_dimensions": ops.integer_list([k for k, known in enumerate(own) if known == 1]),
            "known_nonexpanding_dimensions": ops.integer_list([k for k, known in enumerate(own) if known != 1]),
        },
    )
    return result.results[0]


def typed(value: ir.Value, type_: ir.Type) -> ir.Value:
    """The same under a type that says more, or less, of its sizes."""
    wanted = ir.RankedTensorType(type_).shape
    known = [own if each == DYNAMIC else each for own, each in zip(sizes(value), wanted, strict=True)]
    return broadcast(value, known, range(len(known)), type_)


def full(number: float, like: Any, sizes: Sequence[Size], type_: ir.Type | None = None) -> ir.Value:
    """One number everywhere; `like` is a value or a dtype."""
    dtype = dtype_of(like) if isinstance(like, ir.Value) else np.dtype(like)
    return broadcast(ops.constant(np.array(number).astype(dtype)), sizes, [], type_)


def full_like(value: ir.Value, number: float) -> ir.Value:
    """One number everywhere, of a value's type."""
    return full(number, value, sizes(value), value.type)


def iota(sizes: Sequence[Size], axis: int) -> ir.Value:
    """0, 1, ... along an axis, int64."""
    wanted = _type(np.int64, sizes)
    if wanted.has_static_shape:
        return stablehlo.iota(wanted, axis)
    return stablehlo.dynamic_iota(wanted, vector(sizes), axis)


def without_units(value: ir.Value, axes: Sequence[int]) -> ir.Value:
    """The value without these axes, which have one element each.

    IREE has no reshape of open sizes; a reduction of one element is that element, the sign of zero included.
    """
    if not axes:
        return value
    if not is_open(value):
        return ops.reshape(value, [known for axis, known in enumerate(sizes_of(value)) if axis not in axes])
    dtype = dtype_of(value)
    nothing = {"f": -0.0, "V": -0.0, "c": complex(-0.0, -0.0)}.get(dtype.kind, 0)
    return ops.reduce("stablehlo.add", value, ops.constant(np.array(nothing).astype(dtype)), axes)


def part(value: ir.Value, starts: Sequence[Size], limits: Sequence[Size]) -> ir.Value:
    """The elements from `starts` to `limits` of each axis."""
    lengths = [compute("subtract", limit, start) for start, limit in zip(starts, limits, strict=True)]
    ones = ops.constant(np.ones(len(lengths), np.int64))
    return stablehlo.real_dynamic_slice(_type(value, lengths), value, vector(starts), vector(limits), ones)


def part_along(value: ir.Value, axis: int, start: Size, limit: Size) -> ir.Value:
    """The elements from `start` to `limit` of one axis."""
    starts: list[Size] = [0] * len(shape_of(value))
    limits = sizes(value)
    starts[axis], limits[axis] = start, limit
    return part(value, starts, limits)


def concatenate(parts: Sequence[ir.Value], axis: int, type_: ir.Type) -> ir.Value:
    """A concatenate of a type."""
    made = ir.Operation.create(
        "stablehlo.concatenate",
        results=[type_],
        operands=list(parts),
        attributes={"dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis)},
    )
    return made.results[0]


def elements_at(value: ir.Value, places: Sequence[ir.Value], type_: ir.Type) -> ir.Value:
    """The elements at places: for each axis of the value an array of indices in the result's shape."""
    rank = len(shape_of(places[0]))
    stacked = places[0]
    if len(places) > 1:
        columns = [broadcast(each, [*sizes(each), 1], range(rank)) for each in places]
        joined = ir.RankedTensorType(columns[0].type).shape
        stacked = concatenate(columns, rank, ops.tensor_type(np.int64, [*joined[:-1], len(places)]))
    axes = list(range(len(places)))
    numbers = stablehlo.GatherDimensionNumbers.get(
        offset_dims=[],
        collapsed_slice_dims=axes,
        operand_batching_dims=[],
        start_indices_batching_dims=[],
        start_index_map=axes,
        index_vector_dim=rank,
    )
    made = ir.Operation.create(
        "stablehlo.gather",
        results=[type_],
        operands=[value, stacked],
        attributes={
            "dimension_numbers": numbers,
            "slice_sizes": ops.integer_list([1] * len(places)),
            "indices_are_sorted": ir.BoolAttr.get(False),
        },
    )
    return made.results[0]
