"""The request of jax-ml/jax#2521: a likelihood of a 1-D array, compiled again whenever the length changes.

The request has no program, only its shape: one array per call, of a length that changes all the time. What is asked:
compiles by the handful over hundreds of lengths, of the function and of its gradient, and the right numbers for each.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hlograph


def likelihood(x: Any, mean: Any, scale: Any) -> Any:
    """The log-likelihood of independent normal values."""
    return jax.scipy.stats.norm.logpdf(x, mean, scale).sum()


LENGTHS = np.random.default_rng(8).integers(0, 300, 45)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("how", ["value", "value-and-gradient", "gradient-outside"])
def test_hundreds_of_lengths_take_a_handful_of_compiles(how):
    with jax.enable_x64(True):
        named = {"x": ("n",)}
        inside = jax.value_and_grad(likelihood, (1, 2)) if how == "value-and-gradient" else likelihood
        ours = hlograph.jit(inside, dims=named, policy="padded")
        call = jax.value_and_grad(ours, (1, 2)) if how == "gradient-outside" else ours
        for n in LENGTHS:
            x = np.random.default_rng(n).normal(size=n)
            found = call(x, 0.3, 1.7)
            value, gradient = found if how != "value" else (found, ())
            np.testing.assert_allclose(value, stats.norm.logpdf(x, 0.3, 1.7).sum(), rtol=1e-12, atol=1e-12)
            if how != "value":
                wanted = (x - 0.3).sum() / 1.7**2, (((x - 0.3) / 1.7) ** 2 - 1).sum() / 1.7
                np.testing.assert_allclose(gradient, wanted, rtol=1e-11, atol=1e-11)
        made = [each for function in ours.functions for each in (function, *function.derived)]
    assert sum(function.stats.compiles for function in made) <= 16 < len(set(LENGTHS)) / 2


def test_lists_of_arrays_are_calls_of_one_function():
    batch = [np.arange(float(n)) for n in (1, 5, 2, 7, 3)]
    with jax.enable_x64(True):
        ours = hlograph.jit(lambda x: jnp.sum(x**2), dims={"x": ("n",)}, policy="padded")
        np.testing.assert_array_equal([float(ours(x)) for x in batch], [float((x**2).sum()) for x in batch])
        assert ours.stats.compiles <= 2
