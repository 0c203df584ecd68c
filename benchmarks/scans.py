"""Time series and recurrences as PyTensor's Scan: value and gradient, NumPy arrays in and out, float64.

The same graph in hlograph's mode and in PyTensor's JAX mode, beside `jax.jit` of `jax.value_and_grad` of the loop by
hand with `lax.scan`. The JAX mode compiles gradients of a Scan only where all shapes are known to the types, so they
are. The LSTM is not for it ("abstract tracer value", in a split). First results are from the graph to the first value.
Without `--quick` also PyTensor's Numba mode, which takes up to a minute to compile one. Memory is what the executable
allocates beside arguments and results. The last rows are of a `while` scan that ends long before its greatest number of
steps, beside one that may do no more, and of the time to a first result with a hundred times the steps.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Report, Target, Timing, check_equal, compare, settle, show

TITLE = "Scans (ratio to PyTensor's JAX mode)"
HLOGRAPH, JAX_MODE, BY_HAND, NUMBA = "hlograph", "JAX mode", "jax.jit", "Numba"
RATIO = 0.6  # of the JAX mode, geometric mean
FIRST = 0.5


@dataclass(frozen=True)
class Model:
    """A loss of data and parameters, twice.

    Attributes:
        loss: of PyTensor variables.
        by_hand: of JAX arrays.
        data: first argument.
        parameters: second argument, by which the gradient is taken.
        in_jax_mode: whether PyTensor's JAX mode compiles it.
    """

    loss: Callable[[Any, Any], Any]
    by_hand: Callable[[Any, Any], Any]
    data: np.ndarray
    parameters: np.ndarray
    in_jax_mode: bool = True


def _scan(*args: Any, **options: Any) -> Any:
    import pytensor

    return pytensor.scan(*args, return_updates=False, **options)


def autoregression() -> Model:
    """An AR(2) process driven by noise, 10,000 steps."""
    import jax
    import jax.numpy as jnp
    import pytensor.tensor as pt

    def loss(noise: Any, rho: Any) -> Any:
        start = {"initial": pt.zeros(2, "float64"), "taps": [-1, -2]}
        return (_scan(lambda e, a, b: e + rho[0] * a + rho[1] * b, sequences=noise, outputs_info=start) ** 2).sum()

    def by_hand(noise: Any, rho: Any) -> Any:
        def step(carry: Any, e: Any) -> Any:
            new = e + rho[0] * carry[0] + rho[1] * carry[1]
            return (new, carry[0]), new

        return (jax.lax.scan(step, (0.0, 0.0), noise)[1] ** 2).sum()

    del jnp
    return Model(loss, by_hand, np.random.default_rng(0).normal(size=10_000), np.array([0.3, 0.2]))


def garch() -> Model:
    """GARCH(1, 1), 2,000 steps."""
    import jax
    import jax.numpy as jnp
    import pytensor.tensor as pt

    def loss(y: Any, p: Any) -> Any:
        one = pt.constant(np.float64(1))
        h = _scan(lambda e, h: p[0] + p[1] * e**2 + p[2] * h, sequences=y, outputs_info=one)
        return (-0.5 * (pt.log(h) + y**2 / h)).sum()

    def by_hand(y: Any, p: Any) -> Any:
        def step(h: Any, e: Any) -> Any:
            h = p[0] + p[1] * e**2 + p[2] * h
            return h, h

        h = jax.lax.scan(step, 1.0, y)[1]
        return (-0.5 * (jnp.log(h) + y**2 / h)).sum()

    return Model(loss, by_hand, np.random.default_rng(1).normal(size=2_000), np.array([0.1, 0.1, 0.8]))


def hidden_markov() -> Model:
    """The forward algorithm in logarithms, 1,000 steps, 5 states."""
    import jax
    import jax.numpy as jnp
    import pytensor.tensor as pt

    def loss(seen: Any, moves: Any) -> Any:
        def step(row: Any, a: Any) -> Any:
            return row + pt.logsumexp(a[:, None] + moves, axis=0)

        return pt.logsumexp(_scan(step, sequences=seen, outputs_info=pt.zeros(5, "float64"))[-1])

    def by_hand(seen: Any, moves: Any) -> Any:
        def step(a: Any, row: Any) -> Any:
            return row + jax.nn.logsumexp(a[:, None] + moves, axis=0), None

        return jax.nn.logsumexp(jax.lax.scan(step, jnp.zeros(5), seen)[0])

    rng = np.random.default_rng(2)
    return Model(loss, by_hand, rng.normal(size=(1_000, 5)), np.log(rng.dirichlet(np.ones(5), 5)))


def kalman() -> Model:
    """A Kalman filter's log-likelihood, 500 steps, 4 states."""
    import jax
    import jax.numpy as jnp
    import pytensor.tensor as pt

    seen, unit = np.eye(4)[:1], np.eye(4)

    def update(outer: Any, log: Any, y: Any, m: Any, p: Any, moves: Any) -> Any:
        m, p = moves @ m, moves @ p @ moves.T + 0.1 * unit
        s, v = (seen @ p @ seen.T)[0, 0] + 0.5, y - (seen @ m)[0]
        gain = (p @ seen.T)[:, 0] / s
        return m + gain * v, p - outer(gain, (seen @ p)[0]), -0.5 * (log(s) + v**2 / s)

    def loss(y: Any, moves: Any) -> Any:
        start = [pt.zeros(4, "float64"), pt.constant(unit), None]
        step = lambda y, m, p: update(pt.outer, pt.log, y, m, p, moves)  # noqa: E731
        return _scan(step, sequences=y, outputs_info=start)[2].sum()

    def by_hand(y: Any, moves: Any) -> Any:
        def step(carry: Any, y: Any) -> Any:
            m, p, likelihood = update(jnp.outer, jnp.log, y, *carry, moves)
            return (m, p), likelihood

        return jax.lax.scan(step, (jnp.zeros(4), jnp.asarray(unit)), y)[1].sum()

    return Model(loss, by_hand, np.random.default_rng(3).normal(size=500), 0.5 * unit + 0.1)


