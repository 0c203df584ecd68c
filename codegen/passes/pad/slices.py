"""Padding rules: slices, reversed axes, pads: elements taken from, or put among, the live ones along an axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.shape import slice_axes
from ...dims import Dim, maximum
from ...ir.bindings import ir
from ...ir.values import integers
from . import facts
from .facts import UNKNOWN
from .live import Dims, Live
from .padder import Padder, pads


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
    source, lengths = padder.sums.get(operands[2].tensor.uid, (None, ()))
    if (
        source is not None
        and source == operands[1].tensor.uid
        and padder.sizes_of(operands[3], "the stride") == (1,) * x.ndim
    ):
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
        x = window(padder, x, axis, start, padder.dim(limit - start) if stride == 1 else limit - start, span)
        if stride != 1:
            tensor = hlo.slice(
                x.tensor,
                [0] * x.ndim,
                list(x.shape),
                [stride if i == axis else 1 for i in range(x.ndim)],
            )
            x = padder.make(tensor, [length if i == axis else d for i, d in enumerate(x.dims)], x.pads, x.whole)
        else:
            x = padder.make(x.tensor, [length if i == axis else d for i, d in enumerate(x.dims)], x.pads, x.whole)
    return x


def _cut(padder: Padder, x: Live, starts: Tensor, lengths: Dims) -> Live:
    """A window of the given live sizes, whose start is computed from data."""
    places: list[Tensor] = []
    lengths = tuple(map(padder.dim, lengths))
    for axis, length in enumerate(lengths):
        room = padder.dim(x.dims[axis] - length)
        start = hlo.convert(hlo.reshape(hlo.slice(starts, [axis], [axis + 1]), ()), np.int64)
        places.append(hlo.clamp(padder.index_constant(0), start, padder.builder.size(room)))
        padder.note("clamp", padder.dim(x.dims[axis]), "start of a slice")
        x = padder.roomy(x, axis, room, padder.bound(length))
    tensor = hlo.dynamic_slice(x.tensor, places, padder.static_shape(lengths))
    known = [x.pads[axis] if length == x.dims[axis] else None for axis, length in enumerate(lengths)]
    return padder.make(tensor, lengths, known, x.whole)


def _strided(padder: Padder, x: Live, axis: int, start: Dim, limit: Dim, stride: Dim) -> Live:
    """A slice whose stride is a size of the program: by index."""
    length = padder.dim((limit - start + stride - 1) // stride)
    size = padder.bound(length)
    builder = padder.builder
    places = hlo.multiply(
        hlo.iota(builder, (size,), 0, np.dtype(np.int64)), hlo.broadcast_in_dim(builder.size(stride), (size,), ())
    )
    places = hlo.add(places, hlo.broadcast_in_dim(builder.size(start), (size,), ()))
    places = hlo.clamp(padder.index_constant(0), places, padder.index_constant(max(x.shape[axis] - 1, 0)))
    tensor = hlo.take(x.tensor, places, axis)
    dims = [length if i == axis else dim for i, dim in enumerate(x.dims)]
    return padder.make(tensor, dims, [None if i == axis else fact for i, fact in enumerate(x.pads)], x.whole)


@pads("stablehlo.reverse")
def reverse(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Reversed along a padded axis the live elements stand at the end: they are shifted back."""
    x = operands[0]
    axes = integers(operation, "dimensions")
    tensor = hlo.reverse(x.tensor, axes)
    result = Live(tensor, x.dims, x.pads, x.whole)
    for axis in axes:
        if type(x.dims[axis]) is not int:
            padder.note("shift", x.dims[axis], "reversed elements, to the front")
            size = x.shape[axis]
            result = window(padder, result, axis, size - x.dims[axis], x.dims[axis], size)
    return [result]


def window(padder: Padder, x: Live, axis: int, start: Dim, length: Dim, size: int) -> Live:
    """Elements `start, start + 1, ...` of the static tensor along an axis: `length` live ones in `size` places.

    The elements behind the tensor's end read as 0.
    """
    start, length = padder.dim(start), padder.dim(length)
    grown = padder.roomy(x, axis, start, size)
    if type(start) is int:
        tensor = slice_axes(grown.tensor, {axis: (start, size, 1)})
    else:
        zero = padder.index_constant(0)
        begin = hlo.clamp(zero, padder.builder.size(start), padder.index_constant(padder.interval(start)[1] or 0))
        starts = [begin if i == axis else zero for i in range(x.ndim)]
        shape = tuple(size if i == axis else n for i, n in enumerate(x.shape))
        tensor = hlo.dynamic_slice(grown.tensor, starts, shape)
    dims = [length if i == axis else dim for i, dim in enumerate(x.dims)]
    # What follows the live part is padding only if the window reaches to the end of the live elements.
    if padder.dim(start + length) == x.dims[axis]:
        tail = facts.join(x.pad(axis), facts.constant(0, x.dtype)) if grown is not x else x.pad(axis)
    elif padder.dim(start + length) == x.shape[axis]:
        tail = facts.constant(0, x.dtype)
    else:
        tail = grown.whole
    known = [tail if i == axis else fact for i, fact in enumerate(grown.pads)]
    return padder.make(tensor, dims, known, grown.whole)


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
    dims = [dim if i == axis else d for i, d in enumerate(x.dims)]
    size = padder.bound(dim)
    spread = x.shape[axis] + gap * max(x.shape[axis] - 1, 0)
    fact = value.whole

    def amounts(amount: int) -> list[int]:
        return [amount if i == axis else 0 for i in range(x.ndim)]

    if type(low) is int:
        tensor = hlo.pad(x.tensor, value.tensor, amounts(low), amounts(size - low - spread), amounts(gap))
    else:
        least, most = padder.interval(low)
        if least is None or most is None:
            padder.refuse(f"the amount of padding {low} has no bounds", low)
        padder.note("shift", low, "runtime low padding")
        # Written into a buffer at its live offset; what is cut off at the low end goes by a window.
        room = max(most, 0) + spread + max(-least, 0)
        shape = tuple(room + max(size - spread, 0) if i == axis else n for i, n in enumerate(x.shape))
        buffer = hlo.broadcast_in_dim(value.tensor, shape, ())
        widened = hlo.pad(x.tensor, value.tensor, amounts(0), amounts(0), amounts(gap))
        zero = padder.index_constant(0)
        shift = padder.builder.size(padder.dim(maximum(low, 0)))
        tensor = hlo.dynamic_update_slice(buffer, widened, [shift if i == axis else zero for i in range(x.ndim)])
        if least < 0:
            cut = padder.builder.size(padder.dim(maximum(-low, 0)))
            wanted = tuple(min(size, shape[axis]) if i == axis else n for i, n in enumerate(x.shape))
            tensor = hlo.dynamic_slice(tensor, [cut if i == axis else zero for i in range(x.ndim)], wanted)
        tensor = hlo.pad(tensor, value.tensor, amounts(0), amounts(size - tensor.dims[axis]))  # type: ignore[arg-type]
    least_high = padder.interval(high)[0]
    tail = fact if least_high is not None and least_high >= 0 else UNKNOWN
    known = [tail if i == axis else None if f is None else facts.join(f, fact) for i, f in enumerate(x.pads)]
    return padder.make(tensor, dims, known, facts.join(x.whole, fact))
