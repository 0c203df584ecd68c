"""Fourier transforms of real data, in which a last axis of two holds real and imaginary parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Dims, Tensor
from ...codegen.dims import Dim, maximum
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers


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
    return hlo.convert(hlo.multiply(found, count), ctx.out_dtype())


def _wide(x: Tensor) -> np.dtype[Any]:
    """The dtype that is transformed: float32 or float64."""
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
