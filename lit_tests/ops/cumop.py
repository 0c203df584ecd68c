# RUN: %python %s | filecheck %s
"""CumOp: running sum and product; a window on a static axis, doubling shifts on a symbolic one."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")

# CHECK-LABEL: module @CumOp.dynamic
# CHECK-NEXT: a = @stablehlo.dynamic_reduce_window(x, 0, concatenate<0>(maximum(size<0>(x), 1), 1), 1, 1, 1, reshape<2x2xi64>(concatenate<0>(maximum(add(size<0>(x), -1), 0), 0, 0, 0))) {called_computations = [@add_float64]} : tensor<?x4xf64>
# CHECK: @add_float64(tensor<f64>, tensor<f64>) -> tensor<f64>:
# CHECK-NEXT: return add(arg0, arg1) : tensor<f64>
show([x], pt.cumsum(x, axis=0), name="CumOp.dynamic", dims={"x": ("n", 4)})
