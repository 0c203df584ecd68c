"""Padding rules: Fourier transforms. A padded axis is transformed by as many elements as are live."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.types import INT64
from ...ir.bindings import ir
from ...ir.dynamic_calls import fft_kind, of_fft
from .control import pads_custom_call
from .live import Dims, Live
from .padder import Padder, pads
from .shape import result_dims


@pads("stablehlo.fft")
def fft(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Lengths that are known: only batch axes can be padded."""
    [x] = operands
    kind, lengths = of_fft(operation)
    open_ = [dim for dim in x.dims[-len(lengths) :] if type(dim) is not int]
    if open_:
        padder.refuse("the transformed axis is padded", *open_)
    return [_transformed(padder, x, kind, lengths)]


@pads_custom_call("hlograph.fft")
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
            zero = np.zeros((), tensor.dtype)[()]
            filled = padder.fill(live, [axis], zero).tensor
            return hlo.at_end(filled, axis, lambda y: hlo.of_some(y, sizes[axis - first], inverse=inverse))

        x = padder.fit(x, [*batch, *(half if kind == "IRFFT" else lengths)])
        found = hlo.by_axes(x.tensor, kind, bounds, sizes, along)
    return padder.live(found, [*batch, *(half if kind == "RFFT" else lengths)])
