# RUN: %python %s | filecheck %s --match-full-lines
"""Scalar ops of one operand."""

import pytensor.scalar as ps
from common import of_another_release, show_scalar, this_or_another_release


def older(name, op):
    """A unary op that PyTensor 3.3 makes of others."""
    return this_or_another_release(ps, name, lambda: of_another_release(type(ps.exp), op)(ps.upgrade_to_float))


# CHECK: Exp: exponential(x) : f64
show_scalar(ps.exp, "float64")
# CHECK-NEXT: Exp.int8: exponential(convert<f32>(x)) : f32
show_scalar(ps.exp, "int8", what="int8")
# CHECK-NEXT: Expm1: exponential_minus_one(x) : f64
show_scalar(ps.expm1, "float64")
# CHECK-NEXT: Exp2: power(2, x) : f64
show_scalar(ps.exp2, "float64")
# CHECK-NEXT: Log: log(x) : f64
show_scalar(ps.log, "float64")
# CHECK-NEXT: Log1p: log_plus_one(x) : f64
show_scalar(ps.log1p, "float64")
# CHECK-NEXT: Log2: multiply(log(x), 1.4427) : f32
show_scalar(ps.log2, "float32")
# CHECK-NEXT: Log10: multiply(log(x), 0.434294) : f64
show_scalar(ps.log10, "float64")
# CHECK-NEXT: Sqrt: sqrt(x) : f64
show_scalar(ps.sqrt, "float64")
# CHECK-NEXT: Sqr: multiply(x, x) : i64
show_scalar(ps.sqr, "int64")
# CHECK-NEXT: Reciprocal: divide(1, x) : f64
show_scalar(ps.reciprocal, "float64")
# CHECK-NEXT: Reciprocal.int32: divide(1, convert<f64>(x)) : f64
show_scalar(ps.reciprocal, "int32", what="int32")
# CHECK-NEXT: Neg: negate(x) : f32
show_scalar(ps.neg, "float32")
# CHECK-NEXT: Identity: x : i32
show_scalar(ps.identity, "int32")
# CHECK-NEXT: Cast: convert<f32>(x) : f32
show_scalar(ps.convert_to_float32, "int64")
# CHECK-NEXT: Cast.bool: NE(x, 0) : i1
show_scalar(ps.convert_to_bool, "float64", what="bool")
# CHECK-NEXT: Cast.complex: convert<complex<f32>>(x) : complex<f32>
show_scalar(ps.convert_to_complex64, "float32", what="complex")

# Trigonometric and hyperbolic functions.

# CHECK-NEXT: Sin: sine(x) : f64
show_scalar(ps.sin, "float64")
# CHECK-NEXT: Cos: cosine(x) : f64
show_scalar(ps.cos, "float64")
# CHECK-NEXT: Tan: tan(x) : f64
show_scalar(ps.tan, "float64")
# CHECK-NEXT: ArcSin: asin(x) : f64
show_scalar(ps.arcsin, "float64")
# CHECK-NEXT: ArcCos: acos(x) : f64
show_scalar(ps.arccos, "float64")
# CHECK-NEXT: ArcTan: atan(x) : f64
show_scalar(ps.arctan, "float64")
# CHECK-NEXT: Sinh: {{a = abs\(x\); .* select\(LT\(a, 1\), multiply\(0.5, add\(e, divide\(e, add\(e, 1\)\)\)\), select\(LT\(x, 0\), subtract\(d, c\), subtract\(c, d\)\)\)}} : f64
show_scalar(ps.sinh, "float64")
# CHECK-NEXT: Cosh: a = exponential(multiply(0.5, abs(x))); add(multiply(multiply(0.5, a), a), divide(divide(0.5, a), a)) : f64
show_scalar(ps.cosh, "float64")
# CHECK-NEXT: Tanh: tanh(x) : f64
show_scalar(ps.tanh, "float64")
# CHECK-NEXT: ArcSinh: asinh(x) : f64
show_scalar(ps.arcsinh, "float64")
# CHECK-NEXT: ArcCosh: acosh(x) : f64
show_scalar(ps.arccosh, "float64")
# CHECK-NEXT: ArcTanh: atanh(x) : f64
show_scalar(ps.arctanh, "float64")
# CHECK-NEXT: Deg2Rad: multiply(x, 0.0174533) : f64
show_scalar(older("deg2rad", "Deg2Rad"), "float64")
# CHECK-NEXT: Rad2Deg: multiply(x, 57.2958) : f64
show_scalar(older("rad2deg", "Rad2Deg"), "float64")

# Rounding: nothing to do for integers. The sign of an unsigned number is whether it is not zero.

# CHECK-NEXT: Floor: floor(x) : f64
show_scalar(ps.floor, "float64")
# CHECK-NEXT: Floor.int64: convert<f64>(x) : f64
show_scalar(ps.floor, "int64", what="int64")
# CHECK-NEXT: Ceil: ceil(x) : f64
show_scalar(ps.ceil, "float64")
# CHECK-NEXT: Trunc: select(LT(x, 0), ceil(x), floor(x)) : f64
show_scalar(ps.trunc, "float64")
# CHECK-NEXT: RoundHalfToEven: round_nearest_even(x) : f64
show_scalar(ps.round_half_to_even, "float64")
# CHECK-NEXT: RoundHalfAwayFromZero: round_nearest_afz(x) : f64
show_scalar(ps.round_half_away_from_zero, "float64")
# CHECK-NEXT: Abs: abs(x) : f64
show_scalar(ps.abs, "float64")
# CHECK-NEXT: Abs.uint8: x : ui8
show_scalar(ps.abs, "uint8", what="uint8")
# CHECK-NEXT: Abs.complex: abs(x) : f64
show_scalar(ps.abs, "complex128", what="complex")
# CHECK-NEXT: Sign: sign(x) : f64
show_scalar(ps.sign, "float64")
# CHECK-NEXT: Sign.uint8: convert<ui8>(NE(x, 0)) : ui8
show_scalar(ps.sign, "uint8", what="uint8")
# CHECK-NEXT: Sgn: sign(x) : f64
show_scalar(of_another_release(type(ps.sign), "Sgn")(ps.same_out), "float64")

# Predicates: no integer is NaN or infinite, a complex number is where one of its parts is.

# CHECK-NEXT: IsNan: NE(x, x) : i1
show_scalar(ps.isnan, "float64")
# CHECK-NEXT: IsNan.int64: false : i1
show_scalar(ps.isnan, "int64", what="int64")
# CHECK-NEXT: IsNan.complex: a = real(x); b = imag(x); or(NE(a, a), NE(b, b)) : i1
show_scalar(ps.isnan, "complex64", what="complex")
# CHECK-NEXT: IsInf: is_inf(x) : i1
show_scalar(ps.isinf, "float32")
# CHECK-NEXT: IsInf.int64: false : i1
show_scalar(ps.isinf, "int64", what="int64")
# CHECK-NEXT: IsInf.complex: or(is_inf(real(x)), is_inf(imag(x))) : i1
show_scalar(ps.isinf, "complex64", what="complex")
# CHECK-NEXT: Invert: not(x) : i1
show_scalar(ps.invert, "bool")
# CHECK-NEXT: Invert.int32: not(x) : i32
show_scalar(ps.invert, "int32", what="int32")
