"""Initial values behind reductions: the same numbers in the interpreter, and in XLA:CPU, once taken in too often."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from hlograph.codegen.passes.xla_bugs.cpu_initial import SIZE
from hlograph.codegen.program import Program

# name -> body, initial value; exact in int32
BODIES = {
    "sum": (lambda a, b: a + b, 3),
    "product": (lambda a, b: a * b, 2),
    "xor": (lambda a, b: a ^ b, 5),
    "no monoid": (lambda a, b: lax.select(lax.gt(lax.abs(a), lax.abs(b)), a, b), -9),
}


def lowered(body, initial, x):
    return Program.parse(jax.jit(lambda x: lax.reduce(x, np.int32(initial), body, (0,))).lower(x).as_text())


@pytest.mark.parametrize("size", [1, SIZE, 3 * SIZE + 1])
@pytest.mark.parametrize("name", BODIES)
def test_it_is_taken_in_once(name, size):
    body, initial = BODIES[name]
    x = np.random.default_rng(size).integers(-3, 4, size).astype(np.int32)
    after = lowered(body, initial, x).run_passes(["cpu_initial"])
    expected = functools.reduce(lambda a, b: int(body(np.int32(a), np.int32(b))), x.tolist(), initial)
    np.testing.assert_array_equal(after.interpret(x)[0], np.int32(expected))
    np.testing.assert_array_equal(after.compile(optimize="none", cpu="plain")(x), np.int32(expected))


def test_what_does_no_harm_stays():
    x = np.zeros(100, np.int32)
    for body, initial in ((lambda a, b: a + b, 0), (jnp.maximum, 7)):
        before = lowered(body, initial, x)
        assert before.run_passes(["cpu_initial"]).text == before.text
    before = lowered(lambda a, b: a + b, 3, x[: SIZE - 1])
    assert before.run_passes(["cpu_initial"]).text == before.text
