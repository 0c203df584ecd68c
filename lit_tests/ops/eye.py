# RUN: %python %s | filecheck %s
"""Eye, Tri, ExtractDiag, AllocDiag: diagonals and triangles."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.basic import ExtractDiag, Eye


def _make_node(self, x):
    return Apply(self, [pt.as_tensor(x)], [pt.matrix(dtype=x.dtype)])


def _make_tri(self, n, m, k):
    return Apply(self, [pt.as_tensor(each) for each in (n, m, k)], [pt.dmatrix()])


x, v = pt.dmatrix("x"), pt.dvector("v")
t = pt.dtensor3("t")
n = pt.lscalar("n")

# CHECK-LABEL: module @Eye.static
# CHECK-NOT: dynamic_
# CHECK: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x4xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x4xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[IOTA]], [[IOTA2]] : (tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<3x4xi1>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[TEST]] : (tensor<3x4xi1>) -> tensor<3x4xi8>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[CONVERTED]] : (tensor<3x4xi8>) -> tensor<3x4xf32>
# CHECK-NEXT: return [[CONVERTED2]] : tensor<3x4xf32>
show([], [Eye("float32")(3, 4, 0)], name="Eye.static")

# CHECK-LABEL: module @Eye.static.above
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x4xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x4xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<3x4xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[IOTA]], [[WIDE]] : tensor<3x4xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[SUM]], [[IOTA2]] : (tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<3x4xi1>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[TEST]] : (tensor<3x4xi1>) -> tensor<3x4xi8>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[CONVERTED]] : (tensor<3x4xi8>) -> tensor<3x4xf64>
# CHECK-NEXT: return [[CONVERTED2]] : tensor<3x4xf64>
show([], [Eye("float64")(3, 4, 1)], name="Eye.static.above")

# CHECK-LABEL: module @Eye.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 0", "size 0 of Eye at an unnamed Eye node"]]
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota [[JOINED]], dim = 0 : (tensor<2xi64>) -> tensor<?x4xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.dynamic_iota [[JOINED]], dim = 1 : (tensor<2xi64>) -> tensor<?x4xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[IOTA]], [[IOTA2]] : (tensor<?x4xi64>, tensor<?x4xi64>) -> tensor<?x4xi1>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[TEST]] : (tensor<?x4xi1>) -> tensor<?x4xi8>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[CONVERTED]] : (tensor<?x4xi8>) -> tensor<?x4xf64>
# CHECK-NEXT: return [[CONVERTED2]] : tensor<?x4xf64>
show([n], Eye("float64")(n, 4, 0), name="Eye.dynamic")

# An op before PyTensor, where it is a graph.
tri = of_another_release(Op, "Tri", make_node=_make_tri, perform=None)()

# CHECK-LABEL: module @Tri.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<-1> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x4xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x4xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<3x4xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[IOTA]], [[WIDE]] : tensor<3x4xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GE, [[SUM]], [[IOTA2]] : (tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<3x4xi1>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[TEST]] : (tensor<3x4xi1>) -> tensor<3x4xi8>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[CONVERTED]] : (tensor<3x4xi8>) -> tensor<3x4xf64>
# CHECK-NEXT: return [[CONVERTED2]] : tensor<3x4xf64>
show([], [tri(3, 4, -1)], name="Tri.static")

# CHECK-LABEL: module @Tri.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 0", "size 0 of Tri at an unnamed Tri node"]]
# CHECK: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x4xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 1 : (tensor<2xi64>) -> tensor<?x4xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GE, [[IOTA]], [[IOTA2]] : (tensor<?x4xi64>, tensor<?x4xi64>) -> tensor<?x4xi1>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[TEST]] : (tensor<?x4xi1>) -> tensor<?x4xi8>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[CONVERTED]] : (tensor<?x4xi8>) -> tensor<?x4xf64>
# CHECK-NEXT: return [[CONVERTED2]] : tensor<?x4xf64>
show([n], tri(n, 4, 0), name="Tri.dynamic")

# CHECK-LABEL: module @ExtractDiag.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x1xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<3x1xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[IOTA]], [[WIDE]] : tensor<3x1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[IOTA]], [[SUM]], dim = 1 : (tensor<3x1xi64>, tensor<3x1xi64>) -> tensor<3x2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, [[JOINED]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<3x4xf64>, tensor<3x2xi64>) -> tensor<3xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<3xf64>
show([x], ExtractDiag(offset=1)(x), name="ExtractDiag.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @ExtractDiag.static.axes
# CHECK-NOT: dynamic_
# CHECK: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[IOTA]], [[IOTA]], dim = 1 : (tensor<3x1xi64>, tensor<3x1xi64>) -> tensor<3x2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, [[JOINED]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 5, 1>}> : (tensor<3x5x4xf64>, tensor<3x2xi64>) -> tensor<5x3xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<5x3xf64>
show([t], ExtractDiag(0, 0, 2)(t), name="ExtractDiag.static.axes", dims={"t": (3, 5, 4)})

# CHECK-LABEL: module @ExtractDiag.dynamic
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<4> : tensor<i64>
# CHECK-NEXT: [[SMALLER:%\w+]] = stablehlo.minimum [[CONVERTED]], [[CONST]] : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SMALLER]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST2]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[SMALLER2:%\w+]] = stablehlo.minimum [[CONVERTED]], [[CONST3]] : tensor<i64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[SMALLER2]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[JOINED2:%\w+]] = stablehlo.concatenate [[SHAPED2]], [[CONST2]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota [[JOINED]], dim = 0 : (tensor<2xi64>) -> tensor<?x1xi64>
# CHECK-NEXT: [[JOINED3:%\w+]] = stablehlo.concatenate [[IOTA]], [[IOTA]], dim = 1 : (tensor<?x1xi64>, tensor<?x1xi64>) -> tensor<?x2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[JOINED3]], [[JOINED2]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x4xf64>, tensor<?x2xi64>, tensor<2xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<?xf64>
show([x], ExtractDiag()(x), name="ExtractDiag.dynamic", dims={"x": ("n", 4)})

# PyTensor 3's op holds a graph of its own, which writes at checked indices: a vector needs neither.
# CHECK-LABEL: module @AllocDiag.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x3xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x3xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[IOTA]], [[IOTA2]] : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<3xf64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[WIDE]], [[WIDE2]] : tensor<3x3xi1>, tensor<3x3xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<3x3xf64>
show([v], pt.diag(v), name="AllocDiag.static", dims={"v": (3,)})

# Before that it is an op of its own, with an offset.
alloc_diag = of_another_release(Op, "AllocDiag", make_node=_make_node, perform=None, offset=1)()
# CHECK-LABEL: module @AllocDiag.static.older
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[PADDED:%\w+]] = stablehlo.pad %arg0, [[CONST]], low = [0], high = [1], interior = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<4x4xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<4x4xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<4x4xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[IOTA]], [[WIDE]] : tensor<4x4xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[SUM]], [[IOTA2]] : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[PADDED]], dims = [0] : (tensor<4xf64>) -> tensor<4x4xf64>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<4x4xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[WIDE2]], [[WIDE3]] : tensor<4x4xi1>, tensor<4x4xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<4x4xf64>
show([v], alloc_diag(v), name="AllocDiag.static.older", dims={"v": (3,)})

# CHECK-LABEL: module @AllocDiag.dynamic.older
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK: [[PADDED:%\w+]] = stablehlo.pad %arg0, [[CONST]], low = [0], high = [1], interior = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<?xf64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[IOTA]], [[WIDE]] : tensor<?x?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[SUM]], [[IOTA2]] : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[PADDED]], %{{[0-9]+}}, dims = [0] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[WIDE2]], [[WIDE3]] : tensor<?x?xi1>, tensor<?x?xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<?x?xf64>
show([v], alloc_diag(v), name="AllocDiag.dynamic.older", dims={"v": ("n",)})

# CHECK-LABEL: module @AllocDiag.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[IOTA]], [[IOTA2]] : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %arg0, %{{[0-9]+}}, dims = [0] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[WIDE]], [[WIDE2]] : tensor<?x?xi1>, tensor<?x?xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<?x?xf64>
show([v], pt.diag(v), name="AllocDiag.dynamic", dims={"v": ("n",)})
