# RUN: %python %s | filecheck %s
"""Subtensor: slices and integer indices."""

import pytensor.tensor as pt
from common import show

x, v = pt.dmatrix("x"), pt.dvector("v")
i, k = pt.lscalar("i"), pt.lscalar("k")

# CHECK-LABEL: module @Subtensor.static
# CHECK-NOT: dynamic_
# CHECK: [[SLICED:%\w+]] = stablehlo.slice %arg0 [1:3, 0:5:2] : (tensor<5x6xf64>) -> tensor<2x3xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<2x3xf64>
show([x], x[1:3, ::2], name="Subtensor.static", dims={"x": (5, 6)})

# CHECK-LABEL: module @Subtensor.static.integer
# CHECK-NOT: dynamic_
# CHECK: [[SLICED:%\w+]] = stablehlo.slice %arg0 [4:5, 0:6] : (tensor<5x6xf64>) -> tensor<1x6xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SLICED]] : (tensor<1x6xf64>) -> tensor<6xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<6xf64>
show([x], x[-1], name="Subtensor.static.integer", dims={"x": (5, 6)})

# CHECK-LABEL: module @Subtensor.static.reverse
# CHECK-NOT: dynamic_
# CHECK: [[REVERSED:%\w+]] = stablehlo.reverse %arg0, dims = [0] : tensor<5xf64>
# CHECK-NEXT: return [[REVERSED]] : tensor<5xf64>
show([v], v[::-1], name="Subtensor.static.reverse", dims={"v": (5,)})

# CHECK-LABEL: module @Subtensor.static.backward
# CHECK-NOT: dynamic_
# CHECK: [[SLICED:%\w+]] = stablehlo.slice %arg0 [2:5:2] : (tensor<5xf64>) -> tensor<2xf64>
# CHECK-NEXT: [[REVERSED:%\w+]] = stablehlo.reverse [[SLICED]], dims = [0] : tensor<2xf64>
# CHECK-NEXT: return [[REVERSED]] : tensor<2xf64>
show([v], v[4:0:-2], name="Subtensor.static.backward", dims={"v": (5,)})

# CHECK-LABEL: module @Subtensor.static.clamped
# CHECK-NOT: dynamic_
# CHECK: [[SLICED:%\w+]] = stablehlo.slice %arg0 [1:5] : (tensor<5xf64>) -> tensor<4xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<4xf64>
show([v], v[1:100], name="Subtensor.static.clamped", dims={"v": (5,)})

# CHECK-LABEL: module @Subtensor.static.whole
# CHECK-NOT: dynamic_
# CHECK: return %arg0 : tensor<5xf64>
show([v], v[:], name="Subtensor.static.whole", dims={"v": (5,)})

# An index that is an argument is data: checked when the program runs, and no size.
# CHECK-LABEL: module @Subtensor.static.runtime
# CHECK-NOT: {{dynamic_(broadcast|gather|iota|pad|reshape)|real_dynamic}}
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed Subtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<5> : tensor<i64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[CONST]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, [[CONST2]] : tensor<i64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<i1>, tensor<i64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[CONST]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[CONST2]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<i1>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.dynamic_slice %arg0, [[CHOSEN]], [[CONST]], sizes = [1, 6] : (tensor<5x6xf64>, tensor<i64>, tensor<i64>) -> tensor<1x6xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SLICED]] : (tensor<1x6xf64>) -> tensor<6xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[AND]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[SHAPED]], [[SHAPED2]] : tensor<6xf64>, tensor<1xi1>
show([x, i], x[i], name="Subtensor.static.runtime", dims={"x": (5, 6)})

# CHECK-LABEL: module @Subtensor.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<2xi64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, %{{[0-9]+}}, %{{[0-9]+}}, [[CONST]] : (tensor<?x6xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x6xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<?x6xf64>
show([x], x[1:], name="Subtensor.dynamic", dims={"x": ("n", 6)})

# CHECK-LABEL: module @Subtensor.dynamic.integer
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 1", "index -1 of axis 0 at an unnamed Subtensor node"]]
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.dynamic_slice %arg0, %{{[0-9]+}}, [[CONST]], sizes = [1, 6] : (tensor<?x6xf64>, tensor<i64>, tensor<i64>) -> tensor<1x6xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SLICED]] : (tensor<1x6xf64>) -> tensor<6xf64>
# CHECK-NEXT: return [[SHAPED]] : tensor<6xf64>
show([x], x[-1], name="Subtensor.dynamic.integer", dims={"x": ("n", 6)})

# CHECK-LABEL: module @Subtensor.dynamic.reverse
# CHECK: [[REVERSED:%\w+]] = stablehlo.reverse %arg0, dims = [0] : tensor<?xf64>
# CHECK-NEXT: return [[REVERSED]] : tensor<?xf64>
show([v], v[::-1], name="Subtensor.dynamic.reverse", dims={"v": ("n",)})

