"""Padding rules: sizes and counts, and elements at places that attributes say: broadcasts, reshapes, slices, pads."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from ... import builder as hlo
from ... import dims as dimension
from ...analysis.loops import affine_of
from ...builder import Tensor
from ...builder.places import INT32, INT64
from ...builder.shape import product, slice_axes
from ...dims import Dim, maximum
from ...ir.bindings import ir
from ...ir.kinds import Indexing
from ...ir.values import integers, owner
from . import facts
from .facts import UNKNOWN, Fact
from .live import Dims, Live, Rows, put
from .padder import Padder, pads


def integer(operation: ir.Operation, name: str) -> int:
    """An integer attribute."""
    return ir.IntegerAttr(operation.attributes[name]).value


@pads("stablehlo.get_dimension_size")
def get_dimension_size(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The live size, known as an expression."""
    dim = operands[0].dims[integer(operation, "dimension")]
    dtype = padder.type_of(operation.results[0])[1]
    return [padder.make(padder.builder.size(dim, dtype))]


@pads("stablehlo.iota", "stablehlo.dynamic_iota")
def iota(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The same indices at every size."""
    shape, dtype = padder.type_of(operation.results[0])
    dims = result_dims(padder, shape, operands[0] if operands else None)
    axis = integer(operation, "iota_dimension")
    return [padder.make(hlo.iota(padder.builder, padder.static_shape(dims), axis, dtype), dims, whole=facts.FINITE)]


def result_dims(padder: Padder, shape: Sequence[int | None], operand: Live | None) -> Dims:
    """Result dims of an op with a shape operand."""
    if operand is None:
        return tuple(size for size in shape if size is not None)
    known = padder.sizes_of(operand, "the result's size")
    for size, dim in zip(shape, known, strict=True):
        if size is None:
            padder.demand(dim, 0, "a size that is not negative")
    return tuple(dim if size is None else size for size, dim in zip(shape, known, strict=True))


@pads("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")
def broadcast_in_dim(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Axes that stay keep their padding; in new ones it holds what the operand holds."""
    shape, _ = padder.type_of(operation.results[0])
    dims = list(result_dims(padder, shape, operands[1] if len(operands) > 1 else None))
    x = operands[0]
    places = integers(operation, "broadcast_dimensions")
    size = x.tensor.dim
    length = dims[0] if len(dims) == 1 and not x.dims else None
    if size is not None and type(length) is int and length <= 16 and padder.builder.exact((size,), x.dtype):
        vector = padder.builder.size_vector([size] * length, x.dtype)
        return [padder.make(vector, whole=x.whole)]
    for axis, place in enumerate(places):
        if x.dims[axis] != 1:
            dims[place] = padder.equate(dims[place], x.dims[axis], "broadcast")
    x = padder.fit(x, [1 if x.dims[axis] == 1 else dims[place] for axis, place in enumerate(places)])
    tensor = hlo.broadcast_in_dim(x.tensor, padder.static_shape(dims), places)
    known: list[Fact] = [x.whole] * len(dims)
    for axis, place in enumerate(places):
        known[place] = x.pad(axis)
    return [padder.make(tensor, dims, known, x.whole)]


@pads("stablehlo.transpose")
def transpose(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Facts go with their axes."""
    x = operands[0]
    order = integers(operation, "permutation")
    tensor = hlo.transpose(x.tensor, order)
    return [Live(tensor, tuple(x.dims[i] for i in order), tuple(x.pads[i] for i in order), x.whole)]


@pads("stablehlo.concatenate")
def concatenate(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Along a padded axis each part is written at its running live offset, over the padding of the one before."""
    axis = integer(operation, "dimension")
    first = operands[0]
    if first.ndim == 1 and all(x.tensor.sizes is not None for x in operands) and not any(x.padded for x in operands):
        sizes = tuple(dim for x in operands for dim in x.tensor.sizes or ())
        if len(sizes) <= 64 and padder.builder.exact(sizes, first.dtype):
            return [padder.make(padder.builder.size_vector(sizes, first.dtype))]
    if first.ndim == 2 and axis == 0 and all(x.tensor.uid in padder.tables for x in operands):
        rows = hlo.concatenate([x.tensor for x in operands], 0)
        padder.tables[rows.uid] = tuple(dim for x in operands for dim in padder.tables[x.tensor.uid])
        return [padder.make(rows)]
    common = first.dims
    for x in operands[1:]:
        pairs = enumerate(zip(common, x.dims, strict=True))
        common = tuple(a if i == axis else padder.equate(a, b, "join") for i, (a, b) in pairs)
    parts = [padder.fit(x, [x.dims[i] if i == axis else d for i, d in enumerate(common)]) for x in operands]
    lengths = [x.dims[axis] for x in parts]
    total: Dim = 0
    for length in lengths:
        total = total + length
    dims = put(parts[0].dims, axis, total)
    known = [facts.join_all([x.pad(i) for x in parts]) for i in range(first.ndim)]
    whole = facts.join_all([x.whole for x in parts])
    if all(type(length) is int for length in lengths[:-1]):
        tensor = hlo.concatenate([x.tensor for x in parts], axis)
        result = padder.make(tensor, dims, put(known, axis, parts[-1].pad(axis)), whole)
        return [padder.fit(result, result.dims)]
    padder.note("shift", padder.dim(total), "joined at live offsets")
    tensor, room = hlo.concatenate([x.tensor for x in parts], axis), 0
    offset: Dim = 0
    zeros = [padder.size(0)] * first.ndim
    for x in parts:
        if room:
            tensor = hlo.dynamic_update_slice(tensor, x.tensor, put(zeros, axis, padder.size(offset)))
        left = padder.interval(padder.dim(x.shape[axis] - x.dims[axis] - (room - offset)))[0]
        offset, room = offset + x.dims[axis], room + x.shape[axis]
    # Behind the last part, as it was written, is its own end: padding, if that is more than what those before it have.
    behind = parts[-1].pad(axis) if left is not None and left >= 0 else None
    joined = padder.make(tensor, dims, put(known, axis, behind), whole)
    return [padder.fit(joined, joined.dims)]


# ---- reshapes -------------------------------------------------------------------------------------------------------


@pads("stablehlo.reshape", "stablehlo.dynamic_reshape")
def reshape(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Free where padded axes are the major ones of what is merged or split; else the elements are moved together."""
    x = operands[0]
    shape, _dtype = padder.type_of(operation.results[0])
    if not x.padded and None not in shape and len(operands) == 1:
        result = hlo.reshape(x.tensor, shape)  # type: ignore[arg-type]
        elements = _elements(padder, x)
        if elements is not None and len(shape) == 2:
            result.value  # noqa: B018  the handle takes its uid now
            padder.tables[result.uid] = elements
        return [Live(result, shape, (None,) * len(shape), x.whole)]  # type: ignore[arg-type]
    if len(operands) > 1 or None not in shape:
        return [reshaped(padder, x, result_dims(padder, shape, operands[1] if len(operands) > 1 else None))]
    # A static reshape of a padded operand; one size may be open.
    total, given = product(x.dims), math.prod(size for size in shape if size is not None)
    if shape.count(None) > 1:
        padder.refuse("the result's size is not known", total)
    return [reshaped(padder, x, tuple(total // given if size is None else size for size in shape))]


def _elements(padder: Padder, x: Live) -> Dims | None:
    if x.ndim == 2:
        return padder.tables.get(x.tensor.uid)
    return x.tensor.sizes


def reshaped(padder: Padder, x: Live, dims: Sequence[Dim]) -> Live:
    """`x` with its live elements, in row-major order, in an array of live shape `dims`."""
    dims = tuple(map(padder.dim, dims))
    if 0 in x.dims or 0 in dims:  # nothing is in it, which says nothing of the other sizes
        zero = padder.builder.constant(0, x.dtype)
        return padder.make(hlo.full(padder.builder, zero, padder.static_shape(dims)), dims)
    groups = _groups(padder, x.dims, dims)
    result = x
    done: list[Dim] = []
    for old, new in groups:
        start = len(done)
        result = _regroup(padder, result, start, len(old), new)
        done += new
    return result


def _groups(padder: Padder, old: Dims, new: Dims) -> list[tuple[Dims, Dims]]:
    """Splits a reshape into the finest runs of axes with equal numbers of elements."""
    groups: list[tuple[Dims, Dims]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            groups.append(((old[i],), (new[j],)))
            i, j = i + 1, j + 1
            continue
        a, b = _next_equal(padder, old[i:], new[j:], old[:i])
        groups.append((old[i : i + a], new[j : j + b]))
        i, j = i + a, j + b
    return groups


def _next_equal(padder: Padder, old: Dims, new: Dims, before: Dims) -> tuple[int, int]:
    """The shortest prefixes with equal numbers of elements; all that is left, and a demand, where none is known."""
    of_new: dict[Dim, int] = {}
    total: Dim = 1
    for b, dim in enumerate(new, 1):
        total = padder.dim(total * dim)
        of_new.setdefault(total, b)
    total = 1
    if 1 in of_new and new and new[0] == 1:
        return 0, 1
    for a, dim in enumerate(old, 1):
        total = padder.dim(total * dim)
        if total == 1 and a == 1:
            return 1, 0
        if total in of_new and total != 0:
            return a, of_new[total]
    rest = product(old), product(new)
    if 1 in rest and set() < dimension.roots(rest[0] - rest[1]) <= dimension.roots(product(before)):
        padder.refuse("the numbers of elements before and after are equal for sizes 0 and 1 alone", *before, *old)
    padder.equate(*rest, "reshape")
    return len(old), len(new)


def _regroup(padder: Padder, x: Live, start: int, count: int, new: Dims) -> Live:
    """`x` with its axes `start ... start + count` replaced by axes of live sizes `new`."""
    old, stop = x.dims[start : start + count], start + count
    if old == new:
        return x
    shape = padder.static_shape(new)
    kept = (*x.shape[:start], *shape, *x.shape[stop:])
    dims = (*x.dims[:start], *new, *x.dims[stop:])
    minor_padded = [d for side in (old, new) for d in [d for d in side if d != 1][1:] if type(d) is not int]
    if not minor_padded:
        # Live elements come first, before and after: the padding is the tail of the row-major order.
        size, wanted = math.prod(x.shape[start:stop]), math.prod(shape)
        tail = facts.join_all([x.pad(axis) for axis in range(start, stop) if x.pads[axis] is not None] or [x.whole])
        merged = x.tensor
        if size != wanted:
            merged = hlo.reshape(x.tensor, (*x.shape[:start], size, *x.shape[stop:]))
        joined = Live(merged, merged.dims, (*x.pads[:start], tail, *x.pads[stop:]), x.whole)
        if size != wanted:
            joined = padder.resize(joined, start, wanted, tail.value)
        known = [*joined.pads[:start], *[joined.pads[start]] * len(new), *joined.pads[start + 1 :]]
        return padder.make(hlo.reshape(joined.tensor, kept), dims, known, joined.whole)
    padder.note("compact", product(new), f"[{', '.join(map(str, old))}] to [{', '.join(map(str, new))}]")
    flat = hlo.reshape(x.tensor, (*x.shape[:start], math.prod(x.shape[start:stop]), *x.shape[stop:]))
    if math.prod(flat.dims) == 0 or math.prod(kept) == 0:
        tensor = hlo.full(padder.builder, padder.builder.constant(0, x.dtype), kept)
    elif padder.by_rows and _are_short(x, start, count, new):
        filled = x.also(facts.constant(0, x.dtype))
        known = [*filled[:start], *[None] * len(new), *filled[stop:]]
        whole = facts.join(x.whole, facts.constant(0, x.dtype))
        moved = padder.make(_by_rows(padder, x, start, old, new, shape), dims, known, whole)
        return moved if len(new) == 2 else padder.resize(moved, start, *shape)
    else:
        tensor = hlo.take(flat, _places(padder, new, shape, old, x.shape[start:stop]), start)
    known = [*x.pads[:start], *[None] * len(new), *x.pads[stop:]]
    return padder.make(tensor, dims, known, x.whole)


def _are_short(x: Live, start: int, count: int, new: Dims) -> bool:
    short = math.prod(x.shape[start + count :]) <= 16
    return {count, len(new)} == {1, 2} and short and math.prod(x.shape) >= 1024


def _by_rows(padder: Padder, x: Live, start: int, old: Dims, new: Dims, shape: tuple[int, ...]) -> Tensor:
    """Two axes made one, or one made two, row by row: XLA:CPU takes up to five times as long to gather elements.

    Rows are copied with their padding, and one that is live overwrites the padding of the row before.
    """
    split = len(new) == 2
    rows, columns = shape if split else x.shape[start : start + 2]
    if split:
        x = padder.resize(x, start, max(x.shape[start], rows * columns))  # no start is clamped
    before, after = x.shape[:start], x.shape[start + len(old) :]
    one, many = (*before, columns, *after), (*before, 1, columns, *after)
    live, zero = padder.size((new if split else old)[1]), padder.size(0)

    def body(row: Tensor, moved: Tensor) -> list[Tensor]:
        starts = [zero] * len(many)
        at = [*starts[:start], hlo.multiply(row, live), *starts[start + 2 :]]
        starts[start] = row
        here, there = (at, starts) if split else (starts, at)
        part = hlo.reshape(hlo.dynamic_slice(x.tensor, here, one if split else many), many if split else one)
        return [hlo.add(row, 1), hlo.dynamic_update_slice(moved, part, there)]

    empty = (*before, *((rows, columns) if split else (rows * columns,)), *after)
    moved = hlo.full(padder.builder, padder.builder.constant(0, x.dtype), empty)
    return hlo.while_loop([zero, moved], lambda row, _: hlo.compare("LT", row, rows), body)[1]


def _places(padder: Padder, new: Dims, shape: tuple[int, ...], old: Dims, old_shape: tuple[int, ...]) -> Tensor:
    """The place in the old static shape, flattened, of the element at each place of the new one."""
    # Divisions of 32 bits are twice as fast; no number is greater than the last place, or one size more.
    numbers = max(math.prod(shape), math.prod(old_shape), *shape, *old_shape) + 1
    dtype = INT32 if numbers < 2**31 else INT64
    nothing = hlo.full(padder.builder, padder.builder.size(0, dtype), shape)
    stride: Dim = 1
    parts = []
    for axis in reversed(range(len(new))):
        steps = hlo.iota(padder.builder, shape, axis, dtype)
        parts.append(hlo.multiply(steps, padder.builder.size(padder.dim(stride), dtype)))
        stride = stride * new[axis]
    flat = functools.reduce(hlo.add, parts or [nothing])
    parts, weight = [], 1
    for axis in reversed(range(len(old))):
        # Sizes of 0 divide nothing: there is no live element then.
        size = padder.builder.size(padder.dim(maximum(old[axis], 1)), dtype)
        index = hlo.remainder(flat, size) if axis else flat
        flat = hlo.divide(flat, size)
        parts.append(hlo.multiply(index, weight))
        weight *= old_shape[axis]
    return hlo.clamp(0, functools.reduce(hlo.add, parts or [nothing]), max(weight - 1, 0))


# ---- slices and pads: elements taken from, or put among, the live ones along an axis ---------------------------------


@pads("stablehlo.slice")
def slice_(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Static bounds: what is cut off a padded axis is live, so that the rest has no padding."""
    x = operands[0]
    starts, limits, strides = (integers(operation, name) for name in ("start_indices", "limit_indices", "strides"))
    if not x.padded:
        tensor = hlo.slice(x.tensor, starts, limits, strides)
        return [Live(tensor, tensor.dims, (None,) * x.ndim, x.whole)]
    return [_sliced(padder, x, starts, limits, strides)]


@pads("stablehlo.real_dynamic_slice")
def real_dynamic_slice(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Bounds are sizes: a window at a live start, in a tensor that is long enough for it."""
    x = operands[0]
    start, limit = operation.operands[1], owner(operation.operands[2])
    computed = limit is not None and limit.name == "stablehlo.add" and operands[1].tensor.sizes is None
    if limit is not None and computed and start in (terms := list(limit.operands)):
        lengths = padder.env[terms[terms[0] == start]].tensor.sizes
        if lengths is not None and padder.sizes_of(operands[3], "the stride") == (1,) * x.ndim:
            return [_cut(padder, x, operands[1].tensor, lengths)]
    starts, limits, strides = (
        padder.sizes_of(part, f"the slice's {what}")
        for part, what in zip(operands[1:], ("start", "limit", "stride"), strict=True)
    )
    return [_sliced(padder, x, starts, limits, strides)]


def _sliced(padder: Padder, x: Live, starts: Sequence[Dim], limits: Sequence[Dim], strides: Sequence[Dim]) -> Live:
    for axis, (start, limit, stride) in enumerate(zip(starts, limits, strides, strict=True)):
        start, limit = padder.dim(start), padder.dim(limit)
        if start == 0 and stride == 1 and limit == x.dims[axis]:
            continue
        padder.demand(x.dims[axis], limit, "the end of a slice")
        padder.demand(start, 0, "the start of a slice")
        padder.demand(limit, start, "the length of a slice")
        if type(stride) is not int:
            x = _strided(padder, x, axis, start, limit, stride)
            continue
        length = padder.dim((limit - start + stride - 1) // stride)
        size = padder.bound(length)
        span = max((size - 1) * stride + 1, 0)
        if start != 0 and type(x.dims[axis]) is not int:
            padder.note("shift", x.dims[axis], f"slice from {start}")
        x = window(padder, x, axis, start, limit - start, span)
        tensor = x.tensor
        if stride != 1:
            tensor = hlo.slice(tensor, [0] * x.ndim, list(x.shape), put([1] * x.ndim, axis, stride))
        x = padder.make(tensor, put(x.dims, axis, length), x.pads, x.whole)
    return x


def _cut(padder: Padder, x: Live, starts: Tensor, lengths: Dims) -> Live:
    """A window of the given live sizes, whose start is computed from data."""
    places: list[Tensor] = []
    lengths = tuple(map(padder.dim, lengths))
    for axis, length in enumerate(lengths):
        room = padder.dim(x.dims[axis] - length)
        start = hlo.convert(hlo.reshape(hlo.slice(starts, [axis], [axis + 1]), ()), np.int64)
        places.append(hlo.clamp(0, start, padder.size(room)))
        padder.note("clamp", padder.dim(x.dims[axis]), "start of a slice")
        x = padder.roomy(x, axis, room, padder.bound(length))
    tensor = hlo.dynamic_slice(x.tensor, places, padder.static_shape(lengths))
    known = [x.pads[axis] if length == x.dims[axis] else None for axis, length in enumerate(lengths)]
    return padder.make(tensor, lengths, known, x.whole)


def _strided(padder: Padder, x: Live, axis: int, start: Dim, limit: Dim, stride: Dim) -> Live:
    """A slice whose stride is a size of the program, as a diagonal's is: by index."""
    length = padder.dim((limit - start + stride - 1) // stride)
    steps = hlo.multiply(hlo.iota(padder.builder, (padder.bound(length),), 0, INT64), padder.size(stride))
    places = hlo.clamp(0, hlo.add(steps, padder.size(start)), max(x.shape[axis] - 1, 0))
    tensor = hlo.take(x.tensor, places, axis)
    return padder.make(tensor, put(x.dims, axis, length), put(x.pads, axis, None), x.whole)


@pads("stablehlo.reverse")
def reverse(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Reversed along a padded axis the live elements stand at the end: they are shifted back."""
    return [reversed_(padder, operands[0], integers(operation, "dimensions"))]


def reversed_(padder: Padder, x: Live, axes: Sequence[int]) -> Live:
    """`x` with its live elements in reverse order along axes."""
    tensor = hlo.reverse(x.tensor, axes)
    result = Live(tensor, x.dims, x.pads, x.whole)
    for axis in axes:
        if type(x.dims[axis]) is not int:
            padder.note("shift", x.dims[axis], "reversed elements, to the front")
            size = x.shape[axis]
            result = window(padder, result, axis, size - x.dims[axis], x.dims[axis], size)
    return result


def window(padder: Padder, x: Live, axis: int, start: Dim, length: Dim, size: int) -> Live:
    """Elements `start, start + 1, ...` of the static tensor along an axis: `length` live ones in `size` places.

    The elements behind the tensor's end read as 0.
    """
    start, length = padder.dim(start), padder.dim(length)
    grown = padder.roomy(x, axis, start, size)
    if type(start) is int:
        tensor = slice_axes(grown.tensor, {axis: (start, size, 1)})
    else:
        begin = hlo.clamp(0, padder.size(start), padder.interval(start)[1] or 0)
        starts = put([padder.size(0)] * x.ndim, axis, begin)
        tensor = hlo.dynamic_slice(grown.tensor, starts, put(x.shape, axis, size))
    # What follows the live part is padding only if the window reaches to the end of the live elements.
    if padder.dim(start + length) == x.dims[axis]:
        tail = facts.join(x.pad(axis), facts.constant(0, x.dtype)) if grown is not x else x.pad(axis)
    elif padder.dim(start + length) == x.shape[axis]:
        tail = facts.constant(0, x.dtype)
    else:
        tail = grown.whole
    return padder.make(tensor, put(x.dims, axis, length), put(grown.pads, axis, tail), grown.whole)


def in_order(padder: Padder, operation: ir.Operation, x: Live, indices: Live, sizes: Dims) -> Live | None:
    """Elements behind each other along an axis, forwards or backwards, that are all there: a window. Else None."""
    of_offsets, collapsed, batching, _, index_map, vector_dim = Indexing.of(operation)
    if (index_map, batching, vector_dim) != (collapsed, [], 1) or len(index_map) != 1:
        return None
    (axis,) = index_map
    kept = [place for place in range(x.ndim) if place != axis]
    if of_offsets != kept or any(sizes[place] != x.dims[place] for place in kept):
        return None
    places = Rows(padder.env, padder.builder).dim(operation.operands[1])
    found = None if places is None else affine_of(places)
    if found is None or abs(found.slope) != 1:
        return None
    count = indices.dims[0]
    low = padder.dim(found.start if found.slope == 1 else found.start - count + 1)
    ends = [padder.interval(padder.dim(end))[0] for end in (low, x.dims[axis] - low - count)]
    if any(end is None or end < 0 for end in ends):
        return None
    padder.note("slice", padder.dim(count), f"of indices from {found.start} in steps of {found.slope}")
    taken = window(padder, x, axis, low, count, padder.bound(count))
    return taken if found.slope == 1 else reversed_(padder, taken, [axis])


# ---- pad -------------------------------------------------------------------------------------------------------------


@pads("stablehlo.pad")
def pad_(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding holds the pad value first; then it is more of the same."""
    amounts = [integers(operation, name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")]
    return [_padded(padder, operands[0], operands[1], *amounts)]


@pads("stablehlo.dynamic_pad")
def dynamic_pad(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """As `pad`, with amounts that are sizes."""
    low, high, interior = (padder.sizes_of(part, "the amount of padding") for part in operands[2:])
    return [_padded(padder, operands[0], operands[1], low, high, interior)]


def _padded(
    padder: Padder, x: Live, value: Live, low: Sequence[Dim], high: Sequence[Dim], interior: Sequence[Dim]
) -> Live:
    fill: object = value.tensor
    changed = [
        axis
        for axis in range(x.ndim)
        if (padder.dim(low[axis]), padder.dim(high[axis]), padder.dim(interior[axis])) != (0, 0, 0)
    ]
    x = padder.fill(x, [axis for axis in changed if type(x.dims[axis]) is not int], fill)
    for axis in changed:
        amounts = [padder.dim(part[axis]) for part in (low, high, interior)]
        padder.demand(_widened(x.dims[axis], *amounts), 0, "the size that negative padding leaves")
        x = pad_axis(padder, x, axis, value, *amounts)
    return x


def _widened(dim: Dim, low: Dim, high: Dim, gap: Dim) -> Dim:
    return low + dim + gap * maximum(dim - 1, 0) + high


def pad_axis(padder: Padder, x: Live, axis: int, value: Live, low: Dim, high: Dim, gap: Dim) -> Live:
    """`x`, whose padding holds `value`, with more of it before, behind and between its live elements."""
    if type(gap) is not int:
        padder.refuse(f"interior padding {gap} is no constant", gap)
    dim = padder.dim(_widened(x.dims[axis], low, high, gap))
    size = padder.bound(dim)
    spread = x.shape[axis] + gap * max(x.shape[axis] - 1, 0)
    fact = value.whole

    def padded(tensor: Tensor, before: int, behind: int, between: int = 0) -> Tensor:
        nothing = (0,) * x.ndim
        return hlo.pad(tensor, value.tensor, *(put(nothing, axis, each) for each in (before, behind, between)))

    if type(low) is int:
        tensor = padded(x.tensor, low, size - low - spread, gap)
    else:
        least, most = padder.interval(low)
        if least is None or most is None:
            padder.refuse(f"the amount of padding {low} has no bounds", low)
        padder.note("shift", low, "runtime low padding")
        # Written into a buffer at its live offset; what is cut off at the low end goes by a window.
        room = max(most, 0) + spread + max(-least, 0)
        room += max(size - spread, 0)
        buffer = hlo.broadcast_in_dim(value.tensor, put(x.shape, axis, room), ())
        zeros = [padder.size(0)] * x.ndim
        shift, cut = (padder.size(maximum(each, 0)) for each in (low, -low))
        tensor = hlo.dynamic_update_slice(buffer, padded(x.tensor, 0, 0, gap), put(zeros, axis, shift))
        if least < 0:
            tensor = hlo.dynamic_slice(tensor, put(zeros, axis, cut), put(x.shape, axis, min(size, room)))
        tensor = padded(tensor, 0, size - int(tensor.dims[axis]))  # type: ignore[arg-type]
    least_high = padder.interval(high)[0]
    tail = fact if least_high is not None and least_high >= 0 else UNKNOWN
    known = put(x.also(fact), axis, tail)
    return padder.make(tensor, put(x.dims, axis, dim), known, facts.join(x.whole, fact))
