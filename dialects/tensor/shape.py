"""Shapes: DimShuffle, Reshape, Shape, Alloc, Join, Split, ARange, Eye, diagonals, ..."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce as fold
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen import dims as dimension
from ...codegen.builder import INT64, Dims, Tensor
from ...codegen.dims import Dim, maximum, minimum
from ...codegen.emit import Context
from ...codegen.errors import DataDependentSizeError, DemandKind, UnsupportedGraphError
from ..registry import lowers
from ..releases import axis_property


def broadcast_to(ctx: Context, x: Tensor, dims: Sequence[Dim], what: str) -> Tensor:
    """NumPy's `broadcast_to`: an axis whose size is statically 1 stretches, others must agree."""
    offset = len(dims) - x.ndim
    target = list(dims)
    for axis, size in enumerate(x.dims):
        if not (type(size) is int and size == 1):
            target[offset + axis] = ctx.equate(dims[offset + axis], size, f"{what}, axis {offset + axis}")
    return hlo.broadcast(x, tuple(target))


def common_dims(ctx: Context, shapes: Sequence[Dims], what: str, kind: DemandKind = "") -> Dims:
    """The shape that shapes have together: an axis whose size is statically 1 stretches, others must agree."""
    rank = max(map(len, shapes))
    dims: list[Dim] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, start=rank - len(shape)):
            known = dims[axis]
            if not (isinstance(size, int) and size == 1):
                one = isinstance(known, int) and known == 1
                dims[axis] = size if one else ctx.equate(known, size, f"{what}, axis {axis}", kind)
    return tuple(dims)


def typed_dims(ctx: Context, operands: Sequence[tuple[Sequence[bool], Dims]], what: str) -> Dims:
    """The shape that operands have together: an axis stretches where the type says its size is 1, others must agree.

    Args:
        ctx: the context.
        operands: of each, for each axis whether its type says so, and its size.
        what: an axis, for messages; `{}` is its number.
    """
    rank = max(len(dims) for _, dims in operands)
    found: list[Dim] = []
    for axis in range(rank):
        known: Dim | None = None
        for flags, dims in operands:
            own = axis - rank + len(dims)
            if own >= 0 and flags[own]:
                ctx.equate(dims[own], 1, what.format(axis))
            elif own >= 0:
                known = dims[own] if known is None else ctx.equate(known, dims[own], what.format(axis))
        found.append(1 if known is None else known)
    return tuple(found)


def elements_of(vector: Tensor, count: int) -> list[Tensor]:
    """The first elements of a vector, as scalars."""
    return [hlo.reshape(hlo.slice(vector, [place], [place + 1]), ()) for place in range(count)]


def as_size(count: Tensor, name: str, bound: Dim | None = None) -> Dim:
    """An int64 scalar that is not negative as a dimension: what is known of it, or one from data of that name."""
    return hlo.data_size(count, name, bound) if count.dim is None else count.dim


def sizes_of(ctx: Context, operands: Sequence[Tensor], what: str) -> tuple[Dim, ...]:
    """Scalars as dimensions that are not negative; those computed from data become sizes from data."""
    dims = []
    for axis, x in enumerate(operands):
        if x.sizes is None and x.dtype.kind in "iu":
            size = hlo.convert(x, INT64)
            if size.uid not in ctx.builder.at_most:
                fits = size >= 0
                ctx.check(fits, "ValueError", "negative dimensions are not allowed")
                size = hlo.maximum_(size, 0)  # the run must get to where the flag is read
            dims.append(hlo.data_size(size, what.split()[-1].lower()))
            continue
        dim = ctx.dim(x, f"size {axis} of {what}")
        ctx.at_least(dim, 0, f"size {axis} of {what}")
        dims.append(dim)
    return tuple(dims)


