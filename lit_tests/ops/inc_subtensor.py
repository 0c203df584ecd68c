# RUN: %python %s | filecheck %s
"""IncSubtensor: writing to, and adding at, slices and integer indices."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.subtensor import inc_subtensor, set_subtensor

x, v, y = pt.dmatrix("x"), pt.dvector("v"), pt.dvector("y")
i, k = pt.lscalar("i"), pt.lscalar("k")

# CHECK-LABEL: module @IncSubtensor.static
# CHECK-NOT: {{dynamic_(broadcast|gather|iota|pad|reshape)|real_dynamic}}
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[UPDATED:%\w+]] = stablehlo.dynamic_update_slice %arg0, %arg1, [[CONST]] : (tensor<5xf64>, tensor<2xf64>, tensor<i64>) -> tensor<5xf64>
# CHECK-NEXT: return [[UPDATED]] : tensor<5xf64>
show([v, y], set_subtensor(v[1:3], y), name="IncSubtensor.static", dims={"v": (5,), "y": (2,)})

# CHECK-LABEL: module @IncSubtensor.static.add
# CHECK-NOT: {{dynamic_(broadcast|gather|iota|pad|reshape)|real_dynamic}}
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.slice %arg0 [1:3] : (tensor<5xf64>) -> tensor<2xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[SLICED]], %arg1 : tensor<2xf64>
# CHECK-NEXT: [[UPDATED:%\w+]] = stablehlo.dynamic_update_slice %arg0, [[SUM]], [[CONST]] : (tensor<5xf64>, tensor<2xf64>, tensor<i64>) -> tensor<5xf64>
# CHECK-NEXT: return [[UPDATED]] : tensor<5xf64>
show([v, y], inc_subtensor(v[1:3], y), name="IncSubtensor.static.add", dims={"v": (5,), "y": (2,)})

# CHECK-LABEL: module @IncSubtensor.static.integer
# CHECK-NOT: {{dynamic_(broadcast|gather|iota|pad|reshape)|real_dynamic}}
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<2> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape %arg1 : (tensor<6xf64>) -> tensor<1x6xf64>
# CHECK-NEXT: [[UPDATED:%\w+]] = stablehlo.dynamic_update_slice %arg0, [[SHAPED]], [[CONST]], [[CONST2]] : (tensor<5x6xf64>, tensor<1x6xf64>, tensor<i64>, tensor<i64>) -> tensor<5x6xf64>
# CHECK-NEXT: return [[UPDATED]] : tensor<5x6xf64>
show([x, v], set_subtensor(x[2], v), name="IncSubtensor.static.integer", dims={"x": (5, 6), "v": (6,)})

# CHECK-LABEL: module @IncSubtensor.static.whole
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<5xf64>
# CHECK-NEXT: return [[WIDE]] : tensor<5xf64>
show([v], set_subtensor(v[:], 0.0), name="IncSubtensor.static.whole", dims={"v": (5,)})

# Not contiguous: through padding and a mask.
# CHECK-LABEL: module @IncSubtensor.static.strided
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<2> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<5xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<5xi64>
# CHECK-NEXT: [[REMAINDER:%\w+]] = stablehlo.remainder [[IOTA]], [[WIDE]] : tensor<5xi64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<5xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[REMAINDER]], [[WIDE2]] : (tensor<5xi64>, tensor<5xi64>) -> tensor<5xi1>
# CHECK-NEXT: [[PADDED:%\w+]] = stablehlo.pad %arg1, [[CONST3]], low = [0], high = [0], interior = [1] : (tensor<3xf64>, tensor<f64>) -> tensor<5xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg0, [[PADDED]] : tensor<5xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg0 : tensor<5xi1>, tensor<5xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<5xf64>
show([v, y], inc_subtensor(v[::2], y), name="IncSubtensor.static.strided", dims={"v": (5,), "y": (3,)})

# CHECK-LABEL: module @IncSubtensor.static.backward
# CHECK-NOT: dynamic_
# CHECK: [[REVERSED:%\w+]] = stablehlo.reverse %arg1, dims = [0] : tensor<5xf64>
# CHECK-NEXT: return [[REVERSED]] : tensor<5xf64>
show([v, y], set_subtensor(v[::-1], y), name="IncSubtensor.static.backward", dims={"v": (5,), "y": (5,)})

# CHECK-LABEL: module @IncSubtensor.static.runtime
# CHECK-NOT: {{dynamic_(broadcast|gather|iota|pad|reshape)|real_dynamic}}
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed IncSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<5> : tensor<i64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg2, [[CONST]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg2, [[CONST2]] : tensor<i64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg2 : tensor<i1>, tensor<i64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[CONST]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[CONST2]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<i1>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape %arg1 : (tensor<6xf64>) -> tensor<1x6xf64>
# CHECK-NEXT: [[UPDATED:%\w+]] = stablehlo.dynamic_update_slice %arg0, [[SHAPED]], [[CHOSEN]], [[CONST]] : (tensor<5x6xf64>, tensor<1x6xf64>, tensor<i64>, tensor<i64>) -> tensor<5x6xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[AND]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[UPDATED]], [[SHAPED2]] : tensor<5x6xf64>, tensor<1xi1>
show([x, v, i], set_subtensor(x[i], v), name="IncSubtensor.static.runtime", dims={"x": (5, 6), "v": (6,)})

# CHECK-LABEL: module @IncSubtensor.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"max(n - 1, 0) == m", "the written value, axis 0 at an unnamed IncSubtensor node"]]
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[SMALLER:%\w+]] = stablehlo.minimum [[CONVERTED]], [[CONST]] : tensor<i64>
# CHECK-NEXT: [[UPDATED:%\w+]] = stablehlo.dynamic_update_slice %arg0, %arg1, [[SMALLER]] : (tensor<?xf64>, tensor<?xf64>, tensor<i64>) -> tensor<?xf64>
# CHECK-NEXT: return [[UPDATED]] : tensor<?xf64>
show([v, y], set_subtensor(v[1:], y), name="IncSubtensor.dynamic", dims={"v": ("n",), "y": ("m",)})

# CHECK-LABEL: module @IncSubtensor.dynamic.add
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, %{{[0-9]+}}, %{{[0-9]+}}, [[CONST2]] : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[SLICED]], [[WIDE]] : tensor<?xf64>
# CHECK-NEXT: [[UPDATED:%\w+]] = stablehlo.dynamic_update_slice %arg0, [[SUM]], %{{[0-9]+}} : (tensor<?xf64>, tensor<?xf64>, tensor<i64>) -> tensor<?xf64>
# CHECK-NEXT: return [[UPDATED]] : tensor<?xf64>
show([v], inc_subtensor(v[1:], 1.0), name="IncSubtensor.dynamic.add", dims={"v": ("n",)})

# CHECK-LABEL: module @IncSubtensor.dynamic.end
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[UPDATED:%\w+]] = stablehlo.dynamic_update_slice %arg0, [[WIDE]], [[CONST2]] : (tensor<?xf64>, tensor<?xf64>, tensor<i64>) -> tensor<?xf64>
# CHECK-NEXT: return [[UPDATED]] : tensor<?xf64>
show([v, k], set_subtensor(v[:k], 0.0), name="IncSubtensor.dynamic.end", dims={"v": ("n",)})

# CHECK-LABEL: module @IncSubtensor.dynamic.strided
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"(n + 1)//2 == m", "the written value, axis 0 at an unnamed IncSubtensor node"]]
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<2> : tensor<i64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK: [[CONST3:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK: [[CONST5:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %{{[0-9]+}}, %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, [[IOTA]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[REMAINDER:%\w+]] = stablehlo.remainder [[IOTA]], [[WIDE2]] : tensor<?xi64>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare EQ, [[REMAINDER]], [[WIDE3]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST]], [[TEST2]] : tensor<?xi1>
# CHECK-NEXT: [[PADDED:%\w+]] = stablehlo.dynamic_pad %arg1, [[CONST3]], [[CONST4]], %{{[0-9]+}}, [[CONST5]] : (tensor<?xf64>, tensor<f64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[AND]], [[PADDED]], %arg0 : tensor<?xi1>, tensor<?xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<?xf64>
show([v, y], set_subtensor(v[::2], y), name="IncSubtensor.dynamic.strided", dims={"v": ("n",), "y": ("m",)})
