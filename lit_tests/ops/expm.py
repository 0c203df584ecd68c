# RUN: %python %s | filecheck %s
"""Expm: a branch for each degree of the approximant, then squarings."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.products import Expm

a = pt.dmatrix("a")

# CHECK-LABEL: module @Expm.dynamic
# CHECK: b2:2 = case(add(add(add(add(0, convert<i32>(GT(d, 0.0149559))), convert<i32>(GT(d, 0.25394))), convert<i32>(GT(d, 0.950418))), convert<i32>(GT(d, 2.09785)))) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK: c2:2 = @lu_float64(subtract(b2#1, b2#0)) : tensor<?x?xf64>, tensor<?xi32>
# CHECK: h2:2 = while<(p0, p1) -> LT(convert<f64>(p0), e)>(0, f2) : tensor<i32>, tensor<?x?xf64>
# CHECK: return h2#1 : tensor<?x?xf64>
# CHECK: @lu_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu":
show([a], Expm()(a), name="Expm.dynamic", dims={"a": ("n", "n")})
