"""Special functions in float64, elementwise, as JAX functions that the table of scalar ops imports.

In: arrays of one shape. Out: an array. Loops go on until the slowest element is done. Methods:

    kve  order below 50: the integral of exp(-x (cosh t - 1)) cosh(v t), whose trapezoidal sums converge as fast as a
         Gaussian's. Above: Olver's uniform expansion (DLMF 10.41.4).
    ive  x up to 8: the power series. Else Olver's expansion (DLMF 10.41.3) at an order of 50 or more, then the
         recurrence downward, which is stable. Negative orders by DLMF 10.27.2.
    inverses of the incomplete gamma and beta functions: Newton's method in a transformed variable in which the
         function's logarithm is concave, so that it cannot cycle.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from jax.scipy.special import betainc, betaln, gammainc, gammaincc, gammaln, ndtri

Array: TypeAlias = Any

# ---- modified Bessel functions of real order -------------------------------------------------------------------------

_ORDER = 50.0  # from here on Olver's expansions have all digits


@functools.cache
def _olver_coefficients(count: int = 14) -> np.ndarray[Any, Any]:
    """Of u_0, u_1, ... (DLMF 10.41.9): u_k(p) / p^k is a polynomial in p^2, a row of the table, lowest first."""
    table = np.zeros((count, count))
    u = [Fraction(1)]
    for k in range(count):
        table[k, : k + 1] = [float(c) for c in u[k::2]]
        new = [Fraction(0)] * (len(u) + 3)
        for j, c in enumerate(u):
            new[j + 1] += c * j / 2 + c / (8 * (j + 1))
            new[j + 3] -= c * j / 2 + 5 * c / (8 * (j + 3))
        u = new
    return table


def _olver(v: Array, x: Array, sign: int) -> tuple[Array, Array]:
    """The sum of Olver's expansion, and the exponent v * eta - x, for orders of 50 or more."""
    root = jnp.hypot(v, x)
    p = v / root
    square, factor = p * p, sign * p / v
    table = jnp.array(_olver_coefficients())
    count = len(table)

    def inward(i: Array, total: Array) -> Array:
        row = table[count - 1 - i]
        value = jnp.full_like(v, row[-1])
        for j in range(count - 2, -1, -1):
            value = value * square + row[j]
        return total * factor + value

    total = lax.fori_loop(0, count, inward, jnp.zeros_like(v))
    exponent = v * v / (root + x) - v * _asinh(v, x)
    return total, exponent


def _asinh(v: Array, x: Array) -> Array:
    return jnp.log1p((v + v * (v / (jnp.hypot(v, x) + x))) / x)


def kve(v: Array, x: Array) -> Array:
    """`scipy.special.kve`: K_v(x) exp(x)."""
    v = jnp.abs(v)
    valid = (x > 0) & (x < jnp.inf) & (v < jnp.inf)
    order, place = jnp.where(valid, v, 1.0), jnp.where(valid, x, 1.0)
    total, exponent = _olver(jnp.maximum(order, _ORDER), place, -1)
    far = jnp.sqrt(math.pi / (2 * jnp.hypot(order, place))) * jnp.exp(-exponent) * total
    found = jnp.where(order < _ORDER, _k_integral(jnp.minimum(order, _ORDER), place), far)
    outside = jnp.where(x == 0, jnp.inf, jnp.where((x == jnp.inf) & (v < jnp.inf), 0.0, jnp.nan))
    return jnp.where(valid, found, jnp.where((x > 0) & (v == jnp.inf), jnp.inf, outside))


