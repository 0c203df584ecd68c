# RUN: %python %s | filecheck %s
"""SearchsortedOp: bisection, for all values at once, as many steps as the size has bits."""

import pytensor.tensor as pt
from common import show

x, k = pt.dvector("x"), pt.lvector("k")

# A vector that may be empty gets one more element, so that there is one to read.
# CHECK-LABEL: module @SearchsortedOp.dynamic
# CHECK-NEXT: a = convert<f64>(k) : tensor<?xf64>
# CHECK-NEXT: b = pad(x, 0) {edge_padding_high = [1], edge_padding_low = [0], interior_padding = [0]} : tensor<?xf64>
# CHECK-NEXT: g:3 = while<(p0, p1, p2) -> GT(p0, 0)>(size<0>(x), 0, size<0>(x)) : tensor<i64>, tensor<?xi64>, tensor<?xi64>
# CHECK-NEXT:   (p0, p1, p2) ->
# CHECK-NEXT:     c = divide(add(p1, p2), 2) : tensor<?xi64>
# CHECK-NEXT:     d = gather(b, c) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
# CHECK-NEXT:     e = not(or(LT(a, d), and(EQ(a, a), NE(d, d)))) : tensor<?xi1>
# CHECK-NEXT:     f = LT(p1, p2) : tensor<?xi1>
# CHECK-NEXT:     return (divide(p0, 2), select(and(f, e), add(c, 1), p1), select(or(not(f), e), p2, c))
# CHECK-NEXT: return g#1 : tensor<?xi64>
show([x, k], pt.searchsorted(x, k, side="right"), name="SearchsortedOp.dynamic", dims={"x": ("n",), "k": ("m",)})
