# RUN: %python %s | filecheck %s
"""Rows, blocks and elements of sparse matrices."""

import pytensor.sparse.basic as basic
import pytensor.tensor as pt
from common import show
from sparse_inputs import csr, dense, values

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
# CHECK-NEXT: constraints: 3 == values_0, SpecifyShape: axis 0 at node "operand of CSM{format='csr'}"
# CHECK-NEXT: a = scatter(0, [0, 1, 2], reshape<3xf64>(values)) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<3xf64>
# CHECK-NEXT: b = gather(concatenate<0>(a, 0), [2, 0]) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<2xf64>
# CHECK-NEXT: return select([true, false], b, broadcast_in_dim<[0], 2xf64>(0)) : tensor<2xf64>
show([values], basic.get_item_2lists(csr, index, pt.constant([1, 0])), name="SparseGetItem2Lists.dynamic")
