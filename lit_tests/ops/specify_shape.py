# RUN: %python %s | filecheck %s
"""SpecifyShape: a demand that becomes a constraint of the signature, and no op of its own."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")
n = pt.lscalar("n")

# CHECK-LABEL: module @SpecifyShape.static
# CHECK-NEXT: return exponential(x) : tensor<3x4xf64>
show([x], pt.exp(pt.specify_shape(x, (3, None))), name="SpecifyShape.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @SpecifyShape.dynamic
# CHECK-NEXT: constraints: 3 == rows, SpecifyShape: axis 0 at an unnamed SpecifyShape node
# CHECK-NEXT: return exponential(reshape<3x4xf64>(x)) : tensor<3x4xf64>
show([x], pt.exp(pt.specify_shape(x, (3, None))), name="SpecifyShape.dynamic", dims={"x": ("rows", 4)})

# CHECK-LABEL: module @SpecifyShape.dynamic.runtime
# CHECK-NEXT: constraints: n == rows, SpecifyShape: axis 0 at an unnamed SpecifyShape node
# CHECK-NEXT: return exponential(x) : tensor<?x4xf64>
show([x, n], pt.exp(pt.specify_shape(x, (n, None))), name="SpecifyShape.dynamic.runtime", dims={"x": ("rows", 4)})
