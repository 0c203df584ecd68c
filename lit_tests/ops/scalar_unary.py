# RUN: %python %s | filecheck %s --match-full-lines
"""Scalar ops of one operand."""

import pytensor.scalar as ps
from common import of_another_release, show_scalar, this_or_another_release


def older(name, op):
    """A unary op that PyTensor 3.3 makes of others."""
    return this_or_another_release(ps, name, lambda: of_another_release(type(ps.exp), op)(ps.upgrade_to_float))


# CHECK: Exp.static: exponential(x) : tensor<4xf64>
# CHECK-NEXT: Exp.dynamic: exponential(x) : tensor<?xf64>
show_scalar(ps.exp, "float64")
# CHECK-NEXT: Exp.static.int8: exponential(convert<f32>(x)) : tensor<4xf32>
# CHECK-NEXT: Exp.dynamic.int8: exponential(convert<f32>(x)) : tensor<?xf32>
show_scalar(ps.exp, "int8", what="int8")
# CHECK-NEXT: Expm1.static: exponential_minus_one(x) : tensor<4xf64>
# CHECK-NEXT: Expm1.dynamic: exponential_minus_one(x) : tensor<?xf64>
show_scalar(ps.expm1, "float64")
# CHECK-NEXT: Exp2.static: power(2, x) : tensor<4xf64>
# CHECK-NEXT: Exp2.dynamic: power(2, x) : tensor<?xf64>
show_scalar(ps.exp2, "float64")
# CHECK-NEXT: Log.static: log(x) : tensor<4xf64>
# CHECK-NEXT: Log.dynamic: log(x) : tensor<?xf64>
show_scalar(ps.log, "float64")
# CHECK-NEXT: Log1p.static: log_plus_one(x) : tensor<4xf64>
# CHECK-NEXT: Log1p.dynamic: log_plus_one(x) : tensor<?xf64>
show_scalar(ps.log1p, "float64")
# CHECK-NEXT: Log2.static: multiply(log(x), 1.4427) : tensor<4xf32>
# CHECK-NEXT: Log2.dynamic: multiply(log(x), 1.4427) : tensor<?xf32>
show_scalar(ps.log2, "float32")
# CHECK-NEXT: Log10.static: multiply(log(x), 0.434294) : tensor<4xf64>
# CHECK-NEXT: Log10.dynamic: multiply(log(x), 0.434294) : tensor<?xf64>
show_scalar(ps.log10, "float64")
# CHECK-NEXT: Sqrt.static: sqrt(x) : tensor<4xf64>
# CHECK-NEXT: Sqrt.dynamic: sqrt(x) : tensor<?xf64>
show_scalar(ps.sqrt, "float64")
# CHECK-NEXT: Sqr.static: multiply(x, x) : tensor<4xi64>
# CHECK-NEXT: Sqr.dynamic: multiply(x, x) : tensor<?xi64>
show_scalar(ps.sqr, "int64")
# CHECK-NEXT: Reciprocal.static: divide(1, x) : tensor<4xf64>
# CHECK-NEXT: Reciprocal.dynamic: divide(1, x) : tensor<?xf64>
show_scalar(ps.reciprocal, "float64")
# CHECK-NEXT: Reciprocal.static.int32: divide(1, convert<f64>(x)) : tensor<4xf64>
# CHECK-NEXT: Reciprocal.dynamic.int32: divide(1, convert<f64>(x)) : tensor<?xf64>
show_scalar(ps.reciprocal, "int32", what="int32")
# CHECK-NEXT: Neg.static: negate(x) : tensor<4xf32>
# CHECK-NEXT: Neg.dynamic: negate(x) : tensor<?xf32>
show_scalar(ps.neg, "float32")
# CHECK-NEXT: Identity.static: x : tensor<4xi32>
# CHECK-NEXT: Identity.dynamic: x : tensor<?xi32>
show_scalar(ps.identity, "int32")
# CHECK-NEXT: Cast.static: convert<f32>(x) : tensor<4xf32>
# CHECK-NEXT: Cast.dynamic: convert<f32>(x) : tensor<?xf32>
show_scalar(ps.convert_to_float32, "int64")
# CHECK-NEXT: Cast.static.bool: NE(x, 0) : tensor<4xi1>
# CHECK-NEXT: Cast.dynamic.bool: NE(x, 0) : tensor<?xi1>
show_scalar(ps.convert_to_bool, "float64", what="bool")
# CHECK-NEXT: Cast.static.complex: convert<complex<f32>>(x) : tensor<4xcomplex<f32>>
# CHECK-NEXT: Cast.dynamic.complex: convert<complex<f32>>(x) : tensor<?xcomplex<f32>>
show_scalar(ps.convert_to_complex64, "float32", what="complex")

