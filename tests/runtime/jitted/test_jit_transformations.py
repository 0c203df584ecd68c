"""`hlograph.jit`, and graphs, under JAX's transformations: the numbers of `jax.jit`, from programs for all sizes."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import MODELS
from jax import lax
from trees import assert_same, random

import hlograph
from hlograph.runtime.transforms.primitive import stablehlo_call

LENGTHS = (3, 7, 12, 20, 33, 40)


def rnn(w, xs):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h

    return lax.scan(step, jnp.zeros(w.shape[0]), xs)[1]


def loss(w, xs):
    return jnp.mean(rnn(w, xs) ** 2)


GRADIENT = jax.jit(jax.grad(loss))  # of JAX: jitted, it compiles once for a length, and not once for each op


def loss_and_more(w, xs):
    states = rnn(w, xs)
    return {"loss": jnp.mean(states**2), "states": states, "count": xs.shape[0] * jnp.ones((), jnp.int32)}


def decides(w, xs):
    total = (xs @ w).sum()
    return total if xs.shape[0] % 2 else jnp.sin(total) * xs.shape[0]


def masked(w, xs):
    return jnp.where(xs @ w > 0, jnp.cumsum(xs @ w, axis=0), 0.0).max(axis=0)


def with_own_rule(w, xs):
    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))
    return (clipped(xs @ w) ** 2).sum()


FUNCTIONS = [rnn, loss, loss_and_more, decides, masked, with_own_rule]


def total(function):
    """A number made of all results that are no integers."""

    def summed(*args):
        leaves = jax.tree.leaves(function(*args))
        return sum(jnp.sum(x * x) for x in leaves if jnp.issubdtype(x.dtype, jnp.inexact))

    return summed


# name -> from a function of (w, xs) to a function of (w, xs)
TRANSFORMED = {
    "jit": lambda f: jax.jit(f),
    "grad": lambda f: jax.grad(total(f), (0, 1)),
    "grad of a multiple": lambda f: jax.grad(lambda *args: jnp.sin(-3 * total(f)(*args) / 100)),
    "jit of value_and_grad": lambda f: jax.jit(jax.value_and_grad(total(f), (0, 1))),
    "grad of jit": lambda f: jax.grad(jax.jit(total(f))),
    "jvp": lambda f: lambda w, xs: jax.jvp(f, (w, xs), (w * 0.5, xs + 1)),
    "vmap": lambda f: lambda w, xs: jax.vmap(f, (None, 0))(w, jnp.stack([xs, 2 * xs])),
    "vmap of the last axis": lambda f: lambda w, xs: jax.vmap(f, (-1, None))(jnp.stack([w, -w, w + 1], -1), xs),
    "vmap of grad": lambda f: lambda w, xs: jax.vmap(jax.grad(total(f)), (0, None))(jnp.stack([w, -w]), xs),
    "vmap of grad, out_axes": lambda f: (
        lambda w, xs: jax.vmap(jax.grad(total(f)), (0, None), out_axes=-1)(jnp.stack([w, -w]), xs)
    ),
    "vmap of vmap": lambda f: (
        lambda w, xs: jax.vmap(jax.vmap(f, (None, 0)), (0, None))(jnp.stack([w, -w]), jnp.stack([xs, 2 * xs]))
    ),
    "vmap of hessian, jitted": lambda f: (
        lambda w, xs: jax.jit(jax.vmap(jax.hessian(total(f)), (0, None)))(jnp.stack([w, -w]), xs)
    ),
    "lax.map": lambda f: lambda w, xs: lax.map(lambda x: f(w, x), jnp.stack([xs, 2 * xs])),
    "grad of vmap": lambda f: jax.grad(lambda w, xs: total(jax.vmap(f, (None, 0)))(w, jnp.stack([xs, 2 * xs]))),
    "jvp of grad": lambda f: lambda w, xs: jax.jvp(lambda w: jax.grad(total(f))(w, xs), (w,), (w,)),
    "hessian": lambda f: jax.hessian(total(f)),
    "jacfwd of jacrev, jitted": lambda f: jax.jit(jax.jacfwd(jax.jacrev(total(f), 1), 0)),
    "jacrev of jacfwd": lambda f: jax.jacrev(jax.jacfwd(total(f))),
    "grad of grad": lambda f: jax.grad(lambda w, xs: jax.grad(total(f))(w, xs).sum()),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(total(f))),
    "in a scan": lambda f: lambda w, xs: lax.scan(lambda c, s: (c + total(f)(w, s * xs), c), 0.0, jnp.arange(3.0))[0],
}


@pytest.mark.sampled(32)
@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_transformed_it_gives_what_jax_does(function, transform) -> None:
    if function is with_own_rule and transform in ("jvp", "jacrev of jacfwd"):
        pytest.skip("JAX pushes nothing forward through a rule for the pullback")
    ours = hlograph.jit(function, dims={"w": None, "xs": ("t", 4)})
    w = random(4, 4, seed=1) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for length in LENGTHS[:3]:
            xs = random(length, 4, seed=length)
            assert_same(TRANSFORMED[transform](ours)(w, xs), jax.jit(TRANSFORMED[transform](function))(w, xs))
    assert ours.stats.jax_calls == 0


def of_two(function, data, places):
    """A function of the arguments at two places, with data at the others."""
    return lambda *given: function(*[dict(zip(places, given, strict=True)).get(i, x) for i, x in enumerate(data)])


@pytest.mark.sampled(24)
@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize(
    ("model", "places"),
    [("logistic", (2, 0)), ("schools", (4, 2)), ("mlp", (4, 2)), ("gaussian process", (2, 0))],
)
def test_transformed_a_graph_gives_what_its_formula_does(model, places, transform) -> None:
    data, function = MODELS[model].data(), MODELS[model].function()
    with jax.enable_x64(True):
        two = [of_two(f, data, places) for f in (function, MODELS[model].value)]
        assert_same(*[TRANSFORMED[transform](f)(*[data[place] for place in places]) for f in two], 1e-9)
    assert not function.derived.loops


def calls_of(jaxpr):
    """The names of what is called by the primitive, in order."""
    return [str(e.params["callee"]) for e in jaxpr.eqns if e.primitive is stablehlo_call]


def test_a_gradient_of_many_lengths_compiles_once_for_each_bucket() -> None:
    ours = hlograph.jit(loss, dims={"xs": ("t", 4)}, policy="padded")
    w = random(4, 4)
    lengths = (1, 2, 9, 16, 17, 23, 24, 25, 32, 33, 39)
    for length in lengths:
        xs = random(length, 4)
        assert_same(jax.grad(ours)(w, xs), GRADIENT(w, xs))
    (function,) = ours.functions
    (gradient,) = function.derived
    assert (gradient.stats.calls, gradient.stats.compiles) == (len(lengths), 2)  # 16, 96
    assert function.stats.compiles == 0  # the value comes with it


def test_a_batch_of_many_lengths_and_sizes_compiles_once_for_each_bucket() -> None:
    ours = hlograph.jit(loss, dims={"xs": ("t", 4)}, policy="padded")
    w = random(4, 4)
    for length, count in [(3, 1), (5, 2), (9, 7), (16, 16), (17, 16), (20, 3)]:
        xs = random(count, length, 4)
        assert_same(jax.vmap(ours, (None, 0))(w, xs), jax.jit(jax.vmap(loss, (None, 0)))(w, xs))
    (function,) = ours.functions
    (batched,) = function.derived
    assert batched.stats.compiles == 2  # lengths to 16 and to 24, with batches to 16


def test_an_empty_batch_is_jaxs() -> None:
    ours = hlograph.jit(loss, dims={"xs": ("t", 4)})
    assert jax.vmap(ours, (None, 0))(random(4, 4), random(0, 3, 4)).shape == (0,)


def test_passes_run_on_what_goes_into_somebody_elses_jit() -> None:
    """JAX keeps the scan's stack; the program has the sum inside the loop."""
    w, xs = random(8, 8), random(4096, 8)
    ours = hlograph.jit(lambda w, xs: jnp.sum(rnn(w, xs)))
    theirs = jax.jit(lambda w, xs: 2 * jnp.sum(rnn(w, xs))).lower(w, xs).compile()
    mixed = jax.jit(lambda w, xs: 2 * ours(w, xs)).lower(w, xs).compile()
    stack = xs.nbytes
    assert theirs.memory_analysis().temp_size_in_bytes >= stack
    assert mixed.memory_analysis().temp_size_in_bytes < stack / 8
    np.testing.assert_allclose(mixed(w, xs), theirs(w, xs), rtol=1e-4)


