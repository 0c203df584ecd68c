"""Unrolled Python loops and their gradients, as JAX and as hlograph write them: small once they are rolled up.

How many ops are left must not depend on the number of steps. Expected values are those of the program before the pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from jax import lax

import hlograph
from hlograph import Program
from hlograph.codegen.passes.roll_loops import plan

RNG = np.random.default_rng(0)


def powers(steps: int, dtype: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def value(x: Any, t: Any) -> Any:
        for p in t:
            x *= p**2 - p**3 - p
        return x

    def both(x: Any, t: Any) -> Any:
        return value(x, t), jax.jacrev(value, 1)(x, t)

    return both, (np.ones((), dtype), RNG.uniform(-0.56, -0.53, steps).astype(dtype))


def kalman(steps: int, dtype: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    transition = np.array([[1, 0.1], [0, 1]], dtype)
    observed = np.eye(2, dtype=dtype)

    def value(q: Any, ys: Any) -> Any:
        mean, covariance, total = jnp.zeros(2, dtype), jnp.eye(2, dtype=dtype), 0.0
        for t in range(steps):
            mean, covariance = transition @ mean, transition @ covariance @ transition.T + q * np.eye(2, dtype=dtype)
            error, spread = ys[t] - observed @ mean, observed @ covariance @ observed.T + np.eye(2, dtype=dtype)
            root = jnp.linalg.cholesky(spread)
            gain = jax.scipy.linalg.cho_solve((root, True), observed @ covariance).T
            scaled = jax.scipy.linalg.solve_triangular(root, error, lower=True)
            total = total - 0.5 * scaled @ scaled - jnp.log(jnp.diag(root)).sum()
            mean, covariance = mean + gain @ error, covariance - gain @ observed @ covariance
        return total

    return jax.value_and_grad(value), (np.array(0.1, dtype), RNG.standard_normal((steps, 2)).astype(dtype))


def recurrent(steps: int, dtype: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def value(u: Any, w: Any, xs: Any, ys: Any) -> Any:
        h, total = jnp.zeros((2, 4), dtype), 0.0
        for t in range(steps):
            h = jnp.tanh(xs[t] @ u + h @ w)
            total = total + ((h - ys[t]) ** 2).mean()
        return total

    shapes = ((3, 4), (4, 4), (steps, 2, 3), (steps, 2, 4))
    arrays = tuple(0.4 * RNG.standard_normal(shape).astype(dtype) for shape in shapes)
    return jax.value_and_grad(value, (0, 1, 2)), arrays


def stacked(steps: int, dtype: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def value(x: Any, t: Any) -> Any:
        found, last = [], x
        for step in range(steps):
            last = jnp.sin(last) * t[steps - 1 - step] + x
            found.append(last * step)
        return jnp.stack(found), last

    return value, (np.array(0.3, dtype), RNG.standard_normal(steps).astype(dtype))


CASES = {"powers": powers, "kalman": kalman, "recurrent": recurrent, "stacked": stacked}


def parsed(function: Any, *arrays: Any) -> Program:
    return Program.parse(jax.jit(function).lower(*arrays).as_text())


def lowered(name: str, steps: int, dtype: str) -> tuple[Program, tuple[Any, ...]]:
    function, arrays = CASES[name](steps, dtype)
    return parsed(function, *arrays), arrays


def size(program: Program) -> int:
    return sum(program.op_counts().values())


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "dtype"), [(name, "float64") for name in CASES] + [("recurrent", "float32")])
def test_programs_that_jax_lowers(name: str, dtype: str) -> None:
    steps = {"powers": 40, "stacked": 70, "kalman": 12}.get(name, 24)
    with jax.enable_x64(dtype == "float64"):
        before, arrays = lowered(name, steps, dtype)
        longer, _ = lowered(name, steps + 5, dtype)
    after = before.optimize(["roll_loops"])
    assert size(after) < 0.7 * size(before)
    # Blocks may begin at another op, and a repetition be left over at an end.
    assert abs(size(longer.optimize(["roll_loops"])) - size(after)) <= 0.1 * size(after) + 20
    # XLA takes long for the unrolled program; the interpreter has no library calls.
    run = before.compile(optimize="none") if name == "kalman" else before.interpret
    expected, found = run(*arrays), after.compile(optimize="none")(*arrays)
    for one, other in zip(found, expected, strict=True):
        scale = 2e-4 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(one, other, rtol=scale, atol=scale * np.abs(np.asarray(other)).max())


@pytest.mark.parametrize("name", ["powers", "recurrent", "stacked"])
def test_bits_stay(name: str) -> None:
    """In the interpreter, which computes op by op."""
    before, arrays = lowered(name, 70 if name == "stacked" else 24, "float32")
    after = before.optimize(["roll_loops{reassociate=false}"])
    assert size(after) < 0.7 * size(before)
    for one, other in zip(after.interpret(*arrays), before.interpret(*arrays), strict=True):
        np.testing.assert_array_equal(one, other)


def graph(name: str, steps: int) -> tuple[Any, Any, dict[str, tuple[int, ...]], list[np.ndarray]]:
    """Inputs, outputs, sizes and values of a PyTensor graph."""
    if name == "recurrent":
        h, w, xs = pt.dmatrix("h"), pt.dmatrix("w"), pt.dtensor3("xs")
        last, total = h, 0.0
        for step in range(steps):
            last = pt.tanh(xs[step] + last @ w)
            total = total + (last**2).sum()
        shapes = {"h": (2, 3), "w": (3, 3), "xs": (steps, 2, 3)}
        return (h, w, xs), [total, *pt.grad(total, [w, xs])], shapes, [RNG.standard_normal(s) for s in shapes.values()]
    x, t = pt.dvector("x"), pt.dvector("t")
    last, out, parts = x[0], pt.zeros(steps), []
    for step in range(steps):
        last = pt.sin(last) + t[step] * x[1]
        out = pt.set_subtensor(out[step], last)
        parts.append(last * last)
    joined = pt.stack(parts)
    shapes = {"x": (2,), "t": (steps,)}
    outputs = [out, joined, *pt.grad((out * joined).sum(), [x, t])]
    return (x, t), outputs, shapes, [RNG.standard_normal(s) for s in shapes.values()]


@pytest.mark.parametrize("name", ["recurrent", "collected"])
def test_programs_that_hlograph_emits(name: str) -> None:
    inputs, outputs, shapes, arrays = graph(name, 70)
    before = hlograph.emit_stablehlo((inputs, outputs), dims=shapes)
    after = before.optimize(["roll_loops"])
    assert size(after) < 0.4 * size(before)
    for value in (0.5, np.inf, np.nan):
        arrays[-1].flat[20] = value
        for one, other in zip(after.interpret(*arrays), before.interpret(*arrays), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_the_order_of_the_ops_does_not_matter() -> None:
    """All slices first, then all products, then the chain; and the chain's ops as they come."""
    steps = 60
    slices = [f"%a{n} = stablehlo.slice %t [{n}:{n + 1}] : (tensor<60xf32>) -> tensor<1xf32>" for n in range(steps)]
    scalars = [f"%b{n} = stablehlo.reshape %a{n} : (tensor<1xf32>) -> tensor<f32>" for n in range(steps)]
    products = [f"%c{n} = stablehlo.multiply %b{n}, %b{n} : tensor<f32>" for n in range(steps)]
    sines = [f"%d{n} = stablehlo.sine {f'%e{n - 1}' if n else '%x'} : tensor<f32>" for n in range(steps)]
    chain = [f"%e{n} = stablehlo.multiply %d{n}, %c{n} : tensor<f32>" for n in range(steps)]
    more = [f"%f{n} = stablehlo.cosine %e{n} : tensor<f32>" for n in range(steps)]
    sums = [f"%g{n} = stablehlo.add {f'%g{n - 1}' if n else '%x'}, %f{n} : tensor<f32>" for n in range(steps)]
    rng = np.random.default_rng(1)
    # Any order that respects what ops read.
    stages = [slices, scalars, products]
    mixed = [line for stage in stages for line in rng.permutation(stage)]
    later = [line for pair in zip(sines, chain, strict=True) for line in pair]
    mixed += later + list(rng.permutation(more)) + sums
    text = "\n".join(mixed)
    program = Program.parse(
        f"func.func @main(%x: tensor<f32>, %t: tensor<60xf32>) -> tensor<f32> {{\n{text}\nreturn %g59 : tensor<f32>\n}}"
    )
    after = program.optimize(["roll_loops"])
    assert size(after) < 40
    arrays = np.float32(0.3), rng.standard_normal(60).astype(np.float32)
    np.testing.assert_allclose(after.interpret(*arrays)[0], program.interpret(*arrays)[0], rtol=1e-5)


