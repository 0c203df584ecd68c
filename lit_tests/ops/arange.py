# RUN: %python %s | filecheck %s
"""ARange: `numpy.arange`; a short constant one is a constant, integer ends may be sizes or arguments."""

import pytensor.tensor as pt
from common import show

x = pt.dvector("x")
n = pt.lscalar("n")

# CHECK-LABEL: module @ARange.static.short
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[0, 2, 4]> : tensor<3xi64>
# CHECK-NEXT: return [[CONST]] : tensor<3xi64>
show([], [pt.arange(0, 6, 2)], name="ARange.static.short")

# CHECK-LABEL: module @ARange.static
# CHECK-NOT: dynamic_
# CHECK: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<100xi64>
# CHECK-NEXT: return [[IOTA]] : tensor<100xi64>
show([], [pt.arange(100)], name="ARange.static")

# CHECK-LABEL: module @ARange.static.float
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[0.000000e+00, 2.500000e-01, 5.000000e-01, 7.500000e-01]> : tensor<4xf32>
# CHECK-NEXT: return [[CONST]] : tensor<4xf32>
show([], [pt.arange(0.0, 1.0, 0.25)], name="ARange.static.float")

# CHECK-LABEL: module @ARange.static.backward
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<-2> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<300> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<150xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<150xi64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[IOTA]], [[WIDE]] : tensor<150xi64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<150xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[PRODUCT]], [[WIDE2]] : tensor<150xi64>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[SUM]] : (tensor<150xi64>) -> tensor<150xi32>
# CHECK-NEXT: return [[CONVERTED]] : tensor<150xi32>
show([], [pt.arange(300, 0, -2, dtype="int32")], name="ARange.static.backward")

# CHECK-LABEL: module @ARange.dynamic
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota [[SHAPED]], dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: return [[IOTA]] : tensor<?xi64>
show([x], pt.arange(x.shape[0]), name="ARange.dynamic", dims={"x": ("n",)})

# CHECK-LABEL: module @ARange.dynamic.runtime
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<2> : tensor<i64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[IOTA]], [[WIDE]] : tensor<?xi64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[PRODUCT]], [[WIDE2]] : tensor<?xi64>
# CHECK-NEXT: return [[SUM]] : tensor<?xi64>
show([n], pt.arange(1, n, 2), name="ARange.dynamic.runtime")

# CHECK-LABEL: module @ARange.dynamic.float
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[LARGER:%\w+]] = stablehlo.maximum %arg0, [[CONST]] : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[LARGER]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota [[SHAPED]], dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[IOTA]] : (tensor<?xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[CONVERTED]] : tensor<?xf64>
show([n], pt.arange(n, dtype="float64"), name="ARange.dynamic.float")

# ---- sizes from data -----------------------------------------------------------------------------------------------

w, end = pt.dvector("w"), pt.dscalar("end")

# CHECK-LABEL: module @ARange.dynamic.computed
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"arange_0", ""]]
# CHECK: stablehlo.return %{{\w+}}, %{{\w+}} : tensor<f64>, tensor<i64>
# CHECK: [[MAX:%\w+]] = stablehlo.maximum %{{\w+}}#1, %{{\w+}} : tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[MAX]]) {api_version = 4 : i32, backend_config = {}, hlograph.dim = "arange_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: [[PLACES2:%\w+]] = stablehlo.dynamic_iota %{{\w+}}, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: return [[PLACES2]] : tensor<?xi64>
show([w], pt.arange(pt.argmax(w)), name="ARange.dynamic.computed", dims={"w": (8,)})

# NumPy's spacing is that of the first two elements.
# CHECK-LABEL: module @ARange.dynamic.ends
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"ValueError", "arange: cannot compute length"]], hlograph.counts = {{\[\[}}"arange_0", ""]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[DIFF:%\w+]] = stablehlo.subtract %arg0, [[CONST]] : tensor<f64>
# CHECK-NEXT: [[QUOTIENT:%\w+]] = stablehlo.divide [[DIFF]], [[CONST2]] : tensor<f64>
# CHECK-NEXT: [[CEIL:%\w+]] = stablehlo.ceil [[QUOTIENT]] : tensor<f64>
# CHECK-NEXT: [[FINITE:%\w+]] = stablehlo.is_finite [[CEIL]] : (tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[FINITE]], [[CEIL]], [[CONST]] : tensor<i1>, tensor<f64>
# CHECK-NEXT: [[MAX:%\w+]] = stablehlo.maximum [[CHOSEN]], [[CONST]] : tensor<f64>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[MAX]] : (tensor<f64>) -> tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[CONVERTED]]) {api_version = 4 : i32, backend_config = {}, hlograph.dim = "arange_0"} : (tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SIZE]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[CONST]], [[CONST2]] : tensor<f64>
# CHECK-NEXT: [[DIFF2:%\w+]] = stablehlo.subtract [[SUM]], [[CONST]] : tensor<f64>
# CHECK-NEXT: [[PLACES:%\w+]] = stablehlo.dynamic_iota [[SHAPED]], dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[PLACES]] : (tensor<?xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[DIFF2]], [[SHAPED]], dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[CONVERTED2]], [[WIDE]] : tensor<?xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], [[SHAPED]], dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add [[PRODUCT]], [[WIDE2]] : tensor<?xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[FINITE]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[SUM2]], [[SHAPED2]] : tensor<?xf64>, tensor<1xi1>
show([end], pt.arange(end), name="ARange.dynamic.ends")
