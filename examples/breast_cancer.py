"""A logistic regression on real data: one PyTensor graph, one StableHLO file, any number of rows.

    python examples/breast_cancer.py      (or: make demo)

This process has PyTensor: it writes the model's log-density, its gradient and its predictions as one program with a
symbolic number of rows. A second process (score.py) has no PyTensor: it loads the file, fits on 398 patients and scores
on 171 others. The values that it found are compared here with PyTensor's own. Exit code 1 if any of them differs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import hlograph

FOLDER = Path(__file__).parent.parent / "build" / "demo"
TOLERANCE = 1e-10


def model() -> tuple[list, list]:
    """Logistic regression with a standard normal prior on all weights: inputs and outputs of the graph."""
    X, y, weights = pt.matrix("X"), pt.vector("y"), pt.vector("weights", shape=(31,))
    probability = pt.sigmoid(X @ weights[1:] + weights[0])
    log_likelihood = pt.sum(y * pt.log(probability) + (1 - y) * pt.log(1 - probability))
    log_density = log_likelihood - 0.5 * pt.sum(weights**2)
    gradient = pytensor.grad(log_density, weights)
    names = {"log_density": log_density, "gradient": gradient, "probability": probability}
    for name, output in names.items():
        output.name = name
    return [X, y, weights], list(names.values())


def data() -> dict[str, np.ndarray]:
    """scikit-learn's bundled table, standardized by the training rows; the parameter points to compare at."""
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y.astype(float), test_size=0.3, random_state=0, stratify=y)
    mean, scale = X_train.mean(axis=0), X_train.std(axis=0)
    rng = np.random.default_rng(0)
    return {
        "X_train": (X_train - mean) / scale,
        "y_train": y_train,
        "X_test": (X_test - mean) / scale,
        "y_test": y_test,
        # The last point saturates most probabilities: log(1 - p) is -inf there unless the graph is rewritten first.
        "points": np.stack([np.zeros(31), rng.normal(size=31), 10 * rng.normal(size=31)]),
    }


def main() -> int:
    """Emits, runs the second process, compares; returns the exit code."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    inputs, outputs = model()
    table = data()

    start = time.perf_counter()
    program = hlograph.emit_stablehlo(
        (inputs, outputs), dims={"X": ("n", 30), "y": ("n",)}, name="breast_cancer", rewrite=True
    )
    emit_seconds = time.perf_counter() - start
    artifact = program.save(FOLDER / "breast_cancer.mlir")
    portable = program.save(FOLDER / "breast_cancer.mlirbc")
    np.savez(FOLDER / "data.npz", **table)

    subprocess.run([sys.executable, Path(__file__).with_name("score.py"), FOLDER], check=True)
    report = json.loads((FOLDER / "report.json").read_text())
    found = np.load(FOLDER / "values.npz")

    # PyTensor's own evaluation: its rewrites, then each op's Python implementation.
    reference = pytensor.function(inputs, outputs, mode=pytensor.compile.mode.Mode("py", "fast_run"))
    errors: dict[str, list[float]] = {output.name: [] for output in outputs}
    for split in ("train", "test"):
        for index, point in enumerate(table["points"]):
            expected = reference(table[f"X_{split}"], table[f"y_{split}"], point)
            for output, value in zip(outputs, expected, strict=True):
                difference = np.abs(found[f"{split}_{index}_{output.name}"] - value)
                errors[output.name].append(float(np.max(difference) / np.max(np.abs(value))))
    largest = {name: float(np.max(values)) for name, values in errors.items()}  # NaN stays NaN, and fails below

    n_train, n_test = len(table["y_train"]), len(table["y_test"])
    operations = program.text.count(" = ")
    show(
        "Emitted, from a PyTensor graph",
        {
            "program": f"{', '.join(largest)} for X[n, 30], y[n], weights[31]",
            "size": f"{operations} ops in {emit_seconds:.2f} s, PyTensor's own rewrites included",
            "files": ", ".join(f"{path.name} {path.stat().st_size:,} bytes" for path in (artifact, portable)),
        },
    )
    show(
        "Run in a second process, from the file",
        {
            "PyTensor": "imported" if report["pytensor_imported"] else "not imported, and an import would have failed",
            "load": f"{report['load_seconds']:.2f} s",
            "compile": f"{report['compile_seconds']:.2f} s, {report['compiles']} compiles, {report['sizes']} sizes",
            "fit": f"n = {n_train}, {report['steps']} gradient steps, {report['fit_seconds']:.3f} s",
            "score": f"n = {n_test}, {1e6 * report['call_seconds']:.0f} us a call",
            "accuracy": f"{report['accuracy_train']:.1%} of training rows, {report['accuracy_test']:.1%} of test rows",
        },
    )
    show(
        f"Largest relative difference from PyTensor, {len(table['points'])} points, n = {n_train} and {n_test}",
        {name: f"{error:.1e}" for name, error in largest.items()},
    )
    show("Largest difference of .mlirbc from .mlir", {"all outputs": f"{report['portable_difference']:.1e}"})

    equal = all(error <= TOLERANCE for error in largest.values()) and report["portable_difference"] == 0
    passed = equal and not report["pytensor_imported"]
    print(f"\n{'OK' if passed else 'FAILED'} (tolerance {TOLERANCE:g}); the files are in {os.path.relpath(FOLDER)}")
    return 0 if passed else 1


def show(title: str, lines: dict[str, str]) -> None:
    """A heading and aligned lines."""
    try:
        from rich import print as write
    except ImportError:
        print(f"\n{title}")
    else:
        write(f"\n[bold]{title}[/bold]")
    for name, text in lines.items():
        print(f"  {name:<12} {text}")


if __name__ == "__main__":
    sys.exit(main())
