"""Calls below `jax.jit`: taken where a call is like an earlier one, and where anything is new about it, not.

Which way a call takes is seen from `jax.jit`'s side: `LongWay` counts the calls that reach it.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
from pytensor.raise_op import Assert

import hlograph
from hlograph.codegen.ir.jax_compat import short_calls
from hlograph.errors import ArgumentShapeError, ArgumentTypeError
from hlograph.runtime.calls.path import _OFTEN as OFTEN

pytestmark = pytest.mark.skipif(short_calls() is None, reason="no short calls with this JAX")


class LongWay:
    """Counts the calls of a function's exact executables that take the long way."""

    def __init__(self, function: hlograph.Function) -> None:
        self.calls = 0
        for entry in function._serving.cache.entries.values():
            entry.call = self._counting(entry.call)

    def _counting(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            self.calls += 1
            return run(*args)

        return counted


def warm(function: Callable[..., Any], *args: Any) -> LongWay:
    """Calls a function until its calls with these arguments are short."""
    for _ in range(2 * OFTEN):
        function(*args)
    ways = LongWay(function)
    function(*args)
    assert ways.calls == 0
    return ways


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


# ---- results and statistics -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 6])
def test_results_of_any_number_of_arguments(count):
    variables = [pt.dvector(f"x{i}") for i in range(count)]
    function = hlograph.function(variables, sum(i * x for i, x in enumerate(variables, 2)))
    values = [np.linspace(i, 9.0, 5) for i in range(count)]
    ways = warm(function, *map(jnp.asarray, values))
    result = function(*map(jnp.asarray, reversed(values)))
    assert ways.calls == 0
    assert type(result) is type(jnp.ones(1))
    assert not result.weak_type
    assert not result.committed
    np.testing.assert_allclose(result, sum(i * x for i, x in enumerate(reversed(values), 2)), rtol=1e-15)


def test_several_outputs_and_none():
    x = pt.dvector("x")
    several, none = hlograph.function([x], [x.sum(), x * 2]), hlograph.function([x], [])
    value = jnp.arange(3.0)
    warm(several, value)
    total, double = several(value)
    assert isinstance(several(value), tuple)
    assert float(total) == 3.0
    np.testing.assert_array_equal(double, [0.0, 2.0, 4.0])
    assert [none(value) for _ in range(2 * OFTEN)][-1] == ()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex128"])
def test_results_have_the_programs_types_whatever_the_flag_says(dtype):
    x, y = pt.vector("x", dtype=dtype), pt.scalar("y", dtype=dtype)
    function = hlograph.function([x, y], pt.switch(pt.eq(x, y), x, y))
    values = jnp.asarray([0, 1, 0], dtype), jnp.asarray(1, dtype)
    with jax.enable_x64(False):
        ways = warm(function, *values)
        narrow = function(*values)
    wide = function(*values)
    assert ways.calls == 0
    assert narrow.dtype == wide.dtype == dtype
    np.testing.assert_array_equal(narrow, [1, 1, 1])


def test_each_call_is_counted_once(linear):
    for size in (4, 4, 4, 6):
        for _ in range(3 * OFTEN):
            linear(*vectors(size))
    stats = linear.stats
    assert stats.calls == 12 * OFTEN
    assert stats.cache_hits == 12 * OFTEN - 2
    assert stats.compiles == stats.executables == 2
    assert [entry.used for entry in linear._serving.cache.entries.values()] == [9 * OFTEN - 1, 12 * OFTEN - 1]


def test_short_calls_count_for_what_was_used_last():
    x = pt.dvector("x")
    function = hlograph.function([x], x + 1, cache_size=2, policy="exact")
    warm(function, jnp.ones(3))
    function(jnp.ones(4))
    ways = LongWay(function)
    function(jnp.ones(3))  # short, and the latest
    assert ways.calls == 0
    function(jnp.ones(5))
    assert list(function._serving.cache.entries) == [(3,), (5,)]


def test_threads(linear):
    sizes = [3, 4, 5, 6]
    expected = {size: np.arange(float(size)) + 1 for size in sizes}

    def work(size: int) -> bool:
        x, y = vectors(size)
        return all(np.array_equal(linear(x, y), expected[size]) for _ in range(20 * OFTEN))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, sizes))
    assert linear.stats.calls == 80 * OFTEN
    assert linear.stats.compiles == 4


# ---- what takes the long way ----------------------------------------------------------------------------------------


def deleted(x: jax.Array, y: jax.Array) -> tuple[Any, ...]:
    x.delete()
    return x, y


def in_other_memory(x: jax.Array, y: jax.Array) -> tuple[Any, ...]:
    (device, *_) = jax.devices()
    kinds = [m.kind for m in device.addressable_memories() if m.kind != device.default_memory().kind]
    if not kinds:
        pytest.skip("one kind of memory")
    place = SingleDeviceSharding(device, memory_kind=kinds[0])
    return tuple(jax.device_put(each, place) for each in (x, y))