# Trigonometric and hyperbolic functions.

# CHECK-NEXT: Sin.static: sine(x) : tensor<4xf64>
# CHECK-NEXT: Sin.dynamic: sine(x) : tensor<?xf64>
show_scalar(ps.sin, "float64")
# CHECK-NEXT: Cos.static: cosine(x) : tensor<4xf64>
# CHECK-NEXT: Cos.dynamic: cosine(x) : tensor<?xf64>
show_scalar(ps.cos, "float64")
# CHECK-NEXT: Tan.static: tan(x) : tensor<4xf64>
# CHECK-NEXT: Tan.dynamic: tan(x) : tensor<?xf64>
show_scalar(ps.tan, "float64")
# CHECK-NEXT: ArcSin.static: asin(x) : tensor<4xf64>
# CHECK-NEXT: ArcSin.dynamic: asin(x) : tensor<?xf64>
show_scalar(ps.arcsin, "float64")
# CHECK-NEXT: ArcCos.static: acos(x) : tensor<4xf64>
# CHECK-NEXT: ArcCos.dynamic: acos(x) : tensor<?xf64>
show_scalar(ps.arccos, "float64")
# CHECK-NEXT: ArcTan.static: atan(x) : tensor<4xf64>
# CHECK-NEXT: ArcTan.dynamic: atan(x) : tensor<?xf64>
show_scalar(ps.arctan, "float64")
# CHECK-NEXT: Sinh.static: sinh(x) : tensor<4xf64>
# CHECK-NEXT: Sinh.dynamic: sinh(x) : tensor<?xf64>
show_scalar(ps.sinh, "float64")
# CHECK-NEXT: Cosh.static: cosh(x) : tensor<4xf64>
# CHECK-NEXT: Cosh.dynamic: cosh(x) : tensor<?xf64>
show_scalar(ps.cosh, "float64")
# CHECK-NEXT: Tanh.static: tanh(x) : tensor<4xf64>
# CHECK-NEXT: Tanh.dynamic: tanh(x) : tensor<?xf64>
show_scalar(ps.tanh, "float64")
# CHECK-NEXT: ArcSinh.static: asinh(x) : tensor<4xf64>
# CHECK-NEXT: ArcSinh.dynamic: asinh(x) : tensor<?xf64>
show_scalar(ps.arcsinh, "float64")
# CHECK-NEXT: ArcCosh.static: acosh(x) : tensor<4xf64>
# CHECK-NEXT: ArcCosh.dynamic: acosh(x) : tensor<?xf64>
show_scalar(ps.arccosh, "float64")
# CHECK-NEXT: ArcTanh.static: atanh(x) : tensor<4xf64>
# CHECK-NEXT: ArcTanh.dynamic: atanh(x) : tensor<?xf64>
show_scalar(ps.arctanh, "float64")
# CHECK-NEXT: Deg2Rad.static: multiply(x, 0.0174533) : tensor<4xf64>
# CHECK-NEXT: Deg2Rad.dynamic: multiply(x, 0.0174533) : tensor<?xf64>
show_scalar(older("deg2rad", "Deg2Rad"), "float64")
# CHECK-NEXT: Rad2Deg.static: multiply(x, 57.2958) : tensor<4xf64>
# CHECK-NEXT: Rad2Deg.dynamic: multiply(x, 57.2958) : tensor<?xf64>
show_scalar(older("rad2deg", "Rad2Deg"), "float64")

# Rounding: nothing to do for integers. The sign of an unsigned number is whether it is not zero.

