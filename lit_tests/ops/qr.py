# RUN: %python %s | filecheck %s
"""QR: private functions for the packed factors and for the product of their reflections."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg.decomposition.qr import QR

a = pt.dmatrix("a")

# CHECK-LABEL: module @QR.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<1>(a)) : tensor<2xi64>
# CHECK-NEXT: c:2 = @householder_qr_float64(a) : tensor<?x?xf64>, tensor<?xf64>
# CHECK-NEXT: d = dynamic_pad(real_dynamic_slice(c#0, 0, concatenate<0>(size<0>(a), minimum(size<0>(a), size<1>(a))), 1), 0, 0, concatenate<0>(0, maximum(add(size<0>(a), multiply(size<1>(a), -1)), 0)), 0) : tensor<?x?xf64>
# CHECK-NEXT: return @householder_product_float64(d, c#1), select(LE(dynamic_iota<0, ?x?xi64>(b), dynamic_iota<1, ?x?xi64>(b)), c#0, 0) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK: @householder_qr_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) implements "householder_qr":
# CHECK: @householder_product_float64(tensor<?x?xf64>, tensor<?xf64>) -> tensor<?x?xf64> implements "householder_product":
show([a], QR()(a), name="QR.dynamic", dims={"a": ("m", "n")})

# CHECK-LABEL: module @QR.dynamic.economic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<1>(a)) : tensor<2xi64>
# CHECK-NEXT: c:2 = @householder_qr_float64(a) : tensor<?x?xf64>, tensor<?xf64>
# CHECK-NEXT: return @householder_product_float64(real_dynamic_slice(c#0, 0, concatenate<0>(size<0>(a), minimum(size<0>(a), size<1>(a))), 1), c#1), real_dynamic_slice(select(LE(dynamic_iota<0, ?x?xi64>(b), dynamic_iota<1, ?x?xi64>(b)), c#0, 0), 0, concatenate<0>(minimum(size<0>(a), size<1>(a)), size<1>(a)), 1) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK: @householder_qr_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) implements "householder_qr":
# CHECK: @householder_product_float64(tensor<?x?xf64>, tensor<?xf64>) -> tensor<?x?xf64> implements "householder_product":
show([a], QR(mode="economic")(a), name="QR.dynamic.economic", dims={"a": ("m", "n")})

# CHECK-LABEL: module @QR.dynamic.pivoting
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<1>(a)) : tensor<2xi64>
# CHECK-NEXT: c:3 = @pivoted_qr_float64(a) : tensor<?x?xf64>, tensor<?xf64>, tensor<?xi32>
# CHECK-NEXT: return c#0, c#1, real_dynamic_slice(select(LE(dynamic_iota<0, ?x?xi64>(b), dynamic_iota<1, ?x?xi64>(b)), c#0, 0), 0, concatenate<0>(minimum(size<0>(a), size<1>(a)), size<1>(a)), 1), c#2 : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>, tensor<?xi32>
# CHECK: @pivoted_qr_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?xi32>) implements "pivoted_qr":
show([a], QR(mode="raw", pivoting=True)(a), name="QR.dynamic.pivoting", dims={"a": ("m", "n")})
