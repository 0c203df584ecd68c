# RUN: %python %s | filecheck %s
"""CumOp: running sum and product; a window on a static axis, doubling shifts on a symbolic one."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")

show([x], pt.cumsum(x, axis=1), name="CumOp.static", dims={"x": (3, 4)})

show([x], pt.cumprod(x), name="CumOp.static.flat", dims={"x": (3, 4)})

show([x], pt.cumsum(x, axis=1), name="CumOp.dynamic.other", dims={"x": ("n", 4)})

show([x], pt.cumsum(x, axis=0), name="CumOp.dynamic", dims={"x": ("n", 4)})