def test_the_gradient_of_a_number_is_one_call() -> None:
    ours = hlograph.jit(loss, dims={"xs": ("t", 4)})
    w, xs = random(4, 4), random(5, 4)
    assert calls_of(jax.make_jaxpr(jax.value_and_grad(ours))(w, xs)) == ["loss_grad"]
    assert calls_of(jax.make_jaxpr(jax.grad(ours, (0, 1)))(w, xs)) == ["loss_grad"]


def test_inside_jit_other_derivatives_share_what_the_function_computed() -> None:
    ours = hlograph.jit(rnn, dims={"xs": ("t", 4)})
    w, xs = random(4, 4), random(5, 4)
    assert calls_of(jax.make_jaxpr(jax.grad(total(ours)))(w, xs)) == []
    assert calls_of(jax.make_jaxpr(ours)(w, xs)) == ["rnn"]


def test_unless_the_function_is_long() -> None:
    def unrolled(w, xs):
        h = xs[0]
        for _ in range(200):
            h = jnp.tanh(h @ w + xs[0])
        return h

    ours = hlograph.jit(unrolled)
    w, xs = random(4, 4) / 2, random(3, 4)
    assert calls_of(jax.make_jaxpr(jax.grad(total(ours)))(w, xs)) == ["unrolled", "unrolled_vjp"]
    assert_same(jax.grad(total(ours))(w, xs), jax.grad(total(unrolled))(w, xs))


