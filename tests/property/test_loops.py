"""Random scans with random consumers, and their gradients, before and after the passes on loops.

The reference interpreter computes op by op, so that a value computed again from the same operands has the same bits:
where only what is saved changes, or rounding must stay, programs agree exactly there. XLA fuses a body in other ways
once it has changed, and sums may be in another order: there results agree within some roundings of the largest element.
Integers, choices and logic must be equal, and so must be where NaN and infinities come out.
"""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from rewritten_runs import as_arrays, with_less_saved, within_roundings

from hlograph import Program
from hlograph.codegen.analysis import costs
from hlograph.codegen.passes.registry import ON_LOOPS, exact

PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "480" if "HLOGRAPH_NIGHTLY" in os.environ else "60"))
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
# Each makes of one array with the steps in front (another like it, and a number that the loop ends with) one like it.
WORK: dict[str, Callable[[Any, Any, Any], Any]] = {
    "minus data": lambda y, d, end: y - d,
    "times the end": lambda y, d, end: y * end,
    "masked": lambda y, d, end: jnp.where(d > 0, y, 0),
    "weights by time": lambda y, d, end: y * jnp.arange(len(y), dtype=y.dtype).reshape(-1, *[1] * (y.ndim - 1)),
    "one weight": lambda y, d, end: y * d.ravel()[:1].sum(),
    "square": lambda y, d, end: y**2,
    "exponential": lambda y, d, end: jnp.exp(-jnp.abs(y)),
    "swapped": lambda y, d, end: jnp.swapaxes(y, 1, 2),
    "steps inside": lambda y, d, end: jnp.swapaxes(y, 0, 1),
    "steps turned": lambda y, d, end: y[::-1] * d,
    "by its transpose": lambda y, d, end: y * jnp.swapaxes(y, 0, 1) if y.shape[0] == y.shape[1] else y,
    "beside the step before": lambda y, d, end: y * jnp.roll(y, 1, axis=0),
    "first columns": lambda y, d, end: y[:, :, :2],
    "turned": lambda y, d, end: y[:, ::-1],
    "joined": lambda y, d, end: jnp.concatenate([y, y], axis=2),
    "inner sum": lambda y, d, end: y + y.sum(axis=2, keepdims=True),
}
# Those that have gradients, also of no steps; and all of one step at least.
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "sum": lambda y: y.sum(),
    "sum over time": lambda y: y.sum(0),
    "mean": lambda y: y.mean((0, 1)),
    "last": lambda y: y[-1:].sum(),
    "steps": lambda y: jnp.tanh(y.sum((1, 2))).sum(),
    "itself": lambda y: y * 2,
    "products": lambda y: jnp.tensordot(y, y, ((0,), (int(y.shape[0] == y.shape[1]),))),
    "like a variance": lambda y: ((y - y.sum(0) / 2) ** 2).sum(0),
    "beside a mean over more": lambda y: ((y - y.mean((0, 1))) ** 2).sum(0),
}
RESULT: dict[str, Callable[[Any], Any]] = {
    **SMOOTH,
    "max": lambda y: y.max(0),
    "min": lambda y: y.min(),
    "argmax": lambda y: y.argmax(0),
    "argmin": lambda y: y.argmin(),
    "variance": lambda y: y.var(0),
    "variance of all": lambda y: y.var(),
    "logsumexp": lambda y: jax.nn.logsumexp(y, axis=0),
    "logsumexp of all": lambda y: jax.nn.logsumexp(y),
    "exponentials": lambda y: jnp.exp(y - y.max(0)).sum(0),
    "any": lambda y: (y > 0).any(0),
    "count": lambda y: (y > 0).sum((0, 2)),
    "rows": lambda y: y.max((1, 2)),
    "flat": lambda y: y.reshape(-1).min(),
}
VALUES = (0.0, -0.0, 1.0, -2.5, 0.3, 7.0)
ODD = (*VALUES, float("inf"), float("-inf"), float("nan"))


@dataclass(frozen=True)
class Recipe:
    """Consumers of what a scan stacks.

    Attributes:
        steps: how often the body runs.
        carries: how many there are.
        body: ops, with the numbers of their operands among all values so far.
        consumers: the value that is stacked, from the last; what is made of the stack; and the result of that.
        reverse, unroll: of the scan.
        nested: the scan is in another one.
    """

    steps: int
    carries: int
    body: tuple[tuple[str, int, int], ...]
    consumers: tuple[tuple[int, tuple[str, ...], str], ...]
    reverse: bool
    unroll: int
    nested: bool

    def results(self, start: Any, weight: Any, xs: Any, data: Any) -> list[Any]:
        """The program."""

        def body(carry: tuple[Any, ...], x: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            values = [*carry, x, weight]
            for name, first, second in self.body:
                a, b = values[-1 - first % len(values)], values[-1 - second % len(values)]
                values.append(UNARY[name](a) if name in UNARY else BINARY[name](a, b))
            following = tuple(jnp.tanh(value) if k else value for k, value in enumerate(values[-self.carries :]))
            return following, tuple(values[-1 - place % len(values)] for place, _, _ in self.consumers)

        def loop(carry: tuple[Any, ...]) -> Any:
            return lax.scan(body, carry, xs, reverse=self.reverse, unroll=self.unroll)

        def outer(carry: tuple[Any, ...], _: Any) -> tuple[tuple[Any, ...], Any]:
            following, stacks = loop(carry)
            return following, [stack.sum(0) for stack in stacks]

        carry = tuple(start * (k + 1) for k in range(self.carries))
        following, stacks = lax.scan(outer, carry, None, length=self.steps) if self.nested else loop(carry)
        results = []
        for y, (_, work, result) in zip(stacks, self.consumers, strict=True):
            for name in work:
                y = WORK[name](y, data if y.shape == data.shape else jnp.resize(data, y.shape), following[0].sum())
            results.append(RESULT[result](y))
        return results

    def gradient(self, *arguments: Any) -> Any:
        """The results, and their gradients by all arguments but the data."""

        def loss(*given: Any) -> Any:
            results = self.results(*given)
            return sum(
                (x * jnp.cos(1 + jnp.arange(x.size, dtype=x.dtype).reshape(x.shape))).sum() for x in results
            ), results

        return jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)(*arguments)


