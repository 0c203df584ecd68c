"""How JAX draws the random variables that are ops in Aesara alone; PyTensor writes them as graphs of others."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import random

from . import samplers
from .sampling import Array, Shape, of_numbers, samples


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
    return samplers.choice(key, *flat, jnp.zeros(shape, bool))


of_numbers(
    {
        "ChiSquareRV": lambda k, n, t, df: random.chisquare(k, df, n, t),
        "FRV": lambda k, n, t, above, below: random.f(k, above, below, n, t),
        "RayleighRV": lambda k, n, t, scale: random.rayleigh(k, scale, n, t),
        "PowerRV": lambda k, n, t, a: jnp.exp(-random.exponential(k, n, t) / a),  # inversion: the chance is x**a
    }
)
samples("ZipfRV")(lambda k, n, t, a: samplers.zipf(k, a, n).astype(np.int64))
