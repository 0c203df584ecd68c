# RUN: %python %s | filecheck %s
"""Sparse matrices whose places are constants: gathers of rows, and scatters that add."""

import numpy as np
import pytensor.sparse as ps
import pytensor.tensor as pt
import scipy.sparse
from common import show
from pytensor.sparse.basic import CSMGrad
from pytensor.sparse.math import mul_s_v, sdg_csc, sdg_csr

x, values = pt.dmatrix("x"), pt.dvector("values")
known = scipy.sparse.csr_matrix(np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 5.0]]))
constant, csc_constant = ps.as_sparse_variable(known), ps.as_sparse_variable(known.tocsc())
csr = ps.CSR(values, known.indices, known.indptr, known.shape)
csc = ps.CSC(values, known.indices, known.indptr, known.shape[::-1])

# CHECK-LABEL: module @SparseDot.static
# CHECK-NEXT: a = gather(x, [1, 0, 1]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 2], multiply(broadcast_in_dim<[0], 3x4xf64>([2, 3, 5]), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return b : tensor<3x4xf64>
show([x], ps.dot(constant, x), name="SparseDot.static", dims={"x": (2, 4)})

# CHECK-LABEL: module @SparseDot.dynamic
# CHECK-NEXT: constraints: x_0 == 2, the product with a sparse matrix at an unnamed Dot node
# CHECK-NEXT: a = dynamic_gather(x, [1, 0, 1], concatenate<0>(1, size<1>(x))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<3x?xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 2], multiply(dynamic_broadcast_in_dim<[0], 3x?xf64>([2, 3, 5], concatenate<0>(3, size<1>(x))), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x?xf64>
# CHECK-NEXT: return b : tensor<3x?xf64>
show([x], ps.dot(constant, x), name="SparseDot.dynamic")

# CHECK-LABEL: module @SparseStructuredDot.static
# CHECK-NEXT: a = gather(x, [1, 0, 1]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 2], multiply(broadcast_in_dim<[0], 3x4xf64>([2, 3, 5]), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return b : tensor<3x4xf64>
show([x], ps.structured_dot(constant, x), name="SparseStructuredDot.static", dims={"x": (2, 4)})

# CHECK-LABEL: module @SparseStructuredDot.dynamic
# CHECK-NEXT: constraints: x_0 == 2, the product with a sparse matrix at an unnamed StructuredDot node
# CHECK-NEXT: a = dynamic_gather(x, [1, 0, 1], concatenate<0>(1, size<1>(x))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<3x?xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 2], multiply(dynamic_broadcast_in_dim<[0], 3x?xf64>([2, 3, 5], concatenate<0>(3, size<1>(x))), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x?xf64>
# CHECK-NEXT: return b : tensor<3x?xf64>
show([x], ps.structured_dot(constant, x), name="SparseStructuredDot.dynamic")

