# RUN: %python %s | filecheck %s --match-full-lines
"""Complex numbers and their parts."""

import pytensor.scalar as ps
from common import of_another_release, show_scalar, this_or_another_release

# PyTensor 3.3 makes these of other ops.
angle = this_or_another_release(ps, "angle", lambda: of_another_release(type(ps.abs), "Angle")(lambda x: (ps.float64,)))
complex_from_polar = this_or_another_release(
    ps,
    "complex_from_polar",
    lambda: of_another_release(type(ps.complex), "ComplexFromPolar")(lambda *xs: (ps.complex128,)),
)

# CHECK: Real.static: real(x) : tensor<4xf64>
# CHECK-NEXT: Real.dynamic: real(x) : tensor<?xf64>
show_scalar(ps.real, "complex128")
# CHECK-NEXT: Real.static.real: x : tensor<4xf64>
# CHECK-NEXT: Real.dynamic.real: x : tensor<?xf64>
show_scalar(ps.real, "float64", what="real")
# CHECK-NEXT: Imag.static: imag(x) : tensor<4xf32>
# CHECK-NEXT: Imag.dynamic: imag(x) : tensor<?xf32>
show_scalar(ps.imag, "complex64")
# CHECK-NEXT: Imag.static.real: 0 : tensor<4xi32>
# CHECK-NEXT: Imag.dynamic.real: 0 : tensor<?xi32>
show_scalar(ps.imag, "int32", what="real")
# CHECK-NEXT: Angle.static: atan2(imag(x), real(x)) : tensor<4xf64>
# CHECK-NEXT: Angle.dynamic: atan2(imag(x), real(x)) : tensor<?xf64>
show_scalar(angle, "complex128")
# CHECK-NEXT: Angle.static.real: atan2(0, x) : tensor<4xf64>
# CHECK-NEXT: Angle.dynamic.real: atan2(0, x) : tensor<?xf64>
show_scalar(angle, "float64", what="real")
# CHECK-NEXT: Conj.static: conj(x) : tensor<4xcomplex<f64>>
# CHECK-NEXT: Conj.dynamic: conj(x) : tensor<?xcomplex<f64>>
show_scalar(ps.conj, "complex128")
# CHECK-NEXT: Conj.static.real: x : tensor<4xf64>
# CHECK-NEXT: Conj.dynamic.real: x : tensor<?xf64>
show_scalar(ps.conj, "float64", what="real")
# CHECK-NEXT: Complex.static: complex(x, y) : tensor<4xcomplex<f64>>
# CHECK-NEXT: Complex.dynamic: complex(x, y) : tensor<?xcomplex<f64>>
show_scalar(ps.complex, "float64", "float64")
# CHECK-NEXT: Complex.static.float32: complex(x, y) : tensor<4xcomplex<f32>>
# CHECK-NEXT: Complex.dynamic.float32: complex(x, y) : tensor<?xcomplex<f32>>
show_scalar(ps.complex, "float32", "float32", what="float32")
# CHECK-NEXT: ComplexFromPolar.static: complex(multiply(x, cosine(y)), multiply(x, sine(y))) : tensor<4xcomplex<f64>>
# CHECK-NEXT: ComplexFromPolar.dynamic: complex(multiply(x, cosine(y)), multiply(x, sine(y))) : tensor<?xcomplex<f64>>
show_scalar(complex_from_polar, "float64", "float64")
