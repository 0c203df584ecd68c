# RUN: %python %s | filecheck %s
"""CumOp: running sum and product; a window on a static axis, doubling shifts on a symbolic one."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")

# CHECK-LABEL: module @CumOp.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[WINDOWED:%\w+]] = "stablehlo.reduce_window"(%arg0, [[CONST]]) <{padding = dense<{{\[\[}}0, 0], [3, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 4>}> ({
# CHECK: [[SUM:%\w+]] = stablehlo.add %arg1, %arg2 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[SUM]] : tensor<f64>
# CHECK-NEXT: }) : (tensor<3x4xf64>, tensor<f64>) -> tensor<3x4xf64>
# CHECK-NEXT: return [[WINDOWED]] : tensor<3x4xf64>
show([x], pt.cumsum(x, axis=1), name="CumOp.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @CumOp.static.flat
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<3x4xf64>) -> tensor<12xf64>
# CHECK-NEXT: [[WINDOWED:%\w+]] = "stablehlo.reduce_window"([[SHAPED]], [[CONST]]) <{padding = dense<{{\[\[}}11, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 12>}> ({
# CHECK: [[PRODUCT:%\w+]] = stablehlo.multiply %arg1, %arg2 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[PRODUCT]] : tensor<f64>
# CHECK-NEXT: }) : (tensor<12xf64>, tensor<f64>) -> tensor<12xf64>
# CHECK-NEXT: return [[WINDOWED]] : tensor<12xf64>
show([x], pt.cumprod(x), name="CumOp.static.flat", dims={"x": (3, 4)})

# CHECK-LABEL: module @CumOp.dynamic.other
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[WINDOWED:%\w+]] = "stablehlo.reduce_window"(%arg0, [[CONST]]) <{padding = dense<{{\[\[}}0, 0], [3, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 4>}> ({
# CHECK: [[SUM:%\w+]] = stablehlo.add %arg1, %arg2 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[SUM]] : tensor<f64>
# CHECK-NEXT: }) : (tensor<?x4xf64>, tensor<f64>) -> tensor<?x4xf64>
# CHECK-NEXT: return [[WINDOWED]] : tensor<?x4xf64>
show([x], pt.cumsum(x, axis=1), name="CumOp.dynamic.other", dims={"x": ("n", 4)})

# CHECK-LABEL: module @CumOp.dynamic
# CHECK: [[SIZE:%\w+]] = stablehlo.convert %{{[0-9]+}} : (tensor<i32>) -> tensor<i64>
# CHECK: [[LESS:%\w+]] = stablehlo.add {{.*}}[[SIZE]]{{.*}} : tensor<i64>
# CHECK: [[LOW:%\w+]] = stablehlo.maximum {{.*}}[[LESS]]{{.*}} : tensor<i64>
# CHECK: [[INIT:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[REACH:%\w+]] = stablehlo.maximum {{.*}}[[SIZE]]{{.*}} : tensor<i64>
# CHECK: [[ROW:%\w+]] = stablehlo.reshape [[REACH]] : (tensor<i64>) -> tensor<1xi64>
# CHECK: [[WINDOW:%\w+]] = stablehlo.concatenate [[ROW]], %{{.*}}, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK: [[ONES:%\w+]] = stablehlo.constant dense<1> : tensor<2xi64>
# CHECK: [[PADDING:%\w+]] = stablehlo.reshape %{{[0-9]+}} : (tensor<4xi64>) -> tensor<2x2xi64>
# CHECK: [[RESULT:%\w+]] = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg0, [[INIT]], [[WINDOW]], [[ONES]], [[ONES]], [[ONES]], [[PADDING]]) {{.*}}called_computations = [@[[REDUCER:\w+]]]
# CHECK: return [[RESULT]] : tensor<?x4xf64>
# CHECK: func.func private @[[REDUCER]]
# CHECK: stablehlo.add %arg0, %arg1 : tensor<f64>
show([x], pt.cumsum(x, axis=0), name="CumOp.dynamic", dims={"x": ("n", 4)})
