"""Samplers that `jax.random` has not, by rejection: elements draw until all are accepted.

In: a key, parameters, the draw's shape. Out: draws in float64. Every round takes a key of its own, and each random
number depends on the place of its element, so that padding changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax, random
from jax.scipy.special import gammaln

Array: TypeAlias = Any
Shape: TypeAlias = "tuple[Any, ...]"
Trial = Callable[..., "tuple[Array, Array]"]


def _until_accepted(key: Array, shape: Shape, uniforms: int, trial: Trial) -> Array:
    """Rounds of trials; `trial` takes so many uniform numbers for each element, and gives values and flags."""

    def again(state: Any) -> Any:
        key, found, done = state
        key, *keys = random.split(key, 1 + uniforms)
        value, accepted = trial(*[random.uniform(k, shape, np.float64) for k in keys])
        return key, jnp.where(done, found, value), done | accepted

    start = key, jnp.zeros(shape, np.float64), jnp.zeros(shape, bool)
    return lax.while_loop(lambda state: ~jnp.all(state[2]), again, start)[1]


def vonmises(key: Array, kappa: Array, shape: Shape) -> Array:
    """Angles around 0, from a wrapped Cauchy variable (Best and Fisher, 1979)."""
    kappa = jnp.broadcast_to(kappa, shape).astype(np.float64)
    kept = jnp.clip(kappa, 1e-8, 1e6)
    r = 1 + jnp.sqrt(1 + 4 * kept * kept)
    rho = 2 * kept / (r + jnp.sqrt(2 * r))  # (r - sqrt(2 r)) / (2 kappa)
    scale = (1 + rho * rho) / (2 * rho)

    def trial(u: Array, v: Array, side: Array) -> tuple[Array, Array]:
        z = jnp.cos(math.pi * u)
        cosine = (1 + scale * z) / (scale + z)
        y = kept * (scale - cosine)
        accepted = (y * (2 - y) > v) | (jnp.log(y / v) + 1 >= y)
        sine = jnp.sqrt(jnp.maximum((1 - cosine) * (1 + cosine), 0))
        angle = jnp.arctan2(sine, cosine)
        return jnp.where(side < 0.5, -angle, angle), accepted | jnp.isnan(kept)

    uniform_key, normal_key, key = random.split(key, 3)
    angle = _until_accepted(key, shape, 3, trial)
    flat = math.pi * (2 * random.uniform(uniform_key, shape, np.float64) - 1)
    narrow = random.normal(normal_key, shape, np.float64) / jnp.sqrt(jnp.maximum(kappa, 1.0))
    angle = jnp.where(kappa < 1e-8, flat, jnp.where(kappa > 1e6, narrow, angle))
    return jnp.where(kappa >= 0, angle, jnp.nan)


def normal_tail(key: Array, low: Array, high: Array, shape: Shape) -> Array:
    """A standard normal variable between `low` > 0 and `high` (Marsaglia, 1964): that of a Rayleigh variable."""
    low, high = (jnp.broadcast_to(x, shape).astype(np.float64) for x in (low, high))
    missing = -jnp.expm1(-(high - low) * (high + low) / 2)

    def trial(u: Array, v: Array) -> tuple[Array, Array]:
        x = jnp.sqrt(low * low - 2 * jnp.log1p(-u * missing))
        return x, (v * x <= low) | jnp.isnan(x)

    return _until_accepted(key, shape, 2, trial)


_FEW = 10  # so many are drawn one by one


def hypergeometric(key: Array, good: Array, bad: Array, count: Array, shape: Shape) -> Array:
    """How many of those drawn are good: one by one where that is few, else by ratio of uniforms (Stadlober, 1990)."""
    good, bad, count = (jnp.broadcast_to(x, shape).astype(np.float64) for x in (good, bad, count))
    total = good + bad
    less, more = jnp.minimum(good, bad), jnp.maximum(good, bad)
    drawn = jnp.minimum(count, total - count)
    urn_key, key = random.split(key)
    many = _until_accepted(key, shape, 2, _ratio_of_uniforms(less, more, drawn))
    found = jnp.where(drawn <= _FEW, _from_an_urn(urn_key, less, total, drawn, shape), many)
    found = jnp.where(good > bad, drawn - found, found)
    found = jnp.where(drawn < count, good - found, found)
    valid = (good >= 0) & (bad >= 0) & (count >= 0) & (count <= total)
    return jnp.where(valid, found, jnp.nan)


def zipf(key: Array, a: Array, shape: Shape) -> Array:
    """Ranks with chances in proportion to `rank**-a`, from a Pareto variable (Devroye, 1986, X.6.1)."""
    power = jnp.broadcast_to(a, shape).astype(np.float64) - 1
    scale = 2**power

    def trial(u: Array, v: Array) -> tuple[Array, Array]:
        rank = jnp.floor((1 - u) ** (-1 / power))
        ratio = (1 + 1 / rank) ** power
        accepted = (v * rank * (ratio - 1) / (scale - 1) <= ratio / scale) & (rank < 2.0**63)
        return rank, accepted | ~(power > 0)

    return jnp.where(power > 0, _until_accepted(key, shape, 2, trial), jnp.nan)


def _from_an_urn(key: Array, good: Array, total: Array, count: Array, shape: Shape) -> Array:
    found = jnp.zeros(shape, np.float64)
    for number, k in enumerate(random.split(key, _FEW)):
        chance = (good - found) / jnp.maximum(total - number, 1)
        hit = (random.uniform(k, shape, np.float64) < chance) & (number < count)
        found = found + hit
    return found


def _ratio_of_uniforms(less: Array, more: Array, count: Array) -> Trial:
    """Trials in a table mountain hat around the mode; Stadlober's constants 2 sqrt(2 / e) and 3 - 2 sqrt(3 / e)."""
    total = less + more
    p = less / jnp.maximum(total, 1)
    center = count * p + 0.5
    deviation = jnp.sqrt((total - count) * count * p * (1 - p) / jnp.maximum(total - 1, 1) + 0.5)
    width = 2 * math.sqrt(2 / math.e) * deviation + (3 - 2 * math.sqrt(3 / math.e))
    mode = jnp.floor((count + 1) * (less + 1) / (total + 2))

    def log_mass(k: Array) -> Array:
        parts = (k, less - k, count - k, more - count + k)
        return -sum(gammaln(part + 1) for part in parts)

    most = jnp.minimum(jnp.minimum(count, less) + 1, jnp.floor(center + 16 * deviation))
    few = ~(count > _FEW)

    def trial(u: Array, v: Array) -> tuple[Array, Array]:
        place = center + width * (v - 0.5) / u
        k = jnp.floor(place)
        inside = (place >= 0) & (place < most)
        accepted = inside & (2 * jnp.log(u) <= log_mass(jnp.where(inside, k, mode)) - log_mass(mode))
        return k, accepted | few

    return trial
