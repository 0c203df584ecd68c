"""JAX's decompositions in plain StableHLO: what takes the place of each primitive's own lowering.

In: a primitive's operands as handles, and its parameters. Out: its results, made with the builder. On a CPU JAX calls
LAPACK; here they are ops of StableHLO and functions that say what they implement, as in a graph, so that they have
padding rules, and run where there is no library. Decision to know: JAX's names for ways of computing (`algorithm`,
`implementation`) are not looked at; the library's own choice comes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from ...codegen import builder as hlo
from ...codegen.builder import Tensor, matrices
from ...codegen.builder.types import INT32
from ...codegen.dims import minimum
from ...codegen.errors import UnsupportedGraphError
from ...codegen.ir.jax_compat import geqrf_primitive

Build = Callable[..., Tensor | Sequence[Tensor]]


def builds() -> list[tuple[Any, str, Build]]:
    """(primitive, name, what builds it)."""
    linalg = jax.lax.linalg
    return [
        (linalg.cholesky_p, "cholesky", _cholesky),
        (linalg.triangular_solve_p, "triangular_solve", _triangular_solve),
        (linalg.lu_p, "lu", _lu),
        (linalg.qr_p, "qr", _qr),
        (geqrf_primitive(), "geqrf", lambda a, **_: hlo.householder_qr(a)),
        (linalg.householder_product_p, "householder_product", lambda a, taus, **_: hlo.householder_product(a, taus)),
        (linalg.eigh_p, "eigh", _eigh),
        (linalg.svd_p, "svd", _svd),
    ]


def _cholesky(a: Tensor, **_: Any) -> Tensor:
    """The factor without zeros in the other triangle: JAX's callers write them."""
    return a.builder.op("stablehlo.cholesky", [a], a.dims, a.dtype, (("lower", "true"),))


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


def _lu(a: Tensor, **_: Any) -> list[Tensor]:
    """The packed factors, the pivots, and the permutation of the rows that they make."""
    factors, pivots = hlo.lu_factor(a)
    order = hlo.pivots_to_permutation(pivots, inverse=True, rows=a.dims[-2])
    return [factors, pivots, hlo.convert(order, INT32)]


def _qr(a: Tensor, *, pivoting: bool, full_matrices: bool, **_: Any) -> list[Tensor]:
    """Q, R, and the columns' order where they may change places."""
    packed, taus, *order = (hlo.pivoted_qr if pivoting else hlo.householder_qr)(a)
    q = hlo.householder_product(hlo.reflectors(packed, complete=full_matrices), taus)
    rows = a.dims[-2] if full_matrices else minimum(a.dims[-2], a.dims[-1])
    return [q, hlo.slice_axis(hlo.triangle(packed, lower=False), a.ndim - 2, 0, rows), *order]


def _eigh(a: Tensor, *, lower: bool, subset_by_index: Any = None, **_: Any) -> tuple[Tensor, Tensor]:
    """Vectors, and values from low to high; of the matrix whose lower triangle is that one."""
    _refuse_some("eigh", subset_by_index, a.dims[-1])
    return hlo.eigh(a if lower else matrices.adjoint(a))


def _svd(
    a: Tensor, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any = None, **_: Any
) -> Tensor | list[Tensor]:
    """Singular values from high to low, and U and V^H."""
    _refuse_some("svd", subset_by_index, minimum(a.dims[-2], a.dims[-1]))
    if not compute_uv:
        return hlo.singular_values(a)
    left, values, right = hlo.svd(a, complete=full_matrices)
    return [values, left, right]


def _refuse_some(name: str, subset_by_index: Any, count: Any) -> None:
    if subset_by_index not in (None, (0, count)):
        raise UnsupportedGraphError(f"{name} of some of the values (subset_by_index); take all of them, and slice")
