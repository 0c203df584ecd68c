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
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[CONST3:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<2> : tensor<i64>
# CHECK-NEXT: [[LOOP:%\w+]]:2 = stablehlo.while(%iterArg{{[^ ,:)=]*}} = [[CONST]], %iterArg{{[^ ,:)=]*}} = %arg0) : tensor<i64>, tensor<?x4xf64>
# CHECK-NEXT: cond {
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %iterArg{{[^ ,:)=]*}}, %{{[0-9]+}} : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.return [[TEST]] : tensor<i1>
# CHECK-NEXT: } do {
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[WIDE]], %iterArg{{[^ ,:)=]*}}, dim = 0 : (tensor<?x4xf64>, tensor<?x4xf64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract %{{[0-9]+}}, %iterArg{{[^ ,:)=]*}} : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[DIFFERENCE]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[JOINED2:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST3]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"([[JOINED]], [[JOINED2]], %{{[0-9]+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0, 1]>, indices_are_sorted = false}> : (tensor<?x4xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply %iterArg{{[^ ,:)=]*}}, [[CONST4]] : tensor<i64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[GATHERED]], %iterArg{{[^ ,:)=]*}} : tensor<?x4xf64>
# CHECK-NEXT: stablehlo.return [[PRODUCT]], [[SUM]] : tensor<i64>, tensor<?x4xf64>
# CHECK: return [[LOOP]]#1 : tensor<?x4xf64>
show([x], pt.cumsum(x, axis=0), name="CumOp.dynamic", dims={"x": ("n", 4)})
