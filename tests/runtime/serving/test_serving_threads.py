"""Many threads on one function: different sizes are compiled side by side, and none twice."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.runtime.direct.object_code import once
from hlograph.runtime.executables.executable import Executable
from hlograph.runtime.jitted import Programs

THREADS = 16
SIZES = (3, 5, 700, 3000)  # results that are copied, and that are not
WAIT = 60


def f(x: Any) -> Any:
    return jnp.tanh(x).sum(), 2 * x


def by_program(outputs: Any, policy: Any) -> Any:
    return hlograph.jit(f, dims={"x": "n"}).program(np.ones(3, np.float32)).compile(outputs=outputs, policy=policy)


def by_jit(outputs: Any, policy: Any) -> Any:
    return hlograph.jit(f, dims={"x": "n"}, outputs=outputs, policy=policy)


def by_graph(outputs: Any, policy: Any) -> Any:
    pt = pytest.importorskip("pytensor.tensor")
    x = pt.fvector("x")
    return hlograph.function([x], [pt.tanh(x).sum(), 2 * x], outputs=outputs, policy=policy)


@pytest.mark.parametrize(
    ("make", "outputs", "policy"),
    [
        (by_program, "jax", "exact"),
        (by_jit, "numpy", "exact"),
        (by_graph, "numpy", hlograph.Bucket(start=2, factor=1.001, multiple=2)),
    ],
)
def test_sizes_are_compiled_side_by_side(
    monkeypatch: pytest.MonkeyPatch, make: Callable[..., Any], outputs: Any, policy: Any
) -> None:
    """A compile waits until those of all sizes are under way; that none is made twice, the barrier shows too."""
    inside, compile_ = threading.Barrier(len(SIZES)), Executable._jit

    def waiting(self: Executable) -> Any:
        inside.wait(WAIT)
        return compile_(self)

    monkeypatch.setattr(Executable, "_jit", waiting)
    fn, start = make(outputs, policy), threading.Barrier(THREADS)

    def call(number: int) -> None:
        random = np.random.default_rng(number)
        start.wait(WAIT)
        for turn in range(20):
            x = random.random(SIZES[(number + turn) % len(SIZES)], np.float32)
            total, twice = fn(jnp.asarray(x) if turn % 3 else x)
            np.testing.assert_allclose(total, np.tanh(x).sum(), rtol=1e-5)
            np.testing.assert_array_equal(twice, 2 * x)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(call, range(THREADS)))
    finally:
        sys.setswitchinterval(interval)
    assert fn.stats.compiles == fn.stats.executables == len(SIZES)
    assert fn.stats.calls == 20 * THREADS


def test_functions_of_different_arguments_are_traced_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, trace = threading.Barrier(2), Programs.trace

    def waiting(self: Programs, *args: Any, **options: Any) -> Any:
        inside.wait(WAIT)
        return trace(self, *args, **options)

    monkeypatch.setattr(Programs, "trace", waiting)
    fn = by_jit("jax", "exact")
    arrays = [np.ones(4, np.float32), np.ones((4,), np.int32)] * 4
    with ThreadPoolExecutor(len(arrays)) as pool:
        found = list(pool.map(fn, arrays))
    np.testing.assert_allclose([total for total, _ in found], 4 * np.tanh(1.0), rtol=1e-6)
    assert fn.stats.traces == fn.stats.compiles == 2


def test_a_compile_that_fails_leaves_the_others() -> None:
    fn = by_program("numpy", "exact")

    def call(number: int) -> float:
        return float(fn(np.ones(3 if number % 2 else (3, 3), np.float32))[0])

    with ThreadPoolExecutor(8) as pool:
        for number, future in enumerate([pool.submit(call, number) for number in range(8)]):
            if number % 2:
                np.testing.assert_allclose(future.result(), 3 * np.tanh(1.0), rtol=1e-6)
            else:
                with pytest.raises(hlograph.errors.ArgumentShapeError):
                    future.result()
    assert fn.stats.compiles == 1


def test_machine_code_is_loaded_once() -> None:
    """Of two copies one would be freed, and with it what others have the addresses of."""
    start, second, made = threading.Barrier(2), threading.Event(), list[list[int]]()

    def make() -> list[int]:
        made.append([len(made)])
        if len(made) == 1:
            second.wait(0.2)  # for another one, which must not come
        second.set()
        return made[-1]

    only = once(make)

    def ask(number: int) -> list[int]:
        start.wait(WAIT)
        return only()

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(ask, range(2))
    assert one is other
    assert len(made) == 1
