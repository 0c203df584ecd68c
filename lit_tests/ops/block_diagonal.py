# RUN: %python %s | filecheck %s
"""BlockDiagonal: padded blocks, one under the other."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.constructors import BlockDiagonal

a, b = pt.dmatrices("a", "b")

# CHECK-LABEL: module @BlockDiagonal.dynamic
# CHECK-NEXT: c = dynamic_pad(a, 0, 0, concatenate<0>(0, size<1>(b)), 0) : tensor<?x?xf64>
# CHECK-NEXT: d = dynamic_pad(b, 0, concatenate<0>(0, size<1>(a)), 0, 0) : tensor<?x?xf64>
# CHECK-NEXT: return concatenate<0>(c, d) : tensor<?x?xf64>
show([a, b], BlockDiagonal(2)(a, b), name="BlockDiagonal.dynamic", dims={"a": ("m", "n"), "b": ("k", "l")})
