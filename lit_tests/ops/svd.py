# RUN: %python %s | filecheck %s
"""SVD and MatrixPinv: private functions for singular values, with their vectors, or with a complete set of them."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.decomposition.svd import SVD
from pytensor.tensor.linalg.inverse import MatrixPinv

a = pt.dmatrix("a")

# CHECK-LABEL: module @SVD.dynamic
# CHECK-NEXT: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: c:3 = @svd_complete_float64(select(b, a, 0)) : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
# CHECK-NEXT: return select(b, c#0, nan), select(b, c#1, nan), select(b, c#2, nan) : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
# CHECK: @svd_complete_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>) implements "svd_complete":
show([a], SVD()(a), name="SVD.dynamic", dims={"a": ("m", "n")})

# CHECK-LABEL: module @SVD.dynamic.values
# CHECK-NEXT: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: return select(b, @singular_values_float64(select(b, a, 0)), nan) : tensor<?xf64>
# CHECK: @singular_values_float64(tensor<?x?xf64>) -> tensor<?xf64> implements "singular_values":
show([a], SVD(compute_uv=False)(a), name="SVD.dynamic.values", dims={"a": ("m", "n")})

# CHECK-LABEL: module @MatrixPinv.dynamic
# CHECK-NEXT: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: c:3 = @svd_float64(select(b, a, 0)) : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
# CHECK-NEXT: d = select(b, c#1, nan) : tensor<?xf64>
# CHECK-NEXT: e = abs(d) : tensor<?xf64>
# CHECK-NEXT: f = LE(e, multiply(reduce<[0], maximum>(e, -inf), 1e-15)) : tensor<?xi1>
# CHECK-NEXT: g = dot_general(multiply(transpose<[1, 0]>(select(b, c#2, nan)), dynamic_broadcast_in_dim<[1], ?x?xf64>(select(f, 0, divide(1, select(f, 1, d))), concatenate<0>(size<1>(a), minimum(size<0>(a), size<1>(a))))), select(b, c#0, nan)) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xf64>
# CHECK-NEXT: return g : tensor<?x?xf64>
# CHECK: @svd_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>) implements "svd":
show([a], MatrixPinv(hermitian=False)(a), name="MatrixPinv.dynamic", dims={"a": ("m", "n")})

# CHECK-LABEL: module @MatrixPinv.dynamic.hermitian
# CHECK-NEXT: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: c:2 = @eigh_float64(select(b, a, 0)) : tensor<?x?xf64>, tensor<?xf64>
# CHECK-NEXT: d = select(b, c#0, nan) : tensor<?x?xf64>
# CHECK-NEXT: e = select(b, c#1, nan) : tensor<?xf64>
# CHECK-NEXT: f = abs(e) : tensor<?xf64>
# CHECK-NEXT: g = LE(f, multiply(reduce<[0], maximum>(f, -inf), 1e-15)) : tensor<?xi1>
# CHECK-NEXT: h = dot_general(multiply(transpose<[1, 0]>(transpose<[1, 0]>(d)), dynamic_broadcast_in_dim<[1], ?x?xf64>(select(g, 0, divide(1, select(g, 1, e))), concatenate<0>(size<0>(a), size<0>(a)))), d) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xf64>
# CHECK-NEXT: return h : tensor<?x?xf64>
# CHECK: @eigh_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) implements "eigh":
show([a], MatrixPinv(hermitian=True)(a), name="MatrixPinv.dynamic.hermitian", dims={"a": ("n", "n")})
