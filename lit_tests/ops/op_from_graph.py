# RUN: %python %s | filecheck %s
"""OpFromGraph: the inner graph, in place."""

import pytensor.tensor as pt
from common import show
from pytensor.compile.builders import OpFromGraph

x, y = pt.dvector("x"), pt.dvector("y")
op = OpFromGraph([x, y], [x - y, pt.exp(x - y)])

# CHECK-LABEL: module @OpFromGraph.dynamic
# CHECK-NEXT: a = subtract(y, x) : tensor<?xf64>
# CHECK-NEXT: return a, exponential(a) : tensor<?xf64>, tensor<?xf64>
show([x, y], op(y, x), name="OpFromGraph.dynamic", dims={"x": ("n",), "y": ("n",)})
