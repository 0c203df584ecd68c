# RUN: %python %s | filecheck %s
"""Scan: one while, whose carries are the step's number, the states, and the traces that get a row in each step."""

import numpy as np
import pytensor
import pytensor.tensor as pt
from common import show
from pytensor.scan.utils import until

x, y, g, a, n = pt.dvector("x"), pt.dvector("y"), pt.dvector("g"), pt.dscalar("a"), pt.lscalar("n")


def scan(*args, **options):
    return pytensor.scan(*args, return_updates=False, **options)


sums = scan(lambda s, total: total + s, sequences=x, outputs_info=pt.constant(np.float64(0)))

# Without a step there is no row to read; the padding gives the body one.
# CHECK-LABEL: module @Scan.dynamic
# CHECK-NEXT: a = dynamic_pad(x, 0, 0, maximum(add(multiply(size<0>(x), -1), 1), 0), 0) : tensor<?xf64>
# CHECK-NEXT: c:3 = while<(p0, p1, p2) -> LT(p0, size<0>(x))>(0, 0, 0) : tensor<i64>, tensor<f64>, tensor<?xf64>
# CHECK-NEXT: (p0, p1, p2) ->
# CHECK-NEXT: b = add(p1, dynamic_slice<[1]>(a, p0)) : tensor<f64>
# CHECK-NEXT: return (add(p0, 1), b, dynamic_update_slice(p2, b, p0))
# CHECK-NEXT: return real_dynamic_slice(c#2, 0, size<0>(x), 1) : tensor<?xf64>
show([x], sums, name="Scan.dynamic", dims={"x": ("n",)})

# The condition is a carry, and the number of steps a size from data.
powers = scan(lambda s: (s * 2.0, until(s > 100)), outputs_info=a, n_steps=9)

# CHECK-LABEL: module @Scan.dynamic.until
# CHECK-NEXT: counts: steps_0, 9
# CHECK-NEXT: c:4 = while<(p0, p1, p2, p3) -> and(LT(p0, 9), p1)>(0, true, a, 0) : tensor<i64>, tensor<i1>, tensor<f64>, tensor<9xf64>
# CHECK-NEXT: (p0, p1, p2, p3) ->
# CHECK-NEXT: b = multiply(p2, 2) : tensor<f64>
# CHECK-NEXT: return (add(p0, 1), not(GT(p2, 100)), b, dynamic_update_slice(p3, b, p0))
# CHECK-NEXT: d = @hlograph.size(c#0) {hlograph.bound = "9", hlograph.dim = "steps_0"} : tensor<i64>
# CHECK-NEXT: return real_dynamic_slice(c#3, 0, d, 1) : tensor<?xf64>
show([a], powers, name="Scan.dynamic.until")

# States from far back are read from the trace.
far = scan(lambda new, old: new + old, outputs_info=[{"initial": y, "taps": [-1, -6]}], n_steps=n)

# The rows of a gradient's buffer that a step reads and adds to slide along with it; what is read backwards is no copy.
products = scan(lambda s, p: p * s, sequences=x, outputs_info=pt.constant(np.float64(1)))
back = pytensor.grad(None, x, known_grads={products: g})

# CHECK-LABEL: module @Scan.static.gradient
# CHECK-NEXT: a = broadcast_in_dim<[], 5xf64>(0) : tensor<5xf64>
# CHECK-NEXT: c:3 = while<(p0, p1, p2) -> LT(p0, 4)>(0, 1, 0) : tensor<i64>, tensor<f64>, tensor<4xf64>
# CHECK-NEXT: (p0, p1, p2) ->
# CHECK-NEXT: b = multiply(p1, dynamic_slice<[1]>(x, p0)) : tensor<f64>
# CHECK-NEXT: return (add(p0, 1), b, dynamic_update_slice(p2, b, p0))
# CHECK-NEXT: d = add(slice<1:5:1>(a), g) : tensor<4xf64>
# CHECK-NEXT: f:5 = while<(p0, p1, p2, p3, p4) -> LT(p0, 4)>(0, slice<3:4:1>(d), slice<2:3:1>(d), 0, 0) : tensor<i64>, tensor<f64>, tensor<f64>, tensor<4xf64>, tensor<4xf64>
# CHECK-NEXT: (p0, p1, p2, p3, p4) ->
# CHECK-NEXT: e = subtract(3, p0) : tensor<i64>
# CHECK-NEXT: return (add(p0, 1), add(multiply(p1, dynamic_slice<[1]>(x, e)), p2), dynamic_slice<[1]>(dynamic_update_slice(a, d, 1), subtract(4, add(p0, 2))), dynamic_update_slice(p3, p1, p0), dynamic_update_slice(p4, multiply(p1, dynamic_slice<[1]>(concatenate<0>(1, c#2), e)), p0))
# CHECK-NEXT: return add(0, add(0, reverse<[0]>(f#4))) : tensor<4xf64>
show([x, g], back, name="Scan.static.gradient", dims={"x": (4,), "g": (4,)})
