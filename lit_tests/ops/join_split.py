# RUN: %python %s | filecheck %s
"""Join, Split: tensors one after the other along an axis, and an axis cut into pieces."""

import pytensor.tensor as pt
from common import show

x, y = pt.dmatrix("x"), pt.dmatrix("y")
f = pt.fmatrix("f")
n = pt.lscalar("n")

# CHECK-LABEL: module @Join.static
# CHECK-NOT: dynamic_
# CHECK: [[JOINED:%\w+]] = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<3x4xf64>, tensor<2x4xf64>) -> tensor<5x4xf64>
# CHECK-NEXT: return [[JOINED]] : tensor<5x4xf64>
show([x, y], pt.join(0, x, y), name="Join.static", dims={"x": (3, 4), "y": (2, 4)})

# CHECK-LABEL: module @Join.static.mixed
# CHECK-NOT: dynamic_
# CHECK: [[CONVERTED:%\w+]] = stablehlo.convert %arg1 : (tensor<3x2xf32>) -> tensor<3x2xf64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate %arg0, [[CONVERTED]], dim = 1 : (tensor<3x4xf64>, tensor<3x2xf64>) -> tensor<3x6xf64>
# CHECK-NEXT: return [[JOINED]] : tensor<3x6xf64>
show([x, f], pt.join(-1, x, f), name="Join.static.mixed", dims={"x": (3, 4), "f": (3, 2)})

# CHECK-LABEL: module @Join.dynamic
# CHECK: [[JOINED:%\w+]] = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<?x4xf64>, tensor<?x4xf64>) -> tensor<?x4xf64>
# CHECK-NEXT: return [[JOINED]] : tensor<?x4xf64>
show([x, y], pt.join(0, x, y), name="Join.dynamic", dims={"x": ("n", 4), "y": ("m", 4)})

# The other axes must agree.
# CHECK-LABEL: module @Join.dynamic.other
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n == m", "join, axis 0 at an unnamed Join node"]]
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate %arg0, %arg1, dim = 1 : (tensor<?x4xf64>, tensor<?x2xf64>) -> tensor<?x6xf64>
# CHECK-NEXT: return [[JOINED]] : tensor<?x6xf64>
show([x, y], pt.join(1, x, y), name="Join.dynamic.other", dims={"x": ("n", 4), "y": ("m", 2)})

# CHECK-LABEL: module @Split.static
# CHECK-NOT: dynamic_
# CHECK: [[SLICED:%\w+]] = stablehlo.slice %arg0 [0:1, 0:4] : (tensor<3x4xf64>) -> tensor<1x4xf64>
# CHECK-NEXT: [[SLICED2:%\w+]] = stablehlo.slice %arg0 [1:3, 0:4] : (tensor<3x4xf64>) -> tensor<2x4xf64>
# CHECK-NEXT: return [[SLICED]], [[SLICED2]] : tensor<1x4xf64>, tensor<2x4xf64>
show([x], pt.split(x, [1, 2], n_splits=2), name="Split.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @Split.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n - 1 >= 0", "size 0 of Split at an unnamed Split node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<2xi64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<-1> : tensor<i64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[CONVERTED]], [[CONST2]] : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SUM]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST3]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<1> : tensor<2xi64>
# CHECK-NEXT: [[CONST5:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, [[CONST]], [[JOINED]], [[CONST4]] : (tensor<?x4xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[SLICED2:%\w+]] = stablehlo.dynamic_slice %arg0, [[SUM]], [[CONST5]], sizes = [1, 4] : (tensor<?x4xf64>, tensor<i64>, tensor<i64>) -> tensor<1x4xf64>
# CHECK-NEXT: return [[SLICED]], [[SLICED2]] : tensor<?x4xf64>, tensor<1x4xf64>
show([x], pt.split(x, pt.stack([x.shape[0] - 1, 1]), n_splits=2), name="Split.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @Split.dynamic.runtime
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 0", "size 0 of Split at an unnamed Split node"], ["-n + 4 >= 0", "size 1 of Split at an unnamed Split node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<2xi64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<2xi64>
# CHECK: [[CONST3:%\w+]] = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, [[CONST]], %{{[0-9]+}}, [[CONST2]] : (tensor<3x4xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x?xf64>
# CHECK-NEXT: [[SLICED2:%\w+]] = stablehlo.real_dynamic_slice %arg0, %{{[0-9]+}}, [[CONST3]], [[CONST2]] : (tensor<3x4xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x?xf64>
# CHECK-NEXT: return [[SLICED]], [[SLICED2]] : tensor<3x?xf64>, tensor<3x?xf64>
show([x, n], pt.split(x, pt.stack([n, 4 - n]), n_splits=2, axis=1), name="Split.dynamic.runtime", dims={"x": (3, 4)})
