"""Gauss' hypergeometric function in float64, elementwise, as a JAX function that the table of scalar ops imports.

JAX's own is wrong from the second digit on where |z| is above 0.9. In: real arrays of one shape. Out: an array. Loops
go on until the slowest element is done. Method:

    1. The same value is a series in four ways (DLMF 15.8.1): of (a, b) or (c - a, c - b) in z, and of (a, c - b) or
       (c - a, b) in w = z / (z - 1). Those that converge fast enough are summed; the one that cancels least is taken,
       NaN where it leaves no four digits.
    2. Where the variable is above 3/4, the sums are taken at 1/2, and the differential equation carries value and slope
       on from there by Taylor series, each halving the distance to 1 at most (no parameter is special for it).
    3. At z = 1 Gauss' formula; a polynomial, whose series ends, is summed at any z.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import gammaln, gammasgn

Array: TypeAlias = Any

_FAR = 0.75  # from here on by the differential equation
_LOWEST = -0.95  # a variable below has another way
_START = 0.5
_LONGEST = 2000  # terms of a series
_EPSILON = 2.0**-55


def hyp2f1(a: Array, b: Array, c: Array, z: Array) -> Array:
    """`scipy.special.hyp2f1` of real arguments."""
    valid = jnp.isfinite(a) & jnp.isfinite(b) & jnp.isfinite(c) & jnp.isfinite(z)
    a, b, c, z = (jnp.where(valid, x, 0.5) for x in (a, b, c, z))
    length = jnp.minimum(_terms(a), _terms(b))  # of a polynomial
    pole = _terms(c) < length
    power = (a == c) | (b == c)  # of 1 - z
    ends = jnp.isfinite(length) & ~power
    inside = ends | (z < 1)
    place = jnp.where(inside & ~pole, z, 0.0)
    c_safe = jnp.where(pole | jnp.isfinite(_terms(c)) & power, 1.0, c)
    found = _inside(a, b, c_safe, jnp.where(ends, 0.0, place))
    found = jnp.where(ends, _polynomial(a, b, c_safe, place), found)
    found = jnp.where(power, jnp.exp(-jnp.where(a == c, b, a) * jnp.log1p(-place)), found)
    found = jnp.where((z == 1) & ~ends, _at_one(a, b, c), found)
    found = jnp.where(((z > 1) & ~ends) | (pole & (z != 0)), jnp.inf, found)
    return jnp.where(valid, found, jnp.nan)


def _terms(a: Array) -> Array:
    """How many terms a series with this parameter has: infinitely many, but for 0, -1, ..."""
    return jnp.where((a <= 0) & (a == jnp.floor(a)), 1 - a, jnp.inf)


def _at_one(a: Array, b: Array, c: Array) -> Array:
    """DLMF 15.4.20; infinite where the series does not converge."""
    rest = c - a - b
    parts = (c, rest, c - a, c - b)
    signs = gammasgn(c) * gammasgn(rest) * gammasgn(c - a) * gammasgn(c - b)
    logs = [gammaln(x) for x in parts]
    vanishes = jnp.isfinite(_terms(c - a)) | jnp.isfinite(_terms(c - b))
    value = jnp.where(vanishes, 0.0, signs * jnp.exp(logs[0] + logs[1] - logs[2] - logs[3]))
    return jnp.where(rest > 0, value, jnp.inf)


def _polynomial(a: Array, b: Array, c: Array, z: Array) -> Array:
    """A series that ends: in z, in z / (z - 1), or in 1 - z (DLMF 15.8.6, 15.8.7)."""
    first = _terms(a) <= _terms(b)
    degree = jnp.where(first, -a, -b)
    degree = jnp.where(jnp.isfinite(_terms(-degree)), degree, 0.0)
    b = jnp.where(first, b, a)
    w = jnp.where(z == 1, 0.0, z / (z - 1))
    mirrored = b - c - degree + 1
    allowed = [jnp.ones_like(first), z != 1, ~(jnp.isfinite(_terms(mirrored)) | jnp.isfinite(_terms(c)))]
    parts = (c - b, c, c + degree, c - b + degree)
    logs = [gammaln(x) for x in parts]
    sign = gammasgn(parts[0]) * gammasgn(parts[1]) * gammasgn(parts[2]) * gammasgn(parts[3])
    factors = [
        jnp.ones_like(z),
        jnp.power(1 - z, degree),
        sign * jnp.exp(logs[3] - logs[0] + logs[1] - logs[2]),
    ]
    ways = [(b, c, z), (c - b, c, w), (b, mirrored, 1 - z)]
    second, third, variable = (jnp.stack(x) for x in zip(*ways, strict=True))
    usable = jnp.stack(allowed)
    variable = jnp.where(usable, variable, 0.0)
    third = jnp.where(usable, third, 1.0)
    total, _, size = _series(jnp.broadcast_to(-degree, variable.shape), second, third, variable, usable)
    best = _least_loss(usable, size, total)
    return _row(jnp.stack(factors) * _unless_lost(total, size), best)


def _least_loss(usable: Array, size: Array, total: Array) -> Array:
    """Which of some ways loses least to cancellation; between equals the first one."""
    loss = jnp.where(usable, size / jnp.abs(total), jnp.inf)
    loss = jnp.where(jnp.isnan(loss), jnp.inf, loss)
    return jnp.argmin(jnp.log2(loss).round(1), axis=0)


def _row(x: Array, places: Array) -> Array:
    """For each column the element of the row that it names; by selects, which do for no columns too."""
    return functools.reduce(lambda found, i: jnp.where(places == i, x[i], found), range(1, len(x)), x[0])


def _unless_lost(total: Array, size: Array) -> Array:
    """NaN where cancellation leaves less than four digits."""
    return jnp.where(size > 1e12 * jnp.abs(total), jnp.nan, total)


def _inside(a: Array, b: Array, c: Array, z: Array) -> Array:
    """z below 1, and no polynomial."""
    rest = jnp.log1p(-z)
    w = z / (z - 1)
    ways = [
        (a, b, z, jnp.zeros_like(z)),
        (c - a, c - b, z, (c - a - b) * rest),
        (a, c - b, w, -a * rest),
        (c - a, b, w, -b * rest),
    ]
    first, second, variable, scale = (jnp.stack(x) for x in zip(*ways, strict=True))
    third = jnp.broadcast_to(c, first.shape)
    far = variable > _FAR
    start = jnp.where(far, _START, variable)
    usable = (variable < 1) & (variable > _LOWEST)
    start = jnp.where(usable, start, 0.0)
    total, slope, size = _series(first, second, third, start, usable)
    best = _least_loss(usable, size, total)
    total = _unless_lost(total, size)
    # Where z is near 1 the distance has more digits.
    distance = jnp.stack([1 - z, 1 - z, 1 / (1 - z), 1 / (1 - z)])
    first, second, distance, scale, start, total, slope = (
        _row(x, best) for x in (first, second, distance, scale, start, total, slope)
    )
    return _continued(first, second, c, 1 - start, distance, total, slope) * jnp.exp(scale)


def _series(a: Array, b: Array, c: Array, z: Array, usable: Array) -> tuple[Array, Array, Array]:
    """The sum, its derivative by z, and the sum of the terms' sizes."""

    def goes_on(state: Any) -> Array:
        k, term, _, _, size = state
        return jnp.any(usable & (jnp.abs(term) * (1 + k) > _EPSILON * size)) & (k < _LONGEST)

    def add(state: Any) -> Any:
        k, term, total, slope, size = state
        ratio = jnp.where(term == 0, 0.0, (a + k) * (b + k) / ((c + k) * (k + 1)))
        rising = term * ratio * (k + 1)  # term of the derivative
        term = term * ratio * z
        return k + 1, term, total + term, slope + rising, size + jnp.abs(term)

    one = jnp.ones_like(z)
    state = (jnp.zeros((), z.dtype), one, one, jnp.zeros_like(z), one)
    k, term, total, slope, size = lax.while_loop(goes_on, add, state)
    converged = ~usable | (jnp.abs(term) * (1 + k) <= 1e-9 * size)
    return jnp.where(converged, total, jnp.nan), slope, size


