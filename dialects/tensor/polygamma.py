"""Polygamma functions left of 0, elementwise, as a JAX function that the table of scalar ops imports.

CHLO's series is for arguments above -9: it adds ten terms and an asymptotic rest, wherever that begins.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import gammaln

Array: TypeAlias = Any

_LONGEST = 1_000_000  # terms; where more were needed the result is NaN


def polygamma_left(n: Array, x: Array) -> Array:
    """The difference of orders n of at least 1 between x and x + ceil(-x): n! (-1)^(n + 1) sum (x + k)^(-n - 1).

    0 for x of at least 0; infinite at poles.
    """
    count = jnp.where((x < 0) & (x > -_LONGEST), jnp.ceil(-x), 0.0)
    count = jnp.where((x <= 0) & (x == jnp.floor(x)) & (count < _LONGEST), count + 1, count)

    def goes_on(state: Any) -> Array:
        return jnp.any(state[0] < count)

    def add(state: Any) -> Any:
        k, total = state
        term = jnp.power(jnp.abs(x + k), -n - 1) * jnp.where((x + k < 0) & (jnp.remainder(n, 2) == 0), -1.0, 1.0)
        return k + 1, total + jnp.where(k < count, term, 0.0)

    _, total = lax.while_loop(goes_on, add, (jnp.zeros((), x.dtype), jnp.zeros_like(x)))
    scaled = jnp.where(total == 0, 0.0, jnp.exp(gammaln(n + 1)) * total)
    signed = jnp.where(jnp.remainder(n, 2) == 1, scaled, -scaled)
    return jnp.where(x <= -_LONGEST, jnp.nan, signed)
