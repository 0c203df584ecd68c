"""`optimize=` where programs are compiled: every executable's module goes through the passes, whoever made it.

The rewrite below makes a cosine of every sine: wrong, and therefore seen in the results.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph
from hlograph.codegen.passes.rewriting import REWRITES
from hlograph.passes import rewrite, stablehlo

X = np.linspace(0.0, 2.0, 7)


@pytest.fixture(autouse=True)
def cosine_for_sine():
    @rewrite("stablehlo.sine", exact=True)
    def cosine_for_sine(op):
        """sin(x) becomes cos(x)."""
        return stablehlo.cosine(op.operands[0])

    yield
    del REWRITES["cosine_for_sine"]


def sine_graph():
    x = pt.vector("x")
    return [x], pt.sin(x)


OPTIONS = {"optimize": ["cosine_for_sine"]}


X32 = X.astype(np.float32)
STACK = np.stack([X, X + 1])


def compiled(**options):
    return hlograph.function(*sine_graph(), **options)


def derivative(**options):
    x = pt.vector("x")
    return jax.grad(hlograph.function([x], pt.cos(x).sum(), **options))  # -sin


def powers(**options):
    fn = hlograph.jit(lambda x, power: jnp.sin(x) ** power, static_argnames="power", **options)
    return lambda x: jnp.stack([fn(x, power=1), fn(x, power=2) / fn(x, power=1)])[1]


# What a program or a function is called by: made with options, a call with it, and the argument.
ROUTES = {
    "exact": (lambda **options: compiled(policy="exact", **options), X),
    "padded": (lambda **options: compiled(policy="padded", **options), X),
    "in jax.jit": (lambda **options: jax.jit(compiled(**options)), X),
    "in jax.vmap": (lambda **options: jax.vmap(compiled(**options)), STACK),
    "derivatives": (lambda **options: lambda x: -derivative(**options)(x), X),
    "the PyTensor mode": (lambda **options: pytensor.function(*sine_graph(), mode=hlograph.Mode(**options)), X),
    "jit, named sizes": (lambda **options: hlograph.jit(jnp.sin, dims={"x": ("n",)}, **options), X32),
    "jit, static shapes": (lambda **options: hlograph.jit(jnp.sin, **options), X32),
    "jit, static arguments": (powers, X32 + 0.5),
    "jit in jax.vmap": (lambda **options: jax.vmap(hlograph.jit(jnp.sin, **options)), STACK.astype(np.float32)),
    "jit in jax.jit": (lambda **options: jax.jit(jax.vmap(hlograph.jit(jnp.sin, **options))), X32),
}


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_goes_through_the_passes(route):
    make, x = ROUTES[route]
    with jax.enable_x64(x.dtype == np.float64):
        for options, expected in ((OPTIONS, np.cos), ({}, np.sin), ({"optimize": "none"}, np.sin)):
            assert_close(make(**options)(x), expected(x), 1e-12 if x.dtype == np.float64 else 1e-5)


def test_the_program_stays_as_it_is():
    program = hlograph.emit_stablehlo(sine_graph(), dims={"x": (7,)})
    text = program.text
    assert_close(program.compile(**OPTIONS)(X), np.cos(X))
    assert program.text == text
    assert_close(program.compile()(X), np.sin(X))


class TestJit:
    def test_where_passes_find_nothing_jax_runs_the_function(self):
        for function, counts in ((jnp.exp, (0, 1)), (jnp.sin, (1, 0))):
            fn = hlograph.jit(function, **OPTIONS)
            assert fn(X32).shape == X32.shape
            assert (fn.stats.traces, fn.stats.jax_calls) == counts

    def test_a_default_rewrite_of_ones_own_counts_for_short_functions_too(self):
        try:
            rewrite("stablehlo.tanh", name="sine_for_tanh", default=True)(lambda op: stablehlo.sine(op.operands[0]))
            assert_close(hlograph.jit(jnp.tanh)(X.astype(np.float32)), np.sin(X), 1e-6)
        finally:
            del REWRITES["sine_for_tanh"]

    def test_side_effects_stay_with_jax(self):
        seen = []

        def function(x):
            jax.debug.callback(seen.append, x.sum())
            return jnp.sin(x)

        fn = hlograph.jit(function, **OPTIONS)
        assert_close(fn(X.astype(np.float32)), np.sin(X), 1e-6)
        jax.effects_barrier()
        assert len(seen) == 1
        assert fn.stats.jax_calls == 1

    def test_lower(self):
        fn = hlograph.jit(lambda x, y: jnp.sin(x) + y, **OPTIONS)
        assert "cosine" in fn.lower(np.ones(4, np.float32), y=np.float32(1)).compile().as_text()
        plain = hlograph.jit(jnp.exp).lower(np.ones(4, np.float32))
        assert "exponential" in plain.compile().as_text()


def assert_close(found, want, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(found), want, rtol=rtol, atol=rtol)
