"""What JAX says of a mistake in a function that hlograph traces, batches or differentiates: the user's names and file.

In: mistakes that are made every day. Out: messages that name the argument and the line, and nothing of ours.
"""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph
import hlograph.pytensor

OURS = ("values[", "args[", "a0", "flat", "/dialects/", "/runtime/", "/codegen/")
X, W = np.ones(4, np.float32), {"w": np.ones(4, np.float32)}


def decides(p: Any, x: Any) -> Any:
    return x if (p["w"] * x).sum() > 0 else -x


def to_float(p: Any, x: Any) -> Any:
    return float((p["w"] * x).sum())


def by_numpy(p: Any, x: Any) -> Any:
    return np.sin(p["w"]) + x


def as_index(p: Any, x: Any) -> Any:
    return [1, 2, 3][(p["w"] * x).sum().astype(int)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("how", ["jit", "grad", "vmap", "scan", "cond"])
@pytest.mark.parametrize("function", [decides, to_float, by_numpy, as_index])
def test_a_value_that_is_not_known_is_blamed_on_the_argument(function, how):
    jitted = hlograph.jit(function, dims={"x": ("n",)}, policy="padded")
    calls: dict[str, Callable[[], Any]] = {
        "jit": lambda: jitted(W, X),
        "grad": lambda: jax.grad(jitted, argnums=1)(W, X),
        "vmap": lambda: jax.vmap(jitted, in_axes=(None, 0))(W, X[None]),
        "scan": lambda: jax.lax.scan(lambda c, _: (jitted(W, c), None), jnp.asarray(X), None, length=2),
        "cond": lambda: jax.lax.cond(True, lambda c: jitted(W, c), lambda c: c, jnp.asarray(X)),
    }
    with pytest.raises(jax.errors.JAXTypeError) as caught:
        calls[how]()
    text, (_, line) = str(caught.value), inspect.getsourcelines(function)
    assert f"{function.__name__} at {__file__}:{line}" in text
    assert "p['w']" in text
    assert "constraints=" not in text, "no constraint on sizes helps"
    assert not any(ours in text.replace(__file__, "") for ours in OURS), text


def test_a_tracer_that_escapes_names_the_function_it_came_from():
    kept = []

    def leaking(x: Any) -> Any:
        kept.append(x * 2)
        return x

    hlograph.jit(leaking, dims={"x": ("n",)})(X)
    with pytest.raises(jax.errors.UnexpectedTracerError) as caught:
        kept[0] + 1
    assert f"leaking at {__file__}" in str(caught.value)
    assert "/dialects/" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: f(W), r"scaled\(\): missing a required argument: 'x'"),
        (lambda f: f(W, X, X), r"scaled\(\): too many positional arguments"),
        (lambda f: f(W, X, y=1), r"scaled\(\): got an unexpected keyword argument 'y'"),
        (lambda f: f(W, "a"), "type <class 'str'> .* path x"),
        (lambda f: f({"w": object()}, X), r"type <class 'object'> .* path p\['w'\]"),
        (lambda f: f(W, [1.0, 2.0]), "dims of 'x' has 1 entries, .* takes a list apart: make an array of it"),
        (lambda f: f(W, X[None]), "dims of 'x' has 1 entries, but the argument has 2 axes"),
        (lambda f: f(W, X[1:]), "argument 'x', axis 0: expected size 4 = n .*'p.w', axis 0.*, got 3"),
        (lambda f: f({"v": X}, X), "there is no p.w in the argument"),
        (lambda f: jax.grad(f, 1)(W, X[1:]), "argument 'x', axis 0: expected size 4 = n .*'p.w', axis 0.*, got 3"),
        (lambda f: jax.vmap(f)({"w": X[None]}, X[None, 1:]), "argument 'x', axis 0: expected size 4 = n .* got 3"),
    ],
)
def test_arguments_that_do_not_fit_are_named_by_their_path(call, text):
    def scaled(p: Any, x: Any) -> Any:
        return (p["w"] * x).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((TypeError, ValueError), match=text):
            call(hlograph.jit(scaled, dims={"p": {"w": ("n",)}, "x": ("n",)}))


@pytest.fixture(scope="module", params=["function", "mode"])
def distance(request) -> Any:
    rows, beta = pt.dmatrix("rows"), pt.dvector("beta")
    result = ((rows @ beta) ** 2).sum()
    if request.param == "mode":
        return pytensor.function([rows, beta], result, mode="STABLEHLO")
    return hlograph.function([rows, beta], result, name="distance")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f, a, b: jax.grad(f, 1)(a, b.astype("f")), "argument 'beta': expected dtype float64, got float32"),
        (lambda f, a, b: jax.grad(f, 1)(a, a), "argument 'beta': expected 1 axes"),
        (lambda f, a, b: jax.jit(f)(a, np.ones(5)), "beta_0 = 5, rows_1 = 2 .* argument 'rows', axis 1"),
        (lambda f, a, b: jax.jit(f)(a, "a"), "type <class 'str'> .* path beta"),
        (lambda f, a, b: jax.jit(f)(a, None), "argument 'beta': expected an array .* got NoneType"),
        (lambda f, a, b: jax.grad(f)(a), "[mM]issing.* '?beta"),
        (lambda f, a, b: jax.vmap(f)(a[None], np.ones((2, 2))), "axis 0 of argument beta of type float64"),
        (lambda f, a, b: jax.vmap(f, (None, 0))(a, b), "argument 'beta': expected 1 axes .* got 0"),
        (
            lambda f, a, b: jax.lax.scan(lambda c, _: (c, f(a, c)), jnp.ones(2, "f"), None, length=2),
            "argument 'beta': expected dtype float64, got float32",
        ),
    ],
)
def test_graphs_name_their_arguments_in_every_transformation(distance, call, text):
    with jax.enable_x64(True), pytest.raises((TypeError, ValueError), match=text):
        call(distance, np.ones((3, 2)), np.ones(2))


def test_the_mode_takes_lists_of_tracers_and_shows_its_inputs(distance):
    rows = np.array([[1.0, 2.0], [0.5, -1.0]])
    with jax.enable_x64(True):
        found = jax.grad(lambda t: distance(rows, beta=[t, 1.0]))(3.0)
    np.testing.assert_allclose(found, 2 * (rows @ [3.0, 1.0]) @ rows[:, 0])
    assert list(inspect.signature(distance).parameters) == ["rows", "beta"]
