"""Products of matrices and the BLAS ops; decompositions and what is made of them; matrix equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor, matrices
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ...codegen.graph import Undeclared
from ..registry import lowers
from .host import host


def _matmul(x: Tensor, y: Tensor, dtype: Any, batch: int = 0) -> Tensor:
    """`numpy.dot` of vectors and matrices, over `batch` leading axes that both have."""
    x, y = hlo.convert(x, dtype), hlo.convert(y, dtype)
    if x.dtype.kind == "b":
        return hlo.convert(_matmul(hlo.convert(x, np.int32), hlo.convert(y, np.int32), np.int32, batch), bool)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    axes = list(range(batch))
    return hlo.dot_general(x, y, contracting=([x.ndim - 1], [max(y.ndim - 2, batch)]), batching=(axes, axes))


@lowers("Dot", "Dot22", "BatchedDot", batched=True)
def dot(ctx: Context, node: Any, x: Tensor, y: Tensor) -> Tensor:
    """Matrix and vector products; of `BatchedDot` one for each element of the first axis."""
    own = int(type(node.op).__name__ == "BatchedDot")
    return _matmul(x, y, ctx.out_dtype(), getattr(node, "batch_ndim", 0) + own)


@lowers("Dot22Scalar")
def dot22_scalar(ctx: Context, node: Any, x: Tensor, y: Tensor, a: Tensor) -> Tensor:
    """a x y."""
    dtype = ctx.out_dtype()
    return _matmul(x, y, dtype) * hlo.convert(a, dtype)


def _scaled(factor: Tensor, x: Tensor) -> Tensor:
    if factor.literal is not None and factor.literal.size == 1 and factor.literal.item() == 1:
        return x
    return hlo.reshape(factor, ()) * x


@lowers("Gemv", "Gemm")
def gemm(ctx: Context, node: Any, z: Tensor, a: Tensor, x: Tensor, y: Tensor, b: Tensor) -> Tensor:
    """b z + a x y, as BLAS has it: z is not read where b is the constant 0; it may be smaller, and stretches."""
    dtype = ctx.out_dtype()
    a, b = hlo.convert(a, dtype), hlo.convert(b, dtype)
    product = _scaled(a, _matmul(x, y, dtype))
    if b.literal is not None and b.literal.size == 1 and b.literal.item() == 0:
        return product
    return product + _scaled(b, hlo.broadcast(z, product.dims))


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


# Functions of matrices in the result's dtype.
for _op, _function in {
    "Expm": hlo.expm,
    # By LU; NaN where the matrix is singular, as `Solve` has it.
    **dict.fromkeys(("MatrixInverse", "Inv"), lambda a: factor_solve(a, matrices.identity_like(a))),
    # The stabilizing solution by doubling, in place of the op's graph, whose QZ decomposition no library has; NaN where
    # there is none, and where R is singular or Q does not see an unstable state.
    "SolveDiscreteARE": hlo.discrete_riccati,
}.items():
    lowers(_op, batched=True)(
        lambda ctx, node, *operands, function=_function: function(*(hlo.convert(x, ctx.out_dtype()) for x in operands))
    )


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


# ---- decompositions --------------------------------------------------------------------------------------------------


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
    return a if lower else matrices.adjoint(a)


def _inexact(x: Tensor) -> np.dtype[Any]:
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


def _inverses(values: Tensor, part: Tensor | float) -> tuple[Tensor, Tensor]:
    """Which numbers (..., k) are no zeros beside so small a part of the largest one; and 1 over each, 0 for zeros."""
    sizes, one = hlo.abs(values), matrices.number(values, 1)
    largest = hlo.reduce_monoid(sizes, [values.ndim - 1], "maximum") * part
    kept = sizes > matrices.spread(largest, values, -1)
    return kept, hlo.select(kept, one / hlo.select(kept, values, one), matrices.number(values, 0))


@lowers("MatrixPinv", batched=True)
def pinv(ctx: Context, node: Any, a: Tensor) -> Tensor:
    """The pseudo-inverse, from singular values, or from eigenvalues where the matrix is said to be Hermitian."""
    a = hlo.convert(a, ctx.out_dtype())
    if getattr(node.op, "hermitian", False):
        left, values = _where_finite(a, hlo.eigh)
        right = matrices.adjoint(left)
    else:
        left, values, right = _where_finite(a, hlo.svd)
    inverses = hlo.convert(_inverses(values, float(values.dtype.type(_CUTOFF)))[1], a.dtype)
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
    kept, inverses = _inverses(values, part)
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


# ---- other functions of matrices -------------------------------------------------------------------------------------


@lowers("BlockDiagonal", batched=True)
def block_diagonal(ctx: Context, node: Any, *blocks: Tensor) -> Tensor:
    """Blocks from the upper left to the lower right, zeros beside them."""
    dtype = ctx.out_dtype()
    zero, axis = ctx.constant(np.zeros((), dtype)), blocks[0].ndim - 1
    before: Dim = 0
    width: Dim = 0
    for x in blocks:
        width = width + x.dims[axis]
    rows = []
    for x in blocks:
        none = [0] * axis
        after = width - before - x.dims[axis]
        rows.append(hlo.pad(hlo.convert(x, dtype), zero, [*none, before], [*none, after]))
        before = before + x.dims[axis]
    return hlo.concatenate(rows, axis - 1)


# ---- Sylvester's equation --------------------------------------------------------------------------------------------


@lowers("TRSYL", batched=True)
def trsyl(ctx: Context, node: Any, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """X with `A X + X B = C`, of Schur forms A and B; infinite or NaN where an eigenvalue of A is minus one of B."""
    dtype = ctx.out_dtype()
    a, b, c = (hlo.convert(x, dtype) for x in (a, b, c))
    if dtype.kind == "c":
        return hlo.triangular_sylvester(a, b, c)
    (turn_a, a), (turn_b, b) = hlo.triangular_form(a), hlo.triangular_form(b)
    return hlo.real(_turned_sylvester(turn_a, a, turn_b, b, hlo.convert(c, a.dtype)))


def _turned_sylvester(turn_a: Tensor, a: Tensor, turn_b: Tensor, b: Tensor, c: Tensor) -> Tensor:
    turned = matrices.matmul(matrices.matmul(matrices.adjoint(turn_a), c), turn_b)
    x = matrices.matmul(turn_a, hlo.triangular_sylvester(a, b, turned))
    return matrices.matmul(x, matrices.adjoint(turn_b))


def sylvester(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """X with `A X + X B = C`, of any square A and B of C's dtype."""
    dtype = c.dtype
    a, b, c = (hlo.convert(x, np.result_type(dtype, np.complex64)) for x in (a, b, c))
    (a, turn_a), (b, turn_b) = hlo.schur(a), hlo.schur(b)
    x = _turned_sylvester(turn_a, a, turn_b, b, c)
    return x if dtype.kind == "c" else hlo.real(x)


# ---- tridiagonal systems ---------------------------------------------------------------------------------------------


@lowers("LUFactorTridiagonal", batched=True)
def factor_tridiagonal(ctx: Context, node: Any, low: Tensor, main: Tensor, high: Tensor) -> list[Tensor]:
    """LU of a tridiagonal matrix with partial pivoting, as LAPACK's gttrf packs it."""
    found = hlo.tridiagonal_lu(*(hlo.convert(x, ctx.out_dtype()) for x in (low, main, high)))
    return [hlo.convert(x, ctx.out_dtype(place)) for place, x in enumerate(found)]


@lowers("SolveLUFactorTridiagonal", batched=True)
def solve_factored_tridiagonal(ctx: Context, node: Any, *operands: Tensor) -> Tensor:
    """x with `A x = b` from the factors of `LUFactorTridiagonal`; or with the transpose of A."""
    *factors, pivots, b = operands
    low, main, high, higher = (hlo.convert(x, ctx.out_dtype()) for x in factors)
    transposed = bool(node.op.transposed)
    return solved(
        ctx, node, b, lambda x: hlo.tridiagonal_solve(low, main, high, higher, pivots, x, transposed=transposed)
    )
