"""Rows of different lengths: what `hlograph.jit(jax.vmap(f), dims={"x": ("b", "n[b]")})` gives is what `f` gives."""

from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph
from hlograph import Ragged
from hlograph.errors import ArgumentShapeError, ArgumentTypeError, GraphError, OptionError, PaddingError, PolicyError

RNG = np.random.default_rng(0)
LENGTHS = {"different": [3, 7, 1, 5], "equal": [4, 4, 4], "some empty": [2, 0, 6, 0], "one": [5], "all empty": [0, 0]}
W = RNG.normal(size=(3, 3)).astype("float32") * 0.3


def rows_of(lengths, *rest, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, *rest)).astype("float32") for n in lengths]


def poisoned(rows, further=3):
    """Rows in an array, with NaN behind them."""
    found = Ragged.from_rows(rows)
    values = np.full((len(rows), found.values.shape[1] + further, *found.values.shape[2:]), np.nan, "float32")
    for row, x in zip(values, rows, strict=True):
        row[: len(x)] = x
    return Ragged(values, found.lengths)


def rnn(w, x):
    def step(h, xt):
        h = jnp.tanh(w @ h + xt)
        return h, h.sum()

    h, each = jax.lax.scan(step, jnp.zeros(3), x)
    return h, each * x.shape[0]


ALONE = jax.jit(rnn)  # of a row; without `jit` JAX compiles the scan anew at each call


def check(found, expected, rows):
    """`found` has the results of all rows, `expected` of each."""
    for number in range(len(rows)):
        own = jax.tree.map(lambda x: x[number], found, is_leaf=lambda x: isinstance(x, Ragged | list))  # noqa: B023
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6), own, expected(rows[number]))


def test_calls_with_the_lengths_of_the_one_before():
    """Arrays are others, lengths the same object: nothing is looked at again, and nothing is mistaken for it."""
    fn = hlograph.jit(jax.vmap(rnn, in_axes=(None, 0)), dims={"x": ("b", "n[b]", 3)})
    lengths, others = jnp.asarray([3, 7, 1], jnp.int32), jnp.asarray([7, 2, 2], jnp.int32)
    calls = [(own, width, dtype) for own in (lengths, others, lengths) for width in (7, 9) for dtype in ("f4",) * 3]
    for seed, (own, width, dtype) in enumerate([*calls, (lengths, 7, "f2"), (lengths, 7, "f4")]):
        rows = rows_of(own.tolist(), 3, seed=seed)
        values = np.full((3, width, 3), np.nan, dtype)
        for row, x in zip(values, rows, strict=True):
            row[: len(x)] = x
        w = jnp.asarray(W * (1 + seed / 10))
        found = fn(w, Ragged(jnp.asarray(values), own))
        np.testing.assert_array_equal(found[1].lengths[0], own)
        if dtype == "f4":
            check(found, lambda x: ALONE(w, x), rows)  # noqa: B023
    for transformed in (jax.jit(fn), fn):
        check(transformed(w, Ragged(jnp.asarray(values), lengths)), lambda x: ALONE(w, x), rows)
    fn.clear_cache()
    check(fn(w, Ragged(jnp.asarray(values), lengths)), lambda x: ALONE(w, x), rows)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
def test_each_row_is_what_a_call_with_it_gives(lengths):
    rows = rows_of(lengths, 3)
    fn = hlograph.jit(jax.vmap(rnn, in_axes=(None, 0)), dims={"x": ("b", "n[b]", 3)})
    for given in (rows, poisoned(rows)):
        h, each = fn(W, given)
        assert isinstance(each, list if given is rows else Ragged) or not any(lengths)
        check((h, each), lambda x: ALONE(W, x), rows)


