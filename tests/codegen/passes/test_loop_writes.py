"""Scatters of a row that become updates: the same bits, in the interpreter and in XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from hlograph import Program
from hlograph.passes import Report

STEPS = 5

NO_FUNCTION = "its place is not an affine function of the step"
# name -> the place that a step writes, and why that is no update
PLACES = {
    "in order": (lambda i: i, ""),
    "from the end": (lambda i: STEPS - 1 - i, ""),
    "always the second": (lambda i: 0 * i + 1, ""),
    "shifted beyond the end": (lambda i: i + 1, "its place may be outside of the array"),
    "twice as fast": (lambda i: 2 * i, "its place may be outside of the array"),
    "by a table": (lambda i: jnp.array([3, 1, 4, 0, 2])[i], NO_FUNCTION),
    "added": (None, "it combines what it writes with what is there"),
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", PLACES)
def test_places(name, axis):
    place, reason = PLACES[name]
    x = np.random.default_rng(0).normal(size=3).astype(np.float32)
    shape = (STEPS, 3) if axis == 0 else (3, STEPS)

    def function(x):
        def step(i, carry):
            h, rows = carry
            h = jnp.tanh(h) + x
            row = place(i) if place is not None else i
            at = rows.at[row if axis == 0 else (slice(None), row)]
            return h, at.add(h) if place is None else at.set(h, mode="drop")

        return lax.fori_loop(0, STEPS, step, (x, jnp.zeros(shape, np.float32)))[1]

    before = Program.parse(jax.jit(function).lower(x).as_text()).optimize(["inline", "canonicalize"])
    reports: list[Report] = []
    after = before.optimize(["loop_writes"], reports=reports)
    assert ("stablehlo.scatter" in after.op_counts()) is bool(reason)
    assert reason in reports[0].text
    np.testing.assert_array_equal(after.interpret(x)[0], before.interpret(x)[0])
    expected = np.asarray(jax.jit(function)(x))
    np.testing.assert_allclose(after.compile(optimize="none")(x), expected, rtol=1e-6)
