"""Random densities of constant data: value and gradients over fewer rows are those over all rows, as JAX has them.

A program adds, multiplies, gathers and selects columns of data and parameters, row by row, with a linear op more often
than another, and adds the rows up in several ways. Columns are continuous or have few distinct values.
"""

# ruff: noqa: B023  (each function is called where it is made)
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlograph import Program
from hlograph.passes import Report

PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "12"))
ROWS, WIDTH, PLACES = 96, 3, 4
STEPS = (
    "add",
    "subtract",
    "scale",
    "column",
    "dot",
    "gather",
    "mask",
    "square",
    "product",
    "nonlinear",
    "divide",
    "wide",
    "weight",
)
LIKELY = np.array([4, 4, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 3]) / 26
SINKS = ("sum", "squares", "matrix", "segments", "inner", "largest")


class Density:
    """The random choices of a program."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        few = rng.integers(2, 9)
        keys = rng.integers(0, few, ROWS)
        self.columns = [rng.normal(size=ROWS) * 10.0 ** rng.integers(-2, 3), rng.normal(size=few)[keys]]
        self.columns += [rng.integers(0, 3, few)[keys].astype(float), np.full(ROWS, 1.5)]
        self.matrices = [rng.normal(size=(ROWS, WIDTH)), rng.normal(size=(few, WIDTH))[keys]]
        self.places = (rng.integers(0, PLACES, few) if rng.integers(2) else np.arange(few) % PLACES)[keys]
        self.mask = rng.integers(0, 2, few)[keys].astype(bool)
        self.steps = [
            (str(rng.choice(STEPS, p=LIKELY)), *rng.integers(0, 1 << 30, 3)) for _ in range(rng.integers(3, 9))
        ]
        self.sinks = [(str(rng.choice(SINKS)), *rng.integers(0, 1 << 30, 2)) for _ in range(rng.integers(1, 4))]

    def __call__(self, scalars: Any, vector: Any, table: Any) -> Any:
        kind = scalars.dtype
        columns = [jnp.asarray(column, kind) for column in self.columns]
        matrices = [jnp.asarray(matrix, kind) for matrix in self.matrices]
        known = [*columns, table[self.places], matrices[0] @ vector, jnp.broadcast_to(scalars[0], ROWS)]
        for name, a, b, c in self.steps:
            x, y = known[-1 - a % 4], known[b % len(known)]
            number = scalars[c % 3]
            known.append({
                "add": lambda: x + y,
                "subtract": lambda: x - y,
                "scale": lambda: x * number,
                "column": lambda: x + number * columns[c % len(columns)],
                "dot": lambda: x + matrices[c % 2] @ vector,
                "gather": lambda: x - table[self.places],
                "mask": lambda: jnp.where(self.mask, x, y),
                "square": lambda: x * x,
                "product": lambda: x * y,
                "nonlinear": lambda: jnp.tanh(x) + y,
                "divide": lambda: x / jnp.exp(0.1 * number),
                "weight": lambda: x / (2 + abs(columns[c % 3])) if c % 2 else x * columns[c % 3],
                "wide": lambda: (x[:, None] * vector + y[:, None]).sum(1),
            }[name]())  # fmt: skip
        total = scalars[1] ** 2
        for name, a, b in self.sinks:
            x, y = known[-1 - a % 5], known[-1 - b % len(known)]
            total = total + {
                "sum": lambda: jnp.sum(x),
                "squares": lambda: jnp.sum(x * x),
                "matrix": lambda: jnp.sum((matrices[a % 2].T @ x) * vector),
                "segments": lambda: jnp.sum(jnp.zeros(PLACES, kind).at[self.places].add(x) * table),
                "inner": lambda: jnp.vdot(x, y),
                "largest": lambda: jnp.max(x),
            }[name]() * scalars[2]  # fmt: skip
        return total


@pytest.mark.usefixtures("jax_x64")
def test_fewer_rows_give_what_all_rows_give() -> None:
    rewritten: list[bool] = []

    @settings(max_examples=PROGRAMS, database=None, deadline=None, derandomize="HLOGRAPH_SEED" not in os.environ)
    @given(st.integers(0, 1 << 32), st.sampled_from([np.float64, np.float64, np.float32]))
    def check(seed: int, dtype: Any) -> None:
        rng = np.random.default_rng(seed + 1)
        point = [rng.normal(size=shape).astype(dtype) for shape in ((3,), (WIDTH,), (PLACES,))]
        derivative = jax.jit(jax.value_and_grad(Density(seed), (0, 1, 2)), keep_unused=True)
        reports: list[Report] = []
        program = Program.parse(derivative.lower(*point).as_text())
        after = program.optimize(["inline", "compress_rows{rows=32}"], reports=reports)
        rewritten.append(bool(reports[1].rewritten))
        wanted = jax.tree.leaves(derivative(*[x.astype(np.float64) for x in point]))
        largest = max(float(np.max(np.abs(each))) for each in wanted)
        tolerance = (1e-11 if dtype is np.float64 else 1e-3) * (1 + largest)
        for found, each in zip(after.interpret(*point), wanted, strict=True):
            np.testing.assert_allclose(found, each, rtol=0, atol=tolerance, err_msg=f"seed {seed}, {dtype.__name__}")

    check()
    assert sum(rewritten) * 2 >= len(rewritten)
