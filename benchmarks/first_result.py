"""From a graph to its first result, each time in a fresh process with empty caches.

    python benchmarks/first_result.py hlograph logistic out.npz     # one measurement, printed as JSON

The graph (with its gradient) is there when the clock starts; it stops when all outputs are NumPy arrays. For `jax.jit`
there is no graph: the clock starts at the Python function. Imports are measured apart.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import Report, Target, Timing, check_equal, empty_caches, run_child, show
from models import GRAPH_PEERS, JAX_GRAD, MODELS, PEERS, by_jax, by_jax_grad

TITLE = "Graph to first result, fresh processes (ratio to PyTensor JAX)"


def measure(peer: str, model_name: str, output: str) -> dict[str, float]:
    """In the child: one peer, one model."""
    model = MODELS[model_name]
    data = model.data(model.rows)
    start = time.perf_counter()
    if peer != "jax.jit":
        import pytensor.sparse  # which PyTensor's rewrites import when they first run, unless the mode has already
        import pytensor.tensor
    if peer == "PyTensor Numba":
        import numba  # noqa: F401
        import pytensor.link.numba.dispatch
    else:
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.devices()  # the client starts
    if peer == "PyTensor JAX":
        import pytensor.link.jax.dispatch  # noqa: F401
    if peer in ("hlograph", JAX_GRAD):
        import hlograph

        _ = hlograph.emit_stablehlo, hlograph.function
    imported = time.perf_counter()
    graph = model.graph() if peer in GRAPH_PEERS else None
    built = time.perf_counter()
    by_model = {"jax.jit": by_jax, JAX_GRAD: by_jax_grad}
    call = by_model[peer](model) if graph is None else GRAPH_PEERS[peer](*graph)
    results = [np.asarray(x) for x in call(*data)]
    done = time.perf_counter()
    np.savez(output, *results)
    return {"import": imported - start, "graph": built - imported, "first": done - built}


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """In the parent: all peers in turn, several times; medians."""
    peers = (PEERS[0], JAX_GRAD, *PEERS[1:])
    report = Report(TITLE, ("model", *peers))
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        for name, model in MODELS.items():
            found: dict[str, list[dict[str, float]]] = {peer: [] for peer in peers}
            values = {}
            for number in range(rounds):
                for peer in peers:
                    progress(f"{model.name}: {peer}, round {number + 1} of {rounds}")
                    with tempfile.TemporaryDirectory(dir=folder) as empty:
                        output = Path(empty, "values.npz")
                        found[peer].append(
                            run_child(__file__, peer, name, str(output), environment=empty_caches(empty))
                        )
                        values[peer] = list(np.load(output).values())
            check_equal(values)
            medians = {
                peer: {key: statistics.median(x[key] for x in items) for key in items[0]}
                for peer, items in found.items()
            }
            jax_mode = medians["PyTensor JAX"]["first"]
            timings = {peer: Timing(m["first"], m["first"] / jax_mode) for peer, m in medians.items()}
            report.add(f"{model.name} ({model.sizes})", timings, "s")
            report.data[-1]["parts"] = medians
            for peer in peers[:2]:
                report.targets.append(Target(f"{model.name}: {peer}, ratio to PyTensor JAX", timings[peer].ratio, 0.7))
    imports = [show(medians[peer]["import"], "s") for peer in peers]
    report.rows.append(("imports, not included", *imports))
    return report


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
