# RUN: %python %s | filecheck %s
"""Det, SLogDet, MatrixInverse: through LU."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import Det, MatrixInverse, SLogDet

a = pt.dmatrix("a")

show([a], Det()(a), name="Det.static", dims={"a": (3, 3)})

show([a], Det()(a), name="Det.dynamic", dims={"a": ("n", "n")})

show([a], SLogDet()(a), name="SLogDet.static", dims={"a": (3, 3)})

show([a], SLogDet()(a), name="SLogDet.dynamic", dims={"a": ("n", "n")})

show([a], MatrixInverse()(a), name="MatrixInverse.static", dims={"a": (3, 3)})

show([a], MatrixInverse()(a), name="MatrixInverse.dynamic", dims={"a": ("n", "n")})