@lowers("DimShuffle")
def dim_shuffle(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """Drops axes of size 1, permutes, inserts axes of size 1."""
    order = node.op.new_order
    kept = [axis for axis in order if axis != "x"]
    dropped = [axis for axis in range(x.ndim) if axis not in kept]
    for axis in dropped:
        ctx.equate(x.dims[axis], 1, f"dropped axis {axis}")
    if kept == sorted(kept):
        rest = iter(kept)
        if x.dim is not None and len(order) == 1:
            return hlo.stack_scalars([x])
        return hlo.reshape(x, tuple(1 if axis == "x" else x.dims[next(rest)] for axis in order))
    x = hlo.transpose(hlo.squeeze(x, dropped), [sorted(kept).index(axis) for axis in kept])
    return hlo.expand_dims(x, [place for place, axis in enumerate(order) if axis == "x"])


@lowers("Shape")
def shape(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """All sizes, as an int64 vector."""
    return ctx.builder.size_vector(x.dims)


@lowers("Shape_i")
def shape_i(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """One size, as an int64 scalar."""
    return ctx.builder.size(x.dims[node.op.i])


@lowers("SpecifyShape")
def specify_shape(ctx: Context, node: Any, x: Tensor, *sizes: Any) -> Tensor:
    """Demands sizes; `None` leaves an axis open."""
    dims = list(x.dims)
    for axis, size in enumerate(sizes):
        if not isinstance(size, Tensor):
            continue
        if size.sizes is None and size.dtype.kind in "iu":
            agrees = hlo.compare("EQ", hlo.convert(size, INT64), ctx.builder.size(dims[axis]))
            ctx.check(agrees, "AssertionError", f"SpecifyShape: axis {axis} of size {dims[axis]} is not as asserted")
            continue
        wanted = ctx.dim(size, f"size {axis} of SpecifyShape")
        dims[axis] = ctx.equate(wanted, dims[axis], f"SpecifyShape: axis {axis}", "shape")
    return hlo.reshape(x, tuple(dims))


@lowers("Reshape")
def reshape(ctx: Context, node: Any, x: Tensor, target: Tensor) -> Tensor:
    """Same elements in a new shape; one size may be -1."""
    wanted = _target(ctx, node.inputs[1], target, node.outputs[0].type.ndim, "the target of Reshape", x.dims)
    static = node.outputs[0].type.shape
    wanted = [w if s is None else s for s, w in zip(static, wanted, strict=True)]
    return hlo.reshape(x, _completed(ctx, x.dims, wanted, "Reshape"))


def _target(ctx: Context, variable: Any, target: Tensor, length: int, what: str, old: Sequence[Dim]) -> list[Dim]:
    """The sizes in a shape vector for elements that had the `old` sizes."""
    if target.dims == (0,):
        return []
    while variable.owner is not None and type(variable.owner.op).__name__ == "SpecifyShape":
        variable = variable.owner.inputs[0]
    if variable.owner is None and target.dims != (length,):
        raise DataDependentSizeError(
            f"{what} is the vector {variable}, whose length is not known when the program is emitted "
            f"({ctx.builder.where}); give it, dims={{{str(variable)!r}: ({length},)}}, or use integer scalar inputs"
        )
    return vector_of_sizes(ctx, target, length, what, old)


def vector_of_sizes(
    ctx: Context, vector: Tensor, length: int, what: str, old: Sequence[Dim] | None = None
) -> list[Dim]:
    """The elements of an integer vector as dimensions; those computed from data become sizes from data.

    Where the `old` sizes are given, one may be -1, for what is left of the elements.
    """
    if vector.sizes is not None or vector.literal is not None:
        return list(ctx.builder.dims_of(vector, what))
    elements = elements_of(vector, length)
    known = [x.dim is not None for x in elements]
    if ctx.builder.open_sizes and not all(known):
        known = [stays and _is_decided(ctx.dim(x, what)) for x, stays in zip(elements, known, strict=True)]
    if old is not None and not any(isinstance(x.dim, int) and x.dim == -1 for x in elements):
        computed = [place for place, stays in enumerate(known) if not stays]
        for place, size in zip(computed, _completed_data(ctx, elements, computed, old, what), strict=True):
            elements[place] = size
    return [
        ctx.dim(x, what) if stays and old is not None else sizes_of(ctx, [x], what)[0]
        for x, stays in zip(elements, known, strict=True)
    ]


def _completed_data(
    ctx: Context, sizes: Sequence[Tensor], computed: Sequence[int], old: Sequence[Dim], what: str
) -> list[Tensor]:
    """Those of the sizes that are computed from data, with the one that is -1 inferred."""
    one = ctx.constant(1, INT64)
    given = [hlo.convert(x, INT64) for x in sizes]
    open_ = {place: hlo.compare("EQ", given[place], -1) for place in computed}
    if not open_:
        return []
    count = fold(hlo.add, [hlo.convert(flag, INT64) for flag in open_.values()])
    factors = [hlo.select(open_[place], one, x) if place in open_ else x for place, x in enumerate(given)]
    known, total = fold(hlo.multiply, factors), ctx.builder.size(hlo.product(old))
    left = total / hlo.maximum_(known, 1)
    fits = (known > 0) & hlo.compare("EQ", left * known, total)
    fits = (count <= 1) & (hlo.compare("EQ", count, 0) | fits)
    ctx.check(fits, "ValueError", f"{what}: the size that is -1 is not determined")
    return [hlo.select(flag, left, given[place]) for place, flag in open_.items()]


def _completed(ctx: Context, old: Sequence[Dim], wanted: Sequence[Dim], what: str) -> tuple[Dim, ...]:
    """The sizes, none of them negative, with the one that is -1 inferred from the sizes before."""
    dims = list(wanted)
    if ctx.builder.open_sizes and not all(map(_is_decided, map(ctx.builder.constraints.canonical, dims))):
        return _completed_late(ctx, old, dims, what)
    open_axes = [axis for axis, dim in enumerate(dims) if isinstance(dim, int) and dim == -1]
    if len(open_axes) > 1:
        raise UnsupportedGraphError(f"{what} to {tuple(dims)} at {ctx.builder.where}: only one size may be -1")
    for axis, dim in enumerate(dims):
        if axis not in open_axes:
            ctx.at_least(dim, 0, f"size {axis} of {what}", "open")
    if open_axes:
        dims[open_axes[0]] = _inferred(ctx, old, [dim for axis, dim in enumerate(dims) if axis != open_axes[0]], what)
    return tuple(dims)


def _is_decided(dim: Dim) -> bool:
    low, _ = dimension.bounds(dim)
    return isinstance(dim, int) or (low is not None and low >= 0)


def _completed_late(ctx: Context, old: Sequence[Dim], wanted: Sequence[Dim], what: str) -> tuple[Dim, ...]:
    """The same, where the call decides which one is -1."""
    for axis, dim in enumerate(wanted):
        ctx.at_least(dim, -1, f"size {axis} of {what}")
    is_open = [1 - minimum(dim + 1, 1) for dim in wanted]
    known = hlo.product([maximum(dim, -dim) for dim in wanted])
    count = fold(operator.add, is_open)
    ctx.at_least(1, count, f"the number of sizes of {what} that are -1")
    ctx.at_least(known, minimum(count, 1), f"the sizes of {what} beside one that is -1")
    left = hlo.product(old) // maximum(known, 1)
    return tuple(maximum(dim, flag * left) for dim, flag in zip(wanted, is_open, strict=True))


def _inferred(ctx: Context, old: Sequence[Dim], known: Sequence[Dim], what: str) -> Dim:
    """The size that -1 stands for: what is left of the elements. Factors on both sides cancel."""
    canonical = ctx.builder.constraints.canonical
    left = [canonical(dim) for dim in old]
    divisors = []
    for dim in map(canonical, known):
        if dim in left:
            left.remove(dim)
        else:
            divisors.append(dim)
    total, divisor = hlo.product(left), hlo.product(divisors)
    if isinstance(divisor, int) and divisor == 0:
        raise UnsupportedGraphError(
            f"{what} with sizes 0 and -1 at {ctx.builder.where}: the size given as -1 is not determined; give it"
        )
    ctx.equate(total % divisor, 0, f"the size given as -1 of {what}")
    return total // divisor


@lowers("JoinDims")
def join_dims(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """Merges neighbouring axes into one."""
    first, count = node.op.start_axis, node.op.n_axes
    dims = (*x.dims[:first], hlo.product(x.dims[first : first + count]), *x.dims[first + count :])
    return hlo.reshape(x, dims)


@lowers("SplitDims")
def split_dims(ctx: Context, node: Any, x: Tensor, target: Tensor) -> Tensor:
    """Splits one axis into several; one of their sizes may be -1."""
    axis = node.op.axis
    length = node.outputs[0].type.ndim - x.ndim + 1
    wanted = _target(ctx, node.inputs[1], target, length, "the target of SplitDims", [x.dims[axis]])
    sizes = _completed(ctx, [x.dims[axis]], wanted, "SplitDims")
    return hlo.reshape(x, (*x.dims[:axis], *sizes, *x.dims[axis + 1 :]))


@lowers("Alloc")
def alloc(ctx: Context, node: Any, value: Tensor, *sizes: Tensor) -> Tensor:
    """A value stretched to a shape. A small integer constant stays one: it may hold sizes, such as widths of `pad`."""
    dims = sizes_of(ctx, sizes, "Alloc")
    result = broadcast_to(ctx, value, dims, "Alloc")
    count = hlo.product(dims)
    if value.literal is not None and value.dtype.kind in "iu" and isinstance(count, int) and count <= 16:
        return ctx.constant(np.broadcast_to(value.literal, result.dims))  # type: ignore[arg-type]
    return result


@lowers("AllocEmpty")
def alloc_empty(ctx: Context, node: Any, *sizes: Tensor) -> Tensor:
    """A tensor whose contents nobody may rely on: zeros."""
    return hlo.full(ctx.builder, ctx.constant(0, ctx.out_dtype()), sizes_of(ctx, sizes, "AllocEmpty"))


@lowers("MakeVector")
def make_vector(ctx: Context, node: Any, *scalars: Tensor) -> Tensor:
    """Scalars as a vector."""
    dtype = ctx.out_dtype()
    if not scalars:
        return ctx.constant(np.zeros(0, dtype))
    return hlo.stack_scalars([hlo.convert(x, dtype) for x in scalars])


@lowers("Join")
def join(ctx: Context, node: Any, *operands: Tensor) -> Tensor:
    """Tensors one after the other along an axis."""
    axis = axis_property(node.op)
    parts = list(operands)
    if axis is None:
        axis, parts = static_int(ctx, parts[0], "the axis of Join"), parts[1:]
    axis %= parts[0].ndim
    dtype = ctx.out_dtype()
    computed = all(x.literal is None for x in parts)
    if parts[0].ndim == 1 and all(x.sizes is not None for x in parts) and (computed or dtype == INT64):
        sizes = tuple(dim for x in parts for dim in x.sizes or ())
        if all(ctx.builder.exact(x.sizes, x.dtype) for x in parts):
            return ctx.builder.size_vector(sizes, dtype)
        return ctx.builder.knowing(hlo.concatenate([hlo.convert(x, dtype) for x in parts], axis), sizes)
    return hlo.concatenate([hlo.convert(x, dtype) for x in parts], axis)


def static_int(ctx: Context, x: Tensor, what: str) -> int:
    """An integer scalar that must be known when the graph is lowered."""
    if isinstance(x.dim, int):
        return x.dim
    raise UnsupportedGraphError(f"{what} is computed at {ctx.builder.where}; it must be a constant integer")


@lowers("Split")
def split(ctx: Context, node: Any, x: Tensor, *operands: Tensor) -> tuple[Tensor, ...]:
    """Cuts an axis into pieces of given sizes."""
    axis = axis_property(node.op)
    if axis is None:
        axis = static_int(ctx, operands[0], "the axis of Split")
    axis %= x.ndim
    count = node.op.len_splits
    given = operands[-1]
    (length,) = given.dims
    if ctx.equate(count, length, "Split, the number of sizes") != count:
        raise UnsupportedGraphError(f"Split into {count} with {length} sizes")
    if given.sizes is None and given.literal is None:
        sizes = _computed_pieces(ctx, given, x.dims[axis], count)
    else:
        sizes = list(ctx.builder.dims_of(given, "the sizes of Split"))
    parts = []
    start: Dim = 0
    for index, size in enumerate(sizes):
        ctx.at_least(size, 0, f"size {index} of Split")
        parts.append(hlo.slice_axis(x, axis, start, size))
        start = start + size
    ctx.equate(start, x.dims[axis], "the sizes of Split add up to the axis")
    return tuple(parts)


def _computed_pieces(ctx: Context, given: Tensor, total: Dim, count: int) -> list[Dim]:
    """The sizes of pieces that are computed from data: the last one is what is left."""
    given = hlo.convert(given, INT64)
    whole = hlo.reduce_monoid(given, [0], "add")
    ctx.check(
        hlo.compare("EQ", whole, ctx.builder.size(total)),
        "ValueError",
        "Split sizes do not sum up to input length along axis",
    )
    ctx.check(given >= 0, "ValueError", "Split sizes cannot be negative")
    dims: list[Dim] = []
    left = total
    for element in elements_of(given, count - 1):
        # the run must get to where the flag is read
        size = hlo.minimum_(hlo.maximum_(element, 0), hlo.maximum_(ctx.builder.size(left), 0))
        dims.append(hlo.data_size(size, "split", total))
        left = left - dims[-1]
    return [*dims, left]


def range_length(start: Tensor, stop: Tensor, step: Tensor, forward: bool | None = None) -> Tensor:
    """`len(range(start, stop, step))` of int64 scalars, as one; known as a size where they are.

    Args:
        start, stop, step: the range.
        forward: whether the step is taken to be positive, or negative; by default as it is.
    """
    known: Any = [x.dim for x in (start, stop, step)]
    if None not in known and isinstance(known[2], int):  # no op is needed
        first, last, width = known if known[2] > 0 else (known[1], known[0], -known[2])
        steps = maximum(last - first, 0)
        return step.builder.size(steps if width == 1 else (steps + width - 1) // width)
    if forward is None and not isinstance(step.dim, int):
        return hlo.select(step > 0, *(range_length(start, stop, step, way) for way in (True, False)))
    if step.dim > 0 if forward is None else forward:  # type: ignore[operator]
        span = stop if start.dim == 0 else stop - start
    else:
        span = start - stop
    length = span if span.uid in step.builder.at_most else hlo.maximum_(span, 0)
    width = hlo.maximum_(hlo.abs(step), 1)
    return length if width.dim == 1 else (length + (width - 1)) / width


def nonzero_step(
    ctx: Context, step: Tensor, what: str, error: str = "ZeroDivisionError", message: str = "division by zero"
) -> None:
    """Demands that a range moves on."""
    known = step.dim
    if step.literal is not None and not step.literal.any():
        raise UnsupportedGraphError(f"{what} has step 0 ({ctx.builder.where}); use another step")
    if known is not None:
        ctx.at_least(maximum(known, -known), 1, f"the absolute step of {what}")
    elif step.literal is None:
        ctx.check(hlo.compare("NE", step, 0), error, message)


@lowers("ARange")
def arange(ctx: Context, node: Any, start: Tensor, stop: Tensor, step: Tensor) -> Tensor:
    """`numpy.arange`; the length is a size from data unless the ends are integer constants, inputs or sizes."""
    dtype = np.dtype(node.op.dtype)
    if start.literal is not None and stop.literal is not None and step.literal is not None:
        values = np.arange(start.literal.item(), stop.literal.item(), step.literal.item(), dtype=dtype)
        if values.size <= 64 or dtype.kind not in "iu":
            return ctx.constant(values)
    if any(x.dtype.kind not in "iu" for x in (start, stop, step)):
        return _float_range(ctx, start, stop, step, dtype)
    start, stop, step = (hlo.convert(x, INT64) for x in (start, stop, step))
    nonzero_step(ctx, step, "ARange")
    length = ctx.builder.constraints.canonical(as_size(range_length(start, stop, step), "arange"))
    places = hlo.iota(ctx.builder, (length,), 0, INT64)
    if step.dim != 1:
        places = places * step
    return hlo.convert(_moved(places, start), dtype)


def _float_range(ctx: Context, start: Tensor, stop: Tensor, step: Tensor, dtype: Any) -> Tensor:
    """`arange` with floats among its arguments. As in NumPy, the elements are spaced as the first two are."""
    nonzero_step(ctx, step, "ARange")
    double = np.dtype(np.float64)
    first, last, stride = (hlo.convert(x, double) for x in (start, stop, step))
    length = hlo.ceil((last - first) / stride)
    finite = hlo.is_finite(length)
    ctx.check(finite, "ValueError", "arange: cannot compute length")
    length = hlo.maximum_(hlo.select(finite, length, hlo.full_like(length, 0)), 0.0)
    dim = hlo.data_size(hlo.convert(length, INT64), "arange")
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    begin = hlo.convert(hlo.convert(first, dtype), wide)
    delta = hlo.convert(hlo.convert(first + stride, dtype), wide) - begin
    places = hlo.convert(hlo.iota(ctx.builder, (dim,), 0, INT64), wide)
    return hlo.convert(places * delta + begin, dtype)


@lowers("Eye", "Tri")
def eye(ctx: Context, node: Any, n: Tensor, m: Tensor, k: Tensor) -> Tensor:
    """Ones on the k-th diagonal; for `Tri` (an op in Aesara, a graph in PyTensor) also below it."""
    below = any(base.__name__ == "Tri" for base in type(node.op).__mro__)
    dims = sizes_of(ctx, [n, m], "Tri" if below else "Eye")
    rows, columns = (hlo.iota(ctx.builder, dims, axis, INT64) for axis in (0, 1))
    return hlo.convert(hlo.compare("GE" if below else "EQ", _moved(rows, k), columns), ctx.out_dtype())


def _moved(places: Tensor, by: Tensor | int) -> Tensor:
    if (by.dim if isinstance(by, Tensor) else by) == 0:
        return places
    return places + (hlo.convert(by, INT64) if isinstance(by, Tensor) else by)


@lowers("ExtractDiag")
def extract_diag(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """`numpy.diagonal`: the diagonal becomes the last axis."""
    op = node.op
    given = [axis % x.ndim for axis in (op.axis1, op.axis2)]
    first, second = sorted(given)
    offset = op.offset if given == [first, second] else -op.offset
    rows, columns = x.dims[first], x.dims[second]
    length = maximum(minimum(rows - max(-offset, 0), columns - max(offset, 0)), 0)
    places = hlo.iota(ctx.builder, (length,), 0, INT64)
    indices = [_moved(places, max(-offset, 0)), _moved(places, max(offset, 0))]
    return hlo.take_elements(x, indices, [first, second], x.ndim - 2)


@lowers("AllocDiag")
def alloc_diag(ctx: Context, node: Any, x: Tensor) -> Any:
    """The last axis on the k-th diagonal of zero matrices, whose axes are where the op says.

    Where an op has an inner graph, that says it of more than a vector; newer releases write the graph themselves.
    """
    op = node.op
    fgraph = getattr(op, "fgraph", None)
    if fgraph is not None and (x.ndim != 1 or (op.axis1, op.axis2) != (0, 1)):
        return ctx.lower_inner(fgraph.inputs, fgraph.outputs, [x])
    rank, offset = x.ndim + 1, op.offset
    axes = sorted(axis % rank for axis in (getattr(op, "axis1", 0), getattr(op, "axis2", 1)))
    size: Dim = x.dims[-1] + abs(offset)
    before = [0] * (rank - 2)
    padded = hlo.pad(x, ctx.constant(0, x.dtype), [*before, max(-offset, 0)], [*before, max(offset, 0)])
    others = [axis for axis in range(rank) if axis not in axes]
    sizes = {axes[0]: size, axes[1]: size, **dict(zip(others, x.dims[:-1], strict=True))}
    dims = tuple(sizes[axis] for axis in range(rank))
    rows, columns = (hlo.iota(ctx.builder, dims, axis, INT64) for axis in axes)
    on_diagonal = hlo.compare("EQ", rows + offset if offset else rows, columns)
    spread = hlo.broadcast_in_dim(padded, dims, (*others, axes[0]))
    return hlo.select(on_diagonal, spread, ctx.constant(0, x.dtype))


@lowers("FillDiagonal", "FillDiagonalOffset")
def fill_diagonal(ctx: Context, node: Any, x: Tensor, value: Tensor, *offset: Tensor) -> Tensor:
    """`numpy.fill_diagonal`; with more than two axes all of them must have one size.

    With an offset, the diagonal that starts this many columns to the right, or rows down where that is negative:
    PyTensor's Python writes one element for some offsets past the matrix; here nothing is written for them.
    """
    for axis in range(1, x.ndim if x.ndim > 2 else 0):
        ctx.equate(x.dims[0], x.dims[axis], f"FillDiagonal, axis {axis}")
    first, *others = (hlo.iota(ctx.builder, x.dims, axis, INT64) for axis in range(x.ndim))
    first = first + hlo.convert(offset[0], INT64) if offset else first
    places = hlo.all_true([hlo.compare("EQ", first, other) for other in others])
    return hlo.select(places, hlo.broadcast_in_dim(hlo.convert(value, x.dtype), x.dims, ()), x)
