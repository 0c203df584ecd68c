# RUN: %python %s | filecheck %s
"""Cholesky, CholeskySolve."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import Cholesky, CholeskySolve

a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")

# CHECK-LABEL: module @Cholesky.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CHOLESKY:%\w+]] = stablehlo.cholesky %arg0, lower = true : tensor<3x3xf64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x3xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x3xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GE, [[IOTA]], [[IOTA2]] : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[CHOLESKY]], [[WIDE]] : tensor<3x3xi1>, tensor<3x3xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<3x3xf64>
show([a], Cholesky(lower=True)(a), name="Cholesky.static", dims={"a": (3, 3)})

# CHECK-LABEL: module @Cholesky.static.upper
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CHOLESKY:%\w+]] = stablehlo.cholesky %arg0 : tensor<3x3xf64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x3xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x3xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LE, [[IOTA]], [[IOTA2]] : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[CHOLESKY]], [[WIDE]] : tensor<3x3xi1>, tensor<3x3xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<3x3xf64>
show([a], Cholesky(lower=False)(a), name="Cholesky.static.upper", dims={"a": (3, 3)})

# CHECK-LABEL: module @Cholesky.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CHOLESKY:%\w+]] = stablehlo.cholesky %arg0, lower = true : tensor<?x?xf64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GE, [[IOTA]], [[IOTA2]] : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[CHOLESKY]], [[WIDE]] : tensor<?x?xi1>, tensor<?x?xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<?x?xf64>
show([a], Cholesky(lower=True)(a), name="Cholesky.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @CholeskySolve.static
# CHECK-NOT: dynamic_
# CHECK: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
# CHECK-NEXT: [[SOLVED2:%\w+]] = "stablehlo.triangular_solve"(%arg0, [[SOLVED]]) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
# CHECK-NEXT: return [[SOLVED2]] : tensor<3x2xf64>
show([a, b], CholeskySolve(lower=True, b_ndim=2)(a, b), name="CholeskySolve.static", dims={"a": (3, 3), "b": (3, 2)})

# CHECK-LABEL: module @CholeskySolve.dynamic
# CHECK: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape %arg1, %{{[0-9]+}} : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x1xf64>
# CHECK-NEXT: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"(%arg0, [[SHAPED]]) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<?x?xf64>, tensor<?x1xf64>) -> tensor<?x1xf64>
# CHECK-NEXT: [[SOLVED2:%\w+]] = "stablehlo.triangular_solve"(%arg0, [[SOLVED]]) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<?x?xf64>, tensor<?x1xf64>) -> tensor<?x1xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape [[SOLVED2]], %{{[0-9]+}} : (tensor<?x1xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[SHAPED2]] : tensor<?xf64>
show(
    [a, v],
    CholeskySolve(lower=False, b_ndim=1)(a, v),
    name="CholeskySolve.dynamic",
    dims={"a": ("n", "n"), "v": ("n",)},
)
