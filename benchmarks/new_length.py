"""A length not seen before, under the exact policy: specialize and compile, beside `jax.jit` tracing and compiling."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from harness import Report, Timing, check_equal
from models import MODELS, PEERS, by_hlograph, by_jax, by_pytensor_jax

TITLE = "First call with a new length (ratio to jax.jit)"


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Each length once for each peer, in turn; medians."""
    import jax

    report = Report(TITLE, ("model", *PEERS[:3]))
    for model in MODELS.values():
        functions = {
            "hlograph": by_hlograph(*model.graph(), policy="exact"),
            "jax.jit": by_jax(model),
            "PyTensor JAX": by_pytensor_jax(*model.graph()),
        }
        samples: dict[str, list[float]] = {name: [] for name in functions}
        names = list(functions)
        for number in range(3 if quick else 25):
            progress(f"{model.name}: length {number + 1}")
            arguments = model.data(100 + number)
            results = {}
            for name in names[number % 3 :] + names[: number % 3]:
                start = time.perf_counter()
                results[name] = jax.block_until_ready(functions[name](*arguments))
                samples[name].append(time.perf_counter() - start)
            check_equal(results)
        medians = {name: statistics.median(values[1:]) for name, values in samples.items()}
        timings = {name: Timing(seconds, seconds / medians["jax.jit"]) for name, seconds in medians.items()}
        report.add(f"{model.name}, 100 rows and more", timings, "ms")
    return report