def test_bits_are_those_of_one_call_where_nothing_is_summed_in_another_order():
    rows = rows_of([3, 8, 1, 6, 2])
    fn = hlograph.jit(jax.vmap(lambda x: jnp.cumsum(jnp.exp(x)) / x[0]), dims={"x": ("b", "n[b]")}, cpu="plain")
    one = hlograph.jit(lambda x: jnp.cumsum(jnp.exp(x)) / x[0], dims={"x": ("n",)}, policy=8, cpu="plain")
    for found, x in zip(fn(rows), rows, strict=True):
        np.testing.assert_array_equal(found, one(x))


def test_rows_come_in_several_ways_and_go_as_they_came():
    rows = rows_of([3, 1, 4], 2)
    fn = hlograph.jit(jax.vmap(lambda x: x * 2), dims={"x": ("b", "n[b]", 2)})
    splits = np.array([0, 3, 4, 8])
    packed = Ragged.from_packed(np.concatenate(rows), splits)
    np.testing.assert_array_equal(Ragged.from_packed(np.concatenate(rows), lengths=[3, 1, 4]).values, packed.values)
    found = fn(packed)
    values, back = found.packed()
    np.testing.assert_array_equal(values, np.concatenate(rows) * 2)
    np.testing.assert_array_equal(back, splits)
    for x, y in zip(found, rows, strict=True):
        np.testing.assert_array_equal(x, y * 2)
    full = np.stack([rows[0], rows[0]])
    np.testing.assert_array_equal(fn(full).values, full * 2)
    assert len(found) == 3
    assert "lengths 1 to 4" in repr(found)
    np.testing.assert_array_equal(np.asarray(found.mask).sum(1), [3, 1, 4])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", ["auto", "exact", "padded", {"n": 16, "b": "exact"}, hlograph.Bucket(start=4)])
def test_policies(policy):
    fn = hlograph.jit(jax.vmap(lambda x: x.mean()), dims={"x": ("b", "n[b]")}, policy=policy)
    for lengths in ([3, 7], [2, 5, 1], [7, 7]):
        rows = rows_of(lengths)
        np.testing.assert_allclose(fn(rows), [x.mean() for x in rows], rtol=1e-5)
    if policy == "exact":
        assert fn.stats.compiles == 2  # 2 rows of 7, 3 rows of 5


def test_few_compiles_for_many_batches():
    fn = hlograph.jit(jax.vmap(lambda x: (x**2).sum()), dims={"x": ("b", "n[b]")}, cpu="plain")
    rng = np.random.default_rng(5)
    for _ in range(60):
        rows = [np.ones(n, "float32") for n in rng.integers(1, 41, rng.integers(1, 65))]
        np.testing.assert_array_equal(fn(rows), [len(x) for x in rows])
    assert fn.stats.compiles <= 20


def test_padding_of_arrays_on_the_device_is_taken_as_it_is_for_some_shapes():
    fn = hlograph.jit(jax.vmap(jnp.sum), dims={"a": ("b", "n[b]")}, cpu="plain")
    for size in range(20, 40):
        np.testing.assert_array_equal(fn(Ragged(jnp.ones((3, size)), jnp.array([1, 2, 3]))), [1, 2, 3])
    shapes = [function.program.signature.arguments[0].dims for function in fn.functions]
    assert shapes == [*[(3, size) for size in range(20, 28)], (8, 16)]


def test_two_lengths_and_sizes_that_rows_share():
    def f(a, b, m, c):
        return a @ b.T + m[: len(a), None], (a.sum() * c), c + m.sum()

    rng = np.random.default_rng(2)
    sizes = [(2, 5), (4, 1), (3, 3)]
    a = [rng.normal(size=(n, 2)).astype("float32") for n, _ in sizes]
    b = [rng.normal(size=(k, 2)).astype("float32") for _, k in sizes]
    m, c = rng.normal(size=8).astype("float32"), np.arange(3, dtype="float32")
    dims = {"a": ("b", "n[b]", "d"), "b": ("b", "k[b]", "d"), "c": ("b",)}
    fn = hlograph.jit(jax.vmap(f, in_axes=(0, 0, None, 0)), dims=dims, constraints=("8 >= n",))
    found = fn(a, b, m, c)
    for number in range(3):
        for x, y in zip(found, f(a[number], b[number], m, c[number]), strict=True):
            np.testing.assert_allclose(x[number], y, rtol=1e-5, atol=1e-6)


