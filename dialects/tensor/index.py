"""Indexing: reading, writing and accumulating at slices, integers, index tensors and masks.

An index is taken apart: basic indices are windows (see `windows`), which are read first; what is left, index tensors
for some axes, is one gather or scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Dims, Tensor
from ...codegen.dims import Dim, maximum, minimum
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers
from ..releases import unflatten
from .data_dependent import mask_places
from .shape import broadcast_to, common_dims, elements_of, static_int
from .windows import Window, in_range, read_windows, window, write_windows


@lowers("MakeSlice")
def make_slice(ctx: Context, node: Any, start: Any, stop: Any, step: Any) -> list[slice]:
    """A slice as a value, an operand of advanced indexing before PyTensor 3."""
    return [slice(start, stop, step)]


# ---- basic indices --------------------------------------------------------------------------------------------------


@lowers("Subtensor")
def subtensor(ctx: Context, node: Any, x: Tensor, *indices: Tensor) -> Tensor:
    """`x[i, a:b:c, ...]`; of small integer constants constants, of a vector of known sizes such as `x.shape` sizes."""
    entries = unflatten(node.op.idx_list, indices)

    def read() -> Tensor:
        windows = _windows(ctx, x, entries)
        kept = read_windows(ctx, x, windows)
        return hlo.reshape(kept, tuple(dim for dim, w in zip(kept.dims, windows, strict=True) if not w.dropped))

    found = _known_at(x, entries)
    if found is None:
        return read()
    part = found[0][found[1]]
    if x.literal is not None:
        return ctx.constant(part, x.dtype)
    return ctx.builder.known_as(tuple(np.array(part, object).ravel()), np.shape(part), x.dtype, read)


@lowers("IncSubtensor")
def inc_subtensor(ctx: Context, node: Any, x: Tensor, y: Tensor, *indices: Tensor) -> Tensor:
    """`x` with `x[...] = y` or `x[...] += y`; known as sizes where that is, as in `set_subtensor(x.shape[-1], n)`."""
    entries = unflatten(node.op.idx_list, indices)
    increment = not node.op.set_instead_of_inc

    def written() -> Tensor:
        windows = _windows(ctx, x, entries)
        kept = tuple(w.length for w in windows if not w.dropped)
        value = broadcast_to(ctx, hlo.convert(y, x.dtype), kept, "the written value")
        value = hlo.reshape(value, tuple(w.length for w in windows))
        return write_windows(ctx, x, value, windows, increment=increment)

    size = y.dim
    wide = hlo.wide_integer(x.dtype) and hlo.wide_integer(y.dtype)
    found = _known_at(x, entries) if wide and size is not None and x.ndim and x.sizes is not None else None
    if found is None:
        return written()
    sizes, place = found[0].tolist(), found[1]
    for each in np.atleast_1d(np.arange(len(sizes))[place]):
        sizes[each] = sizes[each] + size if increment else size
    return ctx.builder.known_as(tuple(sizes), x.dims, x.dtype, written)


def _windows(ctx: Context, x: Tensor, entries: Sequence[Any]) -> list[Window]:
    given = [window(ctx, entry, x.dims[axis], axis) for axis, entry in enumerate(entries)]
    return given + [Window(0, size) for size in x.dims[len(given) :]]


def _known_at(x: Tensor, entries: Sequence[Any]) -> tuple[Any, Any] | None:
    """What is known of the elements of integers, as an array, and constant indices as Python writes them."""
    if x.literal is not None and x.dtype.kind in "iub" and x.literal.size <= 64:
        source: Any = x.literal
    elif x.ndim == 1 and x.sizes is not None:
        source = np.empty(len(x.sizes), object)
        source[:] = x.sizes
    else:
        return None
    place = tuple(map(_fixed, entries))
    if None in place:
        return None
    try:
        source[place]
    except (IndexError, ValueError):  # out of range, or step 0: the caller says what is wrong
        return None
    return source, place


def _fixed(entry: Any) -> int | slice | None:
    """An index as Python writes it, if all its parts are constant integers; None if not."""
    parts = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)
    numbers = [part.dim if isinstance(part, Tensor) and isinstance(part.dim, int) else None for part in parts]
    if any(isinstance(part, Tensor) and n is None for part, n in zip(parts, numbers, strict=True)):
        return None
    return slice(*numbers) if isinstance(entry, slice) else numbers[0]


# ---- index tensors and masks ----------------------------------------------------------------------------------------


@dataclass
class _Selection:
    """An advanced index taken apart: basic windows first, then index tensors for some axes."""

    windows: list[Window]
    axes: list[int]
    indices: list[Tensor]

    @property
    def place(self) -> int:
        """Of the index tensors' axes in the result: in front where others stand between them."""
        return 0 if self.axes[-1] - self.axes[0] + 1 != len(self.axes) else self.axes[0]


