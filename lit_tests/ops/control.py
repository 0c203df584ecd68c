# RUN: %python %s | filecheck %s
"""Branches, loops, checks, batches, inner graphs, random variables, calls of Python."""

import warnings

import numpy as np
import pytensor
import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.breakpoint import PdbBreakpoint
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import FromFunctionOp
from pytensor.graph.basic import Apply
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.ifelse import ifelse
from pytensor.link.jax.ops import JAXOp
from pytensor.printing import Print
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.linalg import qz
from pytensor.tensor.optimize import minimize, minimize_scalar, root, root_scalar

# ---- Blockwise: a core op over leading batch axes, which stretch as NumPy's do
x, y = pt.dtensor3("x"), pt.dmatrix("y")

# CHECK: Blockwise.dynamic: dot_general<[2], [1], batch [0], [0]>(x, dynamic_broadcast_in_dim<[1, 2], ?x4x5xf64>(y, [size<0>(x), 4, 5])) : tensor<?x3x5xf64>
show("Blockwise.dynamic", [x, y], pt.matmul(x, y), {"x": ("n", 3, 4), "y": (4, 5)})

# ---- CheckAndRaise: a condition becomes a flag among the results, with the exception in the signature
x = pt.dvector("x")
checked = CheckAndRaise(ValueError, "sum too large")(x, x.sum() < 1, x.sum() > 0)

# CHECK: CheckAndRaise.dynamic: checks: ValueError, sum too large
# CHECK-NEXT: a = reduce<[0], add>(x, 0) : tensor<f64>
# CHECK-NEXT: return x, and(LT(a, 1), GT(a, 0)) : tensor<?xf64>, tensor<1xi1>
show("CheckAndRaise.dynamic", [x], checked, {"x": ("n",)})

# ---- Ops that are Python: calls of the host. What comes back is as long as the op says
k = pt.dscalar("k")

# CHECK: Print.dynamic: a:2 = @hlograph.host(0, x, [], size<0>(x)) {indices_of_shape_operands = [2, 3]} : tensor<i32>, tensor<?xf64>
# CHECK-NEXT: return a#1 : tensor<?xf64>
show("Print.dynamic", [x], Print("x")(x))

double = FromFunctionOp(
    lambda a, b: a * 2, [pt.dvector, pt.dmatrix], [pt.dmatrix], lambda *s: [(s[-1][0][0], s[-1][1][1])]
)

# CHECK: FromFunctionOp.dynamic: a:2 = @hlograph.host(0, x, y, [], [size<0>(x), size<1>(y)]) {indices_of_shape_operands = [3, 4]} : tensor<i32>, tensor<?x?xf64>
# CHECK-NEXT: return a#1 : tensor<?x?xf64>
show("FromFunctionOp.dynamic", [x, y], double(x, y))

# CHECK: PdbBreakpoint.dynamic: a:2 = @hlograph.host(0, GT(k, 0), x, [], size<0>(x)) {indices_of_shape_operands = [3, 4]} : tensor<i32>, tensor<?xf64>
# CHECK-NEXT: return a#1 : tensor<?xf64>
show("PdbBreakpoint.dynamic", [k, x], PdbBreakpoint("here")(k > 0, x))

# CHECK: MinimizeScalarOp.dynamic: a:3 = @hlograph.host(0, k, x) : tensor<i32>, tensor<f64>, tensor<i1>
# CHECK-NEXT: return a#1, a#2 : tensor<f64>, tensor<i1>
show("MinimizeScalarOp.dynamic", [k, x], list(minimize_scalar(((k - x) ** 2).sum(), k)))

# CHECK: MinimizeOp.dynamic: a:3 = @hlograph.host(0, x, [], size<0>(x), []) {indices_of_shape_operands = [2, 3, 4]} : tensor<i32>, tensor<?xf64>, tensor<i1>
# CHECK-NEXT: return a#1, a#2 : tensor<?xf64>, tensor<i1>
show("MinimizeOp.dynamic", [x], list(minimize((x**2).sum(), x)))

# CHECK: RootScalarOp.dynamic: a:3 = @hlograph.host(0, k, x) : tensor<i32>, tensor<f64>, tensor<i1>
# CHECK-NEXT: return a#1, a#2 : tensor<f64>, tensor<i1>
show("RootScalarOp.dynamic", [k, x], list(root_scalar((k**2 - x).sum(), k)))

# CHECK: RootOp.dynamic: a:3 = @hlograph.host(0, x, [], size<0>(x), []) {indices_of_shape_operands = [2, 3, 4]} : tensor<i32>, tensor<?xf64>, tensor<i1>
# CHECK-NEXT: return a#1, a#2 : tensor<?xf64>, tensor<i1>
show("RootOp.dynamic", [x], list(root(x**2 - 2, x)))

# CHECK: QZ.dynamic: a:5 = @hlograph.host(0, y, y, [], [size<0>(y), size<1>(y)], [size<0>(y), size<1>(y)], [size<0>(y), size<1>(y)], [size<0>(y), size<1>(y)]) {indices_of_shape_operands = [3, 4, 5, 6, 7]} : tensor<i32>, tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>
show("QZ.dynamic", [y], list(qz(y, y)))

# ---- IfElse: what only one branch needs is evaluated inside it
c = pt.dscalar("c")
y = pt.dvector("y")

# CHECK: IfElse.dynamic: if<() -> exponential(x), () -> log(y)>(GT(c, 0)) : tensor<?xf64>
show("IfElse.dynamic", [c, x, y], ifelse(c > 0, pt.exp(x), pt.log(y)), {"x": ("n",), "y": ("n",)})

