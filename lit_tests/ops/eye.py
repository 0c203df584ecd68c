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

# CHECK-LABEL: module @Eye.dynamic
# CHECK-NEXT: constraints: n >= 0, size 0 of Eye at an unnamed Eye node
# CHECK-NEXT: a = concatenate<0>(n, 4) : tensor<2xi64>
# CHECK-NEXT: return convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x4xi64>(a), dynamic_iota<1, ?x4xi64>(a)))) : tensor<?x4xf64>
show([n], Eye("float64")(n, 4, 0), name="Eye.dynamic")

# An op before PyTensor, where it is a graph.
tri = of_another_release(Op, "Tri", make_node=_make_tri, perform=None)()

# CHECK-LABEL: module @Tri.dynamic
# CHECK-NEXT: constraints: n >= 0, size 0 of Tri at an unnamed Tri node
# CHECK-NEXT: a = concatenate<0>(n, 4) : tensor<2xi64>
# CHECK-NEXT: return convert<f64>(convert<i8>(GE(dynamic_iota<0, ?x4xi64>(a), dynamic_iota<1, ?x4xi64>(a)))) : tensor<?x4xf64>
show([n], tri(n, 4, 0), name="Tri.dynamic")

# CHECK-LABEL: module @ExtractDiag.dynamic
# CHECK-NEXT: a = dynamic_iota<0, ?x1xi64>(concatenate<0>(minimum(size<0>(x), 4), 1)) : tensor<?x1xi64>
# CHECK-NEXT: b = dynamic_gather(x, concatenate<1>(a, a), concatenate<0>(minimum(size<0>(x), 1), 1)) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
show([x], ExtractDiag()(x), name="ExtractDiag.dynamic", dims={"x": ("n", 4)})

# PyTensor 3's op holds a graph of its own, which writes at checked indices: a vector needs neither.
# Before that it is an op of its own, with an offset.
alloc_diag = of_another_release(Op, "AllocDiag", make_node=_make_node, perform=None, offset=1)()
# CHECK-LABEL: module @AllocDiag.dynamic.older
# CHECK-NEXT: a = concatenate<0>(add(size<0>(v), 1), add(size<0>(v), 1)) : tensor<2xi64>
# CHECK-NEXT: b = pad(v, 0) {edge_padding_high = [1], edge_padding_low = [0], interior_padding = [0]} : tensor<?xf64>
# CHECK-NEXT: return select(EQ(add(dynamic_iota<0, ?x?xi64>(a), 1), dynamic_iota<1, ?x?xi64>(a)), dynamic_broadcast_in_dim<[0], ?x?xf64>(b, a), 0) : tensor<?x?xf64>
show([v], alloc_diag(v), name="AllocDiag.dynamic.older", dims={"v": ("n",)})

# CHECK-LABEL: module @AllocDiag.dynamic
# CHECK-NEXT: a = concatenate<0>(size<0>(v), size<0>(v)) : tensor<2xi64>
# CHECK-NEXT: return select(EQ(dynamic_iota<0, ?x?xi64>(a), dynamic_iota<1, ?x?xi64>(a)), dynamic_broadcast_in_dim<[0], ?x?xf64>(v, a), 0) : tensor<?x?xf64>
show([v], pt.diag(v), name="AllocDiag.dynamic", dims={"v": ("n",)})
