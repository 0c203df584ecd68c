# RUN: %python %s | filecheck %s
"""Products of sparse matrices: rows, factors and scatters that add."""

import pytensor.sparse as ps
import pytensor.tensor as pt
from common import show
from pytensor.sparse.math import sdg_csr
from pytensor.sparse.rewriting import sd_csr
from sparse_inputs import constant, dense, places, values, x

W, v = ps.csr_matrix("W", dtype="float64"), pt.dvector("v")

# CHECK-LABEL: module @SparseDot.static
# CHECK-NEXT: a = gather(x, [1, 0, 1]) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 4]} : tensor<3x4xf64>
# CHECK-NEXT: b = scatter(0, [0, 1, 2], multiply(broadcast_in_dim<[0, 1], 3x4xf64>([2, 3, 5]), a)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return b : tensor<3x4xf64>
show([x], ps.dot(constant, x), name="SparseDot.static", dims={"x": (2, 4)})

# CHECK-LABEL: module @SparseDot.dynamic.argument
# CHECK-NEXT: checks: ValueError, indptr of a sparse matrix must start with 0, end with the number of values, and not decrease
# CHECK-NEXT: checks: ValueError, indices of a sparse matrix are out of range
# CHECK-NEXT: constraints: W_indptr_0 - 1 >= 0, size 0 of Alloc at an unnamed Alloc node
# CHECK-NEXT: constraints: W_columns == v_0, SpecifyShape: axis 0 at node 'operand of SparseDot'
# CHECK-NEXT: a = add(size<0>(W_indptr), -1) : tensor<i64>
# CHECK-NEXT: b = real_dynamic_slice(W_indptr, 1, size<0>(W_indptr), 1) : tensor<?xi32>
# CHECK-NEXT: c = and(GE(W_indices, 0), LT(W_indices, convert<i32>(size<0>(W_columns)))) : tensor<?xi1>
# CHECK-NEXT: d = scatter(0, b, 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<?xi32>
# CHECK-NEXT: e = @stablehlo.dynamic_reduce_window(d, 0, maximum(size<0>(W_data), 1), 1, 1, 1, reshape<1x2xi64>(concatenate<0>(maximum(add(size<0>(W_data), -1), 0), 0))) {called_computations = [@add_int32]} : tensor<?xi32>
# CHECK-NEXT: f = dynamic_gather(v, select(c, W_indices, 0), minimum(size<0>(W_columns), 1)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
# CHECK-NEXT: g = scatter(0, dynamic_reshape<?x1xi32>(e, concatenate<0>(size<0>(W_data), 1)), multiply(W_data, f)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<?xf64>
# CHECK-NEXT: return g, concatenate<0>(and(and(EQ(slice<0:1:1>(W_indptr), 0), EQ(dynamic_slice<[1]>(W_indptr, a), convert<i32>(size<0>(W_data)))), reduce<[0], and>(LE(real_dynamic_slice(W_indptr, 0, a, 1), b), true)), reduce<[0], and>(c, true)) : tensor<?xf64>, tensor<2xi1>
# CHECK-NEXT: @add_int32(tensor<i32>, tensor<i32>) -> tensor<i32>:
# CHECK-NEXT: return add(arg0, arg1) : tensor<i32>
show([W, v], ps.dot(W, v), name="SparseDot.dynamic.argument")

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
# CHECK-NEXT: e = scatter(0, reshape<3x1xi32>(c), multiply(broadcast_in_dim<[0], 3x4xf64>(values), d)) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return e, concatenate<0>(and(true, reduce<[0], and>(LE([0, 1, 2], [1, 2, 3]), true)), reduce<[0], and>(a, true)) : tensor<3x4xf64>, tensor<2xi1>
show([values, x], sd_csr(values, *places, x), name="SparseStructuredDotCSR.static", dims={"values": (3,), "x": (2, 4)})
