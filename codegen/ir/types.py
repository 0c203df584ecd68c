"""numpy dtypes and MLIR's element types."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from .bindings import ir

# Those that NumPy has, and XLA:CPU code of ours is written for.
REAL_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

_FLOATS = {
    "float16": "F16Type",
    "bfloat16": "BF16Type",
    "float32": "F32Type",
    "float64": "F64Type",
    # Those that JAX has beside NumPy's own (ml_dtypes); an older jaxlib may lack one.
    "float4_e2m1fn": "Float4E2M1FNType",
    "float8_e3m4": "Float8E3M4Type",
    "float8_e4m3": "Float8E4M3Type",
    "float8_e4m3b11fnuz": "Float8E4M3B11FNUZType",
    "float8_e4m3fn": "Float8E4M3FNType",
    "float8_e4m3fnuz": "Float8E4M3FNUZType",
    "float8_e5m2": "Float8E5M2Type",
    "float8_e5m2fnuz": "Float8E5M2FNUZType",
    "float8_e8m0fnu": "Float8E8M0FNUType",
}
_COMPLEX = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}
_NARROW = re.compile(r"(u?)int([24])")


def element_type(dtype: np.dtype[Any], context: ir.Context) -> ir.Type:
    """The MLIR element type of a numpy dtype: `i1` for bool, signless and `ui` integers, floats, complex."""
    kind = dtype.kind
    with context:
        narrow = _NARROW.fullmatch(dtype.name)
        if narrow is not None:
            width = int(narrow[2])
            return ir.IntegerType.get_unsigned(width) if narrow[1] else ir.IntegerType.get_signless(width)
        if kind == "b":
            return ir.IntegerType.get_signless(1)
        if kind == "i":
            return ir.IntegerType.get_signless(8 * dtype.itemsize)
        if kind == "u":
            return ir.IntegerType.get_unsigned(8 * dtype.itemsize)
        if kind == "c":
            return ir.ComplexType.get(ir.F32Type.get() if dtype.itemsize == 8 else ir.F64Type.get())
        if hasattr(ir, _FLOATS.get(dtype.name, "")):
            return getattr(ir, _FLOATS[dtype.name]).get()
    raise TypeError(f"dtype {dtype} has no StableHLO element type")


def numpy_dtype(type_: ir.Type) -> np.dtype[Any]:
    """The numpy dtype of an MLIR element type (the inverse of `element_type`)."""
    text = str(type_)
    if text == "i1":
        return np.dtype(bool)
    if text.startswith("complex<"):
        if text not in _COMPLEX:
            raise TypeError(f"element type {text} has no numpy dtype")
        return np.dtype(_COMPLEX[text])
    names = {"ui": "uint", "i": "int", "f": "float", "bf": "bfloat"}
    prefix = text.rstrip("0123456789")
    if prefix in names and text != prefix:
        name = names[prefix] + text[len(prefix) :]
        if name == "float128":  # NumPy's of this name has 80 bits
            raise TypeError(f"element type {text} has no numpy dtype")
        return np.dtype(name) if hasattr(np, name) else _dtype_beside_numpy(name)
    if text.startswith("f") and "E" in text:  # f8E4M3FN is float8_e4m3fn
        return _dtype_beside_numpy("float{}_e{}".format(*text[1:].lower().split("e", 1)))
    raise TypeError(f"element type {text} has no numpy dtype")


def _dtype_beside_numpy(name: str) -> np.dtype[Any]:
    import ml_dtypes

    if not hasattr(ml_dtypes, name) or not (name in _FLOATS or _NARROW.fullmatch(name)):
        raise TypeError(f"element type {name} has no numpy dtype")
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