def _select(ctx: Context, x: Tensor, entries: Sequence[Any]) -> tuple[Tensor, _Selection]:
    """Inserts new axes, and sorts the entries into windows and index tensors."""
    expanded: list[Any] = []
    new_axes: list[int] = []
    alone = sum(isinstance(entry, Tensor) for entry in entries) == 1
    for entry in entries:
        if isinstance(entry, Tensor) and entry.dtype.kind == "b":
            axis = len(expanded) - len(new_axes)
            mask = _fitted(ctx, x.dims[axis:], entry)
            if alone and mask.literal is None:  # one index for all the axes that it stands for
                merged = hlo.product(x.dims[axis : axis + mask.ndim])
                x = hlo.reshape(x, (*x.dims[:axis], merged, *x.dims[axis + mask.ndim :]))
                expanded.append(hlo.true_places(mask))
            else:
                expanded.extend(mask_places(mask))
        elif isinstance(entry, Tensor | slice):
            expanded.append(entry)
        elif "None" in type(entry).__name__:
            new_axes.append(len(expanded))
            expanded.append(slice(None))
        else:
            raise UnsupportedGraphError(f"index {entry!r} ({type(entry).__name__})")
    x = hlo.expand_dims(x, new_axes)
    expanded += [slice(None)] * (x.ndim - len(expanded))
    tensors = [entry for entry in expanded if isinstance(entry, Tensor)]
    among = _common_dims(ctx, tensors) if len(tensors) > 1 else None
    axes = [axis for axis, entry in enumerate(expanded) if isinstance(entry, Tensor)]
    windows, indices = [], []
    for axis, entry in enumerate(expanded):
        if axis in axes:
            indices.append(in_range(ctx, entry, x.dims[axis], axis, among))
            windows.append(Window(0, x.dims[axis]))
        else:
            windows.append(window(ctx, entry, x.dims[axis], axis))
    if len(indices) > 1:
        dims = _common_dims(ctx, indices)
        dtype = indices[0].dtype if len({i.dtype for i in indices}) == 1 else INT64
        indices = [
            broadcast_to(ctx, _stretched(ctx, hlo.convert(i, dtype), dims), dims, "index tensors") for i in indices
        ]
    return x, _Selection(windows, axes, indices)


def _fitted(ctx: Context, dims: Sequence[Dim], mask: Tensor) -> Tensor:
    """A mask with the size of each axis that it stands for, as a number where that is one."""
    for axis, size in enumerate(mask.dims):
        ctx.equate(dims[axis], size, f"indexing with a boolean mask, its axis {axis}", "index")
    known = map(ctx.builder.constraints.canonical, mask.dims)
    fixed = tuple(now if isinstance(now, int) else size for now, size in zip(known, mask.dims, strict=True))
    return mask if fixed == mask.dims else hlo.reshape(mask, fixed)


def _common_dims(ctx: Context, indices: Sequence[Tensor]) -> Dims:
    """The shape that index tensors have together; with `stretched_indices` what is 1 in a call stretches, too."""
    shapes = [x.dims for x in indices]
    if not ctx.builder.stretched_indices:
        return common_dims(ctx, shapes, "index tensors", "stretch")
    rank = max(map(len, shapes))
    dims: list[Dim] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, start=rank - len(shape)):
            dims[axis], known = _unless_one(ctx, dims[axis], size), dims[axis]
            if known != 1:
                fitting = _unless_one(ctx, size, dims[axis])
                ctx.equate(dims[axis], fitting, f"index tensors that broadcast together, axis {axis}", "index")
    return tuple(dims)


def _unless_one(ctx: Context, size: Dim, other: Dim) -> Dim:
    if size == 1 or other == 1 or ctx.builder.constraints.known_equal(size, other):
        return other if size == 1 else size
    is_other = minimum(maximum(size - 1, 1 - size), 1)
    return is_other * size + (1 - is_other) * other


def _stretched(ctx: Context, x: Tensor, dims: Dims) -> Tensor:
    """`x` with the sizes of its axes that may be 1 in a call as those of `dims`."""
    for axis, size in enumerate(dims[len(dims) - x.ndim :]):
        if ctx.builder.stretched_indices and x.dims[axis] not in (1, size):
            places = hlo.iota(ctx.builder, (size,), 0, INT64)
            last = ctx.builder.size(x.dims[axis], INT64) - 1
            x = hlo.take(x, hlo.minimum_(places, last), axis)
    return x


@lowers("AdvancedSubtensor", "AdvancedSubtensor1")
def advanced_subtensor(ctx: Context, node: Any, x: Tensor, *indices: Any) -> Tensor:
    """`x[...]` with index tensors among the indices."""
    x, chosen = _select(ctx, x, _entries(node.op, indices))
    x = read_windows(ctx, x, chosen.windows)
    return x if not chosen.axes else hlo.take_elements(x, chosen.indices, chosen.axes, chosen.place)


