"""What NumPy's dtypes and those of ml_dtypes are, told alike.

In: dtypes. Out: kinds and limits. Decision to know: NumPy calls most of what ml_dtypes adds (bfloat16, float8_e4m3fn,
int4) kind "V", so a kind is asked for here wherever such a dtype may come.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

DType = np.dtype[Any]

_PACKED = re.compile(r"u?int[124]|float4_.*")


@functools.cache
def kind_of(dtype: DType) -> str:
    """ "b", "i", "u", "f" or "c", as NumPy's `kind` is for its own numbers."""
    if dtype.kind != "V":
        return str(dtype.kind)
    name = dtype.name
    return "u" if name.startswith("uint") else "i" if name.startswith("int") else "f"


@functools.cache
def is_packed(dtype: DType) -> bool:
    """Whether XLA has several elements in one byte, where NumPy has one."""
    return _PACKED.fullmatch(dtype.name) is not None


@functools.cache
def limits(dtype: DType) -> tuple[Any, Any]:
    """The least and the greatest value: infinities where the dtype has them; scalars of the dtype."""
    kind = kind_of(dtype)
    if kind == "b":
        return np.False_, np.True_
    if kind in "iu":
        info = np.iinfo(dtype) if dtype.kind != "V" else _ml_dtypes().iinfo(dtype)
        return np.array(info.min).astype(dtype)[()], np.array(info.max).astype(dtype)[()]
    pair = np.array([-np.inf, np.inf]).astype(dtype)
    if dtype.kind == "V" and not np.isinf(pair.astype(np.float64)).all():  # float8_e4m3fn has none
        info = _ml_dtypes().finfo(dtype)
        return info.min, info.max
    return pair[0], pair[1]


def _ml_dtypes() -> Any:
    import ml_dtypes

    return ml_dtypes
