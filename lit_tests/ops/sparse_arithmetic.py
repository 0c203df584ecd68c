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

# CHECK-LABEL: module @SparseAddSparseSparse.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: counts: nonzero_0, 6
# CHECK-NEXT: a = scatter(0, [0, 1, 2], reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<6xf64>
# CHECK-NEXT: b = add(a, a) : tensor<6xf64>
# CHECK-NEXT: c = NE(b, 0) : tensor<6xi1>
# CHECK-NEXT: d = convert<i64>(c) : tensor<6xi64>
# CHECK-NEXT: e = reduce<[0], add>(d, 0) : tensor<i64>
# CHECK-NEXT: f = @hlograph.size(e) {hlograph.bound = "6", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: g = concatenate<0>(f, 1) : tensor<2xi64>
# CHECK-NEXT: h = reduce_window(d, 0) {padding = [5, 0], window_dimensions = [6], add} : tensor<6xi64>
# CHECK-NEXT: i = iota<0, 6xi64>() : tensor<6xi64>
# CHECK-NEXT: j = scatter(0, reshape<6x1xi64>(select(c, subtract(h, 1), subtract(add(i, e), h))), i) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<6xi64>
# CHECK-NEXT: k = real_dynamic_slice(j, 0, f, 1) : tensor<?xi64>
# CHECK-NEXT: l = gather(b, k) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
# CHECK-NEXT: m = gather([3, 4, 5, 0, 0, 0], k) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: n = gather([0, 1, 2, 0, 1, 2], m) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: o = gather([1, 0, 1, 1, 0, 1], m) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: a1 = scatter(0, concatenate<1>(dynamic_reshape<?x1xi64>(n, g), dynamic_reshape<?x1xi64>(o, g)), l) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a1 : tensor<3x2xf64>
show([values], dense(csr + csr.T.T), name="SparseAddSparseSparse.dynamic")

# CHECK-LABEL: module @SparseAddSparseSparseData.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), add(values, [2, 3, 5])) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], dense(math.add_s_s_data(csr, constant)), name="SparseAddSparseSparseData.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseAddSparseSparseData.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), add(reshape<3xf64>(values), [2, 3, 5])) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], dense(math.add_s_s_data(csr, constant)), name="SparseAddSparseSparseData.dynamic")

# CHECK-LABEL: module @SparseAddSparseDense.static
# CHECK-NEXT: a = scatter(x, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([x], ps.add(constant, x), name="SparseAddSparseDense.static", dims={"x": (3, 2)})

# CHECK-LABEL: module @SparseAddSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of AddSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of AddSparseDense'
# CHECK-NEXT: a = scatter(reshape<3x2xf64>(x), concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([x], ps.add(constant, x), name="SparseAddSparseDense.dynamic")

# CHECK-LABEL: module @SparseStructuredAddSparseDenseVector.static
# CHECK-NEXT: a = scatter(0, [0, 1, 2], values) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3xf64>
# CHECK-NEXT: b = gather(a, [0, 1, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: c = gather(row, [1, 0, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: d = scatter(0, concatenate<1>([0, 1, 2], reshape<3x1xi32>([1, 0, 1])), add(values, select(NE(sqrt(convert<f32>(and(true, NE(b, 0)))), 0), c, 0))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return d : tensor<3x2xf64>
show(
    [values, row],
    dense(math.structured_add_s_v(csr, row)),
    name="SparseStructuredAddSparseDenseVector.static",
    dims={"values": (3,), "row": (2,)},
)

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

