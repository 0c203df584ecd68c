# RUN: %python %s | filecheck %s
"""Reductions with every monoid, reductions of several operands together, argmin, sorting."""

import numpy as np
from building import show

from hlograph.codegen import builder as hlo

real, dynamic = ("float64", 3, 4), ("float64", "n", 4)


def each(*monoids):
    return lambda x: [hlo.reduce_monoid(x, [0], monoid) for monoid in monoids]


# CHECK-LABEL: module @reduce_monoid.static
# CHECK-NEXT: return reduce<[0], add>(arg0, 0), reduce<[0], multiply>(arg0, 1), reduce<[0], maximum>(arg0, -inf), reduce<[0], minimum>(arg0, inf) : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
show("reduce_monoid.static", [real], each("add", "multiply", "maximum", "minimum"))

# CHECK-LABEL: module @reduce_monoid.static.int32
# CHECK-NEXT: return reduce<[0], maximum>(arg0, -2147483648), reduce<[0], minimum>(arg0, 2147483647), reduce<[0], and>(arg0, -1), reduce<[0], or>(arg0, 0), reduce<[0], xor>(arg0, 0) : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
show("reduce_monoid.static.int32", [("int32", 3, 4)], each("maximum", "minimum", "and", "or", "xor"))

# CHECK-LABEL: module @reduce_monoid.static.bool
# CHECK-NEXT: return reduce<[0], maximum>(arg0, false), reduce<[0], minimum>(arg0, true), reduce<[0], and>(arg0, true), reduce<[0], or>(arg0, false) : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
show("reduce_monoid.static.bool", [("bool", 3, 4)], each("maximum", "minimum", "and", "or"))

# CHECK-LABEL: module @reduce_monoid.static.uint8
# CHECK-NEXT: return reduce<[0], maximum>(arg0, 0), reduce<[0], minimum>(arg0, 255) : tensor<4xui8>, tensor<4xui8>
show("reduce_monoid.static.uint8", [("uint8", 3, 4)], each("maximum", "minimum"))

# CHECK-LABEL: module @reduce_monoid.dynamic
# CHECK-NEXT: return reduce<[0], add>(arg0, 0), reduce<[0], minimum>(arg0, inf) : tensor<4xf64>, tensor<4xf64>
show("reduce_monoid.dynamic", [dynamic], each("add", "minimum"))

# CHECK-LABEL: module @reduce_monoid.static.nothing
# CHECK-NEXT: return arg0 : tensor<3x4xf64>
show("reduce_monoid.static.nothing", [real], lambda x: hlo.reduce_monoid(x, [], "add"))


def sum_and_count(x):
    ones = hlo.full_like(x, 1.0)
    zero = x.builder.constant(np.float64(0))
    return hlo.reduce([x, ones], [zero, zero], [1], lambda a, i, b, j: [hlo.add(a, b), hlo.add(i, j)])


# CHECK-LABEL: module @reduce.static
# CHECK-NEXT: a:2 = reduce<[1], (p0, p1, p2, p3) -> (add(p0, p2), add(p1, p3))>(arg0, 1, 0, 0) : tensor<3xf64>, tensor<3xf64>
# CHECK-NEXT: return a#0, a#1 : tensor<3xf64>, tensor<3xf64>
show("reduce.static", [real], sum_and_count)

# CHECK-LABEL: module @reduce.dynamic
# CHECK-NEXT: a:2 = reduce<[1], (p0, p1, p2, p3) -> (add(p0, p2), add(p1, p3))>(arg0, 1, 0, 0) : tensor<?xf64>, tensor<?xf64>
# CHECK-NEXT: return a#0, a#1 : tensor<?xf64>, tensor<?xf64>
show("reduce.dynamic", [dynamic], sum_and_count)

# CHECK-LABEL: module @arg_reduce.static
# CHECK-NEXT: b:2 = reduce<[1]>(arg0, iota<1, 3x4xi64>(), 2147483647, 9223372036854775807) : tensor<3xi32>, tensor<3xi64>
# CHECK-NEXT: (p0, p1, p2, p3) ->
# CHECK-NEXT: a = or(LT(p0, p2), and(EQ(p0, p2), LT(p1, p3))) : tensor<i1>
# CHECK-NEXT: return (select(a, p0, p2), select(a, p1, p3))
# CHECK-NEXT: return b#1 : tensor<3xi64>
show("arg_reduce.static", [("int32", 3, 4)], lambda x: hlo.arg_reduce(x, 1, "minimum"))

