"""A model with a large matrix: emission, saving, loading, first call and a new size, with and without parameters.

    python benchmarks/parameters.py --megabytes 200

Each step runs in a process of its own, which says how long it took and the most memory that it had, less what a process
has that imported everything and made the array. Beside it: what writing the bytes of the matrix takes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROWS = 1000
LIMIT = 1 << 20


def _memory() -> float:
    """The most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _graph(megabytes: int):  # type: ignore[no-untyped-def]
    import pytensor.tensor as pt

    weights = np.random.default_rng(0).standard_normal((ROWS, megabytes * 1_000_000 // (8 * ROWS)))
    x = pt.matrix("x")
    return [x], [pt.tanh(x @ pt.as_tensor(weights)).sum()]


def step(what: str, how: str, folder: Path, megabytes: int) -> dict[str, float]:
    """One step in this process."""
    import hlograph

    path = folder / f"model-{how}.mlirbc"
    outside = how == "parameters"
    times: dict[str, float] = {}

    def timed(name: str, started: float) -> None:
        times[name] = time.perf_counter() - started

    if what == "write":
        graph = _graph(megabytes)
        hlograph.emit_stablehlo(_graph(1), dims={"x": ("n", ROWS)})
        before = _memory()
        started = time.perf_counter()
        program = hlograph.emit_stablehlo(graph, dims={"x": ("n", ROWS)}, parameter_limit=LIMIT if outside else None)
        timed("emit", started)
        started = time.perf_counter()
        program.save(path, parameters="weights.safetensors" if outside else None)
        timed("save", started)
    else:
        small = hlograph.emit_stablehlo(_graph(1), dims={"x": ("n", ROWS)}).compile()
        small(np.ones((2, ROWS)))
        before = _memory()
        started = time.perf_counter()
        fn = hlograph.load(path).compile()
        timed("load", started)
        for name, rows in (("first call", 3), ("new size", 4)):
            started = time.perf_counter()
            fn(np.ones((rows, ROWS))).block_until_ready()
            timed(name, started)
    return {**times, "memory": _memory() - before}


def main() -> None:
    """Runs all steps and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step is not None:
        what, how, folder = options.step
        print(json.dumps(step(what, how, Path(folder), options.megabytes)))
        return
    with tempfile.TemporaryDirectory() as folder:
        part = np.random.default_rng(0).bytes(1_000_000)  # a child's peak of memory begins with its parent's
        started = time.perf_counter()
        with (Path(folder) / "bytes").open("wb") as stream:
            for _ in range(options.megabytes):
                stream.write(part)
        print(f"writing {options.megabytes} MB: {time.perf_counter() - started:.2f} s")
        for how in ("constants", "parameters"):
            for what in ("write", "read"):
                command = [sys.executable, __file__, "--megabytes", str(options.megabytes), "--step", what, how, folder]
                found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                memory = found.pop("memory")
                shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found.items())
                print(f"{how:10}  {shown}, {memory:.0f} MB more")


if __name__ == "__main__":
    main()
