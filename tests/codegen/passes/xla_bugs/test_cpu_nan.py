"""Maxima and minima that look for NaN themselves: in the interpreter, which does not lose it, nothing changes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.codegen.passes.xla_bugs.cpu_nan import ELEMENTS
from hlograph.codegen.program import Program


def lowered(function, x):
    return Program.parse(jax.jit(function).lower(x).as_text())


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_same_numbers_and_nan_where_it_is(name, axis):
    x = np.random.default_rng(0).normal(size=(8, ELEMENTS // 8)).astype(np.float32)
    before = lowered(lambda x: getattr(jnp, name)(x, axis), x)
    after = before.run_passes(["cpu_nan"])
    assert after.op_counts()["stablehlo.reduce"] == 2
    for place in (None, (3, 5)):
        if place is not None:
            x[place] = np.nan
        np.testing.assert_array_equal(after.interpret(x)[0], getattr(np, name)(x, axis))


def test_few_elements_integers_and_sums_stay():
    for function, x in (
        (jnp.max, np.zeros(ELEMENTS - 1, np.float32)),
        (jnp.max, np.zeros(ELEMENTS, np.int32)),
        (jnp.sum, np.zeros(ELEMENTS, np.float32)),
    ):
        before = lowered(function, x)
        assert before.run_passes(["cpu_nan"]).text == before.text
