"""Writes the samples of this release: small programs as files, with arguments and the results that they must give.

    python tests/make_samples.py

In: the cases below. Out: tests/samples/<version>/<case>.mlir, .mlirbc and .npz, which are kept for good: a file that
could be read once must be read, and mean the same, in every later release. Long modules are bytecode only. Run it once
for each release, before it.
Expected results are NumPy's; those of draws are the reference interpreter's.
"""

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


def _checks_in_loop(rows: Any) -> Any:
    def step(row: Any, total: Any) -> Any:
        return total + Assert("rows must have a positive norm")(row, (row**2).sum() > 0)

    return pytensor.scan(step, sequences=[rows], outputs_info=[pt.zeros(3)], return_updates=False)


def _behind(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, np.zeros((8 - len(x), *x.shape[1:]))])


def _cases() -> dict[str, Case]:
    import pytensor.sparse as sparse
    from scipy.special import erf, expit

    def graph(inputs: Sequence[Any], *outputs: Any) -> Callable[[], hlograph.Program]:
        named = {"x": ("n", 3), "w": (3,), "a": ("n", "n"), "v": ("n",), "y": ("m",)}
        return lambda: hlograph.emit_stablehlo(
            (list(inputs), list(outputs)), dims={x: named[x.name] for x in inputs if x.name in named}
        )

    x, a, w, v, y, k = pt.matrix("x"), pt.matrix("a"), pt.vector("w"), pt.vector("v"), pt.vector("y"), pt.lscalar("k")
    s = sparse.csr_matrix("s", dtype="float64")
    means, mean = graph([x], x.mean(0), pt.exp(x).max()), (X.mean(0), np.exp(X).max())
    positive, single = X[:, 0], X[:, 0].astype(np.float32)
    function = lambda x: (x.sum(), jnp.asarray(2) * 3.0)  # noqa: E731
    return {
        "sizes": Case(
            graph([x, w], pt.sigmoid(x @ w), pt.erf(x).sum(0)),
            [X, W],
            [expit(X @ W), erf(X).sum(0)],
            {"derivatives": 1},
        ),
        "values": Case(
            graph([x, k], x[:k].sum(0), pt.arange(k) * 2), [X, np.int64(2)], [X[:2].sum(0), np.arange(2) * 2]
        ),
        "constraints": Case(
            graph([v, y], v * y, v[4]), [positive, positive + 1], [positive * (positive + 1), positive[4]]
        ),
        "checks_in_loop": Case(graph([x], _checks_in_loop(x)), [X], [X.cumsum(0)]),
        "counts": Case(
            graph([v], v[v > 0], (v > 0).nonzero()[0]),
            [positive],
            [positive[positive > 0], np.flatnonzero(positive > 0)],
        ),
        "key": Case(graph([v], pt.random.normal(v, 1.0)), [np.array([0, 7], np.uint32), W]),
        "sparse": Case(
            graph([s, w], sparse.structured_dot(s, w[:, None])[:, 0]),
            [SQUARE * (SQUARE > 0), W],
            [(SQUARE * (SQUARE > 0)) @ W],
        ),
        "linalg": Case(
            graph([a], pt.linalg.cholesky(a), pt.linalg.inv(a)),
            [SQUARE],
            [np.linalg.cholesky(SQUARE), np.linalg.inv(SQUARE)],
        ),
        "weak": Case(
            lambda: hlograph.emit_stablehlo(function, jnp.zeros(3, "float32"), dims={"x": ("n",)}),
            [single],
            [single.sum(), np.float32(6)],
        ),
        "parameters": Case(
            graph([x], pt.tanh(x @ pt.as_tensor(BIG))),
            [X],
            [np.tanh(X @ BIG)],
            {"parameters": True, "parameter_limit": 500},
        ),
        "padded": Case(lambda: means().pad({"n": 8}), [_behind(X), np.int32(5)], mean),
        "plain": Case(lambda: means().plain(bounds={"n": 8}), [_behind(X), np.int32(5)], mean),
    }


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
