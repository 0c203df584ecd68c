"""Permutations, and choices without replacement: orders of items, of a number that only the call may know.

An order is JAX's: rounds of sorting by random 32-bit keys, so many that no two items had the same keys in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from .sampling import Array, Sampler, Shape, samples

# More items than the first number take a round, more than the second take another one, ...
_ROUNDS = tuple((2.0**32 - 1) ** (k / 3) for k in range(4))


def _order(key: Array, count: Any) -> Array:
    """`jax.random.permutation(key, count)`, of a count that may be symbolic."""

    def again(_: Any, state: Any) -> Any:
        key, order = state
        key, subkey = random.split(key)
        bits = random.bits(subkey, (count,), np.uint32)
        return key, lax.sort_key_val(bits, order)[1]

    state = key, jnp.arange(count)
    if isinstance(count, int):
        for _ in range(sum(count > limit for limit in _ROUNDS)):
            state = again(0, state)
        return state[1]
    rounds = sum((jnp.asarray(count) > limit).astype(np.int64) for limit in _ROUNDS)
    return lax.fori_loop(0, rounds, again, state)[1]


def _each(function: Sampler, key: Array, shape: Shape, arrays: Sequence[Array]) -> Array:
    """One draw for each element of `shape`, each with a key of its own where there are such axes."""
    if not shape:
        return function(key, *arrays)
    rank = len(shape)
    arrays = [jnp.broadcast_to(x, (*shape, *x.shape[rank:])) for x in arrays]
    keys = random.split(key, shape)
    for _ in shape:
        function = jax.vmap(function)
    return function(keys, *arrays)


def _take(x: Array, places: Array) -> Array:
    """Rows of an array, which has one more to read where it may have none."""
    if not isinstance(x.shape[0], int):
        x = jnp.concatenate([x, jnp.zeros((1, *x.shape[1:]), x.dtype)])
    return x[places]


@samples("PermutationRV")
def _permutation(key: Array, shape: Shape, dtype: Any, x: Array) -> Array:
    return _each(lambda key, x: _take(x, _order(key, x.shape[0])), key, shape, [x])


@samples("PermutationRV of a count")
def _permutation_of_a_count(key: Array, shape: Shape, dtype: Any, like: Array) -> Array:
    return _each(lambda key, like: _order(key, like.shape[0]), key, shape, [like])


@samples("ChoiceWithoutReplacement")
def _choice(key: Array, shape: Shape, dtype: Any, a: Array, *rest: Array) -> Array:
    return _each(choice, key, shape, [a, *rest])


def choice(key: Array, items: Array, *rest: Array) -> Array:
    """Some of the items, each at most once; see `_chosen`."""
    return _take(items, _chosen(key, items, *rest))


@samples("ChoiceWithoutReplacement of a count")
def _choice_of_a_count(key: Array, shape: Shape, dtype: Any, like: Array, *rest: Array) -> Array:
    return _each(_chosen, key, shape, [like, *rest])


def _chosen(key: Array, items: Array, *rest: Array) -> Array:
    """The first places of an order; with chances, of that by their logarithms and Gumbel variables.

    Args:
        key: the key.
        items: as many as there are to choose from.
        rest: the chances, where there are any, and an array of the shape of the choice.
    """
    *chances, like = rest
    if chances:
        p = chances[0] if jnp.issubdtype(chances[0].dtype, jnp.floating) else chances[0].astype(np.float64)
        order = jnp.argsort(-(random.gumbel(key, p.shape, p.dtype) + jnp.log(p)))
    else:
        order = _order(key, items.shape[0])
    return _take(order, jnp.arange(like.size).reshape(like.shape))
