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


def test_sizes_computed_from_data_are_expected() -> None:
    """What comes behind such a size is compiled for a bucket of it, or warm says that it lacks the number."""
    pytest.importorskip("pytensor")
    import pytensor.tensor as pt

    v, k = pt.dvector("v"), pt.lscalar("k")
    fn = hlograph.function([v, k], pt.sort(pt.arange((v > 0).sum() * k)) * 2.0, outputs="numpy", policy="exact")
    [name] = [count.name for count in fn.program.signature.counts if count.bound is None][:1]
    roots = {root.name: 4 for root in fn.program.signature.roots}
    with pytest.raises(ArgumentError, match=f"the size {name} is computed from data.*{name}': 100"):
        fn.warm(roots)
    assert len(fn.warm([{**roots, name: 2}])) == 2
    counted, before = fn.stats.compiles, len(compiles)
    np.testing.assert_array_equal(fn(np.array([1.0, -1, 2, -3]), 1), [0.0, 2.0])
    assert (fn.stats.compiles, len(compiles)) == (counted, before)


ROWS = [np.linspace(0, 1, n).astype(np.float32) for n in (3, 5, 2)]


@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_rows_of_different_lengths(outputs: Any) -> None:
    """Of a function: for arguments, for arrays that are not there, and for other sizes; none of them compiles again."""

    def f(w: Any, x: Any) -> Any:
        return (w * x).sum() if x.shape[0] > 2 else w.sum() - 1

    fn = hlograph.jit(jax.vmap(f, in_axes=(None, 0)), dims={"x": ("b", "n[b]")}, outputs=outputs)
    w = np.ones((), np.float32)
    fn.warm(w, ROWS)
    assert fn.stats.compiles == 2, "rows by which Python decides otherwise are of another program"
    np.testing.assert_allclose(fn(w, ROWS), [1.5, 2.5, 0], rtol=1e-6)
    assert fn.stats.compiles == 2
    spec = jax.ShapeDtypeStruct((20, 40), np.float32)
    [first] = fn.warm(w, spec)
    [second] = fn.warm(w, spec, sizes={"n": 100})
    assert first != second
    counted, before = fn.stats.compiles, len(compiles)
    fn(w, np.ones((20, 100), np.float32))
    fn(w, [np.ones(39 + i % 2, np.float32) for i in range(20)])
    assert (fn.stats.compiles, len(compiles)) == (counted, before)
    with pytest.raises(ArgumentError, match="no size 'm'"):
        fn.warm(w, spec, sizes={"m": 3})


def test_graphs_of_one_row() -> None:
    pytest.importorskip("pytensor")
    import pytensor.tensor as pt

    y, mu = pt.dvector("y"), pt.dscalar("mu")
    fn = hlograph.function([y, mu], ((y - mu) ** 2).sum(), dims={"y": ("b", "n[b]")}, outputs="numpy")
    [name] = [root.name for root in fn.program.signature.roots]
    [bounds] = fn.warm({"b": 3, name: 5})
    assert bounds.startswith("b<=")
    assert set(fn.warm([{"b": 3, name: 5}]).values()) == {0.0}
    counted, before = fn.stats.compiles, len(compiles)
    np.testing.assert_allclose(fn(ROWS_64, 0.5), [((x - 0.5) ** 2).sum() for x in ROWS_64])
    assert (fn.stats.compiles, len(compiles)) == (counted, before)
    with pytest.raises(ArgumentError, match="the size b is not known"):
        fn.warm({name: 5})


ROWS_64 = [x.astype(float) for x in ROWS]