# CHECK-NEXT: Floor.static: floor(x) : tensor<4xf64>
# CHECK-NEXT: Floor.dynamic: floor(x) : tensor<?xf64>
show_scalar(ps.floor, "float64")
# CHECK-NEXT: Floor.static.int64: convert<f64>(x) : tensor<4xf64>
# CHECK-NEXT: Floor.dynamic.int64: convert<f64>(x) : tensor<?xf64>
show_scalar(ps.floor, "int64", what="int64")
# CHECK-NEXT: Ceil.static: ceil(x) : tensor<4xf64>
# CHECK-NEXT: Ceil.dynamic: ceil(x) : tensor<?xf64>
show_scalar(ps.ceil, "float64")
# CHECK-NEXT: Trunc.static: select(LT(x, 0), ceil(x), floor(x)) : tensor<4xf64>
# CHECK-NEXT: Trunc.dynamic: select(LT(x, 0), ceil(x), floor(x)) : tensor<?xf64>
show_scalar(ps.trunc, "float64")
# CHECK-NEXT: RoundHalfToEven.static: round_nearest_even(x) : tensor<4xf64>
# CHECK-NEXT: RoundHalfToEven.dynamic: round_nearest_even(x) : tensor<?xf64>
show_scalar(ps.round_half_to_even, "float64")
# CHECK-NEXT: RoundHalfAwayFromZero.static: round_nearest_afz(x) : tensor<4xf64>
# CHECK-NEXT: RoundHalfAwayFromZero.dynamic: round_nearest_afz(x) : tensor<?xf64>
show_scalar(ps.round_half_away_from_zero, "float64")
# CHECK-NEXT: Abs.static: abs(x) : tensor<4xf64>
# CHECK-NEXT: Abs.dynamic: abs(x) : tensor<?xf64>
show_scalar(ps.abs, "float64")
# CHECK-NEXT: Abs.static.uint8: x : tensor<4xui8>
# CHECK-NEXT: Abs.dynamic.uint8: x : tensor<?xui8>
show_scalar(ps.abs, "uint8", what="uint8")
# CHECK-NEXT: Abs.static.complex: abs(x) : tensor<4xf64>
# CHECK-NEXT: Abs.dynamic.complex: abs(x) : tensor<?xf64>
show_scalar(ps.abs, "complex128", what="complex")
# CHECK-NEXT: Sign.static: sign(x) : tensor<4xf64>
# CHECK-NEXT: Sign.dynamic: sign(x) : tensor<?xf64>
show_scalar(ps.sign, "float64")
# CHECK-NEXT: Sign.static.uint8: convert<ui8>(NE(x, 0)) : tensor<4xui8>
# CHECK-NEXT: Sign.dynamic.uint8: convert<ui8>(NE(x, 0)) : tensor<?xui8>
show_scalar(ps.sign, "uint8", what="uint8")
# CHECK-NEXT: Sgn.static: sign(x) : tensor<4xf64>
# CHECK-NEXT: Sgn.dynamic: sign(x) : tensor<?xf64>
show_scalar(of_another_release(type(ps.sign), "Sgn")(ps.same_out), "float64")

# Predicates: no integer is NaN or infinite, a complex number is where one of its parts is.

# CHECK-NEXT: IsNan.static: NE(x, x) : tensor<4xi1>
# CHECK-NEXT: IsNan.dynamic: NE(x, x) : tensor<?xi1>
show_scalar(ps.isnan, "float64")
# CHECK-NEXT: IsNan.static.int64: False : tensor<4xi1>
# CHECK-NEXT: IsNan.dynamic.int64: False : tensor<?xi1>
show_scalar(ps.isnan, "int64", what="int64")
# CHECK-NEXT: IsNan.static.complex: a = real(x); b = imag(x); or(NE(a, a), NE(b, b)) : tensor<4xi1>
# CHECK-NEXT: IsNan.dynamic.complex: a = real(x); b = imag(x); or(NE(a, a), NE(b, b)) : tensor<?xi1>
show_scalar(ps.isnan, "complex64", what="complex")
# CHECK-NEXT: IsInf.static: is_inf(x) : tensor<4xi1>
# CHECK-NEXT: IsInf.dynamic: is_inf(x) : tensor<?xi1>
show_scalar(ps.isinf, "float32")
# CHECK-NEXT: IsInf.static.int64: False : tensor<4xi1>
# CHECK-NEXT: IsInf.dynamic.int64: False : tensor<?xi1>
show_scalar(ps.isinf, "int64", what="int64")
# CHECK-NEXT: IsInf.static.complex: or(is_inf(real(x)), is_inf(imag(x))) : tensor<4xi1>
# CHECK-NEXT: IsInf.dynamic.complex: or(is_inf(real(x)), is_inf(imag(x))) : tensor<?xi1>
show_scalar(ps.isinf, "complex64", what="complex")
# CHECK-NEXT: Invert.static: not(x) : tensor<4xi1>
# CHECK-NEXT: Invert.dynamic: not(x) : tensor<?xi1>
show_scalar(ps.invert, "bool")
# CHECK-NEXT: Invert.static.int32: not(x) : tensor<4xi32>
# CHECK-NEXT: Invert.dynamic.int32: not(x) : tensor<?xi32>
show_scalar(ps.invert, "int32", what="int32")
