"""Dense linear algebra on the last two axes, batched over the others.

In: handles on matrices. Out: handles. What is emitted is portable: StableHLO's `cholesky` and `triangular_solve`, and a
private function for LU, written in StableHLO and marked `hlograph.implements = "lu"`. When the platform is known, the
`device_linalg` pass puts the platform's library (LAPACK through jaxlib on CPU, cuSOLVER on GPU) in their place.
"""

from __future__ import annotations

import numpy as np

from ..dims import Dim, minimum
from .control import call
from .core import Tensor
from .elementwise import add, and_, compare, convert, divide, select
from .indexing import gather
from .matrices import (
    exchanged,
    minus_outer,
    number,
    over_batch,
    pick,
    pivot_size,
    places,
    spread,
    steps,
)
from .reduce import arg_reduce, reduce_monoid, sort
from .shape import all_static, broadcast_in_dim, concatenate, expand_dims, iota, reshape
from .shape import slice as slice_
from .types import INT32, INT64, Dims, DType


def flag(value: bool) -> str:
    """Text of a boolean attribute."""
    return "true" if value else "false"


def cholesky(a: Tensor, *, lower: bool = True) -> Tensor:
    """`stablehlo.cholesky` of `a` (..., n, n), one triangle read; the other triangle of the result is zero.

    A matrix that is not positive definite gives NaN.
    """
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "cholesky")
    result = builder.op("stablehlo.cholesky", [a], a.dims, a.dtype, (("lower", flag(lower)),))
    return triangle(result, lower=lower)


def triangle(a: Tensor, *, lower: bool, diagonal: int = 0) -> Tensor:
    """`a` (..., n, m) with what is above (or below) the given diagonal set to zero: NumPy's `tril` and `triu`."""
    rank = a.ndim
    rows = iota(a.builder, a.dims[-2:], 0, INT64)
    columns = iota(a.builder, a.dims[-2:], 1, INT64)
    shifted = add(rows, diagonal) if diagonal else rows
    keep = compare("GE" if lower else "LE", shifted, columns)
    keep = broadcast_in_dim(keep, a.dims, (rank - 2, rank - 1))
    return select(keep, a, a.builder.constant(np.zeros((), a.dtype)))


def triangular_solve(
    a: Tensor,
    b: Tensor,
    *,
    lower: bool,
    left_side: bool = True,
    unit_diagonal: bool = False,
    transpose: bool = False,
    adjoint: bool = False,
) -> Tensor:
    """`stablehlo.triangular_solve`: x with `op(a) x = b`, or `x op(a) = b`; `a` (..., n, n), `b` (..., n, k).

    `op` is nothing, the transpose, or the adjoint (conjugate transpose).
    """
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "triangular_solve")
    builder.equate(a.dims[-1], b.dims[-2 if left_side else -1], "triangular_solve, right-hand side")
    op = "ADJOINT" if adjoint else "TRANSPOSE" if transpose else "NO_TRANSPOSE"
    attributes = (
        ("left_side", flag(left_side)),
        ("lower", flag(lower)),
        ("unit_diagonal", flag(unit_diagonal)),
        ("transpose_a", f"#stablehlo<transpose {op}>"),
    )
    return builder.op("stablehlo.triangular_solve", [a, b], b.dims, b.dtype, attributes)


def lu(a: Tensor) -> tuple[Tensor, Tensor]:
    """LU with partial pivoting of `a` (..., n, n).

    Returns:
        The packed factors (..., n, n), unit lower and upper, and the row permutation (..., n) int32, such that
        `a[permutation] = L U`. A zero pivot leaves zero below it, as LAPACK's getrf does.
    """
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "lu")
    factors, permutation = call(f"lu_{a.dtype.name}", [a], _lu, attributes={"hlograph.implements": '"lu"'})
    return factors, permutation


def lu_factor(a: Tensor) -> tuple[Tensor, Tensor]:
    """As `lu`, of `a` (..., m, n), with LAPACK's pivots (..., k) int32 for the permutation, k = min(m, n).

    Row i was exchanged with row `pivots[i]`.
    """
    attributes = {"hlograph.implements": '"lu_factor"'}
    factors, pivots = call(f"lu_factor_{a.dtype.name}", [a], lambda x: _lu(x, pivots=True), attributes=attributes)
    return factors, pivots


def pivots_to_permutation(pivots: Tensor, *, inverse: bool, rows: Dim | None = None) -> Tensor:
    """The permutation (..., m) int64 that exchanging row i with `pivots[i]`, in order, makes of 0, 1, ...

    Args:
        pivots: (..., k) int32, as `lu_factor` gives them.
        inverse: the permutation p with `a[p] = L U`; else its inverse.
        rows: m, where it is not k.
    """
    builder, axis = pivots.builder, pivots.ndim - 1
    numbers = iota(builder, pivots.dims, axis, INT64)
    start = numbers if rows is None else iota(builder, (*pivots.dims[:-1], rows), axis, INT64)
    targets = convert(pivots, INT64)

    def body(k: Tensor, order: Tensor) -> list[Tensor]:
        return [exchanged(order, k, pick(targets, compare("EQ", numbers, k), -1), -1)]

    order = steps(pivots.dims[-1], [start], body)[0]
    if inverse:
        return order
    return sort([order, start], axis, lambda a, b, i, j: compare("LT", a, b), key="inverse")[1]


