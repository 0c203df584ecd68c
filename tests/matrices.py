"""Matrices for tests of linear algebra, and a loss that weighs each element of results differently."""

import numpy as np
import pytensor.tensor as pt

RNG = np.random.default_rng(20)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def well(*shape: int) -> np.ndarray:
    """Matrices that are far from singular, without symmetry, whose LU needs row exchanges."""
    n = shape[-1]
    return normal(*shape) + 3 * np.eye(n)[::-1]


def positive(*shape: int) -> np.ndarray:
    """Symmetric positive definite matrices."""
    x = normal(*shape)
    return x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])


def weighted(*outputs: pt.TensorVariable) -> pt.TensorVariable:
    """A scalar that weighs every element differently, so that a gradient says something about each."""
    total = pt.as_tensor(0.0, dtype="float64")
    for x in outputs:
        weights = x
        for axis in range(x.ndim):
            places = pt.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - 1 - axis))
            weights = weights * pt.cos((axis + 1) * places + 0.3)
        total = total + weights.sum()
    return total
