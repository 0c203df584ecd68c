# RUN: %python %s | filecheck %s
"""Nonzero: the places of true elements, written to the front of a vector; the first of them are the result."""

import pytensor.tensor as pt
from common import show

k, x = pt.lvector("k"), pt.dmatrix("x")
mask = pt.tensor("mask", dtype="bool", shape=(None,))

# The places in a constant are one.
# The marker says that a size comes from data, its name, and what it cannot exceed.
# CHECK-LABEL: module @Nonzero.dynamic
# CHECK-NEXT: counts: nonzero_0, 8
# CHECK-NEXT: a = convert<i64>(mask) : tensor<8xi64>
# CHECK-NEXT: b = reduce<[0], add>(a, 0) : tensor<i64>
# CHECK-NEXT: c = @hlograph.size(b) {hlograph.bound = "8", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: d = reduce_window(a, 0) {padding = [7, 0], window_dimensions = [8], add} : tensor<8xi64>
# CHECK-NEXT: e = iota<0, 8xi64>() : tensor<8xi64>
# CHECK-NEXT: f = scatter(0, reshape<8x1xi64>(select(mask, subtract(d, 1), subtract(add(e, b), d))), e) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<8xi64>
# CHECK-NEXT: return real_dynamic_slice(f, 0, c, 1) : tensor<?xi64>
show([mask], mask.nonzero()[0], name="Nonzero.dynamic", dims={"mask": (8,)})

# One place for an element; row and column are worked out of it.
# CHECK-LABEL: module @Nonzero.dynamic.matrix
# CHECK-NEXT: counts: nonzero_0, 3*n
# CHECK-NEXT: a = multiply(size<1>(x), 3) : tensor<i64>
# CHECK-NEXT: b = NE(x, 0) : tensor<3x?xi1>
# CHECK-NEXT: c = reduce<[0, 1], add>(convert<i64>(b), 0) : tensor<i64>
# CHECK-NEXT: d = @hlograph.size(c) {hlograph.bound = "3*n", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: e = dynamic_reshape<?xi1>(b, a) : tensor<?xi1>
# CHECK-NEXT: f = @stablehlo.dynamic_reduce_window(convert<i64>(e), 0, maximum(a, 1), 1, 1, 1, reshape<1x2xi64>(concatenate<0>(maximum(add(a, -1), 0), 0))) {called_computations = [@add_int64]} : tensor<?xi64>
# CHECK-NEXT: g = dynamic_iota<0, ?xi64>(a) : tensor<?xi64>
# CHECK-NEXT: h = scatter(0, dynamic_reshape<?x1xi64>(select(e, subtract(f, 1), subtract(add(g, c), f)), concatenate<0>(a, 1)), g) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<?xi64>
# CHECK-NEXT: i = real_dynamic_slice(h, 0, d, 1) : tensor<?xi64>
# CHECK-NEXT: return divide(i, size<1>(x)), remainder(i, size<1>(x)) : tensor<?xi64>, tensor<?xi64>
show([x], list(x.nonzero()), name="Nonzero.dynamic.matrix", dims={"x": (3, "n")})
