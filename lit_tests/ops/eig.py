# RUN: %python %s | filecheck %s
"""Eig and Schur: private functions whose body is a call that only a library can stand for."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.decomposition.eigen import Eig
from pytensor.tensor.linalg.decomposition.schur import Schur

a = pt.dmatrix("a")

# CHECK-LABEL: module @Eig.dynamic
# CHECK-NEXT: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: c:2 = @eig_float64(select(b, a, 0)) : tensor<?xcomplex<f64>>, tensor<?x?xcomplex<f64>>
# CHECK-NEXT: return select(b, c#0, (0x7FF8000000000000,0.000000e+00)), select(b, c#1, (0x7FF8000000000000,0.000000e+00)) : tensor<?xcomplex<f64>>, tensor<?x?xcomplex<f64>>
# CHECK: @eig_float64(tensor<?x?xf64>) -> (tensor<?xcomplex<f64>>, tensor<?x?xcomplex<f64>>) implements "eig":
show([a], Eig()(a), name="Eig.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @Schur.dynamic
# CHECK-NEXT: b:2 = @schur_float64(select(reduce<[0, 1], and>(is_finite(a), true), a, 0)) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK-NEXT: return select(reduce<[0, 1], and>(is_finite(a), true), b#0, nan), select(reduce<[0, 1], and>(is_finite(a), true), b#1, nan) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK: @schur_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?x?xf64>) implements "schur":
show([a], Schur()(a), name="Schur.dynamic", dims={"a": ("n", "n")})
