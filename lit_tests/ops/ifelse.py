# RUN: %python %s | filecheck %s
"""IfElse: what only one branch needs is evaluated inside it."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.ifelse import ifelse

c = pt.dscalar("c")
x, y = pt.dvector("x"), pt.dvector("y")
shared = pt.tanh(x)

# CHECK-LABEL: module @IfElse.dynamic
# CHECK-NEXT: return if<() -> exponential(x), () -> log(y)>(GT(c, 0)) : tensor<?xf64>
show([c, x, y], ifelse(c > 0, pt.exp(x), pt.log(y)), name="IfElse.dynamic", dims={"x": ("n",), "y": ("n",)})

# CHECK-LABEL: module @IfElse.dynamic.several
# CHECK-NEXT: a:2 = if<() -> (x, y), () -> (y, x)>(GT(c, 0)) : tensor<?xf64>, tensor<?xf64>
# CHECK-NEXT: return a#0, a#1 : tensor<?xf64>, tensor<?xf64>
show([c, x, y], ifelse(c > 0, [x, y], [y, x]), name="IfElse.dynamic.several", dims={"x": ("n",), "y": ("n",)})

# Branches of two sizes: room for the larger one, and the size of the one that is taken.
# CHECK-LABEL: module @IfElse.dynamic.sizes
# CHECK-NEXT: counts: branch_0, 3
# CHECK: b = pad(x, 0) {edge_padding_high = [1], edge_padding_low = [0], interior_padding = [0]} : tensor<3xf64>
# CHECK: e = @hlograph.size(select(a, 2, 3)) {hlograph.bound = "3", hlograph.dim = "branch_0"} : tensor<i64>
# CHECK-NEXT: return real_dynamic_slice(d, 0, e, 1) : tensor<?xf64>
show([c, x, y], ifelse(c > 0, x, y), name="IfElse.dynamic.sizes", dims={"x": (2,), "y": (3,)})


class _Branch:
    """What the rule reads of a branch."""

    def __init__(self, output):
        self.fgraph = FunctionGraph([x], [output], clone=False)


# PyTensor 3.3 compiles it to an op with an inner graph for each branch, for other backends.
lazy = of_another_release(
    Op,
    "LazyIfElse",
    make_node=lambda self, c, x: Apply(self, [c, x], [x.type()]),
    perform=None,
    true_branch=_Branch(pt.exp(x)),
    false_branch=_Branch(x),
    inner_graphs={},
)()

# CHECK-LABEL: module @LazyIfElse.dynamic
# CHECK-NEXT: return if<() -> exponential(y), () -> y>(GT(c, 0)) : tensor<?xf64>
show([c, y], lazy(c > 0, y), name="LazyIfElse.dynamic", dims={"y": ("n",)})
