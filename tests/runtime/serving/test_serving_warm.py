"""Compiles before the first calls: what `warm` has compiled, calls do not compile."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import monitoring

import hlograph
from hlograph.errors import ArgumentError, ArgumentShapeError, PaddingError

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


def compiles_nothing(fn: Any, calls: Any, *args: Any, **options: Any) -> dict[str, float]:
    """`fn.warm` with these; then calls, with the results that they are to have, compile nothing."""
    called = fn.stats.calls
    seconds: dict[str, float] = fn.warm(*args, **options)
    assert fn.stats.calls == called
    counted, before = fn.stats.compiles, len(compiles)
    for arrays, wanted in calls:
        np.testing.assert_allclose(fn(*arrays), wanted, rtol=1e-5)
    assert (fn.stats.compiles, len(compiles)) == (counted, before)
    return seconds


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
    calls = [((convert(x(n)), convert(A)), expected(n)) for n in (10, 11, 30) for convert in (np.asarray, jnp.asarray)]
    fn = PROGRAM.compile(outputs=outputs, policy=policy, cpu=cpu)
    seconds = compiles_nothing(fn, calls, [{"n": n} for n in (10, 11, 30)])
    assert sorted(seconds) == names
    assert fn.stats.compiles == fn.stats.executables == len(names)
    assert set(fn.warm({"n": 11}).values()) == {0.0}


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
    arrays = [np.linspace(0.5, 1.5, size, dtype=np.float32) for size in (5, 7, 30)]
    assert sorted(fn.warm(*spec)) == ["n=5"]
    calls = [((array, np.float32(2)), 2 * array.sum() if array.size < 20 else array.prod()) for array in arrays]
    assert sorted(compiles_nothing(fn, calls, *spec, sizes=[{"n": 7}, {"n": 30}])) == ["n=30", "n=7"]


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


@pytest.mark.sampled(3)
@pytest.mark.parametrize("outputs", ["jax", "numpy"])
@pytest.mark.parametrize(
    ("policy", "count"), [("auto", 14), ("padded", 14), (hlograph.Bucket(factor=2), 6), ({"n": 400}, 1)]
)
def test_every_bucket_up_to_a_size(outputs: Any, policy: Any, count: int) -> None:
    fn = PROGRAM.compile(outputs=outputs, policy=policy)
    seconds = compiles_nothing(fn, (((x(n), A), expected(n)) for n in range(1, 401)), up_to={"n": 400})
    assert len(seconds) == fn.stats.compiles == fn.stats.executables == count
    assert all(took > 0 for took in seconds.values())
    assert set(fn.warm(up_to={"n": 400}).values()) == {0.0}
    if policy != {"n": 400}:
        fn(x(600), A)
        assert fn.stats.compiles == count + 1
        assert fn.stats.by_executable[0].policy == ("exact" if policy == "auto" else "padded"), "only what is warm is"


def test_every_bucket_of_jitted_functions() -> None:
    """Where Python code decides by sizes, whoever calls says which there are."""

    def g(x: Any, a: Any) -> Any:
        return (x @ a).sum(0) if x.shape[0] < 20 else (x @ a)[0]

    fn = hlograph.jit(g, dims={"x": ("n", 4), "a": None})
    with pytest.raises(ArgumentError, match=r"decides by sizes \(n .*give the sizes that are used: sizes="):
        fn.warm(x(3), A, up_to={"n": 100})
    spec = jax.ShapeDtypeStruct((1, 4), np.float32)
    calls = (((x(n), A), (x(n) @ A).sum(0) if n < 20 else (x(n) @ A)[0]) for n in (7, 30))
    assert len(compiles_nothing(fn, calls, spec, A, sizes=[{"n": 7}, {"n": 30}])) == fn.stats.traces == 2
    with pytest.raises(ArgumentError, match="no size 'm'"):
        fn.warm(x(3), A, up_to={"m": 4})

    def scaled(x: Any, y: Any, power: int) -> Any:
        return x.sum() * y**power

    twice = hlograph.jit(scaled, dims={"x": "n", "y": "2*n"}, static_argnames="power", outputs="numpy")
    ones = [np.ones(2 * n, np.float32) for n in range(41)]
    compiles_nothing(
        twice, (((ones[n][:n], ones[n], 3), n * ones[n]) for n in range(1, 41)), *ones[1:3], 3, up_to={"n": 40}
    )


def test_every_bucket_of_graphs() -> None:
    """Several sizes, those that follow from others, that are values, that are computed from data, shared variables."""
    pytensor = pytest.importorskip("pytensor")
    import pytensor.tensor as pt

    v, w, k, m = pt.dvector("v"), pt.dvector("w"), pt.lscalar("k"), pt.dmatrix("m")
    ones, numpy = np.ones(100), {"outputs": "numpy"}
    fn = hlograph.function([m], pt.exp(m).sum(0), dims={"m": ("n", "p")}, **numpy)
    calls = [((np.ones((i, j)),), np.full(j, i * np.e)) for i in range(0, 41, 4) for j in range(21)]
    assert len(compiles_nothing(fn, calls, up_to={"n": 40, "p": 20})) == 8
    assert len(compiles_nothing(fn, (), {"p": 30}, up_to={"n": 40})) == 4, "of the other size what is given"
    fn = hlograph.function([v, w], pt.concatenate([v, v]) * w, dims={"v": ("n",), "w": ("m",)}, **numpy)
    calls = [((ones[:i], ones[: 2 * i]), ones[: 2 * i]) for i in range(41)]
    compiles_nothing(fn, calls, up_to={"n": 40, "m": 80})  # m == 2*n
    with pytest.raises(ArgumentError, match="the size n is not known"):
        fn.warm(up_to={"m": 80})
    fn = hlograph.function([v], v.reshape((-1, 8)).sum(0) + v[5], dims={"v": ("n",)}, **numpy)
    compiles_nothing(fn, [((ones[:i],), np.full(8, i / 8 + 1)) for i in range(8, 101, 8)], up_to={"n": 100})
    with pytest.raises(ArgumentShapeError, match="constraints hold for no sizes"):
        fn.warm(up_to={"n": 5})
    fn = hlograph.function([k], pt.arange(k).sum(), **numpy)
    compiles_nothing(fn, [((i,), max(i, 0) * (i - 1) / 2) for i in range(-30, 65)], up_to={"k": 64})
    shared = pytensor.shared(np.arange(4.0))
    fn = hlograph.function([v], v * shared.sum(), dims={"v": ("n",)}, **numpy)
    many = np.ones(400)
    compiles_nothing(fn, [((many[:i],), 6 * many[:i]) for i in range(401)], up_to={"n": 400})
    fn = hlograph.function([v, k], pt.sort(pt.arange((v > 0).sum() * k)), dims={"v": ("n",)}, **numpy)
    [count] = [each.name for each in fn.program.signature.counts if each.bound is None]
    calls = [((ones[:i], j), np.arange(i * j)) for i in range(0, 21, 5) for j in range(4)]
    assert len(compiles_nothing(fn, calls, up_to={"n": 20, count: 60})) == 14
    square = hlograph.function([m], pt.linalg.eig(m)[0], dims={"m": ("n", "n")}, policy="padded", **numpy)
    with pytest.raises(PaddingError, match="depends on the padding"):
        square.warm(up_to={"n": 40})


def test_every_bucket_of_files(tmp_path: Path) -> None:
    """Of a bundle those that it does not have are compiled."""
    program = hlograph.load(PROGRAM.save(tmp_path / "f.mlirbc"))
    calls = [((x(n), A), expected(n)) for n in range(1, 65)]
    assert len(compiles_nothing(program.compile(), calls, up_to={"n": 64})) == 6
    for policy, loaded, compiled in (("auto", 2, 6), ("padded", 1, 5)):
        path = hlograph.bundle(program, tmp_path / "f.bundle", sizes=[{"n": 10}, {"n": 11}], policy=policy)
        fn = hlograph.load_bundle(path, trusted=True)
        compiles_nothing(fn, calls, up_to={"n": 64})
        if fn.stats.loaded:  # this processor's executables can be loaded
            assert (fn.stats.loaded, fn.stats.compiles) == (loaded, compiled)


def test_what_is_wrong_with_the_largest_sizes() -> None:
    with pytest.raises(ArgumentError, match=r"compiled by itself, which is 401 executables up to 400.*\"exact\""):
        PROGRAM.compile(policy="exact").warm(up_to={"n": 400})
    fn = PROGRAM.compile(cache_size=3)
    with pytest.raises(ArgumentError, match="need 14 executables, and cache_size keeps 3"):
        fn.warm(up_to={"n": 400})
    fn(x(5), A)
    assert fn.stats.by_executable[0].policy == "exact", "a refusal changes nothing"
    with pytest.raises(ArgumentShapeError, match="above its bound 40"):
        PROGRAM.compile(policy={"n": 40}).warm(up_to={"n": 41})
    with pytest.raises(ArgumentShapeError, match="above the bucket's limit 40"):
        PROGRAM.compile(policy=hlograph.Bucket(limit=40)).warm(up_to={"n": 41})
    with pytest.raises(ArgumentError, match="no size 'm'"):
        PROGRAM.compile().warm(up_to={"m": 40})
    with pytest.raises(ArgumentError, match="n = -1 is not between 0 and"):
        PROGRAM.compile().warm(up_to={"n": -1})


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
    assert len(compiles_nothing(fn, [((np.array([1.0, -1, 2, -3]), 1), [0.0, 2.0])], [{**roots, name: 2}])) == 2


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
    with pytest.raises(ArgumentError, match="may be run in parts"):
        fn.warm(w, spec, up_to={"n": 3})


def test_graphs_of_one_row() -> None:
    pytest.importorskip("pytensor")
    import pytensor.tensor as pt

    y, mu = pt.dvector("y"), pt.dscalar("mu")
    fn = hlograph.function([y, mu], ((y - mu) ** 2).sum(), dims={"y": ("b", "n[b]")}, outputs="numpy")
    [name] = [root.name for root in fn.program.signature.roots]
    rows = [row.astype(float) for row in ROWS]
    [bounds] = compiles_nothing(fn, [((rows, 0.5), [((x - 0.5) ** 2).sum() for x in rows])], {"b": 3, name: 5})
    assert bounds.startswith("b<=")
    assert set(fn.warm([{"b": 3, name: 5}]).values()) == {0.0}
    with pytest.raises(ArgumentError, match="the size b is not known"):
        fn.warm({name: 5})
    rows = [[np.ones(i % (n + 1)) for i in range(b)] for b in range(1, 13, 3) for n in range(0, 41, 8)]
    calls = [((each, 0.5), [0.25 * len(row) for row in each]) for each in rows]
    assert len(compiles_nothing(fn, calls, up_to={"b": 12, name: 40})) == 8