def _lu(a: Tensor, *, pivots: bool = False) -> list[Tensor]:
    """One column a step, on whole matrices through masks, so that batch axes need no thought.

    Besides the factors, the row permutation, or the row that each step brought up.
    """
    zero = number(a, 0)
    rows, columns = places(a, -2), places(a, -1)
    of_rows, of_columns = (iota(a.builder, (*a.dims[:-2], a.dims[axis]), a.ndim - 2, INT64) for axis in (-2, -1))
    count = minimum(a.dims[-2], a.dims[-1])
    turns = iota(a.builder, (*a.dims[:-2], count), a.ndim - 2, INT64)

    def body(k: Tensor, matrix: Tensor, order: Tensor) -> list[Tensor]:
        at_column = compare("EQ", columns, k)
        size = pivot_size(pick(matrix, at_column, -1))
        size = select(compare("GE", of_rows, k), size, number(size, -1))
        pivot_row = arg_reduce(size, a.ndim - 2, "maximum")
        matrix = exchanged(matrix, k, pivot_row, -2)
        if pivots:
            order = select(compare("EQ", turns, k), over_batch(convert(pivot_row, INT32), order), order)
        else:
            order = exchanged(order, k, pivot_row, -1)
        column, row = pick(matrix, at_column, -1), pick(matrix, compare("EQ", rows, k), -2)
        pivot = over_batch(pick(row, compare("EQ", of_columns, k), -1), column)
        usable = and_(compare("GT", of_rows, k), compare("NE", pivot, zero))
        multipliers = select(usable, divide(column, pivot), zero)
        later = select(compare("GT", of_columns, k), row, zero)
        replaced = and_(at_column, spread(usable, a, -1))
        return [select(replaced, spread(multipliers, a, -1), minus_outer(matrix, multipliers, later)), order]

    first = iota(a.builder, turns.dims if pivots else a.dims[:-1], a.ndim - 2, INT32)
    return steps(count, [a, first], body)


def lu_solve(factors: Tensor, permutation: Tensor, b: Tensor) -> Tensor:
    """x with `a x = b` from `lu(a)`; `b` (..., n, k)."""
    y = permuted_rows(b, permutation)
    y = triangular_solve(factors, y, lower=True, unit_diagonal=True)
    return triangular_solve(factors, y, lower=False)


def permuted_rows(b: Tensor, permutation: Tensor) -> Tensor:
    """Row `permutation[..., i]` of `b` (..., n, k) as row i."""
    rank = b.ndim
    axes = list(range(rank - 1))
    batch = [iota(b.builder, permutation.dims, axis, permutation.dtype) for axis in axes[:-1]]
    places = concatenate([expand_dims(x, [rank - 1]) for x in (*batch, permutation)], rank - 1)
    return gather(
        b,
        places,
        offset_dims=[rank - 1],
        collapsed_slice_dims=axes,
        start_index_map=axes,
        index_vector_dim=rank - 1,
        slice_sizes=(*[minimum(dim, 1) for dim in b.dims[:-1]], b.dims[-1]),  # n may be 0
    )


def permutation_sign(permutation: Tensor, dtype: DType) -> Tensor:
    """+1 or -1: the parity of each permutation (..., n), from its number of inversions. Shape (...)."""
    builder, rank = permutation.builder, permutation.ndim
    dims: Dims = (*permutation.dims, permutation.dims[-1])
    left = broadcast_in_dim(permutation, dims, range(rank))
    right = broadcast_in_dim(permutation, dims, [*range(rank - 1), rank])
    before = compare("LT", iota(builder, dims, rank - 1, INT64), iota(builder, dims, rank, INT64))
    inverted = and_(before, compare("GT", left, right))
    # A product, not a parity by `xor`, for which XLA:GPU has no all-reduce where the matrix is divided among devices.
    signs = select(inverted, builder.constant(np.array(-1, dtype)), builder.constant(np.array(1, dtype)))
    return reduce_monoid(signs, (rank - 1, rank), "multiply")


def diagonal(a: Tensor) -> Tensor:
    """The main diagonals of square matrices (..., n, n), shape (..., n): every (n + 1)-th element."""
    builder, batch = a.builder, a.dims[:-2]
    n = builder.equate(a.dims[-2], a.dims[-1], "diagonal")
    flat = reshape(a, (*batch, n * n))
    if all_static(flat.dims):
        return slice_(flat, [0] * flat.ndim, flat.dims, [*[1] * len(batch), int(n) + 1])  # type: ignore[arg-type]
    start, limit, stride = (
        builder.size_vector(sizes) for sizes in ([0] * flat.ndim, flat.dims, (*[1] * len(batch), n + 1))
    )
    return builder.op("stablehlo.real_dynamic_slice", [flat, start, limit, stride], (*batch, n), a.dtype)
