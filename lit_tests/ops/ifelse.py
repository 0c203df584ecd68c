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

# CHECK-LABEL: module @IfElse.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GT, %arg0, [[CONST]] : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[TANH:%\w+]] = stablehlo.tanh %arg1 : tensor<3xf64>
# CHECK-NEXT: [[CHOICE:%\w+]] = "stablehlo.if"([[TEST]]) ({
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential [[TANH]] : tensor<3xf64>
# CHECK-NEXT: stablehlo.return [[EXP]] : tensor<3xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: stablehlo.return [[TANH]] : tensor<3xf64>
# CHECK-NEXT: }) : (tensor<i1>) -> tensor<3xf64>
# CHECK-NEXT: return [[CHOICE]] : tensor<3xf64>
show([c, x], ifelse(c > 0, pt.exp(shared), shared), name="IfElse.static", dims={"x": (3,)})

# CHECK-LABEL: module @IfElse.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GT, %arg0, [[CONST]] : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[CHOICE:%\w+]] = "stablehlo.if"([[TEST]]) ({
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential %arg1 : tensor<?xf64>
# CHECK-NEXT: stablehlo.return [[EXP]] : tensor<?xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: [[LOG:%\w+]] = stablehlo.log %arg2 : tensor<?xf64>
# CHECK-NEXT: stablehlo.return [[LOG]] : tensor<?xf64>
# CHECK-NEXT: }) : (tensor<i1>) -> tensor<?xf64>
# CHECK-NEXT: return [[CHOICE]] : tensor<?xf64>
show([c, x, y], ifelse(c > 0, pt.exp(x), pt.log(y)), name="IfElse.dynamic", dims={"x": ("n",), "y": ("n",)})

# CHECK-LABEL: module @IfElse.dynamic.several
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GT, %arg0, [[CONST]] : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[CHOICE:%\w+]]:2 = "stablehlo.if"([[TEST]]) ({
# CHECK-NEXT: stablehlo.return %arg1, %arg2 : tensor<?xf64>, tensor<?xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: stablehlo.return %arg2, %arg1 : tensor<?xf64>, tensor<?xf64>
# CHECK-NEXT: }) : (tensor<i1>) -> (tensor<?xf64>, tensor<?xf64>)
# CHECK-NEXT: return [[CHOICE]]#0, [[CHOICE]]#1 : tensor<?xf64>, tensor<?xf64>
show([c, x, y], ifelse(c > 0, [x, y], [y, x]), name="IfElse.dynamic.several", dims={"x": ("n",), "y": ("n",)})


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

# CHECK-LABEL: module @LazyIfElse.static
# CHECK-NOT: dynamic_
# CHECK: [[CHOICE:%\w+]] = "stablehlo.if"([[TEST:%\w+]]) ({
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential %arg1 : tensor<3xf64>
# CHECK-NEXT: stablehlo.return [[EXP]] : tensor<3xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: stablehlo.return %arg1 : tensor<3xf64>
# CHECK-NEXT: }) : (tensor<i1>) -> tensor<3xf64>
# CHECK-NEXT: return [[CHOICE]] : tensor<3xf64>
show([c, y], lazy(c > 0, y), name="LazyIfElse.static", dims={"y": (3,)})

# CHECK-LABEL: module @LazyIfElse.dynamic
# CHECK: [[CHOICE:%\w+]] = "stablehlo.if"([[TEST:%\w+]]) ({
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential %arg1 : tensor<?xf64>
# CHECK-NEXT: stablehlo.return [[EXP]] : tensor<?xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: stablehlo.return %arg1 : tensor<?xf64>
# CHECK-NEXT: }) : (tensor<i1>) -> tensor<?xf64>
# CHECK-NEXT: return [[CHOICE]] : tensor<?xf64>
show([c, y], lazy(c > 0, y), name="LazyIfElse.dynamic", dims={"y": ("n",)})
