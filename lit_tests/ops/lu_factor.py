# RUN: %python %s | filecheck %s
"""LUFactor and PivotToPermutations: a private function for the factors, a loop of exchanges for the permutation."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.decomposition.lu import LUFactor, PivotToPermutations

a, pivots = pt.dmatrix("a"), pt.ivector("pivots")

# CHECK-LABEL: module @LUFactor.static
# CHECK-NOT: dynamic_
# CHECK: [[CALLED:%\w+]]:2 = call @lu_factor_float64(%arg0) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>)
# CHECK: [[FACTORS:%\w+]] = stablehlo.select {{.*}}[[CALLED]]#0 : tensor<3x3xi1>, tensor<3x3xf64>
# CHECK-NEXT: return [[FACTORS]], [[CALLED]]#1 : tensor<3x3xf64>, tensor<3xi32>
# CHECK: func.func private @lu_factor_float64(%arg0: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>) attributes {hlograph.implements = "lu_factor"}
show([a], LUFactor()(a), name="LUFactor.static", dims={"a": (3, 3)})

# CHECK-LABEL: module @LUFactor.dynamic
# CHECK: [[CALLED:%\w+]]:2 = call @lu_factor_float64(%arg0) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>)
# CHECK: func.func private @lu_factor_float64(%arg0: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) attributes {hlograph.implements = "lu_factor"}
show([a], LUFactor()(a), name="LUFactor.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @PivotToPermutations.static
# CHECK-NOT: dynamic_
# CHECK: [[PLACES:%\w+]] = stablehlo.iota dim = 0 : tensor<4xi64>
# CHECK: [[LOOP:%\w+]]:2 = stablehlo.while(%iterArg{{[^ ,:)=]*}} = %{{\w+}}, %iterArg{{[^ ,:)=]*}} = [[PLACES]]) : tensor<i64>, tensor<4xi64>
# CHECK: return [[LOOP]]#1 : tensor<4xi64>
show([pivots], PivotToPermutations(inverse=True)(pivots), name="PivotToPermutations.static", dims={"pivots": (4,)})

# The other direction sorts the places by the permutation.
# CHECK-LABEL: module @PivotToPermutations.dynamic
# CHECK: [[PLACES:%\w+]] = stablehlo.dynamic_iota %{{\w+}}, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK: [[LOOP:%\w+]]:2 = stablehlo.while
# CHECK: [[SORTED:%\w+]]:2 = "stablehlo.sort"([[LOOP]]#1, [[PLACES]]) <{dimension = 0 : i64, is_stable = true}> ({
# CHECK: return [[SORTED]]#1 : tensor<?xi64>
show([pivots], PivotToPermutations(inverse=False)(pivots), name="PivotToPermutations.dynamic", dims={"pivots": ("n",)})
