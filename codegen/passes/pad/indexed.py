"""Padding rules: slices at runtime places, gather, scatter: indices are clamped or dropped at the live size."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.places import INT64
from ...builder.shape import i64_array
from ...dims import Dim, maximum
from ...ir.bindings import ir
from ...ir.kinds import identity, monoid_of
from ...ir.op_sheet import Indexing, form_of
from ...ir.values import integers
from . import facts
from .facts import Fact
from .live import Dims, Live, attributes_of_op
from .padder import Padder, pads


def _clamped(padder: Padder, value: ir.Value, room: Dim) -> Tensor:
    """A start index of the source module within `[0, room]`, as int64."""
    start = hlo.convert(padder.env[value].tensor, INT64)
    if padder.within(value, room):
        return start
    if start.literal is not None and not start.literal.any():
        return start
    room = padder.dim(room)
    if start.dim is not None:
        # A start that is a size: what is known may tell that it is in range.
        low, high = padder.interval(start.dim)[0], padder.interval(room - start.dim)[0]
        if low is not None and low >= 0 and high is not None and high >= 0:
            return start
    return hlo.clamp(0, start, padder.size(room))


# ---- slices ----------------------------------------------------------------------------------------------------------


@pads("stablehlo.dynamic_slice")
def dynamic_slice(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Starts are clamped to the live size less the slice's; the slice is whole, so that it has no padding."""
    x, starts = operands[0], [part.tensor for part in operands[1:]]
    sizes = integers(operation, "slice_sizes")
    if x.padded:
        for axis in x.padded:
            padder.demand(x.dims[axis], sizes[axis], "the size of a slice")
            if sizes[axis] > x.shape[axis]:
                x = padder.resize(x, axis, sizes[axis])
        starts = [
            _clamped(padder, operation.operands[1 + axis], x.dims[axis] - sizes[axis])
            if type(x.dims[axis]) is not int
            else hlo.convert(start, INT64)
            for axis, start in enumerate(starts)
        ]
        for axis in x.padded:
            padder.note("clamp", x.dims[axis], "start of a slice")
    tensor = hlo.dynamic_slice(x.tensor, starts, tuple(sizes))
    return [Live(tensor, tuple(sizes), (None,) * x.ndim, x.whole)]


