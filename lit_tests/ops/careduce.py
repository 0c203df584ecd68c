# RUN: %python %s | filecheck %s
"""CAReduce and what derives from it: sum, prod, max, min, any, all, xor, products without zeros."""

import pytensor.scalar as ps
import pytensor.tensor as pt
from common import show
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.math import ProdWithoutZeros

x = pt.dmatrix("x")
f = pt.fmatrix("f")
i, b = pt.lmatrix("i"), pt.bmatrix("b")
mask = pt.tensor("mask", dtype="bool", shape=(None, None))

# CHECK-LABEL: module @CAReduce.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: return [[REDUCED]] : tensor<f64>
show([x], x.sum(), name="CAReduce.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.prod
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.multiply across dimensions = [0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: return [[REDUCED]] : tensor<4xf64>
show([x], x.prod(axis=0), name="CAReduce.static.prod", dims={"x": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.max
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: return [[REDUCED]] : tensor<3xf64>
show([x], x.max(axis=1), name="CAReduce.static.max", dims={"x": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.min
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.minimum across dimensions = [1] : (tensor<3x4xi64>, tensor<i64>) -> tensor<3xi64>
# CHECK-NEXT: return [[REDUCED]] : tensor<3xi64>
show([i], CAReduce(ps.minimum, axis=(1,))(i), name="CAReduce.static.min", dims={"i": (3, 4)})

# Accumulated in 64 bits, or in the dtype that the op names.
# CHECK-LABEL: module @CAReduce.static.float32
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert %arg0 : (tensor<3x4xf32>) -> tensor<3x4xf64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[CONVERTED]] init: [[CONST]]) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[REDUCED]] : (tensor<3xf64>) -> tensor<3xf32>
# CHECK-NEXT: return [[CONVERTED2]] : tensor<3xf32>
show([f], f.sum(axis=1), name="CAReduce.static.float32", dims={"f": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.int8
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert %arg0 : (tensor<3x4xi8>) -> tensor<3x4xi64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[CONVERTED]] init: [[CONST]]) applies stablehlo.add across dimensions = [1] : (tensor<3x4xi64>, tensor<i64>) -> tensor<3xi64>
# CHECK-NEXT: return [[REDUCED]] : tensor<3xi64>
show([b], b.sum(axis=1), name="CAReduce.static.int8", dims={"b": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.logical
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<false> : tensor<i1>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.or across dimensions = [0] : (tensor<3x4xi1>, tensor<i1>) -> tensor<4xi1>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST2]]) applies stablehlo.and across dimensions = [0] : (tensor<3x4xi1>, tensor<i1>) -> tensor<4xi1>
# CHECK-NEXT: return [[REDUCED]], [[REDUCED2]] : tensor<4xi1>, tensor<4xi1>
show([mask], [mask.any(axis=0), mask.all(axis=0)], name="CAReduce.static.logical", dims={"mask": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.xor
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.xor across dimensions = [0] : (tensor<3x4xi64>, tensor<i64>) -> tensor<4xi64>
# CHECK-NEXT: return [[REDUCED]] : tensor<4xi64>
show([i], CAReduce(ps.xor, axis=(0,))(i), name="CAReduce.static.xor", dims={"i": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.without_zeros
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, %arg0, [[WIDE]] : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<f64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[WIDE2]], %arg0 : tensor<3x4xi1>, tensor<3x4xf64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[CHOSEN]] init: [[CONST2]]) applies stablehlo.multiply across dimensions = [1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: return [[REDUCED]] : tensor<3xf64>
show([x], ProdWithoutZeros(axis=(1,))(x), name="CAReduce.static.without_zeros", dims={"x": (3, 4)})

# CHECK-LABEL: module @CAReduce.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.add across dimensions = [0] : (tensor<?x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: return [[REDUCED]] : tensor<4xf64>
show([x], x.sum(axis=0), name="CAReduce.dynamic", dims={"x": ("n", 4)})

# The largest of no elements does not exist: a constraint.
# CHECK-LABEL: module @CAReduce.dynamic.max
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 1", "maximum over axis 0 of no elements at an unnamed Max node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [0] : (tensor<?x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: return [[REDUCED]] : tensor<4xf64>
show([x], x.max(axis=0), name="CAReduce.dynamic.max", dims={"x": ("n", 4)})

# CHECK-LABEL: module @CAReduce.dynamic.logical
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.and across dimensions = [1] : (tensor<?x4xi1>, tensor<i1>) -> tensor<?xi1>
# CHECK-NEXT: return [[REDUCED]] : tensor<?xi1>
show([mask], mask.all(axis=1), name="CAReduce.dynamic.logical", dims={"mask": ("n", 4)})

# CHECK-LABEL: module @CAReduce.dynamic.without_zeros
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, %arg0, [[WIDE]] : (tensor<?x4xf64>, tensor<?x4xf64>) -> tensor<?x4xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[WIDE2]], %arg0 : tensor<?x4xi1>, tensor<?x4xf64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[CHOSEN]] init: [[CONST2]]) applies stablehlo.multiply across dimensions = [1] : (tensor<?x4xf64>, tensor<f64>) -> tensor<?xf64>
# CHECK-NEXT: return [[REDUCED]] : tensor<?xf64>
show([x], ProdWithoutZeros(axis=(1,))(x), name="CAReduce.dynamic.without_zeros", dims={"x": ("n", 4)})