# CHECK-LABEL: module @SparseMultiplySparseSparse.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: counts: nonzero_0, 6
# CHECK-NEXT: a = scatter(0, [0, 1, 2], reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<6xf64>
# CHECK-NEXT: b = multiply(a, a) : tensor<6xf64>
# CHECK-NEXT: c = NE(b, 0) : tensor<6xi1>
# CHECK-NEXT: d = convert<i64>(c) : tensor<6xi64>
# CHECK-NEXT: e = reduce<[0], add>(d, 0) : tensor<i64>
# CHECK-NEXT: f = @hlograph.size(e) {hlograph.bound = "6", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: g = concatenate<0>(f, 1) : tensor<2xi64>
# CHECK-NEXT: h = reduce_window(d, 0) {padding = [5, 0], window_dimensions = [6], add} : tensor<6xi64>
# CHECK-NEXT: i = iota<0, 6xi64>() : tensor<6xi64>
# CHECK-NEXT: j = scatter(0, reshape<6x1xi64>(select(c, subtract(h, 1), subtract(add(i, e), h))), i) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<6xi64>
# CHECK-NEXT: k = real_dynamic_slice(j, 0, f, 1) : tensor<?xi64>
# CHECK-NEXT: l = gather(b, k) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
# CHECK-NEXT: m = gather([3, 4, 5, 0, 0, 0], k) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: n = gather([0, 1, 2, 0, 1, 2], m) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: o = gather([1, 0, 1, 1, 0, 1], m) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: a1 = scatter(0, concatenate<1>(dynamic_reshape<?x1xi64>(n, g), dynamic_reshape<?x1xi64>(o, g)), l) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a1 : tensor<3x2xf64>
show([values], dense(csr * csr.T.T), name="SparseMultiplySparseSparse.dynamic")

# CHECK-LABEL: module @SparseMultiplySparseDense.static
# CHECK-NEXT: a = concatenate<1>([0, 1, 2], [1, 0, 1]) : tensor<3x2xi32>
# CHECK-NEXT: b = gather(x, a) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<3xf64>
# CHECK-NEXT: c = scatter(0, a, multiply([2, 3, 5], b)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return c : tensor<3x2xf64>
show([x], dense(ps.multiply(constant, x)), name="SparseMultiplySparseDense.static", dims={"x": (3, 2)})

# CHECK-LABEL: module @SparseMultiplySparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of MultiplySparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of MultiplySparseDense'
# CHECK-NEXT: a = concatenate<1>([0, 1, 2], [1, 0, 1]) : tensor<3x2xi32>
# CHECK-NEXT: b = gather(reshape<3x2xf64>(x), a) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<3xf64>
# CHECK-NEXT: c = scatter(0, a, multiply([2, 3, 5], b)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return c : tensor<3x2xf64>
show([x], dense(ps.multiply(constant, x)), name="SparseMultiplySparseDense.dynamic")

# CHECK-LABEL: module @SparseMultiplySparseDenseVector.static
# CHECK-NEXT: a = gather(row, [1, 0, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([0, 1, 2], reshape<3x1xi32>([1, 0, 1])), multiply([2, 3, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([row], dense(math.mul_s_v(constant, row)), name="SparseMultiplySparseDenseVector.static", dims={"row": (2,)})

# CHECK-LABEL: module @SparseMultiplySparseDenseVector.dynamic
# CHECK-NEXT: constraints: 2 == row_0, SpecifyShape: axis 0 at node 'operand of MultiplySparseDenseVector'
# CHECK-NEXT: a = gather(reshape<2xf64>(row), [1, 0, 1]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([0, 1, 2], reshape<3x1xi32>([1, 0, 1])), multiply([2, 3, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([row], dense(math.mul_s_v(constant, row)), name="SparseMultiplySparseDenseVector.dynamic")

# CHECK-LABEL: module @SparseEqualSparseDense.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(EQ(a, x)) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseEqualSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of EqualSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of EqualSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(EQ(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseNotEqualSparseDense.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(NE(a, x)) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseNotEqualSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of NotEqualSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of NotEqualSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(NE(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseLessThanSparseDense.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(LT(a, x)) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseLessThanSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of LessThanSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of LessThanSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(LT(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseGreaterThanSparseDense.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(GT(a, x)) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseGreaterThanSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of GreaterThanSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of GreaterThanSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(GT(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseLessEqualSparseDense.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(LE(a, x)) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseLessEqualSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of LessEqualSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of LessEqualSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(LE(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseGreaterEqualSparseDense.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(GE(a, x)) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseGreaterEqualSparseDense.dynamic
# CHECK-NEXT: constraints: 3 == x_0, SpecifyShape: axis 0 at node 'operand of GreaterEqualSparseDense'
# CHECK-NEXT: constraints: 2 == x_1, SpecifyShape: axis 1 at node 'operand of GreaterEqualSparseDense'
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), [2, 3, 5]) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return convert<ui8>(GE(a, reshape<3x2xf64>(x))) : tensor<3x2xui8>

