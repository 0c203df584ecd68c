"""Calls with JAX arrays of the types of an earlier call: they ask nothing more, and give what others give."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from jax._src.config import no_execution
from jax.experimental.layout import Format, Layout
from jax.sharding import SingleDeviceSharding

import hlograph
from hlograph.errors import ArgumentShapeError, ArgumentTypeError
from hlograph.runtime.calls.path import _OFTEN as OFTEN


def warm(function: hlograph.Function, *args: Any) -> None:
    """Calls a function until calls with these arguments are short."""
    for _ in range(2 * OFTEN):
        function(*args)
    latest: Any = function._latest
    assert tuple(x.aval for x in args) == latest[0][0]


@pytest.fixture(autouse=True)
def x64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture
def linear() -> hlograph.Function:
    """x + 2 y."""
    x, y = pt.dvector("x"), pt.dvector("y")
    return hlograph.function([x, y], x + 2 * y)


def vectors(size: int = 4, device: Any = None) -> tuple[jax.Array, jax.Array]:
    return jax.device_put(np.arange(float(size)), device), jax.device_put(np.full(size, 0.5), device)


@pytest.mark.parametrize("count", [1, 2, 6])
def test_results_of_any_number_of_arguments(count):
    variables = [pt.dvector(f"x{i}") for i in range(count)]
    total = sum(i * x for i, x in enumerate(variables, 2))
    function = hlograph.function(variables, [total, total.sum()])
    values = [np.linspace(i, 9.0, 5) for i in range(count)]
    warm(function, *map(jnp.asarray, values))
    result, summed = function(*map(jnp.asarray, reversed(values)))
    assert not result.weak_type
    assert not result.committed
    np.testing.assert_allclose(result, sum(i * x for i, x in enumerate(reversed(values), 2)), rtol=1e-15)
    np.testing.assert_allclose(summed, result.sum(), rtol=1e-15)


def deleted(x: jax.Array, y: jax.Array) -> tuple[Any, ...]:
    x.delete()
    return x, y


def in_other_layout(x: jax.Array, y: jax.Array) -> tuple[Any, ...]:
    return jax.device_put(x, Format(Layout((0,)), SingleDeviceSharding(jax.devices()[0]))), y


# What comes after short calls: from their arguments to its own, the mode that JAX is in, and the error, if any.
EVENTS: dict[str, tuple[Callable[..., tuple[Any, ...]], Callable[[], Any], Any]] = {
    "arrays like them": (lambda x, y: vectors(), nullcontext, None),
    "committed ones": (lambda x, y: vectors(4, jax.devices()[0]), nullcontext, None),
    "in another layout": (in_other_layout, nullcontext, None),
    "one of NumPy": (lambda x, y: (x, np.asarray(y)), nullcontext, None),
    "both of NumPy": (lambda x, y: (np.asarray(x), np.asarray(y)), nullcontext, None),
    "a weak type": (lambda x, y: (jnp.broadcast_to(jnp.asarray(3.0), (4,)), y), nullcontext, None),
    "too few": (lambda x, y: (x,), nullcontext, ArgumentTypeError),
    "too many": (lambda x, y: (x, y, y), nullcontext, ArgumentTypeError),
    "another dtype": (lambda x, y: (x, y.astype("float32")), nullcontext, ArgumentTypeError),
    "another size": (lambda x, y: (x, y[:2]), nullcontext, ArgumentShapeError),
    "another rank": (lambda x, y: (x, y[None]), nullcontext, ArgumentShapeError),
    "a deleted one": (deleted, nullcontext, RuntimeError),  # as for `jax.jit`
    "disable_jit": (lambda x, y: (x, y), jax.disable_jit, None),
    "no_execution": (lambda x, y: (x, y), lambda: no_execution(True), RuntimeError),
    "a transfer guard": (lambda x, y: (x, y), lambda: jax.transfer_guard("disallow"), None),
    "a look for NaN": (lambda x, y: (x, y * jnp.nan), lambda: jax.debug_nans(True), FloatingPointError),
}


@pytest.mark.parametrize("event", EVENTS)
def test_a_call_after_short_ones(linear, event):
    change, mode, error = EVENTS[event]
    x, y = vectors()
    warm(linear, x, y)
    args = change(x, y)
    with mode():
        if error is not None:
            with pytest.raises(error):
                linear(*args)
        else:
            found = linear(*args)
            assert found.committed == any(getattr(a, "committed", False) for a in args)
            np.testing.assert_array_equal(found, np.asarray(args[0]) + 2 * np.asarray(args[1]))
    calls = linear.stats.calls
    np.testing.assert_array_equal(linear(*vectors()), [1.0, 2.0, 3.0, 4.0])
    assert linear.stats.calls == calls + 1


def test_arguments_that_nothing_needs():
    k, b = pt.dvector("k"), pt.dscalar("b")
    function = hlograph.function([k, b], k * 2)
    for number in range(3 * OFTEN):
        np.testing.assert_array_equal(function(jnp.ones(number % 3), jnp.asarray(2.0)), 2 * np.ones(number % 3))


def test_calls_with_arrays_inside_a_transformation(linear):
    x, y = vectors()

    def outer(z: jax.Array) -> jax.Array:
        constant = linear(x, y)
        return (constant * z).sum()

    linear(x, y)
    before = str(jax.make_jaxpr(outer)(y))
    warm(linear, x, y)

    assert str(jax.make_jaxpr(outer)(y)) == before
    np.testing.assert_array_equal(jax.grad(outer)(x), [1.0, 2.0, 3.0, 4.0])
    assert float(jax.jit(outer)(y)) == 5.0
    np.testing.assert_array_equal(jax.vmap(outer)(jnp.stack([y, 2 * y])), [5.0, 10.0])
    np.testing.assert_array_equal(jax.jit(linear)(x, y), [1.0, 2.0, 3.0, 4.0])
