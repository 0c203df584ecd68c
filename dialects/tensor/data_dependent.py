"""Ops whose results have sizes that come from data: Nonzero, Unique, Repeat; and what sorts.

Each computes its size as a scalar first and makes it a dimension (`hlo.data_size`); from then on it is a size as any
other. What can be decided before the run still is: constant masks and repetitions, and repetitions that are integer
arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Tensor
from ...codegen.dims import Dim, bounds
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers
from ..releases import axis_of, axis_property
from .windows import in_range


def truth(x: Tensor) -> Tensor:
    """Flags of the elements that are not 0; NaN is not."""
    if x.dtype.kind == "b":
        return x
    if x.literal is not None:
        return x.builder.constant(x.literal != 0)
    return hlo.compare("NE", x, 0)


def mask_places(mask: Tensor) -> list[Tensor]:
    """`numpy.nonzero` of a boolean tensor: for each axis the indices of the true elements."""
    places = hlo.true_places(mask)
    if mask.literal is not None:
        return [mask.builder.constant(index.astype(np.int64)) for index in mask.literal.nonzero()]
    builder = mask.builder
    found = []
    for axis, size in enumerate(mask.dims):
        index = places
        stride = hlo.product(mask.dims[axis + 1 :])
        if stride != 1:
            index = index / builder.size(stride)
        if axis:
            index = hlo.remainder(index, builder.size(size))
        builder.below[index.uid] = size
        builder.spare(index)
        found.append(index)
    return found


@lowers("Nonzero")
def nonzero(ctx: Context, node: Any, x: Tensor) -> list[Tensor]:
    """`numpy.nonzero`: the indices of the elements that are not 0, row by row."""
    return mask_places(truth(x))


@lowers("Repeat")
def repeat(ctx: Context, node: Any, x: Tensor, repeats: Tensor) -> Tensor:
    """`numpy.repeat` with a count for each place of an axis; before PyTensor 3 also without an axis, and one count."""
    axis: int = axis_of(node.op.axis, x.ndim) or 0
    if node.op.axis is None:
        x = hlo.reshape(x, (hlo.product(x.dims),))
    if not repeats.ndim:
        repeats = hlo.reshape(repeats, (1,))
    size = x.dims[axis]
    stretched = isinstance(repeats.dims[0], int) and repeats.dims[0] == 1
    if not stretched:
        size = ctx.equate(size, repeats.dims[0], "the counts of Repeat")
    if repeats.literal is not None:
        if (repeats.literal < 0).any():
            raise UnsupportedGraphError(f"Repeat with a negative count ({ctx.builder.where}); counts are at least 0")
        if isinstance(size, int):
            return hlo.take(x, ctx.constant(np.repeat(np.arange(size), repeats.literal)), axis)
    counts = hlo.convert(repeats, INT64)
    known = repeats.sizes
    if known is None:
        ctx.check(counts >= 0, "ValueError", "repeats may not contain negative values.")
        counts = hlo.maximum_(counts, 0)  # the run must get to where the flag is read
    if stretched:
        counts = hlo.broadcast_in_dim(hlo.reshape(counts, ()), (size,), ())
    total: Dim = size if stretched else 1
    if known is None:
        total = hlo.data_size(hlo.reduce_monoid(counts, [0], "add"), "repeat")
    else:
        for place, count in enumerate(known):
            ctx.at_least(count, 0, f"count {place} of Repeat")
        total = total * sum(known)
    return hlo.take(x, _sources(ctx, counts, total), axis)


def _sources(ctx: Context, counts: Tensor, total: Dim) -> Tensor:
    """The element at each of `total` places, when element i is repeated `counts[i]` times."""
    ends = hlo.cumulative(counts, 0, "add")
    # The element changes where one ends; what ends at the end is out of range, which a scatter drops.
    nothing = hlo.full(ctx.builder, ctx.constant(0, INT64), (total,))
    return hlo.cumulative(hlo.put(nothing, ends, hlo.full_like(ends, 1), 0, "add"), 0, "add")


@lowers("Unique")
def unique(ctx: Context, node: Any, x: Tensor) -> list[Tensor]:
    """`numpy.unique`: the distinct elements, sorted; or the distinct slices along an axis, in lexicographic order.

    NaN is one element among the elements; slices with NaN are all distinct. The index is that of the first one.
    """
    op = node.op
    if x.literal is not None:
        flags = op.return_index, op.return_inverse, op.return_counts
        found = np.unique(x.literal, *flags, axis=op.axis)
        parts = list(found) if isinstance(found, tuple) else [found]
        return [ctx.constant(parts[0]), *[ctx.constant(part.reshape(-1).astype(np.int64)) for part in parts[1:]]]
    axis = axis_of(op.axis, x.ndim)
    if axis is None:
        elements = hlo.reshape(x, (hlo.product(x.dims),))
        order, first, ordered = _sorted_elements(ctx, elements, ordering=op.return_index or op.return_inverse)
        starts = hlo.true_places(first, "unique")
        values = hlo.take(ordered, starts, 0)
    else:
        order, first = _sorted_slices(ctx, x, axis)
        starts = hlo.true_places(first, "unique")
        values = hlo.take(x, hlo.take(order, starts, 0), axis)
    results = [hlo.convert(values, x.dtype)]
    if op.return_index:
        results.append(hlo.take(order, starts, 0))
    if op.return_inverse or op.return_counts:
        # Which of the results each sorted element is.
        number = hlo.running_count(first) - 1
        zeros = hlo.full_like(number, 0)
        if op.return_inverse:
            results.append(hlo.put(zeros, order, number, 0, "set"))
        if op.return_counts:
            counts = hlo.put(zeros, number, hlo.full_like(number, 1), 0, "add")
            results.append(hlo.slice(counts, [0], [starts.dims[0]]))
    return results


def _sorted_elements(ctx: Context, x: Tensor, *, ordering: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Order of the elements of a vector, which of them differ from the one before, and the sorted elements.

    Without `ordering` the elements are sorted alone, which takes a fraction of the time; the first is no order then.
    """
    places = order = hlo.iota(ctx.builder, x.dims, 0, INT64)
    if ordering:
        ordered, order = _sorted_with(x, places, 0)
    else:
        (ordered,) = hlo.sort([comparable(x)], 0, hlo.less_nan_last, key="sort")
    before = _before(ordered, places)
    differs = hlo.compare("NE", ordered, before)
    if x.dtype.kind in "fc":
        differs = differs & (hlo.is_number(ordered) | hlo.is_number(before))
    return order, differs | hlo.compare("EQ", places, 0), ordered


