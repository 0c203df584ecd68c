# RUN: %python %s | filecheck %s
"""SortOp and ArgSortOp: one stable sort, numbers before NaN; the places travel along for ArgSortOp."""

import pytensor.tensor as pt
from common import show

x, k, z = pt.dmatrix("x"), pt.lvector("k"), pt.zvector("z")

# CHECK-LABEL: module @SortOp.dynamic
# CHECK-NEXT: a = sort(k) {dimension = 0, is_stable = true, LT} : tensor<?xi64>
show([k], pt.sort(k), name="SortOp.dynamic", dims={"k": ("n",)})

# CHECK-LABEL: module @ArgSortOp.dynamic
# CHECK-NEXT: a:2 = sort(x, dynamic_iota<1, ?x4xi64>(concatenate<0>(size<0>(x), 4))) {dimension = 1, is_stable = true, (p0, p1, p2, p3) -> or(LT(p0, p1), and(EQ(p0, p0), NE(p1, p1)))} : tensor<?x4xf64>, tensor<?x4xi64>
# CHECK-NEXT: return a#1 : tensor<?x4xi64>
show([x], pt.argsort(x, axis=1), name="ArgSortOp.dynamic", dims={"x": ("n", 4)})
