"""Draws of PyMC's own random variables, by their formulas in SciPy or PyMC, with JAX's random numbers.

What PyMC itself cannot draw is refused here, with what to do.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax, random
from jax.scipy.special import ndtr, ndtri

from . import rejection
from .sampling import Array, Shape, of_numbers, refuses, samples

_CONTINUOUS = "pymc.distributions.continuous"
_MULTIVARIATE = "pymc.distributions.multivariate"

_NO_LAW = "no law to draw from: its density has no integral; leave it out of what is drawn, or give it another prior"
refuses(f"{_CONTINUOUS}.FlatRV", _NO_LAW)
refuses(f"{_CONTINUOUS}.HalfFlatRV", _NO_LAW)
refuses(f"{_MULTIVARIATE}.ICARRV", f"{_NO_LAW} (CAR)")


# ---- of one number ------------------------------------------------------------------------------------------------


_TAIL = 5.0  # standard deviations from which a truncated tail is drawn by rejection


@samples(f"{_CONTINUOUS}.TruncatedNormalRV")
def _truncated_normal(
    key: Array, shape: Shape, dtype: Any, mu: Array, sigma: Array, lower: Array, upper: Array
) -> Array:
    """By inversion, on the side of the mean where most of the interval is; a tail by Marsaglia's rejection (1964)."""
    mu, sigma, lower, upper = (jnp.broadcast_to(x, shape).astype(np.float64) for x in (mu, sigma, lower, upper))
    a, b = (lower - mu) / sigma, (upper - mu) / sigma
    turned = a + b > 0
    low, high = jnp.where(turned, -b, a), jnp.where(turned, -a, b)
    inversion_key, key = random.split(key)
    u = random.uniform(inversion_key, shape, np.float64, np.finfo(np.float64).tiny, 1)
    below = ndtr(low)
    inverted = ndtri(below + u * (ndtr(high) - below))
    near, far = jnp.where(high < -_TAIL, -high, _TAIL), jnp.where(high < -_TAIL, -low, math.inf)
    tail = -rejection.normal_tail(key, near, far, shape)
    z = jnp.clip(jnp.where(high < -_TAIL, tail, inverted), low, high)
    found = jnp.clip(mu + sigma * jnp.where(turned, -z, z), lower, upper)
    return jnp.where((sigma > 0) & (a < b), found, jnp.nan)


@samples(f"{_CONTINUOUS}.InterpolatedRV")
def _interpolated(key: Array, shape: Shape, dtype: Any, x: Array, pdf: Array, cdf: Array) -> Array:
    """Inversion; between two points the distribution function is quadratic."""
    p = random.uniform(key, shape, np.float64)
    place = jnp.sum(cdf <= p[..., None], axis=-1) - 1
    place = jnp.clip(place, 0, x.shape[-1] - 2)

    def at(values: Array, place: Array) -> Array:
        values = jnp.broadcast_to(values, (*shape, values.shape[-1]))
        return jnp.take_along_axis(values, place[..., None], axis=-1)[..., 0]

    height = at(pdf, place)
    slope = (at(pdf, place + 1) - height) / (at(x, place + 1) - at(x, place))
    rest = p - at(cdf, place)
    root = height + jnp.sqrt(jnp.maximum(height * height + 2 * slope * rest, 0))
    return at(x, place) + jnp.where(root > 0, 2 * rest / jnp.where(root > 0, root, 1), 0)


def _clipped_beta(key: Array, shape: Shape, dtype: Any, a: Array, b: Array) -> Array:
    """Between the numbers next to 0 and 1."""
    low, high = np.nextafter(0, 1, dtype=dtype), np.nextafter(1, 0, dtype=dtype)
    return jnp.clip(random.beta(key, a, b, shape, dtype), low, high)