def _entries(op: Any, indices: Sequence[Any]) -> list[Any]:
    idx_list = getattr(op, "idx_list", None)
    return unflatten(idx_list, indices) if idx_list is not None else list(indices)


@lowers("AdvancedIncSubtensor", "AdvancedIncSubtensor1")
def advanced_inc_subtensor(ctx: Context, node: Any, x: Tensor, y: Tensor, *indices: Any) -> Tensor:
    """`x` with `x[...] = y`, or `y` accumulated, with index tensors among the indices."""
    op = node.op
    entries = _entries(op, indices)
    y = hlo.convert(y, x.dtype)
    masked = _masked_write(ctx, x, y, entries, set_=op.set_instead_of_inc)
    if masked is not None:
        return masked
    dims = x.dims
    x, chosen = _select(ctx, x, entries)
    region = read_windows(ctx, x, chosen.windows)
    others = [dim for axis, dim in enumerate(region.dims) if axis not in chosen.axes]
    target = [*others[: chosen.place], *chosen.indices[0].dims, *others[chosen.place :]]
    y = broadcast_to(ctx, y, target, "the written value")
    combiner: Any = "set" if op.set_instead_of_inc else "add"
    if getattr(op, "ignore_duplicates", False) and combiner == "add":
        y, combiner = hlo.take_elements(region, chosen.indices, chosen.axes, chosen.place) + y, "set"
    updated = hlo.put_elements(region, chosen.indices, y, chosen.axes, chosen.place, combiner)
    return hlo.reshape(write_windows(ctx, x, updated, chosen.windows, increment=False), dims)


def _masked_write(ctx: Context, x: Tensor, y: Tensor, entries: Sequence[Any], *, set_: bool) -> Tensor | None:
    """`x[..., mask, ...] = y` with whole axes around the mask needs no size from data: a select.

    None for other indices.
    """
    masks = [place for place, e in enumerate(entries) if isinstance(e, Tensor) and e.dtype.kind == "b"]
    if len(masks) != 1 or not all(place in masks or _is_whole(entry) for place, entry in enumerate(entries)):
        return None
    place = masks[0]
    mask = entries[place]
    if mask.literal is not None or y.ndim > x.ndim - mask.ndim + 1:
        return None
    mask = _fitted(ctx, x.dims[place:], mask)
    if all(dim == 1 for dim in y.dims):
        y = hlo.reshape(y, ())
    else:
        y = _spread(ctx, x, y, mask, place)
    mask = hlo.broadcast_in_dim(mask, x.dims, range(place, place + mask.ndim))
    return hlo.select(mask, y if set_ else x + y, x)


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, slice) and not any(isinstance(p, Tensor) for p in (entry.start, entry.stop, entry.step))


def _spread(ctx: Context, x: Tensor, y: Tensor, mask: Tensor, place: int) -> Tensor:
    """The values to write where a mask is true, in the shape of `x`; anything elsewhere.

    The axis of `y` that stands for the mask's true elements stretches if its size is statically 1. Else it has one
    slice for each of them, which a check sees to, and place i takes the slice that the running count says.
    """
    before, behind = x.dims[:place], x.dims[place + mask.ndim :]
    axis = place - (len(before) + 1 + len(behind) - y.ndim)
    if axis < 0 or (isinstance(y.dims[axis], int) and y.dims[axis] == 1):
        if axis >= 0:
            y = hlo.reshape(y, (*y.dims[:axis], *[1] * mask.ndim, *y.dims[axis + 1 :]))
        return broadcast_to(ctx, y, x.dims, "the written value")
    given = y.dims[axis]
    y = broadcast_to(ctx, y, (*before, given, *behind), "the written value")
    count = hlo.count_true(mask)
    known = hlo.known_size(count)
    if known is not None:
        ctx.equate(known, given, "the written value, one slice for each true element of the mask")
    else:
        fits = hlo.compare("EQ", count, ctx.builder.size(given))
        message = f"the written value has not as many slices as the mask has true elements at {ctx.builder.where}"
        ctx.check(fits, "ValueError", message)
    size = hlo.product(mask.dims)
    # So that there is a slice to take for every place.
    rest = [size - given if other == place else 0 for other in range(y.ndim)]
    y = hlo.with_dims(hlo.pad(y, ctx.constant(0, y.dtype), [0] * y.ndim, rest), (*before, size, *behind))
    number = hlo.running_count(hlo.reshape(mask, (size,))) - 1
    return hlo.reshape(hlo.take(y, number, place), x.dims)


# ---- indices that come with a value each -----------------------------------------------------------------------------


def _inside(x: Tensor, size: Tensor) -> Tensor:
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
    sizes = elements_of(hlo.convert(shape, INT64), len(node.outputs))
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
    sizes = elements_of(hlo.convert(shape, INT64), len(indices))
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
    return [index if a == axis else hlo.iota(index.builder, tuple(dims), a, INT64) for a in range(len(dims))]


def _take_along(x: Tensor, index: Tensor, axis: int) -> Tensor:
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
