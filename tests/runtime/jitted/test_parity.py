"""What `jax.jit` has and does, in one table: each entry gives the same with `hlograph.jit`, named sizes or not."""

import copy
import functools
import inspect
import re
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from jax.experimental import checkify

import hlograph
from hlograph.errors import OptionError

X = jnp.arange(1.0, 7.0)
SPEC = jax.ShapeDtypeStruct(X.shape, X.dtype)
ONE = jax.sharding.SingleDeviceSharding(jax.devices()[0])
Make = Callable[..., Any]


def sine(x: Any) -> Any:
    """Of x, doubled."""
    return jnp.sin(x) * 2


def scoped(x: Any) -> Any:
    with jax.named_scope("my_scope"):
        x = jnp.sin(x) * x
    return jax.named_call(jnp.cos, name="my_call")(x)


def scaled(x: Any, k: int) -> Any:
    return x * k


def within(context: Any, run: Callable[[], Any]) -> Any:
    with context:
        return run()


def called_before(jit: Make, function: Callable[..., Any], context: Any) -> Any:
    """The results of calls before and in a context, which another trace belongs to."""
    jitted = jit(function)
    before = jitted(X)
    for _ in range(20):
        jitted(X)
    return before, within(context, lambda: jitted(X))


def is_traced(jit: Make) -> list[bool]:
    seen: list[bool] = []
    jitted = jit(lambda x: (seen.append(isinstance(x, jax.core.Tracer)), x * 2)[1])
    for _ in range(20):
        jitted(X)
    seen.clear()
    within(jax.disable_jit(), lambda: jitted(X))
    return seen


def precision(jit: Make) -> Any:
    jitted = jit(lambda x: x[:, None] @ x[None])
    texts = [jitted.lower(X).as_text()]
    with jax.default_matmul_precision("highest"):
        texts.append(jitted.lower(X).as_text())
    return ["HIGHEST" in text for text in texts]


def donated(jit: Make, **options: Any) -> Any:
    step = jit(lambda p, x: {"w": p["w"] + x.sum(), "b": p["b"] * 2}, **options)
    p = {"w": jnp.ones(3), "b": jnp.ones(2)}
    results = []
    for size in (2, 3, 4):
        given, p = p, step(p, X[:size])
        results.append((p["w"] + 0, [x.is_deleted() for x in jax.tree.leaves(given)]))
    return results


def op_names(text: str) -> set[str]:
    return {name for name in ("my_scope", "my_call") if re.search(rf'op_name="[^"]*{name}', text)}