# CHECK-LABEL: module @Subtensor.dynamic.step
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<3> : tensor<1xi64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, [[CONST]], %{{[0-9]+}}, [[CONST2]] : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<?xf64>
show([v], v[::3], name="Subtensor.dynamic.step", dims={"v": ("n",)})

# An end that is an argument is a size.
# CHECK-LABEL: module @Subtensor.dynamic.end
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, [[CONST]], %{{[0-9]+}}, [[CONST2]] : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<?xf64>
show([v, k], v[:k], name="Subtensor.dynamic.end", dims={"v": ("n",)})

# CHECK-LABEL: module @Subtensor.dynamic.runtime
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed Subtensor node"]]
# CHECK-SAME: hlograph.constraints = {{\[\[}}"n >= 1", "index of axis 0 at an unnamed Subtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[CONST]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, %{{[0-9]+}} : tensor<i64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<i1>, tensor<i64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[CONST]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], %{{[0-9]+}} : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.and [[TEST2]], [[TEST3]] : tensor<i1>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.dynamic_slice %arg0, [[CHOSEN]], [[CONST]], sizes = [1, 6] : (tensor<?x6xf64>, tensor<i64>, tensor<i64>) -> tensor<1x6xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SLICED]] : (tensor<1x6xf64>) -> tensor<6xf64>
# CHECK: return [[SHAPED]], %{{[0-9]+}} : tensor<6xf64>, tensor<1xi1>
show([x, i], x[i], name="Subtensor.dynamic.runtime", dims={"x": ("n", 6)})

# CHECK-LABEL: module @Subtensor.dynamic.stride
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"max(-k, k) >= 1", "the absolute step of a slice of axis 0 at an unnamed Subtensor node"]]
# CHECK: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg1, %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[IOTA]], [[WIDE]] : tensor<?xi64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim %{{[0-9]+}}, %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[PRODUCT]], [[WIDE2]] : tensor<?xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[SUM]], %{{[0-9]+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?xf64>, tensor<?xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<?xf64>
show([v, k], v[::k], name="Subtensor.dynamic.stride", dims={"v": ("n",)})

# ---- sizes from data -----------------------------------------------------------------------------------------------

w = pt.dvector("w")

# CHECK-LABEL: module @Subtensor.dynamic.computed
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"slice_0", "8"]]
# CHECK: stablehlo.return %{{\w+}}, %{{\w+}} : tensor<f64>, tensor<i64>
# CHECK: [[MAX:%\w+]] = stablehlo.maximum %{{\w+}}, %{{\w+}} : tensor<i64>
# CHECK-NEXT: [[MIN:%\w+]] = stablehlo.minimum [[MAX]], %{{\w+}} : tensor<i64>
# CHECK: [[MAX2:%\w+]] = stablehlo.maximum %{{\w+}}, %{{\w+}} : tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[MAX2]]) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "8", hlograph.dim = "slice_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, %{{\w+}}, %{{\w+}}, %{{\w+}} : (tensor<8xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<?xf64>
show([w], w[: pt.argmax(w)], name="Subtensor.dynamic.computed", dims={"w": (8,)})

# From a computed start on the places are computed too.
# CHECK-LABEL: module @Subtensor.dynamic.computed.start
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"slice_0", "4"]]
# CHECK: stablehlo.return %{{\w+}}, %{{\w+}} : tensor<f64>, tensor<i64>
# CHECK: [[MAX:%\w+]] = stablehlo.maximum %{{\w+}}, %{{\w+}} : tensor<i64>
# CHECK-NEXT: [[MIN:%\w+]] = stablehlo.minimum [[MAX]], %{{\w+}} : tensor<i64>
# CHECK-NEXT: [[DIFF:%\w+]] = stablehlo.subtract %{{\w+}}, [[MIN]] : tensor<i64>
# CHECK-NEXT: [[MAX2:%\w+]] = stablehlo.maximum [[DIFF]], %{{\w+}} : tensor<i64>
# CHECK: [[QUOTIENT:%\w+]] = stablehlo.divide %{{\w+}}, %{{\w+}} : tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[QUOTIENT]]) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "4", hlograph.dim = "slice_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: [[PLACES2:%\w+]] = stablehlo.dynamic_iota %{{\w+}}, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK: [[PRODUCT:%\w+]] = stablehlo.multiply [[PLACES2]], %{{\w+}} : tensor<?xi64>
# CHECK: [[TAKEN:%\w+]] = "stablehlo.gather"(%arg0, %{{\w+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<8xf64>, tensor<?xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[TAKEN]] : tensor<?xf64>
show([w], w[pt.argmax(w) :: 2], name="Subtensor.dynamic.computed.start", dims={"w": (8,)})
