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

show([i], i.argmax(axis=1), name="Argmax.static", dims={"i": (3, 4)})

show([x], x.argmax(axis=1), name="Argmax.static.float", dims={"x": (3, 4)})

show([i], i.argmax(), name="Argmax.static.all", dims={"i": (3, 4)})

show([i], i.argmax(axis=0), name="Argmax.dynamic", dims={"i": ("n", 4)})

show([i], i.argmax(), name="Argmax.dynamic.all", dims={"i": ("n", 4)})

show([x], max_and_argmax(x), name="MaxAndArgmax.static", dims={"x": (3, 4)})

show([x], max_and_argmax(x), name="MaxAndArgmax.dynamic", dims={"x": ("n", 4)})
