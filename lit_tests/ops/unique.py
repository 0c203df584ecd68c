# RUN: %python %s | filecheck %s
"""Unique: sorted, marked where an element differs from the one before, compacted as by Nonzero."""

import numpy as np
import pytensor.tensor as pt
from common import show

x, table, k = pt.dvector("x"), pt.dmatrix("table"), pt.lvector("k")

# CHECK-LABEL: module @Unique.static
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[CONST]], %arg0 : tensor<2xi64>
# CHECK-NEXT: return [[SUM]] : tensor<2xi64>
show([k], pt.unique(pt.constant(np.array([2, 1, 2]))) + k, name="Unique.static", dims={"k": (2,)})

# NaN equals NaN. Index, inverse and counts follow the values.
# CHECK-LABEL: module @Unique.dynamic
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"unique_0", "8"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: [[PLACES:%\w+]] = stablehlo.iota dim = 0 : tensor<8xi64>
# CHECK-NEXT: [[SORTED:%\w+]]:2 = "stablehlo.sort"(%arg0, [[PLACES]]) <{dimension = 0 : i64, is_stable = true}> ({
# CHECK-NEXT: ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<i64>, %arg4: tensor<i64>):
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, %arg2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare EQ, %arg1, %arg1 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare NE, %arg2, %arg2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<i1>
# CHECK-NEXT: [[OR:%\w+]] = stablehlo.or [[TEST]], [[AND]] : tensor<i1>
# CHECK-NEXT: stablehlo.return [[OR]] : tensor<i1>
# CHECK-NEXT: }) : (tensor<8xf64>, tensor<8xi64>) -> (tensor<8xf64>, tensor<8xi64>)
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[DIFF:%\w+]] = stablehlo.subtract [[PLACES]], [[WIDE]] : tensor<8xi64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[MAX:%\w+]] = stablehlo.maximum [[DIFF]], [[WIDE2]] : tensor<8xi64>
# CHECK-NEXT: [[TAKEN:%\w+]] = "stablehlo.gather"([[SORTED]]#0, [[MAX]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<8xf64>, tensor<8xi64>) -> tensor<8xf64>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare NE, [[SORTED]]#0, [[TAKEN]] : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xi1>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare EQ, [[SORTED]]#0, [[SORTED]]#0 : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xi1>
# CHECK-NEXT: [[TEST6:%\w+]] = stablehlo.compare EQ, [[TAKEN]], [[TAKEN]] : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xi1>
# CHECK-NEXT: [[OR2:%\w+]] = stablehlo.or [[TEST5]], [[TEST6]] : tensor<8xi1>
# CHECK-NEXT: [[AND2:%\w+]] = stablehlo.and [[TEST4]], [[OR2]] : tensor<8xi1>
# CHECK-NEXT: [[TEST7:%\w+]] = stablehlo.compare EQ, [[PLACES]], [[WIDE2]] : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
# CHECK-NEXT: [[OR3:%\w+]] = stablehlo.or [[AND2]], [[TEST7]] : tensor<8xi1>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[OR3]] : (tensor<8xi1>) -> tensor<8xi64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[CONVERTED]] init: [[CONST2]]) applies stablehlo.add across dimensions = [0] : (tensor<8xi64>, tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[REDUCED]]) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "8", hlograph.dim = "unique_0"} : (tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SIZE]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[RUNNING:%\w+]] = "stablehlo.reduce_window"([[CONVERTED]], [[CONST2]]) <{padding = dense<{{\[\[}}7, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 8>}> ({
# CHECK-NEXT: ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, %arg2 : tensor<i64>
# CHECK-NEXT: stablehlo.return [[SUM]] : tensor<i64>
# CHECK-NEXT: }) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[DIFF2:%\w+]] = stablehlo.subtract [[RUNNING]], [[WIDE]] : tensor<8xi64>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[REDUCED]], dims = [] : (tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add [[PLACES]], [[WIDE3]] : tensor<8xi64>
# CHECK-NEXT: [[DIFF3:%\w+]] = stablehlo.subtract [[SUM2]], [[RUNNING]] : tensor<8xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[OR3]], [[DIFF2]], [[DIFF3]] : tensor<8xi1>, tensor<8xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[CHOSEN]] : (tensor<8xi64>) -> tensor<8x1xi64>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"([[WIDE2]], [[SHAPED2]], [[PLACES]]) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
# CHECK-NEXT: ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
# CHECK-NEXT: stablehlo.return %arg2 : tensor<i64>
# CHECK-NEXT: }) : (tensor<8xi64>, tensor<8x1xi64>, tensor<8xi64>) -> tensor<8xi64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SCATTERED]], [[CONST3]], [[SHAPED]], [[CONST4]] : (tensor<8xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TAKEN2:%\w+]] = "stablehlo.gather"([[SORTED]]#0, [[SLICED]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<8xf64>, tensor<?xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[TAKEN3:%\w+]] = "stablehlo.gather"([[SORTED]]#1, [[SLICED]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<8xi64>, tensor<?xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SCATTERED2:%\w+]] = "stablehlo.scatter"([[WIDE2]], [[SORTED]]#1, [[DIFF2]]) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK-NEXT: ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
# CHECK-NEXT: stablehlo.return %arg2 : tensor<i64>
# CHECK-NEXT: }) : (tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
# CHECK-NEXT: [[SCATTERED3:%\w+]] = "stablehlo.scatter"([[WIDE2]], [[DIFF2]], [[WIDE]]) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK-NEXT: ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
# CHECK-NEXT: [[SUM3:%\w+]] = stablehlo.add %arg1, %arg2 : tensor<i64>
# CHECK-NEXT: stablehlo.return [[SUM3]] : tensor<i64>
# CHECK-NEXT: }) : (tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
# CHECK-NEXT: [[SLICED2:%\w+]] = stablehlo.real_dynamic_slice [[SCATTERED3]], [[CONST3]], [[SHAPED]], [[CONST4]] : (tensor<8xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: return [[TAKEN2]], [[TAKEN3]], [[SCATTERED2]], [[SLICED2]] : tensor<?xf64>, tensor<?xi64>, tensor<8xi64>, tensor<?xi64>
show([x], pt.unique(x, True, True, True), name="Unique.dynamic", dims={"x": (8,)})

