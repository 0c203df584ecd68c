"""Dot and the BLAS ops, Cholesky, solves, inverse and determinants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor, matrices
from ...codegen.emit import Context
from ..registry import lowers


def _matmul(x: Tensor, y: Tensor, dtype: Any, batch: int = 0) -> Tensor:
    """`numpy.dot` of vectors and matrices, over `batch` leading axes that both have."""
    x, y = hlo.convert(x, dtype), hlo.convert(y, dtype)
    if x.dtype.kind == "b":
        return hlo.convert(_matmul(hlo.convert(x, np.int32), hlo.convert(y, np.int32), np.int32, batch), bool)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    axes = list(range(batch))
    return hlo.dot_general(x, y, contracting=([x.ndim - 1], [max(y.ndim - 2, batch)]), batching=(axes, axes))


@lowers("Dot", "Dot22", batched=True)
def dot(ctx: Context, node: Any, x: Tensor, y: Tensor) -> Tensor:
    """Matrix and vector products."""
    return _matmul(x, y, ctx.out_dtype(), getattr(node, "batch_ndim", 0))


@lowers("Dot22Scalar")
def dot22_scalar(ctx: Context, node: Any, x: Tensor, y: Tensor, a: Tensor) -> Tensor:
    """a x y."""
    dtype = ctx.out_dtype()
    return _matmul(x, y, dtype) * hlo.convert(a, dtype)


@lowers("BatchedDot")
def batched_dot(ctx: Context, node: Any, x: Tensor, y: Tensor) -> Tensor:
    """A product for each element of the first axis."""
    dtype = ctx.out_dtype()
    x, y = hlo.convert(x, dtype), hlo.convert(y, dtype)
    return hlo.dot_general(x, y, contracting=([x.ndim - 1], [1]), batching=([0], [0]))


def _scaled(factor: Tensor, x: Tensor) -> Tensor:
    """factor * x, left out where the factor is the constant 1."""
    if factor.literal is not None and factor.literal.size == 1 and factor.literal.item() == 1:
        return x
    return hlo.reshape(factor, ()) * x


def _plus_scaled(x: Tensor, factor: Tensor, y: Tensor) -> Tensor:
    """x + factor * y, as BLAS has it: y is not read where the factor is the constant 0."""
    if factor.literal is not None and factor.literal.size == 1 and factor.literal.item() == 0:
        return x
    return x + _scaled(factor, y)


@lowers("Gemv")
def gemv(ctx: Context, node: Any, y: Tensor, alpha: Tensor, a: Tensor, x: Tensor, beta: Tensor) -> Tensor:
    """beta y + alpha A x."""
    dtype = ctx.out_dtype()
    alpha, beta = hlo.convert(alpha, dtype), hlo.convert(beta, dtype)
    return _plus_scaled(_scaled(alpha, _matmul(a, x, dtype)), beta, y)


@lowers("Gemm")
def gemm(ctx: Context, node: Any, z: Tensor, a: Tensor, x: Tensor, y: Tensor, b: Tensor) -> Tensor:
    """b z + a x y; z may be a row, a column or a scalar that stretches."""
    dtype = ctx.out_dtype()
    a, b = hlo.convert(a, dtype), hlo.convert(b, dtype)
    product = _scaled(a, _matmul(x, y, dtype))
    return _plus_scaled(product, b, hlo.broadcast(z, product.dims))


@lowers("Ger")
def ger(ctx: Context, node: Any, a: Tensor, alpha: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """A + alpha outer(x, y)."""
    rows, columns = hlo.broadcast_in_dim(x, a.dims, (0,)), hlo.broadcast_in_dim(y, a.dims, (1,))
    return a + _scaled(hlo.convert(alpha, ctx.out_dtype()), rows * columns)


# ---- factorizations -----------------------------------------------------------------------------------------------


@lowers("Cholesky", batched=True)
def cholesky(ctx: Context, node: Any, a: Tensor) -> Tensor:
    """The Cholesky factor; NaN where the matrix is not positive definite, or an error if the op asks for one."""
    result = hlo.cholesky(hlo.convert(a, ctx.out_dtype()), lower=node.op.lower)
    if getattr(node.op, "on_error", "nan") == "raise":
        finite = hlo.compare("EQ", result, result)
        ctx.check(finite, "numpy.linalg.LinAlgError(ValueError)", "Matrix is not positive definite")
    return result


def solved(ctx: Context, node: Any, b: Tensor, solve: Callable[[Tensor], Tensor]) -> Tensor:
    """What a function of columns makes of right-hand sides, which may be one vector."""
    b = hlo.convert(b, ctx.out_dtype())
    if getattr(node.op, "b_ndim", b.ndim) != 1:  # Aesara's solvers have no `b_ndim`; they know no batches either
        return solve(b)
    x = solve(hlo.expand_dims(b, [b.ndim]))
    return hlo.squeeze(x, [x.ndim - 1])


def _nan_if_singular(x: Tensor, pivots: Tensor) -> Tensor:
    """x (..., n, k), or NaN where one of the pivots (..., n) is zero, as PyTensor fills it where LAPACK reports one."""
    batch = list(range(x.ndim - 2))
    zero, nan = (x.builder.constant(np.array(value, x.dtype)) for value in (0, np.nan))
    singular = hlo.reduce_monoid(hlo.compare("EQ", pivots, zero), [x.ndim - 2], "or")
    return hlo.select(hlo.broadcast_in_dim(singular, x.dims, batch), nan, x)


@lowers("SolveTriangular", batched=True)
def solve_triangular(ctx: Context, node: Any, a: Tensor, b: Tensor) -> Tensor:
    """x with `op(A) x = b`, reading one triangle of A; NaN where A is singular."""
    a, kind = hlo.convert(a, ctx.out_dtype()), getattr(node.op, "trans", 0)  # PyTensor transposes in the graph
    options = {"lower": node.op.lower, "transpose": kind in (1, "T", True), "adjoint": kind in (2, "C")}
    return solved(ctx, node, b, lambda x: _triangular(a, x, unit_diagonal=node.op.unit_diagonal, **options))


def _triangular(a: Tensor, b: Tensor, *, unit_diagonal: bool = False, **options: bool) -> Tensor:
    x = hlo.triangular_solve(a, b, unit_diagonal=unit_diagonal, **options)
    return x if unit_diagonal else _nan_if_singular(x, hlo.diagonal(a))


@lowers("CholeskySolve", batched=True)
def cholesky_solve(ctx: Context, node: Any, c: Tensor, b: Tensor) -> Tensor:
    """x with `A x = b` from the Cholesky factor of A."""
    c = hlo.convert(c, ctx.out_dtype())
    return solved(ctx, node, b, lambda x: _cholesky_solve(c, x, node.op.lower))


def _cholesky_solve(c: Tensor, b: Tensor, lower: bool) -> Tensor:
    y = hlo.triangular_solve(c, b, lower=lower, adjoint=not lower)
    return hlo.triangular_solve(c, y, lower=lower, adjoint=lower)


def _from_triangle(a: Tensor, lower: bool, kind: str) -> Tensor:
    """The symmetric ("sym") or Hermitian ("her") matrix of which `a` (..., n, n) holds one triangle."""
    kept = hlo.triangle(a, lower=lower)
    mirrored = matrices.swap(hlo.triangle(a, lower=lower, diagonal=-1 if lower else 1))
    return kept + (matrices.conjugate(mirrored) if kind == "her" else mirrored)


def factor_solve(a: Tensor, b: Tensor) -> Tensor:
    """x with `a x = b`, by LU; NaN where `a` is singular."""
    factors, permutation = hlo.lu(a)
    return _nan_if_singular(hlo.lu_solve(factors, permutation, b), hlo.diagonal(factors))


@lowers("Solve", batched=True)
def solve(ctx: Context, node: Any, a: Tensor, b: Tensor) -> Tensor:
    """x with `A x = b`: LU with partial pivoting, Cholesky for positive definite A; NaN where A is singular."""
    a, lower = hlo.convert(a, ctx.out_dtype()), node.op.lower
    kind = getattr(node.op, "assume_a", "gen")

    def columns(x: Tensor) -> Tensor:
        if kind == "pos":
            return _cholesky_solve(hlo.cholesky(a, lower=lower), x, lower)
        if kind in ("lower triangular", "upper triangular"):
            return _triangular(a, x, lower=kind.startswith("lower"))
        if kind in ("sym", "her"):
            return factor_solve(_from_triangle(a, lower, kind), x)
        if kind == "tridiagonal":
            return factor_solve(hlo.triangle(hlo.triangle(a, lower=True, diagonal=1), lower=False, diagonal=-1), x)
        return factor_solve(a, x)

    return solved(ctx, node, b, columns)


@lowers("LUFactor", batched=True)
def lu_factor(ctx: Context, node: Any, a: Tensor) -> tuple[Tensor, Tensor]:
    """Packed LU factors and pivots; all NaN where the matrix is singular, as PyTensor has it."""
    a.builder.equate(a.dims[-2], a.dims[-1], "lu_factor")
    factors, pivots = hlo.lu_factor(hlo.convert(a, ctx.out_dtype()))
    return _nan_if_singular(factors, hlo.diagonal(factors)), pivots


@lowers("PivotToPermutations", batched=True)
def pivot_to_permutations(ctx: Context, node: Any, pivots: Tensor) -> Tensor:
    """The row permutation that pivots stand for, or its inverse."""
    return hlo.convert(hlo.pivots_to_permutation(pivots, inverse=node.op.inverse), ctx.out_dtype())


@lowers("MatrixInverse", "Inv", batched=True)
def matrix_inverse(ctx: Context, node: Any, a: Tensor) -> Tensor:
    """The inverse, by LU; NaN where the matrix is singular, as `Solve` has it."""
    a = hlo.convert(a, ctx.out_dtype())
    return factor_solve(a, matrices.identity_like(a))


@lowers("Det", batched=True)
def det(ctx: Context, node: Any, a: Tensor) -> Tensor:
    """The determinant, by LU."""
    factors, permutation = hlo.lu(hlo.convert(a, ctx.out_dtype()))
    product = hlo.reduce_monoid(hlo.diagonal(factors), [a.ndim - 2], "multiply")
    return product * hlo.permutation_sign(permutation, product.dtype)


@lowers("SLogDet", batched=True)
def slogdet(ctx: Context, node: Any, a: Tensor) -> tuple[Tensor, Tensor]:
    """Sign and log of the absolute value of the determinant, by LU."""
    factors, permutation = hlo.lu(hlo.convert(a, ctx.out_dtype()))
    pivots = hlo.diagonal(factors)
    signs = hlo.reduce_monoid(hlo.sign(pivots), [a.ndim - 2], "multiply")
    logs = hlo.reduce_monoid(hlo.log(hlo.abs(pivots)), [a.ndim - 2], "add")
    return signs * hlo.permutation_sign(permutation, signs.dtype), logs
