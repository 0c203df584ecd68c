"""inline: calls in calls, in loops and in branches; what JAX wrote as calls is seen through by simplify."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from hlograph import Program


def test_calls_in_loops_and_branches():
    half = jax.jit(lambda c: jnp.where(c > 0, c, 0.5) / 2)

    def function(x):
        x = jax.lax.fori_loop(0, 3, lambda i, c: half(c) + half(half(c)), x)
        return jax.lax.cond(x[0] > 0, half, lambda c: -half(c), x)

    x = np.float32([1, -2, 3])
    before = Program.parse(jax.jit(function).lower(x).as_text())
    after = before.optimize(["inline"])
    assert "func.call" in before.op_counts()
    assert "func.call" not in after.op_counts()
    assert after.text.count("func.func") == 1
    np.testing.assert_array_equal(before.interpret(x)[0], after.interpret(x)[0])


def test_what_is_in_calls_is_simplified():
    x = np.arange(40, dtype=np.float32).reshape(10, 4)
    before = Program.parse(jax.jit(lambda x: jnp.take(x, jnp.arange(2, 6), axis=0)).lower(x).as_text())
    after = before.optimize(["inline", "simplify"])
    assert set(after.op_counts()) <= {"func.func", "func.return", "stablehlo.slice"}
    np.testing.assert_array_equal(after.interpret(x)[0], x[2:6])
