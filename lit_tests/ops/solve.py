# RUN: %python %s | filecheck %s
"""Solve, SolveTriangular."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import Solve, SolveTriangular

a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")

# CHECK-LABEL: module @SolveTriangular.dynamic
# CHECK-NEXT: c = triangular_solve(a, b) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x2xf64>
# CHECK-NEXT: return select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(a, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, c) : tensor<?x2xf64>
show(
    [a, b],
    SolveTriangular(lower=True, b_ndim=2)(a, b),
    name="SolveTriangular.dynamic",
    dims={"a": ("n", "n"), "b": ("n", 2)},
)

# LU is a private function, for a platform's library to take its place.
# CHECK-LABEL: module @Solve.static.pos
# CHECK-NEXT: c = cholesky(a) {lower = true} : tensor<3x3xf64>
# CHECK-NEXT: d = select(GE(iota<0, 3x3xi64>(), iota<1, 3x3xi64>()), c, 0) : tensor<3x3xf64>
# CHECK-NEXT: e = triangular_solve(d, b) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<3x2xf64>
# CHECK-NEXT: f = triangular_solve(d, e) {left_side = true, lower = true, transpose_a = ADJOINT, unit_diagonal = false} : tensor<3x2xf64>
show(
    [a, b], Solve(b_ndim=2, assume_a="pos", lower=True)(a, b), name="Solve.static.pos", dims={"a": (3, 3), "b": (3, 2)}
)

# CHECK-LABEL: module @Solve.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), 1) : tensor<2xi64>
# CHECK-NEXT: c:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: d = dynamic_gather(dynamic_reshape<?x1xf64>(v, b), dynamic_reshape<?x1xi32>(c#1, b), concatenate<0>(minimum(size<0>(a), 1), 1)) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x1xf64>
# CHECK-NEXT: e = triangular_solve(c#0, d) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = true} : tensor<?x1xf64>
# CHECK-NEXT: f = triangular_solve(c#0, e) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x1xf64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(c#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, f), size<0>(a)) : tensor<?xf64>
show([a, v], Solve(b_ndim=1)(a, v), name="Solve.dynamic", dims={"a": ("n", "n"), "v": ("n",)})
