"""small_cholesky, small_triangular_solve: factorizations of small matrices written out.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
    after   %0 = sqrt(a00);  %1 = a10 / %0;  %2 = sqrt(a11 - %1 * %1)
            %l = select(a00 > 0 and a11 - %1 * %1 > 0, [[%0, 0], [%1, %2]], NaN)

In: `stablehlo.cholesky` and `stablehlo.triangular_solve` of float32 and float64 with static shapes. What is larger is
left for `device-linalg`, which calls LAPACK. Matrices of a batch, and columns of a right-hand side, go side by side.
With `kernel=true` medium ones become a loop over the rows, with a matrix-vector product in each turn: XLA:CPU cannot
call a library from within a kernel. Rounding: the sums of LAPACK's unblocked algorithms, in their order.
A matrix with a pivot of zero or less gives NaN in the whole triangle, as the LAPACK call does; a NaN spreads as it does
there. Of the matrix only the triangle that is asked for is read, and the other one of the factor is zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...ir.attributes import text_attribute
from ...ir.bindings import ir, stablehlo
from ...ir.ops import concatenate, reshape, transpose
from ...ir.refused import require
from ...ir.values import dtype_of, static_shape
from ..device_linalg import flag_of
from .build import (
    compare,
    constant_of,
    cut,
    dot,
    is_real_float,
    loop,
    number,
    numbers,
    part,
    scalar,
    spread,
    written,
    zeros,
)
from .options import for_kernel

# Written out up to this size, one matrix and a batch of at least _BATCH; and in a kernel, where it compiles faster.
_UNROLLED, _UNROLLED_BATCH, _UNROLLED_KERNEL = 4, 6, 8
_BATCH = 8
# A triangular solve as a loop up to this size; LAPACK's call takes longer than that.
_LOOP_SOLVE = 8
# In a kernel, where there is no LAPACK.
_LOOP_KERNEL = 64


def _written_out(n: int, batch: int) -> bool:
    if batch >= _BATCH:
        return n <= (_UNROLLED_KERNEL if for_kernel() else _UNROLLED_BATCH)
    return n <= _UNROLLED


def small_cholesky(op: ir.Operation) -> ir.Value | None:
    """The Cholesky factor of a small matrix, element by element; or as a loop."""
    a = op.operands[0]
    if not is_real_float(a):
        return None
    shape = static_shape(a)
    n, batch, lower = shape[-1], math.prod(shape[:-2]), flag_of(op, "lower", False)
    require(n and batch, "the matrix has no elements")
    if _written_out(n, batch):
        return _cholesky_elements(a, n, lower)
    largest = _LOOP_KERNEL if for_kernel() else 0
    require(n <= largest, f"a matrix of {n} x {n} is for LAPACK")
    require(batch == 1, f"{batch} matrices of {n} x {n} are for LAPACK")
    return reshape(_cholesky_loop(reshape(a, (n, n)), n, lower), shape)


def _element(a: ir.Value, i: int, j: int) -> ir.Value:
    """Element (i, j) of each matrix, in the shape of the batch."""
    shape = static_shape(a)
    first = [0] * (len(shape) - 2)
    return reshape(cut(a, [*first, i, j], [*shape[:-2], i + 1, j + 1]), shape[:-2])


def _dot_of(minuend: ir.Value, pairs: Sequence[tuple[ir.Value, ir.Value]]) -> ir.Value:
    for left, right in pairs:
        minuend = stablehlo.subtract(minuend, stablehlo.multiply(left, right))
    return minuend


def _cholesky_elements(a: ir.Value, n: int, lower: bool) -> ir.Value:
    shape = static_shape(a)
    factor: list[list[ir.Value]] = [[] for _ in range(n)]
    zero = zeros(a, shape[:-2])
    failures = []
    for j in range(n):
        for i in range(j, n):
            start = _element(a, i, j) if lower else _element(a, j, i)
            rest = _dot_of(start, list(zip(factor[i][:j], factor[j][:j], strict=True)))
            if i == j:
                failures.append(compare("LE", rest, zero))
                factor[j].append(stablehlo.sqrt(rest))
            else:
                factor[i].append(stablehlo.divide(rest, factor[j][j]))
    rows = [factor[i] + [zero] * (n - 1 - i) for i in range(n)]
    elements = [rows[i][j] if lower else rows[j][i] for i in range(n) for j in range(n)]
    rank = len(shape) - 2
    joined = concatenate([reshape(each, (*shape[:-2], 1)) for each in elements], rank)
    failed = failures[0]
    for each in failures[1:]:
        failed = stablehlo.or_(failed, each)
    return _or_nan(failed, reshape(joined, shape), lower)


def _or_nan(failed: ir.Value, factor: ir.Value, lower: bool) -> ir.Value:
    """The factor, or NaN in its triangle."""
    shape, dtype = static_shape(factor), dtype_of(factor)
    places = np.arange(shape[-1])
    inside = places[:, None] >= places if lower else places[:, None] <= places
    nan = spread(
        constant_of(np.where(inside, np.nan, 0.0).astype(dtype), factor), shape, (len(shape) - 2, len(shape) - 1)
    )
    everywhere = spread(failed, shape, range(len(shape) - 2))
    return stablehlo.select(everywhere, nan, factor)


def _cholesky_loop(a: ir.Value, n: int, lower: bool) -> ir.Value:
    """Row by row of the upper factor: what is left of the matrix's row, over the root of its first element."""
    # Row j of this holds what is read: the elements from j on.
    rows = transpose(a, (1, 0)) if lower else a
    places, zero, start = numbers(n, a), number(0, a), zeros(a, (n,))
    fine = compare("NE", zero, zero)

    def body(j: ir.Value, carries: list[ir.Value]) -> list[ir.Value]:
        upper, failed = carries
        column = reshape(part(upper, [zero, j], (n, 1)), (n,))
        row = reshape(part(rows, [j, zero], (1, n)), (n,))
        rest = stablehlo.subtract(row, dot(column, upper, ((0,), (0,))))
        pivot = scalar(part(rest, [j], (1,)))
        failed = stablehlo.or_(failed, compare("LE", pivot, scalar(cut(start, (0,), (1,)))))
        scaled = stablehlo.divide(rest, spread(stablehlo.sqrt(pivot), (n,), ()))
        scaled = stablehlo.select(compare("GE", places, spread(j, (n,), ())), scaled, start)
        return [written(upper, reshape(scaled, (1, n)), [j, zero]), failed]

    upper, failed = loop(0, n, 1, [zeros(a, (n, n)), fine], body)
    return _or_nan(failed, transpose(upper, (1, 0)) if lower else upper, lower)


