"""Writes the samples of this release: small programs as files, with arguments and the results that they must give.

    python tests/make_samples.py

In: the cases below. Out: tests/samples/<version>/<case>.mlir, .mlirbc and .npz, which are kept for good: a file that
could be read once must be read, and mean the same, in every later release. Long modules are bytecode only. Run it once
for each release, before it.
Expected results are NumPy's; those of draws are the reference interpreter's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.raise_op import Assert

import hlograph

FOLDER = Path(__file__).parent / "samples"
TARGET = "1.9.0"


@dataclass(frozen=True)
class Case:
    """A program, arguments, and what it must give; without expectations the interpreter says."""

    make: Callable[[], hlograph.Program]
    arguments: Sequence[Any]
    expected: Sequence[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)


def _rng() -> np.random.Generator:
    return np.random.default_rng(20)


X = _rng().normal(size=(5, 3))
W = _rng().normal(size=3)
BIG = _rng().normal(size=(3, 40))
SQUARE = X.T @ X + np.eye(3)  # positive definite


def _sizes() -> hlograph.Program:
    x, w = pt.matrix("x"), pt.vector("w")
    return hlograph.emit_stablehlo(([x, w], [pt.sigmoid(x @ w), pt.erf(x).sum(0)]), dims={"x": ("n", 3), "w": (3,)})


def _values() -> hlograph.Program:
    x, k = pt.matrix("x"), pt.lscalar("k")
    return hlograph.emit_stablehlo(([x, k], [x[:k].sum(0), pt.arange(k) * 2]), dims={"x": ("n", 3)})


def _constraints() -> hlograph.Program:
    x, y = pt.vector("x"), pt.vector("y")
    return hlograph.emit_stablehlo(([x, y], [x * y, x[4]]), dims={"x": ("n",), "y": ("m",)})


def _checks_in_loop() -> hlograph.Program:
    x = pt.matrix("x")

    def step(row: Any, total: Any) -> Any:
        return total + Assert("rows must have a positive norm")(row, (row**2).sum() > 0)

    rows = pytensor.scan(step, sequences=[x], outputs_info=[pt.zeros(3)], return_updates=False)
    return hlograph.emit_stablehlo(([x], [rows]), dims={"x": ("n", 3)})


def _counts() -> hlograph.Program:
    x = pt.vector("x")
    return hlograph.emit_stablehlo(([x], [x[x > 0], (x > 0).nonzero()[0]]), dims={"x": ("n",)})


def _key() -> hlograph.Program:
    loc = pt.vector("loc")
    return hlograph.emit_stablehlo(([loc], [pt.random.normal(loc, 1.0)]), dims={"loc": ("n",)})


def _sparse() -> hlograph.Program:
    import pytensor.sparse as sparse

    a, x = sparse.csr_matrix("a", dtype="float64"), pt.vector("x")
    return hlograph.emit_stablehlo(([a, x], [sparse.structured_dot(a, x[:, None])[:, 0]]))


def _linalg() -> hlograph.Program:
    a = pt.matrix("a")
    return hlograph.emit_stablehlo(([a], [pt.linalg.cholesky(a), pt.linalg.inv(a)]), dims={"a": ("n", "n")})


def _weak() -> hlograph.Program:
    return hlograph.emit_stablehlo(
        lambda x: (x.sum(), jnp.asarray(2) * 3.0), jnp.zeros(3, "float32"), dims={"x": ("n",)}
    )


def _parameters() -> hlograph.Program:
    x = pt.matrix("x")
    return hlograph.emit_stablehlo(([x], [pt.tanh(x @ pt.as_tensor(BIG))]), dims={"x": ("n", 3)})


def _padded() -> hlograph.Program:
    return _counts_free().pad({"n": 8})


def _counts_free() -> hlograph.Program:
    x = pt.matrix("x")
    return hlograph.emit_stablehlo(([x], [x.mean(0), pt.exp(x).max()]), dims={"x": ("n", 3)})


def _plain() -> hlograph.Program:
    return _counts_free().plain(bounds={"n": 8})


def _behind(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, np.zeros((8 - len(x), *x.shape[1:]))])


def _cases() -> dict[str, Case]:
    from scipy.special import erf, expit

    mean = X.mean(0), np.exp(X).max()
    positive = X[:, 0]
    return {
        "sizes": Case(_sizes, [X, W], [expit(X @ W), erf(X).sum(0)], {"derivatives": 1}),
        "values": Case(_values, [X, np.int64(2)], [X[:2].sum(0), np.arange(2) * 2]),
        "constraints": Case(_constraints, [positive, positive + 1], [positive * (positive + 1), positive[4]]),
        "checks_in_loop": Case(_checks_in_loop, [X], [X.cumsum(0)]),
        "counts": Case(_counts, [positive], [positive[positive > 0], np.flatnonzero(positive > 0)]),
        "key": Case(_key, [np.array([0, 7], np.uint32), W]),
        "sparse": Case(_sparse, [SQUARE * (SQUARE > 0), W], [(SQUARE * (SQUARE > 0)) @ W]),
        "linalg": Case(_linalg, [SQUARE], [np.linalg.cholesky(SQUARE), np.linalg.inv(SQUARE)]),
        "weak": Case(_weak, [X[:, 0].astype(np.float32)], [X[:, 0].astype(np.float32).sum(), np.float32(6)]),
        "parameters": Case(_parameters, [X], [np.tanh(X @ BIG)], {"parameters": True, "parameter_limit": 500}),
        "padded": Case(_padded, [_behind(X), np.int32(5)], mean),
        "plain": Case(_plain, [_behind(X), np.int32(5)], mean),
    }  # fmt: skip


def main() -> None:
    """Writes all samples of the installed release."""
    folder = FOLDER / hlograph.__version__
    folder.mkdir(parents=True, exist_ok=True)
    for name, case in _cases().items():
        program = case.make()
        expected = program.interpret(*case.arguments) if case.expected is None else case.expected
        if program.text.count("\n") < 60:
            program.save(folder / f"{name}.mlir", **case.options)
        program.save(folder / f"{name}.mlirbc", target=TARGET, **case.options)
        arrays = {f"argument_{i}": np.asarray(x) for i, x in enumerate(case.arguments)}
        np.savez(folder / f"{name}.npz", **arrays, **{f"result_{i}": np.asarray(x) for i, x in enumerate(expected)})


if __name__ == "__main__":
    main()
