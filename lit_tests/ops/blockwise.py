# RUN: %python %s | filecheck %s
"""Blockwise: a core op over leading batch axes, which stretch as NumPy's do."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.linalg import Cholesky

x, y = pt.dtensor3("x"), pt.dmatrix("y")
cholesky = Blockwise(Cholesky(lower=True))

show([x, y], pt.matmul(x, y), name="Blockwise.static", dims={"x": (2, 3, 4), "y": (4, 5)})

show([y], cholesky(y), name="Blockwise.static.one", dims={"y": (4, 4)})

show([x, y], pt.matmul(x, y), name="Blockwise.dynamic", dims={"x": ("n", 3, 4), "y": (4, 5)})

show([x], cholesky(x), name="Blockwise.dynamic.cholesky", dims={"x": ("n", 4, 4)})
