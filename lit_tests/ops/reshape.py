# RUN: %python %s | filecheck %s
"""Reshape: the same elements in another shape; one size may be -1."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")
n, k = pt.lscalar("n"), pt.lvector("k")

# CHECK-LABEL: module @Reshape.dynamic
# CHECK-NEXT: return dynamic_reshape<4x?xf64>(x, concatenate<0>(4, size<0>(x))) : tensor<4x?xf64>
show([x], x.reshape((x.shape[1], x.shape[0])), name="Reshape.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @Reshape.dynamic.inferred
# CHECK-NEXT: return dynamic_reshape<?xf64>(x, multiply(size<0>(x), 4)) : tensor<?xf64>
show([x], x.reshape((-1,)), name="Reshape.dynamic.inferred", dims={"x": ("n", 4)})

# CHECK-LABEL: module @Reshape.dynamic.runtime
# CHECK-NEXT: constraints: n >= 0, size 0 of Reshape at an unnamed Reshape node
# CHECK-NEXT: constraints: (4*rows) % n == 0, the open size of Reshape at an unnamed Reshape node
# CHECK-NEXT: constraints: n*((4*rows)//n) == 4*rows, reshape at an unnamed Reshape node
# CHECK-NEXT: a = EQ(n, 0) : tensor<i1>
# CHECK-NEXT: b = select(a, 0, multiply(size<0>(x), 4)) : tensor<i64>
# CHECK-NEXT: c = select(a, 1, n) : tensor<i64>
# CHECK-NEXT: return dynamic_reshape<?x?xf64>(x, concatenate<0>(n, divide<"(4*rows)//n">(subtract(b, remainder(add(remainder(b, c), c), c)), c))) : tensor<?x?xf64>
show([x, n], x.reshape((n, -1)), name="Reshape.dynamic.runtime", dims={"x": ("rows", 4)})

# A size that is computed may turn out to be -1, too.
# CHECK-LABEL: module @Reshape.dynamic.computed
# CHECK-NEXT: checks: ValueError, the target of Reshape: the size that is -1 is not determined
# CHECK: f = divide(12, maximum(e, 1)) : tensor<i64>
# CHECK-NEXT: g = select(b, f, slice<0:1:1>(a)) : tensor<i64>
# CHECK-NEXT: h = select(c, f, slice<1:2:1>(a)) : tensor<i64>
show([x, k], x.reshape(k + 0 * k, ndim=2), name="Reshape.dynamic.computed", dims={"x": (3, 4)})

# CHECK-LABEL: module @Reshape.dynamic.open
# CHECK-NEXT: constraints: n >= -1, size 0 of Reshape at an unnamed Reshape node
# CHECK-NEXT: constraints: 6*max(-n, n) >= min(-min(n + 1, 1) + 1, 1), the sizes of Reshape beside one that is -1 at an unnamed Reshape node
# CHECK-NEXT: constraints: 6*max(n, -(12//max(6*max(-n, n), 1))*min(n + 1, 1) + 12//max(6*max(-n, n), 1)) == 12, reshape at an unnamed Reshape node
# CHECK-NEXT: return dynamic_reshape<?x6xf64>(x, [2, 6]) : tensor<?x6xf64>
show([n, x], x.reshape((n, 6)), name="Reshape.dynamic.open", dims={"x": (3, 4)}, open_sizes=True)
