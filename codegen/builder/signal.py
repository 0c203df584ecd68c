"""Fourier transforms of the last axes, and convolutions, with sizes that may be symbolic.

In: handles. Out: handles. `stablehlo.fft` has the lengths in an attribute. Where they are symbolic, the custom call
`hlograph.fft` stands for it until specialization knows them. The padding pass transforms the live elements of a padded
axis, and `factor_loops` writes transforms as products, by transforms of one axis each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from ..dims import Dim
from ..ir.functions import FFT
from . import matrices
from .core import Tensor
from .elementwise import (
    clamp,
    compare,
    complex,
    convert,
    cosine,
    full_like,
    maximum_,
    minimum_,
    real,
    real_dtype,
    remainder,
    select,
    sine,
)
from .indexing import take
from .places import INT64, Dims
from .reduce import dot_general
from .shape import (
    all_static,
    broadcast_in_dim,
    custom_call,
    expand_dims,
    i64_array,
    iota,
    pad,
    reshape,
    slice_axis,
    transpose,
)

Kind = Literal["FFT", "IFFT", "RFFT", "IRFFT"]


def fft(x: Tensor, kind: Kind, lengths: Dims) -> Tensor:
    """The discrete Fourier transform of the last axes, at most 3; inverse ones are divided by the number of elements.

    Args:
        x: real for RFFT, else complex.
        kind: RFFT gives the first half of the last axis, IRFFT takes it.
        lengths: of the transformed axes, of the real side for RFFT and IRFFT.
    """
    batch = x.dims[: -len(lengths)]
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    dims = (*batch, *(half if kind == "RFFT" else lengths))
    width = x.dtype.itemsize if x.dtype.kind == "c" else 2 * x.dtype.itemsize
    dtype = np.dtype(f"f{width // 2}" if kind == "IRFFT" else f"c{width}")
    if all_static(lengths):
        attributes = (("fft_type", f"#stablehlo<fft_type {kind}>"), ("fft_length", i64_array(lengths)))  # type: ignore[arg-type]
        return x.builder.op("stablehlo.fft", [x], dims, dtype, attributes)
    config = {"kind": f'"{kind}"', "rank": f"{len(lengths)} : i64"}
    return custom_call(FFT, [x], [(dims, dtype)], backend_config=config)[0]


# ---- made of transforms of one axis each, of which only some elements may count; of static shape ---------------------


Along = Callable[[Tensor, int, bool], Tensor]


def by_axes(x: Tensor, kind: Kind, lengths: Sequence[int], sizes: Sequence[Tensor], along: Along) -> Tensor:
    """The transform of the last axes, see `fft`, made of complex transforms of one axis each.

    Args:
        x: real for RFFT, else complex.
        kind: as for `fft`.
        lengths: of the transformed axes, of the real side for RFFT and IRFFT.
        sizes: how many elements of each of them count; int64 scalars.
        along: the transform of an axis: what is transformed, the axis, whether it is the inverse.
    """
    last = x.ndim - 1
    axes = range(x.ndim - len(lengths), x.ndim)
    if kind == "RFFT":
        x = complex(x, full_like(x, 0))
    for axis in axes if kind != "IRFFT" else axes[:-1]:
        x = along(x, axis, kind in ("IFFT", "IRFFT"))
    if kind == "RFFT":
        return slice_axis(x, last, 0, lengths[-1] // 2 + 1)
    if kind == "IRFFT":
        # The whole spectrum of a real signal: element n - k is the conjugate of element k.
        half = x.dims[last]
        assert type(half) is int
        places = iota(x.builder, (lengths[-1],), 0, INT64)
        second = compare("GT", places * 2, sizes[-1])
        x = take(x, clamp(0, select(second, sizes[-1] - places, places), half - 1), last)
        x = select(broadcast_in_dim(second, x.dims, (last,)), matrices.conjugate(x), x)
        return real(along(x, last, True))
    return x


def of_some(x: Tensor, size: Tensor, *, inverse: bool) -> Tensor:
    """The transform of the first elements of the last axis, whose others are 0; further results are anything.

    Bluestein's convolution with a chirp, 2 j k = j^2 + k^2 - (j - k)^2, by transforms of a length that is known.

    Args:
        x: complex.
        size: how many elements count; int64 scalar, 0 for nothing.
        inverse: the inverse transform, divided by `size`.
    """
    axis, length = x.ndim - 1, x.dims[-1]
    assert type(length) is int
    long = 1 << max(2 * length - 2, 0).bit_length()
    places = iota(x.builder, (length,), 0, INT64)
    near = broadcast_in_dim(_chirp(x, places, size, backward=inverse), x.dims, (axis,))
    there = iota(x.builder, (long,), 0, INT64)
    distance = minimum_(there, long - there)
    far = _chirp(x, distance, size, backward=not inverse)
    far = fft(select(compare("LT", distance, size), far, full_like(far, 0)), "FFT", (long,))
    high = [0] * axis + [long - length]
    spread = fft(pad(x * near, x.builder.constant(0, x.dtype), [0] * x.ndim, high), "FFT", (long,))
    product = fft(spread * broadcast_in_dim(far, spread.dims, (axis,)), "IFFT", (long,))
    found = slice_axis(product, axis, 0, length) * near
    return found / convert(size, x.dtype) if inverse else found


def _chirp(x: Tensor, places: Tensor, size: Tensor, *, backward: bool) -> Tensor:
    """exp(-i pi j^2 / size), or its conjugate; j^2 is reduced exactly."""
    dtype = real_dtype(x.dtype)
    whole = maximum_(size, 1) * 2
    turns = convert(remainder(places * places, whole), dtype) / convert(whole, dtype)
    angle = turns * ((2 if backward else -2) * math.pi)
    return complex(cosine(angle), sine(angle))


def as_product(x: Tensor, *, inverse: bool) -> Tensor:
    """The transform of the last axis as a product with a matrix."""
    length = x.dims[-1]
    assert type(length) is int
    places = np.arange(length)
    turns = np.outer(places, places) % max(length, 1) / max(length, 1)
    matrix = np.exp((2j if inverse else -2j) * np.pi * turns) / (length if inverse else 1)
    return dot_general(x, x.builder.constant(matrix.astype(x.dtype)), contracting=([x.ndim - 1], [0]))


def at_end(x: Tensor, axis: int, transform: Callable[[Tensor], Tensor]) -> Tensor:
    """A function of the last axis of a tensor, of another axis."""
    order = [*(a for a in range(x.ndim) if a != axis), axis]
    return transpose(transform(transpose(x, order)), np.argsort(order).tolist())


# ---- convolutions ----------------------------------------------------------------------------------------------------


_PRECISION = "#stablehlo<precision HIGHEST>"


def correlate(x: Tensor, kernel: Tensor, padding: Sequence[Dim]) -> Tensor:
    """The sum of products of a kernel with what it covers, for each of its places.

    Args:
        x: [batch, *sizes].
        kernel: [*sizes], or [batch, *sizes] for one of its own for each element of the batch.
        padding: zeros before and behind each axis of `x` but the first.

    Returns:
        Shape: [batch, *places].
    """
    lengths = kernel.dims[1:] if kernel.ndim == x.ndim else kernel.dims
    places = [size + 2 * amount - length + 1 for size, amount, length in zip(x.dims[1:], padding, lengths, strict=True)]
    if kernel.ndim == x.ndim:
        return _by_patches(x, kernel, padding, places)
    axes = ", ".join(map(str, range(kernel.ndim)))
    attributes = (
        ("dimension_numbers", f"#stablehlo.conv<[b, f, {axes}]x[o, i, {axes}]->[b, f, {axes}]>"),
        ("batch_group_count", "1 : i64"),
        ("feature_group_count", "1 : i64"),
        ("precision_config", f"[{_PRECISION}, {_PRECISION}]"),
    )
    dims: Dims = (x.dims[0], 1, *places)
    operands = [expand_dims(x, [1]), expand_dims(kernel, [0, 1])]
    if all_static(padding):
        rows = ", ".join(f"[{amount}, {amount}]" for amount in padding)
        amounts = ("padding", f"dense<[{rows}]> : tensor<{len(padding)}x2xi64>")
        found = x.builder.op("stablehlo.convolution", operands, dims, x.dtype, (*attributes, amounts))
    else:
        flat = x.builder.size_vector([amount for amount in padding for _ in range(2)])
        operands.append(reshape(flat, (len(padding), 2)))
        found = x.builder.op("stablehlo.dynamic_conv", operands, dims, x.dtype, attributes)
    return reshape(found, (x.dims[0], *places))


def _by_patches(x: Tensor, kernel: Tensor, padding: Sequence[Dim], places: Sequence[Dim]) -> Tensor:
    """One contraction with what each position of the kernel sees: groups of a convolution have a known number."""
    builder = x.builder
    patches = pad(x, builder.constant(0, x.dtype), [0, *padding], [0, *padding])
    for number, (count, length) in enumerate(zip(places, kernel.dims[1:], strict=True)):
        start, offset = (iota(builder, (count, length), axis, INT64) for axis in (0, 1))
        patches = take(patches, start + offset, 1 + 2 * number)
    seen = range(2, patches.ndim, 2)
    return dot_general(patches, kernel, contracting=(list(seen), list(range(1, kernel.ndim))), batching=([0], [0]))
