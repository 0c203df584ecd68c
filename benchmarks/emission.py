"""Emission: from chains of elementwise nodes to modules, beside JAX tracing and lowering the same chain.

One thread does all of the work and nothing overlaps, so what is measured is this thread's CPU time: on an idle machine
the same as the time that passes, on a shared one without the others' share.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Report, Target, show

TITLE = "Emission of a chain of elementwise nodes"


def chain(x: Any, length: int, tanh: Callable[[Any], Any], sin: Callable[[Any], Any]) -> Any:
    """`length` operations, one after the other."""
    steps = (lambda v: v + x, tanh, lambda v: v * x, sin)
    value = x
    for number in range(length):
        value = steps[number % 4](value)
    return value


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Times one emission after the other, interleaved with JAX's, and keeps the medians."""
    import jax
    import jax.numpy as jnp
    import pytensor.tensor as pt

    import hlograph

    report = Report(TITLE, ("nodes", "hlograph", "us per node", "ops per second", "jax.jit(f).lower, us per node"))
    x = pt.vector("x")
    spec = jax.ShapeDtypeStruct((8,), np.float64)
    rounds = 1 if quick else 5
    hlograph.emit_stablehlo(([x], [chain(x, 100, pt.tanh, pt.sin)]))
    lengths = (1_000, 10_000, 50_000)
    graphs = {n: ([x], [chain(x, n, pt.tanh, pt.sin)]) for n in lengths}
    ours: dict[int, list[float]] = {n: [] for n in lengths}
    theirs: dict[int, list[float]] = {n: [] for n in lengths}
    operations = {}
    for number in range(rounds):
        for n in lengths:
            progress(f"{n:,} nodes, round {number + 1} of {rounds}")
            for _ in range(50_000 // n if n < 10_000 else 1):  # the median of as much work for the short chain
                start = time.thread_time()
                program = hlograph.emit_stablehlo(graphs[n])
                ours[n].append(time.thread_time() - start)
            operations[n] = sum(program.op_counts().values())
            if number == 0 or n < 50_000:
                start = time.thread_time()
                jax.jit(lambda v, n=n: chain(v, n, jnp.tanh, jnp.sin)).lower(spec)
                theirs[n].append(time.thread_time() - start)
    per_node, rate = {}, {}
    for n in lengths:
        seconds, other = statistics.median(ours[n]), statistics.median(theirs[n])
        per_node[n], rate[n] = seconds / n, operations[n] / seconds
        cells = (show(seconds, "s"), f"{1e6 * per_node[n]:.1f}", f"{rate[n]:,.0f}", f"{1e6 * other / n:.1f}")
        report.rows.append((f"{n:,}", *cells))
        report.data.append({"nodes": n, "operations": operations[n], "hlograph": seconds, "jax lower": other})
    flatness = max(per_node.values()) / min(per_node.values())
    report.targets = [
        Target("StableHLO ops per second, slowest chain", min(rate.values()), 20_000, at_least=True),
        Target("time per node, largest over smallest", flatness, 1.5),
    ]
    return report
