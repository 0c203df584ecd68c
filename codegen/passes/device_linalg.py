"""device_linalg: portable factorizations become calls of the platform's library.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<8x8xf64>
            %lu:2 = call @lu_float64(%b) : ...                     // @lu_float64 {hlograph.implements = "lu"}
    after   %l = call @cholesky_cpu(%a)                            // LAPACK's potrf, through jaxlib's FFI target
            %lu:2 = call @lu_cpu(%b)                               // LAPACK's getrf

Preconditions: static shapes. Rounding: that of the library. The bodies come from JAX's own lowerings of
`jax.lax.linalg` for the platform (`{platform=cpu}`, `cuda`, `rocm`, `tpu`), so that layouts, batching and target names
are jaxlib's business. On a platform for which JAX has none, the portable form stays; what has no portable form is
refused there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from ..analysis.platforms import LIBRARIES, listed
from ..builder.linalg import WITHOUT_FORM
from ..errors import PassError
from ..ir.bindings import ir, run_pipeline
from ..ir.functions import IMPLEMENTS, adopt_text, replace_by_call
from ..ir.jax_compat import enable_x64, geqp3, geqrf_primitive
from ..ir.refused import needed
from ..ir.values import attributes_of, flag_of, main_function, numpy_dtype, symbol_of, walk
from ..signature import platforms_of, set_platforms
from .factor_loops import types_of
from .report import Report

# The types that XLA:TPU's factorizations take, all but the two ops of StableHLO.
_TPU_TYPES = ("float32", "complex64")
_OPS_OF_STABLEHLO = ("cholesky", "triangular_solve")

# A module without any of these is left as it is; callers may then save themselves a copy.
OPS = frozenset({"stablehlo.cholesky", "stablehlo.triangular_solve", "func.call"})


def run(module: ir.Module, _report: Report, *, platform: Literal["cpu", "cuda", "gpu", "rocm", "tpu"] = "cpu") -> None:
    """The pass; `platform` is JAX's name of the platform, "gpu" is "cuda"."""
    name = "cuda" if platform == "gpu" else platform
    marked = [view.operation for view in module.body.operations if IMPLEMENTS in view.operation.attributes]
    implemented = {symbol_of(function): ir.StringAttr(function.attributes[IMPLEMENTS]).value for function in marked}
    kinds = [(op, _kind(op, implemented)) for op in walk(module)]
    found = [(op, kind) for op, kind in kinds if kind is not None and _has_library(kind, op, name)]
    if found:
        _leave_others(main_function(module), name)
    functions: dict[tuple[str, ...], str] = {}
    for operation, kind in found:
        options = () if operation.name == "func.call" else attributes_of(operation.attributes).values()
        key = (kind, *map(str, (*types_of(operation, "device_linalg"), *options)))
        if key not in functions:
            functions[key] = adopt_text(module, _lowered(kind, operation, name), f"{kind}_{name}")
        replace_by_call(operation, functions[key])
    if found:
        run_pipeline(module, "symbol-dce", name="device_linalg")


def _leave_others(function: ir.Operation, platform: str) -> None:
    """A program that says for which platforms it is, is for this one alone from here on.

    Raises:
        PassError: it is not for this one.
    """
    own = platforms_of(function)
    if own and platform not in own:
        raise PassError(f"device_linalg: the program is for {listed(own)}, not for {platform}")
    if own:
        set_platforms(function, [platform])


def _kind(operation: ir.Operation, implemented: Mapping[str, str]) -> str | None:
    """What an operation is, or what the function that it calls implements."""
    if operation.name.partition(".")[2] in _OPS_OF_STABLEHLO:
        return operation.name.partition(".")[2]
    if operation.name == "func.call":
        return implemented.get(ir.FlatSymbolRefAttr(operation.attributes["callee"]).value)
    return None


def _has_library(kind: str, operation: ir.Operation, platform: str) -> bool:
    """Whether an operation is one that the platform's library does; of what has another name nothing is known.

    Raises:
        PassError: it is not, and there is no portable form of it.
    """
    if _function(kind, operation) is None:
        return False
    type_ = ir.RankedTensorType(operation.operands[0].type)
    dtype = numpy_dtype(type_.element_type).name
    if 0 in type_.shape and kind.endswith("qr"):  # LAPACK's divides by it, or prints that it has no such matrix
        return False
    found = platform in LIBRARIES.get(kind, (platform,))
    found = found and (platform != "tpu" or kind in _OPS_OF_STABLEHLO or dtype in _TPU_TYPES)
    if not found and kind in WITHOUT_FORM:
        raise PassError(
            f"{kind} of {dtype} matrices has a library on {' and '.join(LIBRARIES[kind])} only, and no portable form; "
            f"it cannot run on {platform}"
        )
    return found


def _function(kind: str, operation: ir.Operation) -> Callable[..., Any] | None:
    """JAX's function for an operation, or for what the function that it calls implements; None where it has none."""
    import jax.numpy as jnp
    from jax.lax import linalg

    def cholesky(a: Any) -> Any:
        turned = (lambda x: x) if flag_of(operation, "lower", False) else (lambda x: jnp.swapaxes(x, -1, -2))
        return turned(linalg.cholesky(turned(a), symmetrize_input=False))

    def triangular_solve(a: Any, b: Any) -> Any:
        flags = {"left_side": True, "lower": False, "unit_diagonal": False}
        given = {name: flag_of(operation, name, default) for name, default in flags.items()}
        how = str(operation.attributes["transpose_a"])
        given |= {"transpose_a": "NO_TRANSPOSE" not in how, "conjugate_a": "ADJOINT" in how}
        return linalg.triangular_solve(a, b, **given)

    def lu(a: Any) -> Any:
        factors, _, permutation = linalg.lu(a)
        return factors, permutation

    def pivoted_qr(a: Any) -> Any:
        packed, order, taus = geqp3()(a, jnp.zeros((*a.shape[:-2], a.shape[-1]), jnp.int32))
        return packed, taus, order - 1

    def svd(a: Any, complete: bool = False) -> Any:
        return linalg.svd(a, full_matrices=complete)

    functions: dict[str, Callable[..., Any]] = {
        "cholesky": cholesky,
        "triangular_solve": triangular_solve,
        "lu": lu,
        "lu_factor": lambda a: linalg.lu(a)[:2],
        "householder_qr": geqrf_primitive().bind,
        "pivoted_qr": pivoted_qr,
        "householder_product": linalg.householder_product,
        "eigh": lambda a: linalg.eigh(a, symmetrize_input=False),
        "svd": svd,
        "svd_complete": lambda a: svd(a, complete=True),
        "singular_values": lambda a: linalg.svd(a, compute_uv=False),
        "eig": lambda a: linalg.eig(a, compute_left_eigenvectors=False),
        "schur": linalg.schur,
    }
    return functions.get(kind)


def _lowered(kind: str, operation: ir.Operation, platform: str) -> str:
    import jax

    types = [ir.RankedTensorType(value.type) for value in operation.operands]
    with enable_x64(True):
        arguments = [jax.ShapeDtypeStruct(tuple(x.shape), numpy_dtype(x.element_type)) for x in types]
        try:
            function = jax.jit(needed(_function(kind, operation), "it has a library"))
            return function.trace(*arguments).lower(lowering_platforms=(platform,)).as_text()
        except (TypeError, ValueError) as error:
            what = ", ".join(map(str, types))
            raise PassError(f"device_linalg: no library takes {what} (at {operation.location}): {error}") from None
