"""Scatters of a row that become updates: the same bits, in the interpreter and in XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from hlograph.codegen.program import Program

STEPS = 5

# name -> the place that a step writes, whether that is an update
PLACES = {
    "in order": (lambda i: i, True),
    "from the end": (lambda i: STEPS - 1 - i, True),
    "always the second": (lambda i: 0 * i + 1, True),
    "shifted beyond the end": (lambda i: i + 1, False),
    "twice as fast": (lambda i: 2 * i, False),
    "by a table": (lambda i: jnp.array([3, 1, 4, 0, 2])[i], False),
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", PLACES)
def test_places(name, axis):
    place, update = PLACES[name]
    x = np.random.default_rng(0).normal(size=3).astype(np.float32)
    shape = (STEPS, 3) if axis == 0 else (3, STEPS)

    def function(x):
        def step(i, carry):
            h, rows = carry
            h = jnp.tanh(h) + x
            where = (place(i),) if axis == 0 else (slice(None), place(i))
            return h, rows.at[where].set(h, mode="drop")

        return lax.fori_loop(0, STEPS, step, (x, jnp.zeros(shape, np.float32)))[1]

    before = Program.parse(jax.jit(function).lower(x).as_text()).run_passes(["inline", "canonicalize"])
    after = before.run_passes(["loop_writes"])
    assert ("stablehlo.scatter" not in after.op_counts()) is update
    np.testing.assert_array_equal(after.interpret(x)[0], before.interpret(x)[0])
    expected = np.asarray(jax.jit(function)(x))
    np.testing.assert_allclose(after.compile(optimize="none")(x), expected, rtol=1e-6)
