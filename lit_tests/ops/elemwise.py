# RUN: %python %s | filecheck %s
"""Elemwise, ScalarOp: broadcasting, and fused graphs of scalar ops. (The scalar ops themselves: scalar_*.py.)"""

import pytensor.scalar as ps
import pytensor.tensor as pt
from common import show
from pytensor.scalar.basic import Composite
from pytensor.tensor.elemwise import Elemwise

x, y = pt.dmatrix("x"), pt.dmatrix("y")
v = pt.dvector("v")
f = pt.fmatrix("f")
column = pt.dcol("column")
k = pt.lscalar("k")

# CHECK-LABEL: module @Elemwise.static
# CHECK-NOT: dynamic_
# CHECK: [[DIFFERENCE:%\w+]] = stablehlo.subtract %arg0, %arg1 : tensor<3x4xf64>
# CHECK-NEXT: return [[DIFFERENCE]] : tensor<3x4xf64>
show([x, y], x - y, name="Elemwise.static", dims={"x": (3, 4), "y": (3, 4)})

# CHECK-LABEL: module @Elemwise.static.row
# CHECK-NOT: dynamic_
# CHECK: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<4xf64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract %arg0, [[WIDE]] : tensor<3x4xf64>
# CHECK-NEXT: return [[DIFFERENCE]] : tensor<3x4xf64>
show([x, v], x - v, name="Elemwise.static.row", dims={"x": (3, 4), "v": (4,)})

# CHECK-LABEL: module @Elemwise.static.outer
# CHECK-NOT: dynamic_
# CHECK: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<3x1xf64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<4xf64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract [[WIDE]], [[WIDE2]] : tensor<3x4xf64>
# CHECK-NEXT: return [[DIFFERENCE]] : tensor<3x4xf64>
show([column, v], column - v, name="Elemwise.static.outer", dims={"column": (3, 1), "v": (4,)})

# CHECK-LABEL: module @Elemwise.static.constant
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<2.000000e+00> : tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply %arg0, [[WIDE]] : tensor<3x4xf64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<3x4xf64>
show([x], x * 2.0, name="Elemwise.static.constant", dims={"x": (3, 4)})

# CHECK-LABEL: module @Elemwise.static.mixed
# CHECK-NOT: dynamic_
# CHECK: [[CONVERTED:%\w+]] = stablehlo.convert %arg0 : (tensor<3x4xf32>) -> tensor<3x4xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[CONVERTED]], %arg1 : tensor<3x4xf64>
# CHECK-NEXT: return [[SUM]] : tensor<3x4xf64>
show([f, x], f + x, name="Elemwise.static.mixed", dims={"f": (3, 4), "x": (3, 4)})

# Sizes of different names must agree; no op is needed for it.
# CHECK-LABEL: module @Elemwise.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n == m", "axis 0 of the elementwise operation at an unnamed Elemwise node"]]
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract %arg0, %arg1 : tensor<?x4xf64>
# CHECK-NEXT: return [[DIFFERENCE]] : tensor<?x4xf64>
show([x, y], x - y, name="Elemwise.dynamic", dims={"x": ("n", 4), "y": ("m", 4)})

# CHECK-LABEL: module @Elemwise.dynamic.row
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg1, [[JOINED]], dims = [1] : (tensor<4xf64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract %arg0, [[WIDE]] : tensor<?x4xf64>
# CHECK-NEXT: return [[DIFFERENCE]] : tensor<?x4xf64>
show([x, v], x - v, name="Elemwise.dynamic.row", dims={"x": ("n", 4), "v": (4,)})

# CHECK-LABEL: module @Elemwise.dynamic.outer
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg0, %{{[0-9]+}}, dims = [0, 1] : (tensor<?x1xf64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg1, %{{[0-9]+}}, dims = [1] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract [[WIDE]], [[WIDE2]] : tensor<?x?xf64>
# CHECK-NEXT: return [[DIFFERENCE]] : tensor<?x?xf64>
show([column, v], column - v, name="Elemwise.dynamic.outer", dims={"column": ("n", 1), "v": ("m",)})

# CHECK-LABEL: module @Elemwise.dynamic.constant
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<2.000000e+00> : tensor<f64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply %arg0, [[WIDE]] : tensor<?x4xf64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<?x4xf64>
show([x], x * 2.0, name="Elemwise.dynamic.constant", dims={"x": ("n", 4)})

# The same quotient twice is divided once.
# CHECK-LABEL: module @Elemwise.dynamic.twice
# CHECK: [[QUOTIENT:%\w+]] = stablehlo.divide %arg0, %arg1 : tensor<?x4xf64>
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential [[QUOTIENT]] : tensor<?x4xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[QUOTIENT]], [[EXP]] : tensor<?x4xf64>
# CHECK-NEXT: return [[SUM]] : tensor<?x4xf64>
show([x, y], x / y + pt.exp(x / y), name="Elemwise.dynamic.twice", dims={"x": ("n", 4), "y": ("n", 4)})

# A fused graph: its scalar ops on whole tensors.
a, b = ps.float64("a"), ps.float64("b")
composite = Elemwise(Composite([a, b], [(a + b) * b]))

# CHECK-LABEL: module @ScalarOp.static
# CHECK-NOT: dynamic_
# CHECK: [[SUM:%\w+]] = stablehlo.add %arg0, %arg1 : tensor<3x4xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[SUM]], %arg1 : tensor<3x4xf64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<3x4xf64>
show([x, y], composite(x, y), name="ScalarOp.static", dims={"x": (3, 4), "y": (3, 4)})

# CHECK-LABEL: module @ScalarOp.dynamic
# CHECK: [[SUM:%\w+]] = stablehlo.add %arg0, %arg1 : tensor<?x4xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[SUM]], %arg1 : tensor<?x4xf64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<?x4xf64>
show([x, y], composite(x, y), name="ScalarOp.dynamic", dims={"x": ("n", 4), "y": ("n", 4)})

# Integer scalars that become sizes are worked out as sizes.
# CHECK-LABEL: module @Elemwise.dynamic.size
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"k//2 + 1 >= 0", "size 0 of Alloc at an unnamed Alloc node"]]
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[WIDE]] : tensor<?xf64>
show([k], pt.zeros(k // 2 + 1), name="Elemwise.dynamic.size")
