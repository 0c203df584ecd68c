# RUN: %python %s | filecheck %s
"""CheckAndRaise: a condition becomes a flag among the results, with the exception in the signature."""

import pytensor.tensor as pt
from common import show
from pytensor.ifelse import ifelse
from pytensor.raise_op import Assert, CheckAndRaise

x = pt.dvector("x")
c = pt.dscalar("c")

# CHECK-LABEL: module @CheckAndRaise.static
# CHECK-NOT: dynamic_
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"AssertionError", "all positive"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[LOG:%\w+]] = stablehlo.log %arg0 : tensor<3xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GT, %arg0, [[WIDE]] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[TEST]] init: [[CONST2]]) applies stablehlo.and across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[REDUCED]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[LOG]], [[SHAPED]] : tensor<3xf64>, tensor<1xi1>
show([x], Assert("all positive")(pt.log(x), (x > 0).all()), name="CheckAndRaise.static", dims={"x": (3,)})

checked = CheckAndRaise(ValueError, "sum too large")(x, x.sum() < 1, x.sum() > 0)
# CHECK-LABEL: module @CheckAndRaise.dynamic
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"ValueError", "sum too large"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, [[REDUCED]], [[CONST2]] : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GT, [[REDUCED]], [[CONST]] : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.and [[TEST]], [[TEST2]] : tensor<i1>
# CHECK: return %arg0, %{{[0-9]+}} : tensor<?xf64>, tensor<1xi1>
show([x], checked, name="CheckAndRaise.dynamic", dims={"x": ("n",)})

# Inside a branch: the flag counts only when the branch is taken.
# CHECK-LABEL: module @CheckAndRaise.dynamic.branch
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"AssertionError", "positive"]]
# CHECK-SAME: hlograph.constraints = {{\[\[}}"n >= 1", "index 0 of axis 0 at an unnamed Subtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GT, %arg0, [[CONST]] : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[CHOICE:%\w+]]:2 = "stablehlo.if"([[TEST]]) ({
# CHECK-NEXT: [[LOG:%\w+]] = stablehlo.log %arg1 : tensor<?xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.slice %arg1 [0:1] : (tensor<?xf64>) -> tensor<1xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SLICED]] : (tensor<1xf64>) -> tensor<f64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GT, [[SHAPED]], [[CONST]] : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.return [[LOG]], [[TEST2]] : tensor<?xf64>, tensor<i1>
# CHECK-NEXT: }, {
# CHECK-NEXT: stablehlo.return %arg1, [[CONST2]] : tensor<?xf64>, tensor<i1>
# CHECK-NEXT: }) : (tensor<i1>) -> (tensor<?xf64>, tensor<i1>)
# CHECK: return [[CHOICE]]#0, %{{[0-9]+}} : tensor<?xf64>, tensor<1xi1>
show(
    [c, x],
    ifelse(c > 0, Assert("positive")(pt.log(x), x[0] > 0), x),
    name="CheckAndRaise.dynamic.branch",
    dims={"x": ("n",)},
)
