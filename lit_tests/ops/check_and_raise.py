# RUN: %python %s | filecheck %s
"""CheckAndRaise: a condition becomes a flag among the results, with the exception in the signature."""

import pytensor.tensor as pt
from common import show
from pytensor.ifelse import ifelse
from pytensor.raise_op import Assert, CheckAndRaise

x = pt.dvector("x")
c = pt.dscalar("c")

checked = CheckAndRaise(ValueError, "sum too large")(x, x.sum() < 1, x.sum() > 0)
# CHECK-LABEL: module @CheckAndRaise.dynamic
# CHECK-NEXT: checks: ValueError, sum too large
# CHECK-NEXT: a = reduce<[0], add>(x, 0) : tensor<f64>
# CHECK-NEXT: return x, and(LT(a, 1), GT(a, 0)) : tensor<?xf64>, tensor<1xi1>
show([x], checked, name="CheckAndRaise.dynamic", dims={"x": ("n",)})

# Inside a branch: the flag counts only when the branch is taken.
# CHECK-LABEL: module @CheckAndRaise.dynamic.branch
# CHECK-NEXT: checks: AssertionError, positive
# CHECK-NEXT: constraints: n >= 1, index 0 of axis 0 at an unnamed Subtensor node
# CHECK-NEXT: a:2 = if<() -> (log(x), GT(slice<0:1:1>(x), 0)), () -> (x, true)>(GT(c, 0)) : tensor<?xf64>, tensor<i1>
# CHECK-NEXT: return a#0, a#1 : tensor<?xf64>, tensor<1xi1>
show(
    [c, x],
    ifelse(c > 0, Assert("positive")(pt.log(x), x[0] > 0), x),
    name="CheckAndRaise.dynamic.branch",
    dims={"x": ("n",)},
)
