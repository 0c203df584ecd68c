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

import hlograph
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
    """The random choices of a program, and data for it."""

    def __init__(self, seed: int, rows: int = ROWS) -> None:
        rng = np.random.default_rng(seed)
        few, self.rows = rng.integers(2, 9), rows
        keys = rng.integers(0, few, rows)
        columns = [rng.normal(size=rows) * 10.0 ** rng.integers(-2, 3), rng.normal(size=few)[keys]]
        columns += [rng.integers(0, 3, few)[keys].astype(float), np.full(rows, 1.5)]
        self.data: dict[str, Any] = {
            "columns": columns,
            "matrices": [rng.normal(size=(rows, WIDTH)), rng.normal(size=(few, WIDTH))[keys]],
            "places": (rng.integers(0, PLACES, few) if rng.integers(2) else np.arange(few) % PLACES)[keys],
            "mask": rng.integers(0, 2, few)[keys].astype(bool),
        }
        self.steps = [
            (str(rng.choice(STEPS, p=LIKELY)), *rng.integers(0, 1 << 30, 3)) for _ in range(rng.integers(3, 9))
        ]
        self.sinks = [(str(rng.choice(SINKS)), *rng.integers(0, 1 << 30, 2)) for _ in range(rng.integers(1, 4))]

    def __call__(self, scalars: Any, vector: Any, table: Any, data: Any = None) -> Any:
        kind, data = scalars.dtype, self.data if data is None else data
        columns = [jnp.asarray(column, kind) for column in data["columns"]]
        matrices = [jnp.asarray(matrix, kind) for matrix in data["matrices"]]
        places, mask = data["places"], data["mask"]
        known = [*columns, table[places], matrices[0] @ vector, jnp.broadcast_to(scalars[0], self.rows)]
        for name, a, b, c in self.steps:
            x, y = known[-1 - a % 4], known[b % len(known)]
            number = scalars[c % 3]
            known.append({
                "add": lambda: x + y,
                "subtract": lambda: x - y,
                "scale": lambda: x * number,
                "column": lambda: x + number * columns[c % len(columns)],
                "dot": lambda: x + matrices[c % 2] @ vector,
                "gather": lambda: x - table[places],
                "mask": lambda: jnp.where(mask, x, y),
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
                "segments": lambda: jnp.sum(jnp.zeros(PLACES, kind).at[places].add(x) * table),
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
        wide = [x.astype(np.float64) for x in point]
        wanted = Program.parse(derivative.lower(*wide).as_text()).interpret(*wide)
        largest = max(float(np.max(np.abs(each))) for each in wanted)
        tolerance = (1e-11 if dtype is np.float64 else 1e-3) * (1 + largest)
        for found, each in zip(after.interpret(*point), wanted, strict=True):
            np.testing.assert_allclose(found, each, rtol=0, atol=tolerance, err_msg=f"seed {seed}, {dtype.__name__}")
        largest = np.finfo(dtype).max / 2  # where the order of a sum may decide which infinity it is, or NaN
        scale = rng.choice([largest, 1e200 if dtype is np.float64 else 1e30, np.inf, np.nan])
        point[rng.integers(3)][:1] *= dtype(scale)
        for found, each in zip(after.interpret(*point), program.interpret(*point), strict=True):
            kinds = [np.isfinite(x) if scale == largest else np.where(np.isfinite(x), 0, x) for x in (found, each)]
            np.testing.assert_array_equal(*kinds, err_msg=f"seed {seed}, {dtype.__name__}, {scale}")

    check()
    assert sum(rewritten) * 2 >= len(rewritten)


@pytest.mark.usefixtures("jax_x64")
def test_data_that_are_arguments_give_the_same() -> None:
    """Of one program, data and others that may be alike."""
    for seed in range(max(4, PROGRAMS // 3)):
        density, other = Density(seed, 3 * ROWS), Density(seed + 1000, 3 * ROWS)
        rng = np.random.default_rng(seed)
        point = [rng.normal(size=shape) for shape in ((3,), (WIDTH,), (PLACES,))]
        derivative = jax.value_and_grad(lambda s, v, t, data, density=density: density(s, v, t, data), (0, 1, 2))
        ours, theirs = hlograph.jit(derivative, data_argnames="data"), jax.jit(derivative)
        for data in (density.data, other.data, density.data):
            wanted = jax.tree.leaves(theirs(*point, data))
            largest = max(float(np.max(np.abs(each))) for each in wanted)
            for found, each in zip(jax.tree.leaves(ours(*point, data)), wanted, strict=True):
                np.testing.assert_allclose(found, each, rtol=0, atol=1e-11 * (1 + largest), err_msg=f"seed {seed}")
