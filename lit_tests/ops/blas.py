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

# CHECK-LABEL: module @Dot.static
# CHECK-NOT: dynamic_
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
# CHECK-NEXT: return [[DOT]] : tensor<3x5xf64>
show([x, y], dot(x, y), name="Dot.static", dims={"x": (3, 4), "y": (4, 5)})

# CHECK-LABEL: module @Dot.static.vector
# CHECK-NOT: dynamic_
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4xf64>, tensor<4xf64>) -> tensor<3xf64>
# CHECK-NEXT: return [[DOT]] : tensor<3xf64>
show([x, v], older_dot(x, v), name="Dot.static.vector", dims={"x": (3, 4), "v": (4,)})

# CHECK-LABEL: module @Dot.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"k == l", "dot, contracted axis at an unnamed Dot node"]]
# CHECK-NEXT: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?x?xf64>, tensor<?x5xf64>) -> tensor<?x5xf64>
# CHECK-NEXT: return [[DOT]] : tensor<?x5xf64>
show([x, y], dot(x, y), name="Dot.dynamic", dims={"x": ("n", "k"), "y": ("l", 5)})

# CHECK-LABEL: module @Dot.dynamic.vectors
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?xf64>, tensor<?xf64>) -> tensor<f64>
# CHECK-NEXT: return [[DOT]] : tensor<f64>
show([u, v], older_dot(u, v), name="Dot.dynamic.vectors", dims={"u": ("n",), "v": ("n",)})

# CHECK-LABEL: module @Dot22.static
# CHECK-NOT: dynamic_
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
# CHECK-NEXT: return [[DOT]] : tensor<3x5xf64>
show([x, y], dot22(x, y), name="Dot22.static", dims={"x": (3, 4), "y": (4, 5)})

# CHECK-LABEL: module @Dot22.dynamic
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?x4xf64>, tensor<4x5xf64>) -> tensor<?x5xf64>
# CHECK-NEXT: return [[DOT]] : tensor<?x5xf64>
show([x, y], dot22(x, y), name="Dot22.dynamic", dims={"x": ("n", 4), "y": (4, 5)})

# CHECK-LABEL: module @Dot22Scalar.static
# CHECK-NOT: dynamic_
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f64>) -> tensor<3x5xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[DOT]], [[WIDE]] : tensor<3x5xf64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<3x5xf64>
show([x, y, a], dot22scalar(x, y, a), name="Dot22Scalar.static", dims={"x": (3, 4), "y": (4, 5)})

# CHECK-LABEL: module @Dot22Scalar.dynamic
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?x4xf64>, tensor<4x5xf64>) -> tensor<?x5xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg2, %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x5xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[DOT]], [[WIDE]] : tensor<?x5xf64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<?x5xf64>
show([x, y, a], dot22scalar(x, y, a), name="Dot22Scalar.dynamic", dims={"x": ("n", 4), "y": (4, 5)})

# CHECK-LABEL: module @Gemv.static
# CHECK-NOT: dynamic_
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4xf64>, tensor<4xf64>) -> tensor<3xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[WIDE]], [[DOT]] : tensor<3xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[PRODUCT2:%\w+]] = stablehlo.multiply [[WIDE2]], %arg0 : tensor<3xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[PRODUCT]], [[PRODUCT2]] : tensor<3xf64>
# CHECK-NEXT: return [[SUM]] : tensor<3xf64>
show([u, a, x, v, b], gemv_no_inplace(u, a, x, v, b), name="Gemv.static", dims={"u": (3,), "x": (3, 4), "v": (4,)})

# A factor 1 multiplies nothing; a factor 0 leaves the addend out.
# CHECK-LABEL: module @Gemv.static.constant
# CHECK-NOT: dynamic_
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4xf64>, tensor<4xf64>) -> tensor<3xf64>
# CHECK-NEXT: return [[DOT]] : tensor<3xf64>
show(
    [u, x, v], gemv_no_inplace(u, 1.0, x, v, 0.0), name="Gemv.static.constant", dims={"u": (3,), "x": (3, 4), "v": (4,)}
)

# CHECK-LABEL: module @Gemv.dynamic
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?x4xf64>, tensor<4xf64>) -> tensor<?xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg1, %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[WIDE]], [[DOT]] : tensor<?xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg4, %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[PRODUCT2:%\w+]] = stablehlo.multiply [[WIDE2]], %arg0 : tensor<?xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[PRODUCT]], [[PRODUCT2]] : tensor<?xf64>
# CHECK-NEXT: return [[SUM]] : tensor<?xf64>
show([u, a, x, v, b], gemv_no_inplace(u, a, x, v, b), name="Gemv.dynamic", dims={"u": ("n",), "x": ("n", 4), "v": (4,)})

