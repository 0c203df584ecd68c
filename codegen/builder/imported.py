"""Functions that JAX already writes as plain StableHLO (incomplete gamma and beta, Bessel, ...), used as they are.

In: a JAX elementwise function and handles. Out: handles. The function is exported once per dtype and shape, with
symbolic dimensions where the operands have them, and becomes a private function of the module; nothing of the user's
graph is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..jax_compat import enable_x64
from ..merge import adopt_text
from .elementwise import unify
from .tensor import Dims, DType, Tensor


def import_elementwise(name: str, function: Callable[..., Any], operands: Sequence[Tensor], dtype: DType) -> Tensor:
    """Applies a JAX elementwise function.

    Args:
        name: base of the private function's symbol.
        function: takes and returns JAX arrays of one shape.
        operands: floating-point tensors of one shape.
        dtype: the result's dtype.
    """
    tensors = unify(*operands)
    builder = tensors[0].builder
    dims = tensors[0].dims
    key = ("jax", name, dims, tuple(x.dtype for x in tensors))
    symbol = builder.functions.get(key)
    if symbol is None:
        text = _export(function, dims, [x.dtype for x in tensors])
        symbol = builder.functions[key] = adopt_text(builder.module, text, name)
    attributes = (("callee", f"@{symbol}"),)
    return builder.op("func.call", tensors, dims, dtype, attributes)


def _export(function: Callable[..., Any], dims: Dims, dtypes: Sequence[DType]) -> str:
    import jax
    from jax import export

    text = ", ".join(str(dim) if type(dim) is int else f"d{axis}" for axis, dim in enumerate(dims))
    shape: Any = dims if all(type(dim) is int for dim in dims) else export.symbolic_shape(text)
    with enable_x64(True):
        specs = [jax.ShapeDtypeStruct(shape, dtype) for dtype in dtypes]
        return export.export(jax.jit(function), platforms=("cpu",))(*specs).mlir_module()
