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

# CHECK-LABEL: module @Softmax.dynamic
# CHECK-NEXT: a = concatenate<0>(size<0>(x), 4) : tensor<2xi64>
# CHECK-NEXT: b = exponential(subtract(x, dynamic_broadcast_in_dim<[1], ?x4xf64>(reduce<[0], maximum>(x, -inf), a))) : tensor<?x4xf64>
# CHECK-NEXT: return divide(b, dynamic_broadcast_in_dim<[1], ?x4xf64>(reduce<[0], add>(b, 0), a)) : tensor<?x4xf64>
show([x], softmax(x, axis=0), name="Softmax.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @LogSoftmax.dynamic
# CHECK-NEXT: a = concatenate<0>(size<0>(x), 4) : tensor<2xi64>
# CHECK-NEXT: b = subtract(x, dynamic_broadcast_in_dim<[0], ?x4xf64>(reduce<[1], maximum>(x, -inf), a)) : tensor<?x4xf64>
# CHECK-NEXT: return subtract(b, dynamic_broadcast_in_dim<[0], ?x4xf64>(log(reduce<[1], add>(exponential(b), 0)), a)) : tensor<?x4xf64>
show([x], log_softmax(x, axis=1), name="LogSoftmax.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @SoftmaxGrad.dynamic
# CHECK-NEXT: a = multiply(dy, x) : tensor<?x4xf64>
# CHECK-NEXT: return subtract(a, multiply(x, dynamic_broadcast_in_dim<[0], ?x4xf64>(reduce<[1], add>(a, 0), concatenate<0>(size<0>(dy), 4)))) : tensor<?x4xf64>
show([dy, x], softmax_grad(dy, x), name="SoftmaxGrad.dynamic", dims={"dy": ("n", 4), "x": ("n", 4)})
