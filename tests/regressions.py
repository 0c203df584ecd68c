"""A regression's squared error and its gradient, of `n` rows of 3: as a program, and what NumPy makes of it."""

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

import hlograph


def program() -> hlograph.Program:
    X, y, w = pt.dmatrix("X"), pt.dvector("y"), pt.dvector("w")
    loss = ((X @ w - y) ** 2).sum()
    dims = {"X": ("n", 3), "y": ("n",), "w": (3,)}
    return hlograph.emit_stablehlo(([X, y, w], [loss, pytensor.grad(loss, w)]), dims=dims)


def data(n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 3)), rng.normal(size=n), rng.normal(size=3)


def expected(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[Any, np.ndarray]:
    residual = X @ w - y
    return (residual**2).sum(), 2 * X.T @ residual


def agrees(found: Any, *arrays: np.ndarray) -> None:
    for mine, theirs in zip(found, expected(*arrays), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
