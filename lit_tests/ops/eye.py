# RUN: %python %s | filecheck %s
"""Eye, ExtractDiag, AllocDiag: diagonals."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.basic import Eye, ExtractDiag


def _make_node(self, x):
    return Apply(self, [pt.as_tensor(x)], [pt.matrix(dtype=x.dtype)])


x, v = pt.dmatrix("x"), pt.dvector("v")
t = pt.dtensor3("t")
n = pt.lscalar("n")

show([], [Eye("float32")(3, 4, 0)], name="Eye.static")

show([], [Eye("float64")(3, 4, 1)], name="Eye.static.above")

show([n], Eye("float64")(n, 4, 0), name="Eye.dynamic")

show([x], ExtractDiag(offset=1)(x), name="ExtractDiag.static", dims={"x": (3, 4)})

show([t], ExtractDiag(0, 0, 2)(t), name="ExtractDiag.static.axes", dims={"t": (3, 5, 4)})

show([x], ExtractDiag()(x), name="ExtractDiag.dynamic", dims={"x": ("n", 4)})

# PyTensor 3's op holds a graph of its own.
show([v], pt.diag(v), name="AllocDiag.static", dims={"v": (3,)})

# Before that it is an op of its own, with an offset.
alloc_diag = of_another_release(Op, "AllocDiag", make_node=_make_node, perform=None, offset=1)()
show([v], alloc_diag(v), name="AllocDiag.static.older", dims={"v": (3,)})

show([v], alloc_diag(v), name="AllocDiag.dynamic.older", dims={"v": ("n",)})

show([v], pt.diag(v), name="AllocDiag.dynamic", dims={"v": ("n",)})
