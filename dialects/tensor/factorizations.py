"""QR, LU, eigenvalues, singular values, Schur forms, and what is made of them: pseudo-inverses, least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor, matrices
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ...codegen.graph import Undeclared
from ..registry import lowers
from .host import host
from .linalg import factor_solve


@lowers("QR", batched=True)
def qr(ctx: Context, node: Any, a: Tensor) -> list[Tensor]:
    """Householder QR, in all of SciPy's modes."""
    mode = node.op.mode
    if getattr(node.op, "pivoting", False):
        packed, taus, order = hlo.pivoted_qr(hlo.convert(a, ctx.out_dtype()))
        last = [order]
    else:
        packed, taus = hlo.householder_qr(hlo.convert(a, ctx.out_dtype()))
        last = []
    upper, rows = hlo.triangle(packed, lower=False), packed.ndim - 2
    if mode in ("economic", "raw"):
        upper = hlo.slice_axis(upper, rows, 0, hlo.rank_of(packed))
    if mode == "raw":
        return [packed, taus, upper, *last]
    if mode == "r":
        return [upper, *last]
    columns = hlo.reflectors(packed, complete=mode == "full")
    return [hlo.householder_product(columns, taus), upper, *last]


def _where_finite(a: Tensor, function: Callable[[Tensor], Sequence[Tensor]]) -> list[Tensor]:
    """A function of matrices; NaN for those that hold NaN or infinity, with which some of LAPACK's never end."""
    finite = hlo.is_finite(matrices.real_part(a))
    if a.dtype.kind == "c":
        finite = finite & hlo.is_finite(hlo.imag(a))
    finite = hlo.reduce_monoid(finite, [a.ndim - 2, a.ndim - 1], "and")
    found = function(hlo.select(matrices.over_batch(finite, a), a, matrices.number(a, 0)))
    return [hlo.select(matrices.over_batch(finite, x), x, matrices.number(x, np.nan)) for x in found]


# ---- Hermitian matrices ----------------------------------------------------------------------------------------------


def _reads_lower(op: Any) -> bool:
    """Which triangle an op reads; the attribute's name changed in PyTensor 3."""
    return bool(op.lower) if hasattr(op, "lower") else op.UPLO == "L"


def eigenpairs(a: Tensor, b: Tensor | None, lower: bool) -> tuple[Tensor, Tensor]:
    """The eigenvalues of `a v = w v`, or of `a v = w b v`, from one triangle of each, and the vectors v."""
    whole, factor = _standard(a, b, lower)
    vectors, values = _where_finite(whole, hlo.eigh)
    if factor is not None:
        vectors = hlo.triangular_solve(factor, vectors, lower=True, adjoint=True)
    return values, vectors


def _standard(a: Tensor, b: Tensor | None, lower: bool) -> tuple[Tensor, Tensor | None]:
    """The Hermitian matrix, as its lower triangle, that has the eigenvalues; with `b`, the factor L of `b = L L^H`.

    They are those of `L^-1 a L^-H`.
    """
    dtype = _inexact(a) if b is None else np.result_type(_inexact(a), _inexact(b))
    a = _lower_of(hlo.convert(a, dtype), lower)
    if b is None:
        return a, None
    factor = hlo.cholesky(_lower_of(hlo.convert(b, dtype), lower), lower=True)
    strict = hlo.triangle(a, lower=True, diagonal=-1)
    whole = hlo.triangle(a, lower=True) + matrices.adjoint(strict)
    left = hlo.triangular_solve(factor, whole, lower=True)
    return hlo.triangular_solve(factor, left, lower=True, left_side=False, adjoint=True), factor


def _lower_of(a: Tensor, lower: bool) -> Tensor:
    """The Hermitian matrix of which a triangle of `a` is read, with that triangle as the lower one."""
    return a if lower else matrices.adjoint(a)


def _inexact(x: Tensor) -> np.dtype[Any]:
    """The dtype in which NumPy works for another one."""
    return x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)


@lowers("Eigh", batched=True)
def eigh(ctx: Context, node: Any, a: Tensor, b: Tensor | None = None) -> tuple[Tensor, Tensor | Undeclared]:
    """Eigenvalues from low to high, and eigenvectors; NaN where the matrix holds NaN, or `b` is not definite.

    Those of complex matrices are complex, whatever the graph says: PyTensor declares them real.
    """
    values, vectors = eigenpairs(a, b, _reads_lower(node.op))
    values, declared = hlo.convert(values, ctx.out_dtype(0)), ctx.out_dtype(1)
    if vectors.dtype.kind == "c" and declared.kind != "c":
        why = (
            "eigenvectors of a complex matrix are complex, and the graph declares them real: what is computed of them "
        )
        return values, Undeclared(vectors, f"{why}would be wrong; they can be a result as they are")
    return values, hlo.convert(vectors, declared)


