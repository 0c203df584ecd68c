# RUN: %python %s | filecheck %s
"""Indices that come with a value each: by arithmetic, or one gather or scatter of elements."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.basic import permute_row_elements

x, table, i, j = pt.dvector("x"), pt.dmatrix("table"), pt.lvector("i"), pt.lvector("j")

# CHECK-LABEL: module @UnravelIndex.dynamic
# CHECK-NEXT: checks: ValueError, index is out of bounds for the array at an unnamed UnravelIndex node
# CHECK-NEXT: return remainder(i, 3), divide(i, 3), reduce<[0], and>(and(GE(i, 0), LT(i, 12)), true) : tensor<?xi64>, tensor<?xi64>, tensor<1xi1>
show([i], [*pt.unravel_index(i, (3, 4), order="F")], name="UnravelIndex.dynamic")

# CHECK-LABEL: module @RavelMultiIndex.static
# CHECK-NEXT: checks: ValueError, invalid entry in coordinates array at an unnamed RavelMultiIndex node
# CHECK-NEXT: checks: ValueError, invalid entry in coordinates array at an unnamed RavelMultiIndex node
# CHECK-NEXT: return add(multiply(i, 4), j), concatenate<0>(reduce<[0], and>(and(GE(i, 0), LT(i, 3)), true), reduce<[0], and>(and(GE(j, 0), LT(j, 4)), true)) : tensor<2xi64>, tensor<2xi1>
show([i, j], pt.ravel_multi_index([i, j], (3, 4)), name="RavelMultiIndex.static", dims={"i": (2,), "j": (2,)})

# CHECK-LABEL: module @RavelMultiIndex.dynamic.wrap
# CHECK-NEXT: constraints: i_0 == j_0, the indices of RavelMultiIndex, axis 0 at an unnamed RavelMultiIndex node
# CHECK-NEXT: a = remainder(i, 3) : tensor<?xi64>
# CHECK-NEXT: b = remainder(j, 4) : tensor<?xi64>
# CHECK-NEXT: return add(multiply(select(LT(a, 0), add(a, 3), a), 4), select(LT(b, 0), add(b, 4), b)) : tensor<?xi64>
show([i, j], pt.ravel_multi_index([i, j], (3, 4), mode="wrap"), name="RavelMultiIndex.dynamic.wrap")

# CHECK-LABEL: module @RavelMultiIndex.dynamic.clip
# CHECK-NEXT: constraints: i_0 == j_0, the indices of RavelMultiIndex, axis 0 at an unnamed RavelMultiIndex node
# CHECK-NEXT: return add(multiply(clamp(0, i, 2), 4), clamp(0, j, 3)) : tensor<?xi64>
show([i, j], pt.ravel_multi_index([i, j], (3, 4), mode="clip"), name="RavelMultiIndex.dynamic.clip")

# CHECK-LABEL: module @Choose.dynamic
# CHECK-NEXT: constraints: i_0 == table_1, Choose, axis 0 at an unnamed Choose node
# CHECK-NEXT: constraints: table_0 >= 1, the number of choices at an unnamed Choose node
# CHECK-NEXT: a = concatenate<0>(1, size<0>(i)) : tensor<2xi64>
# CHECK-NEXT: b = concatenate<0>(1, size<0>(i), 1) : tensor<3xi64>
# CHECK-NEXT: c = dynamic_gather(table, concatenate<2>(dynamic_reshape<1x?x1xi64>(dynamic_reshape<1x?xi64>(clamp(0, i, maximum(add(size<0>(table), -1), 0)), a), b), dynamic_reshape<1x?x1xi64>(dynamic_iota<1, 1x?xi64>(a), b)), concatenate<0>(minimum(size<0>(table), 1), minimum(size<0>(i), 1))) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2, indices_are_sorted = false} : tensor<1x?xf64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(c, size<0>(i)) : tensor<?xf64>
show([i, table], pt.choose(i, table, mode="clip"), name="Choose.dynamic")

# CHECK-LABEL: module @MakeList.dynamic
# CHECK-NEXT: constraints: i_0 == x_0, Choose, axis 0 at an unnamed Choose node
# CHECK-NEXT: a = concatenate<0>(1, size<0>(i)) : tensor<2xi64>
# CHECK-NEXT: b = concatenate<0>(1, size<0>(i), 1) : tensor<3xi64>
# CHECK-NEXT: c = dynamic_gather(concatenate<0>(dynamic_broadcast_in_dim<[1], 1x?xf64>(x, a), dynamic_broadcast_in_dim<[1], 1x?xf64>(negate(x), a)), concatenate<2>(dynamic_reshape<1x?x1xi64>(dynamic_reshape<1x?xi64>(clamp(0, i, 1), a), b), dynamic_reshape<1x?x1xi64>(dynamic_iota<1, 1x?xi64>(a), b)), concatenate<0>(1, minimum(size<0>(i), 1))) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2, indices_are_sorted = false} : tensor<1x?xf64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(c, size<0>(i)) : tensor<?xf64>
show([i, x], pt.choose(i, [x, -x], mode="clip"), name="MakeList.dynamic")

# CHECK-LABEL: module @PermuteRowElements.static
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 1 at an unnamed PermuteRowElements node
# CHECK-NEXT: a = broadcast_in_dim<[1], 2x3xi64>(i) : tensor<2x3xi64>
# CHECK-NEXT: b = select(LT(a, 0), add(a, 3), a) : tensor<2x3xi64>
# CHECK-NEXT: c = gather(table, concatenate<2>(reshape<2x3x1xi64>(iota<0, 2x3xi64>()), reshape<2x3x1xi64>(b))) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<2x3xf64>
# CHECK-NEXT: return c, reduce<[0, 1], and>(and(GE(b, 0), LT(b, 3)), true) : tensor<2x3xf64>, tensor<1xi1>
show([table, i], permute_row_elements(table, i), name="PermuteRowElements.static", dims={"table": (2, 3), "i": (3,)})

# CHECK-LABEL: module @PermuteRowElements.dynamic.inverse
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 1 at an unnamed PermuteRowElements node
# CHECK-NEXT: constraints: table_1 == i_0, PermuteRowElements, axis 1 at an unnamed PermuteRowElements node
# CHECK-NEXT: constraints: table_1 >= min(table_0*table_1, 1), index of axis 1 at an unnamed PermuteRowElements node
# CHECK-NEXT: a = concatenate<0>(size<0>(table), size<1>(table)) : tensor<2xi64>
# CHECK-NEXT: b = concatenate<0>(size<0>(table), size<1>(table), 1) : tensor<3xi64>
# CHECK-NEXT: c = dynamic_broadcast_in_dim<[1], ?x?xi64>(i, a) : tensor<?x?xi64>
# CHECK-NEXT: d = select(LT(c, 0), add(c, size<1>(table)), c) : tensor<?x?xi64>
# CHECK-NEXT: e = scatter(0, concatenate<2>(dynamic_reshape<?x?x1xi64>(dynamic_iota<0, ?x?xi64>(a), b), dynamic_reshape<?x?x1xi64>(d, b)), table) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2, unique_indices = false, (p0, p1) -> p1} : tensor<?x?xf64>
# CHECK-NEXT: return e, reduce<[0, 1], and>(and(GE(d, 0), LT(d, size<1>(table))), true) : tensor<?x?xf64>, tensor<1xi1>
show([table, i], permute_row_elements(table, i, inverse=True), name="PermuteRowElements.dynamic.inverse")
