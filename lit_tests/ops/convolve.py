# RUN: %python %s | filecheck %s
"""Convolutions: one `convolution` for a batch, with zeros around it as the mode and the sizes say; windows."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.signal import convolve1d, convolve2d

x, y, table, other, k = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("table"), pt.dmatrix("other"), pt.lscalar("k")

# CHECK-LABEL: module @Convolve1d.dynamic
# CHECK-NEXT: constraints: x_0 >= 1, size 0 of an operand of Convolve1d at an unnamed Blockwise node
# CHECK-NEXT: constraints: y_0 >= 1, size 0 of an operand of Convolve1d at an unnamed Blockwise node
# CHECK-NEXT: a = maximum(add(multiply(size<0>(x), -1), size<0>(y)), 0) : tensor<i64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(dynamic_reshape<1x?xf64>(dynamic_conv<1, [b, f, 0]x[o, i, 0]-[b, f, 0]>, 1, [HIGHEST, HIGHEST]>(dynamic_reshape<1x1x?xf64>(dynamic_reshape<1x?xf64>(x, concatenate<0>(1, size<0>(x))), concatenate<0>(1, 1, size<0>(x))), dynamic_reshape<1x1x?xf64>(reverse<[0]>(y), concatenate<0>(1, 1, size<0>(y))), reshape<1x2xi64>(concatenate<0>(a, a))), concatenate<0>(1, add(add(add(size<0>(x), multiply(size<0>(y), -1)), multiply(a, 2)), 1))), add(add(add(size<0>(x), multiply(size<0>(y), -1)), multiply(a, 2)), 1)) : tensor<?xf64>
show([x, y], convolve1d(x, y, mode="valid"), name="Convolve1d.dynamic")

# A kernel for each row: what each place of it sees, in one product.
# CHECK-LABEL: module @Convolve1d.static.batch
# CHECK-NEXT: a = gather(table, add(iota<0, 4x3xi64>(), iota<1, 4x3xi64>())) {offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2, indices_are_sorted = false, slice_sizes = [2, 1]} : tensor<2x4x3xf64>
# CHECK-NEXT: b = dot_general(a, reverse<[1]>(other)) {lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<2x4xf64>
# CHECK-NEXT: return b : tensor<2x4xf64>
show(
    [table, other],
    convolve1d(table, other, mode="valid"),
    name="Convolve1d.static.batch",
    dims={"table": (2, 6), "other": (2, 3)},
)

# CHECK-LABEL: module @Convolve2d.dynamic
# CHECK-NEXT: constraints: table_0 >= 1, size 0 of an operand of Convolve2d at an unnamed Blockwise node
# CHECK-NEXT: constraints: table_1 >= 1, size 1 of an operand of Convolve2d at an unnamed Blockwise node
# CHECK-NEXT: constraints: other_0 >= 1, size 0 of an operand of Convolve2d at an unnamed Blockwise node
# CHECK-NEXT: constraints: other_1 >= 1, size 1 of an operand of Convolve2d at an unnamed Blockwise node
# CHECK-NEXT: return dynamic_reshape<?x?xf64>(dynamic_reshape<1x?x?xf64>(dynamic_conv<1, [b, f, 0, 1]x[o, i, 0, 1]-[b, f, 0, 1]>, 1, [HIGHEST, HIGHEST]>(dynamic_reshape<1x1x?x?xf64>(dynamic_reshape<1x?x?xf64>(table, concatenate<0>(1, size<0>(table), size<1>(table))), concatenate<0>(1, 1, size<0>(table), size<1>(table))), dynamic_reshape<1x1x?x?xf64>(reverse<[0, 1]>(other), concatenate<0>(1, 1, size<0>(other), size<1>(other))), reshape<2x2xi64>(concatenate<0>(add(size<0>(other), -1), add(size<0>(other), -1), add(size<1>(other), -1), add(size<1>(other), -1)))), concatenate<0>(1, add(add(size<0>(other), size<0>(table)), -1), add(add(size<1>(other), size<1>(table)), -1))), concatenate<0>(add(add(size<0>(other), size<0>(table)), -1), add(add(size<1>(other), size<1>(table)), -1))) : tensor<?x?xf64>
show([table, other], convolve2d(table, other), name="Convolve2d.dynamic")

# CHECK-LABEL: module @Bartlett.dynamic
# CHECK-NEXT: a = convert<f64>(subtract<"max(k, 0) - 1">(maximum<"max(k, 0)">(k, 0), 1)) : tensor<f64>
# CHECK-NEXT: b = subtract(multiply(convert<f64>(dynamic_iota<0, ?xi64>(maximum(k, 0))), 2), a) : tensor<?xf64>
# CHECK-NEXT: c = divide(b, maximum(a, 1)) : tensor<?xf64>
# CHECK-NEXT: return select(LE(b, 0), add(c, 1), subtract(1, c)) : tensor<?xf64>
show([k], pt.bartlett(k), name="Bartlett.dynamic")
