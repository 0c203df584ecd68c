# RUN: %python %s | filecheck %s
"""Arithmetic of sparse matrices element by element, and sums."""

import pytensor.sparse as ps
import pytensor.sparse.math as math
from common import show
from sparse_inputs import constant, csc_constant, csr, dense, row, values, x

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
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of EqualSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of EqualSparseDense'
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

# CHECK-LABEL: module @SparseColScaleCSC.dynamic
# CHECK-NEXT: constraints: 2 == row_0, SpecifyShape: axis 0 at node 'operand of ColScaleCSC'
# CHECK-NEXT: a = gather(reshape<2xf64>(row), [0, 1, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([1, 0, 2], reshape<3x1xi32>([0, 1, 1])), multiply([3, 2, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([row], dense(ps.col_scale(csc_constant, row)), name="SparseColScaleCSC.dynamic")

# CHECK-LABEL: module @SparseSpSum.static
# CHECK-NEXT: a = scatter(0, [1, 0, 1], values) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.sp_sum(csr, axis=0), name="SparseSpSum.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseDiag.static
# CHECK-NEXT: a = scatter(0, [0, 1, 1], select([false, true, false], values, 0)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.diag(ps.CSR(values, [1, 1, 0], [0, 1, 3], (2, 2))), name="SparseDiag.static", dims={"values": (3,)})
