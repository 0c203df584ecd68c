"""Fourier transforms made of transforms of one axis each, of which only some elements may count.

In: handles of static shape. Out: handles. The padding pass transforms the live elements of a padded axis with these,
and `expand_linalg` writes transforms as products, for the reference interpreter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from . import matrices
from .core import Tensor
from .elementwise import (
    clamp,
    compare,
    complex,
    convert,
    cosine,
    divide,
    full_like,
    maximum_,
    minimum_,
    multiply,
    real,
    remainder,
    select,
    sine,
    subtract,
)
from .fft import Kind, fft
from .indexing import take
from .reduce import dot_general
from .shape import broadcast_in_dim, iota, pad, slice_axis, transpose
from .types import INT64

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
        return real(along(_both_halves(x, lengths[-1], sizes[-1]), last, True))
    return x


def _both_halves(x: Tensor, length: int, size: Tensor) -> Tensor:
    """The whole spectrum of a real signal along the last axis: element n - k is the conjugate of element k."""
    axis, half = x.ndim - 1, x.dims[-1]
    assert type(half) is int
    places = iota(x.builder, (length,), 0, INT64)
    second = compare("GT", multiply(places, 2), size)
    source = clamp(0, select(second, subtract(size, places), places), half - 1)
    found = take(x, source, axis)
    return select(broadcast_in_dim(second, found.dims, (axis,)), matrices.conjugate(found), found)


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
    distance = minimum_(there, subtract(long, there))
    far = _chirp(x, distance, size, backward=not inverse)
    far = fft(select(compare("LT", distance, size), far, full_like(far, 0)), "FFT", (long,))
    high = [0] * axis + [long - length]
    spread = fft(pad(multiply(x, near), x.builder.constant(0, x.dtype), [0] * x.ndim, high), "FFT", (long,))
    product = fft(multiply(spread, broadcast_in_dim(far, spread.dims, (axis,))), "IFFT", (long,))
    found = multiply(slice_axis(product, axis, 0, length), near)
    return divide(found, convert(size, x.dtype)) if inverse else found


def _chirp(x: Tensor, places: Tensor, size: Tensor, *, backward: bool) -> Tensor:
    """exp(-i pi j^2 / size), or its conjugate; j^2 is reduced exactly."""
    dtype = matrices.real_dtype(x.dtype)
    whole = multiply(maximum_(size, 1), 2)
    turns = divide(convert(remainder(multiply(places, places), whole), dtype), convert(whole, dtype))
    angle = multiply(turns, (2 if backward else -2) * math.pi)
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