def test_pytrees_keys_keywords_and_static_arguments():
    Batch = namedtuple("Batch", "tokens weight")

    def f(params, batch, *, key, power):
        noise = jax.random.normal(key, ())
        return {"out": (params["w"] * batch.tokens**power).sum() + batch.weight + noise}

    rows = rows_of([2, 5, 3])
    weight, keys = np.arange(3, dtype="float32"), jax.random.split(jax.random.key(0), 3)
    dims = {"batch": Batch(("b", "n[b]"), ("b",)), "key": ("b",)}
    fn = hlograph.jit(jax.vmap(f, in_axes=(None, 0)), dims=dims, static_argnames=("power",))
    found = fn({"w": np.float32(2)}, Batch(rows, weight), key=keys, power=2)["out"]
    expected = [f({"w": 2.0}, Batch(x, y), key=k, power=2)["out"] for x, y, k in zip(rows, weight, keys, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_functions_that_decide_by_a_length_have_a_program_for_each_kind_of_row():
    def f(x):
        return x.sum() if x.shape[0] > 3 else x[0] * 100

    rows = rows_of([2, 6, 4, 3, 1])
    fn = hlograph.jit(jax.vmap(f), dims={"x": ("b", "n[b]")})
    np.testing.assert_allclose(fn(rows), [f(x) for x in rows], rtol=1e-5)
    assert fn.stats.traces == 2


def test_gradients_by_what_rows_share_and_by_rows():
    rows = rows_of([4, 1, 6, 2], 3)
    fn = hlograph.jit(jax.vmap(lambda w, x: rnn(w, x)[1].sum(), in_axes=(None, 0)), dims={"x": ("b", "n[b]", 3)})

    def loss(w, xs):
        return fn(w, xs).mean()

    def each(w, xs):
        return sum(rnn(w, x)[1].sum() for x in xs) / len(xs)

    expected = jax.jit(jax.grad(each, (0, 1)))(W, [jnp.asarray(x) for x in rows])
    found = jax.grad(loss, (0, 1))(W, [jnp.asarray(x) for x in rows])
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6), found, expected)
    given = poisoned(rows)
    for transformed in (jax.grad(loss), jax.jit(jax.grad(loss))):
        np.testing.assert_allclose(transformed(W, given), expected[0], rtol=2e-5, atol=1e-6)
    _, tangent = jax.jvp(lambda w: loss(w, given), (W,), (np.ones_like(W),))
    np.testing.assert_allclose(tangent, expected[0].sum(), rtol=1e-4)


def test_results_of_rows_have_zeros_behind_them_and_their_cotangents_there_go_nowhere():
    rows = rows_of([2, 5])
    fn = hlograph.jit(jax.vmap(lambda x: 1 / x), dims={"x": ("b", "n[b]")})
    found = fn(poisoned(rows))
    assert not np.asarray(found.values)[~np.asarray(found.mask)].any()
    given = poisoned(rows)
    gradient = jax.grad(lambda v: fn(Ragged(v, given.lengths)).values.sum())(jnp.asarray(given.values))
    mask = np.asarray(Ragged(given.values, given.lengths).mask)
    np.testing.assert_allclose(np.asarray(gradient)[mask], -1 / given.values[mask] ** 2, rtol=1e-5)
    assert not np.asarray(gradient)[~mask].any()


