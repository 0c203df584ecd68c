# RUN: %python %s | filecheck %s
"""Cholesky, CholeskySolve."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import Cholesky, CholeskySolve

a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")

show([a], Cholesky(lower=True)(a), name="Cholesky.static", dims={"a": (3, 3)})

show([a], Cholesky(lower=False)(a), name="Cholesky.static.upper", dims={"a": (3, 3)})

show([a], Cholesky(lower=True)(a), name="Cholesky.dynamic", dims={"a": ("n", "n")})

show([a, b], CholeskySolve(lower=True, b_ndim=2)(a, b), name="CholeskySolve.static", dims={"a": (3, 3), "b": (3, 2)})

show([a, v], CholeskySolve(lower=False, b_ndim=1)(a, v), name="CholeskySolve.dynamic", dims={"a": ("n", "n"), "v": ("n",)})