def random_recipe(results: dict[str, Any], steps: tuple[int, ...], seed: int) -> Recipe:
    """A recipe with results of some kinds and so many steps."""
    r = random.Random(seed)
    ops = [*UNARY, *BINARY, *BINARY] if r.random() < 0.5 else ["tanh", "multiply", "mix", "dot"]  # which gradients read
    body = tuple((r.choice(ops), r.randrange(40), r.randrange(40)) for _ in range(r.randint(1, 9)))
    consumers = tuple(
        (r.randrange(6), tuple(r.choices([*WORK], k=r.choice((0, 0, 1, 1, 2, 3)))), r.choice([*results]))
        for _ in range(r.randint(1, 3))
    )
    flags = r.random() < 0.5, r.choice((1, 1, 2, 3)), r.random() < 0.3
    return Recipe(r.choice(steps), r.randint(1, 3), body, consumers, *flags)


def recipes(results: dict[str, Any], steps: tuple[int, ...]) -> st.SearchStrategy[Recipe]:
    """By numbers, as what hypothesis chooses by itself is much alike."""
    return st.integers(0, 2**40).map(partial(random_recipe, results, steps))


WITH_GRADIENT = recipes(SMOOTH, (0, 1, 2, 4, 6))


def arguments(recipe: Recipe, make: Callable[[tuple[int, ...]], Any]) -> list[np.ndarray]:
    """What `results` takes."""
    return [make(shape) for shape in ((ROWS, COLUMNS), (ROWS, COLUMNS), *((recipe.steps, ROWS, COLUMNS),) * 2)]


def traced(function: Callable[..., Any], arrays: list[np.ndarray]) -> Program:
    """The program of a function."""
    with jax.enable_x64(True):
        return Program.parse(jax.jit(function, keep_unused=True).lower(*arrays).as_text())


@settings(max_examples=PROGRAMS, deadline=None, derandomize="HLOGRAPH_SEED" not in os.environ)
@given(WITH_GRADIENT, st.sampled_from(["float32", "float64"]), st.integers(0, 99), st.booleans(), st.booleans())
def test_gradients_of_random_scans(recipe: Recipe, dtype: str, seed: int, large: bool, sinks: bool):
    """`large`: decides as for arrays that leave the cache, so that more is computed again. `sinks`: sums move too."""
    rng = np.random.default_rng(seed)
    arrays = arguments(recipe, lambda shape: rng.normal(size=shape).astype(dtype))
    program = traced(recipe.gradient, arrays)
    with mock.patch.object(costs, "_LARGE", 0 if large else costs._LARGE):
        before, after, _ = with_less_saved(program)
        if sinks:
            after = before.optimize(ON_LOOPS)
    for a, b in zip(after.interpret(*arrays), before.interpret(*arrays), strict=True):
        assert within_roundings(a, b) if sinks else np.array_equal(a, b, equal_nan=True)
    if seed % 5 == 2:  # XLA takes longer than all the rest; hypothesis likes 0
        for a, b in zip(*[as_arrays(x.compile(optimize="none")(*arrays)) for x in (after, before)], strict=True):
            assert within_roundings(a, b)


@settings(max_examples=PROGRAMS)
@given(recipes(RESULT, (1, 2, 3, 5)), st.booleans(), st.integers(0, 2**16))
def test_random_scans_with_random_consumers(recipe: Recipe, odd: bool, seed: int):
    rng = np.random.default_rng(seed)
    arrays = arguments(recipe, lambda shape: rng.choice(ODD if odd else VALUES, size=shape).astype(np.float32))
    before = traced(recipe.results, arrays)
    after, kept = before.optimize(ON_LOOPS), before.optimize(exact(ON_LOOPS))
    if seed % 5 == 2:
        compare(*[as_arrays(x.compile(optimize="none")(*arrays)) for x in (before, after)])
    wanted, found, same = (x.optimize(["inline"]).interpret(*arrays) for x in (before, after, kept))
    compare(wanted, found)
    for a, b in zip(wanted, same, strict=True):
        np.testing.assert_array_equal(b, a)


def compare(expected, found):
    for a, b in zip(expected, found, strict=True):
        if a.dtype.kind != "f":
            np.testing.assert_array_equal(b, a)
            continue
        largest = np.max(np.abs(np.where(np.isfinite(a), a, 0)), initial=1.0)
        np.testing.assert_allclose(b, a, rtol=2e-5, atol=2e-5 * largest)
