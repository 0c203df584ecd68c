# RUN: %python %s | filecheck %s
"""DimShuffle: drops axes of size 1, permutes, inserts axes of size 1."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")
row = pt.drow("row")

# CHECK-LABEL: module @DimShuffle.static
# CHECK-NOT: dynamic_
# CHECK: [[TRANSPOSED:%\w+]] = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x4xf64>) -> tensor<4x3xf64>
# CHECK-NEXT: return [[TRANSPOSED]] : tensor<4x3xf64>
show([x], x.T, name="DimShuffle.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @DimShuffle.static.insert
# CHECK-NOT: dynamic_
# CHECK: [[TRANSPOSED:%\w+]] = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x4xf64>) -> tensor<4x3xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[TRANSPOSED]] : (tensor<4x3xf64>) -> tensor<4x1x3xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<4x1x3xf64>
show([x], x.dimshuffle(1, "x", 0), name="DimShuffle.static.insert", dims={"x": (3, 4)})

# CHECK-LABEL: module @DimShuffle.static.drop
# CHECK-NOT: dynamic_
# CHECK: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<1x4xf64>) -> tensor<4xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<4xf64>
show([row], row.dimshuffle(1), name="DimShuffle.static.drop", dims={"row": (1, 4)})

# CHECK-LABEL: module @DimShuffle.dynamic
# CHECK: [[TRANSPOSED:%\w+]] = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<?x4xf64>) -> tensor<4x?xf64>
# CHECK-NEXT: return [[TRANSPOSED]] : tensor<4x?xf64>
show([x], x.T, name="DimShuffle.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @DimShuffle.dynamic.insert
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[CONST]], [[CONST2]], [[SHAPED]], dim = 0 : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
# CHECK-NEXT: [[TRANSPOSED:%\w+]] = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<?x4xf64>) -> tensor<4x?xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape [[TRANSPOSED]], [[JOINED]] : (tensor<4x?xf64>, tensor<3xi64>) -> tensor<4x1x?xf64>
# CHECK-NEXT: return [[SHAPED2]] : tensor<4x1x?xf64>
show([x], x.dimshuffle(1, "x", 0), name="DimShuffle.dynamic.insert", dims={"x": ("n", 4)})

# CHECK-LABEL: module @DimShuffle.dynamic.drop
# CHECK: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape %arg0, %{{[0-9]+}} : (tensor<1x?xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<?xf64>
show([row], row.dimshuffle(1), name="DimShuffle.dynamic.drop", dims={"row": (1, "n")})
