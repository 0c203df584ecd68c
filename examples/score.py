"""The second process of breast_cancer.py: fits and scores with a saved program. PyTensor cannot be imported here.

    python examples/score.py build/demo

In: breast_cancer.mlir, breast_cancer.mlirbc and data.npz in the folder. Out: values.npz and report.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


class Blocked:
    """Makes an import of PyTensor fail."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Part of Python's import protocol."""
        if name.partition(".")[0] == "pytensor":
            raise ImportError(f"{name} must not be imported in this process")


sys.meta_path.insert(0, Blocked)  # type: ignore[arg-type]

import hlograph  # noqa: E402


def maximize(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]], x: np.ndarray, tolerance: float = 1e-8
) -> tuple[np.ndarray, int]:
    """Gradient ascent on a concave function, with the step lengths of Barzilai and Borwein (1988).

    Args:
        function: from x to value and gradient.
        x: start.
        tolerance: stop when the gradient's norm is below this.

    Returns:
        The maximum and the number of steps.
    """
    _, gradient = function(x)
    step = 1e-3
    for number in range(1, 1001):
        change = step * gradient
        _, new = function(x + change)
        step = -(change @ change) / (change @ (new - gradient))
        x, gradient = x + change, new
        if np.linalg.norm(gradient) < tolerance:
            return x, number
    raise RuntimeError("the fit did not converge in 1000 steps")


def main(folder: Path) -> None:
    """Loads, fits, scores, writes."""
    data = np.load(folder / "data.npz")
    X_train, y_train, X_test, y_test = (data[name] for name in ("X_train", "y_train", "X_test", "y_test"))

    start = time.perf_counter()
    program = hlograph.load(folder / "breast_cancer.mlir")
    load_seconds = time.perf_counter() - start
    run = program.compile()

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        log_density, gradient, _ = run(X_train, y_train, weights)
        return float(log_density), np.asarray(gradient)

    objective(np.zeros(31))  # compiles for this number of rows
    start = time.perf_counter()
    fitted, steps = maximize(objective, np.zeros(31))
    fit_seconds = time.perf_counter() - start

    def accuracy(X: np.ndarray, y: np.ndarray) -> float:
        _, _, probability = run(X, y, fitted)
        return float(np.mean((np.asarray(probability) > 0.5) == y))

    accuracy_train, accuracy_test = accuracy(X_train, y_train), accuracy(X_test, y_test)
    start = time.perf_counter()
    for _ in range(100):
        np.asarray(run(X_test, y_test, fitted)[0])
    call_seconds = (time.perf_counter() - start) / 100

    values, differences = {}, []
    # "auto" may pad one of them and compile the other for its size, which rounds in another way.
    first, again = (
        hlograph.load(folder / f"breast_cancer.{suffix}").compile(policy="exact") for suffix in ("mlir", "mlirbc")
    )
    names = [result.name for result in program.signature.results]
    for split, X, y in (("train", X_train, y_train), ("test", X_test, y_test)):
        for index, point in enumerate(data["points"]):
            for name, *same in zip(names, run(X, y, point), first(X, y, point), again(X, y, point), strict=True):
                value, one, other = map(np.asarray, same)
                values[f"{split}_{index}_{name}"] = value
                differences.append(np.max(np.abs(one - other)))

    np.savez(folder / "values.npz", **values)
    report = {
        "load_seconds": load_seconds,
        "compiles": run.stats.compiles,
        "compile_seconds": run.stats.compile_seconds,
        "sizes": run.stats.executables,
        "steps": steps,
        "fit_seconds": fit_seconds,
        "call_seconds": call_seconds,
        "accuracy_train": accuracy_train,
        "accuracy_test": accuracy_test,
        "portable_difference": float(np.max(differences)),
        "pytensor_imported": any(name.partition(".")[0] == "pytensor" for name in sys.modules),
    }
    (folder / "report.json").write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