def _k_integral(v: Array, x: Array) -> Array:
    """Trapezoidal sums of 4 terms a step, from 0 to where the integrand vanishes."""
    step = jnp.minimum(0.2, 1 / (1.8 * jnp.sqrt(jnp.hypot(v, x))))
    peak = _asinh(v, x)

    def term(t: Array) -> Array:
        t = jnp.minimum(t, 1400.0)  # long past the end; others may go on
        e = jnp.expm1(t / 2)
        fall = x * jnp.square(e + e / (e + 1)) / 2  # x (cosh(t) - 1)
        return (jnp.exp(v * t - fall) + jnp.exp(-v * t - fall)) / 2

    def goes_on(state: Any) -> Array:
        t, total, last = state
        return jnp.any((t < peak) | (last > 1e-17 * total))

    def add(state: Any) -> Any:
        t, total, _ = state
        terms = [term(t + k * step) for k in range(1, 5)]
        return t + 4 * step, total + (terms[0] + terms[1]) + (terms[2] + terms[3]), terms[-1]

    first = jnp.full_like(v, 0.5)
    _, total, _ = lax.while_loop(goes_on, add, (jnp.zeros_like(v), first, first))
    return total * step


def ive(v: Array, x: Array) -> Array:
    """`scipy.special.ive`: I_v(x) exp(-|x|)."""
    size, order = jnp.abs(x), jnp.abs(v)
    valid = (size > 0) & (size < jnp.inf) & (order < jnp.inf)
    a, z = jnp.where(valid, order, 1.0), jnp.where(valid, size, 1.0)
    found = jnp.where(
        (z <= 8) & (a < _ORDER), _i_series(a, jnp.minimum(z, 8.0)), _i_downward(a, jnp.maximum(z, 8.0), z)
    )
    whole = v == jnp.floor(v)
    reflected = found + (2 / math.pi) * _sin_pi(a) * jnp.exp(-2 * z) * kve(a, z)
    found = jnp.where((v < 0) & ~whole, reflected, found)
    odd = jnp.remainder(v, 2) == 1
    found = jnp.where(x < 0, jnp.where(whole, jnp.where(odd, -found, found), jnp.nan), found)
    return jnp.where(valid, found, _outside(v, x))


def iv(v: Array, x: Array) -> Array:
    """`scipy.special.iv`."""
    return ive(v, x) * jnp.exp(jnp.abs(x))


def _outside(v: Array, x: Array) -> Array:
    at_zero = jnp.where(v == 0, 1.0, jnp.where((v > 0) | (v == jnp.floor(v)), 0.0, jnp.nan))
    return jnp.where(x == 0, at_zero, jnp.where(jnp.isnan(x) | jnp.isnan(v), jnp.nan, 0.0))


def _sin_pi(v: Array) -> Array:
    rest = jnp.remainder(v, 2.0)
    near = jnp.where(rest > 1, rest - 1, rest)
    near = jnp.minimum(near, 1 - near)
    return jnp.where(rest > 1, -1, 1) * jnp.sin(math.pi * near)


def _i_series(v: Array, x: Array) -> Array:
    """The power series, behind (x / 2)^v / gamma(v + 1)."""
    leading = jnp.exp(v * jnp.log(x / 2) - gammaln(v + 1) - x)

    def inward(i: Array, total: Array) -> Array:
        k = (36 - i).astype(v.dtype)
        return 1 + total * (x * x / 4) / (k * (v + k))

    return leading * lax.fori_loop(0, 36, inward, jnp.ones_like(v))


def _i_downward(v: Array, x: Array, z: Array) -> Array:
    """From order 50 or more down to v; from v itself where that is 50 or more, and for all x then."""
    steps = jnp.maximum(jnp.ceil(_ORDER - v), 0.0)
    x = jnp.where(steps > 0, x, z)

    def at(order: Array) -> Array:
        total, exponent = _olver(order, x, 1)
        return jnp.exp(exponent) * total / jnp.sqrt(2 * math.pi * jnp.hypot(order, x))

    def down(k: Array, state: Any) -> Any:
        above, here = state
        order = v + steps - k
        below = above + 2 * order / x * here
        active = k < steps
        return jnp.where(active, here, above), jnp.where(active, below, here)

    return lax.fori_loop(0, int(_ORDER), down, (at(v + steps + 1), at(v + steps)))[1]


# ---- inverses of the incomplete gamma and beta functions -------------------------------------------------------------

_WIDEST = 745.0  # exp(-745) is the smallest positive float64


def gammaincinv(a: Array, p: Array) -> Array:
    """x where gammainc(a, x) = p."""
    return _gamma_quantile(a, p, 1 - p)


