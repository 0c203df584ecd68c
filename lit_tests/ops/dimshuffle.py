# RUN: %python %s | filecheck %s
"""DimShuffle: drops axes of size 1, permutes, inserts axes of size 1."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")
row = pt.drow("row")

# CHECK-LABEL: module @DimShuffle.dynamic
# CHECK-NEXT: return transpose<[1, 0]>(x) : tensor<4x?xf64>
show([x], x.T, name="DimShuffle.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @DimShuffle.dynamic.insert
# CHECK-NEXT: return dynamic_reshape<4x1x?xf64>(transpose<[1, 0]>(x), concatenate<0>(4, 1, size<0>(x))) : tensor<4x1x?xf64>
show([x], x.dimshuffle(1, "x", 0), name="DimShuffle.dynamic.insert", dims={"x": ("n", 4)})

# CHECK-LABEL: module @DimShuffle.dynamic.drop
# CHECK-NEXT: return dynamic_reshape<?xf64>(row, size<1>(row)) : tensor<?xf64>
show([row], row.dimshuffle(1), name="DimShuffle.dynamic.drop", dims={"row": (1, "n")})
