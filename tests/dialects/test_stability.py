"""Densities as PyMC writes them, far out: values and gradients against mpmath, in both precisions.

What is evaluated is the rewritten graph, by PyTensor in Python: rewriting alone is looked at, not the lowering.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert
from support import reference

import hlograph
from hlograph.dialects.apply_graph import library

REWRITES = library("pytensor").rewrites
LOGITS = (0.0, 1e-9, -3.0, 30.0, -30.0, 36.7, -36.7, 40.0, -40.0, 90.0, 800.0, -800.0)


def log_of_logistic(x: Any) -> Any:
    return -mpmath.log1p(mpmath.exp(-x))


def bernoulli(success: float) -> Callable[[Any], Any]:
    """As PyMC has it: a selection of both logarithms, and -inf outside of the support."""

    def density(x: Any) -> Any:
        p, y = pt.sigmoid(x), pt.full_like(x, success)
        inside = pt.switch(y, pt.log(p), pt.log1p(-p))
        return pt.switch(pt.or_(pt.lt(y, 0), pt.gt(y, 1)), -np.inf, inside)

    return density


def logarithms_and_a_selection(x: Any) -> Any:
    """A selection whose gradient stands in a product with a sum of quotients."""
    p = pt.sigmoid(x)
    return pt.switch(pt.eq(p, 1), 0.0, 3 * pt.log(p) + 2 * pt.log1p(-p))


def binomial_coefficient(x: Any) -> Any:
    """Of `n + 2` over 3 with `n = exp(x)`, as PyMC's negative binomial has it: n is lost beside 2 where it is small."""
    n, k = pt.exp(x), pt.constant(np.array([3.0], x.dtype))
    top = n + k - 1
    return pt.gammaln(top + 1) - pt.gammaln(k + 1) - pt.gammaln(top - k + 1)


def exponential_by_scale(x: Any) -> Any:
    """With the scale written as the inverse of a rate."""
    scale = pt.reciprocal(pt.exp(x))
    return pt.log(pt.reciprocal(scale)) - 1.25 / scale


# Expression of PyTensor, the same function of mpmath, points.
DENSITIES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], tuple[float, ...]]] = {
    "Bernoulli, 1": (bernoulli(1.0), log_of_logistic, LOGITS),
    "Bernoulli, 0": (bernoulli(0.0), lambda x: log_of_logistic(-x), LOGITS),
    "logarithms and a selection": (
        logarithms_and_a_selection,
        lambda x: 3 * log_of_logistic(x) + 2 * log_of_logistic(-x),
        (-800.0, -90.0, -30.0, 0.0, 3.0, 15.0),
    ),
    "binomial coefficient": (
        binomial_coefficient,
        lambda x: sum(mpmath.log(mpmath.exp(x) + i) for i in range(3)) - mpmath.log(6),
        (-80.0, -30.0, -3.0, 0.5, 3.0),
    ),
    "exponential by scale": (
        exponential_by_scale,
        lambda x: x - mpmath.mpf(1.25) * mpmath.exp(x),
        (-80.0, -30.0, -3.0, 0.5, 3.0, 20.0),
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", DENSITIES)
def test_densities_and_gradients(name: str, dtype: str) -> None:
    """The gradient is taken before rewriting, as PyMC does, and alone as well as together with the value."""
    expression, truth, points = DENSITIES[name]
    x = pt.vector("x", dtype=dtype)
    value = expression(x)
    slope = pytensor.grad(value.sum(), x)
    at = np.array(points, dtype)
    both = reference([x], REWRITES.apply([x], [value, slope], True)[1], [at])
    (alone,) = reference([x], REWRITES.apply([x], [slope], True)[1], [at])
    with mpmath.workdps(60):
        exact = [mpmath.mpf(float(point)) for point in at]
        values = [float(truth(point)) for point in exact]
        step = mpmath.mpf(10) ** -25
        slopes = [float((truth(point + step) - truth(point - step)) / (2 * step)) for point in exact]
    rounding = 1e-12 if dtype == "float64" else 4e-6
    smallest = np.finfo(dtype).tiny
    for found, expected in ((both[0], values), (both[1], slopes), (alone, slopes)):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=rounding, atol=smallest)


# What stands between a selection and a factor that is infinite where the selection has its zero.
BETWEEN: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda x: x,
    "a negation": lambda x: -x,
    "factors": lambda x: 2 * (-x) * 3 / 4,
    "shapes": lambda x: pt.second(pt.ones((2,)), x),
    "a fill": lambda x: pt.second(pt.ones((2,)), -x) * 2,
    "a square": lambda x: x * pt.switch(pt.gt(x, -1), 1.0, 0.0),
}


