# RUN: %python %s | filecheck %s
"""Elementwise graphs, reductions, running sums, sorts, softmax, convolutions, Fourier transforms, splines."""

import pytensor.scalar as ps
import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.scalar.basic import Composite
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.fft import irfft, rfft
from pytensor.tensor.signal import convolve1d, convolve2d
from pytensor.tensor.special import log_softmax, softmax
from scipy.interpolate import InterpolatedUnivariateSpline

# ---- Elemwise, ScalarOp: broadcasting, and fused graphs of scalar ops. (The scalar ops themselves: scalar.py.)
x, y = pt.dmatrix("x"), pt.dmatrix("y")
v = pt.dvector("v")
f = pt.fmatrix("f")
column = pt.dcol("column")
k = pt.lscalar("k")

# CHECK: Elemwise.static.mixed: add(convert<f64>(f), x) : tensor<3x4xf64>
show("Elemwise.static.mixed", [f, x], f + x, {"f": (3, 4), "x": (3, 4)})

# Sizes of different names must agree; no op is needed for it.
# CHECK: Elemwise.dynamic: constraints: n == m, axis 0 of the elementwise operation at an unnamed Elemwise node
# CHECK-NEXT: return subtract(x, y) : tensor<?x4xf64>
show("Elemwise.dynamic", [x, y], x - y, {"x": ("n", 4), "y": ("m", 4)})
# CHECK: Elemwise.dynamic.outer: subtract(dynamic_broadcast_in_dim<[0, 1], ?x?xf64>(column, [size<0>(column), size<0>(v)]), dynamic_broadcast_in_dim<[1], ?x?xf64>(v, [size<0>(column), size<0>(v)])) : tensor<?x?xf64>
show("Elemwise.dynamic.outer", [column, v], column - v, {"column": ("n", 1), "v": ("m",)})

# A fused graph: its scalar ops on whole tensors.
a, b = ps.float64("a"), ps.float64("b")
composite = Elemwise(Composite([a, b], [(a + b) * b]))

# CHECK: ScalarOp.dynamic: multiply(add(x, y), y) : tensor<?x4xf64>
show("ScalarOp.dynamic", [x, y], composite(x, y), {"x": ("n", 4), "y": ("n", 4)})

