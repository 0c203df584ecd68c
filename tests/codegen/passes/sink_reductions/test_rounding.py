"""Rounding of float32 sums that move into a loop, against float64, in units of eps * sum(|terms|).

A step adds m terms to each result in float32, in some order; the steps' sums are added in float64. So the error is at
most (m - 1) / 2 for these and 1 / 2 for the result, however many steps there are; a product of two factors has another
1 / 2 for its own rounding. Steps added one after the other in float32 would be off by up to half their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hlograph

STEPS, BOUND, WIDTH = 3000, 4096, 8
EPS = float(np.finfo(np.float32).eps)


def stacked(xs: Any) -> Any:
    """What a loop reads, stacked."""
    return lax.scan(lambda c, x: (c + 1, x + 0 * c), jnp.float32(0), xs)[1]


@dataclass(frozen=True)
class Sum:
    """A sum over time, the terms of it in float64 (time first, then those that a step adds, then results), and m."""

    function: Callable[[Any], Any]
    terms: Callable[[np.ndarray], np.ndarray]
    most: float

    def error(self, found: Any, x: np.ndarray) -> float:
        terms = self.terms(x.astype(np.float64)).reshape(-1, np.size(found))
        exact = np.array([math.fsum(column) for column in terms.T])
        return float(np.max(np.abs(np.ravel(found) - exact) / (EPS * np.abs(terms).sum(0))))


SUMS = {
    "over time": Sum(lambda x: stacked(x).sum(0), lambda x: x, 0.5),
    "of all": Sum(lambda x: stacked(x).sum(), lambda x: x, WIDTH / 2),
    "strided": Sum(lambda x: stacked(x)[:, ::2].sum(1).sum(0), lambda x: x[:, ::2].reshape(-1, 1), WIDTH / 4),
    "transposed": Sum(lambda x: stacked(x).T.sum(1), lambda x: x, 0.5),
    "of products": Sum(lambda x: (stacked(x) * (x + 0.5)).sum(0), lambda x: x * (x + np.float64(0.5)), 2.0),
    "a dot": Sum(lambda x: jnp.einsum("tb,tb->b", stacked(x), jnp.abs(x)), lambda x: x * np.abs(x), 1.0),
}


def positive(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(1, 2, (STEPS, WIDTH))


def mixed(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(STEPS, WIDTH))


def cancels(rng: np.random.Generator) -> np.ndarray:
    """Each step takes away nearly what the one before has added."""
    once = 1e4 * rng.normal(size=(STEPS // 2, 1, WIDTH))
    return (once * np.array([1, -1])[:, None]).reshape(STEPS, WIDTH) + 0.01 * rng.normal(size=(STEPS, WIDTH))


DATA = {"positive": positive, "mixed": mixed, "cancels": cancels}


@pytest.mark.parametrize("name", SUMS)
def test_the_error_does_not_grow_with_the_steps(name: str) -> None:
    case = SUMS[name]
    exact = hlograph.jit(lambda x: case.function(x))
    padded = hlograph.jit(lambda x: case.function(x), dims={"x": ("t", WIDTH)}, policy={"t": BOUND})
    for kind, make in DATA.items():
        x = make(np.random.default_rng(0)).astype(np.float32)
        for function in (exact, padded):
            stages = function.lower(x).stages
            assert "sink_reductions" in stages.names
            assert case.error(function(x), x) <= case.most * 1.001, (kind, stages)


@pytest.mark.parametrize("reverse", [False, True])
def test_variances_and_sums_of_exponentials(reverse: bool) -> None:
    """Relative to the result: nothing cancels in them."""
    x = positive(np.random.default_rng(2)).astype(np.float32)

    def function(x: Any) -> tuple[Any, Any]:
        y = lax.scan(lambda c, x: (c + 1, x + 0 * c), jnp.float32(0), x, reverse=reverse)[1]
        return y.var(0), jnp.exp(y - y.max(0)).sum(0)

    wide = x.astype(np.float64)
    wanted = wide.var(0), np.exp(wide - wide.max(0)).sum(0)
    for named in ({}, {"dims": {"x": ("t", WIDTH)}, "policy": {"t": BOUND}}):
        ours = hlograph.jit(lambda x: function(x), **named)
        assert "sink_reductions" in ours.lower(x).stages.names
        for found, expected in zip(ours(x), wanted, strict=True):
            np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=4 * EPS)