@lowers("Eigvalsh", batched=True)
def eigvalsh(ctx: Context, node: Any, a: Tensor, b: Tensor | None = None) -> Tensor:
    """The eigenvalues alone."""
    whole, _ = _standard(a, b, _reads_lower(node.op))
    return hlo.convert(_where_finite(whole, lambda x: hlo.eigh(x)[1:])[0], ctx.out_dtype())


# ---- singular values -------------------------------------------------------------------------------------------------


@lowers("SVD", batched=True)
def svd(ctx: Context, node: Any, a: Tensor) -> Tensor | tuple[Tensor, ...]:
    """U, singular values from high to low, V^H; or the values alone. NaN where the matrix holds NaN."""
    a = hlo.convert(a, _inexact(a))
    if not node.op.compute_uv:
        return hlo.convert(_where_finite(a, lambda x: [hlo.singular_values(x)])[0], ctx.out_dtype())
    results = _where_finite(a, partial(hlo.svd, complete=bool(node.op.full_matrices)))
    return tuple(hlo.convert(x, ctx.out_dtype(place)) for place, x in enumerate(results))


# NumPy takes singular values below this part of the largest one for zero.
_CUTOFF = 1e-15


def _inverses(values: Tensor) -> Tensor:
    """1 over each number (..., k), 0 for what is 0 beside the largest one."""
    sizes = hlo.abs(values)
    largest = hlo.reduce_monoid(sizes, [values.ndim - 1], "maximum")
    limit = matrices.spread(largest, values, -1) * float(values.dtype.type(_CUTOFF))
    zero, nothing = sizes <= limit, matrices.number(values, 0)
    return hlo.select(zero, nothing, hlo.divide(1, hlo.select(zero, matrices.number(values, 1), values)))


@lowers("MatrixPinv", batched=True)
def pinv(ctx: Context, node: Any, a: Tensor) -> Tensor:
    """The pseudo-inverse, from singular values, or from eigenvalues where the matrix is said to be Hermitian."""
    a = hlo.convert(a, ctx.out_dtype())
    if getattr(node.op, "hermitian", False):
        left, values = _where_finite(a, hlo.eigh)
        right = matrices.adjoint(left)
    else:
        left, values, right = _where_finite(a, hlo.svd)
    inverses = hlo.convert(_inverses(values), a.dtype)
    columns = matrices.adjoint(right)
    scaled = columns * matrices.spread(inverses, columns, -2)
    return matrices.matmul(scaled, matrices.adjoint(left))


# ---- LU --------------------------------------------------------------------------------------------------------------


@lowers("LU", batched=True)
def lu(ctx: Context, node: Any, a: Tensor) -> tuple[Tensor, ...]:
    """L and U with partial pivoting, and the permutation, as a matrix or as indices; or L with its rows permuted."""
    factors, order = hlo.lu(hlo.convert(a, ctx.out_dtype(1)))
    strict = hlo.triangle(factors, lower=True, diagonal=-1)
    lower = strict + matrices.identity_like(factors)
    upper = hlo.triangle(factors, lower=False)
    # Row i of L U is row order[i] of the matrix; `places` says where each row went.
    rows = matrices.places(factors, -2)
    moved = hlo.compare("EQ", rows, matrices.spread(hlo.convert(order, np.int64), factors, -2))
    if not node.op.permute_l and not node.op.p_indices:
        return hlo.convert(moved, ctx.out_dtype(0)), lower, upper
    places = hlo.convert(matrices.pick(matrices.places(factors, -1), moved, -1), np.int32)
    if node.op.p_indices:
        return hlo.convert(places, ctx.out_dtype(0)), lower, upper
    return hlo.permuted_rows(lower, places), upper


# ---- any square matrix -----------------------------------------------------------------------------------------------


@lowers("Eig", batched=True)
def eig(ctx: Context, node: Any, a: Tensor) -> list[Tensor]:
    """Eigenvalues and right eigenvectors; where the graph declares them real (Aesara), those that are not raise."""
    found = _where_finite(hlo.convert(a, _inexact(a)), hlo.eig)
    if ctx.out_dtype().kind != "c":
        values = hlo.imag(found[0])
        rest = hlo.compare("EQ", values, 0)
        undecided = hlo.compare("NE", values, values)
        ctx.check(rest | undecided, "ValueError", "Eig has complex eigenvalues, and the graph declares them real")
        found = [hlo.real(x) for x in found]
    return [hlo.convert(x, ctx.out_dtype(place)) for place, x in enumerate(found)]


