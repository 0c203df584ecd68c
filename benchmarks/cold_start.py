"""From the start of a process to the first result of a model that was saved: NumPy arrays in and out.

    python benchmarks/cold_start.py call bundle gp FOLDER     # one measurement, printed as JSON

Beside each other: a bundle; a saved program, which is compiled; `jax.export`'s file; and the last two with a cache that
a run before has filled, hlograph's own or JAX's. The clock starts when the process does, and stops when all results
are NumPy arrays; so does that of the processor, which tells the ways apart also on a machine with other work. Python's
bytecode is there, as it is of packages that pip has installed.
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
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, run_child, show

TITLE = "Cold start of saved models: from the start of the process to the first result (the processor's time)"
WAYS = ("bundle", "program", "program, cache", "jax.export", "jax.export, cache")
ROWS = 200
LIMIT = 1.0  # the processor's time for a bundle, to that for `jax.export` with a filled cache
SIZE = 1.2  # of a bundle, to that of its parts


def logistic() -> tuple[Callable[..., Any], list[np.ndarray]]:
    """Logistic regression's log-density with gradient, in JAX, and its data: 8 features."""
    import jax
    import jax.numpy as jnp

    def value(weights: Any, X: Any, y: Any) -> Any:
        predictor = X @ weights
        return jnp.sum(y * predictor - jax.nn.softplus(predictor)) - 0.5 * jnp.sum(weights**2)

    rng = np.random.default_rng(0)
    data = [rng.normal(size=8), rng.normal(size=(ROWS, 8)), (rng.random(ROWS) < 0.5).astype(float)]
    return jax.value_and_grad(value), data


def gp() -> tuple[Callable[..., Any], list[np.ndarray]]:
    """A Gaussian process's log-density with gradient, in JAX, and its data: 2 coordinates."""
    import jax
    import jax.numpy as jnp

    def value(theta: Any, X: Any, y: Any) -> Any:
        squares = jnp.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=-1)
        covariance = jnp.exp(theta[0] - 0.5 * squares * jnp.exp(theta[1])) + jnp.exp(theta[2]) * jnp.eye(X.shape[0])
        factor = jnp.linalg.cholesky(covariance)
        half = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return -0.5 * jnp.sum(half**2) - jnp.sum(jnp.log(jnp.diagonal(factor)))

    rng = np.random.default_rng(0)
    return jax.value_and_grad(value), [np.zeros(3), rng.normal(size=(ROWS, 2)), rng.normal(size=ROWS)]


MODELS = {"logistic": (logistic, "logistic regression"), "gp": (gp, "Gaussian process")}


def make(model: str, folder: str) -> None:
    """In a child: the files of a model."""
    import jax
    import jax.export

    import hlograph
    from hlograph.codegen.artifact.parameters import Tensors

    jax.config.update("jax_enable_x64", True)
    function, data = MODELS[model][0]()
    np.savez(Path(folder, "data.npz"), *data)
    specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in data]
    exported = jax.export.export(jax.jit(function))(*specs)
    Path(folder, "exported").write_bytes(exported.serialize())
    open_specs = [specs[0], *(jax.ShapeDtypeStruct(("n", *spec.shape[1:]), spec.dtype) for spec in specs[1:])]
    program = hlograph.emit_stablehlo(function, *open_specs, constraints=("n >= 2",))
    program.save(Path(folder, "program.mlirbc"))
    path = hlograph.bundle(program, Path(folder, "a.bundle"), sizes=[{"n": ROWS}], outputs="numpy")
    places = Tensors(path).places
    parts = sum(size for name, (_, size) in places.items() if name != "manifest.json")
    print(json.dumps({"ratio": path.stat().st_size / parts}))


def call(way: str, model: str, folder: str) -> None:
    """In a child: one way to the first result."""
    data = list(np.load(Path(folder, "data.npz")).values())
    results = _imported(way, folder)(data)
    worked, now = time.process_time(), time.time()
    np.savez(Path(folder, f"{way}.npz"), *results)
    print(json.dumps({"worked": worked, "now": now}))


def _imported(way: str, folder: str) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """Imports what a way needs; the way."""
    import jax

    if way.startswith("jax.export"):
        import jax.export
        import jax.numpy

        jax.config.update("jax_enable_x64", True)

        def by_jax(data: list[np.ndarray]) -> list[np.ndarray]:
            function = jax.jit(jax.export.deserialize(bytearray(Path(folder, "exported").read_bytes())).call)
            return [np.asarray(x) for x in function(*data)]

        return by_jax
    import hlograph

    def by_hlograph(data: list[np.ndarray]) -> list[np.ndarray]:
        if way == "bundle":
            function = hlograph.load_bundle(Path(folder, "a.bundle"), trusted=True)
        else:
            function = hlograph.load(Path(folder, "program.mlirbc")).compile(outputs="numpy")
        results = [np.asarray(x) for x in function(*data)]
        assert way != "bundle" or (function.stats.loaded, function.stats.compiles) == (1, 0), function.stats
        return results

    return by_hlograph


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """In the parent: all ways in turn, several times; medians."""
    report = Report(TITLE, ("model", *WAYS))
    rounds = 1 if quick else 5
    for name, (_, title) in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            progress(f"{title}: files")
            ratio = _child("make", name, folder, cache=False)["ratio"]
            found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
            for number in range(rounds + 1):  # the first one fills the caches
                for way in WAYS:
                    progress(f"{title}: {way}, round {number} of {rounds}")
                    begun = time.time()
                    times = _child("call", way, name, folder, cache=way.endswith("cache"))
                    if number:
                        found[way].append(times | {"whole": times.pop("now") - begun})
            check_equal({way: list(np.load(Path(folder, f"{way}.npz")).values()) for way in WAYS})
        medians = {way: {k: statistics.median(x[k] for x in items) for k in items[0]} for way, items in found.items()}
        cells = [f"{show(m['whole'], 's')} ({show(m['worked'], 's')})" for m in medians.values()]
        report.rows.append((f"{title} (n={ROWS})", *cells))
        report.data.append({"case": title, "ways": medians, "size": ratio})
        ratio_of_work = medians["bundle"]["worked"] / medians["jax.export, cache"]["worked"]
        report.targets.append(Target(f"{title}: bundle, ratio to jax.export with a cache", ratio_of_work, LIMIT))
        report.targets.append(Target(f"{title}: bundle's size, ratio to its parts", ratio, SIZE))
    return report


def _child(*words: str, cache: bool) -> dict[str, float]:
    """Runs this file in a process of its own, with or without JAX's cache in the model's folder."""
    unwanted = ("JAX_", "XLA_", "PYTHONDONTWRITEBYTECODE")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    environment["HLOGRAPH_CACHE"] = str(Path(words[-1], "executables")) if cache else "off"
    environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir(), "hlograph-bytecode"))
    if cache and words[1].startswith("jax"):
        environment |= {"JAX_COMPILATION_CACHE_DIR": str(Path(words[-1], "cache"))}
        environment |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        environment |= {"JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
    found: dict[str, float] = run_child(__file__, *words, environment=environment)
    return found


if __name__ == "__main__":
    {"make": make, "call": call}[sys.argv[1]](*sys.argv[2:])
