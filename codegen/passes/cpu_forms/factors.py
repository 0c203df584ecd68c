"""small_cholesky, small_triangular_solve: factorizations of small matrices written out.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
    after   %0 = sqrt(a00);  %1 = a10 / %0;  %2 = sqrt(a11 - %1 * %1)
            %l = select(a00 > 0 and a11 - %1 * %1 > 0, [[%0, 0], [%1, %2]], NaN)

In: `stablehlo.cholesky` and `stablehlo.triangular_solve` of float32 and float64 with static shapes. What is larger is
left for `device_linalg`, which calls LAPACK. Matrices of a batch, and columns of a right-hand side, go side by side.
A triangular solve of a medium one is a loop over the rows, with a matrix-vector product in each turn. Rounding: the
sums of LAPACK's unblocked algorithms, in their order.
A matrix with a pivot of zero or less gives NaN in the whole triangle, as the LAPACK call does; a NaN spreads as it does
there. Of the matrix only the triangle that is asked for is read, and the other one of the factor is zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...ir import ops, while_ops
from ...ir.attributes import flag_of, text_attribute
from ...ir.bindings import ir, stablehlo
from ...ir.refused import require
from ...ir.types import REAL_FLOATS
from ...ir.values import dtype_of, static_shape

# Written out up to this size, one matrix and a batch of at least _BATCH.
_UNROLLED, _UNROLLED_BATCH = 4, 6
_BATCH = 8
# A triangular solve as a loop up to this size; LAPACK's call takes longer than that.
_LOOP_SOLVE = 8


def _written_out(n: int, batch: int) -> bool:
    return n <= (_UNROLLED_BATCH if batch >= _BATCH else _UNROLLED)


def small_cholesky(op: ir.Operation) -> ir.Value | None:
    """The Cholesky factor of a small matrix, element by element."""
    a = op.operands[0]
    if dtype_of(a) not in REAL_FLOATS:
        return None
    shape = static_shape(a)
    n, batch, lower = shape[-1], math.prod(shape[:-2]), flag_of(op, "lower", False)
    require(n and batch, "the matrix has no elements")
    require(_written_out(n, batch), f"a matrix of {n} x {n} is for LAPACK")
    return _cholesky_elements(a, n, lower)


def _element(a: ir.Value, i: int, j: int) -> ir.Value:
    """Element (i, j) of each matrix, in the shape of the batch."""
    shape = static_shape(a)
    first = [0] * (len(shape) - 2)
    return ops.reshape(ops.slice(a, [*first, i, j], [*shape[:-2], i + 1, j + 1]), shape[:-2])


def _dot_of(minuend: ir.Value, pairs: Sequence[tuple[ir.Value, ir.Value]]) -> ir.Value:
    for left, right in pairs:
        minuend = stablehlo.subtract(minuend, stablehlo.multiply(left, right))
    return minuend


def _cholesky_elements(a: ir.Value, n: int, lower: bool) -> ir.Value:
    shape = static_shape(a)
    factor: list[list[ir.Value]] = [[] for _ in range(n)]
    zero = ops.full_like(a, 0, shape[:-2])
    failures = []
    for j in range(n):
        for i in range(j, n):
            start = _element(a, i, j) if lower else _element(a, j, i)
            rest = _dot_of(start, list(zip(factor[i][:j], factor[j][:j], strict=True)))
            if i == j:
                failures.append(ops.compare("LE", rest, zero))
                factor[j].append(stablehlo.sqrt(rest))
            else:
                factor[i].append(stablehlo.divide(rest, factor[j][j]))
    rows = [factor[i] + [zero] * (n - 1 - i) for i in range(n)]
    elements = [rows[i][j] if lower else rows[j][i] for i in range(n) for j in range(n)]
    rank = len(shape) - 2
    joined = ops.concatenate([ops.reshape(each, (*shape[:-2], 1)) for each in elements], rank)
    failed = failures[0]
    for each in failures[1:]:
        failed = stablehlo.or_(failed, each)
    return _or_nan(failed, ops.reshape(joined, shape), lower)


def _or_nan(failed: ir.Value, factor: ir.Value, lower: bool) -> ir.Value:
    """The factor, or NaN in its triangle."""
    shape, dtype = static_shape(factor), dtype_of(factor)
    places = np.arange(shape[-1])
    inside = places[:, None] >= places if lower else places[:, None] <= places
    nan = ops.broadcast_in_dim(
        ops.constant(np.where(inside, np.nan, 0.0).astype(dtype)), shape, (len(shape) - 2, len(shape) - 1)
    )
    everywhere = ops.broadcast_in_dim(failed, shape, range(len(shape) - 2))
    return stablehlo.select(everywhere, nan, factor)


def small_triangular_solve(op: ir.Operation) -> ir.Value | None:
    """Substitution, row by row of the unknowns, for a small matrix."""
    a, b = op.operands
    if dtype_of(a) not in REAL_FLOATS:
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
    require(n <= _LOOP_SOLVE, f"a matrix of {n} x {n} is for LAPACK")
    require(batch == 1, f"{batch} matrices of {n} x {n} are for LAPACK")
    matrix, right = ops.reshape(a, (n, n)), ops.reshape(b, given[-2:])
    if transposed:
        matrix = ops.transpose(matrix, (1, 0))
    solved = _solve_loop(matrix, right if left else ops.transpose(right, (1, 0)), lower, unit)
    return ops.reshape(solved if left else ops.transpose(solved, (1, 0)), given)


def _solve_elements(a: ir.Value, b: ir.Value, left: bool, transposed: bool, lower: bool, unit: bool) -> ir.Value:
    n, given = static_shape(a)[-1], static_shape(b)
    rank = len(given)
    along = rank - 2 if left else rank - 1
    line = [size for axis, size in enumerate(given) if axis != along]
    unknowns: dict[int, ir.Value] = {}

    def coefficient(i: int, j: int) -> ir.Value:
        return ops.broadcast_in_dim(_element(a, j, i) if transposed else _element(a, i, j), line, range(rank - 2))

    for i in range(n) if lower else reversed(range(n)):
        starts = [i if axis == along else 0 for axis in range(rank)]
        limits = [i + 1 if axis == along else size for axis, size in enumerate(given)]
        rest = _dot_of(
            ops.reshape(ops.slice(b, starts, limits), line), [(coefficient(i, j), x) for j, x in unknowns.items()]
        )
        unknowns[i] = rest if unit else stablehlo.divide(rest, coefficient(i, i))
    slab = [1 if axis == along else size for axis, size in enumerate(given)]
    return ops.concatenate([ops.reshape(unknowns[i], slab) for i in range(n)], along)


def _solve_loop(a: ir.Value, b: ir.Value, lower: bool, unit: bool) -> ir.Value:
    """One row of the unknowns in a turn; rows that are not known yet are zero."""
    n, count = static_shape(b)
    zero = ops.index(0)
    row_of, column_of = (ops.broadcast_in_dim(ops.iota([n], 0), (n, n), (axis,)) for axis in (0, 1))
    strict = ops.compare("GT" if lower else "LT", row_of, column_of)
    # The other triangle may hold anything, and 0 * NaN is NaN.
    known = stablehlo.select(strict, a, ops.full_like(a, 0, (n, n)))

    def body(turn: ir.Value, carries: list[ir.Value]) -> list[ir.Value]:
        (x,) = carries
        i = turn if lower else stablehlo.subtract(ops.index(n - 1), turn)
        row = ops.reshape(ops.dynamic_slice(known, [i, zero], (1, n)), (n,))
        rest = stablehlo.subtract(
            ops.reshape(ops.dynamic_slice(b, [i, zero], (1, count)), (count,)), ops.dot_general(row, x, ((0,), (0,)))
        )
        if not unit:
            rest = stablehlo.divide(
                rest, ops.broadcast_in_dim(ops.reshape(ops.dynamic_slice(a, [i, i], (1, 1)), ()), (count,), ())
            )
        return [ops.dynamic_update_slice(x, ops.reshape(rest, (1, count)), [i, zero])]

    return while_ops.counted(0, n, 1, [ops.full_like(b, 0, (n, count))], body)[0]
