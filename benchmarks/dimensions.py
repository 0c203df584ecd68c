"""Dimensions of shape programs of 500 steps, and of forty nested differences: this thread's CPU time."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from harness import Report, Target, show

sys.path.append(str(Path(__file__).parent.parent / "tests"))

TITLE = "Dimensions of long shape programs"
STEPS = 500


def seconds_per_step(seed: int) -> tuple[float, float]:
    """Of a random program (slices, differences, concatenations, strides, rolls, reshapes): the mean and the most.

    A step makes a length, compares it with the one before, and writes it as text.
    """
    from shape_programs import ROOTS, SIZES, random_step, with_lengths

    random = Random(seed)
    lengths = [ROOTS[name] for name in SIZES]
    times = []
    for _ in range(STEPS):
        tree, (a, b) = random_step(random, len(lengths))
        start = time.thread_time()
        length = with_lengths(tree, lengths[a], lengths[b])
        hash(length), length == lengths[a], str(length)
        times.append(time.thread_time() - start)
        lengths.append(length)
    return sum(times) / STEPS, max(times)


def forty_differences() -> float:
    """Seconds to emit `pt.diff(x, n=40)`."""
    import pytensor.tensor as pt

    import hlograph

    x = pt.vector("x")
    graph = ([x], [pt.diff(x, n=40)])
    hlograph.emit_stablehlo(([x], [pt.diff(x, n=2)]))
    start = time.thread_time()
    hlograph.emit_stablehlo(graph)
    return time.thread_time() - start


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Measures random programs one by one."""
    report = Report(TITLE, ("program", "mean of a step", "slowest step"))
    means = []
    gc.collect()
    gc.freeze()  # what JAX and PyTensor keep shall not be searched
    for seed in range(10 if quick else 100):
        progress(f"program {seed}")
        mean, slowest = seconds_per_step(seed)
        means.append((mean, slowest, seed))
        report.data.append({"seed": seed, "mean": mean, "slowest": slowest})
    for mean, slowest, seed in sorted(means, reverse=True)[:5]:
        report.rows.append((f"seed {seed}", show(mean, "ms"), show(slowest, "ms")))
    average = sum(mean for mean, _, _ in means) / len(means)
    report.rows.append(("all", show(average, "ms"), show(max(slowest for _, slowest, _ in means), "ms")))
    seconds = forty_differences()
    report.rows.append(("forty differences, emitted", show(seconds, "s"), ""))
    report.data.append({"forty differences": seconds})
    report.targets = [
        Target("a step of a program of 500, ms", 1e3 * max(mean for mean, _, _ in means), 1),
        Target("forty differences, seconds", seconds, 2),
    ]
    return report
