"""Padding rules: windowed reductions, cumulative ops, convolutions, Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.places import INT64, DType
from ...builder.shape import i64_array
from ...dims import Dim, maximum
from ...ir.bindings import ir
from ...ir.dynamic_calls import fft_kind, of_fft
from ...ir.kinds import identity, monoid_of
from ...ir.values import attributes_of, convolution_numbers, integers
from .live import Dims, Live, attributes_of_op
from .moving import pad_axis, result_dims
from .padder import Padder, pads


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
    """What an op's attributes say of each axis.

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
    """Windows of one element only, along padded axes."""
    x, source, init = operands
    window = integers(operation, "window_dimensions") or [1] * x.ndim
    moves = _moves(operation, x.ndim, ("window_strides", "", ""))
    dims, of_source = list(x.dims), list(source.dims)
    for axis in sorted({*x.padded, *source.padded}):
        if window[axis] != 1 or moves[axis] != (1, 1, 1, 0, 0):
            padder.refuse(f"windows of {window[axis]} elements move along a padded axis", x.dims[axis])
        dims[axis] = of_source[axis] = padder.equate(dims[axis], of_source[axis], "windows")
    x, source = padder.fit(x, dims), padder.fit(source, of_source)
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
    if groups == [1, 1]:
        lhs, rhs = padder.equal(lhs, rhs, [(feature, inner)], "features of a convolution")
    elif by_patches or any(type(d) is not int for d in (lhs.dims[batch], lhs.dims[feature], *rhs.dims)):
        padder.refuse("grouped features or batches are padded", lhs.dims[batch], lhs.dims[feature], *rhs.dims)
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
