# RUN: %python %s | filecheck %s
"""JoinDims, SplitDims: neighbouring axes merged into one, one axis split into several."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.reshape import join_dims, split_dims

x = pt.dtensor3("x")

# CHECK-LABEL: module @JoinDims.dynamic
# CHECK-NEXT: return dynamic_reshape<?x4xf64>(x, concatenate<0>(multiply(size<0>(x), 3), 4)) : tensor<?x4xf64>
show([x], join_dims(x, 0, 2), name="JoinDims.dynamic", dims={"x": ("n", 3, 4)})

# CHECK-LABEL: module @SplitDims.dynamic
# CHECK-NEXT: constraints: n % 2 == 0, the open size of SplitDims at an unnamed SplitDims node
# CHECK-NEXT: return dynamic_reshape<?x2x3x4xf64>(x, concatenate<0>(divide(size<0>(x), 2), 2, 3, 4)) : tensor<?x2x3x4xf64>
show([x], split_dims(x, (-1, 2), 0), name="SplitDims.dynamic", dims={"x": ("n", 3, 4)})