def _before(ordered: Tensor, places: Tensor) -> Tensor:
    return hlo.take(ordered, hlo.maximum_(places - 1, hlo.full_like(places, 0)), 0)


def _sorted_slices(ctx: Context, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Lexicographic order of the slices along an axis, and which of them differ from the one before.

    One stable sort after the other, from the last element of the slices to the first.
    """
    rows, others = x.dims[axis], tuple(dim for other, dim in enumerate(x.dims) if other != axis)
    width = hlo.product(others)
    table = hlo.transpose(x, [axis, *[other for other in range(x.ndim) if other != axis]])
    table = comparable(hlo.reshape(table, (rows, width)))
    places = hlo.iota(ctx.builder, (rows,), 0, INT64)
    zero = ctx.constant(0, INT64)

    def column(left: Tensor, order: Tensor) -> list[Tensor]:
        left = left - 1
        keys = hlo.reshape(hlo.dynamic_slice(table, [zero, left], (rows, 1)), (rows,))
        return [left, _sorted_with(hlo.take(keys, order, 0), order, 0)[1]]

    start = ctx.builder.size(width)
    _, order = hlo.while_loop([start, places], lambda left, order: left > zero, column)
    ordered = hlo.take(table, order, 0)
    differs = hlo.reduce_monoid(hlo.compare("NE", ordered, _before(ordered, places)), [1], "or")
    return order, differs | hlo.compare("EQ", places, 0)


@lowers("SearchsortedOp")
def searchsorted(ctx: Context, node: Any, x: Tensor, v: Tensor, *sorter: Tensor) -> Tensor:
    """`numpy.searchsorted`: where in a sorted vector each value would be put; by bisection, for all values at once."""
    if sorter:
        size = ctx.equate(x.dims[0], sorter[0].dims[0], "the sorter of searchsorted")
        x = hlo.take(x, in_range(ctx, sorter[0], size, 0), 0)
    size = x.dims[0]
    dtype = np.promote_types(x.dtype, v.dtype)
    x, v = comparable(hlo.convert(x, dtype)), comparable(hlo.convert(v, dtype))
    if not (bounds(size)[0] or 0) >= 1:  # something to read, also where the vector is empty
        x = hlo.pad(x, ctx.constant(0, x.dtype), [0], [1])
    limit = ctx.builder.size(size)

    def halve(rest: Tensor, low: Tensor, high: Tensor) -> list[Tensor]:
        middle = (low + high) / hlo.full_like(low, 2)
        there = hlo.take(x, middle, 0)
        right = hlo.less_nan_last(there, v) if node.op.side == "left" else ~hlo.less_nan_last(v, there)
        open_ = low < high
        return [
            rest / ctx.constant(2, INT64),
            hlo.select(open_ & right, middle + 1, low),
            hlo.select(~open_ | right, high, middle),
        ]

    low = hlo.full(ctx.builder, ctx.constant(0, INT64), v.dims)
    high = hlo.full(ctx.builder, limit, v.dims)
    zero = ctx.constant(0, INT64)
    carries = [limit, low, high]
    return hlo.while_loop(carries, lambda rest, low, high: rest > zero, halve)[1]


# ---- sorting, in NumPy's order: NaN last; equal elements keep their order --------------------------------------------


def _axis(node: Any, ndim: int, operands: Sequence[Tensor]) -> int:
    axis = axis_property(node.op)
    if axis is None:
        [operand] = operands
        if not isinstance(operand.dim, int):
            raise UnsupportedGraphError("sorting along an axis that is known only at run time")
        axis = operand.dim
    return axis % ndim


def comparable(x: Tensor) -> Tensor:
    """Booleans have no order in StableHLO; as integers they have NumPy's."""
    return hlo.convert(x, "int8") if x.dtype.kind == "b" else x


@lowers("SortOp")
def sort(ctx: Context, node: Any, x: Tensor, *axis: Tensor) -> Tensor:
    """`numpy.sort`; floats by integers in the same order, which XLA sorts without a call for each comparison."""
    axis_ = _axis(node, x.ndim, axis)
    if x.dtype.kind != "f":
        return hlo.convert(hlo.sort([comparable(x)], axis_, hlo.less_nan_last, key="sort")[0], x.dtype)
    bits = np.dtype(f"i{x.dtype.itemsize}")
    keys = _ordered(hlo.bitcast_convert(hlo.select(hlo.is_nan(x), hlo.full_like(x, np.nan), x), bits))
    return hlo.bitcast_convert(_ordered(hlo.sort([keys], axis_, hlo.less_nan_last, key="sort")[0]), x.dtype)


def _ordered(bits: Tensor) -> Tensor:
    """Of the bits of floats integers in the floats' order, -0 before 0; and back."""
    return hlo.select(bits < 0, hlo.xor(bits, hlo.full_like(bits, np.iinfo(bits.dtype).max)), bits)


@lowers("ArgSortOp")
def argsort(ctx: Context, node: Any, x: Tensor, *axis: Tensor) -> Tensor:
    """`numpy.argsort`, the stable one."""
    along = _axis(node, x.ndim, axis)
    _, order = _sorted_with(x, hlo.iota(ctx.builder, x.dims, along, INT64), along)
    return hlo.convert(order, ctx.out_dtype())


def _sorted_with(x: Tensor, places: Tensor, axis: int) -> list[Tensor]:
    return hlo.sort([comparable(x), places], axis, lambda a, b, *_: hlo.less_nan_last(a, b), key="argsort")
