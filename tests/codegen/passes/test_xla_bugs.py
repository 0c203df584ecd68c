"""Faults of XLA: each is shown to the installed jaxlib without hlograph, and what hlograph compiles has right numbers.

Where a release is free of one, its pass may go. Which ops a pass changes is in lit_tests/passes/.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from jax import lax

import hlograph
from hlograph import Program
from hlograph.codegen.passes.xla_bugs import BUGS, DIVIDED, Bug

# What XLA gets wrong, by the name of the pass: ends with an error, or the process, where it does.
REPRODUCERS = {
    "doubled_counters": """
        def double(x):
            return jax.lax.while_loop(lambda c: c[0] < 50, lambda c: (c[0] + c[0], c[1] * 2), (1, x))
        count, value = jax.jit(double)(jnp.float32(3))
        assert (int(count), float(value)) == (64, 192)""",
    "cpu_updates": """
        x = np.arange(48, dtype=np.float32).reshape(6, 8)
        found = jax.jit(lambda x: x.at[1:].set(x[:-1])[None])(x)
        np.testing.assert_array_equal(found, np.concatenate([x[:1], x[:-1]])[None])""",
    "cpu_scatters": """
        zeros, numbers = jnp.zeros((4, 1), jnp.int32), jax.lax.ScatterDimensionNumbers((1, 2), (), (1,))
        add = jax.jit(lambda u: jax.lax.scatter_add(zeros, zeros, u, numbers))
        np.testing.assert_array_equal(add(np.full((4, 4, 1), 2, np.int32)), np.full((4, 1), 8))""",
    "cpu_initial": """
        found = jax.jit(lambda x: jax.lax.reduce(x, np.int32(3), jax.lax.add, (0,)))(np.ones(100, np.int32))
        assert found == 103""",
    "cpu_nan": """
        x = np.zeros(4096, np.float32)
        x[7] = np.nan
        assert np.isnan(jax.jit(jnp.max)(x))""",
}
BEFORE = "import jax, jax.numpy as jnp, numpy as np\nif True:"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_installed_release_has_it(bug: Bug) -> None:
    release = version("jaxlib")
    command = [sys.executable, "-c", BEFORE + REPRODUCERS[bug.name]]
    run = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    if release.startswith(bug.has):
        assert run.returncode, f"jaxlib {release} is listed among those that have it, and is free of {bug.name}"
    elif release.startswith(bug.free):
        assert not run.returncode, f"jaxlib {release} is listed among those that are free of {bug.name}: {run.stderr!r}"
    else:
        assert run.returncode, f"jaxlib {release} no longer needs {bug.name}: list it in `free`"


def lowered(function: Any, x: Any) -> Program:
    return Program.parse(jax.jit(function).lower(x).as_text())


# ---- doubled_counters -----------------------------------------------------------------------------------------------

# What is added to the counter.
STEPS: dict[str, Any] = {
    "itself": lambda i: i,
    "times one": lambda i: i * 1,
    "plus zero": lambda i: i - 0,
    "the larger": lambda i: lax.max(i, i),
    "in an array": lambda i: lax.reshape(lax.reshape(i, (1,)), ()),
    "twice itself": lambda i: 2 * i,
    "in a function": jax.jit(lambda i: i * 1),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_a_counter_that_is_doubled(step: str, dtype: Any) -> None:
    one = dtype(1)

    def function(x: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < dtype(50), lambda c: (c[0] + STEPS[step](c[0]), c[1] + one), (one, x))

    with jax.enable_x64(True):
        program = lowered(function, dtype(3))
        i, y = 1, 3
        while i < 50:
            i, y = i + int(STEPS[step](dtype(i))), y + 1
    changed = program.optimize(["doubled_counters"])
    assert changed.op_counts()["stablehlo.negate"] == 1
    x = dtype(3)
    for found in (changed.interpret(x), program.compile()(x), program.compile(optimize="none", cpu="plain")(x)):
        assert [int(value) for value in found] == [i, y]


def test_what_runs_in_jit_is_changed() -> None:
    doubled = hlograph.jit(lambda x: lax.while_loop(lambda c: c[0] < 50, lambda c: (c[0] + c[0], c[1] * 2), (1, x)))
    count, value = doubled(np.float32(3))
    assert (int(count), float(value)) == (64, 3 * 2.0**6)
    text = doubled.lower(np.float32(3)).as_text()
    assert "stablehlo.negate" in text
    assert "stablehlo.add %iterArg, %iterArg" not in text


# ---- cpu_updates, cpu_scatters --------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("cpu", ["plain", "auto"])
@pytest.mark.parametrize("shape", [(1, 8, 16), (2, 4, 16), (8, 4, 4)])
@pytest.mark.parametrize(
    "shifted",
    [
        lambda x: x.at[1:].set(x[:-1]),
        lambda x: x.at[2:].add(3 * x[:-2]),
        lambda x: lax.dynamic_update_slice(x, x[:-1, :-1], (1, 1)),
        lambda x: x.at[:-1].set(x[1:]),
    ],
    ids=["set", "add", "both axes", "back"],
)
def test_updates_made_of_the_array_and_then_reshaped(shifted: Any, shape: tuple[int, ...], cpu: Any) -> None:
    x = np.random.default_rng(1).normal(size=(8, 16))
    with jax.enable_x64(True):
        spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
        program = hlograph.emit_stablehlo(lambda x: shifted(x * 2.0).reshape(shape), spec)
        wanted = np.asarray(shifted(jnp.asarray(x * 2.0))).reshape(shape)
        fn = program.compile(cpu=cpu)
        np.testing.assert_allclose(fn(x), wanted, rtol=1e-12)
        np.testing.assert_allclose(jax.jit(lambda x: fn(x) + 0.0)(x), wanted, rtol=1e-12)


@pytest.mark.parametrize("cpu", ["plain", "auto"])
@pytest.mark.parametrize("dtype", ["i4", "u1", "f4"])
@pytest.mark.parametrize(("scatter", "of"), [(lax.scatter_add, np.sum), (lax.scatter_max, np.max)])
def test_all_updates_of_an_axis_of_one_element_are_taken_in(scatter: Any, of: Any, dtype: str, cpu: Any) -> None:
    updates = np.random.default_rng(3).integers(1, 9, (4, 5, 1)).astype(dtype)
    places, numbers = jnp.zeros((4, 1), jnp.int32), lax.ScatterDimensionNumbers((1, 2), (), (1,))

    def scattered(u: Any) -> Any:
        return scatter(jnp.zeros((5, 1), dtype), places, u, numbers)

    spec = jax.ShapeDtypeStruct(updates.shape, updates.dtype)
    fn = hlograph.emit_stablehlo(scattered, spec).compile(cpu=cpu)
    for function in (fn, jax.jit(lambda u: fn(u) + 0), hlograph.jit(scattered)):
        np.testing.assert_array_equal(function(updates), of(updates, axis=0).astype(dtype))


# ---- cpu_initial ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, DIVIDED, 3 * DIVIDED + 1])
@pytest.mark.parametrize("xor", [False, True])
def test_initial_values_of_integers(xor: bool, size: int) -> None:
    """A monoid, and what is none: exact in int32."""
    larger = lambda a, b: lax.select(lax.gt(lax.abs(a), lax.abs(b)), a, b)  # noqa: E731
    body, initial = (lax.bitwise_xor, 5) if xor else (larger, -9)
    x = np.random.default_rng(size).integers(-3, 4, size).astype(np.int32)
    after = lowered(lambda x: lax.reduce(x, np.int32(initial), body, (0,)), x).optimize(["cpu_initial"])
    expected = functools.reduce(lambda a, b: int(body(np.int32(a), np.int32(b))), x.tolist(), initial)
    np.testing.assert_array_equal(after.interpret(x)[0], np.int32(expected))
    np.testing.assert_array_equal(after.compile(optimize="none", cpu="plain")(x), np.int32(expected))


# name -> body, initial value
BODIES = {
    "sum": (lambda a, b: a + b, 3.0),
    "product": (lambda a, b: a * b, 2.0),
    "maximum": (jnp.maximum, 0.75),
    "a + b - ab": (lambda a, b: a + b - a * b, 0.5),
    "with a branch": (lambda a, b: lax.cond(a > b, lambda: a + b, lambda: b + a), 3.0),
    "the larger one": (lambda a, b: jnp.where(jnp.abs(a) > jnp.abs(b), a, b), -0.9),
}
NAMED = {"dims": {"x": "n"}}
OPTIONS = [{"policy": "padded"} | NAMED, {"policy": "exact"} | NAMED, {"policy": "exact", "cpu": "plain"} | NAMED, {}]


def vector(n: int) -> np.ndarray:
    return np.random.default_rng(n).uniform(0.2, 0.8, n).astype(np.float32) ** 0.01


def folded(body: Any, initial: float, x: np.ndarray) -> np.ndarray:
    """One element after the other, in float64."""
    with jax.enable_x64(True):
        return np.asarray(functools.reduce(lambda a, b: np.asarray(body(a, b)), np.float64(x), np.float64(initial)))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_initial_values_also_inside_of_somebody_elses_jit(name: str, options: dict[str, Any]) -> None:
    body, initial = BODIES[name]
    ours = hlograph.jit(lambda x: lax.reduce(x, jnp.float32(initial), body, (0,)), **options)
    for n in (0, 1, 5, 31, 32, 33, 100, 1000) if options else (1, 200):
        expected = folded(body, initial, vector(n))
        for function in (ours,) if options else (ours, jax.jit(lambda x: ours(x) * 1)):
            np.testing.assert_allclose(function(vector(n)), expected, rtol=1e-5)


def test_initial_values_that_are_computed_two_axes_and_loops() -> None:
    def function(x, start):
        def step(total, row):
            return lax.reduce(row, total, lax.add, (0,)), None

        return lax.reduce(x, start * 2, lax.add, (0, 1)), lax.scan(step, start, x)[0]

    x = vector(40 * 50).reshape(40, 50)
    both, stepwise = hlograph.jit(function, dims={"x": ("n", "m")})(x, np.float32(3))
    np.testing.assert_allclose(both, x.sum(dtype=float) + 6, rtol=1e-5)
    np.testing.assert_allclose(stepwise, x.sum(dtype=float) + 3, rtol=1e-5)


# ---- cpu_nan: `jax.jit` itself passes NaN over ----------------------------------------------------------------------


def check_nan(function: Any, name: str, axis: int | None, shape: tuple[int, ...], dtype: Any) -> None:
    """Of numbers with one NaN: the first, one in the middle, or the last."""
    for place in (0, np.prod(shape) // 2, -1):
        x = np.arange(np.prod(shape)).astype(dtype)
        x[place] = np.nan
        x = x.reshape(shape)
        found = np.asarray(function(x)).astype(np.float64)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(getattr(np, name)(x.astype(np.float64), axis=axis)))


SHAPES = [((7,), None), ((4096,), None), ((5000,), 0), ((64, 64), None), ((64, 64), 0), ((3, 5000), 1)]
WAYS = ["exact", "padded", "no names", "graph", "graph in jit", "graph in vmap"]


@pytest.mark.sampled(32)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("name", ["max", "min", "ptp"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_extremes_of_many_floats(dtype: str, name: str, shape: tuple[int, ...], axis: int | None, way: str) -> None:
    dtype = "float32" if way.startswith("graph") and dtype == "bfloat16" else dtype
    with jax.enable_x64(True):
        if way.startswith("graph"):
            x = pt.tensor("x", dtype=dtype, shape=(None,) * len(shape))
            ours = hlograph.function([x], getattr(pt, name)(x, axis=axis))
        else:
            dims = {"dims": {"x": ("n", *shape[1:])}, "policy": way} if way != "no names" else {}
            ours = hlograph.jit(lambda x: getattr(jnp, name)(x, axis=axis), **dims)
        mapped = jax.jit(jax.vmap(lambda x: ours(x)))
        inside = {"graph in jit": jax.jit(lambda x: ours(x) * 2), "graph in vmap": lambda x: mapped(x[None])[0]}
        check_nan(inside.get(way, ours), name, axis, shape, getattr(jnp, dtype))


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extreme_that_sinks_into_its_loop(name: str, policy: Any) -> None:
    def written(x):
        return getattr(jnp, name)(lax.scan(lambda c, row: (c, row * 2), 0.0, x)[1])

    for options in ({"dims": {"x": ("n", 5000)}, "policy": policy}, {}):
        check_nan(hlograph.jit(written, **options), name, None, (3, 5000), np.float32)


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_in_the_interpreter(name: str) -> None:
    program = lowered(getattr(jnp, name), np.zeros((64, 64), np.float32)).optimize(["cpu_nan"])
    assert program.op_counts()["stablehlo.reduce"] == 2
    check_nan(lambda x: program.interpret(x)[0], name, None, (64, 64), np.float32)
