# RUN: %python %s | filecheck %s
"""Dot, Dot22, Dot22Scalar, Gemv, Gemm, Ger, BatchedDot: products of matrices and vectors."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.blas import batched_dot, dot22scalar, gemm_no_inplace, gemv_no_inplace, ger
from pytensor.tensor.blas import _dot22 as dot22
from pytensor.tensor.math import dot

x, y, z = pt.dmatrix("x"), pt.dmatrix("y"), pt.dmatrix("z")
u, v = pt.dvector("u"), pt.dvector("v")
a, b = pt.dscalar("a"), pt.dscalar("b")
s, t = pt.dtensor3("s"), pt.dtensor3("t")

show([x, y], dot(x, y), name="Dot.static", dims={"x": (3, 4), "y": (4, 5)})

show([x, v], dot(x, v), name="Dot.static.vector", dims={"x": (3, 4), "v": (4,)})

show([x, y], dot(x, y), name="Dot.dynamic", dims={"x": ("n", "k"), "y": ("l", 5)})

show([u, v], dot(u, v), name="Dot.dynamic.vectors", dims={"u": ("n",), "v": ("n",)})

show([x, y], dot22(x, y), name="Dot22.static", dims={"x": (3, 4), "y": (4, 5)})

show([x, y], dot22(x, y), name="Dot22.dynamic", dims={"x": ("n", 4), "y": (4, 5)})

show([x, y, a], dot22scalar(x, y, a), name="Dot22Scalar.static", dims={"x": (3, 4), "y": (4, 5)})

show([x, y, a], dot22scalar(x, y, a), name="Dot22Scalar.dynamic", dims={"x": ("n", 4), "y": (4, 5)})

show([u, a, x, v, b], gemv_no_inplace(u, a, x, v, b), name="Gemv.static", dims={"u": (3,), "x": (3, 4), "v": (4,)})

# A factor 1 multiplies nothing; a factor 0 leaves the addend out.
show([u, x, v], gemv_no_inplace(u, 1.0, x, v, 0.0), name="Gemv.static.constant", dims={"u": (3,), "x": (3, 4), "v": (4,)})

show([u, a, x, v, b], gemv_no_inplace(u, a, x, v, b), name="Gemv.dynamic", dims={"u": ("n",), "x": ("n", 4), "v": (4,)})

show([z, a, x, y, b], gemm_no_inplace(z, a, x, y, b), name="Gemm.static", dims={"z": (3, 5), "x": (3, 4), "y": (4, 5)})

show([z, x, y], gemm_no_inplace(z, 1.0, x, y, 1.0), name="Gemm.static.constant", dims={"z": (3, 5), "x": (3, 4), "y": (4, 5)})

show([z, a, x, y, b], gemm_no_inplace(z, a, x, y, b), name="Gemm.dynamic", dims={"z": ("n", 5), "x": ("n", 4), "y": (4, 5)})

show([x, a, u, v], ger(x, a, u, v), name="Ger.static", dims={"x": (3, 4), "u": (3,), "v": (4,)})

show([x, a, u, v], ger(x, a, u, v), name="Ger.dynamic", dims={"x": ("n", 4), "u": ("n",), "v": (4,)})

show([s, t], batched_dot(s, t), name="BatchedDot.static", dims={"s": (2, 3, 4), "t": (2, 4, 5)})

show([s, t], batched_dot(s, t), name="BatchedDot.dynamic", dims={"s": ("n", 3, 4), "t": ("n", 4, 5)})
