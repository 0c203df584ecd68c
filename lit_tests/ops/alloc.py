# RUN: %python %s | filecheck %s
"""Alloc, AllocEmpty: a value stretched to a shape; a tensor whose contents nobody may rely on."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.basic import AllocEmpty

x = pt.dvector("x")
n = pt.lscalar("n")

# CHECK-LABEL: module @Alloc.static
# CHECK-NOT: dynamic_
# CHECK: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xf64>) -> tensor<2x3xf64>
# CHECK-NEXT: return [[WIDE]] : tensor<2x3xf64>
show([x], pt.alloc(x, 2, 3), name="Alloc.static", dims={"x": (3,)})

# CHECK-LABEL: module @Alloc.static.zeros
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<2x3xf64>
# CHECK-NEXT: return [[WIDE]] : tensor<2x3xf64>
show([], [pt.zeros((2, 3))], name="Alloc.static.zeros")

# CHECK-LABEL: module @Alloc.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<2> : tensor<1xi64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[CONST]], [[SHAPED]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg0, [[JOINED]], dims = [1] : (tensor<?xf64>, tensor<2xi64>) -> tensor<2x?xf64>
# CHECK-NEXT: return [[WIDE]] : tensor<2x?xf64>
show([x], pt.alloc(x, 2, x.shape[0]), name="Alloc.dynamic", dims={"x": ("n",)})

# CHECK-LABEL: module @Alloc.dynamic.runtime
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 0", "size 0 of Alloc at an unnamed Alloc node"]]
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg0, %{{[0-9]+}}, dims = [1] : (tensor<3xf64>, tensor<2xi64>) -> tensor<?x3xf64>
# CHECK-NEXT: return [[WIDE]] : tensor<?x3xf64>
show([x, n], pt.alloc(x, n, 3), name="Alloc.dynamic.runtime", dims={"x": (3,)})

# CHECK-LABEL: module @AllocEmpty.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f32>) -> tensor<2x3xf32>
# CHECK-NEXT: return [[WIDE]] : tensor<2x3xf32>
show([], [AllocEmpty("float32")(2, 3)], name="AllocEmpty.static")

# CHECK-LABEL: module @AllocEmpty.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 0", "size 0 of AllocEmpty at an unnamed AllocEmpty node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f32>, tensor<2xi64>) -> tensor<?x3xf32>
# CHECK-NEXT: return [[WIDE]] : tensor<?x3xf32>
show([n], AllocEmpty("float32")(n, 3), name="AllocEmpty.dynamic")

# ---- sizes from data -----------------------------------------------------------------------------------------------

w = pt.dvector("w")

# CHECK-LABEL: module @Alloc.dynamic.computed
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"ValueError", "negative dimensions are not allowed"]], hlograph.counts = {{\[\[}}"alloc_0", ""]]
# CHECK: stablehlo.return %{{\w+}}, %{{\w+}} : tensor<f64>, tensor<i64>
# CHECK: [[TEST7:%\w+]] = stablehlo.compare GE, %{{\w+}}#1, %{{\w+}} : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[MAX:%\w+]] = stablehlo.maximum %{{\w+}}#1, %{{\w+}} : tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[MAX]]) {api_version = 4 : i32, backend_config = {}, hlograph.dim = "alloc_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %{{\w+}}, %{{\w+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK: return [[WIDE]], %{{\w+}} : tensor<?xf64>, tensor<1xi1>
show([w], pt.zeros((pt.argmax(w),)), name="Alloc.dynamic.computed", dims={"w": (8,)})
