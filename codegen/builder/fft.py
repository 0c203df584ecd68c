"""Fourier transforms of the last axes, with sizes that may be symbolic.

In: a handle. Out: a handle. `stablehlo.fft` has the lengths in an attribute. Where they are symbolic, the custom call
`hlograph.fft` stands for it until specialization knows them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..ir.transforms import TARGET
from .control import custom_call
from .core import Tensor
from .shape import all_static, i64_array
from .types import Dims

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
    return custom_call(TARGET, [x], [(dims, dtype)], backend_config=config)[0]
