"""1,000 calls with 1,000 lengths, value and gradient: one compile per bucket, beside `jax.jit`'s one per length.

Every call counts from its arguments to its results, compiles included. `jax.jit` is given every tenth of the same
lengths and its total is ten times as much: all of them would take it minutes, each length costs it about the same.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from harness import Report, Target, check_equal, show
from models import logistic_data, logistic_graph
from ragged import MODELS

TITLE = "1,000 lengths in 1..10,000, one call each (ratio to jax.jit)"
LONGEST = 10_000


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """The logistic likelihood as a PyTensor graph and in JAX, and the RNN in JAX."""
    import jax
    import jax.numpy as jnp

    import hlograph

    count, every = (60, 10) if quick else (1_000, 10)
    lengths = random.Random(0).sample(range(1, LONGEST + 1), count)
    report = Report(TITLE, ("model", "hlograph, total", "compiles", "jax.jit, total", "compiles", "jax.jit / hlograph"))
    logistic, rnn = MODELS["logistic8"], MODELS["rnn"]

    def value(X: Any, y: Any, weights: Any) -> Any:
        predictor = X @ weights
        return jnp.sum(y * predictor - jax.nn.softplus(predictor)) - 0.5 * jnp.sum(weights**2)

    data = logistic_data(LONGEST)
    cases: list[tuple[str, Any, Any, Callable[[int], list[Any]]]] = [
        (
            "logistic as a PyTensor graph, hlograph.function",
            hlograph.function(*logistic_graph()),
            jax.jit(jax.value_and_grad(value, argnums=2)),
            lambda n: [data[0][:n], data[1][:n], data[2]],
        )
    ]
    jit = 'hlograph.jit, policy="padded"'
    for model, name in ((logistic, f"logistic in JAX, {jit}"), (rnn, f"RNN in JAX, {jit}")):
        whole = model.make(LONGEST)
        parameters = list(model.parameters.values())
        function = model.function()
        cases.append(
            (
                name,
                hlograph.jit(function, dims=model.data, policy="padded"),
                jax.jit(function),
                lambda n, parameters=parameters, whole=whole: [*parameters, *[x[:n] for x in whole]],
            )
        )
    for name, ours, theirs, arguments in cases:
        taken = {"ours": 0.0, "theirs": 0.0}
        for number, length in enumerate(lengths):
            if number % 20 == 0:
                progress(f"{name}: length {number + 1:,} of {count:,}")
            given = arguments(length)
            start = time.perf_counter()
            found = jax.block_until_ready(ours(*given))
            taken["ours"] += time.perf_counter() - start
            if number % every == 0:
                start = time.perf_counter()
                expected = jax.block_until_ready(theirs(*given))
                taken["theirs"] += time.perf_counter() - start
                check_equal({"jax.jit": jax.tree.leaves(expected), "hlograph": jax.tree.leaves(found)}, rtol=1e-7)
        theirs_total = taken["theirs"] * every
        ratio, compiles = theirs_total / taken["ours"], ours.stats.compiles
        report.rows.append(
            (name, show(taken["ours"], "s"), str(compiles), show(theirs_total, "s"), str(count), f"{ratio:.1f}")
        )
        report.data.append({"case": name, "hlograph": taken["ours"], "jax.jit": theirs_total, "compiles": compiles})
        report.targets.append(Target(f"{name}: compiles", compiles, 40))
        report.targets.append(Target(f"{name}: total time of jax.jit / hlograph", ratio, 20, at_least=True))
    return report
