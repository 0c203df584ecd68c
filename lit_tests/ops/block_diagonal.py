# RUN: %python %s | filecheck %s
"""BlockDiagonal: padded blocks, one under the other."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.constructors import BlockDiagonal

a, b = pt.dmatrices("a", "b")

# CHECK-LABEL: module @BlockDiagonal.static
# CHECK-NEXT: c = pad(a, 0) {edge_padding_high = [0, 2], edge_padding_low = [0, 0], interior_padding = [0, 0]} : tensor<2x5xf64>
# CHECK-NEXT: d = pad(b, 0) {edge_padding_high = [0, 0], edge_padding_low = [0, 3], interior_padding = [0, 0]} : tensor<1x5xf64>
# CHECK-NEXT: return concatenate<0>(c, d) : tensor<3x5xf64>
show([a, b], BlockDiagonal(2)(a, b), name="BlockDiagonal.static", dims={"a": (2, 3), "b": (1, 2)})

# CHECK-LABEL: module @BlockDiagonal.dynamic
# CHECK-NEXT: c = dynamic_pad(a, 0, 0, concatenate<0>(0, size<1>(b)), 0) : tensor<?x?xf64>
# CHECK-NEXT: d = dynamic_pad(b, 0, concatenate<0>(0, size<1>(a)), 0, 0) : tensor<?x?xf64>
# CHECK-NEXT: return concatenate<0>(c, d) : tensor<?x?xf64>
show([a, b], BlockDiagonal(2)(a, b), name="BlockDiagonal.dynamic", dims={"a": ("m", "n"), "b": ("k", "l")})
