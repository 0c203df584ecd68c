"""simplify as a whole: its parts are passes, and what does not concern it stays as it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pass_table import PAGE
from rewritten_runs import check, rewritten

import hlograph
from hlograph.codegen.passes import simplify
from hlograph.errors import PassError
from hlograph.passes import available


def test_every_rewrite_is_a_pass():
    assert set(simplify.PARTS) <= available().keys()
    assert len(set(simplify.PARTS)) == len(simplify.PARTS)
    rows = PAGE.read_text()
    for name in simplify.PARTS:
        assert available()[name]
        assert f"\n| `{name}` | " in rows, f"docs/passes.md has no row for {name}"


def test_options():
    with pytest.raises(PassError, match="'simplify' has no option 'fast'; it takes reassociate"):
        rewritten("func.func @main() { return }", ["simplify{fast=true}"])


def model(w, x):
    """Two layers, and a loop."""
    hidden = jnp.tanh(x @ w + 1)
    return jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + i, hidden).sum(0)


@pytest.mark.parametrize("function", [model, jax.grad(lambda w, x: model(w, x).sum())], ids=["value", "gradient"])
def test_a_model_without_anything_to_simplify(function):
    """Its transposes of matrices are taken in, and nothing else changes."""
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(4, 5)).astype(np.float32), rng.normal(size=(6, 4)).astype(np.float32)
    text = jax.jit(function).lower(w, x).as_text()
    found = check(text, [w, x], exact=False, rtol=1e-5)
    assert found.applied.keys() <= {"transpose_into_dot"}
    assert not rewritten(text, ["simplify{reassociate=false}"]).changed


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
