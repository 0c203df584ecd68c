# RUN: %python %s | filecheck %s
"""Alloc, AllocEmpty: a value stretched to a shape; a tensor whose contents nobody may rely on."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.basic import AllocEmpty

x = pt.dvector("x")
n = pt.lscalar("n")

show([x], pt.alloc(x, 2, 3), name="Alloc.static", dims={"x": (3,)})

show([], [pt.zeros((2, 3))], name="Alloc.static.zeros")

show([x], pt.alloc(x, 2, x.shape[0]), name="Alloc.dynamic", dims={"x": ("n",)})

show([x, n], pt.alloc(x, n, 3), name="Alloc.dynamic.runtime", dims={"x": (3,)})

show([], [AllocEmpty("float32")(2, 3)], name="AllocEmpty.static")

show([n], AllocEmpty("float32")(n, 3), name="AllocEmpty.dynamic")
