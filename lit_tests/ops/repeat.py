# RUN: %python %s | filecheck %s
"""Repeat: element i stands where i elements have ended: a running sum of the ends; their number comes from data."""

import pytensor.tensor as pt
from common import show

x, k = pt.dvector("x"), pt.lvector("k")

# Nothing bounds the result's size.
# CHECK-LABEL: module @Repeat.dynamic
# CHECK-NEXT: checks: ValueError, repeats may not contain negative values.
# CHECK-NEXT: constraints: 8 == n, the counts of Repeat at an unnamed Repeat node
# CHECK-NEXT: counts: repeat_0
# CHECK-NEXT: a = maximum(k, 0) : tensor<8xi64>
# CHECK-NEXT: b = @hlograph.size(reduce<[0], add>(a, 0)) {hlograph.dim = "repeat_0"} : tensor<i64>
# CHECK-NEXT: c = reduce_window(a, 0) {padding = [7, 0], window_dimensions = [8], add} : tensor<8xi64>
# CHECK-NEXT: d = scatter(0, c, 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<?xi64>
# CHECK-NEXT: e = @stablehlo.dynamic_reduce_window(d, 0, maximum(b, 1), 1, 1, 1, reshape<1x2xi64>(concatenate<0>(maximum(add(b, -1), 0), 0))) {called_computations = [@add_int64]} : tensor<?xi64>
# CHECK-NEXT: f = gather(x, e) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
# CHECK-NEXT: return f, reduce<[0], and>(GE(k, 0), true) : tensor<?xf64>, tensor<1xi1>
show([x, k], pt.repeat(x, k), name="Repeat.dynamic", dims={"x": (8,), "k": ("n",)})

# Counts that are integer arguments are sizes before the run.
# CHECK-LABEL: module @Repeat.dynamic.values
# CHECK-NEXT: constraints: k_0 >= 0, count 0 of Repeat at an unnamed Repeat node
# CHECK-NEXT: constraints: k_1 >= 0, count 1 of Repeat at an unnamed Repeat node
# CHECK-NEXT: a = maximum(add(slice<0:1:1>(k), slice<1:2:1>(k)), 1) : tensor<i64>
# CHECK-NEXT: b = reduce_window(k, 0) {padding = [1, 0], window_dimensions = [2], add} : tensor<2xi64>
# CHECK-NEXT: c = scatter(0, b, 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<?xi64>
# CHECK-NEXT: d = @stablehlo.dynamic_reduce_window(c, 0, a, 1, 1, 1, reshape<1x2xi64>(concatenate<0>(add(a, -1), 0))) {called_computations = [@add_int64]} : tensor<?xi64>
# CHECK-NEXT: e = gather(x, d) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
show([x, k], pt.repeat(x, k), name="Repeat.dynamic.values", dims={"x": (2,), "k": (2,)})
