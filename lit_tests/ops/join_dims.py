# RUN: %python %s | filecheck %s
"""JoinDims, SplitDims: neighbouring axes merged into one, one axis split into several."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.reshape import join_dims, split_dims

x = pt.dtensor3("x")

show([x], join_dims(x, 1, 2), name="JoinDims.static", dims={"x": (2, 3, 4)})

show([x], join_dims(x, 0, 2), name="JoinDims.dynamic", dims={"x": ("n", 3, 4)})

show([x], split_dims(x, (2, 2), 2), name="SplitDims.static", dims={"x": (2, 3, 4)})

show([x], split_dims(x, (-1, 2), 0), name="SplitDims.dynamic", dims={"x": ("n", 3, 4)})
