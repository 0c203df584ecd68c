"""The matrix exponential, by scaling, Padé approximants and squaring.

In: a handle on matrices (..., n, n). Out: a handle. Degrees and bounds of the 1-norm are those of Higham, "The scaling
and squaring method for the matrix exponential revisited", 2005. The degree is that which the largest matrix of a batch
needs; each is scaled for itself.
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
    divide,
    exponential,
    is_finite,
    log,
    maximum_,
    multiply,
    select,
    subtract,
)
from .linalg import lu, lu_solve
from .matrices import identity_like, matmul, number, over_batch, real_dtype, total
from .reduce import reduce_monoid
from .shape import broadcast_in_dim
from .types import INT32

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
    halvings = ceil(divide(log(maximum_(divide(size, bounds[-1][1]), 1)), float(np.log(2))))
    factor = exponential(multiply(halvings, -float(np.log(2))))
    scaled = multiply(a, over_batch(convert(factor, a.dtype), a))
    largest = reduce_monoid(size, range(size.ndim), "maximum")
    place = builder.constant(0, INT32)
    for _, bound in bounds[:-1]:
        place = add(place, convert(compare("GT", largest, bound), INT32))
    odd, even = case(place, [partial(_approximant, scaled, degree) for degree, _ in bounds])
    factors, permutation = lu(subtract(even, odd))
    return _squared(lu_solve(factors, permutation, add(even, odd)), halvings)


def _coefficients(degree: int) -> list[float]:
    """Of the numerator, from the constant on, as whole numbers."""
    return [factorial(2 * degree - k) // (factorial(k) * factorial(degree - k)) for k in range(degree + 1)]


def _polynomial(powers: Sequence[Tensor], coefficients: Sequence[float]) -> Tensor:
    """The sum of matrices, each times a number."""
    terms = [multiply(x, float(c)) for x, c in zip(powers, coefficients, strict=True)]
    return reduce(add, terms)


def _approximant(a: Tensor, degree: int) -> list[Tensor]:
    """U of odd powers and V of even ones, with which Padé's approximant of a degree is (V - U)^-1 (V + U)."""
    b = _coefficients(degree)
    powers = [identity_like(a), matmul(a, a)]
    while len(powers) < (4 if degree == 13 else degree // 2 + 1):
        powers.append(matmul(powers[-1], powers[1]))
    if degree == 13:
        low, high = powers, powers[1:]
        odd = add(matmul(powers[3], _polynomial(high, b[9::2])), _polynomial(low, b[1:9:2]))
        even = add(matmul(powers[3], _polynomial(high, b[8::2])), _polynomial(low, b[0:8:2]))
    else:
        odd, even = _polynomial(powers, b[1::2]), _polynomial(powers, b[0::2])
    return [matmul(a, odd), even]


def _squared(a: Tensor, times: Tensor) -> Tensor:
    """Each matrix squared as often as its number (...) says."""

    def more(count: Tensor, _: Tensor) -> Tensor:
        return reduce_monoid(compare("LT", count_like(count), times), range(times.ndim), "or")

    def square(count: Tensor, x: Tensor) -> list[Tensor]:
        going = over_batch(compare("LT", count_like(count), times), x)
        return [add(count, 1), select(going, matmul(x, x), x)]

    def count_like(count: Tensor) -> Tensor:
        return broadcast_in_dim(convert(count, times.dtype), times.dims, ())

    return while_loop([a.builder.constant(0, INT32), a], more, square)[1]
