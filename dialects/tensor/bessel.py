"""Bessel functions of real order in float64, elementwise, as JAX functions that the table of scalar ops imports.

In: arrays of one shape. Out: an array. Loops go on until the slowest element is done. Methods:

    k    order below 50: the integral of exp(-x (cosh t - 1)) cosh(v t), whose trapezoidal sums converge as fast as a
         Gaussian's. Above: Olver's uniform expansion (DLMF 10.41.4).
    i    x up to 8: the power series. Else Olver's expansion (DLMF 10.41.3) at an order of 50 or more, then the
         recurrence downward, which is stable. Negative orders by DLMF 10.27.2.
    j    x far past the order: Hankel's expansion (DLMF 10.17.3). x small beside it: the power series. Between them the
         recurrence downward from where the function vanishes (Miller), scaled by Hankel's value of a small order, or by
         DLMF 10.23.15 where x is small.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln

Array: TypeAlias = Any

_ORDER = 50.0  # from here on Olver's expansions have all digits
_LONGEST = 100_000  # steps of a recurrence; where more were needed the result is NaN


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
    """asinh(v / x); JAX's own is a call that shape refinement does not get through."""
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
    return jnp.where(valid, found, _outside(v, x, jnp.nan))


def _outside(v: Array, x: Array, pole: float) -> Array:
    """I and J where the argument is 0, with what is at a pole there, or not finite: 0, where SciPy's is NaN."""
    at_zero = jnp.where(v == 0, 1.0, jnp.where((v > 0) | (v == jnp.floor(v)), 0.0, pole))
    at_zero = jnp.where(jnp.isnan(v), jnp.nan, at_zero)
    return jnp.where(x == 0, at_zero, jnp.where(jnp.isnan(x) | jnp.isnan(v), jnp.nan, 0.0))


def _sin_pi(v: Array) -> Array:
    """sin(pi v) for v of at least 0, exact for whole and half numbers."""
    rest = jnp.remainder(v, 2.0)
    near = jnp.where(rest > 1, rest - 1, rest)
    near = jnp.minimum(near, 1 - near)
    return jnp.where(rest > 1, -1, 1) * jnp.sin(math.pi * near)


def _cos_pi(v: Array) -> Array:
    """cos(pi v) for v of at least 0."""
    return _sin_pi(v + 0.5)


def _power_series(v: Array, square: Array, terms: int) -> Array:
    """The sum of square^k / (k! (v + 1) ... (v + k))."""

    def inward(i: Array, total: Array) -> Array:
        k = (terms - i).astype(v.dtype)
        return 1 + total * square / (k * (v + k))

    return lax.fori_loop(0, terms, inward, jnp.ones_like(v))


def _leading(v: Array, x: Array) -> Array:
    """The logarithm of (x / 2)^v / gamma(v + 1)."""
    return v * jnp.log(x / 2) - gammaln(v + 1)


def _i_series(v: Array, x: Array) -> Array:
    return jnp.exp(_leading(v, x) - x) * _power_series(v, x * x / 4, 36)


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


# ---- J -------------------------------------------------------------------------------------------------------------


def _hankel(v: Array, x: Array) -> Array:
    """Hankel's expansion, where x is at least 25 and half the square of the order."""
    one = jnp.ones_like(v)

    def add(i: Array, state: Any) -> Any:
        p, q, term, least = state
        k = (2 * i + 1).astype(v.dtype)
        for odd in (True, False):
            term = term * (4 * v * v - (2 * k - 1) ** 2) / (8 * k * x)
            size = jnp.abs(term)
            term = jnp.where(size <= least, term, 0.0)  # the terms grow again
            least = jnp.minimum(size, least)
            sign = 1 - 2 * jnp.remainder(i + (0 if odd else 1), 2)
            p, q = (p, q + sign * term) if odd else (p + sign * term, q)
            k = k + 1
        return p, q, term, least

    p, q, _, _ = lax.fori_loop(0, 20, add, (one, jnp.zeros_like(v), one, one))
    cosine, sine = _cos_pi(v / 2 + 0.25), _sin_pi(v / 2 + 0.25)
    c, s = jnp.cos(x), jnp.sin(x)
    return jnp.sqrt(2 / (math.pi * x)) * (p * (c * cosine + s * sine) - q * (s * cosine - c * sine))


def _small_order(v: int, x: Array) -> Array:
    """J_0 or J_1 by the trapezoidal rule on its integral, which is periodic; up to x = 25 by 33 places on a quarter."""
    places = np.arange(33) * (math.pi / 64)
    total = jnp.zeros_like(x)
    for place in places:
        weight = 0.5 if place in (places[0], places[-1]) else 1.0
        s = math.sin(place)
        total = total + weight * (jnp.cos(x * s) if v == 0 else jnp.sin(x * s) * s)
    return total / 32


