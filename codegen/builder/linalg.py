"""Dense linear algebra on the last two axes, batched over the others.

In: handles on matrices. Out: handles. What is emitted is portable: StableHLO's `cholesky` and `triangular_solve`, and a
private function for LU, written in StableHLO and marked `hlograph.implements = "lu"`. When the platform is known, the
`device_linalg` pass puts the platform's library (LAPACK through jaxlib on CPU, cuSOLVER on GPU) in their place.
"""

from __future__ import annotations

import numpy as np

from .control import call, while_loop
from .core import BOOL, INT64, Dims, Tensor
from .elementwise import abs as abs_
from .elementwise import add, and_, compare, convert, divide, multiply, select, subtract
from .indexing import take
from .reduce import arg_reduce, reduce_monoid
from .shape import broadcast_in_dim, iota, reshape


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
) -> Tensor:
    """`stablehlo.triangular_solve`: x with `op(a) x = b`, or `x op(a) = b`; `a` (..., n, n), `b` (..., n, k)."""
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "triangular_solve")
    builder.equate(a.dims[-1], b.dims[-2 if left_side else -1], "triangular_solve, right-hand side")
    attributes = (
        ("left_side", flag(left_side)),
        ("lower", flag(lower)),
        ("unit_diagonal", flag(unit_diagonal)),
        ("transpose_a", f"#stablehlo<transpose {'TRANSPOSE' if transpose else 'NO_TRANSPOSE'}>"),
    )
    return builder.op("stablehlo.triangular_solve", [a, b], b.dims, b.dtype, attributes)


def lu(a: Tensor) -> tuple[Tensor, Tensor]:
    """LU with partial pivoting of one matrix `a` (n, n).

    Returns:
        The packed factors (n, n), unit lower and upper, and the row permutation (n,) int32, such that
        `a[permutation] = L U`. A zero pivot leaves zero below it, as LAPACK's getrf does.
    """
    builder = a.builder
    builder.equate(a.dims[0], a.dims[1], "lu")
    factors, permutation = call(
        f"lu_{a.dtype.name}",
        [a],
        lambda x: _lu(x),
        key=a.dims,
        attributes={"hlograph.implements": '"lu"'},
    )
    return factors, permutation


def _lu(a: Tensor) -> list[Tensor]:
    builder = a.builder
    n = a.dims[0]
    int32 = np.dtype(np.int32)
    size = builder.size(n)
    rows = iota(builder, (n,), 0, INT64)
    permutation = iota(builder, (n,), 0, int32)
    zero = builder.constant(np.zeros((), a.dtype))

    def along(vector: Tensor, axis: int) -> Tensor:
        return broadcast_in_dim(vector, a.dims, (axis,))

    def body(k: Tensor, matrix: Tensor, order: Tensor) -> list[Tensor]:
        column = take(matrix, k, 1)
        lowest = builder.constant(np.array(-1, a.dtype))
        candidates = select(compare("GE", rows, k), abs_(column), lowest)
        pivot_row = arg_reduce(candidates, 0, "maximum")
        swap = select(compare("EQ", rows, k), pivot_row, select(compare("EQ", rows, pivot_row), k, rows))
        matrix, order = take(matrix, swap, 0), take(order, swap, 0)
        column, row = take(matrix, k, 1), take(matrix, k, 0)
        pivot = take(row, k, 0)
        below = compare("GT", rows, k)
        usable = broadcast_in_dim(compare("NE", pivot, zero), (n,), ())
        multipliers = select(and_(below, usable), divide(column, pivot), zero)
        update = multiply(along(multipliers, 0), along(select(below, row, zero), 1))
        at_column = and_(along(compare("EQ", rows, k), 1), along(and_(below, usable), 0))
        return [add(k, 1), select(at_column, along(multipliers, 0), subtract(matrix, update)), order]

    start = builder.constant(0, np.int64)
    _, factors, order = while_loop([start, a, permutation], lambda k, m, o: compare("LT", k, size), body)
    return [factors, order]


def lu_solve(factors: Tensor, permutation: Tensor, b: Tensor) -> Tensor:
    """x with `a x = b` from `lu(a)`; `b` (n, k)."""
    y = take(b, permutation, 0)
    y = triangular_solve(factors, y, lower=True, unit_diagonal=True)
    return triangular_solve(factors, y, lower=False)


def permutation_sign(permutation: Tensor, dtype: np.dtype) -> Tensor:
    """+1 or -1 (scalar): the parity of a permutation (n,), from its number of inversions."""
    builder = permutation.builder
    n = permutation.dims[0]
    dims: Dims = (n, n)
    left, right = broadcast_in_dim(permutation, dims, (0,)), broadcast_in_dim(permutation, dims, (1,))
    before = compare("LT", iota(builder, dims, 0, INT64), iota(builder, dims, 1, INT64))
    inverted = and_(before, compare("GT", left, right))
    odd = reduce_monoid(convert(inverted, BOOL), (0, 1), "xor")
    return select(odd, builder.constant(np.array(-1, dtype)), builder.constant(np.array(1, dtype)))


def diagonal(a: Tensor) -> Tensor:
    """The main diagonal of a square matrix (n, n), shape (n,)."""
    n = a.builder.equate(a.dims[0], a.dims[1], "diagonal")
    eye = compare("EQ", iota(a.builder, a.dims, 0, INT64), iota(a.builder, a.dims, 1, INT64))
    picked = select(eye, a, a.builder.constant(np.zeros((), a.dtype)))
    return reshape(reduce_monoid(picked, (1,), "or" if a.dtype == BOOL else "add"), (n,))
