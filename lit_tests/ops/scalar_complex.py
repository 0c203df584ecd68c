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

# CHECK: Real: real(x) : f64
show_scalar(ps.real, "complex128")
# CHECK-NEXT: Real.real: x : f64
show_scalar(ps.real, "float64", what="real")
# CHECK-NEXT: Imag: imag(x) : f32
show_scalar(ps.imag, "complex64")
# CHECK-NEXT: Imag.real: 0 : i32
show_scalar(ps.imag, "int32", what="real")
# CHECK-NEXT: Angle: atan2(imag(x), real(x)) : f64
show_scalar(angle, "complex128")
# CHECK-NEXT: Angle.real: atan2(0, x) : f64
show_scalar(angle, "float64", what="real")
# CHECK-NEXT: Conj: conj(x) : complex<f64>
show_scalar(ps.conj, "complex128")
# CHECK-NEXT: Conj.real: x : f64
show_scalar(ps.conj, "float64", what="real")
# CHECK-NEXT: Complex: complex(x, y) : complex<f64>
show_scalar(ps.complex, "float64", "float64")
# CHECK-NEXT: Complex.float32: complex(x, y) : complex<f32>
show_scalar(ps.complex, "float32", "float32", what="float32")
# CHECK-NEXT: ComplexFromPolar: complex(multiply(x, cosine(y)), multiply(x, sine(y))) : complex<f64>
show_scalar(complex_from_polar, "float64", "float64")

# CHECK-NEXT: Sign: a = real(x); b = imag(x); c = is_inf(a); d = is_inf(b); select(xor(c, d), complex(select(c, sign(a), 0), select(d, sign(b), 0)), sign(x)) : complex<f64>
show_scalar(ps.sign, "complex128")
# NumPy's order, real parts first.
# CHECK-NEXT: LT: a = imag(x); b = imag(y); c = real(x); d = real(y); or(and(LT(c, d), and(EQ(a, a), EQ(b, b))), and(EQ(c, d), LT(a, b))) : i1
show_scalar(ps.lt, "complex128", "complex128")
# CHECK-NEXT: Maximum: a = real(x); b = imag(x); c = imag(y); d = real(y); select(or(or(NE(a, a), NE(b, b)), or(and(GT(a, d), and(EQ(b, b), EQ(c, c))), and(EQ(a, d), GE(b, c)))), x, y) : complex<f64>
show_scalar(ps.maximum, "complex128", "complex128")