def _skew_student_t(key: Array, shape: Shape, dtype: Any, a: Array, b: Array, mu: Array, sigma: Array) -> Array:
    """With gamma variables X and Y, (X - Y) / (2 sqrt(X Y)) times sqrt(a + b) (Jones and Faddy, 2003)."""
    first, second = random.split(key)
    ratio = random.loggamma(first, a, shape, dtype) - random.loggamma(second, b, shape, dtype)
    return mu + sigma * jnp.sinh(ratio / 2) * jnp.sqrt(a + b)


def _skew_normal(key: Array, shape: Shape, dtype: Any, mu: Array, sigma: Array, alpha: Array) -> Array:
    """A normal variable that takes the sign of another one, with which it is correlated (Azzalini, 1985)."""
    hidden, noise = (random.normal(k, shape, dtype) for k in random.split(key))
    return mu + sigma * ((alpha * jnp.abs(hidden) + noise) / jnp.hypot(1, alpha))


def _rice(key: Array, shape: Shape, dtype: Any, b: Array, sigma: Array) -> Array:
    x, y = (random.normal(k, shape, dtype) for k in random.split(key))
    return sigma * jnp.hypot(b + x, y)


of_numbers(
    {
        f"{_CONTINUOUS}.BetaClippedRV": _clipped_beta,
        f"{_CONTINUOUS}.WaldRV": lambda k, n, t, mu, lam, alpha: alpha + lam * random.wald(k, mu / lam, n, t),
        f"{_CONTINUOUS}.SkewStudentTRV": _skew_student_t,
        f"{_CONTINUOUS}.SkewNormalRV": _skew_normal,
        f"{_CONTINUOUS}.RiceRV": _rice,
        # minus the logarithm of a chi-square variable
        f"{_CONTINUOUS}.MoyalRV": lambda k, n, t, mu, sigma: mu - sigma * 2 * jnp.log(jnp.abs(random.normal(k, n, t))),
        "pymc.distributions.discrete.DiscreteUniformRV": lambda k, n, t, low, high: random.randint(
            k, n, low, high + 1, t
        ),
        f"{_MULTIVARIATE}.MatrixNormalRV": lambda k, n, t, mu, rows, columns: (
            mu + rows @ random.normal(k, (*n, rows.shape[-1], columns.shape[-1]), t) @ jnp.swapaxes(columns, -1, -2)
        ),
    }
)


# ---- of many ------------------------------------------------------------------------------------------------------


@samples(f"{_MULTIVARIATE}.CARRV")
def _car(key: Array, shape: Shape, dtype: Any, mu: Array, w: Array, alpha: Array, tau: Array, is_valid: Array) -> Array:
    """Normal variables of precision tau (D - alpha W): as its density has it, where PyMC draws its square."""
    w, alpha, tau = w.astype(dtype), alpha.astype(dtype)[..., None, None], tau.astype(dtype)[..., None, None]
    precision = tau * (jnp.eye(w.shape[-1], dtype=dtype) * w.sum(axis=-2)[..., None, :] - alpha * w)
    factor = jnp.linalg.cholesky(precision)
    standard = random.normal(key, (*shape, mu.shape[-1], 1), dtype)
    factor = jnp.broadcast_to(factor, (*shape, *factor.shape[-2:]))
    noise = lax.linalg.triangular_solve(factor, standard, left_side=True, lower=True, transpose_a=True)
    valid = is_valid & (jnp.abs(alpha[..., 0, 0]) < 1)
    return jnp.where(valid[..., None], mu.astype(dtype) + noise[..., 0], jnp.nan)


@samples(f"{_MULTIVARIATE}.StickBreakingWeightsRV")
def _stick_breaking_weights(key: Array, shape: Shape, dtype: Any, alpha: Array, like: Array) -> Array:
    """Each weight is a part of what is left, and the last one is the rest."""
    alpha = alpha.astype(dtype)[..., None]
    parts = random.beta(key, jnp.ones((), dtype), alpha, (*shape, like.shape[-1]), dtype)
    left = jnp.cumprod(1 - parts, axis=-1)
    before = jnp.concatenate([jnp.ones((*shape, 1), dtype), left], axis=-1)
    return jnp.concatenate([before[..., :-1] * parts, before[..., -1:]], axis=-1)
