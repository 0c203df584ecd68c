"""Dtypes that ml_dtypes adds to NumPy's: one executable a size, padded ones, against NumPy on the same values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hlograph
from hlograph.codegen.dtypes import kind_of, limits

pytestmark = pytest.mark.optimized  # what XLA makes of a module

DTYPES = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]


def values(dtype, n):
    """Small integers, which all of these hold exactly: also their sums of three, and halves of them."""
    found = np.random.default_rng(n).integers(0, 3, n)
    return (found - (kind_of(np.dtype(dtype)) != "u")).astype(dtype)


def least(x):
    return lax.reduce(x, np.array(1).astype(x.dtype), lax.min, (0,))


FUNCTIONS = {
    "max": (lambda x: jnp.max(x), np.max),
    "min with an initial value": (least, lambda x: min(x.min(), 1)),
    "cumulative maximum": (lambda x: lax.cummax(x), np.maximum.accumulate),
    "ends swapped": (lambda x: x.at[0].set(x[-1]), lambda x: np.concatenate([x[-1:], x[1:]])),
    "where": (lambda x: jnp.where(x > x[0], x, x[0]), lambda x: np.where(x > x[0], x, x[0])),
    "joined and turned": (lambda x: jnp.concatenate([x, x[::-1]]), lambda x: np.concatenate([x, x[::-1]])),
    "sorted": (lambda x: jnp.sort(x), np.sort),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype, name, policy):
    ours, numpys = FUNCTIONS[name]
    function = hlograph.jit(ours, dims={"x": ("n",)}, policy=policy)
    for n in (3, 6):
        x = values(getattr(jnp, dtype), n)
        found = np.asarray(function(x))
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found.astype(np.float64), numpys(x.astype(np.float64)))


def test_a_gradient_in_bfloat16():
    function = hlograph.jit(lambda x, y: jnp.sum(x * x * y), dims={"x": ("n",), "y": ("n",)})
    x, y = jnp.array([1, -2, 3], jnp.bfloat16), jnp.array([2, 2, -1], jnp.bfloat16)
    gradient = jax.grad(function)(x, y)
    assert gradient.dtype == jnp.bfloat16
    np.testing.assert_array_equal(gradient.astype(np.float32), [4, -8, -6])


@pytest.mark.parametrize("dtype", [*DTYPES, "float64", "int8", "uint16"])
def test_nothing_is_outside_of_the_limits(dtype):
    dtype = np.dtype(getattr(jnp, dtype))
    low, high = limits(dtype)
    bits = np.arange(256, dtype=np.uint8).view(dtype) if dtype.itemsize == 1 else np.zeros(1, dtype)
    bits = bits if kind_of(dtype) == "f" else values(dtype, 9)
    numbers = bits[~np.isnan(bits)] if kind_of(dtype) == "f" else bits
    assert (numbers >= low).all()
    assert (numbers <= high).all()
    assert low.dtype == high.dtype == dtype