# CHECK-LABEL: module @arg_reduce.dynamic
# CHECK-NEXT: c:2 = reduce<[0]>(arg0, dynamic_iota<0, ?x4xi64>(concatenate<0>(size<0>(arg0), 4)), inf, 9223372036854775807) : tensor<4xf64>, tensor<4xi64>
# CHECK-NEXT: (p0, p1, p2, p3) ->
# CHECK-NEXT: a = NE(p0, p0) : tensor<i1>
# CHECK-NEXT: b = or(or(LT(p0, p2), and(a, EQ(p2, p2))), and(or(EQ(p0, p2), and(a, NE(p2, p2))), LT(p1, p3))) : tensor<i1>
# CHECK-NEXT: return (select(b, p0, p2), select(b, p1, p3))
# CHECK-NEXT: return c#1 : tensor<4xi64>
show("arg_reduce.dynamic", [dynamic], lambda x: hlo.arg_reduce(x, 0, "minimum"))


def sorted_with(x, y):
    return hlo.sort([x, y], 0, lambda a, b, c, d: hlo.less_nan_last(a, b), stable=True)


# CHECK-LABEL: module @sort.static
# CHECK-NEXT: a:2 = sort(arg0, arg1) {dimension = 0, is_stable = true, (p0, p1, p2, p3) -> or(LT(p0, p1), and(EQ(p0, p0), NE(p1, p1)))} : tensor<3x4xf64>, tensor<3x4xi32>
# CHECK-NEXT: return a#0, a#1 : tensor<3x4xf64>, tensor<3x4xi32>
show("sort.static", [real, ("int32", 3, 4)], sorted_with)

# CHECK-LABEL: module @sort.dynamic
# CHECK-NEXT: a:2 = sort(arg0, arg1) {dimension = 0, is_stable = true, (p0, p1, p2, p3) -> or(LT(p0, p1), and(EQ(p0, p0), NE(p1, p1)))} : tensor<?x4xf64>, tensor<?x4xi32>
# CHECK-NEXT: return a#0, a#1 : tensor<?x4xf64>, tensor<?x4xi32>
show("sort.dynamic", [dynamic, ("int32", "n", 4)], sorted_with)

# CHECK-LABEL: module @sort.dynamic.int32
# CHECK-NEXT: a = sort(arg0) {dimension = 0, is_stable = false, LT} : tensor<?xi32>
# CHECK-NEXT: return a : tensor<?xi32>
show("sort.dynamic.int32", [("int32", "n")], lambda x: hlo.sort([x], 0, hlo.less_nan_last, stable=False))

# CHECK-LABEL: module @cumulative.static
# CHECK-NEXT: a = reduce_window(arg0, -inf) {padding = [2, 0; 0, 0], window_dimensions = [3, 1], maximum} : tensor<3x4xf64>
# CHECK-NEXT: return a : tensor<3x4xf64>
show("cumulative.static", [real], lambda x: hlo.cumulative(x, 0, "maximum"))

# CHECK-LABEL: module @cumulative.dynamic
# CHECK-NEXT: a = @stablehlo.dynamic_reduce_window(arg0, -inf, concatenate<0>(maximum(size<0>(arg0), 1), 1), 1, 1, 1, reshape<2x2xi64>(concatenate<0>(maximum(add(size<0>(arg0), -1), 0), 0, 0, 0))) {called_computations = [@maximum_float64]} : tensor<?x4xf64>
# CHECK-NEXT: return a : tensor<?x4xf64>
# CHECK-NEXT: @maximum_float64(tensor<f64>, tensor<f64>) -> tensor<f64>:
# CHECK-NEXT: return maximum(arg0, arg1) : tensor<f64>
show("cumulative.dynamic", [dynamic], lambda x: hlo.cumulative(x, 0, "maximum"))
