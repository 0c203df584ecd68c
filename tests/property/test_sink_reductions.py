"""Random loops with random consumers, before and after the passes on loops, in the interpreter and on PJRT.

Float sums may be in another order: within 2e-5 of the largest element's magnitude. Integers, choices and logic must be
equal, and so must be where NaN and infinities come out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from hlograph import Program
from hlograph.codegen.passes.registry import ON_LOOPS, exact

PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "240" if "HLOGRAPH_NIGHTLY" in os.environ else "120")) // 12

STEP: dict[str, Callable[[Any, Any], Any]] = {
    "tanh": lambda h, x: jnp.tanh(h + x),
    "sine": lambda h, x: jnp.sin(h) - x,
    "copy": lambda h, x: x,
    "count": lambda h, x: h + 1,
}
# Each makes of one array with the steps in front (and another like it) one with the steps in front again.
WORK: dict[str, Callable[[Any, Any], Any]] = {
    "minus data": lambda y, d: y - d,
    "masked": lambda y, d: jnp.where(d > 0, y, 0),
    "weights by time": lambda y, d: y * jnp.arange(len(y), dtype=y.dtype).reshape(-1, *[1] * (y.ndim - 1)),
    "one weight": lambda y, d: y * d.ravel()[:1].sum(),
    "square": lambda y, d: y**2,
    "exponential": lambda y, d: jnp.exp(-jnp.abs(y)),
    "swapped": lambda y, d: jnp.swapaxes(y, 1, 2),
    "first columns": lambda y, d: y[:, :, :2],
    "turned": lambda y, d: y[:, ::-1],
    "joined": lambda y, d: jnp.concatenate([y, y], axis=2),
    "inner sum": lambda y, d: y + y.sum(axis=2, keepdims=True),
}
RESULT: dict[str, Callable[[Any], Any]] = {
    "sum": lambda y: y.sum(),
    "sum over time": lambda y: y.sum(0),
    "mean": lambda y: y.mean((0, 1)),
    "max": lambda y: y.max(0),
    "min": lambda y: y.min(),
    "argmax": lambda y: y.argmax(0),
    "argmin": lambda y: y.argmin(),
    "variance": lambda y: y.var(0),
    "variance of all": lambda y: y.var(),
    "logsumexp": lambda y: jax.nn.logsumexp(y, axis=0),
    "logsumexp of all": lambda y: jax.nn.logsumexp(y),
    "any": lambda y: (y > 0).any(0),
    "count": lambda y: (y > 0).sum((0, 2)),
    "rows": lambda y: y.max((1, 2)),
    "flat": lambda y: y.reshape(-1).min(),
    "itself": lambda y: y * 2,
}
VALUES = (0.0, -0.0, 1.0, -2.5, 0.3, 7.0)
ODD = (*VALUES, float("inf"), float("-inf"), float("nan"))


@dataclass(frozen=True)
class Case:
    steps: int
    step: str
    reverse: bool
    unroll: int
    nested: bool
    consumers: tuple[tuple[tuple[str, ...], str], ...]

    def function(self, h: Any, data: Any) -> Any:
        def step(h: Any, x: Any) -> tuple[Any, Any]:
            h = STEP[self.step](h, x)
            return h, h

        def loop(h: Any) -> tuple[Any, Any]:
            return lax.scan(step, h, data, reverse=self.reverse, unroll=self.unroll)

        if self.nested:
            stack = lax.scan(lambda h, _: (lambda last, ys: (last, ys.max(1)))(*loop(h)), h, None, length=self.steps)[1]
            stack = jnp.broadcast_to(stack[:, :, None], (self.steps, self.steps, *h.shape))[:, 0]
        else:
            stack = loop(h)[1]
        results = []
        for work, result in self.consumers:
            y = stack
            for name in work:
                y = WORK[name](y, jnp.resize(data, y.shape) if y.shape != data.shape else data)
            results.append(RESULT[result](y))
        return results


cases = st.builds(
    Case,
    steps=st.integers(1, 5),
    step=st.sampled_from(sorted(STEP)),
    reverse=st.booleans(),
    unroll=st.integers(1, 3),
    nested=st.booleans(),
    consumers=st.lists(
        st.tuples(st.lists(st.sampled_from(sorted(WORK)), max_size=3).map(tuple), st.sampled_from(sorted(RESULT))),
        min_size=1,
        max_size=3,
    ).map(tuple),
)


@settings(max_examples=PROGRAMS)
@given(cases, st.booleans(), st.integers(0, 2**16))
def test_random_loops_with_random_consumers(case, odd, seed):
    rng = np.random.default_rng(seed)
    pool = ODD if odd else VALUES
    h = rng.choice(pool[:6], size=(2, 3)).astype(np.float32)
    data = rng.choice(pool, size=(case.steps, 2, 3)).astype(np.float32)
    before = Program.parse(jax.jit(case.function, keep_unused=True).lower(h, data).as_text())
    after = before.optimize(ON_LOOPS)
    kept = before.optimize(exact(ON_LOOPS))
    expected = [np.asarray(x) for x in jax.tree.leaves(before.compile(optimize="none")(h, data))]
    compare(expected, jax.tree.leaves(after.compile(optimize="none")(h, data)))
    reference = before.run_passes(["inline"]).interpret(h, data)
    compare(reference, after.run_passes(["inline"]).interpret(h, data))
    for a, b in zip(reference, kept.run_passes(["inline"]).interpret(h, data), strict=True):
        np.testing.assert_array_equal(b, a)


def compare(expected, found):
    for a, b in zip(expected, map(np.asarray, found), strict=True):
        if a.dtype.kind != "f":
            np.testing.assert_array_equal(b, a)
            continue
        largest = np.max(np.abs(np.where(np.isfinite(a), a, 0)), initial=1.0)
        np.testing.assert_allclose(b, a, rtol=2e-5, atol=2e-5 * largest)