# Integer scalars that become sizes are worked out as sizes.
# CHECK: Elemwise.dynamic.size: constraints: k//2 + 1 >= 0, size 0 of Alloc at an unnamed Alloc node
# CHECK-NEXT: return dynamic_broadcast_in_dim<[], ?xf64>(0, add(divide<"k//2">(subtract(k, remainder(add(remainder(k, 2), 2), 2)), 2), 1)) : tensor<?xf64>
show("Elemwise.dynamic.size", [k], pt.zeros(k // 2 + 1))

# ---- CAReduce and what derives from it: sum, prod, max, min, any, all, xor, products without zeros
# CHECK: CAReduce.dynamic: reduce<[0], add>(x, 0) : tensor<4xf64>
show("CAReduce.dynamic", [x], x.sum(axis=0), {"x": ("n", 4)})

# The largest of no elements does not exist: a constraint.
# CHECK: CAReduce.dynamic.max: constraints: n >= 1, maximum over axis 0 of no elements at an unnamed Max node
# CHECK-NEXT: return reduce<[0], maximum>(x, -inf) : tensor<4xf64>
show("CAReduce.dynamic.max", [x], x.max(axis=0), {"x": ("n", 4)})

# ---- Argmax, MaxAndArgmax: index of the first largest element; NaN counts as largest


def _make_node(self, x):
    return Apply(self, [x], [pt.dvector(), pt.lvector()])


i = pt.lmatrix("i")
max_and_argmax = of_another_release(Op, "MaxAndArgmax", make_node=_make_node, perform=None, axis=(0,))()

# CHECK: Argmax.dynamic: constraints: n >= 1, argmax over axis 0 of no elements at node 'argmax'
# CHECK-NEXT: b:2 = reduce<[0]>(i, dynamic_iota<0, ?x4xi64>([size<0>(i), 4]), -9223372036854775808, 9223372036854775807) : tensor<4xi64>, tensor<4xi64>
# CHECK: return b#1 : tensor<4xi64>
show("Argmax.dynamic", [i], i.argmax(axis=0), {"i": ("n", 4)})

# CHECK: MaxAndArgmax.dynamic: constraints: n >= 1, argmax over axis 0 of no elements at an unnamed MaxAndArgmax node
# CHECK-NEXT: c:2 = reduce<[0]>(x, dynamic_iota<0, ?x4xi64>([size<0>(x), 4]), -inf, 9223372036854775807) : tensor<4xf64>, tensor<4xi64>
# CHECK: return reduce<[0], maximum>(x, -inf), c#1 : tensor<4xf64>, tensor<4xi64>
show("MaxAndArgmax.dynamic", [x], max_and_argmax(x), {"x": ("n", 4)})

# ---- CumOp: running sum and product; a window on a static axis, doubling shifts on a symbolic one
# CHECK: CumOp.dynamic: return @stablehlo.dynamic_reduce_window(x, 0, concatenate<0>(maximum(size<0>(x), 1), 1), 1, 1, 1, reshape<2x2xi64>(concatenate<0>(maximum(add(size<0>(x), -1), 0), 0, 0, 0))) {called_computations = [@add_float64]} : tensor<?x4xf64>
# CHECK: @add_float64(tensor<f64>, tensor<f64>) -> tensor<f64>:
# CHECK-NEXT: return add(arg0, arg1) : tensor<f64>
show("CumOp.dynamic", [x], pt.cumsum(x, axis=0), {"x": ("n", 4)})

# ---- Softmax, LogSoftmax, SoftmaxGrad: shifted by the largest element, so that nothing overflows


def _make_node(self, dy, sm):
    return Apply(self, [dy, sm], [sm.type()])


dy = pt.dmatrix("dy")
softmax_grad = of_another_release(Op, "SoftmaxGrad", make_node=_make_node, perform=None, axis=1)()

# CHECK: Softmax.dynamic: a = exponential(subtract(x, dynamic_broadcast_in_dim<[1], ?x4xf64>(reduce<[0], maximum>(x, -inf), [size<0>(x), 4]))) : tensor<?x4xf64>
# CHECK-NEXT: return divide(a, dynamic_broadcast_in_dim<[1], ?x4xf64>(reduce<[0], add>(a, 0), [size<0>(x), 4])) : tensor<?x4xf64>
show("Softmax.dynamic", [x], softmax(x, axis=0), {"x": ("n", 4)})

# CHECK: LogSoftmax.dynamic: a = subtract(x, dynamic_broadcast_in_dim<[0], ?x4xf64>(reduce<[1], maximum>(x, -inf), [size<0>(x), 4])) : tensor<?x4xf64>
# CHECK-NEXT: return subtract(a, dynamic_broadcast_in_dim<[0], ?x4xf64>(log(reduce<[1], add>(exponential(a), 0)), [size<0>(x), 4])) : tensor<?x4xf64>
show("LogSoftmax.dynamic", [x], log_softmax(x, axis=1), {"x": ("n", 4)})

# CHECK: SoftmaxGrad.dynamic: a = multiply(dy, x) : tensor<?x4xf64>
# CHECK-NEXT: return subtract(a, multiply(x, dynamic_broadcast_in_dim<[0], ?x4xf64>(reduce<[1], add>(a, 0), [size<0>(dy), 4]))) : tensor<?x4xf64>
show("SoftmaxGrad.dynamic", [dy, x], softmax_grad(dy, x), {"dy": ("n", 4), "x": ("n", 4)})

# ---- SortOp and ArgSortOp: one stable sort, numbers before NaN; the places travel along for ArgSortOp
k = pt.lvector("k")

# CHECK: SortOp.dynamic: sort(k) {dimension = 0, is_stable = true, LT} : tensor<?xi64>
show("SortOp.dynamic", [k], pt.sort(k), {"k": ("n",)})

# CHECK: ArgSortOp.dynamic: a:2 = sort(x, dynamic_iota<1, ?x4xi64>([size<0>(x), 4])) {dimension = 1, is_stable = true, (p0, p1, p2, p3) -> or(LT(p0, p1), and(EQ(p0, p0), NE(p1, p1)))} : tensor<?x4xf64>, tensor<?x4xi64>
# CHECK-NEXT: return a#1 : tensor<?x4xi64>
show("ArgSortOp.dynamic", [x], pt.argsort(x, axis=1), {"x": ("n", 4)})

# ---- Convolutions: one `convolution` for a batch, with zeros around it as the mode and the sizes say; windows
x, y, table, other, k = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("table"), pt.dmatrix("other"), pt.lscalar("k")

# CHECK: Convolve1d.dynamic: constraints: x_0 >= 1, size 0 of an operand of Convolve1d at an unnamed Blockwise node
# CHECK-NEXT: constraints: y_0 >= 1, size 0 of an operand of Convolve1d at an unnamed Blockwise node
# CHECK-NEXT: a = maximum(add(multiply(size<0>(x), -1), size<0>(y)), 0) : tensor<i64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(dynamic_reshape<1x?xf64>(dynamic_conv<1, [b, f, 0]x[o, i, 0]-[b, f, 0]>, 1, [HIGHEST, HIGHEST]>(dynamic_reshape<1x1x?xf64>(dynamic_reshape<1x?xf64>(x, [1, size<0>(x)]), [1, 1, size<0>(x)]), dynamic_reshape<1x1x?xf64>(reverse<[0]>(y), [1, 1, size<0>(y)]), reshape<1x2xi64>(concatenate<0>(a, a))), concatenate<0>(1, add(add(add(size<0>(x), multiply(size<0>(y), -1)), multiply(a, 2)), 1))), add(add(add(size<0>(x), multiply(size<0>(y), -1)), multiply(a, 2)), 1)) : tensor<?xf64>
show("Convolve1d.dynamic", [x, y], convolve1d(x, y, mode="valid"))

# CHECK: Convolve2d.dynamic: constraints: table_0 >= 1, size 0 of an operand of Convolve2d at an unnamed Blockwise node
# CHECK-NEXT: constraints: table_1 >= 1, size 1 of an operand of Convolve2d at an unnamed Blockwise node
# CHECK-NEXT: constraints: other_0 >= 1, size 0 of an operand of Convolve2d at an unnamed Blockwise node
# CHECK-NEXT: constraints: other_1 >= 1, size 1 of an operand of Convolve2d at an unnamed Blockwise node
# CHECK-NEXT: return dynamic_reshape<?x?xf64>(dynamic_reshape<1x?x?xf64>(dynamic_conv<1, [b, f, 0, 1]x[o, i, 0, 1]-[b, f, 0, 1]>, 1, [HIGHEST, HIGHEST]>(dynamic_reshape<1x1x?x?xf64>(dynamic_reshape<1x?x?xf64>(table, [1, size<0>(table), size<1>(table)]), [1, 1, size<0>(table), size<1>(table)]), dynamic_reshape<1x1x?x?xf64>(reverse<[0, 1]>(other), [1, 1, size<0>(other), size<1>(other)]), reshape<2x2xi64>(concatenate<0>(add(size<0>(other), -1), add(size<0>(other), -1), add(size<1>(other), -1), add(size<1>(other), -1)))), concatenate<0>(1, add(add(size<0>(other), size<0>(table)), -1), add(add(size<1>(other), size<1>(table)), -1))), concatenate<0>(add(add(size<0>(other), size<0>(table)), -1), add(add(size<1>(other), size<1>(table)), -1))) : tensor<?x?xf64>
show("Convolve2d.dynamic", [table, other], convolve2d(table, other))

# CHECK: Bartlett.dynamic: a = convert<f64>(subtract<"max(k, 0) - 1">(maximum<"max(k, 0)">(k, 0), 1)) : tensor<f64>
# CHECK-NEXT: b = subtract(multiply(convert<f64>(dynamic_iota<0, ?xi64>(maximum(k, 0))), 2), a) : tensor<?xf64>
# CHECK-NEXT: c = divide(b, maximum(a, 1)) : tensor<?xf64>
# CHECK-NEXT: return select(LE(b, 0), add(c, 1), subtract(1, c)) : tensor<?xf64>
show("Bartlett.dynamic", [k], pt.bartlett(k))

# ---- Fourier transforms: `fft` where its lengths are known, a call that waits for them where not
cube = pt.dtensor3("cube")

# CHECK: RFFTOp.dynamic: constraints: table_1 >= 1, length 0 of RFFTOp at an unnamed RFFTOp node
# CHECK-NEXT: a = concatenate<0>(size<0>(table), add(divide(size<1>(table), 2), 1), 1) : tensor<3xi64>
# CHECK-NEXT: b = @hlograph.fft(table, concatenate<0>(size<0>(table), add(divide(size<1>(table), 2), 1))) {indices_of_shape_operands = 1} : tensor<?x?xcomplex<f64>>
# CHECK-NEXT: return divide(concatenate<2>(dynamic_reshape<?x?x1xf64>(real(b), a), dynamic_reshape<?x?x1xf64>(imag(b), a)), 1) : tensor<?x?x2xf64>
show("RFFTOp.dynamic", [table], rfft(table, norm="no_norm"))

# CHECK: IRFFTOp.dynamic: constraints: 2*n - 1 >= 1, length 0 of IRFFTOp at an unnamed IRFFTOp node
# CHECK-NEXT: a = add(multiply(size<1>(cube), 2), -1) : tensor<i64>
# CHECK-NEXT: b = @hlograph.fft(complex(dynamic_reshape<?x?xf64>(real_dynamic_slice(cube, 0, [size<0>(cube), size<1>(cube), 1], 1), [size<0>(cube), size<1>(cube)]), dynamic_reshape<?x?xf64>(real_dynamic_slice(cube, [0, 0, 1], [size<0>(cube), size<1>(cube), 2], 1), [size<0>(cube), size<1>(cube)])), concatenate<0>(size<0>(cube), a)) {indices_of_shape_operands = 1} : tensor<?x?xf64>
# CHECK-NEXT: return divide(multiply(b, convert<f64>(a)), 1) : tensor<?x?xf64>
show("IRFFTOp.dynamic", [cube], irfft(cube, norm="no_norm", is_odd=True), {"cube": ("b", "n", 2)})

# ---- Splines of SciPy in PyMC's op: the piece that an element is in, and 0 outside


class SplineWrapper(Op):
    """PyMC's, without importing it."""

    __module__ = "pymc.distributions.dist_math"
    __props__ = ("spline",)

    def __init__(self, spline):
        self.spline = spline

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.spline(inputs[0])


line = SplineWrapper(InterpolatedUnivariateSpline([0.0, 1.0, 3.0], [1.0, 2.0, 0.0], k=1, ext="zeros"))

# CHECK: PyMCSplineWrapper.dynamic: return @SplineWrapper(x) : tensor<?xf64>
# CHECK-NEXT: @SplineWrapper(tensor<?xf64>) -> tensor<?xf64>:
# CHECK: LT(p2, 2)>([0, 1, 3], arg0, 0, 0, 3)
# CHECK: gather([1, -1], {{.*}}) {{.*}} : tensor<?xf64>
# CHECK: gather([1, 2], {{.*}}) {{.*}} : tensor<?xf64>
# CHECK: return select(or(LT(arg0, 0), GT(arg0, 3)), convert<f64>(0), add(multiply({{.*}}, {{.*}}), {{.*}})) : tensor<?xf64>
show("PyMCSplineWrapper.dynamic", [x], line(x), {"x": ("n",)})
