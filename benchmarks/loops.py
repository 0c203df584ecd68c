"""Loops whose outputs are only reduced: JAX as written, the reduction moved in by hand, and `hlograph.jit`.

Time of a call and temporary memory of the executable (XLA's own account), in float32 and float64. The functions are
plain JAX, written the way one writes them; "by hand" carries the running sum through the scan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, compare, show

TITLE = "Loops whose outputs are only reduced: time and temporary memory"
STEPS, BATCH, WIDTH = 512, 64, 256
UNITS = 64  # of the recurrent cells


@dataclass(frozen=True)
class Case:
    """A function as written, perhaps with its reduction moved in by hand, and its arguments.

    Attributes:
        time: what the ratio of times to the one named may be at most.
        memory: the same of temporary memory.
        beside: "by hand" or "as written".
    """

    written: Callable[..., Any]
    arguments: tuple[Any, ...]
    hand: Callable[..., Any] | None = None
    time: float = 1.02
    memory: float = 1.01
    beside: str = "as written"


def squared_error(step: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The mean squared error of a scan's outputs, as written and by hand."""
    import jax
    import jax.numpy as jnp

    def written(h: Any, w: Any, data: Any) -> Any:
        def body(h: Any, _: Any) -> Any:
            h = step(h, w)
            return h, h

        outputs = jax.lax.scan(body, h, None, length=len(data))[1]
        return jnp.mean((outputs - data) ** 2)

    def hand(h: Any, w: Any, data: Any) -> Any:
        def body(carry: Any, y: Any) -> Any:
            h, total = carry
            h = step(h, w)
            return (h, total + jnp.sum((h - y) ** 2)), None

        return jax.lax.scan(body, (h, jnp.zeros((), h.dtype)), data)[0][1] / data.size

    return written, hand


def gru(parameters: dict[str, Any], h: Any, x: Any) -> Any:
    """One step of a gated recurrent unit: the new state, twice."""
    import jax
    import jax.numpy as jnp

    gates = jax.nn.sigmoid(x @ parameters["input"] + h @ parameters["state"] + parameters["bias"])
    update, reset = jnp.split(gates, 2, axis=-1)
    candidate = jnp.tanh(x @ parameters["candidate"] + (reset * h) @ parameters["candidate_state"])
    h = (1 - update) * h + update * candidate
    return h, h


def lstm(parameters: dict[str, Any], carry: Any, x: Any) -> Any:
    """One step of a long short-term memory: the new state, and its output."""
    import jax
    import jax.numpy as jnp

    h, c = carry
    gates = x @ parameters["input"] + h @ parameters["state"] + parameters["bias"]
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def training(step: Callable[..., Any], start: Callable[[Any], Any]) -> Callable[..., Any]:
    """Loss over all steps and its gradient by the parameters."""
    import jax
    import jax.numpy as jnp

    def loss(parameters: Any, inputs: Any, targets: Any) -> Any:
        zeros = jnp.zeros((inputs.shape[1], UNITS), inputs.dtype)
        outputs = jax.lax.scan(lambda carry, x: step(parameters, carry, x), start(zeros), inputs)[1]
        return jnp.mean((outputs - targets) ** 2)

    return jax.value_and_grad(loss)


def likelihood(parameters: Any, inputs: Any, targets: Any) -> Any:
    """A masked Gaussian log-likelihood of an autoregressive mean; targets that are not observed are NaN."""
    import jax
    import jax.numpy as jnp

    def step(h: Any, x: Any) -> Any:
        h = parameters * h + x
        return h, h

    mean = jax.lax.scan(step, jnp.zeros_like(inputs[0]), inputs)[1]
    seen = ~jnp.isnan(targets)
    return jnp.sum(jnp.where(seen, -0.5 * (jnp.where(seen, targets, 0) - mean) ** 2, 0))


def moments(h: Any, w: Any) -> Any:
    """Mean, variance, greatest value and logsumexp over time of one scan's outputs."""
    import jax
    import jax.numpy as jnp

    def step(h: Any, _: Any) -> Any:
        h = jnp.sin(h) * w + 0.1
        return h, h

    outputs = jax.lax.scan(step, h, None, length=STEPS)[1]
    return outputs.mean(0), outputs.var(0), outputs.max(0), jax.nn.logsumexp(outputs, axis=0)


