# RUN: %python %s | filecheck %s
"""IncSubtensor: writing to, and adding at, slices and integer indices."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.subtensor import inc_subtensor, set_subtensor

x, v, y = pt.dmatrix("x"), pt.dvector("v"), pt.dvector("y")
i, k = pt.lscalar("i"), pt.lscalar("k")

# Not contiguous: through padding and a mask.
# CHECK-LABEL: module @IncSubtensor.static.runtime
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 0 at an unnamed IncSubtensor node
# CHECK-NEXT: a = select(LT(i, 0), add(i, 5), i) : tensor<i64>
# CHECK-NEXT: return dynamic_update_slice(x, reshape<1x6xf64>(v), a, 0), and(GE(a, 0), LT(a, 5)) : tensor<5x6xf64>, tensor<1xi1>
show([x, v, i], set_subtensor(x[i], v), name="IncSubtensor.static.runtime", dims={"x": (5, 6), "v": (6,)})

# CHECK-LABEL: module @IncSubtensor.dynamic
# CHECK-NEXT: constraints: max(n - 1, 0) == m, the written value, axis 0 at an unnamed IncSubtensor node
# CHECK-NEXT: return dynamic_update_slice(v, y, minimum(size<0>(v), 1)) : tensor<?xf64>
show([v, y], set_subtensor(v[1:], y), name="IncSubtensor.dynamic", dims={"v": ("n",), "y": ("m",)})

# CHECK-LABEL: module @IncSubtensor.dynamic.add
# CHECK-NEXT: a = minimum(size<0>(v), 1) : tensor<i64>
# CHECK-NEXT: return dynamic_update_slice(v, add(real_dynamic_slice(v, a, size<0>(v), 1), 1), a) : tensor<?xf64>
show([v], inc_subtensor(v[1:], 1.0), name="IncSubtensor.dynamic.add", dims={"v": ("n",)})

# CHECK-LABEL: module @IncSubtensor.dynamic.end
# CHECK-NEXT: return dynamic_update_slice(v, dynamic_broadcast_in_dim<[], ?xf64>(0, minimum(maximum(add(multiply(size<0>(v), minimum(maximum(multiply(k, -1), 0), 1)), k), 0), size<0>(v))), 0) : tensor<?xf64>
show([v, k], set_subtensor(v[:k], 0.0), name="IncSubtensor.dynamic.end", dims={"v": ("n",)})

# CHECK-LABEL: module @IncSubtensor.dynamic.strided
# CHECK-NEXT: constraints: (n + 1)//2 == m, the written value, axis 0 at an unnamed IncSubtensor node
# CHECK-NEXT: a = maximum(add(multiply(divide(add(size<0>(v), 1), 2), 2), -1), 0) : tensor<i64>
# CHECK-NEXT: b = dynamic_iota<0, ?xi64>(size<0>(v)) : tensor<?xi64>
# CHECK-NEXT: c = dynamic_pad(y, 0, 0, add(size<0>(v), multiply(a, -1)), 1) : tensor<?xf64>
# CHECK-NEXT: return select(and(LT(b, a), EQ(remainder(b, 2), 0)), c, v) : tensor<?xf64>
show([v, y], set_subtensor(v[::2], y), name="IncSubtensor.dynamic.strided", dims={"v": ("n",), "y": ("m",)})

# CHECK-LABEL: module @IncSubtensor.dynamic.backward
# CHECK-NEXT: constraints: (n + 1)//2 == m, the written value, axis 0 at an unnamed IncSubtensor node
# CHECK-NEXT: a = divide(add(size<0>(v), 1), 2) : tensor<i64>
# CHECK-NEXT: b = minimum(a, 1) : tensor<i64>
# CHECK-NEXT: c = add(add(multiply(size<0>(v), b), multiply(multiply(a, b), -2)), b) : tensor<i64>
# CHECK-NEXT: d = subtract(dynamic_iota<0, ?xi64>(size<0>(v)), c) : tensor<?xi64>
# CHECK-NEXT: e = dynamic_pad(reverse<[0]>(y), 0, c, 0, 1) : tensor<?xf64>
# CHECK-NEXT: return select(and(GE(d, 0), EQ(remainder(d, 2), 0)), e, v) : tensor<?xf64>
show([v, y], set_subtensor(v[::-2], y), name="IncSubtensor.dynamic.backward", dims={"v": ("n",), "y": ("m",)})