# CHECK-LABEL: module @SparseEqualSparseSparse.static
# CHECK-NEXT: a = gather(true, concatenate<1>([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<6xi1>
# CHECK-NEXT: return convert<ui8>(a), [0, 1, 0, 1, 0, 1], [0, 2, 4, 6], 2 : tensor<6xui8>, tensor<6xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseEqualSparseSparse.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: counts: nonzero_0, 6
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: b = not(NE(a, a)) : tensor<3x2xi1>
# CHECK-NEXT: c = reduce<[0, 1], add>(convert<i64>(b), 0) : tensor<i64>
# CHECK-NEXT: d = @hlograph.size(c) {hlograph.bound = "6", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: e = concatenate<0>(d, 1) : tensor<2xi64>
# CHECK-NEXT: f = reshape<6xi1>(b) : tensor<6xi1>
# CHECK-NEXT: g = reduce_window(convert<i64>(f), 0) {padding = [5, 0], window_dimensions = [6], add} : tensor<6xi64>
# CHECK-NEXT: h = iota<0, 6xi64>() : tensor<6xi64>
# CHECK-NEXT: i = scatter(0, reshape<6x1xi64>(select(f, subtract(g, 1), subtract(add(h, c), g))), h) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<6xi64>
# CHECK-NEXT: j = real_dynamic_slice(i, 0, d, 1) : tensor<?xi64>
# CHECK-NEXT: k = concatenate<1>(dynamic_reshape<?x1xi64>(divide(j, 2), e), dynamic_reshape<?x1xi64>(remainder(j, 2), e)) : tensor<?x2xi64>
# CHECK-NEXT: l = gather(b, k) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<?xi1>
# CHECK-NEXT: m = scatter(0, k, convert<f64>(convert<ui8>(l))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return m : tensor<3x2xf64>

# CHECK-LABEL: module @SparseNotEqualSparseSparse.static
# CHECK-NEXT: return [], [], 0, 2 : tensor<0xui8>, tensor<0xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseNotEqualSparseSparse.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: counts: nonzero_0, 6
# CHECK-NEXT: a = scatter(0, [0, 1, 2], reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<6xf64>
# CHECK-NEXT: b = NE(a, a) : tensor<6xi1>
# CHECK-NEXT: c = convert<i64>(b) : tensor<6xi64>
# CHECK-NEXT: d = reduce<[0], add>(c, 0) : tensor<i64>
# CHECK-NEXT: e = @hlograph.size(d) {hlograph.bound = "6", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: f = concatenate<0>(e, 1) : tensor<2xi64>
# CHECK-NEXT: g = reduce_window(c, 0) {padding = [5, 0], window_dimensions = [6], add} : tensor<6xi64>
# CHECK-NEXT: h = iota<0, 6xi64>() : tensor<6xi64>
# CHECK-NEXT: i = scatter(0, reshape<6x1xi64>(select(b, subtract(g, 1), subtract(add(h, d), g))), h) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<6xi64>
# CHECK-NEXT: j = real_dynamic_slice(i, 0, e, 1) : tensor<?xi64>
# CHECK-NEXT: k = gather(b, j) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi1>
# CHECK-NEXT: l = gather([3, 4, 5, 0, 0, 0], j) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: m = gather([0, 1, 2, 0, 1, 2], l) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: n = gather([1, 0, 1, 1, 0, 1], l) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: o = scatter(0, concatenate<1>(dynamic_reshape<?x1xi64>(m, f), dynamic_reshape<?x1xi64>(n, f)), convert<f64>(convert<ui8>(k))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return o : tensor<3x2xf64>

# CHECK-LABEL: module @SparseLessThanSparseSparse.static
# CHECK-NEXT: return [], [], 0, 2 : tensor<0xui8>, tensor<0xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseLessThanSparseSparse.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: counts: nonzero_0, 6
# CHECK-NEXT: a = scatter(0, [0, 1, 2], reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<6xf64>
# CHECK-NEXT: b = LT(a, a) : tensor<6xi1>
# CHECK-NEXT: c = convert<i64>(b) : tensor<6xi64>
# CHECK-NEXT: d = reduce<[0], add>(c, 0) : tensor<i64>
# CHECK-NEXT: e = @hlograph.size(d) {hlograph.bound = "6", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: f = concatenate<0>(e, 1) : tensor<2xi64>
# CHECK-NEXT: g = reduce_window(c, 0) {padding = [5, 0], window_dimensions = [6], add} : tensor<6xi64>
# CHECK-NEXT: h = iota<0, 6xi64>() : tensor<6xi64>
# CHECK-NEXT: i = scatter(0, reshape<6x1xi64>(select(b, subtract(g, 1), subtract(add(h, d), g))), h) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<6xi64>
# CHECK-NEXT: j = real_dynamic_slice(i, 0, e, 1) : tensor<?xi64>
# CHECK-NEXT: k = gather(b, j) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi1>
# CHECK-NEXT: l = gather([3, 4, 5, 0, 0, 0], j) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: m = gather([0, 1, 2, 0, 1, 2], l) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: n = gather([1, 0, 1, 1, 0, 1], l) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: o = scatter(0, concatenate<1>(dynamic_reshape<?x1xi64>(m, f), dynamic_reshape<?x1xi64>(n, f)), convert<f64>(convert<ui8>(k))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return o : tensor<3x2xf64>

