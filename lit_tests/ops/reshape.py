# RUN: %python %s | filecheck %s
"""Reshape: the same elements in another shape; one size may be -1."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")
n = pt.lscalar("n")

show([x], x.reshape((2, 6)), name="Reshape.static", dims={"x": (3, 4)})

show([x], x.reshape((-1, 2)), name="Reshape.static.inferred", dims={"x": (3, 4)})

show([x], x.reshape((3, 4)), name="Reshape.static.same", dims={"x": (3, 4)})

show([x], x.reshape((x.shape[1], x.shape[0])), name="Reshape.dynamic", dims={"x": ("n", 4)})

show([x], x.reshape((x.shape[0], -1)), name="Reshape.dynamic.same", dims={"x": ("n", 4)})

show([x], x.reshape((-1,)), name="Reshape.dynamic.inferred", dims={"x": ("n", 4)})

show([x, n], x.reshape((n, -1)), name="Reshape.dynamic.runtime", dims={"x": ("rows", 4)})
