"""Unrolled Python loops: `jax.jit` of the straight-line code, and the same lowered module through hlograph.

From the lowered module to the first result, and a call after that. Both get the module that JAX lowers: `jax.jit` hands
it to XLA, hlograph reads it as bytecode, runs its passes (`optimize="default"`), and hands that to XLA. JAX's compile
time grows faster than the loop, so it is asked only for the lengths that it can do in about a minute.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, compare, show

TITLE = "Unrolled loops: lowered module to first result, then a call"


@dataclass(frozen=True)
class Case:
    """A function whose Python loop JAX unrolls.

    Attributes:
        make: steps and dtype to the function and its arguments.
        steps: lengths for hlograph.
        by_jax: lengths for `jax.jit` too.
        first: what the seconds to the first result may be at most, by length.
    """

    make: Callable[[int, Any], tuple[Callable[..., Any], tuple[Any, ...]]]
    steps: tuple[int, ...]
    by_jax: tuple[int, ...]
    first: dict[int, float]


def polynomial(steps: int, dtype: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`for p in t: x *= p**2 - p**3 - p`: the value."""

    def function(x: Any, t: Any) -> Any:
        for i in range(steps):
            p = t[i]
            x = x * (p**2 - p**3 - p)
        return x

    return function, (np.ones((), dtype), np.full(steps, -0.682, dtype))


