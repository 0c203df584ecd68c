"""Padding rules: elements at places that are computed, which are clamped or dropped at the live size; and windows.

The ops are slices at runtime places, gather and scatter; windowed reductions, cumulative ops, convolutions and Fourier
transforms.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.places import INT64, DType
from ...builder.shape import i64_array
from ...dims import Dim, maximum
from ...ir.bindings import ir
from ...ir.functions import fft_kind, of_fft
from ...ir.kinds import Indexing, form_of, identity, monoid_of
from ...ir.values import attributes_of, convolution_numbers, integers
from . import facts
from .facts import Fact
from .live import Dims, Live, attributes_of_op
from .moving import in_order, pad_axis, result_dims
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
    taken_in_order = in_order(padder, operation, x, indices, sizes)
    if taken_in_order is not None:
        return [taken_in_order]
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
    if vector_dim == indices.ndim:
        return indices
    starts = [component if axis == vector_dim else 0 for axis in range(indices.ndim)]
    limits = [component + 1 if axis == vector_dim else n for axis, n in enumerate(indices.dims)]
    return hlo.reshape(hlo.slice(indices, starts, limits), shape)


# ---- windows ---------------------------------------------------------------------------------------------------------


class _Moves(NamedTuple):
    """How a window moves along an axis.

    Attributes:
        stride: by how much.
        base: how far the elements that it moves over are spread.
        dilation: how far its own are.
        low: the op's own padding in front, as `high` is behind.
    """

    stride: Dim
    base: Dim
    dilation: Dim
    low: Dim
    high: Dim

    def positions(self, size: Dim, window: Dim) -> Dim:
        """How many positions a window has along an axis."""
        spread = maximum((size - 1) * self.base + 1, 0) if self.base != 1 else size
        reach = maximum((window - 1) * self.dilation + 1, 0) if self.dilation != 1 else window
        room = spread + self.low + self.high - reach
        return maximum(room // self.stride + 1, 0) if self.stride != 1 else maximum(room + 1, 0)


def _moves(op: ir.Operation, rank: int, names: Sequence[str], padding: Sequence[Dim] = ()) -> list[_Moves]:
    """What an op's attributes say about each axis.

    Args:
        op: the op.
        rank: how many axes there are.
        names: of the attributes: strides, base dilations, window dilations.
        padding: low and high of each axis, in turn; what the attribute says, if it is not given.
    """
    columns: list[Sequence[Dim]] = [integers(op, name) or [1] * rank for name in names]
    if not padding and "padding" in op.attributes:
        padding = [int(x) for x in np.array(ir.DenseElementsAttr(op.attributes["padding"])).reshape(-1)]
    padding = padding or [0] * (2 * rank)
    return [_Moves(*each) for each in zip(*columns, padding[::2], padding[1::2], strict=True)]


_OF_REDUCTIONS = ("window_strides", "base_dilations", "window_dilations")


@pads("stablehlo.reduce_window")
def reduce_window(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding holds the initial value, as what the op itself pads with: a window sees the same."""
    moves = _moves(operation, operands[0].ndim, _OF_REDUCTIONS)
    window = integers(operation, "window_dimensions")
    return _windowed(padder, operands, window, moves, operation.regions[0].blocks[0])


