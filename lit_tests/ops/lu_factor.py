# RUN: %python %s | filecheck %s
"""LUFactor and PivotToPermutations: a private function for the factors, a loop of exchanges for the permutation."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.decomposition.lu import LUFactor, PivotToPermutations

a, pivots = pt.dmatrix("a"), pt.ivector("pivots")

# CHECK-LABEL: module @LUFactor.dynamic
# CHECK-NEXT: b:2 = @lu_factor_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: return select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(b#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, b#0), b#1 : tensor<?x?xf64>, tensor<?xi32>
# CHECK: @lu_factor_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu_factor":
show([a], LUFactor()(a), name="LUFactor.dynamic", dims={"a": ("n", "n")})

# The other direction sorts the places by the permutation.
# CHECK-LABEL: module @PivotToPermutations.dynamic
# CHECK-NEXT: a = dynamic_iota<0, ?xi64>(size<0>(pivots)) : tensor<?xi64>
# CHECK-NEXT: d:2 = while<(p0, p1) -> LT(p0, size<0>(pivots))>(0, a) : tensor<i64>, tensor<?xi64>
# CHECK-NEXT:   (p0, p1) ->
# CHECK-NEXT:     b = EQ(a, p0) : tensor<?xi1>
# CHECK-NEXT:     c = EQ(a, reduce<[0], add>(select(b, convert<i64>(pivots), 0), 0)) : tensor<?xi1>
# CHECK-NEXT:     return (add(p0, 1), select(b, reduce<[0], add>(select(c, p1, 0), 0), select(c, reduce<[0], add>(select(b, p1, 0), 0), p1)))
# CHECK-NEXT: e:2 = sort(d#1, a) {dimension = 0, is_stable = true, (p0, p1, p2, p3) -> LT(p0, p1)} : tensor<?xi64>, tensor<?xi64>
# CHECK-NEXT: return e#1 : tensor<?xi64>
show([pivots], PivotToPermutations(inverse=False)(pivots), name="PivotToPermutations.dynamic", dims={"pivots": ("n",)})
