# RUN: %python %s | filecheck %s
"""CumOp: running sum and product; a window on a static axis, doubling shifts on a symbolic one."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")

# CHECK-LABEL: module @CumOp.static.flat
# CHECK-NEXT: a = reduce_window(reshape<12xf64>(x), 1) {padding = [11, 0], window_dimensions = [12], multiply} : tensor<12xf64>
show([x], pt.cumprod(x), name="CumOp.static.flat", dims={"x": (3, 4)})

# CHECK-LABEL: module @CumOp.dynamic.other
# CHECK-NEXT: a = reduce_window(x, 0) {padding = [0, 0; 3, 0], window_dimensions = [1, 4], add} : tensor<?x4xf64>
show([x], pt.cumsum(x, axis=1), name="CumOp.dynamic.other", dims={"x": ("n", 4)})

# CHECK-LABEL: module @CumOp.dynamic
# CHECK-NEXT: a = @stablehlo.dynamic_reduce_window(x, 0, concatenate<0>(maximum(size<0>(x), 1), 1), 1, 1, 1, reshape<2x2xi64>(concatenate<0>(maximum(add(size<0>(x), -1), 0), 0, 0, 0))) {called_computations = [@add_float64]} : tensor<?x4xf64>
# CHECK: @add_float64(tensor<f64>, tensor<f64>) -> tensor<f64>:
# CHECK-NEXT: return add(arg0, arg1) : tensor<f64>
show([x], pt.cumsum(x, axis=0), name="CumOp.dynamic", dims={"x": ("n", 4)})
