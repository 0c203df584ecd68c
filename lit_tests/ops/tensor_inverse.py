# RUN: %python %s | filecheck %s
"""TensorInv and TensorSolve: solves between reshapes."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.inverse import TensorInv
from pytensor.tensor.linalg.solvers.lstsq import TensorSolve

a, b = pt.dtensor3("a"), pt.dvector("b")
x = pt.dtensor4("x")
y = pt.dmatrix("y")

# CHECK-LABEL: module @TensorSolve.dynamic
# CHECK: c:2 = @lu_float64(dynamic_reshape<?x?xf64>(x, concatenate<0>(a, a))) : tensor<?x?xf64>, tensor<?xi32>
# CHECK: e = triangular_solve(c#0, d) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = true} : tensor<?x1xf64>
# CHECK-NEXT: f = triangular_solve(c#0, e) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x1xf64>
# CHECK-NEXT: return dynamic_reshape<?x?xf64>(select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(c#0, multiply(multiply(multiply(size<0>(x), size<0>(x)), size<1>(x)), size<1>(x))), 0, multiply(multiply(multiply(size<0>(x), size<0>(x)), size<1>(x)), size<1>(x)), add(a, 1)), 0), false), nan, f), concatenate<0>(size<2>(x), size<3>(x))) : tensor<?x?xf64>
# CHECK: @lu_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu":
show([x, y], TensorSolve()(x, y), name="TensorSolve.dynamic", dims={"x": ("m", "n", "k", "l"), "y": ("m", "n")})

# CHECK-LABEL: module @TensorInv.dynamic
# CHECK-NEXT: constraints: a_0 == m*n, tensorinv at an unnamed TensorInv node
# CHECK-NEXT: b = multiply(size<1>(a), size<2>(a)) : tensor<i64>
# CHECK-NEXT: c = concatenate<0>(b, b) : tensor<2xi64>
# CHECK-NEXT: d:2 = @lu_float64(dynamic_reshape<?x?xf64>(a, c)) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: e = dynamic_gather(convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x?xi64>(c), dynamic_iota<1, ?x?xi64>(c)))), dynamic_reshape<?x1xi32>(d#1, concatenate<0>(b, 1)), concatenate<0>(minimum(b, 1), b)) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x?xf64>
# CHECK-NEXT: f = triangular_solve(d#0, e) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = true} : tensor<?x?xf64>
# CHECK-NEXT: g = triangular_solve(d#0, f) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x?xf64>
# CHECK-NEXT: return dynamic_reshape<?x?x?xf64>(select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(d#0, multiply(multiply(multiply(size<1>(a), size<1>(a)), size<2>(a)), size<2>(a))), 0, multiply(multiply(multiply(size<1>(a), size<1>(a)), size<2>(a)), size<2>(a)), add(b, 1)), 0), false), nan, g), concatenate<0>(size<1>(a), size<2>(a), b)) : tensor<?x?x?xf64>
# CHECK: @lu_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu":
show([a], TensorInv(1)(a), name="TensorInv.dynamic", dims={"a": (None, "m", "n")})