def gammainccinv(a: Array, q: Array) -> Array:
    """x where gammaincc(a, x) = q."""
    return _gamma_quantile(a, 1 - q, q)


def _gamma_quantile(a: Array, lower: Array, upper: Array) -> Array:
    """x where gammainc(a, x) = lower and gammaincc(a, x) = upper = 1 - lower; solved for log(x) by the smaller one."""
    invalid = ~((a >= 0) & (lower >= 0) & (lower <= 1) & (upper >= 0) & (upper <= 1))
    done = invalid | (a == 0) | (lower == 0) | (upper == 0)
    shape, is_lower = jnp.where(done, 1.0, a), lower <= upper
    target = jnp.where(done, 0.5, jnp.where(is_lower, lower, upper))
    log_gamma = gammaln(shape)

    def function(t: Array) -> tuple[Array, Array]:
        x = jnp.exp(t)
        tail = jnp.where(is_lower, gammainc(shape, x), gammaincc(shape, x))
        return _excess(tail, target, is_lower), jnp.exp(shape * t - x - log_gamma) / tail

    # gammainc(a, x) < x^a / gamma(a + 1), close for small x; a itself is near the median of a large `a`.
    bound = (jnp.log(jnp.where(done, 0.5, lower)) + gammaln(shape + 1)) / shape
    root = _normal(_solve(jnp.where(shape < 1, bound, jnp.log(shape)), function), jnp.exp)
    root = jnp.where(upper == 0, jnp.inf, jnp.where(a == 0, jnp.nan, root))
    return jnp.where(invalid, jnp.nan, jnp.where(lower == 0, 0.0, root))


def betaincinv(a: Array, b: Array, lower: Array) -> Array:
    """x where betainc(a, b, x) = lower; solved for log(x / (1 - x)) by the smaller of lower and 1 - lower."""
    invalid = ~((a > 0) & (b > 0) & (lower >= 0) & (lower <= 1))
    at_end = (lower == 0) | (lower == 1)
    done = invalid | at_end
    a, b, chance = jnp.where(done, 1.0, a), jnp.where(done, 1.0, b), jnp.where(done, 0.5, lower)
    is_lower = chance <= 0.5
    target = jnp.where(is_lower, chance, 1 - chance)
    first, second = jnp.where(is_lower, a, b), jnp.where(is_lower, b, a)
    log_beta = betaln(a, b)

    def function(t: Array) -> tuple[Array, Array]:
        x, rest = nn.sigmoid(t), nn.sigmoid(-t)
        tail = betainc(first, second, jnp.where(is_lower, x, rest))
        return _excess(tail, target, is_lower), jnp.exp(a * jnp.log(x) + b * jnp.log(rest) - log_beta) / tail

    root = _normal(_solve(jnp.log(a / b), function), nn.sigmoid)
    return jnp.where(invalid, jnp.nan, jnp.where(at_end, lower, root))


def _excess(tail: Array, target: Array, is_lower: Array) -> Array:
    excess = jnp.log(tail / target)
    return jnp.where(is_lower, excess, -excess)


def _normal(t: Array, function: Callable[[Array], Array]) -> Array:
    return jnp.where(t < -708, 0.0, function(t))


def _solve(start: Array, function: Callable[[Array], tuple[Array, Array]]) -> Array:
    """The root of an increasing function, of which it gives value and slope, between -745 and 745.

    By Newton's method, by halving the bracket where a step leaves it.
    """

    def goes_on(state: Any) -> Array:
        t, _, _, move, count = state
        return jnp.any(jnp.abs(move) > 4e-16 * (jnp.abs(t) + 1)) & (count < 100)

    def step(state: Any) -> Any:
        t, low, high, _, count = state
        value, slope = function(t)
        low, high = jnp.where(value < 0, t, low), jnp.where(value < 0, high, t)
        newton = t - value / slope
        moved = jnp.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))  # false for NaN
        return moved, low, high, moved - t, count + 1

    start = jnp.clip(start, -_WIDEST, _WIDEST)
    high = jnp.full_like(start, _WIDEST)
    return lax.while_loop(goes_on, step, (start, -high, high, high, 0))[0]


