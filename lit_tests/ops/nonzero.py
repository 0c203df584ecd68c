# RUN: %python %s | filecheck %s
"""Nonzero: the places of true elements, written to the front of a vector; the first of them are the result."""

import numpy as np
import pytensor.tensor as pt
from common import show

k, x = pt.lvector("k"), pt.dmatrix("x")
mask = pt.tensor("mask", dtype="bool", shape=(None,))

# The places in a constant are one.
# CHECK-LABEL: module @Nonzero.static
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[CONST]], %arg0 : tensor<2xi64>
# CHECK-NEXT: return [[SUM]] : tensor<2xi64>
show([k], pt.constant(np.array([0, 3, 0, 1])).nonzero()[0] + k, name="Nonzero.static", dims={"k": (2,)})

# The marker says that a size comes from data, its name, and what it cannot exceed.
# CHECK-LABEL: module @Nonzero.dynamic
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"nonzero_0", "8"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert %arg0 : (tensor<8xi1>) -> tensor<8xi64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[CONVERTED]] init: [[CONST]]) applies stablehlo.add across dimensions = [0] : (tensor<8xi64>, tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[REDUCED]]) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "8", hlograph.dim = "nonzero_0"} : (tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SIZE]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[RUNNING:%\w+]] = "stablehlo.reduce_window"([[CONVERTED]], [[CONST]]) <{padding = dense<{{\[\[}}7, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 8>}> ({
# CHECK-NEXT: ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, %arg2 : tensor<i64>
# CHECK-NEXT: stablehlo.return [[SUM]] : tensor<i64>
# CHECK-NEXT: }) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[PLACES:%\w+]] = stablehlo.iota dim = 0 : tensor<8xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[DIFF:%\w+]] = stablehlo.subtract [[RUNNING]], [[WIDE]] : tensor<8xi64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[REDUCED]], dims = [] : (tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add [[PLACES]], [[WIDE2]] : tensor<8xi64>
# CHECK-NEXT: [[DIFF2:%\w+]] = stablehlo.subtract [[SUM2]], [[RUNNING]] : tensor<8xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select %arg0, [[DIFF]], [[DIFF2]] : tensor<8xi1>, tensor<8xi64>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[CHOSEN]] : (tensor<8xi64>) -> tensor<8x1xi64>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"([[WIDE3]], [[SHAPED2]], [[PLACES]]) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
# CHECK-NEXT: ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
# CHECK-NEXT: stablehlo.return %arg2 : tensor<i64>
# CHECK-NEXT: }) : (tensor<8xi64>, tensor<8x1xi64>, tensor<8xi64>) -> tensor<8xi64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SCATTERED]], [[CONST3]], [[SHAPED]], [[CONST4]] : (tensor<8xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: return [[SLICED]] : tensor<?xi64>
show([mask], mask.nonzero()[0], name="Nonzero.dynamic", dims={"mask": (8,)})

# CHECK-LABEL: module @Nonzero.dynamic.symbolic
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"nonzero_0", "n"]]
# CHECK: [[REDUCED:%\w+]] = stablehlo.reduce(%{{\w+}} init: %{{\w+}}) applies stablehlo.add across dimensions = [0] : (tensor<?xi64>, tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[REDUCED]]) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "n", hlograph.dim = "nonzero_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%{{\w+}}, %{{\w+}}, %{{\w+}}) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
# CHECK: stablehlo.return %arg2 : tensor<i64>
# CHECK: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SCATTERED]], %{{\w+}}, %{{\w+}}, %{{\w+}} : (tensor<?xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: return [[SLICED]] : tensor<?xi64>
show([mask], mask.nonzero()[0], name="Nonzero.dynamic.symbolic", dims={"mask": ("n",)})

# One place for an element; row and column are worked out of it.
# CHECK-LABEL: module @Nonzero.dynamic.matrix
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"nonzero_0", "3*n"]]
# CHECK: [[TEST:%\w+]] = stablehlo.compare NE, %arg0, %{{\w+}} : (tensor<3x?xf64>, tensor<3x?xf64>) -> tensor<3x?xi1>
# CHECK: [[REDUCED:%\w+]] = stablehlo.reduce(%{{\w+}} init: %{{\w+}}) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x?xi64>, tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size([[REDUCED]]) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "3*n", hlograph.dim = "nonzero_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%{{\w+}}, %{{\w+}}, %{{\w+}}) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
# CHECK: stablehlo.return %arg2 : tensor<i64>
# CHECK: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SCATTERED]], %{{\w+}}, %{{\w+}}, %{{\w+}} : (tensor<?xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK: [[QUOTIENT:%\w+]] = stablehlo.divide [[SLICED]], %{{\w+}} : tensor<?xi64>
# CHECK-NEXT: [[REST:%\w+]] = stablehlo.remainder [[SLICED]], %{{\w+}} : tensor<?xi64>
# CHECK-NEXT: return [[QUOTIENT]], [[REST]] : tensor<?xi64>, tensor<?xi64>
show([x], list(x.nonzero()), name="Nonzero.dynamic.matrix", dims={"x": (3, "n")})
