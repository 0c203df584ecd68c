"""Padding rules: windowed reductions, cumulative ops, convolutions, Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.shape import i64_array
from ...builder.types import INT64, DType
from ...dims import Dim, maximum
from ...ir.bindings import ir
from ...ir.dynamic_calls import fft_kind, of_fft
from ...ir.kinds import identity, monoid_of
from ...ir.values import attributes_of, convolution_numbers, integers
from .live import Dims, Live, attributes_of_op
from .moving import pad_axis, result_dims
from .padder import Padder, pads


def _array_or(operation: ir.Operation, name: str, default: Sequence[int]) -> Sequence[int]:
    return integers(operation, name) or default


def _pairs(operation: ir.Operation, rank: int) -> list[tuple[int, int]]:
    """The `padding` attribute: low and high of each axis."""
    if "padding" not in operation.attributes:
        return [(0, 0)] * rank
    values = np.array(ir.DenseElementsAttr(operation.attributes["padding"])).reshape(-1, 2)
    return [(int(low), int(high)) for low, high in values]


def _positions(size: Dim, window: Dim, low: Dim, high: Dim, stride: Dim, base: Dim, dilation: Dim) -> Dim:
    """How many positions a window has along an axis."""
    spread = maximum((size - 1) * base + 1, 0) if base != 1 else size
    reach = maximum((window - 1) * dilation + 1, 0) if dilation != 1 else window
    room = spread + low + high - reach
    return maximum(room // stride + 1, 0) if stride != 1 else maximum(room + 1, 0)


@pads("stablehlo.reduce_window")
def reduce_window(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding holds the initial value, as what the op itself pads with: a window sees the same."""
    rank = operands[0].ndim
    ones = [1] * rank
    return _windowed(
        padder,
        operation,
        operands,
        window=integers(operation, "window_dimensions"),
        strides=_array_or(operation, "window_strides", ones),
        base=_array_or(operation, "base_dilations", ones),
        dilations=_array_or(operation, "window_dilations", ones),
        amounts=_pairs(operation, rank),
        block=operation.regions[0].blocks[0],
    )


