"""A maximum, a minimum, a range of data with a NaN is NaN: wherever it is, however many there are, whoever compiles.

XLA:CPU leaves reductions of 4,096 elements and more to a library that passes NaN over, so `jax.jit` itself does not. In
the interpreter, which does not lose it, the pass changes nothing.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from jax import lax

import hlograph
from hlograph import Program
from hlograph.codegen.passes.xla_bugs.cpu_nan import ELEMENTS

SHAPES = [((7,), None), ((4096,), None), ((5000,), 0), ((64, 64), None), ((64, 64), 0), ((3, 5000), 1)]
NAMES = ["max", "min", "ptp"]


def lowered(function, x):
    return Program.parse(jax.jit(function).lower(x).as_text())


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_pass(name, axis):
    x = np.random.default_rng(0).normal(size=(8, ELEMENTS // 8)).astype(np.float32)
    after = lowered(lambda x: getattr(jnp, name)(x, axis), x).run_passes(["cpu_nan"])
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


def data(shape, place, dtype):
    """Numbers with one NaN: the first, one in the middle, or the last."""
    x = np.arange(np.prod(shape)).astype(dtype)
    x[{"first": 0, "middle": x.size // 2, "last": -1}[place]] = np.nan
    return x.reshape(shape)


def check(function, name, axis, shape, dtype):
    for place in ("first", "middle", "last"):
        x = data(shape, place, dtype)
        found = np.asarray(function(x)).astype(np.float64)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(getattr(np, name)(x.astype(np.float64), axis=axis)))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("policy", ["exact", "padded", "no names"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_functions_of_jax(dtype, name, shape, axis, policy):
    dims = {"dims": {"x": ("n", *shape[1:])}, "policy": policy} if policy != "no names" else {}
    with jax.enable_x64(True):
        function = hlograph.jit(lambda x: getattr(jnp, name)(x, axis=axis), **dims)
        check(function, name, axis, shape, getattr(jnp, dtype))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("inside", ["", "jit", "vmap"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_graphs_also_inside_of_what_jax_compiles(dtype, name, shape, axis, inside):
    x = pt.tensor("x", dtype=dtype, shape=(None,) * len(shape))
    function = hlograph.function([x], getattr(pt, name)(x, axis=axis))
    with jax.enable_x64(True):
        if inside == "jit":
            check(jax.jit(lambda x: function(x) * 2), name, axis, shape, dtype)
        elif inside == "vmap":
            check(lambda x: jax.jit(jax.vmap(function))(x[None])[0], name, axis, shape, dtype)
        else:
            check(function, name, axis, shape, dtype)


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_a_reduction_that_sinks_into_its_loop(name, policy):
    def written(x):
        return getattr(jnp, name)(lax.scan(lambda c, row: (c, row * 2), 0.0, x)[1])

    function = hlograph.jit(written, dims={"x": ("n", 5000)}, policy=policy)
    check(function, name, None, (3, 5000), np.float32)
    plain = hlograph.jit(written)
    check(plain, name, None, (3, 5000), np.float32)
