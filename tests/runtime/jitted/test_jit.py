"""`hlograph.jit`: the same results as `jax.jit`, one trace for all sizes, and who runs what it cannot take."""

import functools
import inspect
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from trees import assert_same, positive_definite, random

import hlograph
from hlograph import errors

JITTED = type(jax.jit(lambda x: x))

SIZES = (1, 2, 7, 100)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def rnn_loss(params, xs):
    def step(h, x):
        h = jnp.tanh(h @ params["w"] + x @ params["u"] + params["b"])
        return h, h.sum()

    h, sums = jax.lax.scan(step, jnp.zeros(params["b"].shape), xs)
    return (h**2).sum() + sums.mean()


def attention(x, length):
    n = x.shape[0]
    scores = x @ x.T / jnp.sqrt(x.shape[1])
    live = jnp.arange(n) < length
    causal = jnp.tril(jnp.ones((n, n), bool))
    return jax.nn.softmax(jnp.where(causal & live[None], scores, -1e9), axis=-1) @ x


def conv(x, w):
    return jax.lax.conv_general_dilated(x[None, None], w[None, None], (1,), "SAME")[0, 0]


def collatz(x):
    def body(state):
        i, s = state
        return i + 1, s.at[i].add(jax.lax.dynamic_index_in_dim(s, i // 2, keepdims=False))

    return jax.lax.while_loop(lambda state: state[0] < x.shape[0], body, (0, x))[1]


PARAMS = {"w": random(3, 3), "u": random(2, 3), "b": random(3)}
KEY = jax.random.key(7)
N, NN = {"x": ("n",)}, {"x": ("n", "n")}

# name: (function, dims, arguments for a size)
CASES = {
    "value_and_grad": (jax.value_and_grad(rnn_loss), {"xs": ("t", None)}, lambda n: (PARAMS, random(n, 2))),
    "attention": (attention, {"x": ("n", 4)}, lambda n: (random(n, 4), np.int32(n // 2 + 1))),
    "matmul": (lambda x, y: x @ y, {"x": ("n", "m"), "y": ("m", "k")}, lambda n: (random(n, n + 1), random(n + 1, 2))),
    "reshape": (lambda x: (x.reshape(-1), x.T.reshape(x.shape), x[None].swapaxes(0, 1)), NN, lambda n: (random(n, n),)),
    "slices": (lambda x: (x[1:], x[::2], x[: x.shape[0] // 2], x[::-1], x[-1]), N, lambda n: (random(n),)),
    "concat": (lambda x, y: jnp.concatenate([x, y, x[:1]]), {"x": "n", "y": "m"}, lambda n: (random(n), random(2 * n))),
    "cumsum": (lambda x: (jnp.cumsum(x), jnp.cumprod(x)), N, lambda n: (random(n),)),
    "sort": (
        lambda x: (jnp.sort(x), jnp.argsort(x), jnp.argmax(x), jnp.median(x), jnp.quantile(x, 0.3)),
        N,
        lambda n: (random(n),),
    ),
    "reductions": (
        lambda x: (x.mean(), x.std(), x.max(), jnp.any(x > 1), jax.nn.logsumexp(x)),
        N,
        lambda n: (random(n),),
    ),
    "gather": (
        lambda x, i: (x[i], x.at[i].set(0.0), jnp.take_along_axis(x, i[:1], 0)),
        {"x": "n"},
        lambda n: (random(n), np.asarray([0, n - 1])),
    ),
    "while": (collatz, N, lambda n: (random(n),)),
    "cond": (
        lambda x: jax.lax.cond(x.sum() > 0, lambda y: y[::-1], lambda y: jnp.sort(y), x),
        N,
        lambda n: (random(n),),
    ),
    "conv": (conv, N, lambda n: (random(n), random(3))),
    "cholesky": (jnp.linalg.cholesky, {"a": ("n", "n")}, lambda n: (positive_definite(n),)),
    "solve": (jnp.linalg.solve, {"a": ("n", "n"), "b": ("n",)}, lambda n: (positive_definite(n), random(n))),
    "random": (
        lambda key, x: (jax.random.split(key), x + jax.random.normal(key, x.shape), jax.random.bernoulli(key, 0.3)),
        {"x": "n"},
        lambda n: (KEY, random(n)),
    ),
    "keys": (
        lambda keys: jax.vmap(lambda k: jax.random.normal(k, (2,)))(keys),
        {"keys": "n"},
        lambda n: (jax.random.split(KEY, n),),
    ),
    "size_as_data": (lambda x: (x.shape[0] * x, jnp.arange(x.shape[0])), N, lambda n: (random(n),)),
    "bfloat16": (lambda x, s: x * s, {"x": "n"}, lambda n: (jnp.asarray(random(n), jnp.bfloat16), 2.0)),
    "int8": (lambda x, s: x + s, {"x": "n"}, lambda n: (np.arange(n, dtype=np.int8), 3)),
    "float64_input": (lambda x: x.sum(), N, lambda n: (random(n).astype(np.float64),)),
    "bools": (lambda x, flag: jnp.where(flag, x, ~x), {"x": "n"}, lambda n: (random(n) > 0, True)),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_jax_jit(name) -> None:
    function, dims, arguments = CASES[name]
    ours, theirs = hlograph.jit(function, dims=dims), jax.jit(function)
    for n in SIZES:
        assert_same(ours(*arguments(n)), theirs(*arguments(n)), 2e-3 if n == 100 else 2e-4)
    assert ours.stats.traces == 1
    assert ours.stats.jax_calls == 0
    assert ours.stats.calls == len(SIZES)


# ---- arguments and results -------------------------------------------------------------------------------------------


class Point(NamedTuple):
    x: object
    y: object


@jax.tree_util.register_dataclass
@dataclass
class Model:
    weight: object
    layers: list


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda p: Point(p.y, p.x), (Point(random(4), random(4)),)),
        (lambda m: {"m": m, "s": m.weight.sum()}, (Model(random(4), [random(4), (random(4), None)]),)),
        (lambda x: None, (random(4),)),
        (lambda x: (x,), (random(4),)),
        (lambda x: [x], (random(4),)),
        (lambda x: ((x, x), [], {"a": x}), (random(4),)),
        (lambda x: (x, x), (random(4),)),
        (lambda x: (3, 1.5, True, np.ones(2), x), (random(4),)),
        (lambda x, y=2.0: x * y, (random(4),)),
        (lambda x, *rest: (x, rest), (random(4), random(3), 5)),
    ],
)
def test_pytrees_in_and_out(function, args) -> None:
    first = next(iter(inspect.signature(function).parameters))
    ours = hlograph.jit(function, dims={first: ("n",)})
    assert_same(ours(*args), jax.jit(function)(*args))
    assert ours.stats.jax_calls == 0


def test_keywords_defaults_and_order() -> None:
    def function(b, a, /, c=3.0, *, d=4.0, **rest):
        return b - 2 * a + 3 * c - 4 * d + sum(rest.values())

    ours = hlograph.jit(function, dims={"a": "n", "b": "n", "z": "n"})
    a, b = random(3), random(3, seed=1)
    for args, kwargs in [
        ((b, a), {}),
        ((b, a, 1.0), {}),
        ((b, a), {"c": 1.0}),
        ((b, a), {"d": 1.0, "c": 2.0}),
        ((b, a), {"z": a, "y": 2.0}),
    ]:
        assert_same(ours(*args, **kwargs), jax.jit(function)(*args, **kwargs))
    assert ours.stats.traces == 4  # `c` is one argument, however it is given


def test_static_arguments() -> None:
    def function(x, power, *, mode="sum", scale=1.0):
        return getattr(jnp, mode)(x**power) * scale

    ours = hlograph.jit(function, dims={"x": "n"}, static_argnums=1, static_argnames="mode")
    for args, kwargs in [((2,), {}), ((3,), {}), ((), {"power": 2}), ((2,), {"mode": "max", "scale": 2.0})]:
        assert_same(ours(random(4), *args, **kwargs), function(random(4), *args, **kwargs))
    assert ours.stats.traces == 3
    assert_same(ours(random(4), 2.0), function(random(4), 2.0))
    assert ours.stats.traces == 4  # 2 == 2.0, but another program


def test_as_a_decorator_and_as_a_method() -> None:
    class Scaler:
        @hlograph.jit(dims={"x": "n"}, static_argnames="self")
        def apply(self, x):
            """Doubles."""
            return 2 * x

    scaler = Scaler()
    assert_same(scaler.apply(random(3)), jnp.asarray(2 * random(3)))
    assert Scaler.apply.__doc__ == "Doubles."
    assert Scaler.apply.__name__ == "apply"
    assert "hlograph.jit apply" in repr(Scaler.apply)


def test_another_dtype_rank_or_fixed_size_is_another_trace() -> None:
    ours = hlograph.jit(lambda x, y: x * y.sum(), dims={"x": "n"})
    ours(random(3), random(2))
    ours(random(4), random(2))
    assert ours.stats.traces == 1
    ours(random(3), random(3))
    ours(random(3), random(3, 1))
    ours(random(3).astype(np.int32), random(3))
    assert ours.stats.traces == 4


def test_names_of_parts_of_a_pytree() -> None:
    ours = hlograph.jit(lambda batch: (batch["x"].sum(1), batch["m"]), dims={"batch": {"x": ("n", "m"), "m": None}})
    for n in (2, 3):
        batch = {"x": random(n, n + 1), "m": random(4)}
        assert_same(ours(batch), (jnp.asarray(batch["x"].sum(1)), jnp.asarray(batch["m"])))
    program = ours.program({"x": random(2, 2), "m": random(4)})
    assert [str(a) for a in program.signature.arguments] == ["batch.m: float32[4]", "batch.x: float32[n, m]"]
    assert ours.stats.traces == 1


def power(x, power):
    return x**power


def jitted(function=lambda x: x, /, dims=N, **options):
    return hlograph.jit(function, dims=dims, **options)


def pair():
    return jitted(lambda x, y: x + y, {"x": ("n", 2), "y": ("n", 2)})


# (error, what it says, what is refused)
REFUSED = [
    (ValueError, "Non-hashable static arguments", lambda: jitted(power, static_argnums=1)(random(4), [2])),
    (ValueError, "static_argnums has 4", lambda: jitted(power, static_argnums=4)),
    (ValueError, "static_argnames names 'moode'", lambda: jitted(power, static_argnames="moode")),
    (ValueError, "dims names 'power', which is static", lambda: jitted(power, {"power": "n"}, static_argnums=-1)),
    (ValueError, "dims names 'z', which is not a parameter of", lambda: jitted(dims={"z": "n"})),
    (TypeError, "missing a required argument", lambda: jitted(power)(random(3))),
    (TypeError, "no option 'static_args'", lambda: jitted(static_args=0)),
    (errors.GraphError, "no axis is named m", lambda: jitted(constraints=["m >= 2"])(random(3))),
    (errors.GraphError, r"^constraints: 'n >', column 3: expected '=='", lambda: jitted(constraints=["n >"])),
    (errors.OptionError, r"takes compiler_options only .* not with dims", lambda: jitted(compiler_options={"x": 1})),
    (errors.HlographError, "no device 'nonsense'", lambda: jitted(device="nonsense")),
    (
        errors.UnsupportedGraphError,
        "interpreted as an integer",
        lambda: jitted(lambda x: sum(x), policy="padded")(random(4)),
    ),
    (errors.UnsupportedGraphError, "interpreted as an integer", lambda: jitted(lambda x: sum(x)).program(random(5))),
    (
        errors.ArgumentShapeError,
        "'y', axis 0: expected size 3",
        lambda: pair()(random(3, 2), random(1, 2)),
    ),
    (errors.ArgumentShapeError, "'x', axis 1 says 2, but .* has 3", lambda: pair()(random(3, 3), random(3, 3))),
    (errors.ArgumentShapeError, "'x' has 2 entries, but .* has 1 axes", lambda: pair()(random(3), random(3))),
]


@pytest.mark.parametrize(("error", "said", "refused"), REFUSED, ids=[said for _, said, _ in REFUSED])
def test_what_is_refused_and_why(error, said, refused) -> None:
    with pytest.raises(error, match=said):
        refused()


# ---- what jax.jit runs -----------------------------------------------------------------------------------------------


def test_sizes_that_jaxs_symbolic_sizes_exclude() -> None:
    ours = hlograph.jit(lambda x: (x.sum(), x * 2, jnp.cumsum(x)), dims={"x": "n"})
    for n in (3, 0, 0, 4):
        assert_same(ours(random(n)), jax.jit(ours.__wrapped__)(random(n)))
    stats = ours.stats
    assert (stats.traces, stats.calls, stats.jax_calls) == (1, 2, 2)


def test_sizes_outside_the_constraints() -> None:
    ours = hlograph.jit(lambda x: x[0] / (x.shape[0] - 1), dims={"x": "n"}, constraints=["n >= 2"])
    assert_same(ours(random(3)), jnp.asarray(random(3)[0] / 2))
    assert jnp.isinf(ours(random(1)))
    assert ours.stats.jax_calls == 1


def test_a_function_that_jax_cannot_trace_falls_back_with_one_warning() -> None:
    with pytest.raises(KeyError, match="mine"):
        jitted(lambda x: {}["mine"])(random(3))

    def function(x):
        return sum(x)

    ours = hlograph.jit(function, dims={"x": "n"})
    with pytest.warns(
        RuntimeWarning, match="because JAX cannot trace 'function' .*cannot be interpreted as an integer"
    ) as caught:
        np.testing.assert_allclose(ours(random(5)), random(5).sum(), rtol=1e-5)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_allclose(ours(random(2)), random(2).sum(), rtol=1e-5)  # no second warning: it would be an error
    assert (ours.stats.traces, ours.stats.jax_calls) == (1, 2)


def test_a_closure_over_what_a_transformation_traces() -> None:
    def outer(scale):
        return hlograph.jit(lambda x: x * scale, dims={"x": "n"})(random(3)).sum()

    want = random(3).sum()
    np.testing.assert_allclose(jax.grad(outer)(2.0), want, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(outer)(2.0), 2 * want, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(outer)(jnp.arange(3.0)), np.arange(3) * want, rtol=1e-6)


# ---- options of jax.jit, and its calls -------------------------------------------------------------------------------


def test_calls_are_those_of_jax_jit_where_nothing_is_to_be_gained() -> None:
    ours = hlograph.jit(lambda x: {"a": x + 1})
    ours(random(3))
    assert isinstance(ours.__call__, JITTED)
    assert_same(ours(random(3)), {"a": jnp.asarray(random(3) + 1)})
    assert ours.stats.jax_calls == 1  # what is handed over is not counted
    jax.jit(ours)(random(3))
    assert isinstance(ours.__call__, JITTED)
    assert_same(ours(random(4)), {"a": jnp.asarray(random(4) + 1)})  # of another kind: the next call has a look
    assert not isinstance(ours.__call__, JITTED)
    assert_same(ours(random(4)), {"a": jnp.asarray(random(4) + 1)})
    assert ours.stats.jax_calls == 2
    assert "hlograph.jit" in repr(ours)
    ours.clear_cache()
    assert not isinstance(ours.__call__, JITTED)


def test_a_handed_over_function_comes_back_for_arguments_that_gain() -> None:
    def function(x):
        if x.ndim == 1:
            return x.sum()
        return (jax.lax.scan(lambda c, row: (c, jnp.sin(row)), 0.0, x)[1] ** 2).sum()

    ours = hlograph.jit(function)
    for _ in range(2):
        ours(random(8))
    for _ in range(3):
        np.testing.assert_allclose(ours(random(200, 8)), (np.sin(random(200, 8)) ** 2).sum(), rtol=1e-4)
        np.testing.assert_allclose(ours(random(8)), random(8).sum(), rtol=1e-5)
    assert ours.stats.calls == 2


def test_options_of_jax_jit() -> None:
    cpu = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
    x, want = random(5), jnp.asarray(random(5) * 2)
    for options in (
        {"donate_argnums": 0},
        {"donate_argnames": "x"},
        {"in_shardings": cpu},
        {"out_shardings": cpu},
        {"keep_unused": True},
        {"inline": True},
        {"compiler_options": {"xla_embed_ir_in_executable": True}},
        {"donate_argnums": None},
    ):
        assert_same(hlograph.jit(lambda x: x * 2, **options)(jnp.asarray(x)), want)
    donated = jnp.asarray(x)
    hlograph.jit(lambda x: x * 2, donate_argnums=0)(donated)
    assert donated.is_deleted()


def test_partials_and_methods() -> None:
    ours = hlograph.jit(functools.partial(lambda a, x, *, b: a * x + b, 2.0, b=1.0), dims={"x": "n"})
    for n in (3, 4):
        assert_same(ours(random(n)), jnp.asarray(2 * random(n) + 1))

    class Scaled:
        scale = 3.0

        def apply(self, x):
            return self.scale * x

    assert_same(hlograph.jit(Scaled().apply, dims={"x": "n"})(random(3)), jnp.asarray(3 * random(3)))


def loop(x, y):
    return lax.fori_loop(0, 3, lambda i, c: c * 0.5 + y, x)


TREES = {
    "arrays": (loop, lambda x, y: ((x, y), {})),
    "keywords": (loop, lambda x, y: ((), {"y": y, "x": x})),
    "a tree": (lambda p: {"b": loop(p["x"], p["y"]), "a": p["x"] * 2}, lambda x, y: (({"y": y, "x": x},), {})),
    "arrays to a tree": (lambda y, x: (loop(x, y), [x]), lambda x, y: ((y, x), {})),
}


@pytest.mark.parametrize("dims", [None, "named"])
@pytest.mark.parametrize("name", TREES)
def test_calls_with_known_arrays_are_as_others(name, dims) -> None:
    function, arguments = TREES[name]
    named = {"p": {"x": "n", "y": "n"}} if name == "a tree" else {"x": "n", "y": "n"}
    ours = hlograph.jit(function, dims=named if dims else None)
    theirs = jax.jit(function)
    arrays = [jnp.asarray(random(5, seed=seed)) for seed in range(2)]
    calls = 0

    def same(x, y):
        nonlocal calls
        args, kwargs = arguments(x, y)
        found, wanted = ours(*args, **kwargs), theirs(*args, **kwargs)
        calls += 1
        assert jax.tree.structure(found) == jax.tree.structure(wanted)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
            np.testing.assert_allclose(a, b, rtol=1e-6)

    for _ in range(20):
        same(*arrays)
    assert ours.__call__ != ours._call
    assert ours.stats.calls == calls
    same(arrays[1], arrays[0])
    same(*[np.asarray(x) for x in arrays])  # NumPy's
    same(*[jnp.asarray(random(7, seed=seed)) for seed in range(2)])  # other sizes
    same(*[x.astype(jnp.float16) for x in arrays])  # another dtype
    assert ours.stats.calls == calls
    with jax.enable_x64(True):
        same(*arrays)
        same(*[np.asarray(x, np.float64) for x in arrays])
    args, kwargs = arguments(*arrays)
    inside = jax.jit(lambda z: jax.tree.map(lambda a: a + z, ours(*args, **kwargs)))(1.0)  # arrays while JAX traces
    np.testing.assert_allclose(jax.tree.leaves(inside)[0], jax.tree.leaves(theirs(*args, **kwargs))[0] + 1, rtol=1e-6)
    arrays[0].delete()
    with pytest.raises(RuntimeError, match="deleted"):
        ours(*args, **kwargs)


def test_a_recognized_function_can_be_cleared_and_is_freed() -> None:
    ours = hlograph.jit(loop)
    x = jnp.asarray(random(5))
    for _ in range(20):
        ours(x, x)
    ours.clear_cache()
    assert ours.__call__ == ours._call
    assert ours.stats.calls == 0
    assert_same(ours(x, x), loop(x, x))
