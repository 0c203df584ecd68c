# RUN: %python %s | filecheck %s
"""Cholesky, CholeskySolve."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import Cholesky, CholeskySolve

a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")

# CHECK-LABEL: module @Cholesky.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<0>(a)) : tensor<2xi64>
# CHECK-NEXT: c = cholesky(a) {lower = true} : tensor<?x?xf64>
# CHECK-NEXT: return select(GE(dynamic_iota<0, ?x?xi64>(b), dynamic_iota<1, ?x?xi64>(b)), c, 0) : tensor<?x?xf64>
show([a], Cholesky(lower=True)(a), name="Cholesky.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @CholeskySolve.dynamic
# CHECK-NEXT: b = triangular_solve(a, dynamic_reshape<?x1xf64>(v, concatenate<0>(size<0>(a), 1))) {left_side = true, lower = false, transpose_a = ADJOINT, unit_diagonal = false} : tensor<?x1xf64>
# CHECK-NEXT: c = triangular_solve(a, b) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x1xf64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(c, size<0>(a)) : tensor<?xf64>
show(
    [a, v],
    CholeskySolve(lower=False, b_ndim=1)(a, v),
    name="CholeskySolve.dynamic",
    dims={"a": ("n", "n"), "v": ("n",)},
)