# CHECK-LABEL: module @SparseGreaterThanSparseSparse.static
# CHECK-NEXT: return [], [], 0, 2 : tensor<0xui8>, tensor<0xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseGreaterThanSparseSparse.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: counts: nonzero_0, 6
# CHECK-NEXT: a = scatter(0, [0, 1, 2], reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<6xf64>
# CHECK-NEXT: b = GT(a, a) : tensor<6xi1>
# CHECK-NEXT: c = convert<i64>(b) : tensor<6xi64>
# CHECK-NEXT: d = reduce<[0], add>(c, 0) : tensor<i64>
# CHECK-NEXT: e = @hlograph.size(d) {hlograph.bound = "6", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: f = concatenate<0>(e, 1) : tensor<2xi64>
# CHECK-NEXT: g = reduce_window(c, 0) {padding = [5, 0], window_dimensions = [6], add} : tensor<6xi64>
# CHECK-NEXT: h = iota<0, 6xi64>() : tensor<6xi64>
# CHECK-NEXT: i = scatter(0, reshape<6x1xi64>(select(b, subtract(g, 1), subtract(add(h, d), g))), h) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<6xi64>
# CHECK-NEXT: j = real_dynamic_slice(i, 0, e, 1) : tensor<?xi64>
# CHECK-NEXT: k = gather(b, j) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi1>
# CHECK-NEXT: l = gather([3, 4, 5, 0, 0, 0], j) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: m = gather([0, 1, 2, 0, 1, 2], l) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: n = gather([1, 0, 1, 1, 0, 1], l) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: o = scatter(0, concatenate<1>(dynamic_reshape<?x1xi64>(m, f), dynamic_reshape<?x1xi64>(n, f)), convert<f64>(convert<ui8>(k))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return o : tensor<3x2xf64>

# CHECK-LABEL: module @SparseLessEqualSparseSparse.static
# CHECK-NEXT: a = gather(true, concatenate<1>([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<6xi1>
# CHECK-NEXT: return convert<ui8>(a), [0, 1, 0, 1, 0, 1], [0, 2, 4, 6], 2 : tensor<6xui8>, tensor<6xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseLessEqualSparseSparse.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: counts: nonzero_0, 6
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: b = not(GT(a, a)) : tensor<3x2xi1>
# CHECK-NEXT: c = reduce<[0, 1], add>(convert<i64>(b), 0) : tensor<i64>
# CHECK-NEXT: d = @hlograph.size(c) {hlograph.bound = "6", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: e = concatenate<0>(d, 1) : tensor<2xi64>
# CHECK-NEXT: f = reshape<6xi1>(b) : tensor<6xi1>
# CHECK-NEXT: g = reduce_window(convert<i64>(f), 0) {padding = [5, 0], window_dimensions = [6], add} : tensor<6xi64>
# CHECK-NEXT: h = iota<0, 6xi64>() : tensor<6xi64>
# CHECK-NEXT: i = scatter(0, reshape<6x1xi64>(select(f, subtract(g, 1), subtract(add(h, c), g))), h) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<6xi64>
# CHECK-NEXT: j = real_dynamic_slice(i, 0, d, 1) : tensor<?xi64>
# CHECK-NEXT: k = concatenate<1>(dynamic_reshape<?x1xi64>(divide(j, 2), e), dynamic_reshape<?x1xi64>(remainder(j, 2), e)) : tensor<?x2xi64>
# CHECK-NEXT: l = gather(b, k) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<?xi1>
# CHECK-NEXT: m = scatter(0, k, convert<f64>(convert<ui8>(l))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return m : tensor<3x2xf64>

