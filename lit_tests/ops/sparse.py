# RUN: %python %s | filecheck %s
"""Ops on sparse matrices, as ops on their parts: of a known matrix, as a constant and with other values at its places."""

import numpy as np
import pytensor.sparse as ps
import pytensor.sparse.basic as basic
import pytensor.sparse.math as math
import pytensor.tensor as pt
import scipy.sparse
from common import show
from pytensor.sparse.math import sdg_csr
from pytensor.sparse.rewriting import sd_csr

# ---- What the tests of sparse matrices start from: a known matrix, as a constant and with other values at its places
x, values = pt.dmatrix("x"), pt.dvector("values")
row, column, rows = pt.dvector("row"), pt.dvector("column"), pt.lvector("rows")
known = scipy.sparse.csr_matrix(np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 5.0]]))
constant, csc_constant = ps.as_sparse_variable(known), ps.as_sparse_variable(known.tocsc())
csr = ps.CSR(values, known.indices, known.indptr, known.shape)
csc = ps.CSC(values, known.tocsc().indices, known.tocsc().indptr, known.shape)
dense = ps.dense_from_sparse
places = pt.constant(known.indices), pt.constant(known.indptr)

# ---- Arithmetic of sparse matrices element by element, and sums

# CHECK-LABEL: module @SparseAddSparseSparse.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [4, 6, 10]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([], dense(constant + constant.T.T), name="SparseAddSparseSparse.static")

# CHECK-LABEL: module @SparseAddSparseDense.static
# CHECK-NEXT: a = scatter(x, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([x], ps.add(constant, x), name="SparseAddSparseDense.static", dims={"x": (3, 2)})

# CHECK-LABEL: module @SparseMultiplySparseSparse.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [4, 9, 25]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([], dense(constant * constant.T.T), name="SparseMultiplySparseSparse.static")

# CHECK-LABEL: module @SparseMultiplySparseDense.static
# CHECK-NEXT: a = concatenate<1>([0, 1, 2], [1, 0, 1]) : tensor<3x2xi32>
# CHECK-NEXT: b = gather(x, a) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<3xf64>
# CHECK-NEXT: c = scatter(0, a, multiply([2, 3, 5], b)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return c : tensor<3x2xf64>
show([x], dense(ps.multiply(constant, x)), name="SparseMultiplySparseDense.static", dims={"x": (3, 2)})

