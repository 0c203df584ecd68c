# RUN: %python %s | filecheck %s
"""Gather, scatter and slices at runtime places in the forms that no lowering rule uses."""

from building import show

from hlograph.codegen import builder as hlo
from hlograph.codegen.builder import INT64

# CHECK-LABEL: module @take.static
# CHECK-NOT: dynamic_
# CHECK: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 4, 1>}> : (tensor<4x5xf64>, tensor<2x3xi32>) -> tensor<4x2x3xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<4x2x3xf64>
show("take.static", [("float64", 4, 5), ("int32", 2, 3)], lambda x, i: hlo.take(x, i, 1))

# CHECK-LABEL: module @take.dynamic
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x5xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"(%arg0, %arg1, [[JOINED]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x5xf64>, tensor<?xi32>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<?x?xf64>
show("take.dynamic", [("float64", "n", 5), ("int32", "k")], lambda x, i: hlo.take(x, i, 1))


def starts(x, i):
    zero = x.builder.constant(0, INT64)
    return [i, zero]


# A window of known sizes is a dynamic_slice, whatever the operand's; another one a dynamic_gather.
# CHECK-LABEL: module @dynamic_slice.static
# CHECK-NOT: {{dynamic_(broadcast|gather|iota|pad|reshape)|real_dynamic}}
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.dynamic_slice %arg0, %arg1, [[CONST]], sizes = [2, 6] : (tensor<5x6xf64>, tensor<i64>, tensor<i64>) -> tensor<2x6xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<2x6xf64>
show("dynamic_slice.static", [("float64", 5, 6), ("int64",)], lambda x, i: hlo.dynamic_slice(x, starts(x, i), (2, 6)))

# CHECK-LABEL: module @dynamic_slice.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.dynamic_slice %arg0, %arg1, [[CONST]], sizes = [2, 6] : (tensor<?x6xf64>, tensor<i64>, tensor<i64>) -> tensor<2x6xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<2x6xf64>
show(
    "dynamic_slice.dynamic", [("float64", "n", 6), ("int64",)], lambda x, i: hlo.dynamic_slice(x, starts(x, i), (2, 6))
)

# CHECK-LABEL: module @dynamic_slice.dynamic.size
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<2> : tensor<1xi64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<5x?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[CONST2]], [[SHAPED]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape %arg1 : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[JOINED2:%\w+]] = stablehlo.concatenate [[SHAPED2]], [[CONST]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[JOINED2]], [[JOINED]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0, 1]>, indices_are_sorted = false}> : (tensor<5x?xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x?xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<2x?xf64>
show(
    "dynamic_slice.dynamic.size",
    [("float64", 5, "n"), ("int64",)],
    lambda x, i: hlo.dynamic_slice(x, starts(x, i), (2, x.dims[1])),
)

# CHECK-LABEL: module @put.static
# CHECK-NOT: dynamic_
# CHECK: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: [[LARGER:%\w+]] = stablehlo.maximum %arg3, %arg4 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[LARGER]] : tensor<f64>
# CHECK-NEXT: }) : (tensor<5x6xf64>, tensor<3xi64>, tensor<3x6xf64>) -> tensor<5x6xf64>
# CHECK-NEXT: return [[SCATTERED]] : tensor<5x6xf64>
show("put.static", [("float64", 5, 6), ("int64", 3), ("float64", 3, 6)], lambda x, i, y: hlo.put(x, i, y, 0, "maximum"))

# CHECK-LABEL: module @put.dynamic
# CHECK: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: [[PRODUCT:%\w+]] = stablehlo.multiply %arg3, %arg4 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[PRODUCT]] : tensor<f64>
# CHECK-NEXT: }) : (tensor<?x6xf64>, tensor<?xi64>, tensor<?x6xf64>) -> tensor<?x6xf64>
# CHECK-NEXT: return [[SCATTERED]] : tensor<?x6xf64>
show(
    "put.dynamic",
    [("float64", "n", 6), ("int64", "k"), ("float64", "k", 6)],
    lambda x, i, y: hlo.put(x, i, y, 0, "multiply"),
)
