"""What nobody has any more is freed: programs and modules of sizes that came by once, also when JAX has seen them."""

import gc
import os
import warnings
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest

import hlograph
from hlograph import Program
from hlograph.runtime.executables.prepared import PreparedProgram
from hlograph.runtime.transforms.callee import FunctionCall, StaticModule

SIZES = range(1, 1001 if "HLOGRAPH_NIGHTLY" in os.environ else 15)
KEPT = 8


def alive():
    """How many there are of what one executable needs. (What is left of earlier tests may go at any time.)"""
    gc.collect()
    return Counter(
        type(x) for x in gc.get_objects() if type(x) in (Program, PreparedProgram, StaticModule, FunctionCall)
    )


def of_a_graph():
    x = pt.dvector("x")
    return hlograph.function([x], (x**2).sum(), policy="exact", cache_size=KEPT)


def of_jax():
    return hlograph.jit(lambda x: jnp.sum(x**2), dims={"x": ("n",)}, policy="exact", cache_size=KEPT)


@pytest.mark.usefixtures("young_heap")
@pytest.mark.sampled(4)
@pytest.mark.parametrize("make", [of_a_graph, of_jax])
def test_a_server_does_not_grow_with_the_sizes_that_it_has_seen(make):
    before = alive()
    function = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in SIZES:
            for x in (np.ones(n), jnp.ones(n)):
                assert function(x) == n
    grown = alive() - before  # of each kind, where there are more
    assert grown[StaticModule] <= KEPT
    assert grown[Program] <= KEPT + 1
    del function
    assert not alive() - before


def differentiate():
    function = of_a_graph()
    gradient = jax.jit(jax.grad(lambda x: function(x)))
    for n in range(1, 4):
        np.testing.assert_array_equal(gradient(jnp.ones(n)), 2 * np.ones(n))


def test_nothing_is_left_of_derivatives():
    before = alive()
    differentiate()
    assert not alive() - before
