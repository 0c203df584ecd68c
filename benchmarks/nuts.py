"""BlackJAX's NUTS on eight schools: hlograph's log-density, and the same formula written in JAX.

Step size and mass matrix come from one warm-up with the formula in JAX; then both sample from the same state with the
same keys, in turn. What counts is the effective sample size of the worst parameter per second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Report, Target, Timing
from models import MODELS

TITLE = "BlackJAX NUTS, eight schools (ratio of effective samples a second to the formula in JAX)"
PEERS = ("hlograph", "JAX")


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Several chains of each, in turn; medians."""
    import blackjax
    import jax

    import hlograph

    model = MODELS["schools"]
    y, sigma, mu, log_tau, theta = model.data(model.rows)
    inputs, (value, *_) = model.graph()
    start = {"mu": mu, "log_tau": log_tau, "theta": theta}

    def density(function: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda at: function(y, sigma, at["mu"], at["log_tau"], at["theta"])

    densities = {"hlograph": density(hlograph.function(inputs, value)), "JAX": density(model.value)}
    progress("warm-up")
    warmup = blackjax.window_adaptation(blackjax.nuts, densities["JAX"])
    (state, parameters), _ = warmup.run(jax.random.key(0), start, num_steps=200 if quick else 1000)
    draws = 200 if quick else 4000

    def sampler(logdensity: Callable[[Any], Any]) -> Callable[[Any], Any]:
        kernel = blackjax.nuts(logdensity, **parameters)

        def chain(key: Any) -> Any:
            def step(state: Any, key: Any) -> Any:
                state, info = kernel.step(key, state)
                return state, (state.position, info.num_integration_steps)

            return jax.lax.scan(step, kernel.init(state.position), jax.random.split(key, draws))[1]

        return jax.jit(chain)

    samplers = {peer: sampler(logdensity) for peer, logdensity in densities.items()}
    rates: dict[str, list[float]] = {peer: [] for peer in PEERS}
    seconds: dict[str, list[float]] = {peer: [] for peer in PEERS}
    for number in range(2 if quick else 41):  # the first one compiles
        for peer in PEERS if number % 2 else PEERS[::-1]:
            progress(f"chain {number}: {peer}")
            began = time.perf_counter()
            positions, _ = jax.block_until_ready(samplers[peer](jax.random.key(number)))
            took = time.perf_counter() - began
            if number:
                seconds[peer].append(took)
                rates[peer].append(effective(positions) / took)
    medians = {peer: statistics.median(values) for peer, values in rates.items()}
    report = Report(TITLE, ("draws", *PEERS))
    timings = {p: Timing(statistics.median(seconds[p]), medians[p] / medians["JAX"]) for p in PEERS}
    report.add(f"{draws} draws", timings, "ms")
    report.data[-1]["effective samples a second"] = medians
    ratio = timings["hlograph"].ratio
    report.targets.append(Target("effective samples a second, ratio to the formula in JAX", ratio, 0.95, at_least=True))
    return report


def effective(positions: Any) -> float:
    """Effective sample size of the worst parameter, over the two halves of a chain."""
    import blackjax.diagnostics
    import jax

    worst = np.inf
    for values in jax.tree.leaves(positions):
        halves = np.asarray(values).reshape(2, -1, *np.shape(values)[1:])
        worst = min(worst, float(np.min(blackjax.diagnostics.effective_sample_size(halves))))
    return worst
