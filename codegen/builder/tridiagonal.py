"""LU of tridiagonal matrices with partial pivoting, packed as LAPACK's gttrf does, and solves with it.

In: handles on diagonals (..., n) and (..., n - 1), and right-hand sides (..., n, k). Out: handles. One row a step; a
row past the last one reads as 0.
"""

from __future__ import annotations

from .core import Tensor
from .elementwise import add, compare, convert, divide, full_like, multiply, negate, select, subtract
from .matrices import number, over_batch, pick, pivot_size, places, spread, steps
from .shape import pad, slice_axis, with_dims
from .types import INT32


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
    low, high = (with_dims(_lengthened(x), main.dims) for x in (low, high))
    numbers = places(main, -1)
    pivots = add(convert(numbers, INT32), 1)

    def body(k: Tensor, low: Tensor, main: Tensor, high: Tensor, higher: Tensor, pivots: Tensor) -> list[Tensor]:
        here, after = (compare("EQ", numbers, place) for place in (k, add(k, 1)))
        pivot, under, beside = (pick(x, here, -1) for x in (main, low, high))
        next_main, next_high = pick(main, after, -1), pick(high, after, -1)
        exchanged = compare("LT", pivot_size(pivot), pivot_size(under))
        upper, lower = select(exchanged, under, pivot), select(exchanged, pivot, under)
        zero = number(upper, 0)
        singular = compare("EQ", upper, zero)
        factor = select(singular, under, divide(lower, select(singular, number(upper, 1), upper)))
        right, below = select(exchanged, next_main, beside), select(exchanged, beside, next_main)
        below = select(singular, next_main, subtract(below, multiply(factor, right)))
        filled = select(exchanged, next_high, zero)
        rest = select(exchanged, negate(multiply(factor, next_high)), next_high)
        moved = add(pick(pivots, here, -1), convert(exchanged, INT32))
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
    kept = convert(compare("EQ", pivots, add(convert(numbers, INT32), 1)), INT32)
    low, high = (with_dims(_lengthened(x), main.dims) for x in (low, high))
    higher = with_dims(_lengthened(_lengthened(higher)), main.dims)
    last = b.builder.size(size - 1)

    def at(x: Tensor, k: Tensor) -> Tensor:
        return pick(x, compare("EQ", numbers, k), -1)

    def exchange(k: Tensor, x: Tensor) -> list[Tensor]:
        """Row k of the inverse of L, applied to the rows k and k + 1; or of its transpose."""
        k = subtract(subtract(last, k), 1) if transposed else k
        here, after = (compare("EQ", rows, place) for place in (k, add(k, 1)))
        first, second = pick(x, here, -2), pick(x, after, -2)
        factor = over_batch(at(low, k), first)
        stays = over_batch(compare("NE", at(kept, k), number(kept, 0)), first)
        if transposed:
            changed = subtract(first, multiply(factor, second))
            upper, lower = select(stays, changed, second), select(stays, second, changed)
        else:
            upper = select(stays, first, second)
            lower = subtract(select(stays, second, first), multiply(factor, upper))
        return [_put_row(_put_row(x, here, upper), after, lower)]

    def substitute(k: Tensor, x: Tensor) -> list[Tensor]:
        """Row k of the inverse of U, from the last one up; or of its transpose, from the first one down."""
        k = k if transposed else subtract(last, k)
        here = compare("EQ", rows, k)
        side = pick(x, here, -2)
        for diagonal, distance in ((high, 1), (higher, 2)):
            place = subtract(k, distance) if transposed else add(k, distance)
            factor = over_batch(at(diagonal, place if transposed else k), side)
            side = subtract(side, multiply(factor, pick(x, compare("EQ", rows, place), -2)))
        return [_put_row(x, here, divide(side, over_batch(at(main, k), side)))]

    if transposed:
        return steps(size - 1, steps(size, [b], substitute), exchange)[0]
    return steps(size, steps(size - 1, [b], exchange), substitute)[0]


def _lengthened(x: Tensor) -> Tensor:
    """A vector with one more element, 0."""
    none = [0] * x.ndim
    return pad(x, number(x, 0), none, [*none[1:], 1])


def _put(x: Tensor, here: Tensor, value: Tensor) -> Tensor:
    """Vectors (..., n) with another value where the mask is."""
    return select(here, spread(value, x, -1), x)


def _put_row(x: Tensor, here: Tensor, value: Tensor) -> Tensor:
    """Matrices (..., n, m) with another row where the mask is."""
    return select(here, spread(value, x, -2), x)
