"""Modified Bessel functions of real order in float64, elementwise, as JAX functions that the scalar table imports.

In: arrays of one shape. Out: an array. Loops go on until the slowest element is done. Methods:

    k    order below 50: the integral of exp(-x (cosh t - 1)) cosh(v t), whose trapezoidal sums converge as fast as a
         Gaussian's. Above: Olver's uniform expansion (DLMF 10.41.4).
    i    x up to 8: the power series. Else Olver's expansion (DLMF 10.41.3) at an order of 50 or more, then the
         recurrence downward, which is stable. Negative orders by DLMF 10.27.2.
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
    return jnp.where(valid, found, _outside(v, x))


def _outside(v: Array, x: Array) -> Array:
    """I where the argument is 0, NaN at a pole there, or not finite: 0, where SciPy's is NaN."""
    at_zero = jnp.where(v == 0, 1.0, jnp.where((v > 0) | (v == jnp.floor(v)), 0.0, jnp.nan))
    return jnp.where(x == 0, at_zero, jnp.where(jnp.isnan(x) | jnp.isnan(v), jnp.nan, 0.0))


def _sin_pi(v: Array) -> Array:
    """sin(pi v) for v of at least 0, exact for whole and half numbers."""
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
