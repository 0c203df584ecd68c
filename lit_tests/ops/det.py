# RUN: %python %s | filecheck %s
"""Det, SLogDet, MatrixInverse: through LU."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import Det, MatrixInverse, SLogDet

a = pt.dmatrix("a")

# CHECK-LABEL: module @Det.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<0>(a)) : tensor<2xi64>
# CHECK-NEXT: c:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: return multiply(reduce<[0], multiply>(real_dynamic_slice(dynamic_reshape<?xf64>(c#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 1), reduce<[0, 1], multiply>(select(and(LT(dynamic_iota<0, ?x?xi64>(b), dynamic_iota<1, ?x?xi64>(b)), GT(dynamic_broadcast_in_dim<[0], ?x?xi32>(c#1, b), dynamic_broadcast_in_dim<[1], ?x?xi32>(c#1, b))), -1, 1), 1)) : tensor<f64>
# CHECK: @lu_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu":
show([a], Det()(a), name="Det.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @SLogDet.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<0>(a)) : tensor<2xi64>
# CHECK-NEXT: c:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: d = real_dynamic_slice(dynamic_reshape<?xf64>(c#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)) : tensor<?xf64>
# CHECK-NEXT: return multiply(reduce<[0], multiply>(sign(d), 1), reduce<[0, 1], multiply>(select(and(LT(dynamic_iota<0, ?x?xi64>(b), dynamic_iota<1, ?x?xi64>(b)), GT(dynamic_broadcast_in_dim<[0], ?x?xi32>(c#1, b), dynamic_broadcast_in_dim<[1], ?x?xi32>(c#1, b))), -1, 1), 1)), reduce<[0], add>(log(abs(d)), 0) : tensor<f64>, tensor<f64>
show([a], SLogDet()(a), name="SLogDet.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @MatrixInverse.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<0>(a)) : tensor<2xi64>
# CHECK-NEXT: c:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: d = dynamic_gather(convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x?xi64>(b), dynamic_iota<1, ?x?xi64>(b)))), dynamic_reshape<?x1xi32>(c#1, concatenate<0>(size<0>(a), 1)), concatenate<0>(minimum(size<0>(a), 1), size<0>(a))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x?xf64>
# CHECK-NEXT: e = triangular_solve(c#0, d) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = true} : tensor<?x?xf64>
# CHECK-NEXT: f = triangular_solve(c#0, e) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x?xf64>
# CHECK-NEXT: return select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(c#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, f) : tensor<?x?xf64>
show([a], MatrixInverse()(a), name="MatrixInverse.dynamic", dims={"a": ("n", "n")})
