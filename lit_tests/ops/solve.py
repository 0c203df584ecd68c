# RUN: %python %s | filecheck %s
"""Solve, SolveTriangular."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import Solve, SolveTriangular

a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")

# CHECK-LABEL: module @SolveTriangular.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<false> : tensor<i1>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
# CHECK-NEXT: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<3x3xf64>) -> tensor<9xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.slice [[SHAPED]] [0:9:4] : (tensor<9xf64>) -> tensor<3xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[SLICED]], [[WIDE]] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[TEST]] init: [[CONST2]]) applies stablehlo.or across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[REDUCED]], dims = [] : (tensor<i1>) -> tensor<3x2xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST3]], dims = [] : (tensor<f64>) -> tensor<3x2xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[WIDE2]], [[WIDE3]], [[SOLVED]] : tensor<3x2xi1>, tensor<3x2xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<3x2xf64>
show(
    [a, b], SolveTriangular(lower=True, b_ndim=2)(a, b), name="SolveTriangular.static", dims={"a": (3, 3), "b": (3, 2)}
)

# CHECK-LABEL: module @SolveTriangular.static.vector
# CHECK-NOT: dynamic_
# CHECK: [[SHAPED:%\w+]] = stablehlo.reshape %arg1 : (tensor<3xf64>) -> tensor<3x1xf64>
# CHECK-NEXT: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"(%arg0, [[SHAPED]]) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<3x3xf64>, tensor<3x1xf64>) -> tensor<3x1xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[SOLVED]] : (tensor<3x1xf64>) -> tensor<3xf64>
# CHECK-NEXT: return [[SHAPED2]] : tensor<3xf64>
show(
    [a, v],
    SolveTriangular(lower=False, unit_diagonal=True, b_ndim=1)(a, v),
    name="SolveTriangular.static.vector",
    dims={"a": (3, 3), "v": (3,)},
)

# CHECK-LABEL: module @SolveTriangular.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[CONST3:%\w+]] = stablehlo.constant dense<false> : tensor<i1>
# CHECK: [[CONST4:%\w+]] = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
# CHECK-NEXT: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<?x?xf64>, tensor<?x2xf64>) -> tensor<?x2xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape %arg0, %{{[0-9]+}} : (tensor<?x?xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SHAPED]], [[CONST]], %{{[0-9]+}}, %{{[0-9]+}} : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[SLICED]], [[WIDE]] : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[TEST]] init: [[CONST3]]) applies stablehlo.or across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[REDUCED]], %{{[0-9]+}}, dims = [] : (tensor<i1>, tensor<2xi64>) -> tensor<?x2xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST4]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x2xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[WIDE2]], [[WIDE3]], [[SOLVED]] : tensor<?x2xi1>, tensor<?x2xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<?x2xf64>
show(
    [a, b],
    SolveTriangular(lower=True, b_ndim=2)(a, b),
    name="SolveTriangular.dynamic",
    dims={"a": ("n", "n"), "b": ("n", 2)},
)

# LU is a private function, for a platform's library to take its place.
# CHECK-LABEL: module @Solve.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<false> : tensor<i1>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
# CHECK-NEXT: [[CALLED:%\w+]]:2 = call @lu_float64(%arg0) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>)
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CALLED]]#1 : (tensor<3xi32>) -> tensor<3x1xi32>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg1, [[SHAPED]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xf64>, tensor<3x1xi32>) -> tensor<3x2xf64>
# CHECK-NEXT: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"([[CALLED]]#0, [[GATHERED]]) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
# CHECK-NEXT: [[SOLVED2:%\w+]] = "stablehlo.triangular_solve"([[CALLED]]#0, [[SOLVED]]) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[CALLED]]#0 : (tensor<3x3xf64>) -> tensor<9xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.slice [[SHAPED2]] [0:9:4] : (tensor<9xf64>) -> tensor<3xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[SLICED]], [[WIDE]] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[TEST]] init: [[CONST2]]) applies stablehlo.or across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[REDUCED]], dims = [] : (tensor<i1>) -> tensor<3x2xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST3]], dims = [] : (tensor<f64>) -> tensor<3x2xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[WIDE2]], [[WIDE3]], [[SOLVED2]] : tensor<3x2xi1>, tensor<3x2xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<3x2xf64>
# CHECK: func.func private @lu_float64(%arg0: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>) attributes {hlograph.implements = "lu"}
show([a, b], Solve(b_ndim=2)(a, b), name="Solve.static", dims={"a": (3, 3), "b": (3, 2)})

# CHECK-LABEL: module @Solve.static.pos
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CHOLESKY:%\w+]] = stablehlo.cholesky %arg0, lower = true : tensor<3x3xf64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x3xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x3xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GE, [[IOTA]], [[IOTA2]] : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[CHOLESKY]], [[WIDE]] : tensor<3x3xi1>, tensor<3x3xf64>
# CHECK-NEXT: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"([[CHOSEN]], %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
# CHECK-NEXT: [[SOLVED2:%\w+]] = "stablehlo.triangular_solve"([[CHOSEN]], [[SOLVED]]) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
# CHECK-NEXT: return [[SOLVED2]] : tensor<3x2xf64>
show(
    [a, b], Solve(b_ndim=2, assume_a="pos", lower=True)(a, b), name="Solve.static.pos", dims={"a": (3, 3), "b": (3, 2)}
)

# CHECK-LABEL: module @Solve.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<false> : tensor<i1>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape %arg1, %{{[0-9]+}} : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x1xf64>
# CHECK-NEXT: [[CALLED:%\w+]]:2 = call @lu_float64(%arg0) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>)
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape [[CALLED]]#1, %{{[0-9]+}} : (tensor<?xi32>, tensor<2xi64>) -> tensor<?x1xi32>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"([[SHAPED]], [[SHAPED2]], %{{[0-9]+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x1xf64>, tensor<?x1xi32>, tensor<2xi64>) -> tensor<?x1xf64>
# CHECK-NEXT: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"([[CALLED]]#0, [[GATHERED]]) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<?x?xf64>, tensor<?x1xf64>) -> tensor<?x1xf64>
# CHECK-NEXT: [[SOLVED2:%\w+]] = "stablehlo.triangular_solve"([[CALLED]]#0, [[SOLVED]]) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<?x?xf64>, tensor<?x1xf64>) -> tensor<?x1xf64>
# CHECK-NEXT: [[SHAPED3:%\w+]] = stablehlo.dynamic_reshape [[CALLED]]#0, %{{[0-9]+}} : (tensor<?x?xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SHAPED3]], [[CONST]], %{{[0-9]+}}, %{{[0-9]+}} : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[SLICED]], [[WIDE]] : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[TEST]] init: [[CONST3]]) applies stablehlo.or across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[REDUCED]], %{{[0-9]+}}, dims = [] : (tensor<i1>, tensor<2xi64>) -> tensor<?x1xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST4]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x1xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[WIDE2]], [[WIDE3]], [[SOLVED2]] : tensor<?x1xi1>, tensor<?x1xf64>
# CHECK-NEXT: [[SHAPED4:%\w+]] = stablehlo.dynamic_reshape [[CHOSEN]], %{{[0-9]+}} : (tensor<?x1xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[SHAPED4]] : tensor<?xf64>
# CHECK: func.func private @lu_float64(%arg0: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) attributes {hlograph.implements = "lu"}
show([a, v], Solve(b_ndim=1)(a, v), name="Solve.dynamic", dims={"a": ("n", "n"), "v": ("n",)})
