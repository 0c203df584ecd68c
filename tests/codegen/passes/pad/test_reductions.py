"""Reductions whose body is no monoid, or whose initial value is no identity: against Python's own loop."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

import hlograph

BODIES = {
    "x + y + x*y": (lambda x, y: x + y + x * y, 0.0),
    "max with a number": (lambda x, y: np.maximum(x, y), -np.inf),
    "2*x*y": (lambda x, y: 2 * x * y, 0.5),
}
JAX_BODIES = {**{name: body for name, (body, _) in BODIES.items()}, "max with a number": jax.lax.max}


@pytest.mark.parametrize("init", [3.0, None], ids=["another initial value", "the identity"])
@pytest.mark.parametrize("name", BODIES)
def test_the_initial_value_is_taken_in_once(name, init):
    body, identity = BODIES[name]
    init = np.float32(identity if init is None else init)
    reduce = lambda a: jax.lax.reduce(a, init, JAX_BODIES[name], (1,))  # noqa: E731
    padded = hlograph.jit(reduce, dims={"a": (3, "n")}, policy=8)
    for n in (0, 1, 2, 5, 8):
        a = np.random.default_rng(n).uniform(0.25, 1.25, (3, n)).astype(np.float32)
        expected = functools.reduce(body, list(a.T), np.full(3, init))
        np.testing.assert_allclose(padded(a), expected, rtol=1e-6, err_msg=f"{name}, n = {n}")


def test_initial_values_of_several_operands():
    """The affine maps a*x + b, composed: associative, not commutative, begun with one that is not the identity."""

    def compose(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    inits = np.float32(2), np.float32(-1)
    padded = hlograph.jit(
        lambda a, b: jax.lax.reduce((a, b), inits, compose, (0,)), dims={"a": ("n",), "b": ("n",)}, policy=6
    )
    for n in (0, 1, 3, 6):
        a, b = np.random.default_rng(n).uniform(0.5, 1.5, (2, n)).astype(np.float32)
        expected = functools.reduce(compose, zip(a, b, strict=True), inits)
        for found, value in zip(padded(a, b), expected, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-5)
