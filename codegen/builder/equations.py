"""Functions and equations of matrices: the exponential, Riccati's and Sylvester's equation, tridiagonal systems.

In: handles on matrices (..., n, n), and on diagonals (..., n). Out: handles, made of what `linalg` and `matrices` have.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import factorial

import numpy as np

from .control import case, while_loop
from .core import Tensor
from .elementwise import abs as abs_
from .elementwise import (
    add,
    ceil,
    compare,
    convert,
    exponential,
    full_like,
    is_finite,
    log,
    maximum_,
    real_dtype,
    select,
    sqrt,
)
from .linalg import lu, lu_solve, triangle, triangular_solve
from .matrices import (
    adjoint,
    as_column,
    conjugate,
    diagonal_of,
    identity_like,
    lengthened,
    matmul,
    number,
    on_diagonal,
    over_batch,
    pick,
    pivot_size,
    places,
    spread,
    steps,
    total,
)
from .places import INT32, INT64
from .reduce import reduce_monoid
from .shape import broadcast_in_dim, slice_axis, squeeze

# ---- the exponential -------------------------------------------------------------------------------------------------


# Degree, and the largest 1-norm for which its error is below rounding.
_BOUNDS = {
    "float32": ((3, 4.258730016922831e-1), (5, 1.880152677804762), (7, 3.925724783138660)),
    "float64": (
        (3, 1.495585217958292e-2),
        (5, 2.539398330063230e-1),
        (7, 9.504178996162932e-1),
        (9, 2.097847961257068),
        (13, 5.371920351148152),
    ),
}


def expm(a: Tensor) -> Tensor:
    """The exponential of each matrix."""
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "expm")
    bounds = _BOUNDS[real_dtype(a.dtype).name]
    size = reduce_monoid(total(abs_(a), -2), [a.ndim - 2], "maximum")
    size = select(is_finite(size), size, number(size, 0))
    halvings = ceil(log(maximum_(size / bounds[-1][1], 1)) / float(np.log(2)))
    factor = exponential(halvings * -float(np.log(2)))
    scaled = a * over_batch(convert(factor, a.dtype), a)
    largest = reduce_monoid(size, range(size.ndim), "maximum")
    place = builder.constant(0, INT32)
    for _, bound in bounds[:-1]:
        place = place + convert(compare("GT", largest, bound), INT32)
    odd, even = case(place, [partial(_approximant, scaled, degree) for degree, _ in bounds])
    factors, permutation = lu(even - odd)
    return _squared(lu_solve(factors, permutation, even + odd), halvings)


def _polynomial(powers: Sequence[Tensor], coefficients: Sequence[float]) -> Tensor:
    terms = [x * float(c) for x, c in zip(powers, coefficients, strict=True)]
    return reduce(add, terms)


def _approximant(a: Tensor, degree: int) -> list[Tensor]:
    """U of odd powers and V of even ones, with which Padé's approximant of a degree is (V - U)^-1 (V + U)."""
    b = [factorial(2 * degree - k) // (factorial(k) * factorial(degree - k)) for k in range(degree + 1)]
    powers = [identity_like(a), matmul(a, a)]
    while len(powers) < (4 if degree == 13 else degree // 2 + 1):
        powers.append(matmul(powers[-1], powers[1]))
    if degree == 13:
        low, high = powers, powers[1:]
        odd = matmul(powers[3], _polynomial(high, b[9::2])) + _polynomial(low, b[1:9:2])
        even = matmul(powers[3], _polynomial(high, b[8::2])) + _polynomial(low, b[0:8:2])
    else:
        odd, even = _polynomial(powers, b[1::2]), _polynomial(powers, b[0::2])
    return [matmul(a, odd), even]


def _squared(a: Tensor, times: Tensor) -> Tensor:
    """Each matrix squared as often as its number (...) says."""

    def more(count: Tensor, _: Tensor) -> Tensor:
        return reduce_monoid(compare("LT", count_like(count), times), range(times.ndim), "or")

    def square(count: Tensor, x: Tensor) -> list[Tensor]:
        going = over_batch(compare("LT", count_like(count), times), x)
        return [count + 1, select(going, matmul(x, x), x)]

    def count_like(count: Tensor) -> Tensor:
        return broadcast_in_dim(convert(count, times.dtype), times.dims, ())

    return while_loop([a.builder.constant(0, INT32), a], more, square)[1]


# ---- Riccati's equation ----------------------------------------------------------------------------------------------


STEPS = 60


def discrete_riccati(a: Tensor, b: Tensor, q: Tensor, r: Tensor) -> Tensor:
    """The X with `A^H X A - X - A^H X B (R + B^H X B)^-1 B^H X A + Q = 0` that stabilizes; NaN where none is found.

    R must have an inverse.
    """
    start = [a, matmul(b, lu_solve(*lu(r), adjoint(b))), q]
    invertible = compare("LT", reduce_monoid(abs_(start[1]), [a.ndim - 2, a.ndim - 1], "add"), np.inf)
    eps = float(np.finfo(a.dtype).eps)

    def vanished(a: Tensor) -> Tensor:
        return compare("LE", reduce_monoid(abs_(a), [a.ndim - 2, a.ndim - 1], "maximum"), eps)

    def body(count: Tensor, a: Tensor, g: Tensor, h: Tensor) -> list[Tensor]:
        done = vanished(a)
        factors, order = lu(identity_like(a) + matmul(g, h))
        loop, gain = lu_solve(factors, order, a), lu_solve(factors, order, g)
        more = matmul(matmul(adjoint(a), h), loop)
        following = [matmul(a, loop), g + matmul(matmul(a, gain), adjoint(a)), h + more]
        kept = [select(over_batch(done, old), old, new) for old, new in zip((a, g, h), following, strict=True)]
        return [count + 1, *kept]

    def going(count: Tensor, a: Tensor, g: Tensor, h: Tensor) -> Tensor:
        left = ~vanished(a)
        return reduce_monoid(left, range(left.ndim), "or") & compare("LT", count, STEPS)

    _, a, _, h = while_loop([a.builder.constant(0, INT64), *start], going, body)
    solution = (h + adjoint(h)) * number(h, 0.5)
    return select(over_batch(invertible & vanished(a), h), solution, number(h, np.nan))


# ---- Sylvester's equation --------------------------------------------------------------------------------------------


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
    half = (first - second) * number(a, 0.5)
    offset = half + sqrt(half * half + left * right)
    top, low = abs_(offset), abs_(left)
    length = sqrt(top * top + low * low)
    length = convert(select(starts, length, number(length, 1)), a.dtype)
    upper, lower = offset / length, left / length
    # The same of the block that ends at a row.
    ends = compare("NE", pick(a, below, -1), zero)
    previous = pick(spread(upper, a, -2), below, -1)
    own = select(starts, upper, select(ends, conjugate(previous), one))
    turn = select(on_diagonal(a), spread(own, a, -1), zero)
    turn = select(below & spread(starts, a, -2), spread(lower, a, -2), turn)
    return select(above & spread(starts, a, -1), spread(-conjugate(lower), a, -1), turn)


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
        side = as_column(pick(c, here, -1)) - matmul(x, as_column(column))
        shifted = a + identity_like(a) * over_batch(value, a)
        solved = triangular_solve(shifted, side, lower=False)
        return [select(here, spread(squeeze(solved, [solved.ndim - 1]), x, -1), x)]

    return steps(b.dims[-1], [full_like(c, 0)], body)[0]


# ---- tridiagonal systems ---------------------------------------------------------------------------------------------


def tridiagonal_lu(low: Tensor, main: Tensor, high: Tensor) -> list[Tensor]:
    """The factors' diagonals and the pivots, counted from 1.

    Returns:
        The multipliers (..., n - 1), U's diagonals (..., n), (..., n - 1) and (..., n - 2), the pivots (..., n) int32:
        row i was exchanged with row `pivots[i] - 1`, which is i or i + 1.
    """
    builder, axis, size = main.builder, main.ndim - 1, main.dims[-1]
    builder.at_least(size, 2, "rows of a tridiagonal matrix")
    builder.equate(low.dims[-1], size - 1, "the lower diagonal")
    builder.equate(high.dims[-1], size - 1, "the upper diagonal")
    low, high = (lengthened(x, size) for x in (low, high))
    numbers = places(main, -1)
    pivots = convert(numbers, INT32) + 1

    def body(k: Tensor, low: Tensor, main: Tensor, high: Tensor, higher: Tensor, pivots: Tensor) -> list[Tensor]:
        here, after = (compare("EQ", numbers, place) for place in (k, k + 1))
        pivot, under, beside = (pick(x, here, -1) for x in (main, low, high))
        next_main, next_high = pick(main, after, -1), pick(high, after, -1)
        exchanged = compare("LT", pivot_size(pivot), pivot_size(under))
        upper, lower = select(exchanged, under, pivot), select(exchanged, pivot, under)
        zero = number(upper, 0)
        singular = compare("EQ", upper, zero)
        factor = select(singular, under, lower / select(singular, number(upper, 1), upper))
        right, below = select(exchanged, next_main, beside), select(exchanged, beside, next_main)
        below = select(singular, next_main, below - factor * right)
        filled = select(exchanged, next_high, zero)
        rest = select(exchanged, -(factor * next_high), next_high)
        moved = pick(pivots, here, -1) + convert(exchanged, INT32)
        return [
            _put(low, here, factor),
            _put(_put(main, here, upper), after, below),
            _put(_put(high, here, right), after, rest),
            _put(higher, here, filled),
            _put(pivots, here, moved),
        ]

    found = steps(size - 1, [low, main, high, full_like(main, 0), pivots], body)
    lengths = (size - 1, size, size - 1, size - 2, size)
    return [slice_axis(x, axis, 0, length) for x, length in zip(found, lengths, strict=True)]


def tridiagonal_solve(
    low: Tensor, main: Tensor, high: Tensor, higher: Tensor, pivots: Tensor, b: Tensor, *, transposed: bool
) -> Tensor:
    """x with `A x = b`, or with the transpose of A, from what `tridiagonal_lu(A)` gives."""
    size, numbers, rows = main.dims[-1], places(main, -1), places(b, -2)
    kept = convert(compare("EQ", pivots, convert(numbers, INT32) + 1), INT32)
    low, high = (lengthened(x, size) for x in (low, high))
    higher = lengthened(higher, size)
    last = b.builder.size(size - 1)

    def at(x: Tensor, k: Tensor) -> Tensor:
        return pick(x, compare("EQ", numbers, k), -1)

    def exchange(k: Tensor, x: Tensor) -> list[Tensor]:
        """Row k of the inverse of L, applied to the rows k and k + 1; or of its transpose."""
        k = last - k - 1 if transposed else k
        here, after = (compare("EQ", rows, place) for place in (k, k + 1))
        first, second = pick(x, here, -2), pick(x, after, -2)
        factor = over_batch(at(low, k), first)
        stays = over_batch(compare("NE", at(kept, k), number(kept, 0)), first)
        if transposed:
            changed = first - factor * second
            upper, lower = select(stays, changed, second), select(stays, second, changed)
        else:
            upper = select(stays, first, second)
            lower = select(stays, second, first) - factor * upper
        return [_put(_put(x, here, upper, -2), after, lower, -2)]

    def substitute(k: Tensor, x: Tensor) -> list[Tensor]:
        """Row k of the inverse of U, from the last one up; or of its transpose, from the first one down."""
        k = k if transposed else last - k
        here = compare("EQ", rows, k)
        side = pick(x, here, -2)
        for diagonal, distance in ((high, 1), (higher, 2)):
            place = k - distance if transposed else k + distance
            factor = over_batch(at(diagonal, place if transposed else k), side)
            side = side - factor * pick(x, compare("EQ", rows, place), -2)
        return [_put(x, here, side / over_batch(at(main, k), side), -2)]

    if transposed:
        return steps(size - 1, steps(size, [b], substitute), exchange)[0]
    return steps(size, steps(size - 1, [b], exchange), substitute)[0]


def _put(x: Tensor, here: Tensor, value: Tensor, axis: int = -1) -> Tensor:
    return select(here, spread(value, x, axis), x)
