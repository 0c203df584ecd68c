# RUN: %python %s | filecheck %s
"""Softmax, LogSoftmax, SoftmaxGrad: shifted by the largest element, so that nothing overflows."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.special import log_softmax, softmax


def _make_node(self, dy, sm):
    return Apply(self, [dy, sm], [sm.type()])


x, dy = pt.dmatrix("x"), pt.dmatrix("dy")
softmax_grad = of_another_release(Op, "SoftmaxGrad", make_node=_make_node, perform=None, axis=1)()

show([x], softmax(x, axis=1), name="Softmax.static", dims={"x": (3, 4)})

show([x], softmax(x, axis=0), name="Softmax.dynamic", dims={"x": ("n", 4)})

show([x], log_softmax(x, axis=None), name="LogSoftmax.static", dims={"x": (3, 4)})

show([x], log_softmax(x, axis=1), name="LogSoftmax.dynamic", dims={"x": ("n", 4)})

show([dy, x], softmax_grad(dy, x), name="SoftmaxGrad.static", dims={"dy": (3, 4), "x": (3, 4)})

show([dy, x], softmax_grad(dy, x), name="SoftmaxGrad.dynamic", dims={"dy": ("n", 4), "x": ("n", 4)})
