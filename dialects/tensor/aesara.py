"""Ops that Aesara has and PyTensor has not, or writes as graphs of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor, matrices
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers
from .elemwise import reduced_axes
from .linalg import eigenpairs, factor_solve, sylvester
from .shape import broadcast_to, common_dims, sizes_of


@lowers("BroadcastTo")
def broadcast(ctx: Context, node: Any, x: Tensor, *sizes: Tensor) -> Tensor:
    """`numpy.broadcast_to`."""
    return broadcast_to(ctx, x, sizes_of(ctx, sizes, "BroadcastTo"), "BroadcastTo")


@lowers("MatMul")
def matmul(ctx: Context, node: Any, x: Tensor, y: Tensor) -> Tensor:
    """`numpy.matmul`: matrix products over leading axes that stretch; a vector is a row on the left, a column on the
    right."""
    dtype = np.result_type(x.dtype, y.dtype) if node.op.dtype is None else ctx.out_dtype()
    left, right = hlo.convert(x, dtype), hlo.convert(y, dtype)
    left = hlo.expand_dims(left, [0]) if x.ndim == 1 else left
    right = hlo.expand_dims(right, [1]) if y.ndim == 1 else right
    batch = common_dims(ctx, [left.dims[:-2], right.dims[:-2]], "MatMul") if max(left.ndim, right.ndim) > 2 else ()
    left, right = (broadcast_to(ctx, a, (*batch, *a.dims[-2:]), "MatMul") for a in (left, right))
    product = matrices.matmul(left, right)
    rank = product.ndim
    product = hlo.squeeze(product, [*([rank - 2] if x.ndim == 1 else []), *([rank - 1] if y.ndim == 1 else [])])
    return hlo.convert(product, ctx.out_dtype())


@lowers("Mean")
def mean(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """The mean over axes."""
    dtype = ctx.out_dtype()
    axes = reduced_axes(node.op.axis, x.ndim)
    count = ctx.builder.size(hlo.product([x.dims[axis] for axis in axes]))
    return hlo.reduce_monoid(hlo.convert(x, dtype), axes, "add") / hlo.convert(count, dtype)


@lowers("QRFull")
def qr(ctx: Context, node: Any, a: Tensor) -> list[Tensor]:
    """Householder QR, in all of NumPy's modes."""
    mode = node.op.mode
    packed, taus = hlo.householder_qr(hlo.convert(a, ctx.out_dtype()))
    if mode == "raw":
        return [hlo.transpose(packed, (1, 0)), taus]
    upper = hlo.triangle(packed, lower=False)
    if mode != "complete":
        upper = hlo.slice_axis(upper, 0, 0, hlo.rank_of(packed))
    if mode == "r":
        return [upper]
    columns = hlo.reflectors(packed, complete=mode == "complete")
    return [hlo.householder_product(columns, taus), upper]


# ---- derivatives that are ops ----------------------------------------------------------------------------------------


def _of_triangle(gradient: Tensor, lower: bool) -> Tensor:
    strict = hlo.triangle(gradient, lower=not lower, diagonal=1 if lower else -1)
    return hlo.triangle(gradient, lower=lower) + matrices.adjoint(strict)


def _real(ctx: Context, *operands: Tensor) -> list[Tensor]:
    dtype = ctx.out_dtype()
    if dtype.kind != "f" or any(x.dtype.kind == "c" for x in operands):
        raise UnsupportedGraphError(f"derivatives of the eigenvalues of complex matrices ({ctx.builder.where})")
    return [hlo.convert(x, dtype) for x in operands]


def _scaled_columns(vectors: Tensor, factors: Tensor) -> Tensor:
    return vectors * hlo.broadcast_in_dim(factors, vectors.dims, (1,))


@lowers("EighGrad")
def eigh_gradient(ctx: Context, node: Any, *operands: Tensor) -> Tensor:
    """The gradient by a symmetric matrix, from those by its eigenvalues w and eigenvectors V.

    `V (diag(gw) + F * (gV^T V)) V^T`, where F[n, m] is 1 / (w[n] - w[m]), and 0 on the diagonal.
    """
    _, values, vectors, by_values, by_vectors = _real(ctx, *operands)
    dims = vectors.dims
    gaps = hlo.broadcast_in_dim(values, dims, (0,)) - hlo.broadcast_in_dim(values, dims, (1,))
    diagonal = matrices.on_diagonal(vectors)
    one, zero = matrices.number(vectors, 1), matrices.number(vectors, 0)
    turned = matrices.matmul(matrices.adjoint(by_vectors), vectors)
    mixed = hlo.select(diagonal, zero, turned / hlo.select(diagonal, one, gaps))
    middle = hlo.select(diagonal, hlo.broadcast_in_dim(by_values, dims, (0,)), mixed)
    whole = matrices.matmul(matrices.matmul(vectors, middle), matrices.adjoint(vectors))
    return _of_triangle(whole, node.op.UPLO == "L")


@lowers("EigvalshGrad")
def eigvalsh_gradient(ctx: Context, node: Any, a: Tensor, b: Tensor, by_values: Tensor) -> list[Tensor]:
    """The gradients by A and B of `A v = w B v`, from that by the eigenvalues w."""
    a, b, by_values = _real(ctx, a, b, by_values)
    lower = bool(node.op.lower)
    values, vectors = eigenpairs(a, b, lower)
    transposed = matrices.adjoint(vectors)
    by_a = matrices.matmul(_scaled_columns(vectors, by_values), transposed)
    by_b = matrices.matmul(_scaled_columns(vectors, -(by_values * values)), transposed)
    return [_of_triangle(by_a, lower), _of_triangle(by_b, lower)]


@lowers("ExpmGrad")
def expm_gradient(ctx: Context, node: Any, a: Tensor, by_result: Tensor) -> Tensor:
    """The gradient by A of `exp(A)`: the upper right block of the exponential of `[[A^T, G], [0, A^T]]`."""
    a, by_result = (hlo.convert(x, ctx.out_dtype()) for x in (a, by_result))
    size = ctx.equate(a.dims[0], a.dims[1], "ExpmGrad")
    transposed = hlo.transpose(a, (1, 0))
    rows = [hlo.concatenate([transposed, by_result], 1), hlo.concatenate([hlo.full_like(a, 0), transposed], 1)]
    blocks = hlo.expm(hlo.concatenate(rows, 0))
    return hlo.slice_axis(hlo.slice_axis(blocks, 0, 0, size), 1, size, size)


# ---- Lyapunov's equations --------------------------------------------------------------------------------------------


@lowers("SolveContinuousLyapunov")
def continuous_lyapunov(ctx: Context, node: Any, a: Tensor, q: Tensor) -> Tensor:
    """X with `A X + X A^H = Q`."""
    a, q = (hlo.convert(x, ctx.out_dtype()) for x in (a, q))
    return sylvester(a, matrices.adjoint(a), q)


@lowers("BilinearSolveDiscreteLyapunov")
def discrete_lyapunov(ctx: Context, node: Any, a: Tensor, q: Tensor) -> Tensor:
    """X with `A X A^H - X + Q = 0`, by way of `B^H X + X B = -C` with `B = (A^H - 1) (A^H + 1)^-1`."""
    a, q = (hlo.convert(x, ctx.out_dtype()) for x in (a, q))
    one = matrices.identity_like(a)
    adjoint = matrices.adjoint(a)
    right = factor_solve(adjoint + one, one)
    left = factor_solve(a + one, q)
    b = matrices.matmul(adjoint - one, right)
    c = matrices.number(q, 2) * matrices.matmul(left, right)
    return sylvester(matrices.adjoint(b), b, -c)
