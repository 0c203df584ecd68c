# RUN: %python %s | filecheck %s
"""Arithmetic of sparse matrices element by element, and sums."""

import pytensor.sparse as ps
import pytensor.sparse.math as math
from common import show
from sparse_inputs import column, constant, csc_constant, csr, dense, row, values, x

# CHECK-LABEL: module @SparseAddSparseSparse.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [4, 6, 10]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([], dense(constant + constant.T.T), name="SparseAddSparseSparse.static")

# CHECK-LABEL: module @SparseAddSparseSparseData.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), add(values, [2, 3, 5])) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], dense(math.add_s_s_data(csr, constant)), name="SparseAddSparseSparseData.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseAddSparseDense.static
# CHECK-NEXT: a = scatter(x, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([x], ps.add(constant, x), name="SparseAddSparseDense.static", dims={"x": (3, 2)})

# CHECK-LABEL: module @SparseStructuredAddSparseDenseVector.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: constraints: 2 == row_0, SpecifyShape: axis 0 at node 'operand of StructuredAddSparseDenseVector'
# CHECK-NEXT: a = reshape<3xf64>(values) : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 2], a) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3xf64>
# CHECK-NEXT: c = gather(b, [0, 1, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: d = gather(reshape<2xf64>(row), [1, 0, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: e = scatter(0, concatenate<1>([0, 1, 2], reshape<3x1xi32>([1, 0, 1])), add(a, select(NE(sqrt(convert<f32>(and(true, NE(c, 0)))), 0), d, 0))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return e : tensor<3x2xf64>
show([values, row], dense(math.structured_add_s_v(csr, row)), name="SparseStructuredAddSparseDenseVector.dynamic")

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

# CHECK-LABEL: module @SparseMultiplySparseDenseVector.static
# CHECK-NEXT: a = gather(row, [1, 0, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([0, 1, 2], reshape<3x1xi32>([1, 0, 1])), multiply([2, 3, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([row], dense(math.mul_s_v(constant, row)), name="SparseMultiplySparseDenseVector.static", dims={"row": (2,)})

# CHECK-LABEL: module @SparseEqualSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of EqualSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of EqualSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(EQ(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseNotEqualSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of NotEqualSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of NotEqualSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(NE(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseLessThanSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of LessThanSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of LessThanSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(LT(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseGreaterThanSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of GreaterThanSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of GreaterThanSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(GT(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseLessEqualSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of LessEqualSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of LessEqualSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(LE(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseGreaterEqualSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of GreaterEqualSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of GreaterEqualSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(GE(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseEqualSparseSparse.static
# CHECK-NEXT: a = gather(true, concatenate<1>([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<6xi1>
# CHECK-NEXT: return convert<ui8>(a), [0, 1, 0, 1, 0, 1], [0, 2, 4, 6], 2 : tensor<6xui8>, tensor<6xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseNotEqualSparseSparse.static
# CHECK-NEXT: return [], [], 0, 2 : tensor<0xui8>, tensor<0xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseLessThanSparseSparse.static
# CHECK-NEXT: return [], [], 0, 2 : tensor<0xui8>, tensor<0xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseGreaterThanSparseSparse.static
# CHECK-NEXT: return [], [], 0, 2 : tensor<0xui8>, tensor<0xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseLessEqualSparseSparse.static
# CHECK-NEXT: a = gather(true, concatenate<1>([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<6xi1>
# CHECK-NEXT: return convert<ui8>(a), [0, 1, 0, 1, 0, 1], [0, 2, 4, 6], 2 : tensor<6xui8>, tensor<6xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseGreaterEqualSparseSparse.static
# CHECK-NEXT: a = gather(true, concatenate<1>([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<6xi1>
# CHECK-NEXT: return convert<ui8>(a), [0, 1, 0, 1, 0, 1], [0, 2, 4, 6], 2 : tensor<6xui8>, tensor<6xi32>, tensor<4xi32>, tensor<i64>

COMPARISONS = {
    "Equal": math.eq,
    "NotEqual": math.neq,
    "LessThan": math.lt,
    "GreaterThan": math.gt,
    "LessEqual": math.le,
    "GreaterEqual": math.ge,
}
for name, compare in COMPARISONS.items():
    show([x], compare(constant, x), name=f"Sparse{name}SparseDense.dynamic")
for name, compare in COMPARISONS.items():
    show([], compare(constant, constant.T.T), name=f"Sparse{name}SparseSparse.static")

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

# CHECK-LABEL: module @SparseRowScaleCSC.static
# CHECK-NEXT: a = gather(column, [1, 0, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>(reshape<3x1xi32>([1, 0, 2]), [0, 1, 1]), multiply([3, 2, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([column], dense(ps.row_scale(csc_constant, column)), name="SparseRowScaleCSC.static", dims={"column": (3,)})

# CHECK-LABEL: module @SparseSpSum.static
# CHECK-NEXT: a = scatter(0, [1, 0, 1], values) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.sp_sum(csr, axis=0), name="SparseSpSum.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseDiag.static
# CHECK-NEXT: a = scatter(0, [0, 1, 1], select([false, true, false], values, 0)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.diag(ps.CSR(values, [1, 1, 0], [0, 1, 3], (2, 2))), name="SparseDiag.static", dims={"values": (3,)})
