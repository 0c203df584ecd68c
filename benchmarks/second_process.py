"""From a model to its first draw by nutpie, in a process after others: caches on disk are empty, or filled.

    python benchmarks/second_process.py hlograph radon        # one measurement, printed as JSON

Beside each other: hlograph with an empty and with a filled cache, Numba with the cache that PyTensor has for it, and
PyTensor's JAX mode with JAX's persistent compilation cache, both filled. The clock starts when all imports are done and
the model is there, and stops after the first draw; so does that of the processor.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness import Report, Target, run_child, show
from sampler_models import MODELS

TITLE = "A second process: from a model to nutpie's first draw, without imports (the processor's time)"
NAMES = ("radon", "item response", "mixture", "Gaussian process, 200")
WAYS = ("hlograph, empty", "hlograph", "Numba", "JAX")
LIMIT = 0.5  # seconds, with a filled cache


def main(way: str, name: str) -> None:
    """In a child: one way to the first draw."""
    import nutpie
    import pymc  # noqa: F401

    if way == "JAX":
        import jax.numpy  # noqa: F401

        options = {"backend": "jax", "gradient_backend": "pytensor"}
        build = nutpie.compile_pymc_model
    elif way == "Numba":
        options, build = {}, nutpie.compile_pymc_model
    else:
        import hlograph.nutpie

        options, build = {}, hlograph.nutpie.compile_pymc_model
    model = MODELS[name]()
    begun, worked = time.perf_counter(), time.process_time()
    compiled = build(model, **options)
    nutpie.sample(compiled, draws=1, tune=1, chains=1, progress_bar=False, seed=1)
    print(json.dumps({"whole": time.perf_counter() - begun, "worked": time.process_time() - worked}))


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """In the parent: all ways in turn, several times; medians."""
    report = Report(TITLE, ("model", *WAYS))
    rounds = 1 if quick else 5
    for name in NAMES[: 1 if quick else None]:
        found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        with tempfile.TemporaryDirectory() as folder:
            for number in range(rounds + 1):  # the first one fills the caches
                for way in WAYS:
                    progress(f"{name}: {way}, round {number} of {rounds}")
                    times = _child(way, name, folder)
                    if number:
                        found[way].append(times)
        medians = {way: {k: statistics.median(x[k] for x in items) for k in items[0]} for way, items in found.items()}
        report.rows.append((name, *(f"{show(m['whole'], 's')} ({show(m['worked'], 's')})" for m in medians.values())))
        report.data.append({"case": name, "ways": medians})
        report.targets.append(Target(f"{name}: seconds with a filled cache", medians["hlograph"]["whole"], LIMIT))
    return report


def _child(way: str, name: str, folder: str) -> dict[str, float]:
    """Runs this file in a process of its own, with caches in a folder."""
    unwanted = ("JAX_", "XLA_", "PYTHONDONTWRITEBYTECODE")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    environment |= {
        "HLOGRAPH_CACHE": "off" if way.endswith("empty") else str(Path(folder, "hlograph")),
        "JAX_COMPILATION_CACHE_DIR": str(Path(folder, "jax")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "PYTENSOR_FLAGS": f"base_compiledir={Path(folder, 'pytensor')}",
        "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "hlograph-bytecode")),
    }
    if way != "JAX":
        del environment["JAX_COMPILATION_CACHE_DIR"]
    times: dict[str, float] = run_child(__file__, way, name, environment=environment)
    return times


if __name__ == "__main__":
    main(*sys.argv[1:])
