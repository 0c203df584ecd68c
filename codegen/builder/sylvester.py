"""Sylvester's equation `A X + X B = C` of Schur forms.

In: handles on matrices. Out: handles. A real Schur form has blocks of two on its diagonal; a unitary matrix that is 1
beside them makes it triangular and complex, all blocks at once. Triangular equations are solved column by column.
"""

from __future__ import annotations

import numpy as np

from .core import Tensor
from .elementwise import abs as abs_
from .elementwise import (
    add,
    and_,
    compare,
    convert,
    divide,
    full_like,
    multiply,
    negate,
    select,
    sqrt,
    subtract,
)
from .linalg import triangle, triangular_solve
from .matrices import (
    adjoint,
    as_column,
    conjugate,
    diagonal_of,
    identity_like,
    matmul,
    number,
    on_diagonal,
    over_batch,
    pick,
    places,
    spread,
    steps,
)
from .shape import squeeze


def triangular_form(a: Tensor) -> tuple[Tensor, Tensor]:
    """A unitary U and an upper triangular T, both complex, with `a = U T U^H`, of a real Schur form `a`."""
    turn = _turn(convert(a, np.result_type(a.dtype, np.complex64)))
    complex_form = matmul(matmul(adjoint(turn), convert(a, turn.dtype)), turn)
    return turn, triangle(complex_form, lower=False)


def _turn(a: Tensor) -> Tensor:
    """For each block [[p, q], [r, s]], r not 0, with an eigenvalue w: the unitary matrix of columns v and its normal.

    v is (w - s, r), normalized. What is known of a block stands at its first row.
    """
    zero, one = number(a, 0), number(a, 1)
    below, above = on_diagonal(a, -1), on_diagonal(a, 1)
    first, right, left = diagonal_of(a), pick(a, above, -1), pick(a, below, -2)
    second = pick(spread(first, a, -1), below, -2)
    starts = compare("NE", left, zero)
    half = multiply(subtract(first, second), number(a, 0.5))
    offset = add(half, sqrt(add(multiply(half, half), multiply(left, right))))
    top, low = abs_(offset), abs_(left)
    length = sqrt(add(multiply(top, top), multiply(low, low)))
    length = convert(select(starts, length, number(length, 1)), a.dtype)
    upper, lower = divide(offset, length), divide(left, length)
    # The same of the block that ends at a row.
    ends = compare("NE", pick(a, below, -1), zero)
    previous = pick(spread(upper, a, -2), below, -1)
    own = select(starts, upper, select(ends, conjugate(previous), one))
    turn = select(on_diagonal(a), spread(own, a, -1), zero)
    turn = select(and_(below, spread(starts, a, -2)), spread(lower, a, -2), turn)
    return select(and_(above, spread(starts, a, -1)), spread(negate(conjugate(lower)), a, -1), turn)


def triangular_sylvester(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """X with `a X + X b = c`, `a` (..., m, m) and `b` (..., n, n) upper triangular."""
    builder = a.builder
    builder.equate(a.dims[-1], c.dims[-2], "sylvester, rows")
    builder.equate(b.dims[-1], c.dims[-1], "sylvester, columns")
    columns, of_b = places(c, -1), places(b, -1)

    def body(k: Tensor, x: Tensor) -> list[Tensor]:
        column = pick(b, compare("EQ", of_b, k), -1)
        value = pick(column, compare("EQ", places(column, -1), k), -1)
        here = compare("EQ", columns, k)
        side = subtract(as_column(pick(c, here, -1)), matmul(x, as_column(column)))
        shifted = add(a, multiply(identity_like(a), over_batch(value, a)))
        solved = triangular_solve(shifted, side, lower=False)
        return [select(here, spread(squeeze(solved, [solved.ndim - 1]), x, -1), x)]

    return steps(b.dims[-1], [full_like(c, 0)], body)[0]
