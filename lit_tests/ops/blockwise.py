# RUN: %python %s | filecheck %s
"""Blockwise: a core op over leading batch axes, which stretch as NumPy's do."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.linalg import Cholesky

x, y = pt.dtensor3("x"), pt.dmatrix("y")
cholesky = Blockwise(Cholesky(lower=True))

# CHECK-LABEL: module @Blockwise.dynamic
# CHECK-NEXT: a = dot_general(x, dynamic_broadcast_in_dim<[1, 2], ?x4x5xf64>(y, concatenate<0>(size<0>(x), 4, 5))) {lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<?x3x5xf64>
show([x, y], pt.matmul(x, y), name="Blockwise.dynamic", dims={"x": ("n", 3, 4), "y": (4, 5)})

# CHECK-LABEL: module @Blockwise.dynamic.cholesky
# CHECK-NEXT: a = cholesky(x) {lower = true} : tensor<?x4x4xf64>
# CHECK-NEXT: return select(dynamic_broadcast_in_dim<[1, 2], ?x4x4xi1>(GE(iota<0, 4x4xi64>(), iota<1, 4x4xi64>()), concatenate<0>(size<0>(x), 4, 4)), a, 0) : tensor<?x4x4xf64>
show([x], cholesky(x), name="Blockwise.dynamic.cholesky", dims={"x": ("n", 4, 4)})
