# RUN: %python %s | filecheck %s
"""Reductions with every monoid, reductions of several operands together, argmin, sorting."""

import numpy as np
from building import show

from hlograph.codegen import builder as hlo

real, dynamic = ("float64", 3, 4), ("float64", "n", 4)


def each(*monoids):
    return lambda x: [hlo.reduce_monoid(x, [0], monoid) for monoid in monoids]


# CHECK-LABEL: module @reduce_monoid.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.add across dimensions = [0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST2]]) applies stablehlo.multiply across dimensions = [0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: [[REDUCED3:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST3]]) applies stablehlo.maximum across dimensions = [0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: [[REDUCED4:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST4]]) applies stablehlo.minimum across dimensions = [0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: return [[REDUCED]], [[REDUCED2]], [[REDUCED3]], [[REDUCED4]] : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
show("reduce_monoid.static", [real], each("add", "multiply", "maximum", "minimum"))

# CHECK-LABEL: module @reduce_monoid.static.int32
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<-2147483648> : tensor<i32>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<2147483647> : tensor<i32>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<-1> : tensor<i32>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<0> : tensor<i32>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4xi32>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST2]]) applies stablehlo.minimum across dimensions = [0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4xi32>
# CHECK-NEXT: [[REDUCED3:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4xi32>
# CHECK-NEXT: [[REDUCED4:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST4]]) applies stablehlo.or across dimensions = [0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4xi32>
# CHECK-NEXT: [[REDUCED5:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST4]]) applies stablehlo.xor across dimensions = [0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4xi32>
# CHECK-NEXT: return [[REDUCED]], [[REDUCED2]], [[REDUCED3]], [[REDUCED4]], [[REDUCED5]] : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
show("reduce_monoid.static.int32", [("int32", 3, 4)], each("maximum", "minimum", "and", "or", "xor"))

# CHECK-LABEL: module @reduce_monoid.static.bool
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<false> : tensor<i1>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [0] : (tensor<3x4xi1>, tensor<i1>) -> tensor<4xi1>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST2]]) applies stablehlo.minimum across dimensions = [0] : (tensor<3x4xi1>, tensor<i1>) -> tensor<4xi1>
# CHECK-NEXT: [[REDUCED3:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST2]]) applies stablehlo.and across dimensions = [0] : (tensor<3x4xi1>, tensor<i1>) -> tensor<4xi1>
# CHECK-NEXT: [[REDUCED4:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.or across dimensions = [0] : (tensor<3x4xi1>, tensor<i1>) -> tensor<4xi1>
# CHECK-NEXT: return [[REDUCED]], [[REDUCED2]], [[REDUCED3]], [[REDUCED4]] : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
show("reduce_monoid.static.bool", [("bool", 3, 4)], each("maximum", "minimum", "and", "or"))

# CHECK-LABEL: module @reduce_monoid.static.uint8
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<ui8>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<255> : tensor<ui8>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [0] : (tensor<3x4xui8>, tensor<ui8>) -> tensor<4xui8>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST2]]) applies stablehlo.minimum across dimensions = [0] : (tensor<3x4xui8>, tensor<ui8>) -> tensor<4xui8>
# CHECK-NEXT: return [[REDUCED]], [[REDUCED2]] : tensor<4xui8>, tensor<4xui8>
show("reduce_monoid.static.uint8", [("uint8", 3, 4)], each("maximum", "minimum"))

# CHECK-LABEL: module @reduce_monoid.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.add across dimensions = [0] : (tensor<?x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST2]]) applies stablehlo.minimum across dimensions = [0] : (tensor<?x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: return [[REDUCED]], [[REDUCED2]] : tensor<4xf64>, tensor<4xf64>
show("reduce_monoid.dynamic", [dynamic], each("add", "minimum"))

# CHECK-LABEL: module @reduce_monoid.static.nothing
# CHECK-NOT: dynamic_
# CHECK: return %arg0 : tensor<3x4xf64>
show("reduce_monoid.static.nothing", [real], lambda x: hlo.reduce_monoid(x, [], "add"))


def sum_and_count(x):
    ones = hlo.full_like(x, 1.0)
    zero = x.builder.constant(np.float64(0))
    return hlo.reduce([x, ones], [zero, zero], [1], lambda a, i, b, j: [hlo.add(a, b), hlo.add(i, j)])