@lowers("Schur", batched=True)
def schur(ctx: Context, node: Any, a: Tensor) -> Sequence[Tensor]:
    """The Schur form and its vectors."""
    if getattr(node.op, "sort", None) is not None:  # no library that JAX calls sorts eigenvalues: SciPy does, in Python
        if getattr(node, "batch_ndim", 0):
            raise UnsupportedGraphError(
                f"Schur with sort={node.op.sort!r} of a batch; apply it to one matrix at a time"
            )
        return host(ctx, node, a)
    return _where_finite(hlo.convert(a, ctx.out_dtype()), hlo.schur)


@lowers("TensorInv")
def tensor_inverse(ctx: Context, node: Any, a: Tensor) -> Tensor:
    """The inverse of a tensor as a map from its last axes to its first ones."""
    rows, columns = a.dims[: node.op.ind], a.dims[node.op.ind :]
    size = ctx.equate(hlo.product(rows), hlo.product(columns), "tensorinv")
    matrix = hlo.reshape(hlo.convert(a, ctx.out_dtype()), (size, size))
    return hlo.reshape(factor_solve(matrix, matrices.identity_like(matrix)), (*columns, *rows))


@lowers("TensorSolve")
def tensor_solve(ctx: Context, node: Any, a: Tensor, b: Tensor) -> Tensor:
    """x of which the contraction with the last axes of a tensor is `b`; NaN where the tensor is singular."""
    dtype, axes = ctx.out_dtype(), node.op.axes
    a, b = hlo.convert(a, dtype), hlo.convert(b, dtype)
    if axes is not None:
        last = [axis % a.ndim for axis in axes]
        a = hlo.transpose(a, [*[axis for axis in range(a.ndim) if axis not in last], *last])
    dims = a.dims[b.ndim :]
    if len(dims) != node.outputs[0].type.ndim:
        raise UnsupportedGraphError(
            f"TensorSolve whose solution has {len(dims)} axes: the graph declares {node.outputs[0].type.ndim}"
        )
    size = ctx.equate(hlo.product(dims), hlo.product(b.dims), "tensorsolve")
    x = factor_solve(hlo.reshape(a, (size, size)), hlo.reshape(b, (size, 1)))
    return hlo.reshape(x, dims)


@lowers("Lstsq")
def least_squares(ctx: Context, node: Any, a: Tensor, b: Tensor, rcond: Tensor) -> list[Tensor]:
    """The solution of least squares of least norm, residuals, rank and singular values, as NumPy's `lstsq` has them.

    There are residuals only where the rank is full and there are more rows than columns: their number is data.
    """
    if b.ndim != 2 or a.ndim != 2 or rcond.ndim != 0 or "c" in (a.dtype.kind, b.dtype.kind):
        raise UnsupportedGraphError("Lstsq of anything but real matrices and a scalar: the graph declares such results")
    dtype = ctx.out_dtype()
    a, b, rcond = (hlo.convert(x, dtype) for x in (a, b, rcond))
    left, values, right = _where_finite(a, hlo.svd)
    # What LAPACK takes for one that makes no sense.
    sensible = (rcond > 0) & (rcond < 1)
    part = hlo.select(sensible, rcond, matrices.number(rcond, float(np.finfo(dtype).eps) / 2))
    largest = hlo.reduce_monoid(values, [0], "maximum")
    kept = values > matrices.spread(part * largest, values, -1)
    one, zero = matrices.number(values, 1), matrices.number(values, 0)
    inverses = hlo.select(kept, one / hlo.select(kept, values, one), zero)
    turned = matrices.matmul(matrices.adjoint(left), b)
    x = matrices.matmul(matrices.adjoint(right), turned * matrices.spread(inverses, turned, -1))
    rank = hlo.reduce_monoid(hlo.convert(kept, np.int64), [0], "add")
    return [x, _residuals(ctx, a, x, b, rank), hlo.convert(rank, ctx.out_dtype(2)), values]


def _residuals(ctx: Context, a: Tensor, x: Tensor, b: Tensor, rank: Tensor) -> Tensor:
    """The sums of squares of `b - a x`, or none where the rank says that they are 0 or not the least."""
    rest = b - matrices.matmul(a, x)
    squared = hlo.reduce_monoid(rest * rest, [0], "add")
    rows, columns = a.dims
    if type(rows) is int and type(columns) is int and rows <= columns:
        return hlo.slice_axis(squared, 0, 0, 0)
    full = hlo.compare("EQ", rank, ctx.builder.size(columns))
    determined = full & (ctx.builder.size(rows) > ctx.builder.size(columns))
    count = hlo.convert(determined, np.int64) * ctx.builder.size(b.dims[1])
    return hlo.slice_axis(squared, 0, 0, hlo.data_size(count, "residuals", b.dims[1]))