# Rows: a stable sort by each column, the last one first.
# CHECK-LABEL: module @Unique.dynamic.rows
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"unique_0", "n"]]
# CHECK: [[LOOP:%\w+]]:2 = stablehlo.while([[CARRY:%\w+]] = %{{\w+}}, [[CARRY2:%\w+]] = %{{\w+}}) : tensor<i64>, tensor<?xi64>
# CHECK: [[TEST:%\w+]] = stablehlo.compare GT, [[CARRY]], %{{\w+}} : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.return [[TEST]] : tensor<i1>
# CHECK: [[TAKEN:%\w+]] = "stablehlo.dynamic_gather"(%arg0, %{{\w+}}, %{{\w+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0, 1]>, indices_are_sorted = false}> : (tensor<?x3xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x1xf64>
# CHECK: [[TAKEN2:%\w+]] = "stablehlo.dynamic_gather"(%{{\w+}}, [[CARRY2]], %{{\w+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?xf64>, tensor<?xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SORTED:%\w+]]:2 = "stablehlo.sort"([[TAKEN2]], [[CARRY2]]) <{dimension = 0 : i64, is_stable = true}> ({
# CHECK: [[TEST2:%\w+]] = stablehlo.compare LT, %arg1, %arg2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare EQ, %arg1, %arg1 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare NE, %arg2, %arg2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK: [[OR:%\w+]] = stablehlo.or [[TEST2]], %{{\w+}} : tensor<i1>
# CHECK-NEXT: stablehlo.return [[OR]] : tensor<i1>
# CHECK: stablehlo.return %{{\w+}}, [[SORTED]]#1 : tensor<i64>, tensor<?xi64>
# CHECK: [[TAKEN3:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[LOOP]]#1, %{{\w+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x3xf64>, tensor<?xi64>, tensor<2xi64>) -> tensor<?x3xf64>
# CHECK: [[TAKEN4:%\w+]] = "stablehlo.dynamic_gather"([[TAKEN3]], %{{\w+}}, %{{\w+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x3xf64>, tensor<?xi64>, tensor<2xi64>) -> tensor<?x3xf64>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare NE, [[TAKEN3]], [[TAKEN4]] : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[TEST5]] init: %{{\w+}}) applies stablehlo.or across dimensions = [1] : (tensor<?x3xi1>, tensor<i1>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST6:%\w+]] = stablehlo.compare EQ, %{{\w+}}, %{{\w+}} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[OR2:%\w+]] = stablehlo.or [[REDUCED]], [[TEST6]] : tensor<?xi1>
# CHECK: [[REDUCED2:%\w+]] = stablehlo.reduce(%{{\w+}} init: %{{\w+}}) applies stablehlo.add across dimensions = [0] : (tensor<?xi64>, tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[REDUCED2]]) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "n", hlograph.dim = "unique_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: stablehlo.return %arg2 : tensor<i64>
# CHECK: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %{{\w+}}, %{{\w+}}, %{{\w+}}, %{{\w+}} : (tensor<?xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TAKEN5:%\w+]] = "stablehlo.dynamic_gather"([[LOOP]]#1, [[SLICED]], %{{\w+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?xi64>, tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TAKEN6:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[TAKEN5]], %{{\w+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x3xf64>, tensor<?xi64>, tensor<2xi64>) -> tensor<?x3xf64>
# CHECK-NEXT: return [[TAKEN6]] : tensor<?x3xf64>
show([table], pt.unique(table, axis=0), name="Unique.dynamic.rows", dims={"table": ("n", 3)})
