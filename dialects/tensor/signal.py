"""Signals: convolutions, windows, Fourier transforms of real data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Dims, Tensor
from ...codegen.dims import Dim, maximum, minimum
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers
from .shape import sizes_of


@lowers("Convolve1d", "Convolve2d", batched=True, stretched=False)
def convolve(ctx: Context, node: Any, x: Tensor, kernel: Tensor, full: Tensor) -> Tensor:
    """`numpy.convolve`, over one axis or two: all places where the two meet, or those where one covers the other.

    Either may be the longer one, but along all axes. Zeros around `x` stand for what the kernel sees past its ends.
    """
    rank = node.op.ndim
    name = type(node.op).__name__
    batch, kernel_batch = x.dims[:-rank], kernel.dims[:-rank]
    sizes, lengths = x.dims[-rank:], kernel.dims[-rank:]
    for axis, size in enumerate((*sizes, *lengths)):
        ctx.at_least(size, 1, f"size {axis % rank} of an operand of {name}")
    flag = _as_dimension(ctx, full, name)
    if flag != 1:
        _one_covers_the_other(ctx, sizes, lengths, flag, name)
    padding = []
    for size, length in zip(sizes, lengths, strict=True):
        valid = maximum(length - size, 0)
        padding.append(valid + (length - 1 - valid) * flag)
    kernel = hlo.reverse(kernel, range(kernel.ndim - rank, kernel.ndim))
    if all(dim == 1 for dim in kernel_batch):
        count = hlo.product(batch)
        kernel = hlo.reshape(kernel, lengths)
    else:
        batch = tuple(b if a == 1 else a for a, b in zip(batch, kernel_batch, strict=True))
        count = hlo.product(batch)
        x = hlo.broadcast(x, (*batch, *sizes))
        kernel = hlo.reshape(hlo.broadcast(kernel, (*batch, *lengths)), (count, *lengths))
    found = _correlated(ctx, hlo.reshape(x, (count, *sizes)), kernel, padding)
    return hlo.reshape(found, (*batch, *found.dims[1:]))


def _as_dimension(ctx: Context, flag: Tensor, name: str) -> Dim:
    """A boolean, the same for a whole batch, as 0 or 1."""
    if any(dim != 1 for dim in flag.dims):
        raise UnsupportedGraphError(f"{name} at {ctx.builder.where}: one mode for the whole batch is needed")
    flag = hlo.reshape(flag, ())
    if flag.literal is not None:
        return int(flag.literal)
    if flag.sizes is None:
        number = hlo.convert(flag, INT64)
        ctx.builder.at_most[number.uid] = 1
        return hlo.data_size(number, "full")
    return ctx.dim(flag, f"the mode of {name}")


def _one_covers_the_other(ctx: Context, sizes: Dims, lengths: Dims, full: Dim, name: str) -> None:
    """Demands that neither is longer along one axis and shorter along another one, unless `full` is 1."""
    least: Dim = 0
    most: Dim = 0
    for size, length in zip(sizes, lengths, strict=True):
        least, most = minimum(least, size - length), maximum(most, size - length)
    if len(sizes) > 1:
        ctx.at_least(least * most * (1 - full), 0, f"one operand of {name} covers the other in mode 'valid'")


def _correlated(ctx: Context, x: Tensor, kernel: Tensor, padding: list[Dim]) -> Tensor:
    """`hlo.correlate` in the dtype of the result; booleans are counted, complex numbers go by parts."""
    dtype = ctx.out_dtype()
    x, kernel = hlo.convert(x, dtype), hlo.convert(kernel, dtype)
    if dtype.kind == "b":
        count = hlo.correlate(hlo.convert(x, np.int32), hlo.convert(kernel, np.int32), padding)
        return hlo.convert(count, dtype)
    if dtype.kind != "c":
        return hlo.correlate(x, kernel, padding)
    parts = [(hlo.real(z), hlo.imag(z)) for z in (x, kernel)]
    (a, b), (c, d) = parts
    real = hlo.correlate(a, c, padding) - hlo.correlate(b, d, padding)
    return hlo.complex(real, hlo.correlate(a, d, padding) + hlo.correlate(b, c, padding))


@lowers("Convolve")
def convolve_vectors(ctx: Context, node: Any, x: Tensor, kernel: Tensor) -> Tensor:
    """`numpy.convolve` (an op with a mode in Aesara); "same" is the middle of all places, as long as the longer one."""
    mode, size, length = node.op.mode, x.dims[0], kernel.dims[0]
    for dim in (size, length):
        ctx.at_least(dim, 1, "size 0 of an operand of Convolve")
    padding = maximum(length - size, 0) if mode == "valid" else length - 1
    kernel = hlo.reshape(hlo.reverse(kernel, [0]), (1, length))
    found = _correlated(ctx, hlo.reshape(x, (1, size)), kernel, [padding])
    found = hlo.reshape(found, found.dims[1:])
    if mode != "same":
        return found
    return hlo.slice_axis(found, 0, (minimum(size, length) - 1) // 2, maximum(size, length))


@lowers("Bartlett")
def bartlett(ctx: Context, node: Any, length: Tensor) -> Tensor:
    """`numpy.bartlett`: a triangle from 0 to 1 and back; empty for a negative length, 1 for a length of 1."""
    size = hlo.maximum_(hlo.convert(length, INT64), 0)
    (dim,) = sizes_of(ctx, [size], "Bartlett")
    steps = hlo.convert(size - 1, np.float64)
    places = hlo.convert(hlo.iota(ctx.builder, (dim,), 0, INT64), np.float64)
    # 2 n / (size - 1) as NumPy rounds it: 1 + m / (size - 1) and 1 - m / (size - 1) for m = 2 n - (size - 1).
    offset = places * 2.0 - steps
    quotient = offset / hlo.maximum_(steps, 1.0)
    rising = offset <= 0
    return hlo.select(rising, quotient + 1.0, 1 - quotient)


# ---- Fourier transforms, in which a last axis of two holds real and imaginary parts ----------------------------------


@lowers("RFFTOp")
def rfft(ctx: Context, node: Any, x: Tensor, shape: Tensor) -> Tensor:
    """`numpy.fft.rfftn` over the last axes, cut or filled up with zeros to the given lengths."""
    lengths = _lengths(ctx, shape, x.ndim)
    x = _resized(hlo.convert(x, _wide(x)), lengths)
    found = hlo.fft(x, "RFFT", lengths)
    parts = [hlo.expand_dims(part, [x.ndim]) for part in (hlo.real(found), hlo.imag(found))]
    return hlo.convert(hlo.concatenate(parts, x.ndim), ctx.out_dtype())


@lowers("IRFFTOp")
def irfft(ctx: Context, node: Any, x: Tensor, shape: Tensor) -> Tensor:
    """`numpy.fft.irfftn` over the last axes to the given lengths, not divided by the number of elements."""
    lengths = _lengths(ctx, shape, x.ndim - 1)
    x = hlo.convert(x, _wide(x))
    real, imag = (
        hlo.squeeze(hlo.slice_axis(x, x.ndim - 1, place, 1), [x.ndim - 1])  # a pair
        for place in (0, 1)
    )
    half = _resized(hlo.complex(real, imag), (*lengths[:-1], lengths[-1] // 2 + 1))
    found = hlo.fft(half, "IRFFT", lengths)
    count = hlo.convert(ctx.builder.size(hlo.product(lengths)), found.dtype)
    return hlo.convert(found * count, ctx.out_dtype())


def _wide(x: Tensor) -> np.dtype[Any]:
    return np.dtype(np.float32 if x.dtype in (np.float16, np.float32) else np.float64)


def _lengths(ctx: Context, shape: Tensor, rank: int) -> Dims:
    """The lengths of the transform, which are at least 1."""
    name = type(ctx.node.op).__name__
    lengths = ctx.builder.dims_of(shape, f"the lengths of {name}")
    if len(lengths) > min(rank, 3):
        raise UnsupportedGraphError(f"{name} over {len(lengths)} axes at {ctx.builder.where}: XLA has it for up to 3")
    for axis, length in enumerate(lengths):
        ctx.at_least(length, 1, f"length {axis} of {name}")
    return lengths


def _resized(x: Tensor, sizes: Dims) -> Tensor:
    """The last axes cut, or filled up with zeros, to these sizes."""
    canonical = x.builder.constraints.canonical
    zero = x.builder.constant(0, x.dtype)
    for axis, size in enumerate(sizes, start=x.ndim - len(sizes)):
        old = x.dims[axis]
        if canonical(old) == canonical(size):
            continue
        high: list[Dim] = [0] * x.ndim
        high[axis] = maximum(size - old, 0)
        x = hlo.slice_axis(hlo.pad(x, zero, [0] * x.ndim, high), axis, 0, size)
    return x
