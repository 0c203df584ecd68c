"""Calls with NumPy arrays in and out: against NumPy, at every place, from many threads."""

import gc
import threading
import weakref

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from hlograph.codegen.ir.jax_compat import own_call
from hlograph.runtime.calls import from_numpy
from hlograph.runtime.calls.from_numpy import COPIED, STAGED, NumpyCalls, Place, alone
from hlograph.runtime.calls.memory import aligned
from hlograph.runtime.executables.devices import synchronous_device

pytestmark = pytest.mark.skipif(synchronous_device() is None, reason="this jaxlib has no synchronous CPU client")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(name) for name in ("?", "i1", "i4", "i8", "u1", "u4", "u8", "f2", "f4", "f8", "c8", "c16")]


def refuse(*args):
    """For calls that are expected to be served."""
    raise AssertionError(f"not served: {args}")


def written(calls, otherwise):
    return from_numpy._Writer(calls, None).write(otherwise, None)


def compiled_on(device, function, shapes, **options):
    sharding = jax.sharding.SingleDeviceSharding(device)
    with jax.enable_x64(True):
        specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in shapes]
        return jax.jit(function, in_shardings=sharding, out_shardings=sharding, **options).lower(*specs).compile()


def made(function, *args, otherwise=refuse, device=None, **options):
    """The call of a JAX function with arguments like these; a tuple comes back."""
    device = device or synchronous_device()
    compiled = compiled_on(device, lambda *arrays: tuple(function(*arrays)), args, **options)
    results = alone(jax.tree.leaves(compiled.out_info))
    return written(NumpyCalls(compiled, alone(args), results, device), otherwise)


def sample(dtype, dims, seed=0):
    values = np.random.default_rng(seed).integers(0, 2 if dtype == np.bool_ else 50, dims)
    return np.asarray(values, dtype)


def check(found, expected):
    """Equal in every bit, arrays of their own that can be written to."""
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert type(x) is np.ndarray
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        assert x.flags.writeable
        assert x.flags.aligned
        np.testing.assert_array_equal(x, y)


