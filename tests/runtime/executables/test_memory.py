"""What nobody has any more is freed, also when JAX has seen it: of servers that run for long, of transformations."""

import gc
import re
import warnings
import weakref
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from support import NIGHTLY

import hlograph
from hlograph import Program
from hlograph.runtime.executables.devices import synchronous_device
from hlograph.runtime.executables.prepared import PreparedProgram
from hlograph.runtime.transforms.callee import FunctionCall, StaticModule

SIZES = range(8, 8 + 4 * (250 if NIGHTLY else 6), 4)
KEPT = 2


def alive():
    """How many there are of what one executable needs. (What is left of earlier tests may go at any time.)"""
    gc.collect()
    clients = {device.client for device in (jax.devices("cpu")[0], synchronous_device()) if device is not None}
    found = Counter(
        type(x) for x in gc.get_objects() if type(x) in (Program, PreparedProgram, StaticModule, FunctionCall)
    )
    return found + Counter({"executables": sum(len(client.live_executables()) for client in clients)})


def graph(**options):
    x = pt.fvector("x")
    return hlograph.function([x], (x**2).sum(), **options)


def jitted(**options):
    return hlograph.jit(lambda x: jnp.sum(x**2), dims={"x": ("n",)}, **options)


def program(**options):
    return jitted().program(np.ones(3, np.float32)).compile(**options)


MAKERS = {
    "graph": lambda **options: graph(policy="exact", **options),
    "jit": lambda **options: jitted(policy="exact", **options),
    "NumPy's arrays": lambda **options: program(policy="exact", outputs="numpy", **options),
    "padded": lambda **options: program(policy=hlograph.Bucket(start=4, multiple=4), **options),
}


def called(function, n):
    """Often enough for calls to take their shortest way."""
    for x in (np.ones(n, np.float32), jax.device_put(np.ones(n, np.float32))):
        for _ in range(8):
            assert function(x) == n
    return weakref.ref(x)


@pytest.mark.usefixtures("young_heap")
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_server_does_not_grow_with_the_sizes_that_it_has_seen(make):
    called(make(), SIZES[0])
    before = alive()
    function = make(cache_size=KEPT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = [called(function, n) for n in SIZES]
    grown = alive() - before  # of each kind, where there are more
    assert grown[StaticModule] <= KEPT
    assert grown[Program] <= KEPT + 2
    assert grown["executables"] <= KEPT
    assert [x() for x in given] == [None] * len(given)
    function.clear_cache()
    assert function.stats.executables == (alive() - before)["executables"] == 0
    called(function, SIZES[0])
    freed = weakref.ref(function)
    del function
    assert not alive() - before
    assert freed() is None


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_each_call_is_counted_once_and_counts_for_what_was_used_last(make):
    function = make(cache_size=KEPT)
    for n in (8, 12, 8, 16):
        called(function, n)
    stats = function.stats
    assert [int(re.findall(r"\d+$", entry.sizes)[0]) for entry in stats.by_executable] == [8, 16]
    assert (stats.calls, stats.cache_hits, stats.compiles, stats.executables) == (64, 61, 3, 2)
    assert stats.compile_seconds > 0
    assert function.stats == stats


@pytest.mark.usefixtures("young_heap")
def test_nothing_is_left_of_transformations():
    def used():
        function, x = graph(), np.ones(2, np.float32)
        for transformed in (function, jax.jit(function), jax.make_jaxpr(function)):
            transformed(x)
        jax.vmap(function)(np.ones((2, 2), np.float32))
        gradient = jax.jit(jax.grad(lambda x: function(x)))
        for n in range(1, 4):
            np.testing.assert_array_equal(gradient(jax.device_put(np.ones(n, np.float32))), 2 * np.ones(n))
        return weakref.ref(function)

    used()
    before = alive()
    references = [used() for _ in range(2)]
    assert not alive() - before
    assert [reference() for reference in references] == [None] * 2