# CHECK-LABEL: module @Gemm.static
# CHECK-NOT: dynamic_
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<3x5xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[WIDE]], [[DOT]] : tensor<3x5xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f64>) -> tensor<3x5xf64>
# CHECK-NEXT: [[PRODUCT2:%\w+]] = stablehlo.multiply [[WIDE2]], %arg0 : tensor<3x5xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[PRODUCT]], [[PRODUCT2]] : tensor<3x5xf64>
# CHECK-NEXT: return [[SUM]] : tensor<3x5xf64>
show([z, a, x, y, b], gemm_no_inplace(z, a, x, y, b), name="Gemm.static", dims={"z": (3, 5), "x": (3, 4), "y": (4, 5)})

one = pt.constant(1.0, dtype="float64")
# CHECK-LABEL: module @Gemm.static.constant
# CHECK-NOT: dynamic_
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[DOT]], %arg0 : tensor<3x5xf64>
# CHECK-NEXT: return [[SUM]] : tensor<3x5xf64>
show(
    [z, x, y],
    gemm_no_inplace(z, one, x, y, one),
    name="Gemm.static.constant",
    dims={"z": (3, 5), "x": (3, 4), "y": (4, 5)},
)

# CHECK-LABEL: module @Gemm.dynamic
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?x4xf64>, tensor<4x5xf64>) -> tensor<?x5xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg1, %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x5xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[WIDE]], [[DOT]] : tensor<?x5xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg4, %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x5xf64>
# CHECK-NEXT: [[PRODUCT2:%\w+]] = stablehlo.multiply [[WIDE2]], %arg0 : tensor<?x5xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[PRODUCT]], [[PRODUCT2]] : tensor<?x5xf64>
# CHECK-NEXT: return [[SUM]] : tensor<?x5xf64>
show(
    [z, a, x, y, b],
    gemm_no_inplace(z, a, x, y, b),
    name="Gemm.dynamic",
    dims={"z": ("n", 5), "x": ("n", 4), "y": (4, 5)},
)

# CHECK-LABEL: module @Ger.static
# CHECK-NOT: dynamic_
# CHECK: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<3xf64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<4xf64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[WIDE]], [[WIDE2]] : tensor<3x4xf64>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[PRODUCT2:%\w+]] = stablehlo.multiply [[WIDE3]], [[PRODUCT]] : tensor<3x4xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg0, [[PRODUCT2]] : tensor<3x4xf64>
# CHECK-NEXT: return [[SUM]] : tensor<3x4xf64>
show([x, a, u, v], ger(x, a, u, v), name="Ger.static", dims={"x": (3, 4), "u": (3,), "v": (4,)})

# CHECK-LABEL: module @Ger.dynamic
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg2, %{{[0-9]+}}, dims = [0] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg3, %{{[0-9]+}}, dims = [1] : (tensor<4xf64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[WIDE]], [[WIDE2]] : tensor<?x4xf64>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg1, %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[PRODUCT2:%\w+]] = stablehlo.multiply [[WIDE3]], [[PRODUCT]] : tensor<?x4xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg0, [[PRODUCT2]] : tensor<?x4xf64>
# CHECK-NEXT: return [[SUM]] : tensor<?x4xf64>
show([x, a, u, v], ger(x, a, u, v), name="Ger.dynamic", dims={"x": ("n", 4), "u": ("n",), "v": (4,)})

# CHECK-LABEL: module @BatchedDot.static
# CHECK-NOT: dynamic_
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3x4xf64>, tensor<2x4x5xf64>) -> tensor<2x3x5xf64>
# CHECK-NEXT: return [[DOT]] : tensor<2x3x5xf64>
show([s, t], batched_dot(s, t), name="BatchedDot.static", dims={"s": (2, 3, 4), "t": (2, 4, 5)})

# CHECK-LABEL: module @BatchedDot.dynamic
# CHECK: [[DOT:%\w+]] = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<?x3x4xf64>, tensor<?x4x5xf64>) -> tensor<?x3x5xf64>
# CHECK-NEXT: return [[DOT]] : tensor<?x3x5xf64>
show([s, t], batched_dot(s, t), name="BatchedDot.dynamic", dims={"s": ("n", 3, 4), "t": ("n", 4, 5)})