# CHECK-LABEL: module @reduce.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce(%arg0 init: [[CONST2]]), ([[WIDE]] init: [[CONST2]]) across dimensions = [1] : (tensor<3x4xf64>, tensor<3x4xf64>, tensor<f64>, tensor<f64>) -> (tensor<3xf64>, tensor<3xf64>)
# CHECK: [[SUM:%\w+]] = stablehlo.add %arg1, %arg3 : tensor<f64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %arg2, %arg4 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[SUM]], [[SUM2]] : tensor<f64>, tensor<f64>
# CHECK: return [[REDUCED]]#0, [[REDUCED]]#1 : tensor<3xf64>, tensor<3xf64>
show("reduce.static", [real], sum_and_count)

# CHECK-LABEL: module @reduce.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST2]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], [[JOINED]], dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce(%arg0 init: [[CONST3]]), ([[WIDE]] init: [[CONST3]]) across dimensions = [1] : (tensor<?x4xf64>, tensor<?x4xf64>, tensor<f64>, tensor<f64>) -> (tensor<?xf64>, tensor<?xf64>)
# CHECK: [[SUM:%\w+]] = stablehlo.add %arg1, %arg3 : tensor<f64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %arg2, %arg4 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[SUM]], [[SUM2]] : tensor<f64>, tensor<f64>
# CHECK: return [[REDUCED]]#0, [[REDUCED]]#1 : tensor<?xf64>, tensor<?xf64>
show("reduce.dynamic", [dynamic], sum_and_count)

# CHECK-LABEL: module @arg_reduce.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<2147483647> : tensor<i32>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 1 : tensor<3x4xi64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce(%arg0 init: [[CONST]]), ([[IOTA]] init: [[CONST2]]) across dimensions = [1] : (tensor<3x4xi32>, tensor<3x4xi64>, tensor<i32>, tensor<i64>) -> (tensor<3xi32>, tensor<3xi64>)
# CHECK: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, %arg3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare EQ, %arg1, %arg3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, %arg2, %arg4 : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<i1>
# CHECK-NEXT: [[OR:%\w+]] = stablehlo.or [[TEST]], [[AND]] : tensor<i1>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[OR]], %arg1, %arg3 : tensor<i1>, tensor<i32>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[OR]], %arg2, %arg4 : tensor<i1>, tensor<i64>
# CHECK-NEXT: stablehlo.return [[CHOSEN]], [[CHOSEN2]] : tensor<i32>, tensor<i64>
# CHECK: return [[REDUCED]]#1 : tensor<3xi64>
show("arg_reduce.static", [("int32", 3, 4)], lambda x: hlo.arg_reduce(x, 1, "minimum"))

# CHECK-LABEL: module @arg_reduce.dynamic
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<9223372036854775807> : tensor<i64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota [[JOINED]], dim = 0 : (tensor<2xi64>) -> tensor<?x4xi64>
# CHECK-NEXT: [[REDUCED:%\w+]]:2 = stablehlo.reduce(%arg0 init: [[CONST2]]), ([[IOTA]] init: [[CONST3]]) across dimensions = [0] : (tensor<?x4xf64>, tensor<?x4xi64>, tensor<f64>, tensor<i64>) -> (tensor<4xf64>, tensor<4xi64>)
# CHECK: return [[REDUCED]]#1 : tensor<4xi64>
show("arg_reduce.dynamic", [dynamic], lambda x: hlo.arg_reduce(x, 0, "minimum"))


def sorted_with(x, y):
    return hlo.sort([x, y], 0, lambda a, b, c, d: hlo.less_nan_last(a, b), stable=True)


# CHECK-LABEL: module @sort.static
# CHECK-NOT: dynamic_
# CHECK: [[SORTED:%\w+]]:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 0 : i64, is_stable = true}> ({
# CHECK: [[TEST:%\w+]] = stablehlo.compare LT, %arg2, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare EQ, %arg2, %arg2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare NE, %arg3, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<i1>
# CHECK-NEXT: [[OR:%\w+]] = stablehlo.or [[TEST]], [[AND]] : tensor<i1>
# CHECK-NEXT: stablehlo.return [[OR]] : tensor<i1>
# CHECK-NEXT: }) : (tensor<3x4xf64>, tensor<3x4xi32>) -> (tensor<3x4xf64>, tensor<3x4xi32>)
# CHECK-NEXT: return [[SORTED]]#0, [[SORTED]]#1 : tensor<3x4xf64>, tensor<3x4xi32>
show("sort.static", [real, ("int32", 3, 4)], sorted_with)

