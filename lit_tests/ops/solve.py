# RUN: %python %s | filecheck %s
"""Solve, SolveTriangular."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import Solve, SolveTriangular

a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")

show([a, b], SolveTriangular(lower=True, b_ndim=2)(a, b), name="SolveTriangular.static", dims={"a": (3, 3), "b": (3, 2)})

show([a, v], SolveTriangular(lower=False, unit_diagonal=True, b_ndim=1)(a, v), name="SolveTriangular.static.vector", dims={"a": (3, 3), "v": (3,)})

show([a, b], SolveTriangular(lower=True, b_ndim=2)(a, b), name="SolveTriangular.dynamic", dims={"a": ("n", "n"), "b": ("n", 2)})

# LU is a private function, for a platform's library to take its place.
show([a, b], Solve(b_ndim=2)(a, b), name="Solve.static", dims={"a": (3, 3), "b": (3, 2)})

show([a, b], Solve(b_ndim=2, assume_a="pos", lower=True)(a, b), name="Solve.static.pos", dims={"a": (3, 3), "b": (3, 2)})

show([a, v], Solve(b_ndim=1)(a, v), name="Solve.dynamic", dims={"a": ("n", "n"), "v": ("n",)})