@pytest.mark.parametrize("zero_first", [False, True])
@pytest.mark.parametrize("name", BETWEEN)
def test_the_branch_not_taken_gives_zero(name: str, zero_first: bool) -> None:
    """Also where what it is multiplied with or divided by is infinite, NaN or 0."""
    x, y = pt.dvector("x"), pt.dvector("y")
    condition, branches = (pt.le(x, 0), (0.0, x)) if zero_first else (pt.gt(x, 0), (x, 0.0))
    middle = BETWEEN[name](pt.switch(condition, *branches))
    _, outputs = REWRITES.apply([x, y], [middle * y, middle / y, -(middle * y) / y], True)
    for bad in (np.inf, np.nan, 0.0, 2.0):
        products = reference([x, y], outputs, [np.array([-1.0, 3.0]), np.array([bad, 2.0])])
        (inside,) = reference([x], [middle], [np.array([3.0, 3.0])])
        expected = [inside[0] * 2, inside[0] / 2, -inside[0]]
        for found, right in zip(products, expected, strict=True):
            assert found[0] == 0
            np.testing.assert_allclose(found[1], right)


def test_a_sum_of_masks_is_a_mask() -> None:
    x, y = pt.dvector("x"), pt.dvector("y")
    inside = pt.gt(x, 0)
    total = pt.switch(inside, x, 0.0) - pt.switch(inside, pt.switch(pt.gt(x, -1), 3.0, 0.0), 0.0)
    _, (found,) = REWRITES.apply([x, y], [total * y], True)
    (values,) = reference([x, y], [found], [np.array([-1.0, 5.0, -2.0]), np.array([np.inf, 2.0, np.nan])])
    np.testing.assert_array_equal(values, [0, 4, 0])


def test_a_sum_of_different_masks() -> None:
    """A gradient by two bounds: each part keeps the infinite factor out where it is zero."""
    x, y = pt.dvector("x"), pt.dvector("y")
    total = pt.switch(pt.gt(x, 0), x, 0.0) - pt.switch(pt.gt(x, -1), 3.0, 0.0) + pt.zeros_like(y)
    _, (found,) = REWRITES.apply([x, y], [-total * y], True)
    (values,) = reference([x, y], [found], [np.array([-3.0, 5.0, -0.5]), np.array([np.inf, 2.0, 4.0])])
    np.testing.assert_array_equal(values, [0, -4, 12])


def test_what_does_not_cancel_stays() -> None:
    """Constants alone, a difference that gives the axes, and a check."""
    x, row, m = pt.dvector("x"), pt.drow("row"), pt.dmatrix("m")
    two = pt.constant(np.array([2.0]))
    graphs = [x ** (pt.constant(np.array([-0.5])) - 1), (m - m) + row, two - 1 + x - x]
    values = [np.array([1.3, 2.0]), np.array([[4.0, 5.0]]), np.ones((3, 2))]
    for found, right in zip(
        reference([x, row, m], REWRITES.apply([x, row, m], [*graphs, pt.switch(pt.gt(x, 0), x, 0.0)], True)[1], values),
        reference([x, row, m], graphs, values),
        strict=False,
    ):
        np.testing.assert_allclose(found, right, rtol=1e-14)
    checked = Assert("x must be positive")(x, pt.all(x > 0))
    function = hlograph.function([x], checked - checked + pt.log(checked) - pt.log(checked))
    with pytest.raises(AssertionError, match="positive"):
        function(np.array([1.0, -2.0]))


def test_masks_behind_inserted_axes() -> None:
    x, m = pt.dvector("x"), pt.dmatrix("m")
    product = pt.switch(pt.gt(x, 0), -x, 0.0)[None, :] * m
    _, (found,) = REWRITES.apply([x, m], [product], True)
    (values,) = reference([x, m], [found], [np.array([-1.0, 2.0]), np.array([[np.inf, 1.0], [np.nan, 2.0]])])
    np.testing.assert_array_equal(values, [[0, -2], [0, -4]])
