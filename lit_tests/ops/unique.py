# RUN: %python %s | filecheck %s
"""Unique: sorted, marked where an element differs from the one before, compacted as by Nonzero."""

import pytensor.tensor as pt
from common import show

x, table, k = pt.dvector("x"), pt.dmatrix("table"), pt.lvector("k")

# NaN equals NaN. Index, inverse and counts follow the values.
# CHECK-LABEL: module @Unique.dynamic
# CHECK-NEXT: counts: unique_0, 8
# CHECK-NEXT: a = iota<0, 8xi64>() : tensor<8xi64>
# CHECK-NEXT: b:2 = sort(x, a) {dimension = 0, is_stable = true, (p0, p1, p2, p3) -> or(LT(p0, p1), and(EQ(p0, p0), NE(p1, p1)))} : tensor<8xf64>, tensor<8xi64>
# CHECK-NEXT: c = gather(b#0, maximum(subtract(a, 1), 0)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<8xf64>
# CHECK-NEXT: d = or(and(NE(b#0, c), or(EQ(b#0, b#0), EQ(c, c))), EQ(a, 0)) : tensor<8xi1>
# CHECK-NEXT: e = convert<i64>(d) : tensor<8xi64>
# CHECK: g = @hlograph.size(f) {hlograph.bound = "8", hlograph.dim = "unique_0"} : tensor<i64>
# CHECK: i = subtract(h, 1) : tensor<8xi64>
# CHECK: k = real_dynamic_slice(j, 0, g, 1) : tensor<?xi64>
# CHECK-NEXT: l = gather(b#0, k) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
# CHECK-NEXT: m = gather(b#1, k) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: n = scatter(0, b#1, i) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, (p0, p1) -> p1} : tensor<8xi64>
# CHECK-NEXT: o = scatter(0, i, 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<8xi64>
# CHECK-NEXT: return l, m, n, real_dynamic_slice(o, 0, g, 1) : tensor<?xf64>, tensor<?xi64>, tensor<8xi64>, tensor<?xi64>
show([x], pt.unique(x, True, True, True), name="Unique.dynamic", dims={"x": (8,)})

# Rows: a stable sort by each column, the last one first.
# CHECK-LABEL: module @Unique.dynamic.rows
# CHECK-NEXT: counts: unique_0, n
# CHECK-NEXT: a = concatenate<0>(size<0>(table), 1) : tensor<2xi64>
# CHECK-NEXT: b = concatenate<0>(minimum(size<0>(table), 1), 3) : tensor<2xi64>
# CHECK-NEXT: c = dynamic_iota<0, ?xi64>(size<0>(table)) : tensor<?xi64>
# CHECK-NEXT: h:2 = while<(p0, p1) -> GT(p0, 0)>(3, c) : tensor<i64>, tensor<?xi64>
# CHECK-NEXT:   (p0, p1) ->
# CHECK-NEXT:     d = subtract(p0, 1) : tensor<i64>
# CHECK-NEXT:     e = dynamic_gather(table, concatenate<0>(0, d), a) {offset_dims = [0, 1], start_index_map = [0, 1], indices_are_sorted = false} : tensor<?x1xf64>
# CHECK-NEXT:     f = dynamic_gather(dynamic_reshape<?xf64>(e, size<0>(table)), p1, minimum(size<0>(table), 1)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
# CHECK-NEXT:     g:2 = sort(f, p1) {dimension = 0, is_stable = true, (q0, q1, q2, q3) -> or(LT(q0, q1), and(EQ(q0, q0), NE(q1, q1)))} : tensor<?xf64>, tensor<?xi64>
# CHECK-NEXT:     return (d, g#1)
# CHECK-NEXT: i = dynamic_gather(table, h#1, b) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x3xf64>
# CHECK-NEXT: j = dynamic_gather(i, maximum(subtract(c, 1), 0), b) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x3xf64>
# CHECK-NEXT: k = or(reduce<[1], or>(NE(i, j), false), EQ(c, 0)) : tensor<?xi1>
# CHECK: n = @hlograph.size(m) {hlograph.bound = "n", hlograph.dim = "unique_0"} : tensor<i64>
# CHECK: b1 = dynamic_gather(h#1, real_dynamic_slice(a1, 0, n, 1), minimum(size<0>(table), 1)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xi64>
# CHECK-NEXT: c1 = dynamic_gather(table, b1, b) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x3xf64>
show([table], pt.unique(table, axis=0), name="Unique.dynamic.rows", dims={"table": ("n", 3)})
