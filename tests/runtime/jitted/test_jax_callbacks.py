"""Python that a function with named sizes calls: it gets the live part, as often and in that order as in `jax.jit`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

import hlograph

DIMS = {"x": ("n",)}
SEEN: list[Any] = []


def note(*values: Any) -> None:
    SEEN.append([np.asarray(value).tolist() for value in values])


def observed(x: Any) -> Any:
    """In an order: one, one in a loop, one in a branch."""
    jax.debug.callback(note, x, x.sum(), ordered=True)

    def step(total: Any, value: Any) -> Any:
        jax.debug.callback(note, value, ordered=True)
        return total + value, total

    last, totals = lax.scan(step, jnp.zeros((), x.dtype), x)
    lax.cond(last > 5, lambda: jax.debug.callback(note, last, ordered=True), lambda: None)
    return jnp.sin(totals)


def computed(x: Any) -> Any:
    """Results with the sizes of operands, with other sizes, and with none."""
    double = jax.ShapeDtypeStruct((2 * x.shape[0],), x.dtype)
    twice = jax.pure_callback(lambda v: np.tile(np.asarray(v), 2), double, x, vmap_method="sequential")
    count = io_callback(lambda v: np.int32(len(v)), jax.ShapeDtypeStruct((), jnp.int32), x, ordered=True)
    return twice * count


def number(x: Any) -> Any:
    jax.debug.callback(note, x)
    return jnp.sum(jnp.sin(x))


WAYS: dict[str, Callable[[Callable[..., Any], Any], Any]] = {
    "called": lambda f, x: f(x),
    "in a jit": lambda f, x: jax.jit(f)(x),
    "in a jit that has no use for it": lambda f, x: jax.jit(lambda x: (f(x), x)[1])(x),
    "in a scan": lambda f, x: lax.scan(lambda c, _: (c + f(x).sum(), c), 0.0, None, length=2),
    "in a batch": lambda f, x: jax.vmap(f)(jnp.stack([x, x + 1])),
    "in reverse": lambda f, x: jax.vjp(f, x)[1](f(x)),
    "in a gradient": lambda f, x: jax.value_and_grad(lambda x: f(x).sum())(x),
    "in a jitted gradient": lambda f, x: jax.jit(jax.grad(lambda x: f(x).sum()))(x),
}
CASES = {
    "observed": (observed, ("called", "in a jit", "in a jit that has no use for it", "in reverse")),
    "computed": (computed, ("called", "in a jit")),
    "number": (number, tuple(WAYS)),
}


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("name", CASES)
def test_python_is_called_as_under_jax_jit(name: str, policy: str) -> None:
    function, ways = CASES[name]
    fast = hlograph.jit(function, dims=DIMS, policy=policy)
    for way in ways:
        for size in (3, 1) if policy == "padded" else (4,):
            x, found = jnp.arange(1.0, size + 1), []
            for jitted in (jax.jit(function), fast):
                SEEN.clear()
                results = jax.block_until_ready(WAYS[way](jitted, x))
                jax.effects_barrier()
                found.append((results, list(SEEN)))
            assert found[0][1] == found[1][1], way
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found[0][0], found[1][0])
    assert (fast.stats.traces, fast.stats.jax_calls) == (1, 0)


def test_a_function_without_results_is_run_by_jax_or_refused() -> None:
    """JAX compiles nothing of what has no results, so a program of it would call nobody."""
    seen: list[int] = []

    def tell(x: Any) -> None:
        jax.debug.callback(lambda value: seen.append(len(value)), jnp.sin(x))

    with pytest.raises(hlograph.errors.UnsupportedGraphError, match="'tell' calls Python and returns nothing"):
        hlograph.jit(tell, dims={"x": ("n",)}, policy="padded")(jnp.ones(3))
    exact = hlograph.jit(tell, dims={"x": ("n",)}, policy="exact")
    with pytest.warns(RuntimeWarning, match="returns nothing"):
        exact(jnp.ones(3))
    exact(jnp.ones(5))
    jax.effects_barrier()
    assert seen == [3, 5]


def test_prints_have_no_padding(capfd: pytest.CaptureFixture[str]) -> None:
    def printing(x: Any) -> Any:
        jax.debug.print("x = {x}, {total}", x=x, total=x.sum())
        return x * 2

    fast = hlograph.jit(printing, dims=DIMS, policy="padded")
    fast(jnp.arange(3.0)), fast(jnp.arange(2.0))
    assert capfd.readouterr().out == "x = [0. 1. 2.], 3.0\nx = [0. 1.], 1.0\n"
    assert "jax.debug.print('x = {x}, {total}') at test_jax_callbacks.py" in str(hlograph.explain(fast, jnp.ones(3)))


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_errors_that_depend_on_values_come_out_as_they_are(policy: str) -> None:
    """As `equinox.error_if` does it: Python in a branch, whose result goes on."""

    class Negative(ValueError):
        pass

    def refuse(values: Any) -> Any:
        raise Negative(f"{np.asarray(values).min()} of {len(values)}")

    def root(x: Any) -> Any:
        spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jnp.sqrt(lax.cond((x < 0).any(), lambda: jax.pure_callback(refuse, spec, x), lambda: x)).sum()

    fast = hlograph.jit(root, dims=DIMS, policy=policy)
    for size in (2, 5):
        np.testing.assert_allclose(fast(jnp.ones(size)), size)
        with pytest.raises(Negative, match=f"-1.0 of {size}") as caught:
            fast(-jnp.ones(size))
        assert "jax.pure_callback(refuse) at test_jax_callbacks.py" in caught.value.__notes__[0]


def test_what_libraries_do_with_sizes_is_shared() -> None:
    """`isinstance`, a scan of so many steps, and values that are to be known at once where they can be."""

    def walk(x: Any) -> Any:
        steps = x.shape[0]
        assert isinstance(steps, int)
        assert steps > 0
        with jax.ensure_compile_time_eval():
            half = float(jnp.sqrt(jnp.asarray(0.25)))
            places = jnp.arange(steps) + jnp.zeros(steps) + x[-1]
        return lax.scan(lambda c, a: (c * half + a, c), x.sum(), places, length=steps)

    fast = hlograph.jit(walk, dims=DIMS, policy="padded")
    for size in (1, 4, 9):
        x = jnp.arange(1.0, size + 1)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), fast(x), jax.jit(walk)(x))
    assert (fast.stats.traces, fast.stats.compiles) == (1, 1)
    two = hlograph.jit(
        lambda x, y: lax.scan(lambda c, a: (c + a, c), 0.0, x, length=y.shape[0]), dims={"x": "n", "y": "m"}
    )
    np.testing.assert_allclose(two(jnp.ones(4), jnp.ones(4))[1], np.arange(4))
    with pytest.raises(ValueError, match="length"):
        two(jnp.ones(4), jnp.ones(3))
