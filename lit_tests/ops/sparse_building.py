# RUN: %python %s | filecheck %s
"""Sparse matrices from parts, from dense ones and from others."""

import pytensor.sparse as ps
import pytensor.sparse.basic as basic
import pytensor.tensor as pt
from common import show
from pytensor.sparse.basic import CSMGrad
from pytensor.sparse.linalg import block_diag
from sparse_inputs import constant, csc, csr, dense, rows, values, x

# CHECK-LABEL: module @SparseCSM.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], dense(csr), name="SparseCSM.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseCSMProperties.static
# CHECK-NEXT: return multiply(values, 2), [1, 0, 1], [0, 1, 2, 3], [3, 2] : tensor<3xf64>, tensor<3xi32>, tensor<4xi32>, tensor<2xi32>
show([values], list(ps.csm_properties(csr * 2.0)), name="SparseCSMProperties.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseCSMGrad.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: return reshape<3xf64>(values) : tensor<3xf64>
show(
    [values], CSMGrad()(values, *ps.csm_properties(csr)[1:], *ps.csm_properties(csr.T.T)), name="SparseCSMGrad.dynamic"
)

# CHECK-LABEL: module @SparseCast.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), convert<f32>(values)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf32>
# CHECK-NEXT: return a : tensor<3x2xf32>
show([values], dense(csr.astype("float32")), name="SparseCast.static", dims={"values": (3,)})

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

# CHECK-LABEL: module @SparseConstructSparseFromList.static
# CHECK-NEXT: checks: ValueError, indptr of a sparse matrix must start with 0, end with the number of values, and not decrease
# CHECK-NEXT: checks: ValueError, indices of a sparse matrix are out of range
# CHECK-NEXT: a = reshape<4xi64>(broadcast_in_dim<[1], 2x2xi64>(rows)) : tensor<4xi64>
# CHECK-NEXT: b = and(GE(a, 0), LT(a, 3)) : tensor<4xi1>
# CHECK-NEXT: c = scatter(0, [2, 4], 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<4xi64>
# CHECK-NEXT: d = reduce_window(c, 0) {padding = [3, 0], window_dimensions = [4], add} : tensor<4xi64>
# CHECK-NEXT: e = scatter(0, concatenate<1>(reshape<4x1xi64>(select(b, a, 0)), reshape<4x1xi64>(d)), reshape<4xf64>(transpose<[1, 0]>(slice<0:2:1, 0:2:1>(x)))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return e, concatenate<0>(and(true, reduce<[0], and>(LE([0, 2], [2, 4]), true)), reduce<[0], and>(b, true)) : tensor<3x2xf64>, tensor<2xi1>
show(
    [x, rows],
    dense(ps.construct_sparse_from_list(x, x[:2], rows)),
    name="SparseConstructSparseFromList.static",
    dims={"x": (3, 2), "rows": (2,)},
)

# CHECK-LABEL: module @SparseEnsureSortedIndices.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = gather(reshape<3xf64>(values), [1, 0, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: return a, [0, 1, 1], [0, 2, 3], 2 : tensor<3xf64>, tensor<3xi32>, tensor<3xi32>, tensor<i64>
show(
    [values],
    basic.ensure_sorted_indices(ps.CSR(values, [1, 0, 1], [0, 2, 3], (2, 2))),
    name="SparseEnsureSortedIndices.dynamic",
)

# CHECK-LABEL: module @SparseRemove0.static
# CHECK-NEXT: return [2, 3, 5], [1, 0, 1], [0, 1, 2, 3], 2 : tensor<3xf64>, tensor<3xi32>, tensor<4xi32>, tensor<i64>
show([], basic.remove0(constant), name="SparseRemove0.static")

# CHECK-LABEL: module @SparseHStack.static
# CHECK-NEXT: a = gather(concatenate<0>(values, [2, 3, 5]), [1, 0, 2, 4, 3, 5]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<6xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([1, 0, 2, 1, 0, 2], [0, 1, 1, 2, 3, 3]), a) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return b : tensor<3x4xf64>
show([values], dense(ps.hstack([csr, constant])), name="SparseHStack.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseVStack.static
# CHECK-NEXT: a = gather(concatenate<0>(values, [2, 3, 5]), [1, 4, 0, 2, 3, 5]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<6xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([1, 4, 0, 2, 3, 5], [0, 0, 1, 1, 1, 1]), a) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<6x2xf64>
# CHECK-NEXT: return b : tensor<6x2xf64>
show([values], dense(ps.vstack([csr, constant])), name="SparseVStack.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseSparseBlockDiagonal.static
# CHECK-NEXT: a:2 = sort([1, 0, 1, 2, 3], iota<0, 5xi64>()) {dimension = 0, is_stable = true, (p0, p1, p2, p3) -> LT(p0, p1)} : tensor<5xi64>, tensor<5xi64>
# CHECK-NEXT: b = gather(concatenate<0>(values, reshape<2xf64>(x)), a#1) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<5xf64>
# CHECK-NEXT: c = gather([0, 1, 2, 3, 3], a#1) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<5xi64>
# CHECK-NEXT: d = gather([1, 0, 1, 2, 3], a#1) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<5xi64>
# CHECK-NEXT: e = scatter(0, concatenate<1>(reshape<5x1xi64>(c), reshape<5x1xi64>(d)), b) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<4x4xf64>
# CHECK-NEXT: return e : tensor<4x4xf64>
show(
    [values, x], dense(block_diag(csr, x)), name="SparseSparseBlockDiagonal.static", dims={"values": (3,), "x": (1, 2)}
)