def test_random_keys_integers_and_booleans() -> None:
    def function(key, x, count, flags):
        noise = jax.random.normal(key, x.shape)
        return jnp.where(flags, x * count + noise, x**2), count + 1, jax.random.split(key)

    ours = hlograph.jit(function, dims={"x": "n", "flags": "n"})
    for length in (3, 6):
        args = (jax.random.key(3), random(length), np.int32(4), random(length) > 0)
        theirs = jax.jit(function)
        assert_same(jax.jit(lambda *a: ours(*a)[:2])(*args), theirs(*args)[:2])
        summed = [jax.grad(lambda x, f=f, a=args: f(a[0], x, *a[2:])[0].sum()) for f in (ours, theirs)]
        assert_same(*[f(args[1]) for f in summed])
        keys = jax.random.split(jax.random.key(7), 5)
        batches = [jax.vmap(f, (0, None, None, None)) for f in (ours, theirs)]
        assert_same(*[f(keys, *args[1:])[0] for f in batches])


def test_complex_numbers_by_jaxs_conventions() -> None:
    def function(z, x):
        return jnp.abs(z * x).sum(), z**2 * x

    ours = hlograph.jit(function, dims={"z": "n", "x": "n"})
    z, x = (random(5) + 1j * random(5, seed=1)).astype(np.complex64), random(5, seed=2)
    assert_same(jax.grad(lambda z: ours(z, x)[0])(z), jax.grad(lambda z: function(z, x)[0])(z))
    (_, ours_pull), (_, pull) = jax.vjp(ours, z, x), jax.vjp(function, z, x)
    assert_same(ours_pull((jnp.float32(2), z)), pull((jnp.float32(2), z)))


def test_in_x64_mode() -> None:
    with jax.enable_x64(True):
        ours = hlograph.jit(loss, dims={"xs": ("t", 4)})
        w, xs = random(4, 4).astype(float), random(6, 4).astype(float)
        assert_same(jax.grad(ours)(w, xs), GRADIENT(w, xs), 1e-12)
        assert_same(jax.hessian(ours)(w, xs), jax.jit(jax.hessian(loss))(w, xs), 1e-10)
        assert_same(jax.grad(ours)(w.astype(np.float32), xs), GRADIENT(w.astype(np.float32), xs), 1e-6)