@pads("stablehlo.dynamic_reduce_window")
def dynamic_reduce_window(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """As `reduce_window`, with a window that is a size: cumulative ops."""
    *arrays, window, strides, base, dilations, padding = operands
    parts = ((window, "window"), (strides, "stride"), (base, "dilation"), (dilations, "window's dilation"))
    columns = [padder.sizes_of(part, f"the {what}") for part, what in parts]
    amounts = padder.sizes_of(padding, "the padding")
    rank = len(arrays[0].dims)
    if {len(column) for column in columns} != {rank} or len(amounts) != 2 * rank:
        padder.refuse(f"the window, its strides, dilations or padding are not those of {rank} axes")
    if any(type(size) is int and size < 1 for column in columns[1:] for size in column):
        padder.refuse("a stride or a dilation is less than 1")
    moves = [_Moves(*each) for each in zip(*columns[1:], amounts[::2], amounts[1::2], strict=True)]
    callee = ir.FlatSymbolRefAttr(ir.ArrayAttr(operation.attributes["called_computations"])[0]).value
    return _windowed(padder, arrays, columns[0], moves, padder.functions[callee].regions[0].blocks[0])


def _windowed(
    padder: Padder, operands: list[Live], window: Sequence[Dim], moves: list[_Moves], block: ir.Block
) -> list[Live]:
    count = len(operands) // 2
    values, inits = padder.align(operands[:count], "reduced tensors"), operands[count:]
    # XLA passes over what the op pads with, so that the monoid's identity stands for it, whatever the initial value.
    monoid = monoid_of(block) if count == 1 else None
    neutral = [
        init if monoid is None else padder.make(padder.builder.constant(identity(monoid, x.dtype), x.dtype))
        for x, init in zip(values, inits, strict=True)
    ]
    values = [padder.fill(x, values[0].padded, y.tensor) for x, y in zip(values, neutral, strict=True)]
    dims = values[0].dims
    windows: list[int] = []
    result: list[Dim] = []
    for axis, (dim, move) in enumerate(zip(dims, moves, strict=True)):
        if any(type(part) is not int for part in move[:3]):
            padder.refuse("a stride or a dilation is no constant", *move[:3])
        size, low, high = map(padder.dim, (window[axis], move.low, move.high))
        result.append(padder.dim(move.positions(dim, size)))
        if type(size) is int and type(low) is int and type(high) is int:
            windows.append(size)
            moves[axis] = move._replace(low=low, high=high)
            continue
        if type(size) is int and move.base == 1:  # how much is padded is computed: by an op of its own
            values = [pad_axis(padder, x, axis, y, low, high, 0) for x, y in zip(values, neutral, strict=True)]
            windows.append(size)
            moves[axis] = move._replace(low=0, high=0)
            continue
        # A window over all of the axis, from its beginning or to its end, may be longer: it sees more padding.
        whole = max(padder.bound(dim), 1)
        longer = padder.interval(padder.dim(size - dim))[0]
        covers = longer is not None and longer >= 0 and padder.dim(low + high - size + 1) == 0 and 0 in (low, high)
        if move[:3] != (1, 1, 1) or not covers:
            padder.refuse(f"the window of size {size} has no static form", size, low, high)
        windows.append(whole)
        moves[axis] = move._replace(low=whole - 1 if high == 0 else 0, high=0 if high == 0 else whole - 1)
    places = zip(moves, values[0].shape, windows, strict=True)
    shape = padder.static_shape([move.positions(size, window) for move, size, window in places])
    columns = zip(("window_dimensions", *_OF_REDUCTIONS), (windows, *list(zip(*moves, strict=True))[:3]), strict=True)
    attributes = tuple((name, i64_array(column)) for name, column in columns)
    scalars = [((), x.dtype) for x in (*values, *values)]
    tensors = padder.builder.region_op(
        "stablehlo.reduce_window",
        [x.tensor for x in (*values, *inits)],
        [(shape, x.dtype) for x in values],
        [(scalars, padder.scalar_region(block))],
        (*attributes, _padding(moves)),
    )
    return [padder.fit(padder.make(tensor, result), result) for tensor in tensors]


def _padding(moves: Sequence[_Moves]) -> tuple[str, str]:
    rows = ", ".join(f"[{move.low}, {move.high}]" for move in moves)
    return "padding", f"dense<[{rows}]> : tensor<{len(moves)}x2xi64>"


@pads("stablehlo.select_and_scatter")
def select_and_scatter(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Windows with a live source see live elements alone; the others scatter the monoid's identity."""
    x, source, init = operands
    window = integers(operation, "window_dimensions") or [1] * x.ndim
    moves, dims, of_source = _moves(operation, x.ndim, ("window_strides", "", "")), list(x.dims), list(source.dims)
    monoid, padded = monoid_of(operation.regions[1].blocks[0]), sorted({*x.padded, *source.padded})
    moving = [axis for axis in padded if (window[axis], *moves[axis]) != (1, 1, 1, 1, 0, 0)]
    for axis in padded:
        if moves[axis].low or moves[axis].high or (moving and monoid is None):
            what = "what is scattered has no identity" if monoid is None else "the op pads it, too"
            padder.refuse(f"windows of {window[axis]} elements move along a padded axis, and {what}", x.dims[axis])
        of_source[axis] = padder.equate(moves[axis].positions(dims[axis], window[axis]), of_source[axis], "windows")
    x, source = padder.fit(x, dims), padder.fit(source, of_source)
    for axis in moving:
        source = padder.resize(source, axis, padder.bound(moves[axis].positions(x.shape[axis], window[axis])))
    if monoid is not None:
        source = padder.fill(source, moving, identity(monoid, source.dtype))
    (tensor,) = padder.builder.again(operation, [x.tensor, source.tensor, init.tensor], [(x.shape, x.dtype)])
    return [padder.make(tensor, x.dims)]


# ---- convolution -----------------------------------------------------------------------------------------------------


@pads("stablehlo.convolution", "stablehlo.dynamic_conv")
def convolution(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """0 on padded spatial and feature axes; where the kernel's length or the op's padding is a size, by patches.

    A longer kernel would meet live elements with its padding, and 0 times an inf is a NaN.
    """
    lhs, rhs = operands[0], operands[1]
    dtype = padder.type_of(operation.results[0])[1]
    numbers = convolution_numbers(operation.attributes["dimension_numbers"])
    spatial = list(numbers.input_spatial_dimensions)
    kernel, target = numbers.kernel_spatial_dimensions, numbers.output_spatial_dimensions
    padding = padder.sizes_of(operands[2], "the padding") if len(operands) > 2 else ()
    moves = _moves(operation, len(spatial), ("window_strides", "lhs_dilation", "rhs_dilation"), padding)
    batch, feature = numbers.input_batch_dimension, numbers.input_feature_dimension
    inner, outer = numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension
    groups = [
        ir.IntegerAttr(operation.attributes[name]).value if name in operation.attributes else 1
        for name in ("feature_group_count", "batch_group_count")
    ]
    sizes = [*(rhs.dims[axis] for axis in kernel), *(end for move in moves for end in (move.low, move.high))]
    by_patches = any(type(size) is not int for size in sizes)
    if groups[0] == 1:
        lhs, rhs = padder.equal(lhs, rhs, [(feature, inner)], "features of a convolution")
    if groups != [1, 1]:
        split = [rhs.dims[outer], *([lhs.dims[feature], rhs.dims[inner]] if groups[0] != 1 else [lhs.dims[batch]])]
        if by_patches or any(type(dim) is not int for dim in split):
            padder.refuse("grouped features or batches are padded", *split, *rhs.dims)
    # A product of padding with padding must be 0; along the spatial axes it stands for the op's own padding.
    lhs = padder.zeros(lhs, [*spatial, feature])
    rhs = padder.zeros(rhs, [*kernel, inner])
    dims: list[Dim] = [0] * lhs.ndim
    dims[numbers.output_batch_dimension] = lhs.dims[batch] if groups[1] == 1 else lhs.shape[batch] // groups[1]
    dims[numbers.output_feature_dimension] = rhs.dims[outer]
    for axis, along, place, move in zip(spatial, kernel, target, moves, strict=True):
        dims[place] = padder.dim(move.positions(lhs.dims[axis], rhs.dims[along]))
    if by_patches:
        if "true" in str(attributes_of(operation.attributes).get("window_reversal")):
            padder.refuse("the kernel is reversed, and its length is not static", *[rhs.dims[axis] for axis in kernel])
        return [padder.make(_by_patches(padder, lhs, rhs, moves, numbers, dims, dtype), dims)]
    shape = list(padder.static_shape(dims))
    for axis, along, place, move in zip(spatial, kernel, target, moves, strict=True):
        shape[place] = padder.bound(move.positions(lhs.shape[axis], rhs.shape[along]))
    attributes = dict(attributes_of_op(operation))
    attributes.pop("padding", None)
    if moves:
        attributes |= [_padding(moves)]
    tensor = padder.builder.op(
        "stablehlo.convolution", [lhs.tensor, rhs.tensor], tuple(shape), dtype, tuple(attributes.items())
    )
    result = padder.make(tensor, dims)
    return [padder.fit(result, result.dims)]


def _by_patches(
    padder: Padder,
    lhs: Live,
    rhs: Live,
    moves: Sequence[_Moves],
    numbers: Any,
    dims: Sequence[Dim],
    dtype: DType,
) -> Tensor:
    """A convolution as a contraction with what each position of the kernel sees: one gather for each spatial axis."""
    builder = padder.builder
    spatial, kernel = list(numbers.input_spatial_dimensions), list(numbers.kernel_spatial_dimensions)
    target = list(numbers.output_spatial_dimensions)
    for axis in spatial:
        lhs = padder.resize(lhs, axis, max(lhs.shape[axis], 1))
    order = [numbers.input_batch_dimension, numbers.input_feature_dimension, *spatial]
    patches = hlo.convert(hlo.transpose(lhs.tensor, order), dtype)
    for number, move in enumerate(moves):
        whole, length = lhs.dims[spatial[number]], rhs.dims[kernel[number]]
        padder.note("patches", padder.dim(length), "of a convolution")
        shape = (padder.bound(dims[target[number]]), rhs.shape[kernel[number]])
        position, tap = (hlo.iota(builder, shape, axis, INT64) for axis in (0, 1))
        stride, base, dilation = map(padder.size, move[:3])
        steps = hlo.add(hlo.multiply(position, stride), hlo.multiply(tap, dilation))
        place = hlo.subtract(steps, padder.size(move.low))
        live = hlo.compare("LT", place, padder.size((whole - 1) * move.base + 1))
        live = hlo.and_(live, hlo.compare("GE", place, 0))
        live = hlo.and_(live, hlo.compare("EQ", hlo.remainder(place, base), 0))
        if type(length) is not int:
            live = hlo.and_(live, hlo.broadcast_in_dim(padder.mask(length, shape[1]), shape, (1,)))
        chosen = hlo.clamp(0, hlo.divide(place, base), lhs.shape[spatial[number]] - 1)
        axis = 2 + 2 * number
        patches = hlo.take(patches, chosen, axis)
        patches = hlo.select(
            hlo.broadcast_in_dim(live, patches.dims, (axis, axis + 1)), patches, builder.constant(0, dtype)
        )
    contracted = [1, *range(3, patches.ndim, 2)]
    inner = [numbers.kernel_input_feature_dimension, *kernel]
    product = hlo.dot_general(patches, hlo.convert(rhs.tensor, dtype), contracting=(contracted, inner))
    # Its axes are the batch, the positions, the output's features.
    made = [numbers.output_batch_dimension, *target, numbers.output_feature_dimension]
    return hlo.transpose(product, [made.index(axis) for axis in range(len(made))])


# ---- Fourier transforms: along a padded axis, by as many elements as are live ---------------------------------------


@pads("stablehlo.fft")
def fft(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Lengths that are known: only batch axes can be padded."""
    kind, lengths = of_fft(operation)
    open_ = [dim for dim in operands[0].dims[-len(lengths) :] if type(dim) is not int]
    if open_:
        padder.refuse("the transformed axis is padded", *open_)
    return [_transformed(padder, operands[0], kind, lengths)]


@pads("hlograph.fft")
def open_fft(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """A transform whose lengths are sizes: where they are known now it is `stablehlo.fft`."""
    x = operands[0]
    kind, rank = fft_kind(operation)
    sizes = x.dims if kind == "RFFT" else result_dims(padder, padder.type_of(operation.results[0])[0], operands[1])
    return [_transformed(padder, x, kind, sizes[-rank:])]


def _transformed(padder: Padder, x: Live, kind: Any, lengths: Dims) -> Live:
    rank = len(lengths)
    batch = x.dims[:-rank]
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    if all(type(dim) is int for dim in (*x.dims[-rank:], *lengths)):
        found = hlo.fft(x.tensor, kind, lengths)
    else:
        bounds = [padder.bound(dim) for dim in lengths]
        sizes = [padder.size(dim) for dim in lengths]
        first = x.ndim - rank

        def along(tensor: Tensor, axis: int, inverse: bool) -> Tensor:
            dim = lengths[axis - first]
            if type(dim) is int:
                return hlo.at_end(tensor, axis, lambda y: hlo.fft(y, "IFFT" if inverse else "FFT", (dim,)))
            padder.note("chirp", dim, "transforms the live elements")
            live = padder.make(tensor, [*batch, *(dim if a == axis else tensor.dims[a] for a in range(first, x.ndim))])
            filled = padder.zeros(live, [axis]).tensor
            return hlo.at_end(filled, axis, lambda y: hlo.of_some(y, sizes[axis - first], inverse=inverse))

        x = padder.fit(x, [*batch, *(half if kind == "IRFFT" else lengths)])
        found = hlo.by_axes(x.tensor, kind, bounds, sizes, along)
    return padder.make(found, [*batch, *(half if kind == "RFFT" else lengths)])