def small_triangular_solve(op: ir.Operation) -> ir.Value | None:
    """Substitution, row by row of the unknowns, for a small matrix."""
    a, b = op.operands
    if not is_real_float(a):
        return None
    shape, given = static_shape(a), static_shape(b)
    n, batch = shape[-1], math.prod(shape[:-2])
    require(all(given), "the right-hand side has no elements")
    left = flag_of(op, "left_side", True)
    transposed = ("NO_TRANSPOSE" not in text_attribute(op, "transpose_a")) != (not left)
    lower = flag_of(op, "lower", False) != transposed
    unit = flag_of(op, "unit_diagonal", False)
    if _written_out(n, batch):
        return _solve_elements(a, b, left, transposed, lower, unit)
    largest = _LOOP_KERNEL if for_kernel() else _LOOP_SOLVE
    require(n <= largest, f"a matrix of {n} x {n} is for LAPACK")
    require(batch == 1, f"{batch} matrices of {n} x {n} are for LAPACK")
    matrix, right = reshape(a, (n, n)), reshape(b, given[-2:])
    if transposed:
        matrix = transpose(matrix, (1, 0))
    solved = _solve_loop(matrix, right if left else transpose(right, (1, 0)), lower, unit)
    return reshape(solved if left else transpose(solved, (1, 0)), given)


def _solve_elements(a: ir.Value, b: ir.Value, left: bool, transposed: bool, lower: bool, unit: bool) -> ir.Value:
    n, given = static_shape(a)[-1], static_shape(b)
    rank = len(given)
    along = rank - 2 if left else rank - 1
    line = [size for axis, size in enumerate(given) if axis != along]
    unknowns: dict[int, ir.Value] = {}

    def coefficient(i: int, j: int) -> ir.Value:
        return spread(_element(a, j, i) if transposed else _element(a, i, j), line, range(rank - 2))

    for i in range(n) if lower else reversed(range(n)):
        starts = [i if axis == along else 0 for axis in range(rank)]
        limits = [i + 1 if axis == along else size for axis, size in enumerate(given)]
        rest = _dot_of(reshape(cut(b, starts, limits), line), [(coefficient(i, j), x) for j, x in unknowns.items()])
        unknowns[i] = rest if unit else stablehlo.divide(rest, coefficient(i, i))
    slab = [1 if axis == along else size for axis, size in enumerate(given)]
    return concatenate([reshape(unknowns[i], slab) for i in range(n)], along)


def _solve_loop(a: ir.Value, b: ir.Value, lower: bool, unit: bool) -> ir.Value:
    """One row of the unknowns in a turn; rows that are not known yet are zero."""
    n, count = static_shape(b)
    zero = number(0, a)
    row_of, column_of = (spread(numbers(n, a), (n, n), (axis,)) for axis in (0, 1))
    strict = compare("GT" if lower else "LT", row_of, column_of)
    # The other triangle may hold anything, and 0 * NaN is NaN.
    known = stablehlo.select(strict, a, zeros(a, (n, n)))

    def body(turn: ir.Value, carries: list[ir.Value]) -> list[ir.Value]:
        (x,) = carries
        i = turn if lower else stablehlo.subtract(number(n - 1, a), turn)
        row = reshape(part(known, [i, zero], (1, n)), (n,))
        rest = stablehlo.subtract(reshape(part(b, [i, zero], (1, count)), (count,)), dot(row, x, ((0,), (0,))))
        if not unit:
            rest = stablehlo.divide(rest, spread(scalar(part(a, [i, i], (1, 1))), (count,), ()))
        return [written(x, reshape(rest, (1, count)), [i, zero])]

    return loop(0, n, 1, [zeros(b, (n, count))], body)[0]
