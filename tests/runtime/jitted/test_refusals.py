"""What a function with named sizes is refused for: what JAX says, the user's line as it is written, and what to do."""

import inspect
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import mlir

import hlograph
from hlograph.errors import HlographError, PolicyError, UnsupportedGraphError

DIMS = {"x": ("n",)}
X, KERNEL = jnp.arange(1.0, 7.0), jnp.ones((2, 1, 3))
FILE = Path(__file__).name
OURS = re.compile(r"_DimExpr|bad_cast|n >= 2|disabled_checks|/(dialects|codegen|runtime)/|<class|jax_tracing")


def _lower(ctx: Any, x: Any) -> Any:
    if not isinstance(ctx.avals_in[0].shape[0], int):
        raise NotImplementedError("odd of a size that is open")
    return [x]


_odd = Primitive("odd")
_odd.def_abstract_eval(lambda x: x)
_odd.def_impl(lambda x: x)
mlir.register_lowering(_odd, _lower)


def lowered(x: Any) -> Any:
    def inside(values: Any) -> Any:
        return jax.jit(_odd.bind)(values)  # here

    return jnp.abs(inside(x * 2))


def by_hand(x: Any) -> Any:
    return sum(float(np.float32(1)) * value for value in x)  # here


def foreign(x: Any) -> Any:
    return jax.ffi.ffi_call("nobody", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


# What the message says besides the line that is marked, where JAX says one.
REFUSED: dict[Callable[..., Any], str] = {
    lowered: "NotImplementedError: odd of a size that is open",
    by_hand: "TypeError: a size that is not known yet .n. cannot be interpreted as an integer",
    foreign: "cannot hold the call of a foreign function, nobody",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_a_refusal_names_the_line_and_what_to_do(function: Callable[..., Any]) -> None:
    source, first = inspect.getsourcelines(function)
    places = [(first + number, line) for number, line in enumerate(source) if line.rstrip().endswith("# here")]
    fast = hlograph.jit(function, dims=DIMS, policy="padded")
    with pytest.raises(UnsupportedGraphError, match=REFUSED[function]) as caught:
        fast(X)
    text = str(caught.value)
    assert text.startswith(f"JAX cannot trace '{function.__name__}' with symbolic sizes (n)")
    for number, line in places:
        assert f"at {FILE}:{number} in " in text
        assert f"({line.strip()})" in text
    assert 'policy="auto" and "exact" let jax.jit run it' in text
    assert not OURS.search(text), text
    explained = str(hlograph.explain(fast, X))
    assert re.search(REFUSED[function], explained)
    assert all(f"{FILE}:{number}" in explained for number, _ in places)
    if function is foreign:
        return
    with pytest.warns(RuntimeWarning, match=REFUSED[function]) as warned:
        np.testing.assert_allclose(hlograph.jit(function, dims=DIMS)(X), function(X), rtol=1e-4)
    assert all(f"{FILE}:{number}" in str(warned[0].message) for number, _ in places)
    assert "policy=" not in str(warned[0].message)


def lookup(x: Any) -> Any:
    return {}["mine"]


def branch(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def sizes_that_differ(x: Any) -> Any:
    return x + jnp.ones(7)


def demanding(x: Any) -> Any:
    assert x.shape[0] == 5, "five wanted"
    return x


def forward(x: Any) -> Any:
    kept = jax.custom_vjp(lambda x: x)
    kept.defvjp(lambda x: (x, None), lambda _, x: (x,))
    return jax.jvp(kept, (x,), (x,))


MISTAKES = {
    forward: (TypeError, "can't apply forward-mode autodiff"),
    lookup: (KeyError, "mine"),
    branch: (jax.errors.TracerBoolConversionError, "branch at .*test_refusals.py"),
    sizes_that_differ: (TypeError, r"incompatible shapes for broadcasting: \(6,\), \(7,\)"),
    demanding: (AssertionError, "five wanted"),
}


@pytest.mark.parametrize("policy", ["auto", "padded"])
@pytest.mark.parametrize("function", MISTAKES, ids=lambda function: function.__name__)
def test_a_mistake_is_the_error_that_jax_jit_has(function: Callable[..., Any], policy: str) -> None:
    error, match = MISTAKES[function]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(error, match=match) as caught:
                hlograph.jit(function, dims=DIMS, policy=policy)(X)
            assert not isinstance(caught.value, HlographError)


def test_what_is_not_padded_is_named_with_its_line() -> None:
    def depthwise(x: Any) -> Any:
        return jax.grad(lambda k: lax.conv_general_dilated(x, k, (1,), "SAME", feature_group_count=2).sum())(KERNEL)

    line = inspect.getsourcelines(depthwise)[1] + 1
    with pytest.warns(UserWarning, match=rf"conv_general_dilated at {FILE}:{line} in"):
        hlograph.jit(depthwise, dims={"x": (1, 2, "n")}, policy="padded")(jnp.ones((1, 2, 6)))


def test_an_op_in_a_function_that_jax_keeps_is_named_with_the_line_that_calls_it() -> None:
    def spectrum(s: Any) -> Any:
        return jnp.linalg.eigvals(s)

    line = inspect.getsourcelines(spectrum)[1] + 1
    fast = hlograph.jit(spectrum, dims={"s": ("n", "n")}, policy={"n": 9})
    with pytest.warns(UserWarning, match=rf"eig at {FILE}:{line} in .*spectrum") as warned:
        fast(jnp.eye(3))
    assert warned[0].filename == __file__


@pytest.mark.parametrize(("name", "hint"), [("N", "its sizes: n"), ("n_", "did you mean 'n'?")])
def test_a_policy_of_no_size_is_told_at_once(name: str, hint: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(f"the program has no size {name!r}; {hint}")):
        hlograph.jit(lambda x, y: x, dims={"x": ("2*n",), "y": {"a": ("n", ...)}}, policy={name: 9, "n": 9})


@pytest.mark.parametrize("policy", ["pad", {"n": "paded"}, 1.5, {"n": None}])
def test_a_policy_that_is_none_is_told_at_once(policy: Any) -> None:
    with pytest.raises(PolicyError, match="expected 'auto', 'exact', 'padded'"):
        hlograph.jit(lambda x: x, dims=DIMS, policy=policy)