# CHECK-LABEL: module @SparseGreaterEqualSparseSparse.static
# CHECK-NEXT: a = gather(true, concatenate<1>([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<6xi1>
# CHECK-NEXT: return convert<ui8>(a), [0, 1, 0, 1, 0, 1], [0, 2, 4, 6], 2 : tensor<6xui8>, tensor<6xi32>, tensor<4xi32>, tensor<i64>

# CHECK-LABEL: module @SparseGreaterEqualSparseSparse.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: counts: nonzero_0, 6
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: b = not(LT(a, a)) : tensor<3x2xi1>
# CHECK-NEXT: c = reduce<[0, 1], add>(convert<i64>(b), 0) : tensor<i64>
# CHECK-NEXT: d = @hlograph.size(c) {hlograph.bound = "6", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: e = concatenate<0>(d, 1) : tensor<2xi64>
# CHECK-NEXT: f = reshape<6xi1>(b) : tensor<6xi1>
# CHECK-NEXT: g = reduce_window(convert<i64>(f), 0) {padding = [5, 0], window_dimensions = [6], add} : tensor<6xi64>
# CHECK-NEXT: h = iota<0, 6xi64>() : tensor<6xi64>
# CHECK-NEXT: i = scatter(0, reshape<6x1xi64>(select(f, subtract(g, 1), subtract(add(h, c), g))), h) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<6xi64>
# CHECK-NEXT: j = real_dynamic_slice(i, 0, d, 1) : tensor<?xi64>
# CHECK-NEXT: k = concatenate<1>(dynamic_reshape<?x1xi64>(divide(j, 2), e), dynamic_reshape<?x1xi64>(remainder(j, 2), e)) : tensor<?x2xi64>
# CHECK-NEXT: l = gather(b, k) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<?xi1>
# CHECK-NEXT: m = scatter(0, k, convert<f64>(convert<ui8>(l))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return m : tensor<3x2xf64>

COMPARISONS = {
    "Equal": math.eq,
    "NotEqual": math.neq,
    "LessThan": math.lt,
    "GreaterThan": math.gt,
    "LessEqual": math.le,
    "GreaterEqual": math.ge,
}
for name, compare in COMPARISONS.items():
    show([x], compare(constant, x), name=f"Sparse{name}SparseDense.static", dims={"x": (3, 2)})
    show([x], compare(constant, x), name=f"Sparse{name}SparseDense.dynamic")
for name, compare in COMPARISONS.items():
    show([], compare(constant, constant.T.T), name=f"Sparse{name}SparseSparse.static")
    show([values], dense(compare(csr, csr.T.T).astype("float64")), name=f"Sparse{name}SparseSparse.dynamic")

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

# CHECK-LABEL: module @SparseRowScaleCSC.dynamic
# CHECK-NEXT: constraints: 3 == column_0, SpecifyShape: axis 0 at node 'operand of RowScaleCSC'
# CHECK-NEXT: a = gather(reshape<3xf64>(column), [1, 0, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>(reshape<3x1xi32>([1, 0, 2]), [0, 1, 1]), multiply([3, 2, 5], a)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return b : tensor<3x2xf64>
show([column], dense(ps.row_scale(csc_constant, column)), name="SparseRowScaleCSC.dynamic")

# CHECK-LABEL: module @SparseSpSum.static
# CHECK-NEXT: a = scatter(0, [1, 0, 1], values) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.sp_sum(csr, axis=0), name="SparseSpSum.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseSpSum.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = scatter(0, [1, 0, 1], reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.sp_sum(csr, axis=0), name="SparseSpSum.dynamic")

# CHECK-LABEL: module @SparseDiag.static
# CHECK-NEXT: a = scatter(0, [0, 1, 1], select([false, true, false], values, 0)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.diag(ps.CSR(values, [1, 1, 0], [0, 1, 3], (2, 2))), name="SparseDiag.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseDiag.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = scatter(0, [0, 1, 1], select([false, true, false], reshape<3xf64>(values), 0)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<2xf64>
# CHECK-NEXT: return a : tensor<2xf64>
show([values], ps.diag(ps.CSR(values, [1, 1, 0], [0, 1, 3], (2, 2))), name="SparseDiag.dynamic")
