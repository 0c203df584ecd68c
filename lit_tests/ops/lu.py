# RUN: %python %s | filecheck %s
"""LU: the factors taken apart, and the permutation in three forms."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.decomposition.lu import LU

a = pt.dmatrix("a")

# CHECK-LABEL: module @LU.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<0>(a)) : tensor<2xi64>
# CHECK-NEXT: c:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: d = dynamic_iota<0, ?x?xi64>(b) : tensor<?x?xi64>
# CHECK-NEXT: e = dynamic_iota<1, ?x?xi64>(b) : tensor<?x?xi64>
# CHECK-NEXT: return convert<f64>(convert<i8>(EQ(d, dynamic_broadcast_in_dim<[1], ?x?xi64>(convert<i64>(c#1), b)))), add(select(GE(add(d, -1), e), c#0, 0), convert<f64>(convert<i8>(EQ(d, e)))), select(LE(d, e), c#0, 0) : tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>
# CHECK: @lu_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu":
show([a], LU()(a), name="LU.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @LU.dynamic.permuted
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<0>(a)) : tensor<2xi64>
# CHECK-NEXT: c:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: d = dynamic_iota<0, ?x?xi64>(b) : tensor<?x?xi64>
# CHECK-NEXT: e = dynamic_iota<1, ?x?xi64>(b) : tensor<?x?xi64>
# CHECK-NEXT: f = dynamic_gather(add(select(GE(add(d, -1), e), c#0, 0), convert<f64>(convert<i8>(EQ(d, e)))), dynamic_reshape<?x1xi32>(convert<i32>(reduce<[1], add>(select(EQ(d, dynamic_broadcast_in_dim<[1], ?x?xi64>(convert<i64>(c#1), b)), e, 0), 0)), concatenate<0>(size<0>(a), 1)), concatenate<0>(minimum(size<0>(a), 1), size<0>(a))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x?xf64>
# CHECK-NEXT: return f, select(LE(d, e), c#0, 0) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK: @lu_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu":
show([a], LU(permute_l=True)(a), name="LU.dynamic.permuted", dims={"a": ("n", "n")})
