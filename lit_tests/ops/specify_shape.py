# RUN: %python %s | filecheck %s
"""SpecifyShape: a demand that becomes a constraint of the signature, and no op of its own."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")
n = pt.lscalar("n")

show([x], pt.exp(pt.specify_shape(x, (3, None))), name="SpecifyShape.static", dims={"x": (3, 4)})

show([x], pt.exp(pt.specify_shape(x, (3, None))), name="SpecifyShape.dynamic", dims={"x": ("rows", 4)})

show([x, n], pt.exp(pt.specify_shape(x, (n, None))), name="SpecifyShape.dynamic.runtime", dims={"x": ("rows", 4)})