# ---- values -----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", [*DTYPES, BFLOAT16], ids=str)
def test_every_dtype_and_rank(dtype):
    args = [sample(dtype, dims, len(dims)) for dims in [(), (1,), (0,), (3, 0), (7,), (2, 3, 4)]]
    y = sample(np.dtype(np.float32), (3,), 1)
    call = made(lambda y, *xs: (y + 1, *xs, *[x.T for x in xs]), y, *args)
    for _ in range(2):
        check(call(y, *args), (y + 1, *args, *[x.T for x in args]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [STAGED // 8 - 1, STAGED // 8, STAGED // 8 + 1])
@pytest.mark.parametrize("offset", [0, 1])
def test_sizes_around_that_of_arguments_with_memory_of_their_own(count, offset):
    x = aligned((count + 1,), np.dtype(float))[offset : offset + count]
    y = np.float64(2)
    call = made(lambda x, y: (x + y, x.sum()), x, y)
    for value in (1.0, 3.0):
        x[...] = value
        check(call(x, y), (np.full(count, value + 2), np.asarray(value * count)))
        check(call(x, 2.0), (np.full(count, value + 2), np.asarray(value * count)))
    with jax.enable_x64(False):
        check(call(x, y), (np.full(count, value + 2), np.asarray(value * count)))


@pytest.mark.parametrize("kept", [True, False])
def test_arguments_that_no_result_needs(kept):
    args = [np.full(2, float(i)) for i in range(4)]
    call = made(lambda a, b, c, d: (d - b,), *args, keep_unused=kept)
    check(call(*args), (np.full(2, 2.0),))


def test_on_jax_s_own_client():
    x = np.random.default_rng(0).random(40_000)
    call = made(lambda x, n: (jnp.sin(x) * n, jnp.sort(x)), x, np.float64(1), device=jax.devices("cpu")[0])
    for n in range(20):
        sines, ordered = call(x, float(n))
        np.testing.assert_allclose(sines, np.sin(x) * n, rtol=1e-12)
        np.testing.assert_array_equal(ordered, np.sort(x))


def test_executables_with_effects_have_no_call_below_jaxs():
    seen = []

    def show(x):
        jax.debug.callback(lambda value: seen.append(float(value)), x)
        return x + 1

    assert own_call(compiled_on(jax.devices("cpu")[0], show, [np.float64(1)])) is None


def test_numbers():
    x, k, flag, z, f = np.float64(1), np.int32(2), np.bool_(True), np.complex128(1j), np.float32(0.5)
    call = made(lambda x, k, flag, z, f: (x + 1, k * 2, ~flag, z * 2, f + 1), x, k, flag, z, f)
    expected = tuple(map(np.asarray, (np.float64(2), np.int32(4), np.bool_(False), np.complex128(2j), np.float32(1.5))))
    check(call(x, k, flag, z, f), expected)
    check(call(*map(np.asarray, (x, k, flag, z, f))), expected)
    check(call(1.0, 2, True, 1j, 0.5), expected)
    check(call(1, 2, True, 1j, 0.5), expected)


class Subclass(np.ndarray):
    pass


OTHERS = {
    "a narrower dtype": (np.zeros(3, np.float32), 1.0, 1),
    "another byte order": (np.zeros(3, ">f8"), 1.0, 1),
    "a shape that would be repeated": (np.zeros(1), 1.0, 1),
    "fewer axes": (np.float64(1), 1.0, 1),
    "more axes": (np.zeros((1, 3)), 1.0, 1),
    "a list": ([0.0, 0.0, 0.0], 1.0, 1),
    "None": (None, 1.0, 1),
    "a subclass": (np.zeros(3).view(Subclass), 1.0, 1),
    "a JAX array": (jnp.zeros(3, jnp.float32), 1.0, 1),
    "an array for a scalar": (np.zeros(3), np.ones(1), 1),
    "another scalar": (np.zeros(3), np.float32(1), 1),
    "a bool for a float": (np.zeros(3), True, 1),
    "a complex for a float": (np.zeros(3), 1j, 1),
    "a string": (np.zeros(3), "1", 1),
    "a float for an int": (np.zeros(3), 1.0, 1.0),
    "a bool for an int": (np.zeros(3), 1.0, True),
    "another width": (np.zeros(3), 1.0, np.int64(1)),
    "too large an int": (np.zeros(3), 1.0, 2**31),
    "too small an int": (np.zeros(3), 1.0, -(2**31) - 1),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_of_the_argument_s_type_is_passed_on(name):
    good = (np.arange(3.0), np.float64(2), np.int32(3))
    call = made(lambda x, y, k: (x * y + k,), *good, otherwise=lambda *args: args)
    args = OTHERS[name]
    found = call(*args)
    assert len(found) == 3
    assert all(x is y for x, y in zip(found, args, strict=True))
    check(call(*good), (np.arange(3.0) * 2 + 3,))


@pytest.mark.parametrize("size", [3, STAGED // 8 + 1])
def test_jax_arrays_pass_through(size):
    device = synchronous_device()
    x = np.arange(float(size))
    compiled = compiled_on(device, lambda s, x: (s + x, s * 2), [x, x])
    given = [Place((size,), x.dtype, 0, numpy=False), Place((size,), x.dtype, 1)]
    results = [Place((size,), x.dtype, 0), Place((size,), x.dtype, 1, numpy=False)]
    call = written(NumpyCalls(compiled, given, results, device), refuse)
    with jax.enable_x64(True):
        state = jax.device_put(x, device)
    for factor in (1, 2, 4):
        given = weakref.ref(state)
        total, state = call(state, x)
        assert given() is None, "a call keeps none of them"
        check((total,), (x * factor + x,))
        assert isinstance(state, jax.Array)
        assert state.devices() == {device}
        np.testing.assert_array_equal(state, x * factor * 2)


@pytest.mark.usefixtures("young_heap")
@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [3, COPIED // 8, COPIED, STAGED // 8 + 1])
def test_results_share_no_element(count):
    constant = np.arange(float(count)) + 5
    x = np.arange(float(count))
    call = made(lambda x: (x, x, x + 1, jnp.asarray(constant), jnp.asarray(constant)), x)
    expected = (x.copy(), x.copy(), x + 1, constant, constant)
    first, second = call(x), call(x)
    for array in first:
        assert not any(np.shares_memory(array, other) for other in (*first, *second, x) if other is not array)
        array[...] = -1
    check(second, expected)
    x[...] = 7
    check(second, expected)
    check(call(x), (x, x, x + 1, constant, constant))
    found = [call(np.full(count, float(i))) for i in range(200)]
    del call
    gc.collect()
    for i, results in enumerate(found):  # they outlive their call, and the function
        check(results[:3], (np.full(count, float(i)), np.full(count, float(i)), np.full(count, i + 1.0)))


@pytest.mark.usefixtures("young_heap")
@pytest.mark.sampled(12)
@pytest.mark.parametrize("count", [3, 12_500, STAGED // 8 + 1])
def test_nothing_is_left_of_a_call(count):
    resource = pytest.importorskip("resource")
    x = np.zeros(count)
    call = made(lambda x: (x + 1, x * 2), x)
    for _ in range(20):
        call(x)
    gc.collect()
    gc.disable()
    try:
        objects = len(gc.get_objects())
        # 48 bytes of each call's results, or the 64 that a direct execution leaves, would be 5 MB; larger ones 200 MB.
        # They would be so in each round; what other threads of the process take meanwhile is not.
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(100_000 if count == 3 else 1000):
                call(x)
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            if grown < (4_000 if count == 3 else 50_000):
                break
        else:
            pytest.fail(f"the process has grown by {grown} kB in each of three rounds, or more")
        assert len(gc.get_objects()) - objects < 100
        # Without the collector, which JAX has free memory too when it runs: there is no cycle either.
        assert gc.collect() < 100
    finally:
        gc.enable()


# ---- threads -----------------------------------------------------------------------------------------------------


def test_other_threads_go_on_during_a_call():
    x = np.ones((400, 400))
    call = made(lambda x: (jax.lax.fori_loop(0, 50, lambda _, y: y @ x / 400, x),), x)
    call(x)
    inside, over, seen = threading.Event(), threading.Event(), 0

    def work():
        inside.set()
        call(x)
        over.set()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    while not over.is_set():
        seen += 1
    thread.join()
    assert seen > 1000


@pytest.mark.parametrize("count", [8, 5000, STAGED // 8 + 2])
def test_a_call_waits_for_no_other_thread(count):
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "RUSAGE_THREAD"):
        pytest.skip("no count per thread here")

    def switches():
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

    x = np.random.default_rng(0).random(count)
    # XLA itself splits the work on more elements.
    call = made(lambda x: (jnp.exp(jnp.sin(x[:5000])) * 2, jnp.cos(x[-5000:]).sum()), x)
    call(x)
    before = switches()
    for _ in range(200):
        call(x)
    assert switches() - before < 5  # 200 if each call waited


def test_an_error_in_a_call_leaves_the_next_one_right(monkeypatch):
    class Failing:
        def __array__(self, *args, **kwargs):
            raise ZeroDivisionError

    call = made(lambda x, y: (x + y,), np.zeros(3), np.zeros(3), otherwise=None)
    with pytest.raises(ZeroDivisionError):
        call(np.ones(3), Failing())
    check(call(np.ones(3), np.ones(3)), (np.full(3, 2.0),))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", [np.dtype(float), np.dtype(np.float32), BFLOAT16], ids=str)
def test_results_that_lie_in_one_array(packed, dtype):
    """Parts of one array are the caller's own, like results that have one each."""
    device, x = synchronous_device(), sample(dtype, (2, 3), 1)
    places = [Place((2, 3), dtype, 0, 0), Place((), dtype, 0, 6), Place((5,), dtype, 0, 7)] if packed else None

    def function(x):
        results = [x, x[0, 0], jnp.ravel(x)[1:]]
        return [jnp.concatenate([y.ravel() for y in results])] if packed else results

    compiled = compiled_on(device, function, [x])
    results = places or alone(jax.tree.leaves(compiled.out_info))
    call = written(NumpyCalls(compiled, alone([x]), results, device), refuse)
    first, second = call(x), call(x)
    check(first, (x, x[0, 0].reshape(()), x.ravel()[1:]))
    for array in first:
        array[...] = 0
    check(second, (x, x[0, 0].reshape(()), x.ravel()[1:]))


@pytest.mark.parametrize("kind", ["alone", "packed", "numbers"])
def test_flags_of_checks_come_back_where_one_is_false(kind):
    dtype = np.dtype(np.int32 if kind == "numbers" else bool)
    device = synchronous_device()
    compiled = compiled_on(device, lambda x: (x.sum(), (x > 0).astype(dtype)), [np.ones(3)])
    results = alone(jax.tree.leaves(compiled.out_info))
    if kind == "packed":
        results[1] = Place((3,), dtype, 1, 0)
    call = written(NumpyCalls(compiled, alone([np.ones(3)]), results, device, flags=True), refuse)
    total, flags = call(np.array([1.0, 2.0, 3.0]))
    assert total == 6.0
    assert (flags is None) == (kind == "alone")
    total, flags = call(np.array([1.0, -2.0, 3.0]))
    assert total == 2.0
    np.testing.assert_array_equal(flags, np.array([1, 0, 1], dtype))