@pads("stablehlo.dynamic_reduce_window")
def dynamic_reduce_window(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """As `reduce_window`, with a window that is a size: cumulative ops."""
    *arrays, window, strides, base, dilations, padding = operands
    sizes = [
        list(padder.sizes_of(part, what))
        for part, what in (
            (window, "the window"),
            (strides, "the stride"),
            (base, "the dilation"),
            (dilations, "the window's dilation"),
        )
    ]
    amounts = list(padder.sizes_of(padding, "the padding"))
    rank = len(arrays[0].dims)
    if {len(part) for part in sizes} != {rank} or len(amounts) != 2 * rank:
        padder.refuse(f"the window, its strides, dilations or padding are not those of {rank} axes")
    if any(type(size) is int and size < 1 for part in sizes[1:] for size in part):
        padder.refuse("a stride or a dilation is less than 1")
    callee = ir.FlatSymbolRefAttr(ir.ArrayAttr(operation.attributes["called_computations"])[0]).value
    return _windowed(
        padder,
        operation,
        arrays,
        window=sizes[0],
        strides=sizes[1],
        base=sizes[2],
        dilations=sizes[3],
        amounts=list(zip(amounts[::2], amounts[1::2], strict=True)),
        block=padder.function(callee).regions[0].blocks[0],
    )


def _windowed(
    padder: Padder,
    operation: ir.Operation,
    operands: list[Live],
    *,
    window: Sequence[Dim],
    strides: Sequence[Dim],
    base: Sequence[Dim],
    dilations: Sequence[Dim],
    amounts: Sequence[tuple[Dim, Dim]],
    block: ir.Block,
) -> list[Live]:
    count = len(operands) // 2
    values, inits = padder.align(operands[:count], "reduced tensors"), operands[count:]
    # XLA passes over what the op pads with, so that the monoid's identity stands for it, whatever the initial value.
    monoid = monoid_of(block) if count == 1 else None
    neutral = [
        init if monoid is None else padder.live(padder.constant(identity(monoid, x.dtype), x.dtype))
        for x, init in zip(values, inits, strict=True)
    ]
    values = [padder.fill(x, values[0].padded, y.tensor) for x, y in zip(values, neutral, strict=True)]
    dims = values[0].dims
    windows: list[int] = []
    pairs: list[tuple[int, int]] = []
    result: list[Dim] = []
    for axis, dim in enumerate(dims):
        parts = (strides[axis], base[axis], dilations[axis])
        if any(type(part) is not int for part in parts):
            padder.refuse("a stride or a dilation is no constant", *parts)
        low, high = amounts[axis]
        size, low, high = padder.dim(window[axis]), padder.dim(low), padder.dim(high)
        result.append(padder.dim(_positions(dim, size, low, high, *parts)))
        if type(size) is int and type(low) is int and type(high) is int:
            windows.append(size)
            pairs.append((low, high))
            continue
        if type(size) is int and parts[1] == 1:  # how much is padded is computed: by an op of its own
            values = [pad_axis(padder, x, axis, y, low, high, 0) for x, y in zip(values, neutral, strict=True)]
            windows.append(size)
            pairs.append((0, 0))
            continue
        # A window over all of the axis, from its beginning or to its end, may be longer: it sees more padding.
        whole = padder.bound(dim)
        longer = padder.interval(padder.dim(size - dim))[0]
        covers = longer is not None and longer >= 0 and padder.dim(low + high - size + 1) == 0 and 0 in (low, high)
        if parts != (1, 1, 1) or not covers:
            padder.refuse(f"the window of size {size} has no static form", size, low, high)
        windows.append(max(whole, 1))
        pairs.append((max(whole - 1, 0), 0) if high == 0 else (0, max(whole - 1, 0)))
    shape = tuple(
        int(_positions(values[0].shape[i], windows[i], *pairs[i], strides[i], base[i], dilations[i]))  # type: ignore[arg-type]
        for i in range(len(dims))
    )
    rows = ", ".join(f"[{low}, {high}]" for low, high in pairs)
    attributes = (
        ("window_dimensions", i64_array(windows)),
        ("window_strides", i64_array(strides)),  # type: ignore[arg-type]
        ("base_dilations", i64_array(base)),  # type: ignore[arg-type]
        ("window_dilations", i64_array(dilations)),  # type: ignore[arg-type]
        ("padding", f"dense<[{rows}]> : tensor<{len(dims)}x2xi64>"),
    )
    scalars = [((), x.dtype) for x in (*values, *values)]
    tensors = padder.builder.region_op(
        "stablehlo.reduce_window",
        [x.tensor for x in (*values, *inits)],
        [(shape, x.dtype) for x in values],
        [(scalars, padder.scalar_region(block))],
        attributes,
    )
    return [padder.fit(padder.live(tensor, result), result) for tensor in tensors]


@pads("stablehlo.select_and_scatter")
def select_and_scatter(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Windows of one element only, along padded axes."""
    x, source, init = operands
    ones = [1] * x.ndim
    window = _array_or(operation, "window_dimensions", ones)
    strides = _array_or(operation, "window_strides", ones)
    amounts = _pairs(operation, x.ndim)
    dims, of_source = list(x.dims), list(source.dims)
    for axis in sorted({*x.padded, *source.padded}):
        if (window[axis], strides[axis], *amounts[axis]) != (1, 1, 0, 0):
            padder.refuse(f"windows of {window[axis]} elements move along a padded axis", x.dims[axis])
        dims[axis] = of_source[axis] = padder.equate(dims[axis], of_source[axis], "windows")
    x, source = padder.fit(x, dims), padder.fit(source, of_source)
    scalars = [((), x.dtype)] * 2
    (tensor,) = padder.builder.region_op(
        operation.name,
        [x.tensor, source.tensor, init.tensor],
        [(x.shape, x.dtype)],
        [(scalars, padder.scalar_region(region.blocks[0])) for region in operation.regions],
        attributes_of_op(operation),
    )
    return [padder.live(tensor, x.dims)]


# ---- convolution -----------------------------------------------------------------------------------------------------


@dataclass
class _Window:
    """A convolution along one spatial axis.

    Attributes:
        axis: of the left-hand side; `kernel` and `target` are the axes of the kernel and of the result.
        low: the op's own padding in front, as `high` is behind; a size where it is computed.
        base: how far elements are spread; `dilation`: how far the kernel's are.
    """

    axis: int
    kernel: int
    target: int
    stride: int
    base: int
    dilation: int
    low: Dim
    high: Dim

    def positions(self, size: Dim, length: Dim) -> Dim:
        """How many positions a kernel of this length has."""
        return _positions(size, length, self.low, self.high, self.stride, self.base, self.dilation)


@pads("stablehlo.convolution", "stablehlo.dynamic_conv")
def convolution(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """0 on padded spatial and feature axes; where the kernel's length or the op's padding is a size, by patches.

    A longer kernel would meet live elements with its padding, and 0 times an inf is a NaN.
    """
    lhs, rhs = operands[0], operands[1]
    dtype = padder.type_of(operation.results[0])[1]
    numbers = convolution_numbers(operation.attributes["dimension_numbers"])
    windows = _windows(padder, operation, operands, numbers)
    batch, feature = numbers.input_batch_dimension, numbers.input_feature_dimension
    inner, outer = numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension
    groups = [
        ir.IntegerAttr(operation.attributes[name]).value if name in operation.attributes else 1
        for name in ("feature_group_count", "batch_group_count")
    ]
    by_patches = any(type(part) is not int for w in windows for part in (rhs.dims[w.kernel], w.low, w.high))
    if groups == [1, 1]:
        lhs, rhs = padder.equal(lhs, rhs, [(feature, inner)], "features of a convolution")
    elif by_patches or any(type(d) is not int for d in (lhs.dims[batch], lhs.dims[feature], *rhs.dims)):
        padder.refuse("grouped features or batches are padded", lhs.dims[batch], lhs.dims[feature], *rhs.dims)
    # A product of padding with padding must be 0; along the spatial axes it stands for the op's own padding.
    lhs_axes = [axis for axis in (*[w.axis for w in windows], feature) if type(lhs.dims[axis]) is not int]
    rhs_axes = [axis for axis in (*[w.kernel for w in windows], inner) if type(rhs.dims[axis]) is not int]
    lhs = padder.zeros(lhs, lhs_axes)
    rhs = padder.zeros(rhs, rhs_axes)
    dims: list[Dim] = [0] * lhs.ndim
    dims[numbers.output_batch_dimension] = lhs.dims[batch] if groups[1] == 1 else lhs.shape[batch] // groups[1]
    dims[numbers.output_feature_dimension] = rhs.dims[outer]
    for w in windows:
        dims[w.target] = padder.dim(w.positions(lhs.dims[w.axis], rhs.dims[w.kernel]))
    if by_patches:
        if "true" in str(attributes_of(operation.attributes).get("window_reversal")):
            padder.refuse(
                "the kernel is reversed, and its length is not static", *[rhs.dims[w.kernel] for w in windows]
            )
        return [padder.live(_by_patches(padder, lhs, rhs, windows, numbers, dims, dtype), dims)]
    shape = list(padder.static_shape(dims))
    for w in windows:
        shape[w.target] = int(w.positions(lhs.shape[w.axis], rhs.shape[w.kernel]))  # type: ignore[arg-type]
    attributes = {k: v for k, v in attributes_of_op(operation) if k != "padding"}
    if windows:
        rows = ", ".join(f"[{w.low}, {w.high}]" for w in windows)
        attributes["padding"] = f"dense<[{rows}]> : tensor<{len(windows)}x2xi64>"
    tensor = padder.builder.op(
        "stablehlo.convolution", [lhs.tensor, rhs.tensor], tuple(shape), dtype, tuple(attributes.items())
    )
    result = padder.live(tensor, dims)
    return [padder.fit(result, result.dims)]


def _windows(padder: Padder, operation: ir.Operation, operands: Sequence[Live], numbers: Any) -> list[_Window]:
    axes = list(numbers.input_spatial_dimensions)
    ones = [1] * len(axes)
    amounts: list[tuple[Dim, Dim]] = list(_pairs(operation, len(axes)))
    if len(operands) > 2:
        flat = padder.sizes_of(operands[2], "the padding")
        amounts = list(zip(flat[::2], flat[1::2], strict=True))
    columns = zip(
        axes,
        numbers.kernel_spatial_dimensions,
        numbers.output_spatial_dimensions,
        _array_or(operation, "window_strides", ones),
        _array_or(operation, "lhs_dilation", ones),
        _array_or(operation, "rhs_dilation", ones),
        *([pair[side] for pair in amounts] for side in (0, 1)),
        strict=True,
    )
    return [_Window(*column) for column in columns]


def _by_patches(
    padder: Padder,
    lhs: Live,
    rhs: Live,
    windows: Sequence[_Window],
    numbers: Any,
    dims: Sequence[Dim],
    dtype: DType,
) -> Tensor:
    """A convolution as a contraction with what each position of the kernel sees: one gather for each spatial axis."""
    builder = padder.builder
    for w in windows:
        lhs = padder.resize(lhs, w.axis, max(lhs.shape[w.axis], 1))
    order = [numbers.input_batch_dimension, numbers.input_feature_dimension, *[w.axis for w in windows]]
    patches = hlo.convert(hlo.transpose(lhs.tensor, order), dtype)
    zero = builder.constant(np.zeros((), dtype))
    for number, w in enumerate(windows):
        padder.note("patches", padder.dim(rhs.dims[w.kernel]), "of a convolution")
        shape = (padder.bound(dims[w.target]), rhs.shape[w.kernel])
        position, tap = (hlo.iota(builder, shape, axis, INT64) for axis in (0, 1))
        low = hlo.broadcast_in_dim(builder.size(padder.dim(w.low)), shape, ())
        place = hlo.subtract(hlo.add(hlo.multiply(position, w.stride), hlo.multiply(tap, w.dilation)), low)
        spread = padder.dim((lhs.dims[w.axis] - 1) * w.base + 1)
        live = hlo.compare("LT", place, hlo.broadcast_in_dim(builder.size(spread), shape, ()))
        live = hlo.and_(live, hlo.compare("GE", place, 0))
        live = hlo.and_(live, hlo.compare("EQ", hlo.remainder(place, w.base), 0))
        if type(rhs.dims[w.kernel]) is not int:
            taps = padder.mask(rhs.dims[w.kernel], rhs.shape[w.kernel])
            live = hlo.and_(live, hlo.broadcast_in_dim(taps, shape, (1,)))
        last = padder.index_constant(lhs.shape[w.axis] - 1)
        chosen = hlo.clamp(padder.index_constant(0), hlo.divide(place, w.base), last)
        axis = 2 + 2 * number
        patches = hlo.take(patches, chosen, axis)
        patches = hlo.select(hlo.broadcast_in_dim(live, patches.dims, (axis, axis + 1)), patches, zero)
    contracted = [1, *range(3, patches.ndim, 2)]
    kernel = [numbers.kernel_input_feature_dimension, *[w.kernel for w in windows]]
    product = hlo.dot_general(patches, hlo.convert(rhs.tensor, dtype), contracting=(contracted, kernel))
    # Its axes are the batch, the positions, the output's features.
    target = [numbers.output_batch_dimension, *[w.target for w in windows], numbers.output_feature_dimension]
    return hlo.transpose(product, [target.index(axis) for axis in range(len(target))])


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
        sizes = [hlo.convert(padder.builder.size(padder.dim(dim)), INT64) for dim in lengths]
        first = x.ndim - rank

        def along(tensor: Tensor, axis: int, inverse: bool) -> Tensor:
            dim = lengths[axis - first]
            if type(dim) is int:
                return hlo.at_end(tensor, axis, lambda y: hlo.fft(y, "IFFT" if inverse else "FFT", (dim,)))
            padder.note("chirp", dim, "transforms the live elements")
            live = padder.live(tensor, [*batch, *(dim if a == axis else tensor.dims[a] for a in range(first, x.ndim))])
            filled = padder.zeros(live, [axis]).tensor
            return hlo.at_end(filled, axis, lambda y: hlo.of_some(y, sizes[axis - first], inverse=inverse))

        x = padder.fit(x, [*batch, *(half if kind == "IRFFT" else lengths)])
        found = hlo.by_axes(x.tensor, kind, bounds, sizes, along)
    return padder.live(found, [*batch, *(half if kind == "RFFT" else lengths)])
