"""Advanced indexing: index tensors and masks among the indices; reading, writing and accumulating.

Basic indices in between become windows first (see `index`); what is left is one gather or scatter. Indices are checked
as in `index`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Dims, Tensor
from ...codegen.dims import Dim, maximum, minimum
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers
from ..releases import unflatten
from .data_dependent import mask_places
from .index import Window, in_range, read_windows, slice_window, write_windows
from .shape import broadcast_to, common_dims


@lowers("MakeSlice")
def make_slice(ctx: Context, node: Any, start: Any, stop: Any, step: Any) -> list[slice]:
    """A slice as a value, an operand of advanced indexing before PyTensor 3."""
    return [slice(start, stop, step)]


@lowers("AdvancedSubtensor1")
def advanced_subtensor1(ctx: Context, node: Any, x: Tensor, index: Tensor) -> Tensor:
    """`x[index]` for an integer vector."""
    return hlo.take(x, in_range(ctx, index, x.dims[0], 0), 0)


@lowers("AdvancedIncSubtensor1")
def advanced_inc_subtensor1(ctx: Context, node: Any, x: Tensor, y: Tensor, index: Tensor) -> Tensor:
    """`x` with `x[index] = y`, or `y` accumulated at `index`."""
    places = in_range(ctx, index, x.dims[0], 0)
    y = broadcast_to(ctx, hlo.convert(y, x.dtype), (*index.dims, *x.dims[1:]), "the written value")
    return hlo.put(x, places, y, 0, "set" if node.op.set_instead_of_inc else "add")


@dataclass
class _Selection:
    """An advanced index taken apart: basic windows first, then index tensors for some axes."""

    windows: list[Window]
    axes: list[int]
    indices: list[Tensor]
    front: bool

    def batch_place(self) -> int:
        """The place of the index tensors' axes in the result."""
        return 0 if self.front else self.axes[0]


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
    windows, axes, indices = [], [], []
    for axis, entry in enumerate(expanded):
        if isinstance(entry, Tensor):
            axes.append(axis)
            indices.append(in_range(ctx, entry, x.dims[axis], axis, among))
            windows.append(Window(0, x.dims[axis]))
        else:
            parts = slice(*(p if isinstance(p, Tensor) else None for p in (entry.start, entry.stop, entry.step)))
            windows.append(slice_window(ctx, parts, x.dims[axis], axis))
    separated = bool(axes) and axes[-1] - axes[0] + 1 != len(axes)
    return x, _Selection(windows, axes, _common_shape(ctx, indices), separated)


def _fitted(ctx: Context, dims: Sequence[Dim], mask: Tensor) -> Tensor:
    """A mask with the size of each axis that it stands for, as a number where that is one."""
    for axis, size in enumerate(mask.dims):
        ctx.equate(dims[axis], size, f"indexing with a boolean mask, its axis {axis}", "index")
    known = map(ctx.builder.constraints.canonical, mask.dims)
    fixed = tuple(now if isinstance(now, int) else size for now, size in zip(known, mask.dims, strict=True))
    return mask if fixed == mask.dims else hlo.reshape(mask, fixed)


def _common_shape(ctx: Context, indices: Sequence[Tensor]) -> list[Tensor]:
    """Index tensors broadcast together."""
    if not indices:
        return []
    dims = _common_dims(ctx, indices)
    dtype = indices[0].dtype if len({x.dtype for x in indices}) == 1 else INT64
    return [broadcast_to(ctx, _stretched(ctx, hlo.convert(x, dtype), dims), dims, "index tensors") for x in indices]


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
    """`size`, and `other` where that is 1."""
    if size == 1 or other == 1 or ctx.builder.constraints.known_equal(size, other):
        return other if size == 1 else size
    is_other = minimum(maximum(size - 1, 1 - size), 1)
    return is_other * size + (1 - is_other) * other


def _stretched(ctx: Context, x: Tensor, dims: Dims) -> Tensor:
    """`x` with the sizes of its axes that may be 1 in a call as those of `dims`."""
    for axis, size in enumerate(dims[len(dims) - x.ndim :]):
        if ctx.builder.stretched_indices and x.dims[axis] not in (1, size):
            places = hlo.iota(ctx.builder, (size,), 0, INT64)
            last = hlo.subtract(ctx.builder.size(x.dims[axis], INT64), 1)
            x = hlo.take(x, hlo.minimum_(places, last), axis)
    return x


@lowers("AdvancedSubtensor")
def advanced_subtensor(ctx: Context, node: Any, x: Tensor, *indices: Any) -> Tensor:
    """`x[...]` with index tensors among the indices."""
    x, chosen = _select(ctx, x, _entries(node.op, indices))
    x = read_windows(ctx, x, chosen.windows)
    if not chosen.axes:
        return x
    if len(chosen.axes) == 1:
        return hlo.take(x, chosen.indices[0], chosen.axes[0])
    return hlo.take_elements(x, chosen.indices, chosen.axes, chosen.batch_place())


def _entries(op: Any, indices: Sequence[Any]) -> list[Any]:
    """Index entries; before PyTensor 3 they are the operands themselves, slices included."""
    idx_list = getattr(op, "idx_list", None)
    return unflatten(idx_list, indices) if idx_list is not None else list(indices)


@lowers("AdvancedIncSubtensor")
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
    updated = _scatter(ctx, region, y, chosen, op)
    return hlo.reshape(write_windows(ctx, x, updated, chosen.windows, increment=False), dims)


def _scatter(ctx: Context, x: Tensor, y: Tensor, chosen: _Selection, op: Any) -> Tensor:
    place = chosen.batch_place()
    window_dims = [dim for axis, dim in enumerate(x.dims) if axis not in chosen.axes]
    target = [*window_dims[:place], *chosen.indices[0].dims, *window_dims[place:]]
    y = broadcast_to(ctx, y, target, "the written value")
    combiner: Any = "set" if op.set_instead_of_inc else "add"
    if getattr(op, "ignore_duplicates", False) and combiner == "add":
        y, combiner = hlo.add(hlo.take_elements(x, chosen.indices, chosen.axes, place), y), "set"
    return hlo.put_elements(x, chosen.indices, y, chosen.axes, place, combiner)


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
    return hlo.select(mask, y if set_ else hlo.add(x, y), x)


def _is_whole(entry: Any) -> bool:
    """Whether an index entry is `:`."""
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
    rest = [size - given if other == place else 0 for other in range(y.ndim)]
    y = hlo.with_dims(
        hlo.pad(y, ctx.constant(0, y.dtype), [0] * y.ndim, rest), (*before, size, *behind)
    )  # so that there is a slice to take for every place
    number = hlo.subtract(hlo.running_count(hlo.reshape(mask, (size,))), 1)
    return hlo.reshape(hlo.take(y, number, place), x.dims)
