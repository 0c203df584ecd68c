# RUN: %python %s | filecheck %s
"""IfElse: what only one branch needs is evaluated inside it."""

import pytensor.tensor as pt
from common import show
from pytensor.ifelse import ifelse

c = pt.dscalar("c")
x, y = pt.dvector("x"), pt.dvector("y")
shared = pt.tanh(x)

show([c, x], ifelse(c > 0, pt.exp(shared), shared), name="IfElse.static", dims={"x": (3,)})

show([c, x, y], ifelse(c > 0, pt.exp(x), pt.log(y)), name="IfElse.dynamic", dims={"x": ("n",), "y": ("n",)})

# The check of a branch that is not taken holds.
checked = pt.exp(pt.specify_shape(x, (3,)))
show([c, x, y], ifelse(c > 0, [x, y], [y, x]), name="IfElse.dynamic.several", dims={"x": ("n",), "y": ("n",)})
