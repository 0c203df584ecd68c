# RUN: %python %s | filecheck %s
"""Repeat: element i stands where i elements have ended: a running sum of the ends; their number comes from data."""

import pytensor.tensor as pt
from common import show

x, k = pt.dvector("x"), pt.lvector("k")

# CHECK-LABEL: module @Repeat.static
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[0, 0, 2]> : tensor<3xi64>
# CHECK-NEXT: [[TAKEN:%\w+]] = "stablehlo.gather"(%arg0, [[CONST]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<3xf64>, tensor<3xi64>) -> tensor<3xf64>
# CHECK-NEXT: return [[TAKEN]] : tensor<3xf64>
show([x], pt.repeat(x, [2, 0, 1]), name="Repeat.static", dims={"x": (3,)})

# Nothing bounds the result's size.
# CHECK-LABEL: module @Repeat.dynamic
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"ValueError", "repeats may not contain negative values."]], hlograph.constraints = {{\[\[}}"8 == n", "the counts of Repeat at an unnamed Repeat node"]], hlograph.counts = {{\[\[}}"repeat_0", ""]]
# CHECK: [[TEST:%\w+]] = stablehlo.compare GE, %arg1, %{{\w+}} : (tensor<?xi64>, tensor<8xi64>) -> tensor<8xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[TEST]] init: %{{\w+}}) applies stablehlo.and across dimensions = [0] : (tensor<8xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[MAX:%\w+]] = stablehlo.maximum %arg1, %{{\w+}} : (tensor<?xi64>, tensor<8xi64>) -> tensor<8xi64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[MAX]] init: %{{\w+}}) applies stablehlo.add across dimensions = [0] : (tensor<8xi64>, tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[REDUCED2]]) {api_version = 4 : i32, backend_config = {}, hlograph.dim = "repeat_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: [[SUM2:%\w+]] = stablehlo.add %arg2, %arg3 : tensor<i64>
# CHECK-NEXT: stablehlo.return [[SUM2]] : tensor<i64>
# CHECK: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%{{\w+}}, %{{\w+}}, %{{\w+}}) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: [[SUM3:%\w+]] = stablehlo.add %arg2, %arg3 : tensor<i64>
# CHECK-NEXT: stablehlo.return [[SUM3]] : tensor<i64>
# CHECK: [[TAKEN:%\w+]] = "stablehlo.gather"(%arg0, %{{\w+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<8xf64>, tensor<?xi64>) -> tensor<?xf64>
# CHECK: return [[TAKEN]], %{{\w+}} : tensor<?xf64>, tensor<1xi1>
show([x, k], pt.repeat(x, k), name="Repeat.dynamic", dims={"x": (8,), "k": ("n",)})

# Counts that are integer arguments are sizes before the run.
# CHECK-LABEL: module @Repeat.dynamic.values
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"k_0 >= 0", "count 0 of Repeat at an unnamed Repeat node"], ["k_1 >= 0", "count 1 of Repeat at an unnamed Repeat node"]]
# CHECK: [[SLICED:%\w+]] = stablehlo.slice %arg1 [0:1] : (tensor<2xi64>) -> tensor<1xi64>
# CHECK: [[SLICED2:%\w+]] = stablehlo.slice %arg1 [1:2] : (tensor<2xi64>) -> tensor<1xi64>
# CHECK: [[SUM:%\w+]] = stablehlo.add %{{\w+}}, %{{\w+}} : tensor<i64>
# CHECK: [[SUM2:%\w+]] = stablehlo.add %{{\w+}}, %{{\w+}} : tensor<i64>
# CHECK: stablehlo.return %{{\w+}} : tensor<i64>
# CHECK: stablehlo.return %{{\w+}} : tensor<i64>
# CHECK: [[TAKEN:%\w+]] = "stablehlo.gather"(%arg0, %{{\w+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<2xf64>, tensor<?xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[TAKEN]] : tensor<?xf64>
show([x, k], pt.repeat(x, k), name="Repeat.dynamic.values", dims={"x": (2,), "k": (2,)})
