# RUN: %python %s | filecheck %s
"""Lstsq: from singular values; the number of residuals is data."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.solvers.lstsq import Lstsq

a, b, c = pt.dmatrix("a"), pt.dmatrix("b"), pt.dscalar("c")

# CHECK-LABEL: module @Lstsq.dynamic
# CHECK: e:3 = @svd_float64(select(d, a, 0)) : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
# CHECK: h = dot_general(select(d, e#0, nan), b) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xf64>
# CHECK-NEXT: i = dot_general(select(d, e#2, nan), multiply(h, dynamic_broadcast_in_dim<[0], ?x?xf64>(select(g, divide(1, select(g, f, 1)), 0), concatenate<0>(minimum(size<0>(a), size<1>(a)), size<1>(b))))) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xf64>
# CHECK: k = dot_general(a, i) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xf64>
# CHECK: return i, real_dynamic_slice(reduce<[0], add>(multiply(l, l), 0), 0, m, 1), convert<i32>(j), f : tensor<?x?xf64>, tensor<?xf64>, tensor<i32>, tensor<?xf64>
# CHECK: @svd_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>) implements "svd":
show([a, b, c], Lstsq()(a, b, c), name="Lstsq.dynamic", dims={"a": ("m", "n"), "b": ("m", "k")})