def _continued(a: Array, b: Array, c: Array, t: Array, end: Array, value: Array, slope: Array) -> Array:
    """The value at 1 - `end`, from value and slope at 1 - t; both are above 0, and no step is made if t is not more."""
    # Solutions grow by powers of these sizes; what rounding brings in of them must stay small within a step.
    powers = jnp.abs(a) + jnp.abs(b) + jnp.abs(c) + jnp.abs(c - a - b)
    share = jnp.minimum(0.5, 8 / powers)

    def goes_on(state: Any) -> Array:
        return jnp.any(state[0] > end)

    def step(state: Any) -> Any:
        t, value, slope = state
        h = jnp.minimum(jnp.maximum(t - end, 0), t * share)
        last = h >= t - end
        value, slope = _taylor(a, b, c, t, h, value, slope)
        return jnp.where(last, jnp.minimum(t, end), t - h), value, slope

    return lax.while_loop(goes_on, step, (t, value, slope))[1]


def _taylor(a: Array, b: Array, c: Array, t: Array, h: Array, value: Array, slope: Array) -> tuple[Array, Array]:
    """Value and slope at z + h, z = 1 - t, by z (1 - z) y'' + (c - (a + b + 1) z) y' - a b y = 0, term by term.

    h may be 0, where z does not move any more.
    """
    p, q, r = (1 - t) * t, 2 * t - 1, c - a - b - 1 + (a + b + 1) * t

    def goes_on(state: Any) -> Array:
        k, older, old, *_, size = state
        return jnp.any((jnp.abs(old) + jnp.abs(older)) * (1 + k) > _EPSILON * size) & (k < _LONGEST)

    def add(state: Any) -> Any:
        k, older, old, total, slopes, size = state
        new = ((a + k) * (b + k) * h * h * older - (k + 1) * (k * q + r) * h * old) / ((k + 2) * (k + 1) * p)
        return k + 1, old, new, total + new, slopes + (k + 2) * new, size + jnp.abs(new)

    first = slope * h
    state = (jnp.zeros((), t.dtype), value, first, value + first, first, jnp.abs(value) + jnp.abs(first))
    _, _, _, total, slopes, _ = lax.while_loop(goes_on, add, state)
    moved = h > 0
    return jnp.where(moved, total, value), jnp.where(moved, slopes / jnp.where(moved, h, 1.0), slope)
