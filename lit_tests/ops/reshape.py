# RUN: %python %s | filecheck %s
"""Reshape: the same elements in another shape; one size may be -1."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")
n = pt.lscalar("n")

# CHECK-LABEL: module @Reshape.static
# CHECK-NOT: dynamic_
# CHECK: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<3x4xf64>) -> tensor<2x6xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<2x6xf64>
show([x], x.reshape((2, 6)), name="Reshape.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @Reshape.static.inferred
# CHECK-NOT: dynamic_
# CHECK: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<3x4xf64>) -> tensor<6x2xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<6x2xf64>
show([x], x.reshape((-1, 2)), name="Reshape.static.inferred", dims={"x": (3, 4)})

# CHECK-LABEL: module @Reshape.static.same
# CHECK-NOT: dynamic_
# CHECK: return %arg0 : tensor<3x4xf64>
show([x], x.reshape((3, 4)), name="Reshape.static.same", dims={"x": (3, 4)})

# CHECK-LABEL: module @Reshape.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[CONST]], [[SHAPED]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape %arg0, [[JOINED]] : (tensor<?x4xf64>, tensor<2xi64>) -> tensor<4x?xf64>
# CHECK-NEXT: return [[SHAPED2]] : tensor<4x?xf64>
show([x], x.reshape((x.shape[1], x.shape[0])), name="Reshape.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @Reshape.dynamic.same
# CHECK: return %arg0 : tensor<?x4xf64>
show([x], x.reshape((x.shape[0], -1)), name="Reshape.dynamic.same", dims={"x": ("n", 4)})

# CHECK-LABEL: module @Reshape.dynamic.inferred
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<4> : tensor<i64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[CONVERTED]], [[CONST]] : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[PRODUCT]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape %arg0, [[SHAPED]] : (tensor<?x4xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[SHAPED2]] : tensor<?xf64>
show([x], x.reshape((-1,)), name="Reshape.dynamic.inferred", dims={"x": ("n", 4)})

# CHECK-LABEL: module @Reshape.dynamic.runtime
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 0", "size 0 of Reshape at an unnamed Reshape node"], ["(4*rows) % n == 0", "the open size of Reshape at an unnamed Reshape node"], ["n*((4*rows)//n) == 4*rows", "reshape at an unnamed Reshape node"]]
# CHECK: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape %arg0, %{{[0-9]+}} : (tensor<?x4xf64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<?x?xf64>
show([x, n], x.reshape((n, -1)), name="Reshape.dynamic.runtime", dims={"x": ("rows", 4)})