# What comes after short calls: from their arguments to its own, the mode that JAX is in, and the way or the error.
EVENTS: dict[str, tuple[Callable[..., tuple[Any, ...]], Callable[[], Any], Any]] = {
    "arrays like them": (lambda x, y: vectors(), nullcontext, "short"),
    "one of NumPy": (lambda x, y: (x, np.asarray(y)), nullcontext, "long"),
    "both of NumPy": (lambda x, y: (np.asarray(x), np.asarray(y)), nullcontext, "long"),
    "a weak type": (lambda x, y: (jnp.broadcast_to(jnp.asarray(3.0), (4,)), y), nullcontext, "long"),
    "in other memory": (in_other_memory, nullcontext, "long"),
    "too few": (lambda x, y: (x,), nullcontext, ArgumentTypeError),
    "too many": (lambda x, y: (x, y, y), nullcontext, ArgumentTypeError),
    "another dtype": (lambda x, y: (x, y.astype("float32")), nullcontext, ArgumentTypeError),
    "another size": (lambda x, y: (x, y[:2]), nullcontext, ArgumentShapeError),
    "another rank": (lambda x, y: (x, y[None]), nullcontext, ArgumentShapeError),
    "a deleted one": (deleted, nullcontext, RuntimeError),  # as for `jax.jit`
    "disable_jit": (lambda x, y: (x, y), jax.disable_jit, "long"),
    "no_execution": (lambda x, y: (x, y), lambda: no_execution(True), RuntimeError),
    "a transfer guard": (lambda x, y: (x, y), lambda: jax.transfer_guard("disallow"), "short"),
}


@pytest.mark.parametrize("event", EVENTS)
def test_a_call_after_short_ones(linear, event):
    change, mode, wanted = EVENTS[event]
    x, y = vectors()
    ways = warm(linear, x, y)
    args = change(x, y)
    with mode():
        if isinstance(wanted, type):
            with pytest.raises(wanted):
                linear(*args)
        else:
            np.testing.assert_array_equal(linear(*args), np.asarray(args[0]) + 2 * np.asarray(args[1]))
            assert ways.calls == (wanted == "long")
    calls = linear.stats.calls
    np.testing.assert_array_equal(linear(*vectors()), [1.0, 2.0, 3.0, 4.0])
    assert linear.stats.calls == calls + 1


def test_a_value_that_decides_a_size():
    k, b = pt.lscalar("k"), pt.dscalar("b")
    function = hlograph.function([k, b], pt.arange(k) * b)
    for number in range(3 * OFTEN):
        np.testing.assert_array_equal(function(jnp.asarray(number % 3), jnp.asarray(2.0)), 2.0 * np.arange(number % 3))


def test_checks_still_raise():
    x = pt.dvector("x")
    function = hlograph.function([x], Assert("positive")(x, pt.all(x > 0)) * 2)
    for _ in range(3 * OFTEN):
        function(jnp.ones(3))
    with pytest.raises(AssertionError, match="positive"):
        function(-jnp.ones(3))


def test_an_argument_that_nothing_needs():
    x, y = pt.dvector("x"), pt.dvector("y")
    function = hlograph.function([x, y], x[: y.shape[0]] * 2)
    for number in range(3 * OFTEN):
        result = function(jnp.full(3, float(number)), jnp.ones(2))
    np.testing.assert_array_equal(result, [2.0 * number] * 2)


def test_padded_sizes():
    x = pt.dvector("x")
    function = hlograph.function([x], (x**2).sum(), policy="padded")
    for number in range(4 * OFTEN):
        size = 5 + number % 3
        assert float(function(jnp.arange(float(size)))) == sum(i * i for i in range(size))
    assert function.stats.compiles == 1


