"""Advanced indexing: index tensors and constant masks among the indices; reading, writing and accumulating.

Basic indices in between become windows first (see `index`); what is left is one gather or scatter. Indices are checked
as in `index`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import DataDependentSizeError, UnsupportedGraphError
from ..registry import lowers
from .index import Window, in_range, read_windows, slice_window, unflatten, write_windows
from .shape import broadcast_to


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
        """Where the index tensors' axes stand in the result."""
        return 0 if self.front else self.axes[0]


def _select(ctx: Context, x: Tensor, entries: Sequence[Any]) -> tuple[Tensor, _Selection]:
    """Inserts new axes, and sorts the entries into windows and index tensors."""
    expanded: list[Any] = []
    new_axes: list[int] = []
    for entry in entries:
        if isinstance(entry, Tensor) and entry.dtype.kind == "b":
            _check_mask(ctx, x.dims[len(expanded) - len(new_axes) :], entry)
            expanded.extend(_nonzero(ctx, entry))
        elif isinstance(entry, Tensor | slice):
            expanded.append(entry)
        elif "None" in type(entry).__name__:
            new_axes.append(len(expanded))
            expanded.append(slice(None))
        else:
            raise UnsupportedGraphError(f"index {entry!r} ({type(entry).__name__})")
    x = hlo.expand_dims(x, new_axes)
    expanded += [slice(None)] * (x.ndim - len(expanded))
    windows, axes, indices = [], [], []
    for axis, entry in enumerate(expanded):
        if isinstance(entry, Tensor):
            axes.append(axis)
            indices.append(in_range(ctx, entry, x.dims[axis], axis))
            windows.append(Window(0, x.dims[axis]))
        else:
            parts = slice(*(p if isinstance(p, Tensor) else None for p in (entry.start, entry.stop, entry.step)))
            windows.append(slice_window(ctx, parts, x.dims[axis], axis))
    separated = bool(axes) and axes[-1] - axes[0] + 1 != len(axes)
    return x, _Selection(windows, axes, _common_shape(ctx, indices), separated)


def _check_mask(ctx: Context, dims: Sequence[Dim], mask: Tensor) -> None:
    """A mask has the size of each axis that it stands for."""
    for axis, size in enumerate(mask.dims):
        ctx.equate(dims[axis], size, f"indexing with a boolean mask, its axis {axis}")


def _nonzero(ctx: Context, mask: Tensor) -> list[Tensor]:
    if mask.literal is None:
        raise DataDependentSizeError(
            f"indexing with a boolean mask that is computed ({ctx.builder.where}): the size of the result depends on "
            "data; use where(mask, x, identity) before a reduction instead"
        )
    return [ctx.constant(places) for places in mask.literal.nonzero()]


def _common_shape(ctx: Context, indices: Sequence[Tensor]) -> list[Tensor]:
    """Index tensors broadcast together."""
    if not indices:
        return []
    rank = max(x.ndim for x in indices)
    dims: list[Dim] = [1] * rank
    for x in indices:
        for axis, size in enumerate(x.dims, start=rank - x.ndim):
            known = dims[axis]
            if not (isinstance(size, int) and size == 1):
                one = isinstance(known, int) and known == 1
                dims[axis] = size if one else ctx.equate(known, size, f"index tensors, axis {axis}")
    dtype = np.result_type(*[x.dtype for x in indices])
    return [broadcast_to(ctx, hlo.convert(x, dtype), dims, "index tensors") for x in indices]


def _index_vectors(selection: _Selection) -> Tensor:
    """One index vector per place, as the last axis."""
    parts = [hlo.expand_dims(x, [x.ndim]) for x in selection.indices]
    return hlo.concatenate(parts, parts[0].ndim - 1)


@lowers("AdvancedSubtensor")
def advanced_subtensor(ctx: Context, node: Any, x: Tensor, *indices: Any) -> Tensor:
    """`x[...]` with index tensors among the indices."""
    x, chosen = _select(ctx, x, _entries(node.op, indices))
    x = read_windows(ctx, x, chosen.windows)
    if not chosen.axes:
        return x
    if len(chosen.axes) == 1:
        return hlo.take(x, chosen.indices[0], chosen.axes[0])
    rank, place = chosen.indices[0].ndim, chosen.batch_place()
    total = rank + x.ndim - len(chosen.axes)
    return hlo.gather(
        x,
        _index_vectors(chosen),
        offset_dims=[axis for axis in range(total) if not place <= axis < place + rank],
        collapsed_slice_dims=chosen.axes,
        start_index_map=chosen.axes,
        index_vector_dim=rank,
        slice_sizes=hlo.element_sizes(x, chosen.axes, chosen.indices[0]),
    )


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
    rank, place = chosen.indices[0].ndim, chosen.batch_place()
    window_dims = [dim for axis, dim in enumerate(x.dims) if axis not in chosen.axes]
    target = [*window_dims[:place], *chosen.indices[0].dims, *window_dims[place:]]
    y = broadcast_to(ctx, y, target, "the written value")
    vectors = _index_vectors(chosen)
    numbers: dict[str, Any] = {
        "inserted_window_dims": chosen.axes,
        "scatter_dims_to_operand_dims": chosen.axes,
        "index_vector_dim": rank,
    }
    windows = [axis for axis in range(len(target)) if not place <= axis < place + rank]
    if getattr(op, "ignore_duplicates", False) and not op.set_instead_of_inc:
        old = hlo.gather(
            x,
            vectors,
            offset_dims=windows,
            collapsed_slice_dims=chosen.axes,
            start_index_map=chosen.axes,
            index_vector_dim=rank,
            slice_sizes=hlo.element_sizes(x, chosen.axes, chosen.indices[0]),
        )
        return hlo.scatter(x, vectors, hlo.add(old, y), "set", update_window_dims=windows, **numbers)
    combiner: Any = "set" if op.set_instead_of_inc else "add"
    return hlo.scatter(x, vectors, y, combiner, update_window_dims=windows, **numbers)


def _masked_write(ctx: Context, x: Tensor, y: Tensor, entries: Sequence[Any], *, set_: bool) -> Tensor | None:
    """`x[mask] = scalar` needs no sizes: a select."""
    if len(entries) != 1 or not isinstance(entries[0], Tensor) or entries[0].dtype.kind != "b":
        return None
    mask = entries[0]
    if mask.literal is not None or any(dim != 1 for dim in y.dims):
        return None
    y = hlo.reshape(y, ())
    _check_mask(ctx, x.dims, mask)
    mask = hlo.broadcast_in_dim(mask, x.dims, range(mask.ndim))
    return hlo.select(mask, y if set_ else hlo.add(x, y), x)
