# RUN: %python %s | filecheck %s
"""DimShuffle: drops axes of size 1, permutes, inserts axes of size 1."""

import pytensor.tensor as pt
from common import show

x = pt.dmatrix("x")
row = pt.drow("row")

show([x], x.T, name="DimShuffle.static", dims={"x": (3, 4)})

show([x], x.dimshuffle(1, "x", 0), name="DimShuffle.static.insert", dims={"x": (3, 4)})

show([row], row.dimshuffle(1), name="DimShuffle.static.drop", dims={"row": (1, 4)})

show([x], x.T, name="DimShuffle.dynamic", dims={"x": ("n", 4)})

show([x], x.dimshuffle(1, "x", 0), name="DimShuffle.dynamic.insert", dims={"x": ("n", 4)})

show([row], row.dimshuffle(1), name="DimShuffle.dynamic.drop", dims={"row": (1, "n")})
