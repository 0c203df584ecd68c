"""Splines of SciPy in PyMC's op, beside SciPy: all degrees, and what it does outside of the points."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.interpolate import InterpolatedUnivariateSpline

import hlograph

dist_math = pytest.importorskip("pymc.distributions.dist_math")

POINTS = np.array([-1.0, 0.0, 0.5, 2.0, 2.5, 4.0, 4.1])
HEIGHTS = np.array([0.3, 1.0, -2.0, 0.5, 0.0, 3.0, 2.0])
PLACES = np.array([-np.inf, -3.0, -1.0, -0.3, 0.0, 0.7, 2.5, 3.9, 4.1, 4.2, 50.0, np.inf])


def test_splines_are_those_of_scipy():
    """In one program: their values, and of their derivatives, at points, between and outside of them."""
    splines = {
        (degree, ext, order): InterpolatedUnivariateSpline(POINTS, HEIGHTS, k=degree, ext=ext).derivative(order)
        if order
        else InterpolatedUnivariateSpline(POINTS, HEIGHTS, k=degree, ext=ext)
        for degree in (1, 3, 5)
        for ext in ("extrapolate", "zeros", "const")
        for order in (0, 1)
    }
    x = pt.dvector("x")
    outputs = [dist_math.SplineWrapper(spline)(x) for spline in splines.values()]
    function = pytensor.function([x], outputs, mode=hlograph.Mode())
    for what, places in (("finite", PLACES[1:-1]), ("none", PLACES[:0])):
        for key, found in zip(splines, function(places), strict=True):
            np.testing.assert_allclose(found, splines[key](places), rtol=1e-9, atol=1e-9, err_msg=f"{key}, {what}")
    for key, found in zip(splines, function(PLACES), strict=True):
        if key[1] == "zeros":
            np.testing.assert_array_equal(found[[0, -1]], 0)


def test_outside_of_a_spline_that_raises():
    x = pt.dvector("x")
    spline = dist_math.SplineWrapper(InterpolatedUnivariateSpline(POINTS, HEIGHTS, k=2, ext="raise"))
    function = pytensor.function([x], spline(x), mode=hlograph.Mode())
    np.testing.assert_allclose(function([0.2, 4.1]), spline.spline([0.2, 4.1]), rtol=1e-10)
    with pytest.raises(ValueError, match="outside of its points"):
        function([0.2, 4.2])