def cases(dtype: Any) -> dict[str, Case]:
    """All cases, with arguments of one type."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)

    def random(*shape: int, scale: float = 1.0) -> Any:
        return jnp.asarray((scale * rng.normal(size=shape)).astype(dtype))

    state, weight, data = random(BATCH, WIDTH), random() * 0 + 0.5, random(STEPS, BATCH, WIDTH)
    written, hand = squared_error(lambda h, w: jnp.sin(h) * w + jnp.cos(h))
    cheap, cheap_hand = squared_error(lambda h, w: h * w + 0.1)
    inputs, targets = random(STEPS, BATCH, UNITS), random(STEPS, BATCH, UNITS)
    gru_parameters = {
        "input": random(UNITS, 2 * UNITS, scale=0.1),
        "state": random(UNITS, 2 * UNITS, scale=0.1),
        "bias": random(2 * UNITS),
        "candidate": random(UNITS, UNITS, scale=0.1),
        "candidate_state": random(UNITS, UNITS, scale=0.1),
    }
    lstm_parameters = {
        "input": random(UNITS, 4 * UNITS, scale=0.1),
        "state": random(UNITS, 4 * UNITS, scale=0.1),
        "bias": random(4 * UNITS),
    }
    observed = jnp.where(random(STEPS, BATCH, UNITS) > 0, targets, jnp.nan)
    return {
        "squared error": Case(written, (state, weight, data), hand, time=1.05, beside="by hand"),
        "squared error, cheap body": Case(cheap, (state, weight, data), cheap_hand, time=1 / 1.8, memory=0.1),
        "squared error with gradient": Case(
            jax.value_and_grad(written, argnums=(0, 1)), (state, weight, data), time=1.0, memory=0.6
        ),
        "GRU training step": Case(training(gru, lambda h: h), (gru_parameters, inputs, targets), time=1.0),
        "LSTM training step": Case(training(lstm, lambda h: (h, h)), (lstm_parameters, inputs, targets), time=1.0),
        "masked log-likelihood": Case(likelihood, (weight, inputs, observed)),
        "mean, variance, max, logsumexp": Case(moments, (state, weight)),
    }


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every case, in both types."""
    import jax

    import hlograph

    report = Report(TITLE, ("function", "type", "as written", "by hand", "hlograph.jit", "memory of the three, MB"))
    for dtype in ("float32", "float64"):
        for name, case in cases(dtype).items():
            progress(f"{name}, {dtype}")
            functions = {"as written": jax.jit(case.written)}
            if case.hand is not None:
                functions["by hand"] = jax.jit(case.hand)
            functions["hlograph.jit"] = hlograph.jit(case.written)
            memory = {}
            for who, function in functions.items():
                compiled = function.lower(*case.arguments).compile()
                memory[who] = compiled.memory_analysis().temp_size_in_bytes
            calls = {
                who: lambda function=function, case=case: jax.block_until_ready(function(*case.arguments))
                for who, function in functions.items()
            }
            tolerance = 2e-4 if dtype == "float32" else 1e-9
            check_equal({who: jax.tree.leaves(call()) for who, call in calls.items()}, tolerance)
            timings = compare(calls, case.beside, rounds=2 if quick else 15)
            cells = [f"{show(t.seconds, 'ms')} ({t.ratio:.2f})" for t in timings.values()]
            cells = cells if len(cells) == 3 else [cells[0], "-", cells[1]]
            sizes = ", ".join(f"{memory[who] / 1e6:.2f}" for who in functions)
            report.rows.append((name, dtype, *cells, sizes))
            report.data.append(
                {"case": name, "dtype": dtype}
                | {who: {"seconds": timings[who].seconds, "temporary bytes": memory[who]} for who in functions}
            )
            what = f"{name}, {dtype}, beside {case.beside}"
            ratio = memory["hlograph.jit"] / max(1, memory[case.beside])
            report.targets += [
                Target(f"{what}: time", timings["hlograph.jit"].ratio, case.time),
                Target(f"{what}: temporary memory", ratio, case.memory),
            ]
    return report
