"""Initial values of reductions that are no identity are taken in once, which XLA:CPU does not see to."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hlograph
from hlograph import Program
from hlograph.codegen.passes.xla_bugs.cpu_initial import SIZE


def lowered(body, initial, x):
    return Program.parse(jax.jit(lambda x: lax.reduce(x, np.int32(initial), body, (0,))).lower(x).as_text())


@pytest.mark.parametrize("size", [1, SIZE, 3 * SIZE + 1])
@pytest.mark.parametrize("xor", [False, True])
def test_the_pass(xor, size):
    """A monoid, and what is none: exact in int32."""
    larger = lambda a, b: lax.select(lax.gt(lax.abs(a), lax.abs(b)), a, b)  # noqa: E731
    body, initial = (lax.bitwise_xor, 5) if xor else (larger, -9)
    x = np.random.default_rng(size).integers(-3, 4, size).astype(np.int32)
    after = lowered(body, initial, x).run_passes(["cpu_initial"])
    expected = functools.reduce(lambda a, b: int(body(np.int32(a), np.int32(b))), x.tolist(), initial)
    np.testing.assert_array_equal(after.interpret(x)[0], np.int32(expected))
    np.testing.assert_array_equal(after.compile(optimize="none", cpu="plain")(x), np.int32(expected))


def test_what_does_no_harm_stays():
    x = np.zeros(100, np.int32)
    for body, initial, given in ((lax.add, 0, x), (jnp.maximum, 7, x), (lax.add, 3, x[: SIZE - 1])):
        before = lowered(body, initial, given)
        assert before.run_passes(["cpu_initial"]).text == before.text


SIZES = (1, 5, 31, 32, 33, 100, 1000)

# name -> body, initial value
BODIES = {
    "sum": (lambda a, b: a + b, 3.0),
    "product": (lambda a, b: a * b, 2.0),
    "maximum": (jnp.maximum, 0.75),
    "a + b - ab": (lambda a, b: a + b - a * b, 0.5),
    "with a branch": (lambda a, b: lax.cond(a > b, lambda: a + b, lambda: b + a), 3.0),
    "the larger one": (lambda a, b: jnp.where(jnp.abs(a) > jnp.abs(b), a, b), -0.9),
}


def vector(n):
    return np.random.default_rng(n).uniform(0.2, 0.8, n).astype(np.float32) ** 0.01


def folded(body, initial, x):
    """One element after the other, in float64."""
    with jax.enable_x64(True):
        return np.asarray(functools.reduce(lambda a, b: np.asarray(body(a, b)), np.float64(x), np.float64(initial)))


NAMED = {"dims": {"x": "n"}}
OPTIONS = [{"policy": "padded"} | NAMED, {"policy": "exact"} | NAMED, {"policy": "exact", "cpu": "plain"} | NAMED, {}]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_also_inside_of_somebody_elses_jit(name, options):
    body, initial = BODIES[name]
    ours = hlograph.jit(lambda x: lax.reduce(x, jnp.float32(initial), body, (0,)), **options)
    for n in SIZES if options else (1, 200):
        expected = folded(body, initial, vector(n))
        np.testing.assert_allclose(ours(vector(n)), expected, rtol=1e-5)
        if not options:
            np.testing.assert_allclose(jax.jit(lambda x: ours(x) * 1)(vector(n)), expected, rtol=1e-5)


def test_values_that_are_computed_two_axes_and_loops():
    def function(x, start):
        def step(total, row):
            return lax.reduce(row, total, lax.add, (0,)), None

        return lax.reduce(x, start * 2, lax.add, (0, 1)), lax.scan(step, start, x)[0]

    x = vector(40 * 50).reshape(40, 50)
    both, stepwise = hlograph.jit(function, dims={"x": ("n", "m")})(x, np.float32(3))
    np.testing.assert_allclose(both, x.sum(dtype=float) + 6, rtol=1e-5)
    np.testing.assert_allclose(stepwise, x.sum(dtype=float) + 3, rtol=1e-5)
