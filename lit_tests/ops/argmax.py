# RUN: %python %s | filecheck %s
"""Argmax, MaxAndArgmax: index of the first largest element; NaN counts as largest."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op


def _make_node(self, x):
    return Apply(self, [x], [pt.dvector(), pt.lvector()])


x, i = pt.dmatrix("x"), pt.lmatrix("i")
max_and_argmax = of_another_release(Op, "MaxAndArgmax", make_node=_make_node, perform=None, axis=(0,))()

# CHECK-LABEL: module @Argmax.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 1 : tensor<3x4xi64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce(%arg0 init: [[CONST]]), ([[IOTA]] init: [[CONST2]]) across dimensions = [1] : (tensor<3x4xi64>, tensor<3x4xi64>, tensor<i64>, tensor<i64>) -> (tensor<3xi64>, tensor<3xi64>)
# CHECK: [[TEST:%\w+]] = stablehlo.compare GT, %arg1, %arg3 : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare EQ, %arg1, %arg3 : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, %arg2, %arg4 : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<i1>
# CHECK-NEXT: [[OR:%\w+]] = stablehlo.or [[TEST]], [[AND]] : tensor<i1>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[OR]], %arg1, %arg3 : tensor<i1>, tensor<i64>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[OR]], %arg2, %arg4 : tensor<i1>, tensor<i64>
# CHECK-NEXT: stablehlo.return [[CHOSEN]], [[CHOSEN2]] : tensor<i64>, tensor<i64>
# CHECK: return [[REDUCED]]#1 : tensor<3xi64>
show([i], i.argmax(axis=1), name="Argmax.static", dims={"i": (3, 4)})

# CHECK-LABEL: module @Argmax.static.float
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 1 : tensor<3x4xi64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce(%arg0 init: [[CONST]]), ([[IOTA]] init: [[CONST2]]) across dimensions = [1] : (tensor<3x4xf64>, tensor<3x4xi64>, tensor<f64>, tensor<i64>) -> (tensor<3xf64>, tensor<3xi64>)
# CHECK: [[TEST:%\w+]] = stablehlo.compare GT, %arg1, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare EQ, %arg1, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare NE, %arg1, %arg1 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare NE, %arg3, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare EQ, %arg3, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST3]], [[TEST5]] : tensor<i1>
# CHECK-NEXT: [[OR:%\w+]] = stablehlo.or [[TEST]], [[AND]] : tensor<i1>
# CHECK-NEXT: [[AND2:%\w+]] = stablehlo.and [[TEST3]], [[TEST4]] : tensor<i1>
# CHECK-NEXT: [[OR2:%\w+]] = stablehlo.or [[TEST2]], [[AND2]] : tensor<i1>
# CHECK-NEXT: [[TEST6:%\w+]] = stablehlo.compare LT, %arg2, %arg4 : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[AND3:%\w+]] = stablehlo.and [[OR2]], [[TEST6]] : tensor<i1>
# CHECK-NEXT: [[OR3:%\w+]] = stablehlo.or [[OR]], [[AND3]] : tensor<i1>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[OR3]], %arg1, %arg3 : tensor<i1>, tensor<f64>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[OR3]], %arg2, %arg4 : tensor<i1>, tensor<i64>
# CHECK-NEXT: stablehlo.return [[CHOSEN]], [[CHOSEN2]] : tensor<f64>, tensor<i64>
# CHECK: return [[REDUCED]]#1 : tensor<3xi64>
show([x], x.argmax(axis=1), name="Argmax.static.float", dims={"x": (3, 4)})

# CHECK-LABEL: module @Argmax.static.all
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<3x4xi64>) -> tensor<12xi64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<12xi64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce([[SHAPED]] init: [[CONST]]), ([[IOTA]] init: [[CONST2]]) across dimensions = [0] : (tensor<12xi64>, tensor<12xi64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
# CHECK: return [[REDUCED]]#1 : tensor<i64>
show([i], i.argmax(), name="Argmax.static.all", dims={"i": (3, 4)})

# CHECK-LABEL: module @Argmax.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 1", "argmax over axis 0 of no elements at node 'argmax'"]]
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x4xi64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce(%arg0 init: [[CONST]]), ([[IOTA]] init: [[CONST2]]) across dimensions = [0] : (tensor<?x4xi64>, tensor<?x4xi64>, tensor<i64>, tensor<i64>) -> (tensor<4xi64>, tensor<4xi64>)
# CHECK: return [[REDUCED]]#1 : tensor<4xi64>
show([i], i.argmax(axis=0), name="Argmax.dynamic", dims={"i": ("n", 4)})

# CHECK-LABEL: module @Argmax.dynamic.all
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 1", "argmax over axis 0 of no elements at node 'argmax'"]]
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape %arg0, %{{[0-9]+}} : (tensor<?x4xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce([[SHAPED]] init: [[CONST]]), ([[IOTA]] init: [[CONST2]]) across dimensions = [0] : (tensor<?xi64>, tensor<?xi64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
# CHECK: return [[REDUCED]]#1 : tensor<i64>
show([i], i.argmax(), name="Argmax.dynamic.all", dims={"i": ("n", 4)})

# CHECK-LABEL: module @MaxAndArgmax.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x4xi64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce(%arg0 init: [[CONST]]), ([[IOTA]] init: [[CONST2]]) across dimensions = [0] : (tensor<3x4xf64>, tensor<3x4xi64>, tensor<f64>, tensor<i64>) -> (tensor<4xf64>, tensor<4xi64>)
# CHECK: [[REDUCED2:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: return [[REDUCED2]], [[REDUCED]]#1 : tensor<4xf64>, tensor<4xi64>
show([x], max_and_argmax(x), name="MaxAndArgmax.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @MaxAndArgmax.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 1", "argmax over axis 0 of no elements at an unnamed MaxAndArgmax node"]]
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x4xi64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce(%arg0 init: [[CONST]]), ([[IOTA]] init: [[CONST2]]) across dimensions = [0] : (tensor<?x4xf64>, tensor<?x4xi64>, tensor<f64>, tensor<i64>) -> (tensor<4xf64>, tensor<4xi64>)
# CHECK: [[REDUCED2:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [0] : (tensor<?x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: return [[REDUCED2]], [[REDUCED]]#1 : tensor<4xf64>, tensor<4xi64>
show([x], max_and_argmax(x), name="MaxAndArgmax.dynamic", dims={"x": ("n", 4)})