def nested() -> Model:
    """A scan over 100 rows in each step of which another runs over 20 columns."""
    import jax
    import jax.numpy as jnp
    import pytensor.tensor as pt

    def loss(x: Any, w: Any) -> Any:
        def of_row(row: Any, total: Any) -> Any:
            zero = pt.constant(np.float64(0))
            return total + _scan(lambda e, s: pt.tanh(e * w[0] + s * w[1]), sequences=row, outputs_info=zero)[-1]

        return _scan(of_row, sequences=x, outputs_info=pt.constant(np.float64(0)))[-1] ** 2

    def by_hand(x: Any, w: Any) -> Any:
        def of_row(total: Any, row: Any) -> Any:
            last, _ = jax.lax.scan(lambda s, e: (jnp.tanh(e * w[0] + s * w[1]), None), 0.0, row)
            return total + last, None

        return jax.lax.scan(of_row, 0.0, x)[0] ** 2

    return Model(loss, by_hand, np.random.default_rng(4).normal(size=(100, 20)), np.array([0.5, 0.3]))


def lstm() -> Model:
    """An LSTM, 512 steps of 64 units."""
    import jax
    import jax.numpy as jnp
    import pytensor.tensor as pt

    def cell(join: Any, sigmoid: Any, tanh: Any, x: Any, h: Any, c: Any, w: Any) -> Any:
        z = join([x, h]) @ w
        c = sigmoid(z[64:128]) * c + sigmoid(z[:64]) * tanh(z[192:])
        return sigmoid(z[128:192]) * tanh(c), c

    def loss(x: Any, w: Any) -> Any:
        step = lambda x, h, c: cell(pt.concatenate, pt.sigmoid, pt.tanh, x, h, c, w)  # noqa: E731
        return (_scan(step, sequences=x, outputs_info=[pt.zeros(64, "float64")] * 2)[0] ** 2).sum()

    def by_hand(x: Any, w: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, c = cell(jnp.concatenate, jax.nn.sigmoid, jnp.tanh, x, *carry, w)
            return (h, c), h

        return (jax.lax.scan(step, (jnp.zeros(64), jnp.zeros(64)), x)[1] ** 2).sum()

    rng = np.random.default_rng(5)
    return Model(loss, by_hand, rng.normal(size=(512, 64)), 0.1 * rng.normal(size=(128, 256)), in_jax_mode=False)


MODELS = {
    "AR(2), 10,000 steps": autoregression,
    "GARCH(1, 1), 2,000 steps": garch,
    "HMM, 1,000 steps": hidden_markov,
    "Kalman, 500 steps": kalman,
    "nested, 100 x 20 steps": nested,
    "LSTM, 512 steps": lstm,
}


def _in_mode(mode: Any, arguments: Any, graph: Any, values: Any) -> tuple[Any, float]:
    """The function compiled by a mode, and the seconds to its first results."""
    import pytensor

    started = time.perf_counter()
    function = pytensor.function(arguments, graph, mode=mode)
    function(*values)
    return function, time.perf_counter() - started


def _memory(compiled: Any) -> int:
    return int(compiled.memory_analysis().temp_size_in_bytes)


def _ends_early(report: Report, quick: bool) -> None:
    """A fixed point by a scan that ends when it is reached."""
    import pytensor.tensor as pt
    from pytensor.scan.utils import until

    import hlograph

    x, most = pt.dvector("x"), pt.lscalar("most")

    def step(z: Any) -> Any:
        new = pt.cos(z) * x
        return new, until(pt.max(pt.abs(new - z)) < 1e-10)

    point = _scan(step, outputs_info=pt.zeros_like(x), n_steps=most)[-1]
    fn = hlograph.function([x, most], point)
    values = np.linspace(0.1, 0.6, 16)
    calls = {f"at most {count:,} steps": (lambda count=count: fn(values, count)) for count in (100, 1_000_000)}
    check_equal({label: [call()] for label, call in calls.items()}, rtol=0)
    first, second = calls
    ratio = compare(calls, first, rounds=3 if quick else 10)[second].ratio
    report.targets.append(
        Target("ends after some 40 steps: at most a million of them to at most a hundred", ratio, 1.1)
    )


def _first_of_many_steps(report: Report) -> None:
    """Seconds to a first result do not grow with the number of steps."""
    import pytensor
    import pytensor.tensor as pt

    import hlograph

    seconds = []
    for count in (1_000, 100_000):
        model = autoregression()
        noise, rho = pt.tensor(shape=(count,), dtype="float64"), pt.tensor(shape=(2,), dtype="float64")
        loss = model.loss(noise, rho)
        values = (np.resize(model.data, count), model.parameters)
        graph = [loss, pytensor.grad(loss, rho)]
        seconds.append(min(_in_mode(hlograph.Mode(), [noise, rho], graph, values)[1] for _ in range(3)))
    report.targets.append(Target("AR(2), first result of 100,000 steps to 1,000", seconds[1] / seconds[0], 1.2))


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every model."""
    import jax
    import pytensor
    import pytensor.tensor as pt

    import hlograph.pytensor

    labels = (HLOGRAPH, JAX_MODE, BY_HAND) if quick else (HLOGRAPH, JAX_MODE, BY_HAND, NUMBA)
    report = Report(TITLE, ("model", *labels, "first", f"first, {JAX_MODE}", "memory", f"memory, {BY_HAND}"))
    ratios = []
    for name, make in MODELS.items():
        model = make()
        values = (model.data, model.parameters)
        arguments = [pt.tensor(shape=x.shape, dtype="float64") for x in values]
        loss = model.loss(*arguments)
        graph = [loss, pytensor.grad(loss, arguments[1])]
        progress(f"{name}: compiling")
        functions, first = {}, {}
        for label, mode in ((HLOGRAPH, hlograph.Mode()), (JAX_MODE, "JAX"), (NUMBA, "NUMBA")):
            if label in labels and (label != JAX_MODE or model.in_jax_mode):
                functions[label], first[label] = _in_mode(mode, arguments, graph, values)
        by_hand = jax.jit(jax.value_and_grad(model.by_hand, argnums=1))
        calls: dict[str, Callable[[], Any]] = {
            label: (lambda f=function, values=values: [np.asarray(x) for x in f(*values)])
            for label, function in functions.items()
        }
        calls[BY_HAND] = lambda f=by_hand, values=values: [np.asarray(x) for x in f(*values)]
        settle(functions[HLOGRAPH].vm.function, calls[HLOGRAPH])
        check_equal({label: call() for label, call in calls.items()}, rtol=1e-6)
        own = hlograph.function(arguments, graph)
        memory = [_memory(own.lower(*values).compile()), _memory(by_hand.lower(*values).compile())]
        progress(f"{name}: calls")
        baseline = JAX_MODE if model.in_jax_mode else BY_HAND
        timings: dict[str, Timing] = compare(calls, baseline, rounds=3 if quick else 10)
        report.rows.append(
            (
                name,
                *[
                    f"{show(timings[label].seconds, 'us')} ({timings[label].ratio:.2f})" if label in timings else "-"
                    for label in labels
                ],
                *[f"{first[label]:.2f} s" if label in first else "-" for label in (HLOGRAPH, JAX_MODE)],
                *[f"{size / 1000:.0f} kB" for size in memory],
            )
        )
        seconds = {label: timing.seconds for label, timing in timings.items()}
        report.data.append({"model": name, "seconds": seconds, "first": first, "memory": memory})
        for label in (BY_HAND, NUMBA):
            if label in seconds:
                report.targets.append(Target(f"{name}: ratio to {label}", seconds[HLOGRAPH] / seconds[label], 1.0))
        report.targets.append(Target(f"{name}: memory, ratio to {BY_HAND}", memory[0] / memory[1], 1.0))
        if model.in_jax_mode:
            ratios.append(timings[HLOGRAPH].ratio)
            report.targets.append(Target(f"{name}: ratio to the {JAX_MODE}", timings[HLOGRAPH].ratio, 1.0))
            report.targets.append(Target(f"{name}: first result", first[HLOGRAPH] / first[JAX_MODE], FIRST))
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    report.targets.append(Target(f"geometric mean over {len(ratios)} models: ratio to the {JAX_MODE}", mean, RATIO))
    progress("a scan that ends early")
    _ends_early(report, quick)
    progress("many steps")
    _first_of_many_steps(report)
    return report