def polynomial_gradient(steps: int, dtype: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Its `jax.jacrev` by t."""
    import jax

    function, arguments = polynomial(steps, dtype)
    return jax.jacrev(function, argnums=1), arguments


def runge_kutta(steps: int, dtype: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The classical stepper on Lorenz' equations: the trajectory."""
    import jax.numpy as jnp

    def slope(y: Any) -> Any:
        return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    def function(y: Any, h: Any) -> Any:
        trajectory = []
        for _ in range(steps):
            a = slope(y)
            b = slope(y + h / 2 * a)
            c = slope(y + h / 2 * b)
            d = slope(y + h * c)
            y = y + h / 6 * (a + 2 * b + 2 * c + d)
            trajectory.append(y)
        return jnp.stack(trajectory)

    return function, (np.ones(3, dtype), np.asarray(1e-4, dtype))


def kalman(steps: int, dtype: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A Kalman filter of a local linear trend, one series: the log-likelihood and its gradient by the variances."""
    import jax
    import jax.numpy as jnp

    def function(log_variances: Any, series: Any) -> Any:
        transition, observation = jnp.array([[1, 1], [0, 1]], dtype), jnp.array([1, 0], dtype)
        noise = jnp.diag(jnp.exp(log_variances[:2]))
        mean, covariance, total = jnp.zeros(2, dtype), 10 * jnp.eye(2, dtype=dtype), jnp.zeros((), dtype)
        for t in range(steps):
            mean, covariance = transition @ mean, transition @ covariance @ transition.T + noise
            variance = observation @ covariance @ observation + jnp.exp(log_variances[2])
            residual = series[t] - observation @ mean
            gain = covariance @ observation / variance
            mean = mean + gain * residual
            covariance = covariance - jnp.outer(gain, observation @ covariance)
            total = total - 0.5 * (jnp.log(2 * jnp.pi * variance) + residual**2 / variance)
        return total

    series = np.random.default_rng(0).normal(size=steps).cumsum().astype(dtype)
    return jax.value_and_grad(function), (np.full(3, -1.0, dtype), series)


def recurrent(steps: int, dtype: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A recurrent net's loss over all steps, and its gradient by the weights."""
    import jax
    import jax.numpy as jnp

    def loss(parameters: Any, inputs: Any) -> Any:
        h, total = jnp.zeros((inputs.shape[1], parameters["w"].shape[0]), dtype), jnp.zeros((), dtype)
        for t in range(steps):
            h = jnp.tanh(h @ parameters["w"] + inputs[t] @ parameters["u"] + parameters["b"])
            total = total + jnp.mean(h**2)
        return total / steps

    rng = np.random.default_rng(0)
    parameters = {
        "w": (0.1 * rng.normal(size=(64, 64))).astype(dtype),
        "u": rng.normal(size=(16, 64)).astype(dtype),
        "b": np.zeros(64, dtype),
    }
    return jax.value_and_grad(loss), (parameters, rng.normal(size=(steps, 32, 16)).astype(dtype))


CASES = {
    "polynomial, value": Case(polynomial, (1000, 10000), (1000,), {1000: 2, 10000: 4}),
    "polynomial, jacrev": Case(polynomial_gradient, (100, 200, 1000, 10000), (100, 200), {1000: 2, 10000: 4}),
    "Runge-Kutta": Case(runge_kutta, (50, 500), (50,), {}),
    "Kalman filter with gradient": Case(kalman, (300,), (300,), {}),
    "recurrent net with gradient": Case(recurrent, (300,), (300,), {}),
}


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every case at every length; both types for the shorter ones."""
    report = Report(TITLE, ("function", "type", "steps", "jax.jit: first", "hlograph: first", "jax.jit", "hlograph"))
    for name, case in CASES.items():
        for steps in case.steps:
            if quick and steps > 200:
                continue
            for dtype in ("float32",) if steps > 1000 else ("float32", "float64"):
                _measure(report, name, case, steps, dtype, quick, lambda text: progress(text))
    return report


def _measure(
    report: Report, name: str, case: Case, steps: int, dtype: str, quick: bool, progress: Callable[[str], None]
) -> None:
    import jax

    import hlograph

    function, arguments = case.make(steps, np.dtype(dtype).type)
    leaves = jax.tree.leaves(arguments)
    what = f"{name}, {steps} steps, {dtype}"
    progress(f"{what}: tracing and lowering, by JAX")
    lowered = jax.jit(function).lower(*arguments)
    buffer = io.BytesIO()
    lowered.compiler_ir().operation.write_bytecode(buffer)

    progress(f"{what}: hlograph")
    start = time.perf_counter()
    compiled = hlograph.Program.parse(buffer.getvalue()).compile()
    jax.block_until_ready(compiled(*leaves))
    first = time.perf_counter() - start
    calls: dict[str, Callable[[], Any]] = {"hlograph": lambda: jax.block_until_ready(compiled(*leaves))}
    seconds = {"hlograph": first}
    if steps in case.by_jax:
        progress(f"{what}: jax.jit")
        start = time.perf_counter()
        executable = lowered.compile()
        jax.block_until_ready(executable(*arguments))
        seconds["jax.jit"] = time.perf_counter() - start
        calls["jax.jit"] = lambda: jax.block_until_ready(executable(*arguments))
        check_equal({who: jax.tree.leaves(call()) for who, call in calls.items()}, 1e-3 if dtype == "float32" else 1e-9)
    progress(f"{what}: calls")
    timings = compare(calls, "jax.jit" if "jax.jit" in calls else "hlograph", rounds=2 if quick else 15)

    def cell(who: str) -> str:
        return f"{show(timings[who].seconds, 'us')} ({timings[who].ratio:.2f})" if who in timings else "-"

    firsts = [show(seconds[who], "s") if who in seconds else "-" for who in ("jax.jit", "hlograph")]
    report.rows.append((name, dtype, f"{steps:,}", *firsts, cell("jax.jit"), cell("hlograph")))
    report.data.append({"case": name, "steps": steps, "dtype": dtype, "first": seconds, "call": {
        who: timing.seconds for who, timing in timings.items()}})  # fmt: skip
    if steps in case.first:
        report.targets.append(Target(f"{what}: seconds to the first result", first, case.first[steps]))
    if "jax.jit" in seconds:
        report.targets += [
            Target(f"{what}: to the first result, jax.jit by hlograph", seconds["jax.jit"] / first, 10, at_least=True),
            Target(f"{what}: a call, hlograph by jax.jit", timings["hlograph"].ratio, 1.2),
        ]