# CHECK-LABEL: module @SparseTranspose.static
# CHECK-NEXT: a = gather(x, [0, 1, 2]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: b = scatter(0, [1, 0, 1], multiply(broadcast_in_dim<[0], 3x4xf64>([2, 3, 5]), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2x4xf64>
# CHECK-NEXT: return b : tensor<2x4xf64>
show([x], ps.dot(constant.T, x), name="SparseTranspose.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @SparseTranspose.dynamic
# CHECK-NEXT: constraints: x_0 == 3, the product with a sparse matrix at an unnamed Dot node
# CHECK-NEXT: a = dynamic_gather(x, [0, 1, 2], concatenate<0>(1, size<1>(x))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<3x?xf64>
# CHECK-NEXT: b = scatter(0, [1, 0, 1], multiply(dynamic_broadcast_in_dim<[0], 3x?xf64>([2, 3, 5], concatenate<0>(3, size<1>(x))), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2x?xf64>
# CHECK-NEXT: return b : tensor<2x?xf64>
show([x], ps.dot(constant.T, x), name="SparseTranspose.dynamic")

# CHECK-LABEL: module @SparseCSM.static
# CHECK-NEXT: a = scatter(0, [0, 1, 1, 0, 2, 1], values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], ps.dense_from_sparse(csr), name="SparseCSM.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseCSM.dynamic
# CHECK-NEXT: constraints: values_0 == 3, the number of values of CSM{format='csr'} at an unnamed CSM node
# CHECK-NEXT: a = scatter(0, [0, 1, 1, 0, 2, 1], values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], ps.dense_from_sparse(csr), name="SparseCSM.dynamic")

# CHECK-LABEL: module @SparseDenseFromSparse.static
# CHECK-NEXT: a = scatter(0, [0, 1, 1, 0, 2, 1], [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return add(x, a) : tensor<3x2xf64>
show([x], x + ps.dense_from_sparse(constant), name="SparseDenseFromSparse.static", dims={"x": (3, 2)})

# CHECK-LABEL: module @SparseDenseFromSparse.dynamic
# CHECK-NEXT: constraints: values_0 == 3, the number of values of CSM{format='csr'} at an unnamed CSM node
# CHECK-NEXT: a = scatter(0, [0, 1, 1, 0, 2, 1], values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], ps.dense_from_sparse(csr), name="SparseDenseFromSparse.dynamic")

# CHECK-LABEL: module @SparseCSMProperties.static
# CHECK-NEXT: return multiply(values, 2) : tensor<3xf64>
show([values], ps.csm_properties(csr)[0] * 2, name="SparseCSMProperties.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseCSMProperties.dynamic
# CHECK-NEXT: constraints: values_0 == 3, the number of values of CSM{format='csr'} at an unnamed CSM node
# CHECK-NEXT: return multiply(values, 2) : tensor<3xf64>
show([values], ps.csm_properties(csr)[0] * 2, name="SparseCSMProperties.dynamic")

# By the values: rows times rows, at their places.
g = pt.dmatrix("g")
indices, starts = pt.constant(known.indices), pt.constant(known.indptr)
by_csr, by_csc = sdg_csr(indices, starts, x, g), sdg_csc(indices, starts, x, g)
# CHECK-LABEL: module @SparseStructuredDotGradCSR.static
# CHECK-NEXT: a = gather(g, [0, 1, 2]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: b = gather(x, [1, 0, 1]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: return reduce<[1], add>(multiply(a, b), 0) : tensor<3xf64>
show([x, g], by_csr, name="SparseStructuredDotGradCSR.static", dims={"x": (2, 4), "g": (3, 4)})

# CHECK-LABEL: module @SparseStructuredDotGradCSR.dynamic
# CHECK-NEXT: constraints: g_1 == x_1, an unnamed StructuredDotGradCSR node
# CHECK-NEXT: a = dynamic_gather(g, [0, 1, 2], concatenate<0>(1, size<1>(g))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<3x?xf64>
# CHECK-NEXT: b = dynamic_gather(x, [1, 0, 1], concatenate<0>(1, size<1>(x))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<3x?xf64>
# CHECK-NEXT: return reduce<[1], add>(multiply(a, b), 0) : tensor<3xf64>
show([x, g], by_csr, name="SparseStructuredDotGradCSR.dynamic")

# CHECK-LABEL: module @SparseStructuredDotGradCSC.static
# CHECK-NEXT: a = gather(g, [1, 0, 1]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: b = gather(x, [0, 1, 2]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: return reduce<[1], add>(multiply(a, b), 0) : tensor<3xf64>
show([x, g], by_csc, name="SparseStructuredDotGradCSC.static", dims={"x": (3, 4), "g": (2, 4)})

# CHECK-LABEL: module @SparseStructuredDotGradCSC.dynamic
# CHECK-NEXT: constraints: g_1 == x_1, an unnamed StructuredDotGradCSC node
# CHECK-NEXT: a = dynamic_gather(g, [1, 0, 1], concatenate<0>(1, size<1>(g))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<3x?xf64>
# CHECK-NEXT: b = dynamic_gather(x, [0, 1, 2], concatenate<0>(1, size<1>(x))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<3x?xf64>
# CHECK-NEXT: return reduce<[1], add>(multiply(a, b), 0) : tensor<3xf64>
show([x, g], by_csc, name="SparseStructuredDotGradCSC.dynamic")

places = [indices, starts, pt.constant(np.array(known.shape, np.int32))]
gradient = CSMGrad()(values, *places, values * 2, *places)
# CHECK-LABEL: module @SparseCSMGrad.static
# CHECK-NEXT: return multiply(values, 2) : tensor<3xf64>
show([values], gradient, name="SparseCSMGrad.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseCSMGrad.dynamic
# CHECK-NEXT: return multiply(values, 2) : tensor<?xf64>
show([values], gradient, name="SparseCSMGrad.dynamic")

# One value at a time.
dense = ps.dense_from_sparse
factor, row, column = pt.dscalar("factor"), pt.dvector("row"), pt.dvector("column")
product = dense(ps.multiply(constant, x))
# CHECK-LABEL: module @SparseMultiplySparseDense.static
# CHECK-NEXT: a = gather(x, [0, 1, 1, 0, 2, 1]) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 1, 0, 2, 1], multiply([2, 3, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([x], product, name="SparseMultiplySparseDense.static", dims={"x": (3, 2)})

# CHECK-LABEL: module @SparseMultiplySparseDense.dynamic
# CHECK-NEXT: constraints: x_0 == 3, MultiplySparseDense of two matrices at an unnamed MultiplySparseDense node
# CHECK-NEXT: constraints: x_1 == 2, MultiplySparseDense of two matrices at an unnamed MultiplySparseDense node
# CHECK-NEXT: a = gather(x, [0, 1, 1, 0, 2, 1]) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 1, 0, 2, 1], multiply([2, 3, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([x], product, name="SparseMultiplySparseDense.dynamic")

by_row = dense(mul_s_v(constant, row))
# CHECK-LABEL: module @SparseMultiplySparseDenseVector.static
# CHECK-NEXT: a = gather(row, [1, 0, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 1, 0, 2, 1], multiply([2, 3, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([row], by_row, name="SparseMultiplySparseDenseVector.static", dims={"row": (2,)})

# CHECK-LABEL: module @SparseMultiplySparseDenseVector.dynamic
# CHECK-NEXT: constraints: row_0 == 2, MultiplySparseDenseVector of two matrices at an unnamed MultiplySparseDenseVector node
# CHECK-NEXT: a = gather(row, [1, 0, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 1, 0, 2, 1], multiply([2, 3, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([row], by_row, name="SparseMultiplySparseDenseVector.dynamic")

# CHECK-LABEL: module @SparseColScaleCSC.static
# CHECK-NEXT: a = gather(row, [0, 1, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, [1, 0, 0, 1, 2, 1], multiply([3, 2, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([row], dense(ps.col_scale(csc_constant, row)), name="SparseColScaleCSC.static", dims={"row": (2,)})

# CHECK-LABEL: module @SparseColScaleCSC.dynamic
# CHECK-NEXT: constraints: row_0 == 2, the factors of ColScaleCSC at an unnamed ColScaleCSC node
# CHECK-NEXT: a = gather(row, [0, 1, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, [1, 0, 0, 1, 2, 1], multiply([3, 2, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([row], dense(ps.col_scale(csc_constant, row)), name="SparseColScaleCSC.dynamic")

# CHECK-LABEL: module @SparseRowScaleCSC.static
# CHECK-NEXT: a = gather(column, [1, 0, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, [1, 0, 0, 1, 2, 1], multiply([3, 2, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([column], dense(ps.row_scale(csc_constant, column)), name="SparseRowScaleCSC.static", dims={"column": (3,)})

# CHECK-LABEL: module @SparseRowScaleCSC.dynamic
# CHECK-NEXT: constraints: column_0 == 3, the factors of RowScaleCSC at an unnamed RowScaleCSC node
# CHECK-NEXT: a = gather(column, [1, 0, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, [1, 0, 0, 1, 2, 1], multiply([3, 2, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([column], dense(ps.row_scale(csc_constant, column)), name="SparseRowScaleCSC.dynamic")

# CHECK-LABEL: module @SparseAddSparseDense.static
# CHECK-NEXT: a = scatter(x, [0, 1, 1, 0, 2, 1], [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([x], ps.add(constant, x), name="SparseAddSparseDense.static", dims={"x": (3, 2)})

# CHECK-LABEL: module @SparseAddSparseDense.dynamic
# CHECK-NEXT: constraints: x_0 == 3, AddSparseDense of two matrices at an unnamed AddSparseDense node
# CHECK-NEXT: constraints: x_1 == 2, AddSparseDense of two matrices at an unnamed AddSparseDense node
# CHECK-NEXT: a = scatter(reshape<3x2xf64>(x), [0, 1, 1, 0, 2, 1], [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([x], ps.add(constant, x), name="SparseAddSparseDense.dynamic")

# CHECK-LABEL: module @SparseSpSum.static
# CHECK-NEXT: a = scatter(0, [1, 0, 1], values) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.sp_sum(csr, axis=0), name="SparseSpSum.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseSpSum.dynamic
# CHECK-NEXT: constraints: values_0 == 3, the number of values of CSM{format='csr'} at an unnamed CSM node
# CHECK-NEXT: return reduce<[0], add>(values, 0) : tensor<f64>
show([values], ps.sp_sum(csr, axis=None), name="SparseSpSum.dynamic")
