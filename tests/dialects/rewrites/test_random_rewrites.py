"""Random expressions keep their values, axes and dtypes when products and sums are rewritten, and when lowered."""

import os
import random
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from support import REWRITES, assert_same, reference

import hlograph

SEEDS = range(2000 if "HLOGRAPH_NIGHTLY" in os.environ else 40)


def expression(choose: random.Random, leaves: list[Any]) -> Any:
    """A tree that shares its nodes: sums, products, quotients, selections and what stands between them."""
    known = [*leaves]

    def pick() -> Any:
        return choose.choice(known)

    def positive() -> Any:
        return pt.sqr(choose.choice(leaves)) + choose.choice([0.5, 2])

    makers = [
        lambda: pick() + pick(),
        lambda: pick() - pick(),
        lambda: pick() + choose.choice([1, -1, 0.5, 0]),
        lambda: choose.choice([1, 2, 0.5]) - pick(),
        lambda: pt.add(pick(), pick(), pick()),
        lambda: pick() * pick(),
        lambda: pick() * choose.choice([1, -1, 2, 0.5, np.float32(3)]),
        lambda: pick() / positive(),
        lambda: pick() / choose.choice(leaves) * pick(),
        lambda: pt.reciprocal(positive()),
        lambda: -pick(),
        lambda: pt.second(pick(), pick()),
        lambda: pt.exp(-positive()) * pick(),
        lambda: 1 / (1 + pt.exp(choose.choice(leaves))),
        lambda: pt.switch(pt.gt(choose.choice(leaves), 0), pick(), 0.0),
        lambda: pt.switch(pt.gt(choose.choice(leaves), 0), 0.0, pick()),
        lambda: pt.switch(pt.gt(choose.choice(leaves), 0), pick(), pick()),
    ]
    for _ in range(choose.randint(4, 14)):
        known.append(choose.choice(makers)())
    return known[-1] * choose.choice(leaves) + pick()


@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions(seed: int) -> None:
    """All values are at least 0.3 in size, so that nothing divides by zero and what is rounded stays small."""
    choose = random.Random(seed)
    dtype = choose.choice(["float64", "float64", "float32"])
    x, y, s = pt.vector("x", dtype=dtype), pt.vector("y", dtype=dtype), pt.scalar("s", dtype=dtype)
    value = expression(choose, [x, y, s])
    outputs = [value, *pytensor.grad(value.sum(), [x, y, s], disconnected_inputs="ignore")]
    rewritten = REWRITES.apply([x, y, s], outputs, True)[1]
    values = np.random.default_rng(seed)
    arguments = [values.uniform(0.3, 1.5, shape) * values.choice([-1, 1], shape) for shape in (3, 3, ())]
    arguments = [np.asarray(v, dtype) for v in arguments]
    expected = reference([x, y, s], outputs, arguments)
    found = {"rewritten": reference([x, y, s], rewritten, arguments)}
    if seed % 4 == 0:
        found["lowered"] = hlograph.emit_stablehlo(([x, y, s], outputs)).interpret(*arguments)
    for kind, results in found.items():
        for actual, right in zip(results, expected, strict=True):
            scale = 1 + float(np.abs(right).max())
            assert_same(actual, right, rtol=0, atol=scale * (1e-9 if dtype == "float64" else 2e-3), label=kind)
