# RUN: %python %s | filecheck %s
"""Argmax, MaxAndArgmax: index of the first largest element; NaN counts as largest."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op


def _make_node(self, x):
    return Apply(self, [x], [pt.dvector(), pt.lvector()])


x, i = pt.dmatrix("x"), pt.lmatrix("i")
max_and_argmax = of_another_release(Op, "MaxAndArgmax", make_node=_make_node, perform=None, axis=(0,))()

# CHECK-LABEL: module @Argmax.dynamic
# CHECK-NEXT: constraints: n >= 1, argmax over axis 0 of no elements at node 'argmax'
# CHECK-NEXT: b:2 = reduce<[0]>(i, dynamic_iota<0, ?x4xi64>(concatenate<0>(size<0>(i), 4)), -9223372036854775808, 9223372036854775807) : tensor<4xi64>, tensor<4xi64>
# CHECK: return b#1 : tensor<4xi64>
show([i], i.argmax(axis=0), name="Argmax.dynamic", dims={"i": ("n", 4)})

# CHECK-LABEL: module @Argmax.dynamic.all
# CHECK-NEXT: constraints: n >= 1, argmax over axis 0 of no elements at node 'argmax'
# CHECK-NEXT: b:2 = reduce<[0]>(dynamic_reshape<?xi64>(i, multiply(size<0>(i), 4)), dynamic_iota<0, ?xi64>(multiply(size<0>(i), 4)), -9223372036854775808, 9223372036854775807) : tensor<i64>, tensor<i64>
# CHECK: return b#1 : tensor<i64>
show([i], i.argmax(), name="Argmax.dynamic.all", dims={"i": ("n", 4)})

# CHECK-LABEL: module @MaxAndArgmax.dynamic
# CHECK-NEXT: constraints: n >= 1, argmax over axis 0 of no elements at an unnamed MaxAndArgmax node
# CHECK-NEXT: c:2 = reduce<[0]>(x, dynamic_iota<0, ?x4xi64>(concatenate<0>(size<0>(x), 4)), -inf, 9223372036854775807) : tensor<4xf64>, tensor<4xi64>
# CHECK: return reduce<[0], maximum>(x, -inf), c#1 : tensor<4xf64>, tensor<4xi64>
show([x], max_and_argmax(x), name="MaxAndArgmax.dynamic", dims={"x": ("n", 4)})