def test_rows_without_elements_inside_jit():
    """Their lengths are not known there: what the function gives without elements is chosen where they are 0."""
    rows = rows_of([3, 0, 2])
    fn = hlograph.jit(jax.vmap(lambda x: (x.sum(), x.shape[0] * 1.0 + 7, x[1:] - x[:-1])), dims={"x": ("b", "n[b]")})
    total, count, difference = jax.jit(fn)(poisoned(rows))
    np.testing.assert_allclose(total, [x.sum() for x in rows], rtol=1e-5)
    np.testing.assert_array_equal(count, [10, 7, 9])
    np.testing.assert_array_equal(difference.lengths[0], [2, 0, 1])
    highest = hlograph.jit(jax.vmap(lambda x: x.max()), dims={"x": ("b", "n[b]")})
    assert np.isnan(jax.jit(highest)(poisoned(rows))[1])  # JAX refuses the maximum of nothing
    with pytest.raises(ValueError, match="zero-size"):
        highest(rows)
    gradient = jax.jit(jax.grad(lambda w, xs: highest(xs)[0] * w))(2.0, poisoned(rows))
    np.testing.assert_allclose(gradient, rows[0].max(), rtol=1e-6)


def test_lengths_that_there_cannot_be_give_nan_inside_jit():
    fn = hlograph.jit(jax.vmap(jnp.sum), dims={"a": ("b", "n[b]")}, constraints=("n >= 2",))
    values = np.ones((5, 3), "float32")
    found = jax.jit(lambda n: fn(Ragged(values, n)))(np.array([3, 2, 1, 0, 4]))
    np.testing.assert_array_equal(found, [3, 2, np.nan, 0, np.nan])
    x = pt.fvector("x")
    graph = hlograph.function([x], x[1] + x.sum(), dims={"x": ("b", "n[b]")})
    found = jax.jit(lambda n: graph(Ragged(values, n)))(np.array([3, 2, 1, 0, 4]))
    np.testing.assert_array_equal(found, [4, 3, np.nan, np.nan, np.nan])
    pair = hlograph.jit(jax.vmap(lambda x, y: (x * y).sum()), dims=dict.fromkeys("xy", ("b", "n[b]")))
    found = jax.jit(lambda n: pair(Ragged(values, n), Ragged(np.ones((5, 9), "float32"), n)))(np.array([3, 2, 1, 0, 4]))
    np.testing.assert_array_equal(found, [3, 2, 1, 0, np.nan])


def test_options_of_sizes_that_a_trace_fixes_and_of_passes():
    rows = rows_of([2, 3, 2], 2)
    for policy in ("auto", {"n": 16}):
        fn = hlograph.jit(jax.vmap(lambda x: x.sum() / len(x)), dims={"x": ("b", "n[b]", 2)}, policy=policy)
        np.testing.assert_allclose(fn(rows), [x.sum() / len(x) for x in rows], rtol=1e-5)
        assert fn.stats.traces == 2  # a program for each length
    for optimize, operation in (("default", "multiply"), ("none", "power")):
        power = hlograph.jit(jax.vmap(lambda x: x**2.0), dims={"x": ("b", "n[b]", 2)}, optimize=optimize)
        assert f"stablehlo.{operation}" in power.lower(rows).as_text()


def test_no_rows_at_all_and_a_look_at_the_program():
    for policy in ("auto", "exact"):
        fn = hlograph.jit(jax.vmap(lambda x: (x.sum(), x)), dims={"x": ("b", "n[b]")}, policy=policy)
        total, each = fn(Ragged(np.zeros((0, 4), "float32"), np.zeros(0, np.int32)))
        assert total.shape == (0,)
        assert len(each) == 0
    with pytest.raises(ValueError, match="say which is meant"):
        hlograph.explain(hlograph.jit(jax.vmap(jnp.sum), dims={"a": ("b", "n[b]")}))
    assert "x  float32  (n)" in str(hlograph.explain(fn))
    assert "x  float32  (n)" in str(hlograph.explain(fn, rows_of([5, 3])))
    x = pt.dvector("x")
    assert "x  float64  (n)" in str(hlograph.explain(hlograph.function([x], x.sum(), dims={"x": ("b", "n[b]")})))
    assert "tensor<2x5xf32>" in fn.lower(rows_of([5, 3])).as_text()
    with pytest.raises(ArgumentShapeError, match="in parts"):
        fn.lower(rows_of([5, 0]))