# CHECK: IfElse.dynamic.several: a:2 = if<() -> (x, y), () -> (y, x)>(GT(c, 0)) : tensor<?xf64>, tensor<?xf64>
# CHECK-NEXT: return a#0, a#1 : tensor<?xf64>, tensor<?xf64>
show("IfElse.dynamic.several", [c, x, y], ifelse(c > 0, [x, y], [y, x]), {"x": ("n",), "y": ("n",)})


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
# CHECK: LazyIfElse.dynamic: if<() -> exponential(y), () -> y>(GT(c, 0)) : tensor<?xf64>
show("LazyIfElse.dynamic", [c, y], lazy(c > 0, y), {"y": ("n",)})

# ---- JAXOp: the JAX function, as a private function of the module
twice = JAXOp([x.type], [x.type], lambda v: (v + v,), name="twice")

# CHECK: JAXOp.dynamic: return @twice(x) : tensor<?xf64>
# CHECK-NEXT: @twice(tensor<?xf64>) -> tensor<?xf64>:
# CHECK-NEXT: return add(arg0, arg0) : tensor<?xf64>
show("JAXOp.dynamic", [x], twice(x), {"x": ("n",)})

# ---- OpFromGraph: the inner graph, in place
op = OpFromGraph([x, y], [x - y, pt.exp(x - y)])

# CHECK: OpFromGraph.dynamic: a = subtract(y, x) : tensor<?xf64>
# CHECK-NEXT: return a, exponential(a) : tensor<?xf64>, tensor<?xf64>
show("OpFromGraph.dynamic", [x, y], op(y, x), {"x": ("n",), "y": ("n",)})

# ---- Scan: one while, whose carries are the step's number, the states, and the traces that get a row in each step
g = pt.dvector("g")


def scan(*args, **options):
    return pytensor.scan(*args, return_updates=False, **options)


sums = scan(lambda s, total: total + s, sequences=x, outputs_info=pt.constant(np.float64(0)))

# Without a step there is no row to read; the padding gives the body one.
# CHECK: Scan.dynamic: a = dynamic_pad(x, 0, 0, maximum(add(multiply(size<0>(x), -1), 1), 0), 0) : tensor<?xf64>
# CHECK-NEXT: c:3 = while<(p0, p1, p2) -> LT(p0, size<0>(x))>(0, 0, 0) : tensor<i64>, tensor<f64>, tensor<?xf64>
# CHECK-NEXT: (p0, p1, p2) ->
# CHECK-NEXT: b = add(p1, dynamic_slice<[1]>(a, p0)) : tensor<f64>
# CHECK-NEXT: return (add(p0, 1), b, dynamic_update_slice(p2, b, p0))
# CHECK-NEXT: return real_dynamic_slice(c#2, 0, size<0>(x), 1) : tensor<?xf64>
show("Scan.dynamic", [x], sums, {"x": ("n",)})

# The rows of a gradient's buffer that a step reads and adds to slide along with it; what is read backwards is no copy.
products = scan(lambda s, p: p * s, sequences=x, outputs_info=pt.constant(np.float64(1)))
back = pytensor.grad(None, x, known_grads={products: g})

# CHECK: Scan.static.gradient: {{.*}}
# CHECK: c:3 = while<(p0, p1, p2) -> LT(p0, 4)>(0, 1, 0) : tensor<i64>, tensor<f64>, tensor<4xf64>
# CHECK: f:5 = while<(p0, p1, p2, p3, p4) -> LT(p0, 4)>(0, slice<3:4:1>(d), slice<2:3:1>(d), 0, 0) : tensor<i64>, tensor<f64>, tensor<f64>, tensor<4xf64>, tensor<4xf64>
# CHECK: return add(0, add(0, reverse<[0]>(f#4))) : tensor<4xf64>
show("Scan.static.gradient", [x, g], back, {"x": (4,), "g": (4,)})

# ---- RandomVariable: JAX's sampler as a private function, on a part of the one key or of a generator that is a key

warnings.simplefilter("ignore")

first, second = (pytensor.shared(np.random.default_rng(0), name=name) for name in ("first", "second"))
x, loc = pt.dmatrix("x"), pt.dvector("loc")
normal = pt.random.normal(loc, 1.0, size=(3, 4), rng=first)
coin = pt.random.bernoulli(pt.sigmoid(x), rng=second)

# CHECK: RandomVariable.static.one_key: key: key, threefry2x32
# CHECK-NEXT: a = @split(key) : tensor<2x2xui32>
# CHECK-NEXT: return @normal(reshape<2xui32>(slice<0:1:1, 0:2:1>(a)), reshape<1x4xf64>(loc), 1), @bernoulli(reshape<2xui32>(slice<1:2:1, 0:2:1>(a)), logistic(x)) : tensor<3x4xf64>, tensor<2x3xi64>
show("RandomVariable.static.one_key", [loc, x], [normal, coin], {"loc": (4,), "x": (2, 3)})

# CHECK: RandomVariable.dynamic: key: key, threefry2x32
# CHECK-NEXT: return @bernoulli(reshape<2xui32>(@split(key)), logistic(x)) : tensor<?x3xi64>
# CHECK: @bernoulli(tensor<2xui32>, tensor<?x3xf64>) -> tensor<?x3xi64>:
# CHECK-NOT: @
show("RandomVariable.dynamic", [x], coin, {"x": ("n", 3)})
