# RUN: %python %s | filecheck %s
"""Gather, scatter and slices at runtime places in the forms that no lowering rule uses."""

from building import show

from hlograph.codegen import builder as hlo
from hlograph.codegen.builder import INT64

# CHECK-LABEL: module @take.static
# CHECK-NEXT: a = gather(arg0, arg1) {offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2, indices_are_sorted = false, slice_sizes = [4, 1]} : tensor<4x2x3xf64>
# CHECK-NEXT: return a : tensor<4x2x3xf64>
show("take.static", [("float64", 4, 5), ("int32", 2, 3)], lambda x, i: hlo.take(x, i, 1))

# CHECK-LABEL: module @take.dynamic
# CHECK-NEXT: a = dynamic_gather(arg0, arg1, concatenate<0>(size<0>(arg0), 1)) {offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x?xf64>
# CHECK-NEXT: return a : tensor<?x?xf64>
show("take.dynamic", [("float64", "n", 5), ("int32", "k")], lambda x, i: hlo.take(x, i, 1))


def starts(x, i):
    zero = x.builder.constant(0, INT64)
    return [i, zero]


# A window of known sizes is a dynamic_slice, whatever the operand's; another one a dynamic_gather.
# CHECK-LABEL: module @dynamic_slice.static
# CHECK-NEXT: return dynamic_slice<[2, 6]>(arg0, arg1, 0) : tensor<2x6xf64>
show("dynamic_slice.static", [("float64", 5, 6), ("int64",)], lambda x, i: hlo.dynamic_slice(x, starts(x, i), (2, 6)))

# CHECK-LABEL: module @dynamic_slice.dynamic
# CHECK-NEXT: return dynamic_slice<[2, 6]>(arg0, arg1, 0) : tensor<2x6xf64>
show(
    "dynamic_slice.dynamic", [("float64", "n", 6), ("int64",)], lambda x, i: hlo.dynamic_slice(x, starts(x, i), (2, 6))
)

# CHECK-LABEL: module @dynamic_slice.dynamic.size
# CHECK-NEXT: a = dynamic_gather(arg0, concatenate<0>(arg1, 0), concatenate<0>(2, size<1>(arg0))) {offset_dims = [0, 1], start_index_map = [0, 1], indices_are_sorted = false} : tensor<2x?xf64>
# CHECK-NEXT: return a : tensor<2x?xf64>
show(
    "dynamic_slice.dynamic.size",
    [("float64", 5, "n"), ("int64",)],
    lambda x, i: hlo.dynamic_slice(x, starts(x, i), (2, x.dims[1])),
)

# CHECK-LABEL: module @put.static
# CHECK-NEXT: a = scatter(arg0, arg1, arg2) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, maximum} : tensor<5x6xf64>
# CHECK-NEXT: return a : tensor<5x6xf64>
show("put.static", [("float64", 5, 6), ("int64", 3), ("float64", 3, 6)], lambda x, i, y: hlo.put(x, i, y, 0, "maximum"))

# CHECK-LABEL: module @put.dynamic
# CHECK-NEXT: a = scatter(arg0, arg1, arg2) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, multiply} : tensor<?x6xf64>
# CHECK-NEXT: return a : tensor<?x6xf64>
show(
    "put.dynamic",
    [("float64", "n", 6), ("int64", "k"), ("float64", "k", 6)],
    lambda x, i, y: hlo.put(x, i, y, 0, "multiply"),
)