def test_calls_by_other_functions_of_jax():
    fn = hlograph.jit(jax.jit(jax.vmap(jnp.sum)), dims={"a": ("b", "n[b]")})
    rows = poisoned(rows_of([3, 1, 2]))
    values, lengths = np.stack([rows.values, rows.values * 2]), np.stack([rows.lengths[0]] * 2)
    found = jax.vmap(lambda v, n: fn(Ragged(v, n)))(values, lengths)
    expected = np.array([x.sum() for x in rows])
    np.testing.assert_allclose(found, [expected, expected * 2], rtol=1e-5)


def test_what_is_wrong_is_said():
    f, dims = jnp.sum, {"a": ("b", "n[b]")}
    fn = hlograph.jit(jax.vmap(f), dims=dims)
    with pytest.raises(OptionError, match=r"jax\.vmap"):
        hlograph.jit(f, dims=dims)
    with pytest.raises(OptionError, match="axis_name"):
        hlograph.jit(jax.vmap(f, axis_name="i"), dims=dims)
    with pytest.raises(OptionError, match="donate_argnums"):
        hlograph.jit(jax.vmap(f), dims=dims, donate_argnums=0)
    with pytest.raises(PolicyError, match="no size 'k'"):
        hlograph.jit(jax.vmap(f), dims=dims, policy={"k": 3})([np.ones(2)])
    with pytest.raises(ArgumentShapeError, match="rows"):
        fn([])
    with pytest.raises(ArgumentTypeError, match="got str"):
        fn("rows")
    with pytest.raises(ArgumentTypeError, match="lengths are integers, got float64"):
        Ragged(np.ones((2, 3)), [1.5, 2.0])
    with pytest.raises(ArgumentShapeError, match="row 1 has length 9"):
        Ragged(np.ones((2, 3)), [1, 9])
    with pytest.raises(ArgumentShapeError, match="row 1 has shape"):
        hlograph.jit(jax.vmap(lambda x: x), dims={"x": ("b", "n[b]", 2)})([np.ones((2, 2)), np.ones((2, 3))])
    pair = hlograph.jit(jax.vmap(lambda x, y: x + y), dims={"x": ("b", "n[b]"), "y": ("b", "n[b]")})
    with pytest.raises(ArgumentShapeError, match=r"'y', row 1: n = 4, but 'x' has 3"):
        pair(rows_of([2, 3]), rows_of([2, 4]))
    with pytest.raises(ArgumentShapeError, match="b = 3"):
        pair(rows_of([2, 3]), rows_of([2, 3, 1]))
    with pytest.raises(GraphError, match="in_axes has None"):
        hlograph.jit(jax.vmap(lambda x, y: x, in_axes=(None, 0)), dims={"x": ("b", "n[b]")})(
            np.ones((2, 2)), np.ones(2)
        )
    with pytest.raises(ArgumentShapeError, match=r"n = 9 is above its bound 4"):
        hlograph.jit(jax.vmap(f), dims=dims, policy=4)([np.ones(9, "float32")])
    with pytest.raises(ArgumentShapeError, match=r"row 1: .*n >= 2"):
        hlograph.jit(jax.vmap(f), dims=dims, constraints=("n >= 2",))([np.ones(3), np.ones(1)])
    with pytest.raises(PaddingError, match="rows of different lengths need padding"):
        hlograph.jit(jax.vmap(jnp.linalg.eigvals), dims={"a": ("b", "n[b]", "n[b]")})(
            Ragged(np.ones((2, 3, 3), "float32"), (np.array([2, 3]),) * 2, (1, 2))
        )


