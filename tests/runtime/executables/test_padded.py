"""Padded calls: what goes in and comes out, what is compiled, counted, warned about and refused."""

import gc
import re
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from scripts import run_script

import hlograph
from hlograph.errors import ArgumentShapeError, PaddingError, PaddingRefusedWarning, RecompilationWarning
from hlograph.runtime.executables.padding import _seen, cut, pad

RNG = np.random.default_rng(0)


def likelihood(policy="padded", **options):
    X, b, y = pt.matrix("X"), pt.vector("b"), pt.vector("y")
    eta = X @ b
    return hlograph.function(
        [X, b, y], [pt.sum((y - eta) ** 2), eta], dims={"X": ("n", 3), "y": ("n",)}, policy=policy, **options
    )


def data(n: int):
    return RNG.normal(size=(n, 3)), RNG.normal(size=3), RNG.normal(size=n)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", ["auto", "padded", "exact", 64, hlograph.Bucket(factor=2.0, start=4, multiple=4)])
@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_every_policy_gives_the_same_results(policy, convert) -> None:
    f = likelihood(policy)
    with warnings.catch_warnings(), jax.enable_x64(True):
        warnings.simplefilter("ignore", RecompilationWarning)
        for n in (0, 1, 2, 15, 16, 17, 33, 64, 5, 6, 7, 8, 9):
            X, b, y = data(n)
            value, eta = f(convert(X), convert(b), convert(y))
            assert eta.shape == (n,)
            assert isinstance(eta, jax.Array)
            np.testing.assert_allclose(eta, X @ b, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(value, np.sum((y - X @ b) ** 2), rtol=1e-12)


def test_one_executable_serves_all_sizes_of_a_bucket() -> None:
    f = likelihood("padded")
    for n in range(17):
        f(*data(n))
    stats = f.stats
    assert (stats.compiles, stats.executables, stats.calls) == (1, 1, 17)
    (entry,) = stats.by_executable
    assert (entry.policy, entry.sizes, entry.compiles, entry.calls) == ("padded", "n<=16", 1, 17)
    assert entry.padding_share == pytest.approx(1 - np.mean(np.arange(17) / 16))
    assert stats.padding_share == entry.padding_share
    f(*data(17))
    assert [x.sizes for x in f.stats.by_executable] == ["n<=16", "n<=96"]


@pytest.mark.parametrize(
    ("policy", "lengths", "expected"),
    [
        ("auto", [5] * 40, {"exact": ["5"], "padded": []}),
        ("auto", range(5, 40), {"exact": ["5"], "padded": ["16", "96"]}),
        ("auto", range(90, 0, -1), {"exact": ["90"], "padded": ["96"]}),
        ("auto", [5, 6] * 40, {"exact": ["5", "6"], "padded": ["16"]}),  # both come often
        ("auto", [5, 6, 7, 8] * 40, {"exact": ["5", "6", "7"], "padded": ["16"]}),
        ("padded", range(1, 400), {"exact": [], "padded": ["16", "96", "192", "384", "752"]}),
        ("padded", [40, 90] * 40, {"exact": [], "padded": ["40", "96"]}),
        ("padded", [90, 200, 300] * 40, {"exact": [], "padded": ["96", "240", "304", "384"]}),
        # A bucket that is called often is made finer.
        ("padded", [40, *range(250, 300)] * 6, {"exact": [], "padded": ["40", "304", "384"]}),
    ],
)
def test_what_lengths_compile(policy, lengths, expected) -> None:
    f = hlograph.jit(lambda x: (x * 2.0).sum(), dims={"x": ("n",)}, policy=policy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in lengths:
            assert f(np.ones(n, np.float32)) == 2 * n
    found: dict[str, list[int]] = {"exact": [], "padded": []}
    for entry in f.stats.by_executable:
        found[entry.policy].append(int(re.search(r"[0-9]+", entry.sizes)[0]))
    assert {kind: [str(x) for x in sorted(sizes)] for kind, sizes in found.items()} == expected
    assert f.stats.compiles == len(f.stats.by_executable)


def test_calls_that_return_scalars_have_a_price() -> None:
    """What a bucket of its own is worth is asked of all ops, calls of Python among them."""

    def total(x: Any) -> Any:
        return jax.pure_callback(lambda v: np.float32(v.sum()), jax.ShapeDtypeStruct((), np.float32), jnp.sin(x))

    fn = hlograph.jit(total, dims={"x": ("n",)}, policy="padded")
    for n in (5, 30, 100, 60):
        np.testing.assert_allclose(fn(np.ones(n, np.float32)), n * np.sin(1.0), rtol=1e-5)


def test_values_of_arguments_are_sizes_like_others() -> None:
    k, x = pt.lscalar("k"), pt.vector("x")
    f = hlograph.function([k, x], [pt.arange(k), x[:k].sum(), x[k:]], policy="padded")
    a = RNG.normal(size=9)
    for n in (0, 3, 9, 20, -2):
        found = f(n, a)
        for x_, y_ in zip(found, (np.arange(n), a[:n].sum(), a[n:]), strict=True):
            np.testing.assert_allclose(x_, y_)
    assert f.stats.compiles == 2


# ---- sizes from data -------------------------------------------------------------------------------------------------


def test_sizes_from_data_under_every_policy() -> None:
    x = pt.vector("x")
    outputs = [x[x > 0], pt.repeat(x, pt.cast(x > 0, "int64") + 1), x[x > 0].sum()]
    for policy, compiles in (("padded", 4), ("exact", 8)):
        f = hlograph.function([x], outputs, policy=policy)
        for n in (0, 3, 16, 12):
            a = RNG.normal(size=n).round(2)
            found = f(a)
            expected = (a[a > 0], np.repeat(a, (a > 0).astype(int) + 1), a[a > 0].sum())
            for x_, y_ in zip(found, expected, strict=True):
                assert np.shape(x_) == np.shape(y_)
                np.testing.assert_allclose(x_, y_, rtol=1e-12)
        assert f.stats.compiles <= compiles


def test_a_demand_on_a_size_from_data_is_checked_after_the_run() -> None:
    x, y = pt.vector("x"), pt.vector("y")
    f = hlograph.function([x, y], x[x > 0] + y, policy="padded")
    np.testing.assert_allclose(f(np.array([1.0, -1.0, 2.0]), np.array([10.0, 20.0])), [11.0, 22.0])
    with pytest.raises(ArgumentShapeError, match="nonzero_0"):
        f(np.array([1.0, -1.0, 2.0]), np.array([10.0, 20.0, 30.0]))


def test_a_size_from_data_above_its_given_bound_is_an_error() -> None:
    x = pt.vector("x")
    f = hlograph.function([x], pt.repeat(x, pt.cast(x, "int64")), policy={"repeat_0": 5})
    np.testing.assert_allclose(f(np.array([2.0, 3.0])), [2, 2, 3, 3, 3])
    with pytest.raises(ArgumentShapeError, match="repeat_0 = 6 is above its bound 5"):
        f(np.array([2.0, 4.0]))


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_a_size_above_a_given_bound_names_the_argument_and_the_axis() -> None:
    f = likelihood({"n": 8})
    assert f(*data(8))[1].shape == (8,)
    with pytest.raises(ArgumentShapeError, match=r"size n = 9 is above its bound 8 \(n is argument 'X', axis 0\)"):
        f(*data(9))


def test_an_op_without_a_rule_runs_exact_and_says_so_once() -> None:
    program = hlograph.emit_stablehlo(jnp.linalg.eigvals, jax.ShapeDtypeStruct(("n", "n"), "float32"))
    f, quiet, matrix = program.compile(policy="padded"), program.compile(), np.diag([1, 2, 4]).astype(np.float32)
    with pytest.warns(PaddingRefusedWarning, match="n cannot be padded.*geev") as found:
        np.testing.assert_allclose(np.sort(f(matrix)), [1, 2, 4], atol=1e-6)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in (f, quiet):
            np.testing.assert_allclose(np.sort(function(matrix)), [1, 2, 4], atol=1e-6)
    assert "geev" in f.stats.refusals["n"]
    assert [x.policy for x in f.stats.by_executable] == ["exact"]


def test_an_op_without_a_rule_on_a_size_from_data_is_an_error_under_every_policy() -> None:
    x = pt.vector("x")
    chosen = x[x > 0]
    program = hlograph.emit_stablehlo(([x], pt.linalg.eig(chosen[:, None] * chosen)[0]), dims={"x": ("n",)})
    (count,) = [count.name for count in program.signature.counts]
    for policy in ("auto", "exact", {count: 4}, {"n": "exact", count: 4}):
        with pytest.raises(PaddingError, match=r"eig finds .* depends on the padding"):
            program.compile(policy=policy)(np.ones(4))


def test_recompiling_under_exact_warns_once_with_the_axis_and_the_sizes() -> None:
    f = likelihood("exact")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for n in range(12):
            f(*data(n))
    (warning,) = found
    assert warning.category is RecompilationWarning
    assert re.search(r"size n \(n is argument 'X', axis 0\) has had 9 values \(0, 1, .*8\)", str(warning.message))


# ---- calls -----------------------------------------------------------------------------------------------------------


def test_results_do_not_change_when_later_calls_use_the_memory_again() -> None:
    x = pt.matrix("x")
    f = hlograph.function([x], [x, x * 1], policy={"x_0": 600, "x_1": 30})
    given = [RNG.normal(size=(n, 30)) for n in (600, 599, 500, 600, 598)]
    for a, results in zip(given, [f(a) for a in given], strict=True):
        for result in results:
            np.testing.assert_array_equal(result, a)


def test_under_transformations_sizes_are_fixed_and_exact() -> None:
    x = pt.vector("x", dtype="float32")
    f = hlograph.function([x], pt.cumsum(x), policy="padded")
    a = np.arange(5, dtype=np.float32)
    np.testing.assert_allclose(jax.jit(lambda v: f(v) + 1)(a), np.cumsum(a) + 1)
    assert f.stats.by_executable == ()  # it went into the caller's module
    np.testing.assert_allclose(f(a), np.cumsum(a))


def test_arrays_of_another_device_stay_there() -> None:
    script = """
        import jax, numpy as np, hlograph, pytensor.tensor as pt
        x = pt.vector("x", dtype="float32")
        device = jax.devices()[1]
        for policy in ("exact", "padded"):
            f = hlograph.function([x], x * 2, policy=policy)
            for n in (3, 3, 3):
                y = f(jax.device_put(np.ones(n, np.float32), device))
                assert y.devices() == {device}, (policy, y.devices())
            a = jax.device_put(np.ones(4, np.float32), device)
            assert [f(a).devices() for _ in range(3)] == [{device}] * 3
    """
    run_script(script, environment={"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"})


def test_a_padded_program_is_an_artifact_of_its_own(tmp_path) -> None:
    program = likelihood().program.pad({"n": 8})
    assert program.signature.is_static
    assert [str(a) for a in program.signature.arguments][-1] == "n: int32[]"
    path = program.save(tmp_path / "padded.mlir")
    loaded = hlograph.load(path)
    assert loaded.signature == program.signature
    X, b, y = data(5)
    wide = [np.concatenate([X, np.zeros((3, 3))]), b, np.concatenate([y, np.zeros(3)])]
    for run in (loaded.compile(), loaded.interpret):
        value, eta = run(*wide, np.int32(5))
        np.testing.assert_allclose(value, np.sum((y - X @ b) ** 2), rtol=1e-12)
        np.testing.assert_allclose(np.asarray(eta)[:5], X @ b, rtol=1e-12)


# ---- arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "wide"), [((0,), (8,)), ((3,), (8,)), ((3, 2), (3, 5)), ((2, 3, 4), (4, 3, 9)), ((100, 200), (128, 256))]
)
def test_padding_and_cutting(shape, wide) -> None:
    x = RNG.normal(size=shape).astype(np.float32)
    expected = np.zeros(wide, np.float32)
    expected[tuple(map(slice, shape))] = x
    for given_ in (x, jnp.asarray(x)):
        padded = pad(given_, wide)
        np.testing.assert_array_equal(padded, expected)
        np.testing.assert_array_equal(cut(jnp.asarray(padded), shape), x)
    np.testing.assert_array_equal(jax.jit(lambda v: pad(v, wide))(x), expected)


@pytest.mark.usefixtures("young_heap")
def test_a_jax_array_that_comes_again_is_padded_once_and_forgotten_with_it() -> None:
    x = jnp.ones((5, 3), jnp.float32)
    first, second, third = (pad(x, (8, 3)) for _ in range(3))
    assert second is third
    np.testing.assert_array_equal(first, second)
    key = (id(x), (8, 3))
    assert key in _seen
    del x
    gc.collect()
    assert key not in _seen
