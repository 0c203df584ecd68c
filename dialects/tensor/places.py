"""Indices that come with a value each: UnravelIndex, RavelMultiIndex, Choose, PermuteRowElements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ..registry import lowers
from .shape import broadcast_to, common_dims, static_int
from .windows import in_range


def _elements(vector: Tensor, count: int) -> list[Tensor]:
    """The elements of an integer vector, as int64 scalars."""
    vector = hlo.convert(vector, INT64)
    return [hlo.reshape(hlo.slice(vector, [place], [place + 1]), ()) for place in range(count)]


def _inside(x: Tensor, size: Tensor) -> Tensor:
    """Flags of the integers from 0 to below `size`."""
    return (x >= 0) & (x < size)


def _in_mode(ctx: Context, x: Tensor, size: Tensor, mode: str, message: str) -> Tensor:
    """int64 indices below `size`: checked, wrapped around or clipped."""
    x = hlo.convert(x, INT64)
    if mode == "wrap":
        size = hlo.maximum_(size, 1)
        rest = hlo.remainder(x, size)
        return hlo.select(rest < 0, rest + size, rest)
    if mode == "clip":
        return hlo.clamp(0, x, hlo.maximum_(size, 1) - 1)
    ctx.check(_inside(x, size), "ValueError", message)
    return x


@lowers("UnravelIndex")
def unravel_index(ctx: Context, node: Any, index: Tensor, shape: Tensor) -> list[Tensor]:
    """`numpy.unravel_index`: flat indices to one index for each axis."""
    sizes = _elements(shape, len(node.outputs))
    rest = hlo.convert(index, INT64)
    total = ctx.constant(1, INT64)
    for size in sizes:
        total = total * size
    ctx.check(_inside(rest, total), "ValueError", f"index is out of bounds for the array at {ctx.builder.where}")
    found: list[Tensor] = []
    inner_first = sizes if node.op.order == "F" else sizes[::-1]
    for size in inner_first[:-1]:
        size = hlo.maximum_(size, 1)
        found.append(hlo.remainder(rest, size))
        rest = rest / size
    found += [rest] if sizes else []
    return found if node.op.order == "F" else found[::-1]


@lowers("RavelMultiIndex")
def ravel_multi_index(ctx: Context, node: Any, *operands: Tensor) -> Tensor:
    """`numpy.ravel_multi_index`: one index for each axis to flat indices."""
    *indices, shape = operands
    sizes = _elements(shape, len(indices))
    dims = common_dims(ctx, [x.dims for x in indices], "the indices of RavelMultiIndex")
    indices = [broadcast_to(ctx, x, dims, "the indices of RavelMultiIndex") for x in indices]
    message = f"invalid entry in coordinates array at {ctx.builder.where}"
    places = [_in_mode(ctx, x, size, node.op.mode, message) for x, size in zip(indices, sizes, strict=True)]
    outer_first = list(zip(places, sizes, strict=True))
    if node.op.order == "F":
        outer_first.reverse()
    flat = outer_first[0][0]
    for place, size in outer_first[1:]:
        flat = flat * size + place
    return flat


def _along(dims: Sequence[Dim], axis: int, index: Tensor) -> list[Tensor]:
    """For each place of a shape the place itself, with `index` for one axis."""
    return [index if a == axis else hlo.iota(index.builder, tuple(dims), a, INT64) for a in range(len(dims))]


def _take_along(x: Tensor, index: Tensor, axis: int) -> Tensor:
    """`numpy.take_along_axis` for int64 indices in range; other axes have the sizes of `x`."""
    return hlo.take_elements(x, _along(index.dims, axis, index), range(x.ndim), 0)


@lowers("MakeList")
def make_list(ctx: Context, node: Any, *elements: Tensor) -> list[list[Tensor]]:
    """A list as a value, an operand of Choose."""
    return [list(elements)]


@lowers("Choose")
def choose(ctx: Context, node: Any, index: Tensor, choices: Any) -> Tensor:
    """`numpy.choose`: for each index the element at the same place of the choice that it names."""
    parts = choices if isinstance(choices, list) else [choices]
    inner = [x.dims if isinstance(choices, list) else x.dims[1:] for x in parts]
    dims = common_dims(ctx, [index.dims, *inner], "Choose")
    index = broadcast_to(ctx, index, dims, "the indices of Choose")
    rows = []
    for x, own in zip(parts, inner, strict=True):
        count = 1 if isinstance(choices, list) else x.dims[0]
        x = hlo.reshape(x, (count, *[1] * (len(dims) - len(own)), *own))
        rows.append(broadcast_to(ctx, x, (count, *dims), "the choices of Choose"))
    table = hlo.concatenate(rows, 0)
    ctx.at_least(table.dims[0], 1, "the number of choices")
    message = f"invalid entry in choice array at {ctx.builder.where}"
    index = _in_mode(ctx, index, ctx.builder.size(table.dims[0]), node.op.mode, message)
    return hlo.reshape(_take_along(table, hlo.expand_dims(index, [0]), 0), dims)


@lowers("PermuteRowElements")
def permute_row_elements(ctx: Context, node: Any, x: Tensor, order: Tensor, *inverse: Tensor) -> Tensor:
    """The elements of each row (along the last axis) in the order that indices say, or put where they say.

    An axis but the last stretches where the type says that its size is 1.
    """
    patterns = [variable.type.broadcastable for variable in node.inputs[:2]]
    dims = list(x.dims)
    for axis, flags in enumerate(zip(*patterns, strict=True)):
        if not any(flags) or axis == x.ndim - 1:
            dims[axis] = ctx.equate(x.dims[axis], order.dims[axis], f"PermuteRowElements, axis {axis}")
        else:
            dims[axis] = order.dims[axis] if flags[0] else x.dims[axis]
    x, order = (hlo.broadcast_in_dim(operand, tuple(dims), range(len(dims))) for operand in (x, order))
    last = len(dims) - 1
    places = hlo.convert(in_range(ctx, order, dims[last], last), INT64)
    # A property in PyTensor, an operand in Aesara.
    inverted = static_int(ctx, inverse[0], "which way PermuteRowElements goes") if inverse else node.op.inverse
    if not inverted:
        return _take_along(x, places, last)
    return hlo.put_elements(hlo.full_like(x, 0), _along(dims, last, places), x, range(len(dims)), 0, "set")
