# RUN: %python %s | filecheck %s
"""SpecifyShape: a demand that becomes a constraint of the signature, and no op of its own."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")
n, s = pt.lscalar("n"), pt.lvector("s")

# CHECK-LABEL: module @SpecifyShape.dynamic
# CHECK-NEXT: constraints: 3 == rows, SpecifyShape: axis 0 at an unnamed SpecifyShape node
# CHECK-NEXT: return exponential(reshape<3x4xf64>(x)) : tensor<3x4xf64>
show([x], pt.exp(pt.specify_shape(x, (3, None))), name="SpecifyShape.dynamic", dims={"x": ("rows", 4)})

# CHECK-LABEL: module @SpecifyShape.dynamic.computed
# CHECK-NEXT: checks: AssertionError, SpecifyShape: axis 0 of size x_0 is not as asserted
# CHECK-NEXT: constraints: s_0 >= 1, index 0 of axis 0 at an unnamed Subtensor node, index
# CHECK-NEXT: return x, EQ(slice<0:1:1>(s), size<0>(x)) : tensor<?x?xf64>, tensor<1xi1>
show([x, s], [pt.specify_shape(x, (s[0], None))], name="SpecifyShape.dynamic.computed")
