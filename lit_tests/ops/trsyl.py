# RUN: %python %s | filecheck %s
"""TRSYL: blocks on the diagonal made triangular, then a triangular solve for each column."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.solvers.linear_control import TRSYL

a, b, c = pt.dmatrices("a", "b", "c")
x, y, z = (pt.zmatrix(name) for name in "xyz")

# CHECK-LABEL: module @TRSYL.dynamic
# CHECK: k1 = dot_general(j1, g) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK-NEXT: l1 = dot_general(k1, i1) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK: b3 = dot_general(a3, m1) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK-NEXT: c3 = dot_general(b3, o2) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK-NEXT: d3 = dot_general(j1, convert<complex<f64>>(c)) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK-NEXT: e3 = dot_general(d3, o2) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK-NEXT: j3:2 = while<(p0, p1) -> LT(p0, size<0>(b))>(0, (0.000000e+00,0.000000e+00)) : tensor<i64>, tensor<?x?xcomplex<f64>>
# CHECK:     h3 = dot_general(p1, dynamic_reshape<?x1xcomplex<f64>>(f3, concatenate<0>(size<0>(b), 1))) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x1xcomplex<f64>>
# CHECK-NEXT:     i3 = triangular_solve(add(select(LE(h, i), l1, (0.000000e+00,0.000000e+00)), multiply(convert<complex<f64>>(convert<i8>(l)), reduce<[0], add>(select(EQ(dynamic_iota<0, ?xi64>(size<0>(b)), p0), f3, (0.000000e+00,0.000000e+00)), (0.000000e+00,0.000000e+00)))), subtract(dynamic_reshape<?x1xcomplex<f64>>(reduce<[1], add>(select(g3, e3, (0.000000e+00,0.000000e+00)), (0.000000e+00,0.000000e+00)), concatenate<0>(size<0>(a), 1)), h3)) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x1xcomplex<f64>>
# CHECK: k3 = dot_general(i1, j3#1) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK-NEXT: l3 = dot_general(k3, a3) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK-NEXT: return real(l3) : tensor<?x?xf64>
show([a, b, c], TRSYL()(a, b, c), name="TRSYL.dynamic", dims={"a": ("m", "m"), "b": ("n", "n"), "c": ("m", "n")})
