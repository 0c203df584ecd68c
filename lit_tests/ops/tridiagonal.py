# RUN: %python %s | filecheck %s
"""LUFactorTridiagonal and SolveLUFactorTridiagonal: loops over the rows."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.solvers.tridiagonal import LUFactorTridiagonal, SolveLUFactorTridiagonal

low, main, high, higher, b = pt.dvectors("low", "main", "high", "higher", "b")
pivots = pt.ivector("pivots")
factors = [low, main, high, higher, pivots]

# CHECK-LABEL: module @LUFactorTridiagonal.dynamic
# CHECK: b1:6 = while<(p0, p1, p2, p3, p4, p5) -> LT(p0, add(size<0>(main), -1))>(0, a, main, b, 0, add(convert<i32>(c), 1)) : tensor<i64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xi32>
# CHECK: return real_dynamic_slice(b1#1, 0, size<0>(low), 1), b1#2, real_dynamic_slice(b1#3, 0, size<0>(low), 1), real_dynamic_slice(b1#4, 0, add(size<0>(low), -1), 1), b1#5 : tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xi32>
show([low, main, high], LUFactorTridiagonal()(low, main, high), name="LUFactorTridiagonal.dynamic", dims=None)

# CHECK-LABEL: module @SolveLUFactorTridiagonal.dynamic
# CHECK: a1:2 = while<(p0, p1) -> LT(p0, c)>(0, dynamic_reshape<?x1xf64>(b, a)) : tensor<i64>, tensor<?x1xf64>
# CHECK: e1:2 = while<(p0, p1) -> LT(p0, size<0>(main))>(0, a1#1) : tensor<i64>, tensor<?x1xf64>
# CHECK: return dynamic_reshape<?xf64>(e1#1, size<0>(b)) : tensor<?xf64>
show([*factors, b], SolveLUFactorTridiagonal(1, False)(*factors, b), name="SolveLUFactorTridiagonal.dynamic", dims=None)
