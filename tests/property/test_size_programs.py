"""Random functions that decide by sizes and calculate with them: `hlograph.jit` agrees with `jax.jit` in every call.

So do gradients and batches. What JAX cannot trace with symbolic sizes is refused where the policy needs that.

`make test` runs the same few functions each time; more, or others:

    HLOGRAPH_SEED=123 HLOGRAPH_PROGRAMS=50 .venv/bin/pytest tests/property/test_size_programs.py
"""

import os
import random
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hlograph
from hlograph.errors import UnsupportedGraphError

FIRST = int(os.environ.get("HLOGRAPH_SEED", "0"))
FUNCTIONS = int(os.environ.get("HLOGRAPH_PROGRAMS", "3"))
POLICIES = ("auto", "padded", "exact")
CALLS = 5


def gradient(function: Any) -> Any:
    """Of the sum of all results that are no integers."""

    def total(x: Any) -> Any:
        return sum(jnp.sum(y) for y in jax.tree.leaves(function(x)) if jnp.issubdtype(y.dtype, jnp.inexact))

    return jax.grad(total)


def batch(function: Any) -> Any:
    """For an array, and for others made of it."""
    return lambda x: jax.vmap(function)(jnp.stack([x, -x, 0.5 * x]))


TRANSFORMED = (lambda f: f, lambda f: f, gradient, batch, jax.jit)


def integer(rng: random.Random, depth: int) -> str:
    """An expression of n, to about 1e12."""
    if depth == 0:
        return rng.choice(["n", "n", str(rng.randint(1, 9)), str(rng.choice([100, 1000, 277]))])
    left, right = integer(rng, depth - 1), integer(rng, depth - 1)
    sign = rng.choice(["+", "-", "*", "*", "//", "%", "**"])
    if sign == "**":
        return f"({left}) ** {rng.randint(0, 2)}"
    if sign in ("//", "%"):
        return f"({left}) {sign} {rng.randint(1, 7)}" if rng.random() < 0.7 else f"({left}) {sign} ({right} + 1)"
    return f"({left}) {sign} ({right})"


def number(rng: random.Random) -> str:
    """A number made of n."""
    value = integer(rng, rng.randint(1, 3))
    forms = ["{0}", "({0}) / {1}", "1 / (n + {1})", "({0}) * 0.25", "n ** 0.5 + {1}", "n ** -1 - 0.5", "-({0}) / n"]
    return rng.choice(forms).format(value, rng.randint(1, 30))


def condition(rng: random.Random) -> str:
    """A question about n."""
    a, b = rng.randint(1, 12), rng.randint(1, 5)
    forms = ["n == {0}", "n in ({0}, {1})", "n % {1} == 0", "n > {0}", "n // {1} <= 2", "n * n != {0}", "n % {1}"]
    forms += ["max(n, {0}) == n", "{0} <= n < {0} + {1}", "x.shape == ({0},)", "(n + 1) // 2 != {1}"]
    forms += ["n in {{{0}, {1}}}", "int(n) == {0}", "f'{{n}}' == '{0}'"] if rng.random() < 0.2 else []
    return rng.choice(forms).format(a, b)


def shaping(rng: random.Random) -> str:
    """A statement that makes another array of x: slices, strides, joins, differences one after another."""
    a, b = rng.randint(1, 4), rng.randint(2, 3)
    forms = ["x = x[::{1}]", "x = x[{0}::{1}] if n > {0} else x", "x = jnp.concatenate([x, x[::{1}]])", "x = x[::-1]"]
    forms += ["x = jnp.pad(x, ({0}, 1))", "x = jnp.repeat(x, {1})", "x = jnp.roll(x, {0})", "x = jnp.diff(x, n={0})"]
    forms += ["x = jnp.cumsum(x) / n", "x = x.reshape(-1, 1).repeat({1}, 1).reshape(-1)", "x = jnp.sort(x)"]
    text = rng.choice(forms).format(a, b)
    return f"{text} if n > {a} else x" if "diff" in text else text


