"""A model with a matrix of 200 MB: emission, saving, loading, first call and a new size, as a constant and a parameter.

Each step runs in a process of its own, which says how long it took and the most memory that it had, less what a process
has that imported everything and made the array. Writing is in turn with writing the bytes of the matrix and no more.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Report, Target, run_child, show

ROWS = 1000
LIMIT = 1 << 20
MEGABYTES = 200
KINDS = ("constant", "parameter", "JAX function, constant", "JAX function, parameter")
STEPS = ("emit", "save", "load", "first call", "new size")
COLUMNS = ("the matrix is a", "writing alone", *STEPS, "memory to write", "memory to run")
WRITING, MEMORY = 3.0, 1.0


def _memory() -> float:
    """The most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _graph(kind: str, megabytes: int) -> tuple[np.ndarray, Callable[[int | None], Any]]:
    """The matrix, and what emits the program."""
    import hlograph

    weights = np.random.default_rng(0).standard_normal((ROWS, megabytes * 1_000_000 // (8 * ROWS)))
    if kind.startswith("JAX"):
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        spec = jax.ShapeDtypeStruct(("n", ROWS), "float64")

        def function(x: Any) -> Any:
            return jnp.tanh(x @ weights).sum()

        return weights, lambda limit: hlograph.emit_stablehlo(function, spec, parameter_limit=limit)
    import pytensor.tensor as pt

    x = pt.matrix("x")
    graph = [x], [pt.tanh(x @ pt.as_tensor(weights)).sum()]
    return weights, lambda limit: hlograph.emit_stablehlo(graph, dims={"x": ("n", ROWS)}, parameter_limit=limit)


def write(kind: str, path: Path, megabytes: int, rounds: int) -> dict[str, list[float]]:
    """Emission and saving, in this process; the first round is of the matrix's bytes alone."""
    limit = LIMIT if kind.endswith("parameter") else None
    parameters = "weights.safetensors" if limit else None
    _graph(kind, 1)[1](limit).save(path, parameters=parameters)
    weights, emit = _graph(kind, megabytes)
    before = _memory()
    times: dict[str, list[float]] = {"writing alone": [], "emit": [], "save": []}
    for number in range(rounds + 1):
        for file in path.parent.iterdir():
            file.unlink()
        started = time.perf_counter()
        with (path.parent / "bytes").open("wb") as stream:
            stream.write(weights.data)
        written = time.perf_counter()
        if number == 0:
            continue
        (path.parent / "bytes").unlink()
        begun = time.perf_counter()
        program = emit(limit)
        emitted = time.perf_counter()
        program.save(path, parameters=parameters)
        saved = time.perf_counter()
        for name, seconds in zip(times, (written - started, emitted - begun, saved - emitted), strict=True):
            times[name].append(seconds)
    return {**times, "memory to write": [_memory() - before]}


def read(kind: str, path: Path) -> dict[str, list[float]]:
    """Loading and calls, in this process."""
    import hlograph

    small = _graph(kind, 1)[1](None).compile()
    small(np.ones((2, ROWS)))
    before = _memory()
    started = time.perf_counter()
    fn = hlograph.load(path).compile()
    times = {"load": [time.perf_counter() - started]}
    for name, rows in (("first call", 3), ("new size", 4)):
        started = time.perf_counter()
        fn(np.ones((rows, ROWS))).block_until_ready()
        times[name] = [time.perf_counter() - started]
    return {**times, "memory to run": [_memory() - before]}


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """All steps in processes of their own."""
    report = Report(f"A matrix of {MEGABYTES} MB in a model, as a constant and as a parameter", COLUMNS)
    for kind in KINDS:
        rounds = 5 if kind.endswith("parameter") and not quick else 1
        with tempfile.TemporaryDirectory() as folder:
            found: dict[str, list[float]] = {}
            for step in ("write", "read"):
                progress(f"{kind}, {step}")
                found |= run_child(__file__, step, kind, folder, str(rounds))
        medians = {name: statistics.median(values) for name, values in found.items()}
        cells = [f"{medians[name]:,.0f} MB" if "memory" in name else show(medians[name], "s") for name in COLUMNS[1:]]
        report.rows.append((kind, *cells))
        report.data.append({"case": kind, **medians})
        if kind.endswith("parameter"):
            names = ("emit", "save", "writing alone")
            ratios = [(emit + save) / alone for emit, save, alone in zip(*(found[x] for x in names), strict=True)]
            ratio = statistics.median(ratios)
            report.targets.append(Target(f"{kind}: emission and saving by writing the bytes", ratio, WRITING))
            weights = medians["memory to write"] / MEGABYTES
            report.targets.append(Target(f"{kind}: memory to write by the matrix's", weights, MEMORY))
    return report


def step(what: str, kind: str, folder: str, rounds: str) -> None:
    """One step, in a child."""
    path = Path(folder, "model.mlirbc")
    found = write(kind, path, MEGABYTES, int(rounds)) if what == "write" else read(kind, path)
    print(json.dumps(found))


if __name__ == "__main__":
    step(*sys.argv[1:])
