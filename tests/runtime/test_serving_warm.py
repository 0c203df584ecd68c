"""Compiles before the first calls: what `warm` has compiled, calls do not compile."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import monitoring

import hlograph
from hlograph.errors import ArgumentError, ArgumentShapeError

A = np.full((4, 4), 0.1, np.float32)
compiles: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def listener() -> None:
    def listen(event: str, seconds: float, **more: Any) -> None:
        if "backend_compile" in event:
            compiles.append(event)

    monitoring.register_event_duration_secs_listener(listen)


def f(x: Any, a: Any) -> Any:
    return jnp.tanh(x @ a).sum(0)


def x(size: int) -> np.ndarray:
    return np.linspace(0, 1, 4 * size, dtype=np.float32).reshape(size, 4)


def expected(size: int) -> np.ndarray:
    return np.tanh(x(size) @ A).sum(0)


PROGRAM = hlograph.jit(f, dims={"x": ("n", 4), "a": None}).program(x(3), A)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("cpu", ["auto", "plain"])
@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ("exact", ["n=10", "n=11", "n=30"]),
        (hlograph.Bucket(start=16), ["n<=16", "n<=32"]),
        ({"n": 40}, ["n<=40"]),
    ],
)
@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_calls_compile_nothing(outputs: Any, policy: Any, names: list[str], cpu: Any) -> None:
    sizes = (10, 11, 30)
    arrays = {size: (x(size), jnp.asarray(x(size)), jnp.asarray(A)) for size in sizes}
    fn = PROGRAM.compile(outputs=outputs, policy=policy, cpu=cpu)
    seconds = fn.warm([{"n": size} for size in sizes])
    assert sorted(seconds) == names
    assert fn.stats.compiles == fn.stats.executables == len(names)
    assert fn.stats.calls == 0
    assert set(fn.warm({"n": 11}).values()) == {0.0}
    before = len(compiles)
    for size, (array, on_device, other) in arrays.items():
        for given in ((array, A), (on_device, other)):
            np.testing.assert_allclose(fn(*given), expected(size), rtol=1e-5)
    assert len(compiles) == before
    assert fn.stats.compiles == len(names)


@pytest.mark.parametrize("cpu", ["auto", "plain"])
def test_nothing_is_run(cpu: Any) -> None:
    def endless(x: Any) -> Any:
        """For zeros."""
        return jax.lax.while_loop(lambda c: c[0] < 1, lambda c: c * (1 + x[0]), x)[0]

    fn = hlograph.jit(endless, dims={"x": "n"}, outputs="numpy", cpu=cpu)
    fn.warm(jax.ShapeDtypeStruct((2,), np.float32))
    np.testing.assert_allclose(fn(np.array([0.5, 1], np.float32)), 1.125)


@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_jitted_functions(outputs: Any) -> None:
    def g(x: Any, scale: Any) -> Any:
        return (x * scale).sum() if x.shape[0] < 20 else x.prod()

    fn = hlograph.jit(g, dims={"x": "n", "scale": None}, outputs=outputs, policy="exact")
    spec = jax.ShapeDtypeStruct((5,), np.float32), jax.ShapeDtypeStruct((), np.float32)
    assert sorted(fn.warm(*spec)) == ["n=5"]
    assert sorted(fn.warm(*spec, sizes=[{"n": 7}, {"n": 30}])) == ["n=30", "n=7"]
    counted, before = fn.stats.compiles, len(compiles)
    for size in (5, 7, 30):
        array = np.linspace(0.5, 1.5, size, dtype=np.float32)
        wanted = 2 * array.sum() if size < 20 else array.prod()
        np.testing.assert_allclose(fn(array, np.float32(2)), wanted, rtol=1e-5)
    assert (fn.stats.compiles, len(compiles)) == (counted, before)


def test_shared_variables_and_values_that_are_sizes() -> None:
    pytensor = pytest.importorskip("pytensor")
    import pytensor.tensor as pt

    shared, k, v = pytensor.shared(np.arange(4.0)), pt.lscalar("k"), pt.dvector("v")
    fn = hlograph.function([k, v], shared[:k].sum() + pt.arange(k).sum() + v.sum(), outputs="numpy", policy="exact")
    fn.warm({"k": 3, "v_0": 2})
    assert fn(3, np.ones(2)) == 0 + 1 + 2 + 0 + 1 + 2 + 2
    assert fn.stats.compiles == 1


def test_what_is_wrong() -> None:
    fn = PROGRAM.compile(policy={"n": 40}, cache_size=1)
    with pytest.raises(ArgumentError, match="no size 'm'"):
        fn.warm({"m": 3})
    with pytest.raises(ArgumentError, match="dictionaries"):
        fn.warm([3])  # type: ignore[list-item]
    with pytest.raises(ArgumentShapeError, match="above its bound 40"):
        fn.warm({"n": 41})
    with pytest.raises(ArgumentError, match="need 2 executables, and cache_size keeps 1"):
        PROGRAM.compile(policy="exact", cache_size=1).warm([{"n": 4}, {"n": 5}])
    with pytest.raises(ArgumentError, match="the size n is not known"):
        PROGRAM.compile().warm()
    with pytest.raises(ArgumentError, match=r"jax\.jit runs"):
        hlograph.jit(lambda x: x + 1).warm(np.ones(3), sizes={"n": 4})
