# RUN: %python %s | filecheck %s
"""Shape, Shape_i: sizes as integers of the program."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.shape import Shape_i

x = pt.dmatrix("x")

# CHECK-LABEL: module @Shape.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
# CHECK-NEXT: return [[CONST]] : tensor<2xi64>
show([x], x.shape, name="Shape.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @Shape.dynamic
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: return [[JOINED]] : tensor<2xi64>
show([x], x.shape, name="Shape.dynamic", dims={"x": ("n", 4)})

# A size that goes into arithmetic stays a scalar: no vector is built and taken apart.
# CHECK-LABEL: module @Shape.dynamic.element
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<2> : tensor<i64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[CONVERTED]], [[CONST]] : tensor<i64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<i64>
show([x], x.shape[0] * 2, name="Shape.dynamic.element", dims={"x": ("n", 4)})

# CHECK-LABEL: module @Shape_i.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<4> : tensor<i64>
# CHECK-NEXT: return [[CONST]] : tensor<i64>
show([x], Shape_i(1)(x), name="Shape_i.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @Shape_i.dynamic
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: return [[CONVERTED]] : tensor<i64>
show([x], Shape_i(0)(x), name="Shape_i.dynamic", dims={"x": ("n", 4)})
