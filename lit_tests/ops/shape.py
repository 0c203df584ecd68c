# RUN: %python %s | filecheck %s
"""Shape, Shape_i: sizes as integers of the program."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.shape import Shape_i

x = pt.dmatrix("x")

show([x], x.shape, name="Shape.static", dims={"x": (3, 4)})

show([x], x.shape, name="Shape.dynamic", dims={"x": ("n", 4)})

# A size that goes into arithmetic stays a scalar: no vector is built and taken apart.
show([x], x.shape[0] * 2, name="Shape.dynamic.element", dims={"x": ("n", 4)})

show([x], Shape_i(1)(x), name="Shape_i.static", dims={"x": (3, 4)})

show([x], Shape_i(0)(x), name="Shape_i.dynamic", dims={"x": ("n", 4)})
