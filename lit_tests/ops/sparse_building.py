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

# CHECK-LABEL: module @SparseCSM.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], dense(csr), name="SparseCSM.dynamic")

# CHECK-LABEL: module @SparseCSM.static.result
# CHECK-NEXT: return values, [1, 0, 1], [0, 1, 2, 3], 2 : tensor<3xf64>, tensor<3xi32>, tensor<4xi32>, tensor<i64>
show([values], csr, name="SparseCSM.static.result", dims={"values": (3,)})

# CHECK-LABEL: module @SparseCSM.dynamic.result
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: return reshape<3xf64>(values), [1, 0, 1], [0, 1, 2, 3], 2 : tensor<3xf64>, tensor<3xi32>, tensor<4xi32>, tensor<i64>
show([values], csr, name="SparseCSM.dynamic.result")

# CHECK-LABEL: module @SparseCSMProperties.static
# CHECK-NEXT: return multiply(values, 2), [1, 0, 1], [0, 1, 2, 3], [3, 2] : tensor<3xf64>, tensor<3xi32>, tensor<4xi32>, tensor<2xi32>
show([values], list(ps.csm_properties(csr * 2.0)), name="SparseCSMProperties.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseCSMProperties.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: return multiply(reshape<3xf64>(values), 2), [1, 0, 1], [0, 1, 2, 3], [3, 2] : tensor<3xf64>, tensor<3xi32>, tensor<4xi32>, tensor<2xi32>
show([values], list(ps.csm_properties(csr * 2.0)), name="SparseCSMProperties.dynamic")

# CHECK-LABEL: module @SparseCSMGrad.static
# CHECK-NEXT: return values : tensor<3xf64>
show(
    [values],
    CSMGrad()(values, *ps.csm_properties(csr)[1:], *ps.csm_properties(csr.T.T)),
    name="SparseCSMGrad.static",
    dims={"values": (3,)},
)

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

# CHECK-LABEL: module @SparseCast.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = scatter(0, concatenate<1>([0, 1, 2], [1, 0, 1]), convert<f32>(reshape<3xf64>(values))) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf32>
# CHECK-NEXT: return a : tensor<3x2xf32>
show([values], dense(csr.astype("float32")), name="SparseCast.dynamic")

# CHECK-LABEL: module @SparseDenseFromSparse.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([1, 0, 2], [0, 1, 1]), values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], dense(csc), name="SparseDenseFromSparse.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseDenseFromSparse.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csc'}"
# CHECK-NEXT: a = scatter(0, concatenate<1>([1, 0, 2], [0, 1, 1]), reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x2xf64>
# CHECK-NEXT: return a : tensor<3x2xf64>
show([values], dense(csc), name="SparseDenseFromSparse.dynamic")

# CHECK-LABEL: module @SparseSparseFromDense.static
# CHECK-NEXT: a = gather([0, 1, 2], concatenate<1>(0, [1, 2])) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<2xf64>
# CHECK-NEXT: return a, [1, 2], [0, 2], 3 : tensor<2xf64>, tensor<2xi32>, tensor<2xi32>, tensor<i64>
show([], ps.csr_from_dense(pt.constant([[0.0, 1.0, 2.0]])), name="SparseSparseFromDense.static")

# CHECK-LABEL: module @SparseSparseFromDense.dynamic
# CHECK-NEXT: counts: nonzero_0, x_0*x_1
# CHECK-NEXT: a = multiply(size<0>(x), size<1>(x)) : tensor<i64>
# CHECK-NEXT: b = NE(x, 0) : tensor<?x?xi1>
# CHECK-NEXT: c = reduce<[0, 1], add>(convert<i64>(b), 0) : tensor<i64>
# CHECK-NEXT: d = @hlograph.size(c) {hlograph.bound = "x_0*x_1", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: e = concatenate<0>(d, 1) : tensor<2xi64>
# CHECK-NEXT: f = dynamic_reshape<?xi1>(b, a) : tensor<?xi1>
# CHECK-NEXT: g = @stablehlo.dynamic_reduce_window(convert<i64>(f), 0, maximum(a, 1), 1, 1, 1, reshape<1x2xi64>(concatenate<0>(maximum(add(a, -1), 0), 0))) {called_computations = [@add_int64]} : tensor<?xi64>
# CHECK-NEXT: h = dynamic_iota<0, ?xi64>(a) : tensor<?xi64>
# CHECK-NEXT: i = scatter(0, dynamic_reshape<?x1xi64>(select(f, subtract(g, 1), subtract(add(h, c), g)), concatenate<0>(a, 1)), h) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<?xi64>
# CHECK-NEXT: j = real_dynamic_slice(i, 0, d, 1) : tensor<?xi64>
# CHECK-NEXT: k = divide(j, size<1>(x)) : tensor<?xi64>
# CHECK-NEXT: l = remainder(j, size<1>(x)) : tensor<?xi64>
# CHECK-NEXT: m = dynamic_gather(x, concatenate<1>(dynamic_reshape<?x1xi64>(k, e), dynamic_reshape<?x1xi64>(l, e)), concatenate<0>(minimum(size<0>(x), 1), minimum(size<1>(x), 1))) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
# CHECK-NEXT: n = pad(k, 0) {edge_padding_high = [1], edge_padding_low = [0], interior_padding = [0]} : tensor<?xi64>
# CHECK-NEXT: d1:3 = while<(p0, p1, p2) -> GT(p0, 0)>(d, 0, d) : tensor<i64>, tensor<?xi64>, tensor<?xi64>
# CHECK-NEXT: (p0, p1, p2) ->
# CHECK-NEXT: o = divide(add(p1, p2), 2) : tensor<?xi64>
# CHECK-NEXT: a1 = gather(n, o) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: b1 = LT(a1, dynamic_iota<0, ?xi64>(add(size<0>(x), 1))) : tensor<?xi1>
# CHECK-NEXT: c1 = LT(p1, p2) : tensor<?xi1>
# CHECK-NEXT: return (divide(p0, 2), select(and(c1, b1), add(o, 1), p1), select(or(not(c1), b1), p2, o))
# CHECK-NEXT: return m, convert<i32>(l), convert<i32>(d1#1), size<1>(x) : tensor<?xf64>, tensor<?xi32>, tensor<?xi32>, tensor<i64>
# CHECK-NEXT: @add_int64(tensor<i64>, tensor<i64>) -> tensor<i64>:
# CHECK-NEXT: return add(arg0, arg1) : tensor<i64>
show([x], ps.csr_from_dense(x), name="SparseSparseFromDense.dynamic")

# CHECK-LABEL: module @SparseTranspose.static
# CHECK-NEXT: a = scatter(0, concatenate<1>([1, 0, 1], [0, 1, 2]), values) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<2x3xf64>
# CHECK-NEXT: return a : tensor<2x3xf64>
show([values], dense(csr.T), name="SparseTranspose.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseTranspose.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = scatter(0, concatenate<1>([1, 0, 1], [0, 1, 2]), reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<2x3xf64>
# CHECK-NEXT: return a : tensor<2x3xf64>
show([values], dense(csr.T), name="SparseTranspose.dynamic")

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

# CHECK-LABEL: module @SparseConstructSparseFromList.dynamic
# CHECK-NEXT: checks: AssertionError, rows and their places
# CHECK-NEXT: checks: ValueError, indptr of a sparse matrix must start with 0, end with the number of values, and not decrease
# CHECK-NEXT: checks: ValueError, indices of a sparse matrix are out of range
# CHECK-NEXT: constraints: min(x_0, 2) == rows_0, Alloc, axis 1 at an unnamed Alloc node
# CHECK-NEXT: a = minimum(size<0>(x), 2) : tensor<i64>
# CHECK-NEXT: b = multiply(size<1>(x), a) : tensor<i64>
# CHECK-NEXT: c = concatenate<0>(b, 1) : tensor<2xi64>
# CHECK-NEXT: d = multiply(dynamic_iota<0, ?xi64>(add(size<1>(x), 1)), dynamic_broadcast_in_dim<[0], ?xi64>(a, add(size<1>(x), 1))) : tensor<?xi64>
# CHECK-NEXT: e = dynamic_reshape<?xi64>(dynamic_broadcast_in_dim<[1], ?x?xi64>(rows, concatenate<0>(size<1>(x), a)), b) : tensor<?xi64>
# CHECK-NEXT: f = real_dynamic_slice(d, 1, add(size<1>(x), 1), 1) : tensor<?xi64>
# CHECK-NEXT: g = and(GE(e, 0), LT(e, size<0>(x))) : tensor<?xi1>
# CHECK-NEXT: h = scatter(0, f, 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<?xi64>
# CHECK-NEXT: i = @stablehlo.dynamic_reduce_window(h, 0, maximum(b, 1), 1, 1, 1, reshape<1x2xi64>(concatenate<0>(maximum(add(b, -1), 0), 0))) {called_computations = [@add_int64]} : tensor<?xi64>
# CHECK-NEXT: j = scatter(0, concatenate<1>(dynamic_reshape<?x1xi64>(select(g, e, 0), c), dynamic_reshape<?x1xi64>(i, c)), dynamic_reshape<?xf64>(transpose<[1, 0]>(real_dynamic_slice(x, 0, concatenate<0>(a, size<1>(x)), 1)), b)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<?x?xf64>
# CHECK-NEXT: return j, concatenate<0>(true, and(and(EQ(slice<0:1:1>(d), 0), EQ(dynamic_slice<[1]>(d, size<1>(x)), b)), reduce<[0], and>(LE(real_dynamic_slice(d, 0, size<1>(x), 1), f), true)), reduce<[0], and>(g, true)) : tensor<?x?xf64>, tensor<3xi1>
# CHECK-NEXT: @add_int64(tensor<i64>, tensor<i64>) -> tensor<i64>:
# CHECK-NEXT: return add(arg0, arg1) : tensor<i64>
show([x, rows], dense(ps.construct_sparse_from_list(x, x[:2], rows)), name="SparseConstructSparseFromList.dynamic")

# CHECK-LABEL: module @SparseEnsureSortedIndices.static
# CHECK-NEXT: a = gather(values, [1, 0, 2]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
# CHECK-NEXT: return a, [0, 1, 1], [0, 2, 3], 2 : tensor<3xf64>, tensor<3xi32>, tensor<3xi32>, tensor<i64>
show(
    [values],
    basic.ensure_sorted_indices(ps.CSR(values, [1, 0, 1], [0, 2, 3], (2, 2))),
    name="SparseEnsureSortedIndices.static",
    dims={"values": (3,)},
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

# CHECK-LABEL: module @SparseRemove0.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: counts: nonzero_0, 3
# CHECK-NEXT: a = reshape<3xf64>(values) : tensor<3xf64>
# CHECK-NEXT: b = NE(a, 0) : tensor<3xi1>
# CHECK-NEXT: c = convert<i64>(b) : tensor<3xi64>
# CHECK-NEXT: d = reduce<[0], add>(c, 0) : tensor<i64>
# CHECK-NEXT: e = @hlograph.size(d) {hlograph.bound = "3", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: f = reduce_window(c, 0) {padding = [2, 0], window_dimensions = [3], add} : tensor<3xi64>
# CHECK-NEXT: g = iota<0, 3xi64>() : tensor<3xi64>
# CHECK-NEXT: h = scatter(0, reshape<3x1xi64>(select(b, subtract(f, 1), subtract(add(g, d), f))), g) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<3xi64>
# CHECK-NEXT: i = real_dynamic_slice(h, 0, e, 1) : tensor<?xi64>
# CHECK-NEXT: j = gather(a, i) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
# CHECK-NEXT: k = gather([1, 0, 1], i) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi32>
# CHECK-NEXT: l = gather([0, 1, 2], i) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi32>
# CHECK-NEXT: m = pad(convert<i64>(l), 0) {edge_padding_high = [1], edge_padding_low = [0], interior_padding = [0]} : tensor<?xi64>
# CHECK-NEXT: c1:3 = while<(p0, p1, p2) -> GT(p0, 0)>(e, 0, e) : tensor<i64>, tensor<4xi64>, tensor<4xi64>
# CHECK-NEXT: (p0, p1, p2) ->
# CHECK-NEXT: n = divide(add(p1, p2), 2) : tensor<4xi64>
# CHECK-NEXT: o = gather(m, n) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<4xi64>
# CHECK-NEXT: a1 = LT(o, [0, 1, 2, 3]) : tensor<4xi1>
# CHECK-NEXT: b1 = LT(p1, p2) : tensor<4xi1>
# CHECK-NEXT: return (divide(p0, 2), select(and(b1, a1), add(n, 1), p1), select(or(not(b1), a1), p2, n))
# CHECK-NEXT: return j, k, convert<i32>(c1#1), 2 : tensor<?xf64>, tensor<?xi32>, tensor<4xi32>, tensor<i64>
show([values], basic.remove0(csr), name="SparseRemove0.dynamic")

# CHECK-LABEL: module @SparseHStack.static
# CHECK-NEXT: a = gather(concatenate<0>(values, [2, 3, 5]), [1, 0, 2, 4, 3, 5]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<6xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([1, 0, 2, 1, 0, 2], [0, 1, 1, 2, 3, 3]), a) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return b : tensor<3x4xf64>
show([values], dense(ps.hstack([csr, constant])), name="SparseHStack.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseHStack.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = gather(concatenate<0>(reshape<3xf64>(values), [2, 3, 5]), [1, 0, 2, 4, 3, 5]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<6xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([1, 0, 2, 1, 0, 2], [0, 1, 1, 2, 3, 3]), a) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<3x4xf64>
# CHECK-NEXT: return b : tensor<3x4xf64>
show([values], dense(ps.hstack([csr, constant])), name="SparseHStack.dynamic")

# CHECK-LABEL: module @SparseVStack.static
# CHECK-NEXT: a = gather(concatenate<0>(values, [2, 3, 5]), [1, 4, 0, 2, 3, 5]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<6xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([1, 4, 0, 2, 3, 5], [0, 0, 1, 1, 1, 1]), a) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<6x2xf64>
# CHECK-NEXT: return b : tensor<6x2xf64>
show([values], dense(ps.vstack([csr, constant])), name="SparseVStack.static", dims={"values": (3,)})

# CHECK-LABEL: module @SparseVStack.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = gather(concatenate<0>(reshape<3xf64>(values), [2, 3, 5]), [1, 4, 0, 2, 3, 5]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<6xf64>
# CHECK-NEXT: b = scatter(0, concatenate<1>([1, 4, 0, 2, 3, 5], [0, 0, 1, 1, 1, 1]), a) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<6x2xf64>
# CHECK-NEXT: return b : tensor<6x2xf64>
show([values], dense(ps.vstack([csr, constant])), name="SparseVStack.dynamic")

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

# CHECK-LABEL: module @SparseSparseBlockDiagonal.dynamic
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = multiply(size<0>(x), size<1>(x)) : tensor<i64>
# CHECK-NEXT: b = concatenate<0>(add(a, 3), 1) : tensor<2xi64>
# CHECK-NEXT: c = dynamic_iota<0, ?xi64>(a) : tensor<?xi64>
# CHECK-NEXT: d = dynamic_broadcast_in_dim<[0], ?xi64>(maximum(size<1>(x), 1), a) : tensor<?xi64>
# CHECK-NEXT: e = EQ(d, 0) : tensor<?xi1>
# CHECK-NEXT: f = select(e, 1, d) : tensor<?xi64>
# CHECK-NEXT: g = remainder(c, f) : tensor<?xi64>
# CHECK-NEXT: h = and(NE(g, 0), NE(LT(g, 0), LT(f, 0))) : tensor<?xi1>
# CHECK-NEXT: i = concatenate<0>([1, 0, 1], add(select(h, add(g, f), g), 2)) : tensor<?xi64>
# CHECK-NEXT: j:2 = sort(i, dynamic_iota<0, ?xi64>(add(a, 3))) {dimension = 0, is_stable = true, (p0, p1, p2, p3) -> LT(p0, p1)} : tensor<?xi64>, tensor<?xi64>
# CHECK-NEXT: k = gather(concatenate<0>(reshape<3xf64>(values), dynamic_reshape<?xf64>(x, a)), j#1) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
# CHECK-NEXT: l = divide(c, f) : tensor<?xi64>
# CHECK-NEXT: m = gather(concatenate<0>([0, 1, 2], add(select(e, 0, select(h, subtract(l, 1), l)), 3)), j#1) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: n = gather(i, j#1) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xi64>
# CHECK-NEXT: o = scatter(0, concatenate<1>(dynamic_reshape<?x1xi64>(m, b), dynamic_reshape<?x1xi64>(n, b)), k) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, add} : tensor<?x?xf64>
# CHECK-NEXT: return o : tensor<?x?xf64>
show([values, x], dense(block_diag(csr, x)), name="SparseSparseBlockDiagonal.dynamic")