# CHECK-LABEL: module @SparseEqualSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of EqualSparseDense', shape
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of EqualSparseDense', shape
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(EQ(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>
show([x], math.eq(constant, x), name="SparseEqualSparseDense.dynamic")

# CHECK-LABEL: module @SparseEqualSparseSparse.static
# CHECK-NEXT: a = gather(true, concatenate<1>([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<6xi1>
# CHECK-NEXT: return convert<ui8>(a), [0, 1, 0, 1, 0, 1], [0, 2, 4, 6], 2 : tensor<6xui8>, tensor<6xi32>, tensor<4xi32>, tensor<i64>
show([], math.eq(constant, constant.T.T), name="SparseEqualSparseSparse.static")

# CHECK-LABEL: module @SparseColScaleCSC.static
# CHECK-NEXT: a = gather(row, [0, 1, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([1, 0, 2], reshape<3x1xi32>([0, 1, 1])), multiply([3, 2, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([row], dense(ps.col_scale(csc_constant, row)), name="SparseColScaleCSC.static", dims={"row": (2,)})

# CHECK-LABEL: module @SparseSpSum.static
# CHECK-NEXT: a = scatter(0, [1, 0, 1], values) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.sp_sum(csr, axis=0), name="SparseSpSum.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseDiag.static
# CHECK-NEXT: a = scatter(0, [0, 1, 1], select([false, true, false], values, 0)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.diag(ps.CSR(values, [1, 1, 0], [0, 1, 3], (2, 2))), name="SparseDiag.static", dims={"values": (3,)})

# ---- Sparse matrices from parts, from dense ones and from others

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

# ---- Rows, blocks and elements of sparse matrices
index = pt.constant([2, 0])

# CHECK-LABEL: module @SparseGetItem2d.static
# CHECK-NEXT: a = gather(values, [1, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<2xf64>
# CHECK-NEXT: b = gather(a, [0, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<2xf64>
# CHECK-NEXT: c = scatter(0, concatenate<1>([0, 1], [1, 0]), b) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<2x2xf64>
# CHECK-NEXT: return c : tensor<2x2xf64>
show([values], dense(csr[1:, ::-1]), name="SparseGetItem2d.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseGetItemScalar.static
# CHECK-NEXT: return reduce<[0], add>(select(and(EQ([0, 1, 2], 1), EQ([1, 0, 1], 0)), values, 0), 0) : tensor<f64>
show([values], csr[1, 0], name="SparseGetItemScalar.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseGetItemList.static
# CHECK-NEXT: a = gather(values, [2, 0]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<2xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([0, 1], 1), a) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<2x2xf64>
# CHECK-NEXT: return b : tensor<2x2xf64>
show([values], dense(basic.get_item_list(csr, index)), name="SparseGetItemList.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseGetItem2Lists.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}", shape
# CHECK-NEXT: a = scatter(0, [0, 1, 2], reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3xf64>
# CHECK-NEXT: b = gather(concatenate<0>(a, 0), [2, 0]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<2xf64>
# CHECK-NEXT: return select([true, false], b, broadcast_in_dim<[0], 2xf64>(0)) : tensor<2xf64>
show([values], basic.get_item_2lists(csr, index, pt.constant([1, 0])), name="SparseGetItem2Lists.dynamic")

# ---- Products of sparse matrices: rows, factors and scatters that add

# CHECK-LABEL: module @SparseDot.static
# CHECK-NEXT: a = gather(x, [1, 0, 1]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 2], multiply(broadcast_in_dim<[0, 1], 3x4xf64>([2, 3, 5]), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return b : tensor<3x4xf64>
show([x], ps.dot(constant, x), name="SparseDot.static", dims={"x": (2, 4)})

# CHECK-LABEL: module @SparseStructuredDot.static
# CHECK-NEXT: a = gather(x, [1, 0, 1]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 2], multiply(broadcast_in_dim<[0, 1], 3x4xf64>([2, 3, 5]), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return b : tensor<3x4xf64>
show([x], ps.structured_dot(constant, x), name="SparseStructuredDot.static", dims={"x": (2, 4)})

# CHECK-LABEL: module @SparseTrueDot.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 0, 1, 2, 2], [0, 2, 1, 0, 2]), [4, 10, 9, 10, 25]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x3xf64>
# CHECK-NEXT: return a : tensor<3x3xf64>
show([], dense(ps.true_dot(constant, constant.T)), name="SparseTrueDot.static")

# CHECK-LABEL: module @SparseSamplingDot.static
# CHECK-NEXT: a = gather(x, [0, 1, 2]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: b = gather(slice<0:2:1, 0:4:1>(x), [1, 0, 1]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: c = scatter(0, concatenate<1>(reshape<3x1xi32>([0, 1, 2]), reshape<3x1xi32>([1, 0, 1])), multiply([2, 3, 5], reduce<[1], add>(multiply(a, b), 0))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return c : tensor<3x2xf64>
show([x], dense(ps.sampling_dot(x, x[:2], constant)), name="SparseSamplingDot.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @SparseStructuredDotGradCSR.static
# CHECK-NEXT: checks: ValueError, indptr of a sparse matrix must start with 0, end with the number of values, and not decrease
# CHECK-NEXT: checks: ValueError, indices of a sparse matrix are out of range
# CHECK-NEXT: a = and(GE([1, 0, 1], 0), LT([1, 0, 1], 4)) : tensor<3xi1>
# CHECK-NEXT: b = scatter(0, [1, 2, 3], 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3xi32>
# CHECK-NEXT: c = reduce_window(b, 0) {padding = [2, 0], window_dimensions = [3], add} : tensor<3xi32>
# CHECK-NEXT: d = gather(slice<0:3:1, 0:2:1>(x), c) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 2]} : tensor<3x2xf64>
# CHECK-NEXT: e = gather(x, select(a, [1, 0, 1], 0)) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 2]} : tensor<3x2xf64>
# CHECK-NEXT: return reduce<[1], add>(multiply(d, e), 0), concatenate<0>(and(true, reduce<[0], and>(LE([0, 1, 2], [1, 2, 3]), true)), reduce<[0], and>(a, true)) : tensor<3xf64>, tensor<2xi1>
show([x], sdg_csr(*places, x, x[:3]), name="SparseStructuredDotGradCSR.static", dims={"x": (4, 2)})

# CHECK-LABEL: module @SparseStructuredDotCSR.static
# CHECK-NEXT: checks: ValueError, indptr of a sparse matrix must start with 0, end with the number of values, and not decrease
# CHECK-NEXT: checks: ValueError, indices of a sparse matrix are out of range
# CHECK-NEXT: a = and(GE([1, 0, 1], 0), LT([1, 0, 1], 2)) : tensor<3xi1>
# CHECK-NEXT: b = scatter(0, [1, 2, 3], 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3xi32>
# CHECK-NEXT: c = reduce_window(b, 0) {padding = [2, 0], window_dimensions = [3], add} : tensor<3xi32>
# CHECK-NEXT: d = gather(x, select(a, [1, 0, 1], 0)) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: e = scatter(0, c, multiply(broadcast_in_dim<[0], 3x4xf64>(values), d)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return e, concatenate<0>(and(true, reduce<[0], and>(LE([0, 1, 2], [1, 2, 3]), true)), reduce<[0], and>(a, true)) : tensor<3x4xf64>, tensor<2xi1>
show([values, x], sd_csr(values, *places, x), name="SparseStructuredDotCSR.static", dims={"values": (3,), "x": (2, 4)})
