"""device_linalg: portable factorizations become calls of the platform's library.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<8x8xf64>
            %lu:2 = call @lu_float64(%b) : ...                     // @lu_float64 {hlograph.implements = "lu"}
    after   %l = call @cholesky_cpu(%a)                            // LAPACK's potrf, through jaxlib's FFI target
            %lu:2 = call @lu_cpu(%b)                               // LAPACK's getrf

Preconditions: static shapes. Rounding: that of the library. The bodies come from JAX's own lowerings of
`jax.lax.linalg` for the platform (`{platform=cpu}`, `cuda`, `rocm`, `tpu`), so that layouts, batching and target names
are jaxlib's business. On a platform for which JAX has none, the portable form stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from ..errors import PassError
from ..ir.adopt import adopt_text
from ..ir.attributes import flag_of
from ..ir.bindings import ir, run_pipeline
from ..ir.functions import replace_by_call
from ..ir.jax_compat import enable_x64
from ..ir.types import numpy_dtype
from ..ir.walk import walk
from .report import Report

_TPU_LU = ("float32", "complex64")

# A module without any of these is left as it is; callers may then save themselves a copy.
OPS = frozenset({"stablehlo.cholesky", "stablehlo.triangular_solve", "func.call"})


def run(module: ir.Module, _report: Report, *, platform: Literal["cpu", "cuda", "gpu", "rocm", "tpu"] = "cpu") -> None:
    """The pass; `platform` is JAX's name of the platform, "gpu" is "cuda"."""
    name = "cuda" if platform == "gpu" else platform
    implemented = _implementations(module)
    found = [op for op in walk(module) if _has_library(_kind(op, implemented), op, name)]
    functions: dict[Any, str] = {}
    for operation in found:
        kind = _kind(operation, implemented)
        assert kind is not None
        key, function = _library_function(kind, operation)
        if not all(ir.RankedTensorType(value.type).has_static_shape for value in operation.operands):
            raise PassError(f"device_linalg needs static shapes; specialize first (at {operation.location})")
        if key not in functions:
            text = _lowered(function, operation, name)
            functions[key] = adopt_text(module, text, f"{kind}_{name}")
        replace_by_call(operation, functions[key])
    if found:
        run_pipeline(module, "symbol-dce", name="device_linalg")


def _implementations(module: ir.Module) -> dict[str, str]:
    """Symbol -> what the function implements, from its `hlograph.implements` attribute."""
    marked = {}
    for operation in module.body.operations:
        attributes = operation.operation.attributes
        if "hlograph.implements" in attributes:
            marked[ir.StringAttr(attributes["sym_name"]).value] = ir.StringAttr(attributes["hlograph.implements"]).value
    return marked


def _kind(operation: ir.Operation, implemented: Mapping[str, str]) -> str | None:
    if operation.name in ("stablehlo.cholesky", "stablehlo.triangular_solve"):
        return operation.name.partition(".")[2]
    if operation.name == "func.call":
        return implemented.get(ir.FlatSymbolRefAttr(operation.attributes["callee"]).value)
    return None


def _has_library(kind: str | None, operation: ir.Operation, platform: str) -> bool:
    """Whether an operation is one that the platform's library does; XLA:TPU's LU takes two types only."""
    if kind is None or platform != "tpu" or not kind.startswith("lu"):
        return kind is not None
    return numpy_dtype(ir.RankedTensorType(operation.operands[0].type).element_type).name in _TPU_LU


def _library_function(kind: str, operation: ir.Operation) -> tuple[Any, Callable[..., Any]]:
    """A key for the operation's options and types, and the JAX function that does the same."""
    import jax.numpy as jnp
    from jax.lax import linalg

    types = tuple(str(value.type) for value in operation.operands)
    if kind == "lu":
        return (kind, types), lambda a: (lambda out: (out[0], out[2]))(linalg.lu(a))
    if kind == "lu_factor":
        return (kind, types), lambda a: linalg.lu(a)[:2]
    if kind == "cholesky":
        lower = flag_of(operation, "lower", False)

        def cholesky(a: Any) -> Any:
            if lower:
                return linalg.cholesky(a, symmetrize_input=False)
            return jnp.swapaxes(linalg.cholesky(jnp.swapaxes(a, -1, -2), symmetrize_input=False), -1, -2)

        return (kind, lower, types), cholesky
    options = {
        "left_side": flag_of(operation, "left_side", True),
        "lower": flag_of(operation, "lower", False),
        "unit_diagonal": flag_of(operation, "unit_diagonal", False),
        "transpose_a": "NO_TRANSPOSE" not in str(operation.attributes["transpose_a"]),
        "conjugate_a": "ADJOINT" in str(operation.attributes["transpose_a"]),
    }
    return (kind, *options.values(), types), lambda a, b: linalg.triangular_solve(a, b, **options)


def _lowered(function: Callable[..., Any], operation: ir.Operation, platform: str) -> str:
    import jax

    specs = []
    for value in operation.operands:
        type_ = ir.RankedTensorType(value.type)
        specs.append((tuple(type_.shape), numpy_dtype(type_.element_type)))
    with enable_x64(True):
        arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in specs]
        return jax.jit(function).trace(*arguments).lower(lowering_platforms=(platform,)).as_text()
