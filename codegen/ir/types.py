"""numpy dtypes and MLIR's element types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .bindings import ir

# Those that NumPy has, and XLA:CPU code of ours is written for.
REAL_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

_FLOATS = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    # Those that JAX has beside NumPy's own (ml_dtypes); an older jaxlib may lack one.
    "f4E2M1FN": "float4_e2m1fn",
    "f8E3M4": "float8_e3m4",
    "f8E4M3": "float8_e4m3",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
}
_CLASSES = {name: f"Float{text[1:]}Type" if "E" in text else f"{text.upper()}Type" for text, name in _FLOATS.items()}
_DTYPES = _FLOATS | {"i1": "bool", "complex<f32>": "complex64", "complex<f64>": "complex128"}
_DTYPES |= {f"{sign}i{width}": f"{sign}int{width}" for sign in ("", "u") for width in (2, 4, 8, 16, 32, 64)}


def element_type(dtype: np.dtype[Any], context: ir.Context) -> ir.Type:
    """The MLIR element type of a numpy dtype: `i1` for bool, signless and `ui` integers, floats, complex."""
    with context:
        if dtype.kind == "b":
            return ir.IntegerType.get_signless(1)
        if dtype.kind == "c":
            return ir.ComplexType.get(ir.F32Type.get() if dtype.itemsize == 8 else ir.F64Type.get())
        sign, is_integer, width = dtype.name.partition("int")
        if is_integer and width.isdecimal():
            make = ir.IntegerType.get_unsigned if sign else ir.IntegerType.get_signless
            return make(int(width))
        if hasattr(ir, _CLASSES.get(dtype.name, "")):
            return getattr(ir, _CLASSES[dtype.name]).get()
    raise TypeError(f"dtype {dtype} has no StableHLO element type")


def numpy_dtype(type_: ir.Type) -> np.dtype[Any]:
    """The numpy dtype of an MLIR element type (the inverse of `element_type`)."""
    name = _DTYPES.get(str(type_))
    if name is None:
        raise TypeError(f"element type {type_} has no numpy dtype")
    if hasattr(np, name):
        return np.dtype(name)
    import ml_dtypes

    if not hasattr(ml_dtypes, name):
        raise TypeError(f"element type {type_} has no numpy dtype")
    return np.dtype(getattr(ml_dtypes, name))


def is_static(type_: ir.Type) -> bool:
    """Whether a type is a tensor whose sizes are all known."""
    return isinstance(type_, ir.RankedTensorType) and type_.has_static_shape


def elements_of(type_: ir.Type) -> int:
    """The number of elements of a tensor; 0 where a size is not known."""
    return math.prod(ir.RankedTensorType(type_).shape) if is_static(type_) else 0


def bytes_of(type_: ir.Type) -> int:
    """The size of a static tensor."""
    return elements_of(type_) * numpy_dtype(ir.RankedTensorType(type_).element_type).itemsize


def static_bytes(type_: ir.Type) -> int | None:
    """The size of a tensor; None where it has no static one, for what is no tensor, and for what NumPy has no dtype."""
    try:
        return bytes_of(type_) if is_static(type_) else None
    except TypeError:
        return None