# ---- others ----------------------------------------------------------------------------------------------------------

_LONGEST = 1_000_000  # terms; where more were needed the result is NaN


def polygamma_left(n: Array, x: Array) -> Array:
    """The difference of polygamma functions between x and x + ceil(-x): n! (-1)^(n + 1) sum (x + k)^(-n - 1).

    0 for x of at least 0; infinite at poles. Orders n are at least 1. CHLO's series is for arguments above -9: it adds
    ten terms and an asymptotic rest, wherever that begins.
    """
    count = jnp.where((x < 0) & (x > -_LONGEST), jnp.ceil(-x), 0.0)
    count = jnp.where((x <= 0) & (x == jnp.floor(x)) & (count < _LONGEST), count + 1, count)

    def add(state: Any) -> Any:
        k, total = state
        term = jnp.power(jnp.abs(x + k), -n - 1) * jnp.where((x + k < 0) & (jnp.remainder(n, 2) == 0), -1.0, 1.0)
        return k + 1, total + jnp.where(k < count, term, 0.0)

    start = jnp.zeros((), x.dtype), jnp.zeros_like(x)
    total = lax.while_loop(lambda state: jnp.any(state[0] < count), add, start)[1]
    scaled = jnp.where(total == 0, 0.0, jnp.exp(gammaln(n + 1)) * total)
    return jnp.where(x <= -_LONGEST, jnp.nan, jnp.where(jnp.remainder(n, 2) == 1, scaled, -scaled))


# Cephes' ndtri (S. Moshier, 1989), for z = sqrt(-2 log p): numerator and denominator in 1 / z, highest power first.
_NEAR_TAIL = (
    (
        *(4.05544892305962419923e0, 3.15251094599893866154e1, 5.71628192246421288162e1, 4.40805073893200834700e1),
        *(1.46849561928858024014e1, 2.18663306850790267539e0, -1.40256079171354495875e-1, -3.50424626827848203418e-2),
        -8.57456785154685413611e-4,
    ),
    (
        *(1.0, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1, 1.50425385692907503408e1),
        *(2.50464946208309415979e0, -1.42182922854787788574e-1, -3.80806407691578277194e-2, -9.33259480895457427372e-4),
    ),
)
_FAR_TAIL = (
    (
        *(3.23774891776946035970e0, 6.91522889068984211695e0, 3.93881025292474443415e0, 1.33303460815807542389e0),
        *(2.01485389549179081538e-1, 1.23716634817820021358e-2, 3.01581553508235416007e-4, 2.65806974686737550832e-6),
        6.23974539184983293730e-9,
    ),
    (
        *(1.0, 6.02427039364742014255e0, 3.67983563856160859403e0, 1.37702099489081330271e0, 2.16236993594496635890e-1),
        *(1.34204006088543189037e-2, 3.28014464682127739104e-4, 2.89247864745380683936e-6, 6.79019408009981274425e-9),
    ),
)


def ndtriexp(x: Array) -> Array:
    """The standard normal quantile of exp(x).

    Near 0 by the other tail, whose probability is -expm1(x); below -2 from x itself, since exp(x) vanishes there.
    """
    upper, lower = x > math.log1p(-math.exp(-2)), x < -2
    chance = jnp.where(lower, 0.5, jnp.where(upper, -jnp.expm1(x), jnp.exp(x)))
    middle = ndtri(chance)
    # -2 x may overflow; where the tail is not asked for it must not be NaN for the derivatives' sake.
    z = jnp.sqrt(-jnp.where(lower, x, -2.0)) * math.sqrt(2)
    near, far = (_polynomial(1 / z, above) / _polynomial(1 / z, below) for above, below in (_NEAR_TAIL, _FAR_TAIL))
    tail = jnp.where(z < 8, near, far) / z - z + jnp.log(z) / z
    tail = jnp.where(jnp.isinf(x), -jnp.inf, tail)
    return jnp.where(x > 0, jnp.nan, jnp.where(lower, tail, jnp.where(upper, -middle, middle)))


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    value = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
