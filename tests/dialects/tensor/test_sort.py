"""Sorting: order, NaN, stability, axes, dtypes, gradients."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from support import check_lowering

RNG = np.random.default_rng(3)
X = pt.dmatrix("X")


@pytest.mark.parametrize("shape", [(5, 4), (1, 3), (0, 3), (3, 0)])
def test_axes(shape):
    outputs = [pt.sort(X, axis=0), pt.sort(X, axis=-1), pt.sort(X, axis=None)]
    outputs += [pt.argsort(X, axis=0), pt.argsort(X, axis=1), pt.argsort(X, axis=None)]
    check_lowering([X], outputs, RNG.normal(size=shape))


def test_nan_last_and_infinities():
    values = np.array([[3.0, np.nan, -np.inf, 0.0], [np.inf, np.nan, np.nan, 1.0]])
    check_lowering([X], [pt.sort(X, axis=1), pt.argsort(X, axis=1, kind="stable")], values)


def test_equal_elements_keep_their_order():
    x = pt.lvector("x")
    values = RNG.integers(0, 4, size=50)
    check_lowering([x], [pt.argsort(x, kind="stable")], values)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
def test_dtypes(dtype):
    x = pt.tensor("x", shape=(None,), dtype=dtype)
    values = RNG.integers(0, 100, size=9).astype(dtype)
    check_lowering([x], [pt.sort(x), pt.argsort(x, kind="stable")], values)


def test_complex_numbers():
    """Real parts first, then imaginary ones; what has a NaN is last, in NumPy's order of such."""
    z = pt.zmatrix("z")
    parts = [0.0, -1.0, np.inf, -np.inf, np.nan, 2.0]
    values = RNG.permutation([complex(x, y) for x in parts for y in parts] * 2).reshape(8, 9)
    check_lowering([z], [pt.sort(z, axis=1), pt.argsort(z, axis=0, kind="stable")], values)


def test_gradient():
    weights = np.arange(12.0).reshape(4, 3)
    cost = (pt.sort(X, axis=0) * weights).sum()
    check_lowering([X], [pytensor.grad(cost, X)], RNG.normal(size=(4, 3)))


def test_median_and_quantile_by_sorting():
    ordered = pt.sort(X, axis=0)
    middle = ordered[X.shape[0] // 2]
    check_lowering([X], [middle, pt.sort(X, axis=0)[-1] - ordered[0]], RNG.normal(size=(7, 3)))