# CHECK-LABEL: module @sort.dynamic
# CHECK: [[SORTED:%\w+]]:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 0 : i64, is_stable = true}> ({
# CHECK: [[TEST:%\w+]] = stablehlo.compare LT, %arg2, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare EQ, %arg2, %arg2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare NE, %arg3, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<i1>
# CHECK-NEXT: [[OR:%\w+]] = stablehlo.or [[TEST]], [[AND]] : tensor<i1>
# CHECK-NEXT: stablehlo.return [[OR]] : tensor<i1>
# CHECK-NEXT: }) : (tensor<?x4xf64>, tensor<?x4xi32>) -> (tensor<?x4xf64>, tensor<?x4xi32>)
# CHECK-NEXT: return [[SORTED]]#0, [[SORTED]]#1 : tensor<?x4xf64>, tensor<?x4xi32>
show("sort.dynamic", [dynamic, ("int32", "n", 4)], sorted_with)

# CHECK-LABEL: module @sort.dynamic.int32
# CHECK: [[SORTED:%\w+]] = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = false}> ({
# CHECK: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
# CHECK-NEXT: stablehlo.return [[TEST]] : tensor<i1>
# CHECK-NEXT: }) : (tensor<?xi32>) -> tensor<?xi32>
# CHECK-NEXT: return [[SORTED]] : tensor<?xi32>
show("sort.dynamic.int32", [("int32", "n")], lambda x: hlo.sort([x], 0, hlo.less_nan_last, stable=False))

# CHECK-LABEL: module @cumulative.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK-NEXT: [[WINDOWED:%\w+]] = "stablehlo.reduce_window"(%arg0, [[CONST]]) <{padding = dense<{{\[\[}}2, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>}> ({
# CHECK: [[LARGER:%\w+]] = stablehlo.maximum %arg1, %arg2 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[LARGER]] : tensor<f64>
# CHECK-NEXT: }) : (tensor<3x4xf64>, tensor<f64>) -> tensor<3x4xf64>
# CHECK-NEXT: return [[WINDOWED]] : tensor<3x4xf64>
show("cumulative.static", [real], lambda x: hlo.cumulative(x, 0, "maximum"))

# CHECK-LABEL: module @cumulative.dynamic
# CHECK: [[SIZE:%\w+]] = stablehlo.convert %{{[0-9]+}} : (tensor<i32>) -> tensor<i64>
# CHECK: [[LESS:%\w+]] = stablehlo.add {{.*}}[[SIZE]]{{.*}} : tensor<i64>
# CHECK: [[LOW:%\w+]] = stablehlo.maximum {{.*}}[[LESS]]{{.*}} : tensor<i64>
# CHECK: [[INIT:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK: [[REACH:%\w+]] = stablehlo.maximum {{.*}}[[SIZE]]{{.*}} : tensor<i64>
# CHECK: [[ROW:%\w+]] = stablehlo.reshape [[REACH]] : (tensor<i64>) -> tensor<1xi64>
# CHECK: [[WINDOW:%\w+]] = stablehlo.concatenate [[ROW]], %{{.*}}, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK: [[ONES:%\w+]] = stablehlo.constant dense<1> : tensor<2xi64>
# CHECK: [[PADDING:%\w+]] = stablehlo.reshape %{{[0-9]+}} : (tensor<4xi64>) -> tensor<2x2xi64>
# CHECK: [[RESULT:%\w+]] = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg0, [[INIT]], [[WINDOW]], [[ONES]], [[ONES]], [[ONES]], [[PADDING]]) {{.*}}called_computations = [@[[REDUCER:\w+]]]
# CHECK: return [[RESULT]] : tensor<?x4xf64>
# CHECK: func.func private @[[REDUCER]]
# CHECK: stablehlo.maximum %arg0, %arg1 : tensor<f64>
show("cumulative.dynamic", [dynamic], lambda x: hlo.cumulative(x, 0, "maximum"))
