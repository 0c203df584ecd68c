# RUN: %python %s | filecheck %s
"""Alloc, AllocEmpty: a value stretched to a shape; a tensor whose contents nobody may rely on."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.basic import AllocEmpty

x = pt.dvector("x")
n = pt.lscalar("n")

# CHECK-LABEL: module @Alloc.dynamic
# CHECK-NEXT: return dynamic_broadcast_in_dim<[1], 2x?xf64>(x, concatenate<0>(2, size<0>(x))) : tensor<2x?xf64>
show([x], pt.alloc(x, 2, x.shape[0]), name="Alloc.dynamic", dims={"x": ("n",)})

# CHECK-LABEL: module @Alloc.dynamic.runtime
# CHECK-NEXT: constraints: n >= 0, size 0 of Alloc at an unnamed Alloc node
# CHECK-NEXT: return dynamic_broadcast_in_dim<[1], ?x3xf64>(x, concatenate<0>(n, 3)) : tensor<?x3xf64>
show([x, n], pt.alloc(x, n, 3), name="Alloc.dynamic.runtime", dims={"x": (3,)})

# CHECK-LABEL: module @AllocEmpty.dynamic
# CHECK-NEXT: constraints: n >= 0, size 0 of AllocEmpty at an unnamed AllocEmpty node
# CHECK-NEXT: return dynamic_broadcast_in_dim<[], ?x3xf32>(0, concatenate<0>(n, 3)) : tensor<?x3xf32>
show([n], AllocEmpty("float32")(n, 3), name="AllocEmpty.dynamic")

# ---- sizes from data -----------------------------------------------------------------------------------------------

w = pt.dvector("w")

# CHECK-LABEL: module @Alloc.dynamic.computed
# CHECK-NEXT: checks: ValueError, negative dimensions are not allowed
# CHECK-NEXT: counts: alloc_0
# CHECK: d = @hlograph.size(maximum(c#1, 0)) {hlograph.dim = "alloc_0"} : tensor<i64>
# CHECK-NEXT: return dynamic_broadcast_in_dim<[], ?xf64>(0, d), GE(c#1, 0) : tensor<?xf64>, tensor<1xi1>
show([w], pt.zeros((pt.argmax(w),)), name="Alloc.dynamic.computed", dims={"w": (8,)})
