"""Rewriting before the lowering: none, hlograph's selection, and PyTensor's own in full.

From a graph to its first result, split into rewriting and the rest, and a later call, for the models, for the value and
gradient of an unrolled loop, `for p in t: x = x * (p**2 - p**3 - p)`, and for those of scans. One thread does the
rewriting, so its CPU time is what counts.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Report, check_equal, show
from models import MODELS
from scans import MODELS as SCANS

TITLE = "Rewriting: CPU time, graph to first result, a call"
KINDS: dict[str, Any] = {"none": False, "selection": True, "full": "full"}


def loop_graph(steps: int) -> tuple[list[Any], list[Any]]:
    """The unrolled loop and its gradient by t."""
    import pytensor
    import pytensor.tensor as pt

    t, x = pt.vector("t"), pt.scalar("x")
    value = x
    for step in range(steps):
        p = t[step]
        value = value * (p**2 - p**3 - p)
    return [t, x], [value, pytensor.grad(value, t)]


def scan_graph(model: Any) -> tuple[list[Any], list[Any]]:
    """A scan's loss and its gradient by the parameters; sizes are open."""
    import pytensor
    import pytensor.tensor as pt

    inputs = [pt.tensor(shape=(None,) * x.ndim, dtype="float64") for x in (model.data, model.parameters)]
    loss = model.loss(*inputs)
    return inputs, [loss, pytensor.grad(loss, inputs[1])]


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every kind on every graph in turn; medians. The full rewriting of a long loop takes minutes and is left out."""
    from hlograph.dialects.library import library

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 100_000))  # for `pytensor.grad` of the loop
    rewrites = library("pytensor").rewrites
    report = Report(
        TITLE, ("graph", *(f"{kind}: {what}" for kind in KINDS for what in ("rewriting", "first result", "call")))
    )
    cases = {f"{m.name} ({m.sizes})": (m.graph, m.data(m.rows)) for m in MODELS.values()}
    steps = (20,) if quick else (100, 300, 1000)
    cases |= {f"loop, {n} steps": (lambda n=n: loop_graph(n), [np.full(n, 1.5), np.array(1.0)]) for n in steps}
    scans = {name: make() for name, make in SCANS.items()}
    cases |= {name: (lambda m=m: scan_graph(m), [m.data, m.parameters]) for name, m in scans.items()}
    for name, (make, data) in cases.items():
        kinds = {kind: how for kind, how in KINDS.items() if kind != "full" or not name.startswith("loop") or quick}
        seconds: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in kinds}
        values: dict[str, list[np.ndarray]] = {}
        inputs, outputs = make()
        for number in range(1 if quick or name.startswith("loop") else 5):
            for kind, how in kinds.items():
                progress(f"{name}: {kind}, round {number + 1}")
                seconds[kind].append(_measure(rewrites, inputs, outputs, how, data, values.setdefault(kind, [])))
        check_equal(values)
        medians = {kind: [statistics.median(x) for x in zip(*found, strict=True)] for kind, found in seconds.items()}
        cells = [
            show(medians[k][i], unit) if k in medians else "-"
            for k in KINDS
            for i, unit in enumerate(("ms", "s", "us"))
        ]
        report.rows.append((name, *cells))
        report.data.append(
            {"case": name} | {k: {"rewriting": r, "first": f, "call": c} for k, (r, f, c) in medians.items()}
        )
    return report


def _measure(
    rewrites: Any, inputs: list[Any], outputs: list[Any], how: Any, data: list[np.ndarray], values: list[np.ndarray]
) -> tuple[float, float, float]:
    """Seconds of rewriting, to the first result, and of a later call; the result goes into `values`."""
    import jax

    import hlograph

    jax.clear_caches()
    start, cpu = time.perf_counter(), time.thread_time()
    graph = rewrites.apply(inputs, outputs, how) if how else (inputs, outputs)
    rewriting = time.thread_time() - cpu
    compiled = hlograph.emit_stablehlo(tuple(graph)).compile()
    values[:] = [np.asarray(x) for x in compiled(*data)]
    first = time.perf_counter() - start
    calls = []
    for _ in range(30):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*data))
        calls.append(time.perf_counter() - start)
    return rewriting, first, statistics.median(calls)