def test_what_a_derivative_asks_of_sizes_beyond_the_function_is_jaxs() -> None:
    """The rule of the derivative decides by the size; nothing would check that for other sizes."""

    @jax.custom_jvp
    def sine(x):
        return jnp.sin(x)

    @sine.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return sine(x), t * (jnp.cos(x) if x.shape[0] == 4 else 2 * jnp.cos(x))

    ours = hlograph.jit(lambda x: sine(x).sum(), dims={"x": "n"})
    for n in (4, 5, 4, 6):
        x = random(n)
        assert_same(jax.grad(ours)(x), np.cos(x) if n == 4 else 2 * np.cos(x))
    assert "by JAX from the function" in str(hlograph.explain(ours, random(4)))


def test_a_jitted_function_in_another_is_part_of_its_program() -> None:
    inner = hlograph.jit(rnn, dims={"xs": ("t", 4)})
    outer = hlograph.jit(lambda w, xs: (inner(w, xs) ** 2).mean(), dims={"xs": ("t", 4)})
    w = random(4, 4)
    for length in LENGTHS:
        value, gradient = jax.jit(jax.value_and_grad(loss))(w, random(length, 4))
        assert_same(outer(w, random(length, 4)), value)
        assert_same(jax.grad(outer)(w, random(length, 4)), gradient)
    assert not inner.functions


def test_axis_names_of_somebody_elses_vmap_and_shapes_of_an_export() -> None:
    def function(x):
        return x - lax.pmean(x.mean(), "i")

    xs = random(3, 5)
    assert_same(jax.vmap(hlograph.jit(function), axis_name="i")(xs), jax.vmap(function, axis_name="i")(xs))
    ours = hlograph.jit(lambda x: jnp.sin(x).sum(), dims={"x": "n"})
    ours(random(4))
    (size,) = jax.export.symbolic_shape("k")
    exported = jax.export.export(jax.jit(ours))(jax.ShapeDtypeStruct((size,), np.float32))
    for n in (2, 9):
        np.testing.assert_allclose(exported.call(random(n)), np.sin(random(n)).sum(), rtol=1e-5)


def test_a_saved_program_of_a_function_has_its_derivative(tmp_path) -> None:
    ours = hlograph.jit(loss, dims={"xs": ("t", 4)})
    w = random(4, 4)
    path = ours.program(w, random(3, 4)).save(tmp_path / "loss.mlir", derivatives=1)
    loaded = hlograph.load(path).compile()
    for length in (3, 8):
        assert_same(jax.grad(loaded)(w, random(length, 4)), GRADIENT(w, random(length, 4)))


def vectors(x):
    return jnp.linalg.eigh(x + x.T.conj())


def factors(x):
    return jnp.linalg.qr(x), jnp.linalg.svd(x)


def rounded(x):
    """The value that its rule has is another one."""

    @jax.custom_vjp
    def straight(x):
        return jnp.round(x)

    straight.defvjp(lambda x: (x + 0.25, x), lambda x, g: (g * x,))
    return straight(x * 3)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", [vectors, factors, rounded])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_derivatives_of_results_that_are_open(function, dtype) -> None:
    """Cotangents made of the results, as by a sum of cubes, belong to these results and no others."""
    ours = hlograph.jit(function, dims={"x": ("n", "n")})

    def cubes(f):
        return lambda x: sum(jnp.sum(jnp.real(y) ** 3) for y in jax.tree.leaves(f(x)))

    for n in (3, 5):
        x = random(n, n, seed=n).astype(dtype)
        if dtype == "complex64":
            if function is not vectors:
                continue
            x = x + 1j * random(n, n, seed=n + 1)
        assert_same(jax.grad(cubes(ours))(x), jax.jit(jax.grad(cubes(function)))(x), 1e-3)


def test_a_loss_is_scaled_against_underflow() -> None:
    """In float16 the gradient of what is not scaled is 0."""

    def tiny(x):
        return jnp.sum((x.astype(jnp.float16) * jnp.float16(1e-3)) ** 2).astype(jnp.float32)

    ours = hlograph.jit(tiny, dims={"x": "n"})
    x = np.full(5, 1e-2, np.float32)
    scaled = [jax.grad(lambda x, f=f: 2.0**14 * f(x))(x) for f in (ours, jax.jit(tiny))]
    assert np.all(np.asarray(scaled[1]) > 0)
    assert_same(*scaled, 1e-3)
