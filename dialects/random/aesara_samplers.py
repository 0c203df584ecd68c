"""How JAX draws the random variables that are ops in Aesara alone; PyTensor writes them as graphs of others."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import random

from . import orders, rejection
from .sampling import Array, Shape, samples


@samples("RandIntRV")
def _randint(key: Array, shape: Shape, dtype: Any, low: Array, high: Array) -> Array:
    return random.randint(key, shape, low, high, dtype)


@samples("ChoiceRV")
def _choice(key: Array, shape: Shape, dtype: Any, items: Array, *chances: Array) -> Array:
    """With replacement."""
    count = items.shape[-1]
    if chances:
        places = random.categorical(key, jnp.log(chances[0]), axis=-1, shape=shape)
    else:
        places = random.randint(key, shape, 0, count, np.int64)
    return jnp.take_along_axis(jnp.broadcast_to(items, (*shape, count)), places[..., None], -1)[..., 0]


@samples("ChoiceRV without replacement")
def _choice_without(key: Array, shape: Shape, dtype: Any, items: Array, *chances: Array) -> Array:
    """One choice for all of the draw, whose elements are of the same items."""
    flat = [x.reshape(-1, x.shape[-1])[0] for x in (items, *chances)]
    return orders.choice(key, *flat, jnp.zeros(shape, bool))


@samples("ChiSquareRV")
def _chi_square(key: Array, shape: Shape, dtype: Any, df: Array) -> Array:
    return random.chisquare(key, df.astype(dtype), shape, dtype)


@samples("FRV")
def _f(key: Array, shape: Shape, dtype: Any, above: Array, below: Array) -> Array:
    return random.f(key, above.astype(dtype), below.astype(dtype), shape, dtype)


@samples("RayleighRV")
def _rayleigh(key: Array, shape: Shape, dtype: Any, scale: Array) -> Array:
    return random.rayleigh(key, scale.astype(dtype), shape, dtype)


@samples("PowerRV")
def _power(key: Array, shape: Shape, dtype: Any, a: Array) -> Array:
    """Inversion: the distribution function is `x**a`."""
    return jnp.exp(-random.exponential(key, shape, dtype) / a.astype(dtype))


@samples("ZipfRV")
def _zipf(key: Array, shape: Shape, dtype: Any, a: Array) -> Array:
    return rejection.zipf(key, a, shape).astype(np.int64)
