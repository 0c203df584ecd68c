# RUN: %python %s | filecheck %s
"""Shape, Shape_i: sizes as integers of the program."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.shape import Shape_i

x = pt.dmatrix("x")

# CHECK-LABEL: module @Shape.dynamic
# CHECK-NEXT: return concatenate<0>(size<0>(x), 4) : tensor<2xi64>
show([x], x.shape, name="Shape.dynamic", dims={"x": ("n", 4)})

# A size that goes into arithmetic stays a scalar: no vector is built and taken apart.
# CHECK-LABEL: module @Shape.dynamic.element
# CHECK-NEXT: return multiply(size<0>(x), 2) : tensor<i64>
show([x], x.shape[0] * 2, name="Shape.dynamic.element", dims={"x": ("n", 4)})

# CHECK-LABEL: module @Shape_i.dynamic
# CHECK-NEXT: return size<0>(x) : tensor<i64>
show([x], Shape_i(0)(x), name="Shape_i.dynamic", dims={"x": ("n", 4)})
