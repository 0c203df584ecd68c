# RUN: %python %s | filecheck %s
"""Ops on sparse matrices, as ops on their parts: of a known matrix, as a constant and with other values at its places."""

import numpy as np
import pytensor.sparse as ps
import pytensor.tensor as pt
import scipy.sparse
from common import show
from pytensor.sparse.rewriting import sd_csr

# ---- What the tests of sparse matrices start from: a known matrix, as a constant and with other values at its places
x, values = pt.dmatrix("x"), pt.dvector("values")
known = scipy.sparse.csr_matrix(np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 5.0]]))
constant = ps.as_sparse_variable(known)
csr = ps.CSR(values, known.indices, known.indptr, known.shape)
dense = ps.dense_from_sparse
places = pt.constant(known.indices), pt.constant(known.indptr)

# ---- Arithmetic of sparse matrices element by element, and sums
# CHECK: SparseAddSparseDense.static: scatter(x, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
show("SparseAddSparseDense.static", [x], ps.add(constant, x), {"x": (3, 2)})

# CHECK: SparseMultiplySparseDense.static: a = concatenate<1>([0, 1, 2], [1, 0, 1]) : tensor<3x2xi32>
# CHECK-NEXT: b = gather(x, a) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<3xf64>
# CHECK-NEXT: return scatter(0, a, multiply([2, 3, 5], b)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
show("SparseMultiplySparseDense.static", [x], dense(ps.multiply(constant, x)), {"x": (3, 2)})

# ---- Sparse matrices from parts, from dense ones and from others
# CHECK: SparseSparseFromDense.static: gather([0, 1, 2], concatenate<1>(0, [1, 2])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]}, [1, 2], [0, 2], 3 : tensor<2xf64>, tensor<2xi32>, tensor<2xi32>, tensor<i64>
show("SparseSparseFromDense.static", [], ps.csr_from_dense(pt.constant([[0.0, 1.0, 2.0]])))
# CHECK: SparseTranspose.static: scatter(0, concatenate<1>([1, 0, 1], [0, 1, 2]), values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<2x3xf64>
show("SparseTranspose.static", [values], dense(csr.T), {"values": (3,)})

# ---- Rows, blocks and elements of sparse matrices
# CHECK: SparseGetItem2d.static: a = gather(values, [1, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<2xf64>
# CHECK-NEXT: b = gather(a, [0, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<2xf64>
# CHECK-NEXT: return scatter(0, concatenate<1>([0, 1], [1, 0]), b) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<2x2xf64>
show("SparseGetItem2d.static", [values], dense(csr[1:, ::-1]), {"values": (3,)})

# ---- Products of sparse matrices: rows, factors and scatters that add
# CHECK: SparseDot.static: a = gather(x, [1, 0, 1]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: return scatter(0, [0, 1, 2], multiply(broadcast_in_dim<[0, 1], 3x4xf64>([2, 3, 5]), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
show("SparseDot.static", [x], ps.dot(constant, x), {"x": (2, 4)})

# CHECK: SparseStructuredDotCSR.static: checks: ValueError, indptr of a sparse matrix must start with 0, end with the number of values, and not decrease
# CHECK-NEXT: checks: ValueError, indices of a sparse matrix are out of range
# CHECK: b = scatter(0, [1, 2, 3], 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3xi32>
# CHECK-NEXT: c = reduce_window(b, 0) {padding = [2, 0], window_dimensions = [3], add} : tensor<3xi32>
# CHECK-NEXT: d = gather(x, select(a, [1, 0, 1], 0)) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: return scatter(0, c, multiply(broadcast_in_dim<[0], 3x4xf64>(values), d)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add}, concatenate<0>(and(true, reduce<[0], and>(LE([0, 1, 2], [1, 2, 3]), true)), reduce<[0], and>(a, true)) : tensor<3x4xf64>, tensor<2xi1>
show("SparseStructuredDotCSR.static", [values, x], sd_csr(values, *places, x), {"values": (3,), "x": (2, 4)})
