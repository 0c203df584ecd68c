# RUN: %python %s | filecheck %s
"""Blockwise: a core op over leading batch axes, which stretch as NumPy's do."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.linalg import Cholesky

x, y = pt.dtensor3("x"), pt.dmatrix("y")
cholesky = Blockwise(Cholesky(lower=True))

# CHECK-LABEL: module @Blockwise.static
# CHECK-NOT: dynamic_
# CHECK: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<4x5xf64>) -> tensor<2x4x5xf64>
# CHECK-NEXT: [[DOT:%\w+]] = stablehlo.dot_general %arg0, [[WIDE]], batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3x4xf64>, tensor<2x4x5xf64>) -> tensor<2x3x5xf64>
# CHECK-NEXT: return [[DOT]] : tensor<2x3x5xf64>
show([x, y], pt.matmul(x, y), name="Blockwise.static", dims={"x": (2, 3, 4), "y": (4, 5)})

# CHECK-LABEL: module @Blockwise.static.one
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CHOLESKY:%\w+]] = stablehlo.cholesky %arg0, lower = true : tensor<4x4xf64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<4x4xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<4x4xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GE, [[IOTA]], [[IOTA2]] : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<4x4xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[CHOLESKY]], [[WIDE]] : tensor<4x4xi1>, tensor<4x4xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<4x4xf64>
show([y], cholesky(y), name="Blockwise.static.one", dims={"y": (4, 4)})

# CHECK-LABEL: module @Blockwise.dynamic
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg1, %{{[0-9]+}}, dims = [1, 2] : (tensor<4x5xf64>, tensor<3xi64>) -> tensor<?x4x5xf64>
# CHECK-NEXT: [[DOT:%\w+]] = stablehlo.dot_general %arg0, [[WIDE]], batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<?x3x4xf64>, tensor<?x4x5xf64>) -> tensor<?x3x5xf64>
# CHECK-NEXT: return [[DOT]] : tensor<?x3x5xf64>
show([x, y], pt.matmul(x, y), name="Blockwise.dynamic", dims={"x": ("n", 3, 4), "y": (4, 5)})

# CHECK-LABEL: module @Blockwise.dynamic.cholesky
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CHOLESKY:%\w+]] = stablehlo.cholesky %arg0, lower = true : tensor<?x4x4xf64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<4x4xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<4x4xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GE, [[IOTA]], [[IOTA2]] : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[TEST]], %{{[0-9]+}}, dims = [1, 2] : (tensor<4x4xi1>, tensor<3xi64>) -> tensor<?x4x4xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<3xi64>) -> tensor<?x4x4xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[WIDE]], [[CHOLESKY]], [[WIDE2]] : tensor<?x4x4xi1>, tensor<?x4x4xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<?x4x4xf64>
show([x], cholesky(x), name="Blockwise.dynamic.cholesky", dims={"x": ("n", 4, 4)})
