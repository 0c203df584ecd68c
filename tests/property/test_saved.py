"""Gradients of random scans: what is saved for the backward loop changes, no number does.

The reference interpreter computes op by op, so that a value computed again from the same operands has the same bits:
the programs before and after must agree exactly there. XLA fuses a body in other ways once it has changed, so that
PJRT's results agree within a few roundings of the largest element.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from rewritten_runs import with_less_saved, within_roundings

from hlograph import Program
from hlograph.codegen.analysis import cost
from hlograph.codegen.passes.registry import ON_LOOPS

PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "240" if "HLOGRAPH_NIGHTLY" in os.environ else "120")) // 12
ROWS, COLUMNS = 2, 3

UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "exp": lambda x: jnp.exp(-x * x),
    "relu": lambda x: jnp.maximum(x, 0),
    "one minus": lambda x: 1 - x,
    "sign": lambda x: jnp.where(x > 0, x, 0.5 * x),
    "swapped": lambda x: jnp.concatenate([x[:, 1:], x[:, :1]], axis=1),
    "row": lambda x: jnp.broadcast_to(x[:1], x.shape),
    "sum": lambda x: x + x.sum(axis=1, keepdims=True) / 4,
    "stop": lax.stop_gradient,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b / 2,
    "maximum": jnp.maximum,
    "mix": lambda a, b: jax.nn.sigmoid(a) * b,
    "dot": lambda a, b: a @ (b.T @ b) / 9,
    "select": lambda a, b: jnp.where(a < b, a, b * a),
}
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "squares": lambda ys, data: jnp.mean((ys - data) ** 2),
    "weighted": lambda ys, data: jnp.sum(ys * data[:1]),
    "sum": lambda ys, _: jnp.sum(ys),
    "exp": lambda ys, data: jnp.sum(jnp.exp(-ys * data)),
    "rows": lambda ys, data: jnp.sum(jnp.sum(ys, axis=0) * data.mean()),
    "steps": lambda ys, data: jnp.sum(jnp.tanh(jnp.sum(ys, axis=(1, 2)))) + data.sum(),
    "last": lambda ys, data: jnp.sum(ys[-1:] * data[:1]),
    "turned": lambda ys, data: jnp.sum((ys.transpose(1, 0, 2) * data.transpose(1, 0, 2)) ** 2),
}


@dataclass(frozen=True)
class Recipe:
    """A loss over a scan.

    Attributes:
        steps: how often the body runs.
        carries: how many there are.
        body: ops, with the numbers of their operands among all values so far.
        saved: the values that are stacked, from the last.
        losses: of each stack.
        reverse, unroll: of the scan.
        whole: whether the first stack is a result too.
    """

    steps: int
    carries: int
    body: tuple[tuple[str, int, int], ...]
    saved: tuple[int, ...]
    losses: tuple[str, ...]
    reverse: bool
    unroll: int
    whole: bool


recipes = st.builds(
    Recipe,
    steps=st.sampled_from([0, 1, 2, 4, 6]),
    carries=st.integers(1, 3),
    body=st.lists(
        st.tuples(st.sampled_from([*UNARY, *BINARY, *BINARY]), st.integers(0, 40), st.integers(0, 40)),
        min_size=2,
        max_size=9,
    ).map(tuple),
    saved=st.lists(st.integers(0, 5), min_size=1, max_size=2).map(tuple),
    losses=st.lists(st.sampled_from(list(LOSSES)), min_size=2, max_size=2).map(tuple),
    reverse=st.booleans(),
    unroll=st.sampled_from([1, 1, 2]),
    whole=st.booleans(),
)


def function_of(recipe: Recipe) -> Callable[..., Any]:
    """Value and gradient of the loss."""

    def body(carry: tuple[Any, ...], x: Any, weight: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        values = [*carry, x, weight]
        for name, first, second in recipe.body:
            a, b = values[-1 - first % len(values)], values[-1 - second % len(values)]
            values.append(UNARY[name](a) if name in UNARY else BINARY[name](a, b))
        following = tuple(jnp.tanh(value) if k else value for k, value in enumerate(values[-recipe.carries :]))
        return following, tuple(values[-1 - place % len(values)] for place in recipe.saved)

    def loss(start: Any, weight: Any, xs: Any, data: Any) -> Any:
        initial = tuple(start * (k + 1) for k in range(recipe.carries))
        _, stacks = lax.scan(
            lambda carry, x: body(carry, x, weight), initial, xs, reverse=recipe.reverse, unroll=recipe.unroll
        )
        total = sum(LOSSES[name](ys, data) for name, ys in zip(recipe.losses, stacks, strict=False))
        return total, stacks[0] if recipe.whole else ()

    return jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)


@settings(max_examples=PROGRAMS, deadline=None, derandomize="HLOGRAPH_SEED" not in os.environ)
@given(recipes, st.sampled_from(["float32", "float64"]), st.integers(0, 99), st.booleans(), st.booleans())
def test_gradients_of_random_scans(recipe: Recipe, dtype: str, seed: int, large: bool, sinks: bool):
    """`large`: decides as for arrays that leave the cache, so that more is computed again. `sinks`: sums move too."""
    random = np.random.default_rng(seed)
    arrays = [
        random.normal(size=shape).astype(dtype)
        for shape in ((ROWS, COLUMNS), (ROWS, COLUMNS), *((recipe.steps, ROWS, COLUMNS),) * 2)
    ]
    with jax.enable_x64(True):
        text = jax.jit(function_of(recipe), keep_unused=True).lower(*arrays).as_text()
    with mock.patch.object(cost, "_LARGE", 0 if large else cost._LARGE):
        before, after, _ = with_less_saved(Program.parse(text))
        if sinks:
            after = before.run_passes(ON_LOOPS)
    for a, b in zip(after.interpret(*arrays), before.interpret(*arrays), strict=True):
        assert within_roundings(a, b) if sinks else np.array_equal(a, b, equal_nan=True)
    results = [program.compile(optimize="none")(*arrays) for program in (after, before)]
    for a, b in zip(*map(jax.tree.leaves, results), strict=True):
        assert within_roundings(np.asarray(a), np.asarray(b))