def test_graphs_of_one_row():
    x, z, mu = pt.dvector("x"), pt.dmatrix("z"), pytensor.shared(0.5, name="mu")
    outputs = [((x - mu) ** 2).sum(), pt.cumsum(x) * mu, z.sum() + x.prod(), x[x > 0]]
    fn = hlograph.function([x, z], outputs, dims={"x": ("b", "n[b]"), z: ("b", 2, ...)})
    rows = [RNG.normal(size=n) for n in (3, 0, 5, 1)]
    matrices = RNG.normal(size=(4, 2, 3))
    reference = pytensor.function([x, z], outputs, mode="FAST_COMPILE")
    for value in (0.5, -2.0):
        mu.set_value(value)
        found = fn(z=matrices, x=rows)
        for number in range(4):
            for own, y in zip(found, reference(rows[number], matrices[number]), strict=True):
                assert own[number].dtype == y.dtype
                np.testing.assert_allclose(own[number], y, rtol=1e-12, atol=1e-14)
    given = Ragged.from_rows(rows)
    gradient = jax.grad(lambda m: fn(given, m)[0].sum() + (fn(given, m)[2] ** 2).sum())
    with jax.enable_x64(True):
        np.testing.assert_allclose(gradient(matrices)[1], np.full((2, 3), 2 * (matrices[1].sum() + 1.0)), rtol=1e-12)


def test_each_row_draws_its_own_numbers():
    x = pt.dvector("x")
    rng = pytensor.shared(np.random.default_rng(1))
    fn = hlograph.function([x], pt.random.normal(x, 1.0, rng=rng), dims={"x": ("b", "n[b]")})
    found = fn(jax.random.key(0), [np.zeros(50), np.zeros(50)])
    assert not np.isin(found[0], found[1]).any()


def test_what_is_wrong_with_a_graph_of_rows_is_said():
    x, y = pt.dvector("x"), pt.dmatrix("y")
    fn = hlograph.function([x, y], x.sum() + y.sum(), dims={"x": ("b", "n[b]"), "y": ("b", "k", "k")})
    with pytest.raises(ArgumentShapeError, match="'y' has b = 1, but 'x' has 2"):
        fn([np.ones(2), np.ones(3)], np.ones((1, 2, 2)))
    with pytest.raises(ArgumentShapeError, match="'y' has k = 3, but 'y' has 2"):
        fn([np.ones(2)], np.ones((1, 2, 3)))
    with pytest.raises(ArgumentShapeError, match="'y': expected 3 axes"):
        fn([np.ones(2)], np.ones((2, 2)))
    u, v = pt.dvectors("u", "v")
    fn = hlograph.function([x, u, v], x.sum() + (u * v).sum(), dims={"x": ("b", "n[b]")})
    with pytest.raises(ArgumentShapeError, match="u_0 == v_0 does not hold for u_0 = 2, v_0 = 3"):
        fn(np.ones((0, 4)), np.ones(2), np.ones(3))  # of no row, too
    with pytest.raises(GraphError, match="'b' is the axis of the rows, which the graph of a row does not have"):
        hlograph.function([y], y.sum(axis=1), dims={"y": ("b", "n[b]")})


def test_three_dots_stand_for_the_other_axes():
    fn = hlograph.jit(lambda x: x.sum(0), dims={"x": ("n", ...)}, policy="padded")
    for shape in ((3,), (5, 2), (4, 2), (2, 2, 3)):
        np.testing.assert_allclose(fn(np.ones(shape, "float32")), np.full(shape[1:], shape[0]))
    assert fn.stats.traces == 3
    y = pt.dtensor3("y")
    graph = hlograph.emit_stablehlo(([y], [y.sum()]), dims={"y": (..., "k")})
    assert [str(dim) for dim in graph.signature.arguments[0].dims] == ["y_0", "y_1", "k"]
    with pytest.raises(GraphError, match=r"`...` may stand once"):
        hlograph.emit_stablehlo(([y], [y.sum()]), dims={"y": (..., "k", ...)})
    with pytest.raises(ArgumentShapeError, match="4 entries beside"):
        hlograph.jit(lambda x: x, dims={"x": ("a", "b", "c", "d", ...)})(np.ones(2))
