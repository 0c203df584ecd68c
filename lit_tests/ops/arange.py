# RUN: %python %s | filecheck %s
"""ARange: `numpy.arange`; a short constant one is a constant, integer ends may be sizes or arguments."""

import pytensor.tensor as pt
from common import show

x = pt.dvector("x")
n, k = pt.lscalar("n"), pt.lscalar("k")

# CHECK-LABEL: module @ARange.dynamic
# CHECK-NEXT: return dynamic_iota<0, ?xi64>(size<0>(x)) : tensor<?xi64>
show([x], pt.arange(x.shape[0]), name="ARange.dynamic", dims={"x": ("n",)})

# A step of either sign.
# CHECK-LABEL: module @ARange.dynamic.step
# CHECK-NEXT: constraints: max(-k, k) >= 1, the absolute step of ARange at an unnamed ARange node
# CHECK-NEXT: a = add(multiply(n, -1), -1) : tensor<i64>
# CHECK-NEXT: b = maximum(maximum(multiply(k, -1), k), 1) : tensor<i64>
# CHECK-NEXT: c = maximum(add(divide<"(-n - 1)//max(-k, k, 1)">(subtract(a, remainder(add(remainder(a, b), b), b)), b), 1), 0) : tensor<i64>
# CHECK-NEXT: d = minimum(maximum(k, 0), 1) : tensor<i64>
# CHECK-NEXT: e = add(n, -1) : tensor<i64>
# CHECK-NEXT: return multiply(dynamic_iota<0, ?xi64>(add(add(multiply(multiply(c, d), -1), multiply(maximum(add(divide<"(n - 1)//max(-k, k, 1)">(subtract(e, remainder(add(remainder(e, b), b), b)), b), 1), 0), d)), c)), k) : tensor<?xi64>
show([n, k], pt.arange(0, n, k), name="ARange.dynamic.step")

# CHECK-LABEL: module @ARange.dynamic.float
# CHECK-NEXT: return convert<f64>(dynamic_iota<0, ?xi64>(maximum(n, 0))) : tensor<?xf64>
show([n], pt.arange(n, dtype="float64"), name="ARange.dynamic.float")

# ---- sizes from data -----------------------------------------------------------------------------------------------

w, end = pt.dvector("w"), pt.dscalar("end")

# CHECK-LABEL: module @ARange.dynamic.computed
# CHECK-NEXT: counts: arange_0
# CHECK: d = @hlograph.size(maximum(c#1, 0)) {hlograph.dim = "arange_0"} : tensor<i64>
# CHECK-NEXT: return dynamic_iota<0, ?xi64>(d) : tensor<?xi64>
show([w], pt.arange(pt.argmax(w)), name="ARange.dynamic.computed", dims={"w": (8,)})

# NumPy's spacing is that of the first two elements.
# CHECK-LABEL: module @ARange.dynamic.ends
# CHECK-NEXT: checks: ValueError, arange: cannot compute length
# CHECK-NEXT: counts: arange_0
# CHECK-NEXT: a = ceil(divide(subtract(end, 0), 1)) : tensor<f64>
# CHECK-NEXT: b = is_finite(a) : tensor<i1>
# CHECK-NEXT: c = @hlograph.size(convert<i64>(maximum(select(b, a, 0), 0))) {hlograph.dim = "arange_0"} : tensor<i64>
# CHECK-NEXT: return add(multiply(convert<f64>(dynamic_iota<0, ?xi64>(c)), subtract(add(0, 1), 0)), 0), b : tensor<?xf64>, tensor<1xi1>
show([end], pt.arange(end), name="ARange.dynamic.ends")
