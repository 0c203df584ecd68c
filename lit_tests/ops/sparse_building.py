# RUN: %python %s | filecheck %s
"""Sparse matrices from parts, from dense ones and from others."""

import pytensor.sparse as ps
import pytensor.sparse.basic as basic
import pytensor.tensor as pt
from common import show
from sparse_inputs import constant, csc, csr, dense, values

# CHECK-LABEL: module @SparseCSM.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], dense(csr), name="SparseCSM.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseCSMProperties.static
# CHECK-NEXT: return multiply(values, 2), [1, 0, 1], [0, 1, 2, 3], [3, 2] : tensor<3xf64>, tensor<3xi32>, tensor<4xi32>, tensor<2xi32>
show([values], list(ps.csm_properties(csr * 2.0)), name="SparseCSMProperties.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseDenseFromSparse.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([1, 0, 2], [0, 1, 1]), values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], dense(csc), name="SparseDenseFromSparse.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseSparseFromDense.static
# CHECK-NEXT: a = gather([0, 1, 2], concatenate<1>(0, [1, 2])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<2xf64>
# CHECK-NEXT: return a, [1, 2], [0, 2], 3 : tensor<2xf64>, tensor<2xi32>, tensor<2xi32>, tensor<i64>
show([], ps.csr_from_dense(pt.constant([[0.0, 1.0, 2.0]])), name="SparseSparseFromDense.static")

# CHECK-LABEL: module @SparseTranspose.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([1, 0, 1], [0, 1, 2]), values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<2x3xf64>
# CHECK-NEXT: return a : tensor<2x3xf64>
show([values], dense(csr.T), name="SparseTranspose.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseRemove0.static
# CHECK-NEXT: return [2, 3, 5], [1, 0, 1], [0, 1, 2, 3], 2 : tensor<3xf64>, tensor<3xi32>, tensor<4xi32>, tensor<i64>
show([], basic.remove0(constant), name="SparseRemove0.static")

# CHECK-LABEL: module @SparseVStack.static
# CHECK-NEXT: a = gather(concatenate<0>(values, [2, 3, 5]), [1, 4, 0, 2, 3, 5]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<6xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([1, 4, 0, 2, 3, 5], [0, 0, 1, 1, 1, 1]), a) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<6x2xf64>
# CHECK-NEXT: return b : tensor<6x2xf64>
show([values], dense(ps.vstack([csr, constant])), name="SparseVStack.static", dims={"values": (3,)})
