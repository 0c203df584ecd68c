"""Permutations and choices of sizes that only the call knows: JAX's own for the sizes that it got."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from jax import random
from pytensor.tensor.random import basic
from support import NIGHTLY, assert_same

import hlograph
from hlograph.errors import ArgumentShapeError

KEY = np.array([3, 1415], np.uint32)
CHANCES = np.array([0.1, 0.2, 0.0, 0.3, 0.1, 0.2, 0.1])


def rv(name, *parameters, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(basic, name)(*parameters, rng=pytensor.shared(np.random.default_rng(0)), **options)


@pytest.fixture(scope="module")
def program():
    n, k, x, m, p = pt.lscalar("n"), pt.lscalar("k"), pt.dvector("x"), pt.dmatrix("m"), pt.dvector("p")
    draws = [
        *(rv("permutation", of) for of in (n, x, m, x > 2)),
        rv("choice", x, size=(k, 2), replace=False),
        rv("choice", n, size=(k,), replace=False),
        rv("choice", x, size=(k,), replace=False, p=p),
        rv("choice", x, size=(k,), replace=True, p=p),
    ]
    return hlograph.emit_stablehlo(([n, k, x, m, p], draws))


def by_hand(n, k, x, m, p):
    subkeys = random.split(random.wrap_key_data(jnp.asarray(KEY)), 8)
    choice = random.choice
    with jax.enable_x64(True):
        chances, logarithms = jnp.asarray(p), jnp.log(p)
        drawn = [
            *(random.permutation(key, of) for key, of in zip(subkeys, (n, x, m, x > 2), strict=False)),
            choice(subkeys[4], x, (k, 2), replace=False),
            choice(subkeys[5], n, (k,), replace=False),
            choice(subkeys[6], x, (k,), replace=False, p=chances),
            x[random.categorical(subkeys[7], logarithms, shape=(k,))],
        ]
        return [np.asarray(draw) for draw in drawn]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_orders_are_those_of_jax(program, policy):
    function, x = program.compile(policy=policy), np.arange(7.0)
    sizes = ((2000, 3, 0), (7, 2, 3), (5, 1, 1))
    for n, k, rows in sizes if NIGHTLY or policy == "padded" else sizes[:1]:
        arguments = n, k, x, np.arange(2.0 * rows).reshape(rows, 2), CHANCES
        for found, wanted in zip(function(KEY, *arguments), by_hand(*arguments), strict=True):
            assert_same(found, wanted, label=f"{n}, {k}")
    if policy == "padded":
        assert np.asarray(function(KEY, 0, 0, x, np.zeros((0, 2)), CHANCES)[0]).size == 0


def test_too_few_items(program):
    function, x, m = program.compile(), np.arange(7.0), np.zeros((1, 2))
    with pytest.raises(ArgumentShapeError, match=r"x_0 >= 2\*k"):
        function(KEY, 9, 4, x, m, CHANCES)
    with pytest.raises(ArgumentShapeError, match="n >= k"):
        function(KEY, 2, 3, x, m, CHANCES)
    with pytest.raises(ValueError, match="fewer items have a chance"):
        function(KEY, 9, 3, x, m, np.array([0.5, 0, 0, 0, 0, 0, 0.5]))
