# RUN: %python %s | filecheck %s
"""Elemwise, ScalarOp: broadcasting, and fused graphs of scalar ops. (The scalar ops themselves: scalar_*.py.)"""

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

show([x, y], x - y, name="Elemwise.static", dims={"x": (3, 4), "y": (3, 4)})

show([x, v], x - v, name="Elemwise.static.row", dims={"x": (3, 4), "v": (4,)})

show([column, v], column - v, name="Elemwise.static.outer", dims={"column": (3, 1), "v": (4,)})

show([x], x * 2.0, name="Elemwise.static.constant", dims={"x": (3, 4)})

show([f, x], f + x, name="Elemwise.static.mixed", dims={"f": (3, 4), "x": (3, 4)})

# Sizes of different names must agree; no op is needed for it.
show([x, y], x - y, name="Elemwise.dynamic", dims={"x": ("n", 4), "y": ("m", 4)})

show([x, v], x - v, name="Elemwise.dynamic.row", dims={"x": ("n", 4), "v": (4,)})

show([column, v], column - v, name="Elemwise.dynamic.outer", dims={"column": ("n", 1), "v": ("m",)})

show([x], x * 2.0, name="Elemwise.dynamic.constant", dims={"x": ("n", 4)})

# The same quotient twice is divided once.
show([x, y], x / y + pt.exp(x / y), name="Elemwise.dynamic.twice", dims={"x": ("n", 4), "y": ("n", 4)})

# A fused graph: its scalar ops on whole tensors.
a, b = ps.float64("a"), ps.float64("b")
composite = Elemwise(Composite([a, b], [(a + b) * b]))

show([x, y], composite(x, y), name="ScalarOp.static", dims={"x": (3, 4), "y": (3, 4)})

show([x, y], composite(x, y), name="ScalarOp.dynamic", dims={"x": ("n", 4), "y": ("n", 4)})

# Integer scalars that become sizes are worked out as sizes.
show([k], pt.zeros(k // 2 + 1), name="Elemwise.dynamic.size")
