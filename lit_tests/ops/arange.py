# RUN: %python %s | filecheck %s
"""ARange: `numpy.arange`; a short constant one is a constant, integer ends may be sizes or arguments."""

import pytensor.tensor as pt
from common import show

x = pt.dvector("x")
n = pt.lscalar("n")

show([], [pt.arange(0, 6, 2)], name="ARange.static.short")

show([], [pt.arange(100)], name="ARange.static")

show([], [pt.arange(0.0, 1.0, 0.25)], name="ARange.static.float")

show([], [pt.arange(300, 0, -2, dtype="int32")], name="ARange.static.backward")

show([x], pt.arange(x.shape[0]), name="ARange.dynamic", dims={"x": ("n",)})

show([n], pt.arange(1, n, 2), name="ARange.dynamic.runtime")

show([n], pt.arange(n, dtype="float64"), name="ARange.dynamic.float")
