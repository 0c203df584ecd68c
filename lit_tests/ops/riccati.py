# RUN: %python %s | filecheck %s
"""SolveDiscreteARE: doubling until the closed loop is gone."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import solve_discrete_are

a, b, q, r = pt.dmatrices("a", "b", "q", "r")

# CHECK-LABEL: module @SolveDiscreteARE.dynamic
# CHECK: e:2 = @lu_float64(r) : tensor<?x?xf64>, tensor<?xi32>
# CHECK: g = triangular_solve(e#0, f) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = true} : tensor<?x?xf64>
# CHECK-NEXT: h = triangular_solve(e#0, g) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x?xf64>
# CHECK: i1:4 = while<(p0, p1, p2, p3) -> and(not(LE(reduce<[0, 1], maximum>(abs(p1), -inf), 2.22045e-16)), LT(p0, 60))>(0, a, i, q) : tensor<i64>, tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>
# CHECK:     k:2 = @lu_float64_1(add(convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x?xi64>(c), dynamic_iota<1, ?x?xi64>(c)))), j)) : tensor<?x?xf64>, tensor<?xi32>
# CHECK:     n = triangular_solve(k#0, m) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = true} : tensor<?x?xf64>
# CHECK-NEXT:     o = triangular_solve(k#0, n) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x?xf64>
# CHECK:     b1 = triangular_solve(k#0, a1) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = true} : tensor<?x?xf64>
# CHECK-NEXT:     c1 = triangular_solve(k#0, b1) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x?xf64>
# CHECK: return select(and(LT(reduce<[0, 1], add>(abs(i), 0), inf), LE(reduce<[0, 1], maximum>(abs(i1#1), -inf), 2.22045e-16)), multiply(add(i1#3, transpose<[1, 0]>(i1#3)), 0.5), nan) : tensor<?x?xf64>
# CHECK: @lu_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu":
# CHECK: @lu_float64_1(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu":
show(
    [a, b, q, r],
    solve_discrete_are(a, b, q, r),
    name="SolveDiscreteARE.dynamic",
    dims={"a": ("n", "n"), "b": ("n", "k"), "q": ("n", "n"), "r": ("k", "k")},
)