@pads("stablehlo.dynamic_update_slice")
def dynamic_update_slice(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """An update that has padding is merged with what stands there; the operand's padding is never written."""
    x, update, starts = operands[0], operands[1], [part.tensor for part in operands[2:]]
    if not x.padded and not update.padded:
        tensor = hlo.dynamic_update_slice(x.tensor, update.tensor, starts)
        return [Live(tensor, x.dims, x.pads, facts.join(x.whole, update.whole))]
    if x.dims == update.dims:
        return [padder.make(padder.fit(update, x.dims).tensor, x.dims, update.pads, update.whole)]
    changed = [axis for axis in range(x.ndim) if type(x.dims[axis]) is not int or type(update.dims[axis]) is not int]
    for axis in changed:
        padder.demand(x.dims[axis], update.dims[axis], "the size of an update")
    starts = [
        _clamped(padder, operation.operands[2 + axis], x.dims[axis] - update.dims[axis])
        if axis in changed
        else hlo.convert(start, INT64)
        for axis, start in enumerate(starts)
    ]
    grown = x
    # Where the update is as long as the operand it covers all of it; elsewhere its padding must not be written.
    merged = [axis for axis in update.padded if update.dims[axis] != x.dims[axis]]
    for axis in set(range(x.ndim)) - set(merged):
        update = padder.resize(update, axis, x.shape[axis]) if update.dims[axis] == x.dims[axis] else update
    for axis in merged:
        grown = padder.roomy(grown, axis, x.dims[axis] - update.dims[axis], update.shape[axis])
    value = update.tensor
    if merged:
        padder.note("mask", update.dims[merged[0]], "an update with what it covers")
        covered = hlo.dynamic_slice(grown.tensor, starts, update.shape)
        value = hlo.select(padder.box(update, merged), value, covered)
    tensor = hlo.dynamic_update_slice(grown.tensor, value, starts)
    known = [
        fact if fact is None or update.dims[axis] != x.dims[axis] else facts.join(fact, update.pad(axis))
        for axis, fact in enumerate(grown.pads)
    ]
    result = padder.make(tensor, x.dims, known, facts.join(grown.whole, update.whole))
    return [padder.fit(result, x.dims)]


# ---- gather ----------------------------------------------------------------------------------------------------------


@pads("stablehlo.gather", "stablehlo.dynamic_gather")
def gather(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Indices are clamped to the live sizes; rows of padded indices read anything."""
    x, indices = operands[0], operands[1]
    _, collapsed, batching, index_batching, index_map, vector_dim = Indexing.of(operation)
    sizes: Dims = (
        padder.sizes_of(operands[2], "the slice's size") if len(operands) > 2 else integers(operation, "slice_sizes")
    )
    # An axis of which one element is taken, if there is any: one element of the static tensor.
    sizes = tuple(1 if axis in collapsed or axis in batching else padder.dim(size) for axis, size in enumerate(sizes))
    x, indices = padder.equal(x, indices, zip(batching, index_batching, strict=True), "batch axis of an index")
    for axis, size in enumerate(sizes):
        if size != 1:  # of one element in an array of none nothing is read where there are no indices
            padder.demand(x.dims[axis], size, "the size of a slice")
    limits = [padder.dim(maximum(x.dims[axis] - sizes[axis], 0)) for axis in index_map]
    places = indices.tensor
    if any(type(x.dims[axis]) is not int or type(sizes[axis]) is not int for axis in index_map):
        for axis in index_map:
            if type(x.dims[axis]) is not int:
                padder.note("clamp", x.dims[axis], "indices of a gather")
        places = _clamp_indices(padder, places, limits, vector_dim)
    shape = padder.static_shape(sizes)
    for axis, room in zip(index_map, limits, strict=True):
        x = padder.roomy(x, axis, room, shape[axis])
    for axis in range(x.ndim):
        x = padder.resize(x, axis, max(x.shape[axis], shape[axis]))
    form = form_of(operation)
    assert form is not None
    dims: list[Dim] = []
    known: list[Fact | None] = []
    result: list[int] = []
    for place in range(len(padder.type_of(operation.results[0])[0])):
        taken, at = form.places(place)[:2]
        if taken is not None:
            dims.append(sizes[taken])
            result.append(shape[taken])
            whole = sizes[taken] == x.dims[taken] and shape[taken] == x.shape[taken]
            known.append(x.pad(taken) if whole else None)
        elif at is not None:
            dims.append(indices.dims[at])
            result.append(indices.shape[at])
            known.append(None)
    attributes = dict(attributes_of_op(operation))
    attributes["slice_sizes"] = i64_array(shape)
    if indices.padded or places is not indices.tensor:
        attributes["indices_are_sorted"] = "false"
    dtype = padder.type_of(operation.results[0])[1]
    tensor = padder.builder.op("stablehlo.gather", [x.tensor, places], tuple(result), dtype, tuple(attributes.items()))
    return [padder.make(tensor, dims, known, x.whole)]


def _clamp_indices(padder: Padder, places: Tensor, limits: Sequence[Dim], vector_dim: int) -> Tensor:
    """Index components between 0 and their limits."""
    builder, dtype = padder.builder, places.dtype
    top = builder.size_vector(limits)
    info = np.iinfo(dtype)
    if dtype.itemsize < 8 and any((padder.interval(limit)[1] or 0) > info.max for limit in limits):
        places = hlo.convert(places, INT64)
        dtype = INT64
    bounds = hlo.convert(top, dtype)
    if len(limits) == 1:
        return hlo.clamp(0, places, hlo.reshape(bounds, ()))
    return hlo.minimum_(hlo.maximum_(places, 0), hlo.broadcast_in_dim(bounds, places.dims, (vector_dim,)))


# ---- scatter ---------------------------------------------------------------------------------------------------------


@pads("stablehlo.scatter")
def scatter(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Updates whose index is padding, or whose window does not fit the live sizes, get an index out of range."""
    count = (len(operands) - 1) // 2
    inputs, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    window_dims, inserted, batching, index_batching, index_map, vector_dim = Indexing.of(operation)
    if count > 1 and any(x.padded for x in operands):
        inputs, updates = padder.align(inputs), padder.align(updates)
    x, update = inputs[0], updates[0]
    matched, indices = padder.equal(x, indices, zip(batching, index_batching, strict=True), "batch axis of an index")
    inputs = [padder.fit(other, matched.dims) for other in inputs]
    x = inputs[0]
    # Axes of the updates: those of the indices, and windows over axes of the operand.
    batch = [axis for axis in range(indices.ndim) if axis != vector_dim]
    free = [axis for axis in range(update.ndim) if axis not in window_dims]
    indices, update = padder.equal(indices, update, zip(batch, free, strict=True), "scatter")
    windows = [axis for axis in range(x.ndim) if axis not in inserted and axis not in batching]
    size_of: dict[int, Dim] = {}
    for axis, place in zip(windows, window_dims, strict=True):
        size_of[axis] = padder.dim(update.dims[place])
        if size_of[axis] != 1:
            padder.demand(x.dims[axis], size_of[axis], "the window of a scatter")
    # What is demanded may have lowered bounds.
    updates = [padder.fit(other, update.dims) for other in updates]
    indices = padder.fit(indices, indices.dims)
    monoid = monoid_of(operation.regions[0].blocks[0])
    places = indices.tensor
    open_sizes = {axis: size for axis, size in size_of.items() if type(size) is not int and size != x.dims[axis]}
    # The padding of a window falls on live elements. It changes nothing; or what it was written over is put back, along
    # axes where all windows begin at one place: at the only index, or (None) at 0.
    put_back: dict[int, Tensor | None] = {}
    for axis, size in open_sizes.items():
        place, indexed = window_dims[windows.index(axis)], axis in index_map
        last = x.dims[axis] - size if indexed else 0
        inputs = [padder.roomy(other, axis, last, updates[0].shape[place]) for other in inputs]
        if not indexed:
            put_back[axis] = None
        elif monoid is not None and count == 1:
            updates = [padder.fill(updates[0], [place], identity(monoid, x.dtype)[()])]
        elif monoid is None and math.prod(indices.shape[axis] for axis in batch) == 1:
            start = _component(places, index_map.index(axis), vector_dim, (1,) * len(batch))
            put_back[axis] = hlo.convert(hlo.reshape(start, ()), INT64)
        else:
            padder.refuse(f"windows of size {size} are written over each other in an axis of size {x.dims[axis]}", size)
    x = inputs[0]
    drop = _dropped(padder, indices, batch, x, index_map, size_of, vector_dim)
    if drop is not None:
        if places.dtype.kind == "u":  # no index is outside of every axis
            places = hlo.convert(places, INT64)
        outside = np.array(np.iinfo(places.dtype).min, places.dtype)  # no part of a window is inside
        places = hlo.select(hlo.broadcast_in_dim(drop, places.dims, batch), padder.builder.constant(outside), places)
    tensors = padder.builder.again(
        operation,
        [*[other.tensor for other in inputs], places, *[other.tensor for other in updates]],
        [(other.shape, other.dtype) for other in inputs],
        () if drop is None else (("indices_are_sorted", "false"), ("unique_indices", "false")),
        monoid,
    )
    for axis, first in put_back.items():
        padder.note("mask", open_sizes[axis], "what a window does not reach")
        kept = padder.mask(open_sizes[axis], x.shape[axis])
        if first is not None:
            index = hlo.subtract(hlo.iota(padder.builder, (x.shape[axis],), 0, INT64), first)
            kept = hlo.and_(hlo.compare("GE", index, 0), hlo.compare("LT", index, padder.size(open_sizes[axis])))
        kept = hlo.broadcast_in_dim(kept, x.shape, (axis,))
        tensors = [hlo.select(kept, tensor, other.tensor) for tensor, other in zip(tensors, inputs, strict=True)]
    return [padder.fit(padder.make(tensor, x.dims), x.dims) for tensor in tensors]


def _dropped(
    padder: Padder,
    indices: Live,
    batch: Sequence[int],
    x: Live,
    index_map: Sequence[int],
    size_of: dict[int, Dim],
    vector_dim: int,
) -> Tensor | None:
    """Flags, for each index, whether its update must not happen: the static shapes alone would let it."""
    shape = tuple(indices.shape[axis] for axis in batch)
    found: list[Tensor] = []
    for place, axis in enumerate(batch):
        dim = indices.dims[axis]
        if type(dim) is not int:
            padder.note("drop", dim, "updates of padded indices")
            found.append(hlo.not_(hlo.broadcast_in_dim(padder.mask(dim, shape[place]), shape, (place,))))
    for axis in sorted({*index_map, *size_of}):
        size = size_of.get(axis, 1)
        room = padder.dim(x.dims[axis] - size)
        least = padder.interval(room)[0] if axis not in index_map else None
        if (type(x.dims[axis]) is int and type(size) is int) or (least is not None and least >= 0):
            continue
        if axis in index_map and size == 1:
            continue  # a single element behind the live ones is written into padding
        padder.note("drop", x.dims[axis], "windows that reach into padding")
        part = padder.size(0)
        if axis in index_map:
            part = hlo.convert(_component(indices.tensor, index_map.index(axis), vector_dim, shape), INT64)
        found.append(hlo.compare("GT", part, hlo.full(padder.builder, padder.size(room), shape)))
    return functools.reduce(hlo.or_, found) if found else None


def _component(indices: Tensor, component: int, vector_dim: int, shape: tuple[int, ...]) -> Tensor:
    """One component of all index vectors."""
    if vector_dim == indices.ndim:
        return indices
    starts = [component if axis == vector_dim else 0 for axis in range(indices.ndim)]
    limits = [component + 1 if axis == vector_dim else n for axis, n in enumerate(indices.dims)]
    return hlo.reshape(hlo.slice(indices, starts, limits), shape)
