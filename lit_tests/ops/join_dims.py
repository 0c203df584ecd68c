# RUN: %python %s | filecheck %s
"""JoinDims, SplitDims: neighbouring axes merged into one, one axis split into several."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.reshape import join_dims, split_dims

x = pt.dtensor3("x")

# CHECK-LABEL: module @JoinDims.static
# CHECK-NOT: dynamic_
# CHECK: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<2x3x4xf64>) -> tensor<2x12xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<2x12xf64>
show([x], join_dims(x, 1, 2), name="JoinDims.static", dims={"x": (2, 3, 4)})

# CHECK-LABEL: module @JoinDims.dynamic
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x3x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<3> : tensor<i64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[CONVERTED]], [[CONST]] : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[PRODUCT]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST2]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape %arg0, [[JOINED]] : (tensor<?x3x4xf64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: return [[SHAPED2]] : tensor<?x4xf64>
show([x], join_dims(x, 0, 2), name="JoinDims.dynamic", dims={"x": ("n", 3, 4)})

# CHECK-LABEL: module @SplitDims.static
# CHECK-NOT: dynamic_
# CHECK: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<2x3x4xf64>) -> tensor<2x3x2x2xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<2x3x2x2xf64>
show([x], split_dims(x, (2, 2), 2), name="SplitDims.static", dims={"x": (2, 3, 4)})

# CHECK-LABEL: module @SplitDims.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n % 2 == 0", "the open size of SplitDims at an unnamed SplitDims node"]]
# CHECK: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape %arg0, %{{[0-9]+}} : (tensor<?x3x4xf64>, tensor<4xi64>) -> tensor<?x2x3x4xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<?x2x3x4xf64>
show([x], split_dims(x, (-1, 2), 0), name="SplitDims.dynamic", dims={"x": ("n", 3, 4)})
