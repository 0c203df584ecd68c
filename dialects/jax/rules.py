"""Lowering rules that take the place of JAX's own while a function is exported with symbolic sizes.

In: a JAX primitive that JAX would lower to a library's call. Out: plain StableHLO, made with the builder as for a
graph's op. On CPU, JAX calls LAPACK for Cholesky factors and triangular solves; here they stay portable, and
`device_linalg` puts the library's call in their place when platform and sizes are known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ...codegen import builder as hlo
from ...codegen import dims as dimension
from ...codegen.builder import Builder, Tensor, matrices, order
from ...codegen.builder.core import SizeSource
from ...codegen.dims import Dim
from ...codegen.errors import UnsupportedGraphError
from ...codegen.ir.bindings import new_context
from ...codegen.ir.jax_compat import size_primitive
from ...codegen.ir.modules import to_bytecode
from .calls import call
from .size_values import lower_size

Build = Callable[..., "Tensor | Sequence[Tensor]"]


@functools.cache
def rules(*, within: bool = False) -> tuple[tuple[Any, Any], ...]:
    """(primitive, lowering rule), as `jax.export.export` takes them.

    Args:
        within: for a function within a graph, which is inlined, and has no library's call of open size.
    """
    linalg = jax.lax.linalg
    return (
        (linalg.cholesky_p, _rule("cholesky", _cholesky)),
        (linalg.triangular_solve_p, _rule("triangular_solve", _triangular_solve)),
        *([(linalg.eigh_p, _rule("eigh", _eigh))] if within else []),
        (jax.lax.approx_top_k_p, _rule("approx_top_k", _approximate_top_k)),
        (size_primitive(), lower_size),
    )


def _cholesky(a: Tensor, **_: Any) -> Tensor:
    """The factor without zeros in the other triangle: JAX's callers write them."""
    return a.builder.op("stablehlo.cholesky", [a], a.dims, a.dtype, (("lower", "true"),))


def _eigh(a: Tensor, *, lower: bool, subset_by_index: Any = None, **_: Any) -> tuple[Tensor, Tensor]:
    """Vectors, and values from low to high; of the matrix whose lower triangle is that one."""
    if subset_by_index not in (None, (0, a.dims[-1])):
        raise UnsupportedGraphError("eigh of some of the eigenvalues (subset_by_index); take all of them, and slice")
    return hlo.eigh(a if lower else matrices.adjoint(a))


def _approximate_top_k(
    a: Tensor, *, k: int, reduction_dimension: int, is_max_k: bool, aggregate_to_topk: bool, **options: Any
) -> list[Tensor]:
    """All of the largest or smallest, whatever share is asked for; NaN after numbers."""
    axis = reduction_dimension % a.ndim
    count = k if aggregate_to_topk else _approximate_count(a.dims[axis], k, is_max_k, options)

    def precedes(x: Tensor, y: Tensor, *_: Tensor) -> Tensor:
        wanted = order.ordered("GT" if is_max_k else "LT", x, y)
        return hlo.or_(wanted, hlo.and_(order.is_number(x), order.is_nan(y)))

    ordered = hlo.sort([a, hlo.iota(a.builder, a.dims, axis, np.dtype("int32"))], axis, precedes)
    return [hlo.slice_axis(x, axis, 0, count) for x in ordered]


def _approximate_count(size: Dim, k: int, is_max_k: bool, options: dict[str, Any]) -> int:
    """How many JAX wants that are not brought together to k; it takes known sizes alone."""
    assert isinstance(size, int)
    function = jax.lax.approx_max_k if is_max_k else jax.lax.approx_min_k
    told = {name: options[name] for name in ("recall_target", "reduction_input_size_override")}
    shape = jax.ShapeDtypeStruct((size,), "float32")
    return int(jax.eval_shape(lambda x: function(x, k, aggregate_to_topk=False, **told), shape)[0].shape[0])


def _triangular_solve(
    a: Tensor, b: Tensor, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Tensor:
    if conjugate_a and not transpose_a and a.dtype.kind == "c":
        a = hlo.conj(a)
    return hlo.triangular_solve(
        a,
        b,
        lower=lower,
        left_side=left_side,
        unit_diagonal=unit_diagonal,
        transpose=transpose_a and not conjugate_a,
        adjoint=transpose_a and conjugate_a,
    )


def _rule(name: str, build: Build) -> Callable[..., Any]:
    """A JAX lowering rule that calls a function made with the builder."""

    def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
        return call(ctx, name, _built(name, build, ctx.avals_in, params), operands)

    return lower


def _built(name: str, build: Build, avals: Sequence[Any], params: dict[str, Any]) -> bytes:
    """The module of a function for operands of these shapes; equal symbolic sizes are one root there."""
    roots: dict[str, Dim] = {}

    def dim(size: Any) -> Dim:
        if isinstance(size, int):
            return size
        return roots.setdefault(str(size), dimension.symbol(f"d{len(roots)}"))

    shapes = [tuple(dim(size) for size in aval.shape) for aval in avals]
    builder = Builder(new_context(), name)
    with builder.function("main", [(dims, aval.dtype) for dims, aval in zip(shapes, avals, strict=True)]) as handles:
        for handle in handles:
            for axis, size in enumerate(handle.dims):
                if not isinstance(size, int):
                    builder.add_root(SizeSource(str(size), handle, axis))
        built = build(*handles, **params)
        builder.finish([built] if isinstance(built, Tensor) else list(built))
    return to_bytecode(builder.module)
