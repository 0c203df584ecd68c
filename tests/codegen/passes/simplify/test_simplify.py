"""simplify as a whole: its parts are passes, and what does not concern it stays as it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from pass_table import PAGE

import hlograph
from hlograph.codegen.passes import simplify
from hlograph.passes import available


def test_every_rewrite_is_a_pass():
    assert set(simplify.PARTS) <= available().keys()
    assert len(set(simplify.PARTS)) == len(simplify.PARTS)
    rows = PAGE.read_text()
    for name in simplify.PARTS:
        assert available()[name]
        assert f"\n| `{name}` | " in rows, f"docs/passes.md has no row for {name}"


def test_in_a_function():
    """Rows read one by one, with a gradient: what runs by default is what runs without passes."""

    def function(x):
        return sum(jnp.sin(x[i]).sum() * (i + 1) for i in range(5)) + (x[jnp.arange(1, 4)] ** 2).sum()

    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    expected = np.cos(x) * np.arange(1, 6, dtype=np.float32)[:, None]
    expected[1:4] += 2 * x[1:4]
    for optimize in ("none", ["simplify"], "default"):
        found = jax.grad(hlograph.jit(function, optimize=optimize))(x)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        found = hlograph.jit(jax.grad(function), optimize=optimize)(x)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
