# RUN: %python %s | filecheck %s
"""Eigh and Eigvalsh: a private function for eigenvectors and values; what is not finite does not get there."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.decomposition.eigen import Eigh, Eigvalsh

a, b = pt.dmatrices("a", "b")

# CHECK-LABEL: module @Eigh.dynamic
# CHECK-NEXT: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: c:2 = @eigh_float64(select(b, a, 0)) : tensor<?x?xf64>, tensor<?xf64>
# CHECK-NEXT: return select(b, c#1, nan), select(b, c#0, nan) : tensor<?xf64>, tensor<?x?xf64>
# CHECK: @eigh_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) implements "eigh":
show([a], Eigh()(a), name="Eigh.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @Eigvalsh.dynamic
# CHECK-NEXT: b = transpose<[1, 0]>(a) : tensor<?x?xf64>
# CHECK-NEXT: c = reduce<[0, 1], and>(is_finite(b), true) : tensor<i1>
# CHECK-NEXT: return select(c, @eigh_float64(select(c, b, 0))#1, nan) : tensor<?xf64>
# CHECK: @eigh_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) implements "eigh":
show([a], Eigvalsh(lower=False)(a), name="Eigvalsh.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @Eigh.dynamic.generalized
# CHECK-NEXT: c = concatenate<0>(size<0>(a), size<0>(a)) : tensor<2xi64>
# CHECK-NEXT: d = cholesky(b) {lower = true} : tensor<?x?xf64>
# CHECK-NEXT: e = dynamic_iota<0, ?x?xi64>(c) : tensor<?x?xi64>
# CHECK-NEXT: f = dynamic_iota<1, ?x?xi64>(c) : tensor<?x?xi64>
# CHECK-NEXT: g = GE(e, f) : tensor<?x?xi1>
# CHECK-NEXT: h = select(g, d, 0) : tensor<?x?xf64>
# CHECK-NEXT: i = triangular_solve(h, add(select(g, a, 0), transpose<[1, 0]>(select(GE(add(e, -1), f), a, 0)))) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x?xf64>
# CHECK-NEXT: j = triangular_solve(h, i) {left_side = false, lower = true, transpose_a = ADJOINT, unit_diagonal = false} : tensor<?x?xf64>
# CHECK-NEXT: k = reduce<[0, 1], and>(is_finite(j), true) : tensor<i1>
# CHECK-NEXT: l:2 = @eigh_float64(select(k, j, 0)) : tensor<?x?xf64>, tensor<?xf64>
# CHECK-NEXT: m = triangular_solve(h, select(k, l#0, nan)) {left_side = true, lower = true, transpose_a = ADJOINT, unit_diagonal = false} : tensor<?x?xf64>
# CHECK-NEXT: return select(k, l#1, nan), m : tensor<?xf64>, tensor<?x?xf64>
# CHECK: @eigh_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) implements "eigh":
show([a, b], Eigh()(a, b), name="Eigh.dynamic.generalized", dims={"a": ("n", "n"), "b": ("n", "n")})
