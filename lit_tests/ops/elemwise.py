# RUN: %python %s | filecheck %s
"""Elemwise, ScalarOp: broadcasting, and fused graphs of scalar ops. (The scalar ops themselves: scalar.py.)"""

import pytensor.scalar as ps
import pytensor.tensor as pt
from common import show
from pytensor.scalar.basic import Composite
from pytensor.tensor.elemwise import Elemwise

x, y = pt.dmatrix("x"), pt.dmatrix("y")
v = pt.dvector("v")
f = pt.fmatrix("f")
column = pt.dcol("column")
k = pt.lscalar("k")

# CHECK-LABEL: module @Elemwise.static.mixed
# CHECK-NEXT: return add(convert<f64>(f), x) : tensor<3x4xf64>
show([f, x], f + x, name="Elemwise.static.mixed", dims={"f": (3, 4), "x": (3, 4)})

# Sizes of different names must agree; no op is needed for it.
# CHECK-LABEL: module @Elemwise.dynamic
# CHECK-NEXT: constraints: n == m, axis 0 of the elementwise operation at an unnamed Elemwise node
# CHECK-NEXT: return subtract(x, y) : tensor<?x4xf64>
show([x, y], x - y, name="Elemwise.dynamic", dims={"x": ("n", 4), "y": ("m", 4)})

# CHECK-LABEL: module @Elemwise.dynamic.row
# CHECK-NEXT: return subtract(x, dynamic_broadcast_in_dim<[1], ?x4xf64>(v, concatenate<0>(size<0>(x), 4))) : tensor<?x4xf64>
show([x, v], x - v, name="Elemwise.dynamic.row", dims={"x": ("n", 4), "v": (4,)})

# CHECK-LABEL: module @Elemwise.dynamic.outer
# CHECK-NEXT: a = concatenate<0>(size<0>(column), size<0>(v)) : tensor<2xi64>
# CHECK-NEXT: return subtract(dynamic_broadcast_in_dim<[0, 1], ?x?xf64>(column, a), dynamic_broadcast_in_dim<[1], ?x?xf64>(v, a)) : tensor<?x?xf64>
show([column, v], column - v, name="Elemwise.dynamic.outer", dims={"column": ("n", 1), "v": ("m",)})

# CHECK-LABEL: module @Elemwise.dynamic.constant
# CHECK-NEXT: return multiply(x, 2) : tensor<?x4xf64>
show([x], x * 2.0, name="Elemwise.dynamic.constant", dims={"x": ("n", 4)})

# A fused graph: its scalar ops on whole tensors.
a, b = ps.float64("a"), ps.float64("b")
composite = Elemwise(Composite([a, b], [(a + b) * b]))

# CHECK-LABEL: module @ScalarOp.dynamic
# CHECK-NEXT: return multiply(add(x, y), y) : tensor<?x4xf64>
show([x, y], composite(x, y), name="ScalarOp.dynamic", dims={"x": ("n", 4), "y": ("n", 4)})

# Integer scalars that become sizes are worked out as sizes.
# CHECK-LABEL: module @Elemwise.dynamic.size
# CHECK-NEXT: constraints: k//2 + 1 >= 0, size 0 of Alloc at an unnamed Alloc node
# CHECK-NEXT: return dynamic_broadcast_in_dim<[], ?xf64>(0, add(divide<"k//2">(subtract(k, remainder(add(remainder(k, 2), 2), 2)), 2), 1)) : tensor<?xf64>
show([k], pt.zeros(k // 2 + 1), name="Elemwise.dynamic.size")