def reduction(rng: random.Random) -> str:
    """A number of all elements: bodies that are no monoid's, initial values that are no identity, NaN anywhere."""
    body, start = rng.choice(
        [
            ("a + b + 1e-3 * a * b", "2.0"),
            ("a + b", "3.0"),
            ("jnp.maximum(a, b)", "0.25"),
            ("jnp.minimum(a, b)", "-0.5"),
            ("jnp.where(jnp.abs(a) > jnp.abs(b), a, b)", "0.5"),
        ]
    )
    of = rng.choice(["x", "x", "jnp.where(jnp.arange(n) == n // 2, jnp.nan, x)", "x * jnp.nan", "x / n"])
    whole = f"fold({of}, {start}, lambda a, b: {body})"
    return rng.choice([whole, whole, f"jnp.max({of})", f"jnp.ptp({of})", f"jnp.argmax({of}) * 1.0", f"jnp.std({of})"])


def reduced(x: Any, start: float, body: Any) -> Any:
    """By `lax.reduce`."""
    return lax.reduce(x, jnp.float32(start), body, (0,))


def folded(x: Any, start: float, body: Any) -> Any:
    """One element after the other: `jax.jit` itself may take the initial value in several times, or not at all."""
    return lax.scan(lambda total, y: (body(total, y), None), jnp.float32(start), x)[0]


def source(seed: int) -> str:
    """The function's text."""
    rng = random.Random(seed)
    lines = ["def function(x):", "    found = []"]
    for _ in range(rng.randint(2, 4)):
        lines.append("    n = x.shape[0]")
        kind = rng.random()
        if kind < 0.3:
            lines.append(f"    found.append(x[:1] * 0 + ({number(rng)}))")
        elif kind < 0.45:
            lines.append(f"    {shaping(rng)}")
        elif kind < 0.6:
            lines.append(f"    found.append({reduction(rng)})")
        elif kind < 0.9:
            first, second = rng.sample(["x = -x", "x = x[::2]", "x = x[1:] if n > 2 else x", "x = x + n", "n = 3"], 2)
            lines += [f"    if {condition(rng)}:", f"        {first}", "    else:", f"        {second}"]
            lines.append("    found.append(x * n)")
        else:
            lines.append("    found.append(jnp.zeros(n // 2 + 1) + x.sum())")
    return "\n".join([*lines, "    return found, x"])


def check(seed: int) -> None:
    """Calls a function with some sizes, some of them twice."""
    text = source(seed)
    functions = []
    for fold in (reduced, folded):
        scope: dict[str, Any] = {"jnp": jnp, "fold": fold, "__name__": __name__}
        exec(text, scope)  # made here
        functions.append(scope["function"])
    how = TRANSFORMED[seed % len(TRANSFORMED)]
    # Whether XLA takes 0 / 0 for NaN depends on what it compiles together; JAX's own derivatives of `lax.reduce` know
    # nothing of the initial value.
    if how is gradient and ("nan" in text or "fold" in text):
        return
    ours = how(hlograph.jit(functions[0], dims={"x": "n"}, policy=POLICIES[seed % len(POLICIES)]))
    theirs = how(jax.jit(functions[1]))
    rng = random.Random(seed)
    large = [] if "nan" in text else [2000, 30000]  # XLA:CPU's own reductions of many elements pass NaN over
    sizes = [rng.choice([1, 2, 3, 4, 5, 7, 8, 12, 100, *large]) for _ in range(CALLS)]
    for n in [*sizes, *sizes[:2]]:
        x = np.random.default_rng(n).normal(size=n).astype(np.float32)
        try:
            want = theirs(x)
        except Exception as error:
            with pytest.raises((type(error), UnsupportedGraphError)):
                ours(x)
            continue
        try:
            found = ours(x)
        except UnsupportedGraphError:
            assert POLICIES[seed % len(POLICIES)] == "padded", text
            return
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(want), strict=True):
            assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type), (seed, n, text)
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-3 if n > 100 else 1e-5, err_msg=f"{seed=} {n=}\n{text}")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + FUNCTIONS))
def test_random_functions_of_sizes_agree_with_jax_jit(seed) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(seed)
