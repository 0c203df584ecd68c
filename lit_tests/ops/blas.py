# RUN: %python %s | filecheck %s
"""Dot, Dot22, Dot22Scalar, Gemv, Gemm, Ger, BatchedDot: products of matrices and vectors."""

import pytensor.tensor as pt
import pytensor.tensor.blas as blas
from common import of_another_release, show, this_or_another_release
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.blas import _batched_dot as batched_dot
from pytensor.tensor.blas import _dot22 as dot22
from pytensor.tensor.blas import _dot22scalar as dot22scalar
from pytensor.tensor.blas import gemm_no_inplace, gemv_no_inplace
from pytensor.tensor.math import dot


def _make_node(self, x, y):
    return Apply(self, [x, y], [pt.tensor(dtype=x.dtype, shape=(None,) * (x.ndim + y.ndim - 2))])


# Before PyTensor 3 the op took vectors.
older_ger = of_another_release(
    Op, "Ger", make_node=lambda self, *xs: Apply(self, [*xs], [pt.dmatrix()]), perform=None, destructive=False
)
ger = this_or_another_release(blas, "ger", older_ger)  # before PyTensor 3.3
older_dot = of_another_release(Op, "Dot", make_node=_make_node, perform=None)()
x, y, z = pt.dmatrix("x"), pt.dmatrix("y"), pt.dmatrix("z")
u, v = pt.dvector("u"), pt.dvector("v")
a, b = pt.dscalar("a"), pt.dscalar("b")
s, t = pt.dtensor3("s"), pt.dtensor3("t")

# CHECK-LABEL: module @Dot.dynamic
# CHECK-NEXT: constraints: k == l, dot, contracted axis at an unnamed Dot node
# CHECK-NEXT: a = dot_general(x, y) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x5xf64>
show([x, y], dot(x, y), name="Dot.dynamic", dims={"x": ("n", "k"), "y": ("l", 5)})

# CHECK-LABEL: module @Dot.dynamic.vectors
# CHECK-NEXT: a = dot_general(u, v) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<f64>
show([u, v], older_dot(u, v), name="Dot.dynamic.vectors", dims={"u": ("n",), "v": ("n",)})

# CHECK-LABEL: module @Dot22.dynamic
# CHECK-NEXT: a = dot_general(x, y) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x5xf64>
show([x, y], dot22(x, y), name="Dot22.dynamic", dims={"x": ("n", 4), "y": (4, 5)})

# CHECK-LABEL: module @Dot22Scalar.dynamic
# CHECK-NEXT: b = dot_general(x, y) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x5xf64>
# CHECK-NEXT: return multiply(b, a) : tensor<?x5xf64>
show([x, y, a], dot22scalar(x, y, a), name="Dot22Scalar.dynamic", dims={"x": ("n", 4), "y": (4, 5)})

# CHECK-LABEL: module @Gemv.dynamic
# CHECK-NEXT: c = dot_general(x, v) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?xf64>
# CHECK-NEXT: return add(multiply(a, c), multiply(b, u)) : tensor<?xf64>
show([u, a, x, v, b], gemv_no_inplace(u, a, x, v, b), name="Gemv.dynamic", dims={"u": ("n",), "x": ("n", 4), "v": (4,)})

one = pt.constant(1.0, dtype="float64")
# CHECK-LABEL: module @Gemm.dynamic
# CHECK-NEXT: c = dot_general(x, y) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x5xf64>
# CHECK-NEXT: return add(multiply(a, c), multiply(b, z)) : tensor<?x5xf64>
show(
    [z, a, x, y, b],
    gemm_no_inplace(z, a, x, y, b),
    name="Gemm.dynamic",
    dims={"z": ("n", 5), "x": ("n", 4), "y": (4, 5)},
)

# CHECK-LABEL: module @Ger.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(x), 4) : tensor<2xi64>
# CHECK-NEXT: return add(x, multiply(a, multiply(dynamic_broadcast_in_dim<[0], ?x4xf64>(u, b), dynamic_broadcast_in_dim<[1], ?x4xf64>(v, b)))) : tensor<?x4xf64>
show([x, a, u, v], ger(x, a, u, v), name="Ger.dynamic", dims={"x": ("n", 4), "u": ("n",), "v": (4,)})

# CHECK-LABEL: module @BatchedDot.dynamic
# CHECK-NEXT: a = dot_general(s, t) {lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<?x3x5xf64>
show([s, t], batched_dot(s, t), name="BatchedDot.dynamic", dims={"s": ("n", 3, 4), "t": ("n", 4, 5)})
