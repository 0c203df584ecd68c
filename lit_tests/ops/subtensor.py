# RUN: %python %s | filecheck %s
"""Subtensor: slices and integer indices."""

import pytensor.tensor as pt
from common import show

x, v = pt.dmatrix("x"), pt.dvector("v")
i, k = pt.lscalar("i"), pt.lscalar("k")

# An index that is an argument is data: checked when the program runs, and no size.
# CHECK-LABEL: module @Subtensor.dynamic
# CHECK-NEXT: return real_dynamic_slice(x, concatenate<0>(minimum(size<0>(x), 1), 0), concatenate<0>(size<0>(x), 6), 1) : tensor<?x6xf64>
show([x], x[1:], name="Subtensor.dynamic", dims={"x": ("n", 6)})

# CHECK-LABEL: module @Subtensor.dynamic.integer
# CHECK-NEXT: constraints: n >= 1, index -1 of axis 0 at an unnamed Subtensor node
# CHECK-NEXT: return reshape<6xf64>(dynamic_slice<[1, 6]>(x, add(size<0>(x), -1), 0)) : tensor<6xf64>
show([x], x[-1], name="Subtensor.dynamic.integer", dims={"x": ("n", 6)})

# CHECK-LABEL: module @Subtensor.dynamic.reverse
# CHECK-NEXT: return reverse<[0]>(v) : tensor<?xf64>
show([v], v[::-1], name="Subtensor.dynamic.reverse", dims={"v": ("n",)})

# An end that is an argument is a size.
# CHECK-LABEL: module @Subtensor.dynamic.end
# CHECK-NEXT: return real_dynamic_slice(v, 0, minimum(maximum(add(multiply(size<0>(v), minimum(maximum(multiply(k, -1), 0), 1)), k), 0), size<0>(v)), 1) : tensor<?xf64>
show([v, k], v[:k], name="Subtensor.dynamic.end", dims={"v": ("n",)})

# CHECK-LABEL: module @Subtensor.dynamic.runtime
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 0 at an unnamed Subtensor node
# CHECK-NEXT: constraints: n >= 1, index of axis 0 at an unnamed Subtensor node
# CHECK-NEXT: a = select(LT(i, 0), add(i, size<0>(x)), i) : tensor<i64>
# CHECK-NEXT: return reshape<6xf64>(dynamic_slice<[1, 6]>(x, a, 0)), and(GE(a, 0), LT(a, size<0>(x))) : tensor<6xf64>, tensor<1xi1>
show([x, i], x[i], name="Subtensor.dynamic.runtime", dims={"x": ("n", 6)})

# CHECK-LABEL: module @Subtensor.dynamic.stride
# CHECK-NEXT: constraints: max(-k, k) >= 1, the absolute step of a slice of axis 0 at an unnamed Subtensor node
# CHECK-NEXT: a = add(size<0>(v), -1) : tensor<i64>
# CHECK-NEXT: b = maximum(maximum(multiply(k, -1), k), 1) : tensor<i64>
# CHECK-NEXT: c = minimum(maximum(k, 0), 1) : tensor<i64>
# CHECK-NEXT: d = dynamic_gather(v, add(multiply(dynamic_iota<0, ?xi64>(add(divide<"(n - 1)//max(-k, k, 1)">(subtract(a, remainder(add(remainder(a, b), b), b)), b), 1)), k), add(add(add(multiply(multiply(size<0>(v), c), -1), size<0>(v)), c), -1)), minimum(size<0>(v), 1)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
show([v, k], v[::k], name="Subtensor.dynamic.stride", dims={"v": ("n",)})

# ---- sizes from data -----------------------------------------------------------------------------------------------

w = pt.dvector("w")

# CHECK-LABEL: module @Subtensor.dynamic.computed
# CHECK-NEXT: counts: slice_0, 8
# CHECK: d = @hlograph.size(maximum(subtract(minimum(maximum(select(LT(c#1, 0), add(c#1, 8), c#1), 0), 8), 0), 0)) {hlograph.bound = "8", hlograph.dim = "slice_0"} : tensor<i64>
# CHECK-NEXT: return real_dynamic_slice(w, 0, d, 1) : tensor<?xf64>
show([w], w[: pt.argmax(w)], name="Subtensor.dynamic.computed", dims={"w": (8,)})

# From a computed start on the places are computed too.
# CHECK-LABEL: module @Subtensor.dynamic.computed.start
# CHECK-NEXT: counts: slice_0, 4
# CHECK: d = minimum(maximum(select(LT(c#1, 0), add(c#1, 8), c#1), 0), 8) : tensor<i64>
# CHECK-NEXT: e = @hlograph.size(divide(add(maximum(subtract(8, d), 0), 1), 2)) {hlograph.bound = "4", hlograph.dim = "slice_0"} : tensor<i64>
# CHECK-NEXT: f = gather(w, add(multiply(dynamic_iota<0, ?xi64>(e), 2), d)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
show([w], w[pt.argmax(w) :: 2], name="Subtensor.dynamic.computed.start", dims={"w": (8,)})