def _of_order(v: int, x: Array) -> Array:
    size = jnp.abs(x)
    near = _small_order(v, jnp.minimum(size, 25.0))
    far = _hankel(jnp.full_like(x, v), jnp.clip(size, 25.0, 1e300))
    found = jnp.where(size < 25, near, jnp.where(size == jnp.inf, 0.0, far))
    found = jnp.where(jnp.isnan(x), jnp.nan, found)
    return jnp.where(x < 0, -found, found) if v else found


def j0(x: Array) -> Array:
    """`scipy.special.j0`."""
    return _of_order(0, x)


def j1(x: Array) -> Array:
    """`scipy.special.j1`."""
    return _of_order(1, x)


def jv(v: Array, x: Array) -> Array:
    """`scipy.special.jv` of real arguments."""
    size = jnp.abs(x)
    whole = v == jnp.floor(v)
    valid = (size > 0) & (size < jnp.inf) & (jnp.abs(v) < jnp.inf)
    v_ = jnp.where(valid, jnp.where(whole, jnp.abs(v), v), 1.0)
    z = jnp.where(valid, size, 1.0)
    part = v_ - jnp.floor(v_)
    up = _j_positive(jnp.where(v_ < 0, part, v_), z)
    found = jnp.where(v_ < 0, _j_negative(v_, part, z, up), up)
    odd = jnp.remainder(v, 2) == 1
    found = jnp.where(whole & odd & ((v < 0) != (x < 0)), -found, found)
    found = jnp.where((x < 0) & ~whole, jnp.nan, found)
    return jnp.where(valid, found, _outside(v, x, jnp.inf))


def _j_negative(v: Array, part: Array, x: Array, first: Array) -> Array:
    """Down from the orders `part`, between 0 and 1, and `part + 1`; nothing is lost, since the function grows."""
    needed = v < 0
    steps = jnp.where(needed, jnp.minimum(jnp.floor(-v) + 1, _LONGEST), 0.0)
    second = _j_positive(jnp.where(needed, part + 1, 1.0), x)

    def down(state: Any) -> Any:
        k, above, here = state
        active = k < steps
        below = 2 * (part - k) / x * here - jnp.where(jnp.isinf(here), 0.0, above)
        return k + 1, jnp.where(active, here, above), jnp.where(active, below, here)

    return lax.while_loop(lambda s: jnp.any(s[0] < steps), down, (jnp.zeros(()), second, first))[2]


def _j_positive(v: Array, x: Array) -> Array:
    far = (x >= 25) & (x >= v * v / 2)
    small = x * x <= 4 * (v + 1)
    asymptotic = _hankel(jnp.where(far, v, 0.0), jnp.where(far, x, 25.0))
    order, place = jnp.where(small, v, 1.0), jnp.where(small, x, 1.0)
    series = jnp.exp(_leading(order, place)) * _power_series(order, -place * place / 4, 18)
    between = ~far & ~small
    middle = _miller(jnp.where(between, v, 0.0), jnp.where(between, x, 1.0))
    return jnp.where(far, asymptotic, jnp.where(small, series, middle))


def _miller(v: Array, x: Array) -> Array:
    """The recurrence downward from an order past x and v, scaled at the smallest order."""
    part = v - jnp.floor(v)
    top = jnp.maximum(v, x)
    start = jnp.ceil(top + 10 * jnp.cbrt(top) + 20)
    start = start + jnp.remainder(start, 2)
    known = start < _LONGEST
    start = jnp.where(known, start, 2.0)
    half = start / 2
    weight = jnp.exp(gammaln(part + half) - gammaln(half + 1))  # gamma(part + k) / k! for k of half the order

    def down(state: Any) -> Any:
        k, above, here, wanted, total, weight = state
        active = k > 0
        wanted = jnp.where(k == jnp.floor(v), here, wanted)
        even = active & (jnp.remainder(k, 2) == 0)
        total = jnp.where(even, total + (part + k) * weight * here, total)
        lighter = weight * (k / 2) / jnp.where(k > 2, part + k / 2 - 1, 1.0)
        weight = jnp.where(even, lighter, weight)
        below = 2 * (part + k) / x * here - above
        scale = jnp.where(jnp.abs(below) > 1e100, 1e-100, 1.0)
        above, here = jnp.where(active, here * scale, above), jnp.where(active, below * scale, here)
        scale = jnp.where(active, scale, 1.0)
        return jnp.maximum(k - 1, 0.0), above, here, wanted * scale, total * scale, weight

    zero = jnp.zeros_like(x)
    state = (start, zero, jnp.full_like(x, 1e-100), zero, zero, weight)
    _, above, here, wanted, total, weight = lax.while_loop(lambda s: jnp.any(s[0] > 0), down, state)
    wanted = jnp.where(v < 1, here, wanted)
    total = total + weight * here
    near = wanted / total * jnp.power(x / 2, part)
    z = jnp.maximum(x, 25.0)
    first, second = _hankel(part, z), _hankel(part + 1, z)
    far = jnp.where(jnp.abs(first) > jnp.abs(second), wanted * (first / here), wanted * (second / above))
    return jnp.where(known, jnp.where(x < 25, near, far), jnp.nan)