def test_nothing_changes_where_nothing_repeats() -> None:
    rng = np.random.default_rng(0)
    names = ["%x"]
    for number in range(300):
        op = rng.choice(["sine", "cosine", "tanh", "exponential", "negate"])
        names.append(f"%v{number}")
        names[-1] += f" = stablehlo.{op} {names[-2].split(' ')[0]} : tensor<f32>"
    text = "\n".join(names[1:])
    program = Program.parse(
        f"func.func @main(%x: tensor<f32>) -> tensor<f32> {{\n{text}\nreturn %v299 : tensor<f32>\n}}"
    )
    assert str(program.optimize(["roll_loops"])) == str(program)


def test_functions_without_a_body_stay() -> None:
    program = Program.parse(
        "func.func private @outside(tensor<f32>) -> tensor<f32>\n"
        "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    )
    assert str(program.optimize(["roll_loops"])) == str(program)


# ---- unrolled loops in the body of a loop that stays a loop ----------------------------------------------------------


def unrolled(x: Any, t: Any) -> Any:
    for p in t:
        x = jnp.sin(x) * p + jnp.cos(x)
    return x


@pytest.mark.parametrize("inlined", [False, True])
def test_in_the_body_of_a_loop(inlined: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX calls a function there; with the call inlined, the loop's body itself is long."""

    def function(x: Any, t: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, y: unrolled(y, t) + i, x)

    monkeypatch.setattr(plan, "AGAIN", 0)
    arrays = np.float32(0.3), np.linspace(0, 1, 100, dtype=np.float32)
    before = parsed(function, *arrays)
    if inlined:
        before = before.optimize(["inline"])
    after = before.optimize(["roll_loops"])
    assert after.op_counts()["stablehlo.while"] == 2
    assert sum(after.op_counts().values()) < 0.5 * sum(before.op_counts().values())
    np.testing.assert_array_equal(after.interpret(*arrays)[0], before.interpret(*arrays)[0])


def test_unrolled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """An inner loop of 30 steps in each of 12 outer ones: a loop in a loop."""

    def function(x: Any, t: Any) -> Any:
        for step in range(12):
            x = jnp.tanh(unrolled(x, t)) + step
        return x

    monkeypatch.setattr(plan, "AGAIN", 0)
    arrays = np.float32(0.3), np.linspace(0, 1, 30, dtype=np.float32)
    before = parsed(function, *arrays)
    after = before.optimize(["roll_loops"])
    assert after.op_counts()["stablehlo.while"] == 2
    assert sum(after.op_counts().values()) < 0.15 * sum(before.op_counts().values())
    np.testing.assert_array_equal(after.interpret(*arrays)[0], before.interpret(*arrays)[0])


def test_a_short_body_that_runs_often_stays() -> None:
    arrays = np.float32(0.3), np.linspace(0, 1, 40, dtype=np.float32)
    before = parsed(lambda x, t: lax.fori_loop(0, 3, lambda i, y: unrolled(y, t), x), *arrays)
    assert str(before.optimize(["roll_loops"])) == str(before)