# ---- JAX's modes ----------------------------------------------------------------------------------------------------


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
    with jax.ensure_compile_time_eval():
        np.testing.assert_array_equal(linear(x, y), [1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(("option", "bad"), [("jax_debug_nans", np.nan), ("jax_debug_infs", np.inf)])
def test_results_are_looked_at_for_nan_and_infinity(linear, option, bad):
    x, y = vectors()
    warm(linear, x, y)
    worse = jnp.asarray([0.0, bad, 0.0, 0.0])

    def call() -> Any:
        return linear(x, worse)

    with getattr(jax, option.removeprefix("jax_"))(True), pytest.raises(FloatingPointError):
        call()
    # In another thread: where such a context has been, JAX takes no notice of the option any more.
    with ThreadPoolExecutor(1) as pool:
        assert not np.isfinite(pool.submit(call).result()[1])
        jax.config.update(option, True)
        try:
            with pytest.raises(FloatingPointError):
                pool.submit(call).result()
        finally:
            jax.config.update(option, False)
    assert not np.isfinite(call()[1])


# ---- places ---------------------------------------------------------------------------------------------------------


def test_committed_arrays_give_committed_results(linear):
    (device, *_) = jax.devices()
    warm(linear, *vectors())
    for x, y in [vectors(), vectors(4, device), (vectors()[0], vectors(4, device)[1])]:
        wanted = jax.jit(lambda a, b: a + b)(x, y).committed
        assert {linear(x, y).committed for _ in range(3 * OFTEN)} == {wanted}
    ways = warm(linear, *vectors(4, device))
    assert linear(*vectors(4, device)).committed
    assert ways.calls == 0


def test_layouts():
    x, y = pt.dmatrix("x"), pt.dmatrix("y")
    function = hlograph.function([x, y], 2 * x - y)
    values = np.arange(12.0).reshape(3, 4)
    (device, *_) = jax.devices()
    place = SingleDeviceSharding(device)
    ways = warm(function, *[jax.device_put(values, device)] * 2)
    other = jax.device_put(values, Format(Layout((1, 0)), place))
    assert other.format.layout.major_to_minor == (1, 0)
    for args in ((other, jax.device_put(values, device)), (jax.device_put(values, device), other), (other, other)):
        for _ in range(2 * OFTEN):
            np.testing.assert_array_equal(function(*args), values)
    assert ways.calls == 6 * OFTEN


_DEVICES = """
import jax, jax.numpy as jnp, numpy as np, hlograph, pytensor.tensor as pt
from jax.sharding import NamedSharding, PartitionSpec
jax.config.update("jax_enable_x64", True)
first, second = jax.devices()
import hlograph.runtime.function as made_by
x, y = pt.dvector("x"), pt.dvector("y")
here = jnp.arange(4.0), jnp.full(4, 0.5)
mesh = jax.sharding.Mesh(np.array([first, second]), "i")
spread = tuple(jax.device_put(v, NamedSharding(mesh, PartitionSpec("i"))) for v in here)
there = tuple(jax.device_put(v, second) for v in here)
with jax.default_device(second):
    loose = jnp.arange(4.0), jnp.full(4, 0.5)
mixed = [(here[0], there[1]), (there[0], here[1])]
contexts = {
    "none": lambda: jax.default_device(None),
    "first": lambda: jax.default_device(first),
    "second": lambda: jax.default_device(second),
    "mesh": lambda: jax.set_mesh(mesh),
}

def outcome(function, args):
    try:
        return function(*args)
    except (ValueError, jax.errors.JaxRuntimeError) as error:
        return type(error)

for device in (None, first, second):
    function = hlograph.function([x, y], x + 2 * y, device=device)
    short_call, made_by.short_call = made_by.short_call, lambda *_: None
    long = hlograph.function([x, y], x + 2 * y, device=device)
    made_by.short_call = short_call
    for context in [*contexts, *reversed(contexts)]:
        for args in (here, loose, here, there, loose, spread, *mixed, there, here):
            with contexts[context]():
                wanted = outcome(long, args)
                for _ in range(1 if isinstance(wanted, type) else 40):
                    found = outcome(function, args)
                    if isinstance(wanted, type):
                        assert found is wanted, (device, context, args, found, wanted)
                        continue
                    assert found.sharding == wanted.sharding, (device, context, found.sharding, wanted.sharding)
                    assert found.committed == wanted.committed, (device, context, args)
                    np.testing.assert_array_equal(found, [1.0, 2.0, 3.0, 4.0])
    records = [found for each in function._serving.cache.entries.values() for found in each.short.values()]
    assert None in records
    assert len(records) > records.count(None)
print("done")
"""


@pytest.mark.sampled(4)
def test_devices_are_those_of_the_long_way():
    variables = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", _DEVICES]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=300)
    assert "done" in done.stdout, done.stderr


# ---- what is kept ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("young_heap")
def test_nothing_is_kept_that_is_over():
    x = pt.dvector("x")
    function = hlograph.function([x], x + 1, cache_size=1, policy="exact")
    over = []
    for size in (3, 4, 5):
        warm(function, jnp.ones(size))  # drops the executable before
        over.append(weakref.ref(function._serving.cache.entries[(size,)]))
    given = jnp.ones(5)
    function(given)
    over.append(weakref.ref(given))
    del given
    function.clear_cache()
    gc.collect()
    assert [each() for each in over] == [None] * 4
    np.testing.assert_array_equal(function(jnp.ones(3)), [2.0] * 3)
    assert function.stats.compiles == 4
    alive = weakref.ref(function)
    del function
    gc.collect()
    assert alive() is None


def test_results_are_freed(linear):
    x, y = vectors(1000)
    warm(linear, x, y)
    gc.collect()
    before = len(jax.live_arrays())
    for _ in range(50):
        linear(x, y)
    assert len(jax.live_arrays()) <= before + 1
