# RUN: %python %s | filecheck %s
"""JAXOp: the JAX function, as a private function of the module."""

import pytensor.tensor as pt
from common import show
from pytensor.link.jax.ops import JAXOp

x = pt.dvector("x")
twice = JAXOp([x.type], [x.type], lambda v: (v + v,), name="twice")

# CHECK-LABEL: module @JAXOp.dynamic
# CHECK-NEXT: return @twice(x) : tensor<?xf64>
# CHECK-NEXT: @twice(tensor<?xf64>) -> tensor<?xf64>:
# CHECK-NEXT: return add(arg0, arg0) : tensor<?xf64>
show([x], twice(x), name="JAXOp.dynamic", dims={"x": ("n",)})