TABLE: dict[str, Callable[[Make], Any]] = {
    "trace": lambda jit: str(jit(sine).trace(X).jaxpr),
    "trace, lower, compile": lambda jit: jit(sine).trace(SPEC).lower().compile()(X),
    "eval_shape": lambda jit: (jit(sine).eval_shape(X), jax.eval_shape(jit(sine), SPEC)),
    "lower": lambda jit: jit(sine).lower(X).out_info,
    "lower with specs": lambda jit: jit(sine).lower(SPEC).compile()(X),
    "lower with avals": lambda jit: jit(sine).lower(jax.core.ShapedArray(X.shape, X.dtype)).compile()(X),
    "jax.export": lambda jit: export.export(jit(sine))(SPEC).call(X),
    "jax.export, symbolic": lambda jit: str(
        export.export(jit(sine))(jax.ShapeDtypeStruct(export.symbolic_shape("b"), "f4")).out_avals
    ),
    "clear_cache": lambda jit: jit(sine).clear_cache(),
    "names": lambda jit: (jit(sine).__name__, jit(sine).__doc__, jit(sine).__wrapped__ is sine),
    "signature": lambda jit: str(inspect.signature(jit(sine))),
    "object": lambda jit: (weakref.ref(jitted := jit(sine))() is jitted, copy.copy(jitted)(X), hash(jitted) != 0),
    "partial": lambda jit: functools.partial(jit(lambda y, x: x * y), 2.0)(X),
    "disable_jit": lambda jit: within(jax.disable_jit(), lambda: jit(lambda x: x * float(x.sum()))(X)),
    "disable_jit, later": is_traced,
    "debug_nans": lambda jit: within(jax.debug_nans(True), lambda: jit(lambda x: jnp.log(x - 9))(X)),
    "debug_infs": lambda jit: within(jax.debug_infs(True), lambda: jit(lambda x: 1 / (x - 1))(X)),
    "checkify.check": lambda jit: checkify.checkify(
        jit(lambda x: (checkify.check(x.sum() < 5, "too big"), x)[1]), errors=checkify.user_checks
    )(X)[0].get(),
    "checkify, NaN": lambda jit: checkify.checkify(jit(lambda x: jnp.log(x - 9)), errors=checkify.float_checks)(X)[
        0
    ].get(),
    "names in the profile": lambda jit: op_names(jit(scoped).lower(X).compile().as_text()),
    "dtype promotion": lambda jit: called_before(
        jit, lambda x: x * jnp.arange(x.shape[0]), jax.numpy_dtype_promotion("strict")
    ),
    "float0": lambda jit: [
        (x.shape, str(x.dtype)) for x in (jit(jax.grad(lambda x: jnp.sin(x).sum(), allow_int=True))(X.astype(int)),)
    ],
    "matmul precision": precision,
    "random bits": lambda jit: called_before(
        jit,
        lambda x: x + jax.random.normal(jax.random.key(0), x.shape),
        jax.threefry_partitionable(not jax.config.jax_threefry_partitionable),
    ),
    "x64": lambda jit: called_before(jit, lambda x: jnp.asarray(x, float) * 2, jax.enable_x64(True)),
    "static_argnames": lambda jit: jit(scaled, static_argnames="k")(X, k=3),
    "static_argnums": lambda jit: jit(scaled, static_argnums=1)(X, 3),
    "static, no hash": lambda jit: jit(scaled, static_argnames="k")(X, k=[3]),
    "keep_unused": lambda jit: jit(lambda x, y: x, keep_unused=True)(X, X),
    "inline": lambda jit: jax.jit(jit(sine, inline=True))(X),
    "donate_argnums": lambda jit: donated(jit, donate_argnums=0),
    "donate_argnames": lambda jit: donated(jit, donate_argnames="p"),
    "donate_argnums, none": lambda jit: jit(sine, donate_argnums=3),
    "checkpoint": lambda jit: jax.grad(lambda x: jax.checkpoint(jit(sine))(x).sum())(X),
    "linearize": lambda jit: jax.linearize(jit(sine), X)[1](X),
    "unknown argument": lambda jit: jit(sine)(X, 3, y=4),
}
EXACT: dict[str, Callable[[Make], Any]] = {
    "in_shardings": lambda jit: jit(sine, in_shardings=ONE)(X),
    "out_shardings": lambda jit: jit(lambda x: {"y": x * 2}, out_shardings={"y": ONE})(X),
    "shardings and donation": lambda jit: donated(jit, donate_argnums=0, out_shardings=ONE),
}
# `lower` of what is padded takes arrays of the bounds' shapes.
OTHER_SHAPES = {"lower", "lower with specs", "lower with avals", "names in the profile"}
WAYS: dict[str, dict[str, Any]] = {"auto": {}, "padded": {"policy": "padded"}}


def outcome(entry: Callable[[Make], Any], jit: Make) -> Any:
    try:
        return entry(jit)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*TABLE, *EXACT])
def test_as_with_jax_jit(name: str) -> None:
    entry = {**TABLE, **EXACT}[name]
    expected = outcome(entry, jax.jit)
    ways = {"no dims": hlograph.jit}
    for way, options in WAYS.items():
        if way != "padded" or not (name in OTHER_SHAPES or name in EXACT):
            ways[way] = functools.partial(hlograph.jit, dims={"x": ("n",)}, **options)
    for way, jit in ways.items():
        found = outcome(entry, jit)
        if isinstance(expected, tuple) and isinstance(expected[0], type):
            assert found[0] is expected[0], (way, found)
            assert (
                re.sub(r".*?\(", "(", found[1])[:20] == re.sub(r".*?\(", "(", expected[1])[:20]
                or "argument" in found[1]
            )
            continue
        assert jax.tree.structure(found) == jax.tree.structure(expected), (way, found)
        jax.tree.map(np.testing.assert_array_equal, found, expected)


def test_what_goes_with_no_name_is_told_at_once() -> None:
    dims = {"x": ("n",)}
    for options, text in (
        ({"compiler_options": {"xla_cpu_enable_fast_math": True}}, "compiler_options only where jax.jit runs"),
        ({"donate_argnums": 0, "outputs": "numpy"}, 'donate_argnums .*outputs="numpy"|donate_argnums'),
        ({"out_shardings": ONE, "policy": "padded"}, "sharded arrays are never padded"),
    ):
        with pytest.raises(OptionError, match=text):
            hlograph.jit(sine, dims=dims, **options)
    with pytest.raises(ValueError, match="donate_argnums has 1, which is not the position of a parameter with a name"):
        hlograph.jit(lambda x, *rest: x, dims=dims, donate_argnums=1)
