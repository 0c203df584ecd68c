# RUN: %python %s | filecheck %s --match-full-lines
"""The formula of every scalar op, of float64 unless its line says other dtypes.

CHLO's ops where it has them, compositions, functions taken from JAX (`@name`), and calls of SciPy (`@hlograph.host`).
What is long is given by its last op; what is one op of its operands, to floats, stands with others of its letter. Names that this release of PyTensor has not are those of another one, of Aesara or
of PyMC.
"""

import re

import pytensor.scalar as ps
import pytensor.scalar.math as psm
from common import of_another_release, scalar_formula
from pytensor.tensor.math import MulWithoutZeros

from hlograph.dialects.registry import registered
from hlograph.dialects.tensor.scalar import TABLE

# Dtypes beside float64, and in place of it where the op has none of it.
MORE = {
    **dict.fromkeys(["Abs", "Sign"], "uint8 | complex128"),
    **dict.fromkeys(["Angle", "Conj", "Imag", "IsInf", "IsNan", "Real"], "complex128"),
    **dict.fromkeys(["IntDiv", "Mod"], "int64 int64 | uint32 uint32"),
    **dict.fromkeys(["Pow", "TrueDiv"], "int64 int64"),
    "Add": "float64 float64 | int32 float64 int32",
    "Mul": "float64 float64",
    "Exp": "int8",
    "Floor": "int64",
    "LT": "complex128 complex128 | int32 float64",
    "Maximum": "complex128 complex128",
    "Switch": "float64 int32 float64",
}
ONLY = {
    **dict.fromkeys(["OR", "XOR"], "bool bool"),
    "AND": "bool bool | int64 int64",
    "BetaIncInv": "float64 float64 float64",
    "Invert": "bool | int32",
    "PolyGamma": "int64 float64",
    "Sqr": "int64",
    "Switch": "bool float64 float64",
}
LIKE = {
    **dict.fromkeys(["Deg2Rad", "Rad2Deg", "NdtriExp"], psm.erf),
    **dict.fromkeys(["GammaU", "GammaL", "Iv"], psm.gammainc),
    "I0e": psm.i0,
    "I1e": psm.i1,
    "Sgn": ps.sign,
    "TrueDivide": ps.true_div,
    "FloorDivide": ps.int_div,
    "ScalarMaximum": ps.maximum,
    "ScalarMinimum": ps.minimum,
    "Angle": ps.abs,
    "ComplexFromPolar": ps.complex,
}
TYPES = {"Angle": lambda x: (ps.float64,), "ComplexFromPolar": lambda *xs: (ps.complex128,)}
HERE = {type(op).__name__: op for module in (ps, psm) for op in vars(module).values() if isinstance(op, ps.ScalarOp)}
HERE |= {"Cast": ps.convert_to_float32, "MulWithoutZeros": MulWithoutZeros(ps.upcast_out)}

plain: dict[str, list[str]] = {}
registered()  # reads all files of rules
for name in sorted(TABLE):
    like = LIKE.get(name)
    op = HERE.get(name) or of_another_release(type(like), name)(TYPES.get(name, like.output_types_preference))
    for dtypes in f"{ONLY.get(name, 'float64 ' * op.nin)}|{MORE.get(name, '')}".split("|"):
        if types := dtypes.split():  # an op of any number of operands has none of its own
            shown, formula = scalar_formula(op, *types, what="" if set(types) == {"float64"} else ".".join(types))
            if one := re.fullmatch(r"(@?\w+)\(x(?:, y(?:, z)?)?\) : f64", formula):
                plain.setdefault(name[0], []).append(f"{shown}={one[1]}")
            else:
                print(f"{shown}: {formula}")
for letter, names in plain.items():
    print(f"plain, {letter}: {' '.join(names)}")

# CHECK: AND.bool.bool: and(x, y) : i1
# CHECK-NEXT: AND.int64.int64: and(x, y) : i64
# CHECK-NEXT: Abs.uint8: x : ui8
# CHECK-NEXT: Add.int32.float64.int32: add(add(convert<f64>(x), y), convert<f64>(z)) : f64
# CHECK-NEXT: Angle: atan2(0, x) : f64
# CHECK-NEXT: Angle.complex128: atan2(imag(x), real(x)) : f64
# CHECK-NEXT: Cast: convert<f32>(x) : f32
# CHECK-NEXT: Clip: select(LT(x, y), y, select(GT(x, z), z, x)) : f64
# CHECK-NEXT: Complex: complex(x, y) : complex<f64>
# CHECK-NEXT: ComplexFromPolar: complex(multiply(x, cosine(y)), multiply(x, sine(y))) : complex<f64>
# CHECK-NEXT: Conj: x : f64
# CHECK-NEXT: Conj.complex128: conj(x) : complex<f64>
# CHECK-NEXT: Cosh: a = exponential(multiply(0.5, abs(x))); add(multiply(multiply(0.5, a), a), divide(divide(0.5, a), a)) : f64
# CHECK-NEXT: Deg2Rad: multiply(x, 0.0174533) : f64
# CHECK-NEXT: EQ: EQ(x, y) : i1
# CHECK-NEXT: Erfcinv: multiply(@ndtri(multiply(x, 0.5)), -0.707107) : f64
# CHECK-NEXT: Exp.int8: exponential(convert<f32>(x)) : f32
# CHECK-NEXT: Exp2: power(2, x) : f64
# CHECK-NEXT: Floor.int64: convert<f64>(x) : f64
# CHECK-NEXT: FloorDivide: a = remainder(x, y); b = divide(subtract(x, a), y); c = select(and(NE(a, 0), NE(LT(a, 0), LT(y, 0))), subtract(b, 1), b); d = floor(c); select(EQ(y, 0), divide(x, y), select(GT(subtract(c, d), 0.5), add(d, 1), d)) : f64
# CHECK-NEXT: GE: GE(x, y) : i1
# CHECK-NEXT: GT: GT(x, y) : i1
# CHECK-NEXT: GammaL: multiply(@gammainc(x, y), @gamma(x)) : f64
# CHECK-NEXT: GammaU: multiply(@gammaincc(x, y), @gamma(x)) : f64
# CHECK-NEXT: Hyp2F1: a:2 = @hlograph.host(0, x, y, z, w); a#1 : f64
# CHECK-NEXT: Identity: x : f64
# CHECK-NEXT: Imag: 0 : f64
# CHECK-NEXT: IntDiv: a = remainder(x, y); b = divide(subtract(x, a), y); c = select(and(NE(a, 0), NE(LT(a, 0), LT(y, 0))), subtract(b, 1), b); d = floor(c); select(EQ(y, 0), divide(x, y), select(GT(subtract(c, d), 0.5), add(d, 1), d)) : f64
# CHECK-NEXT: IntDiv.int64.int64: a = EQ(y, 0); b = select(a, 1, y); c = divide(x, b); d = remainder(x, b); select(a, 0, select(and(NE(d, 0), NE(LT(d, 0), LT(b, 0))), subtract(c, 1), c)) : i64
# CHECK-NEXT: IntDiv.uint32.uint32: a = EQ(y, 0); select(a, 0, divide(x, select(a, 1, y))) : ui32
# CHECK-NEXT: Invert.bool: not(x) : i1
# CHECK-NEXT: Invert.int32: not(x) : i32
# CHECK-NEXT: IsInf: is_inf(x) : i1
# CHECK-NEXT: IsInf.complex128: or(is_inf(real(x)), is_inf(imag(x))) : i1
# CHECK-NEXT: IsNan: NE(x, x) : i1
# CHECK-NEXT: IsNan.complex128: a = real(x); b = imag(x); or(NE(a, a), NE(b, b)) : i1
# CHECK-NEXT: J0: a:2 = @hlograph.host(0, x); a#1 : f64
# CHECK-NEXT: J1: a:2 = @hlograph.host(0, x); a#1 : f64
# CHECK-NEXT: Jv: a:2 = @hlograph.host(0, x, y); a#1 : f64
# CHECK-NEXT: LE: LE(x, y) : i1
# CHECK-NEXT: LT: LT(x, y) : i1
# CHECK-NEXT: LT.complex128.complex128: a = imag(x); b = imag(y); c = real(x); d = real(y); or(and(LT(c, d), and(EQ(a, a), EQ(b, b))), and(EQ(c, d), LT(a, b))) : i1
# CHECK-NEXT: LT.int32.float64: LT(convert<f64>(x), y) : i1
# CHECK-NEXT: Log10: multiply(log(x), 0.434294) : f64
# CHECK-NEXT: Log1mexp: select(LT(x, -0.693147), log_plus_one(negate(exponential(x))), log(negate(exponential_minus_one(x)))) : f64
# CHECK-NEXT: Log2: multiply(log(x), 1.4427) : f64
# CHECK-NEXT: Maximum.complex128.complex128: a = real(x); b = imag(x); c = imag(y); d = real(y); select(or(or(NE(a, a), NE(b, b)), or(and(GT(a, d), and(EQ(b, b), EQ(c, c))), and(EQ(a, d), GE(b, c)))), x, y) : complex<f64>
# CHECK-NEXT: Mod: a = remainder(x, y); b = LT(y, 0); select(EQ(a, 0), select(b, -0, 0), select(NE(LT(a, 0), b), add(a, y), a)) : f64
# CHECK-NEXT: Mod.int64.int64: a = select(EQ(y, 0), 1, y); b = remainder(x, a); select(and(NE(b, 0), NE(LT(b, 0), LT(a, 0))), add(b, a), b) : i64
# CHECK-NEXT: Mod.uint32.uint32: remainder(x, select(EQ(y, 0), 1, y)) : ui32
# CHECK-NEXT: MulWithoutZeros: select(EQ(x, 0), y, select(EQ(y, 0), x, multiply(x, y))) : f64
# CHECK-NEXT: NEQ: NE(x, y) : i1
# CHECK-NEXT: OR.bool.bool: or(x, y) : i1
# CHECK-NEXT: Owens_t: a:2 = @hlograph.host(0, x, y); a#1 : f64
# CHECK-NEXT: PolyGamma.int64.float64: a = convert<f64>(x); b = and(LE(y, 0), GT(a, 0)); c = select(b, add(y, ceil(negate(y))), y); d = polygamma(a, select(and(b, EQ(c, 0)), 1, c)); select(b, add(d, @polygamma_left(a, y)), d) : f64
# CHECK-NEXT: Pow.int64.int64: a = negate(1); select(LT(y, 0), select(EQ(x, a), select(EQ(and(y, 1), 1), a, 1), select(EQ(x, 1), 1, 0)), while<(p0, p1, p2) -> reduce<[0], or>(GT(p0, 0), false), (p0, p1, p2) -> (shift_right_logical(p0, 1), multiply(p1, p1), select(EQ(and(p0, 1), 1), multiply(p2, p1), p2))>(maximum(y, 0), x, 1)#2) : i64
# CHECK-NEXT: Psi: select(EQ(x, 0), divide(-1, x), digamma(x)) : f64
# CHECK-NEXT: Rad2Deg: multiply(x, 57.2958) : f64
# CHECK-NEXT: Real: x : f64
# CHECK-NEXT: Reciprocal: divide(1, x) : f64
# CHECK-NEXT: Second: y : f64
# CHECK-NEXT: Sign.uint8: convert<ui8>(NE(x, 0)) : ui8
# CHECK-NEXT: Sign.complex128: a = real(x); b = imag(x); c = is_inf(a); d = is_inf(b); select(xor(c, d), complex(select(c, sign(a), 0), select(d, sign(b), 0)), sign(x)) : complex<f64>
# CHECK-NEXT: Sinh: a = abs(x); b = exponential(multiply(0.5, a)); c = multiply(multiply(0.5, b), b); d = divide(divide(0.5, b), b); e = exponential_minus_one(x); select(LT(a, 1), multiply(0.5, add(e, divide(e, add(e, 1)))), select(LT(x, 0), subtract(d, c), subtract(c, d))) : f64
# CHECK-NEXT: Softplus: add(maximum(x, 0), log_plus_one(exponential(negate(abs(x))))) : f64
# CHECK-NEXT: Sqr.int64: multiply(x, x) : i64
# CHECK-NEXT: Switch.float64.int32.float64: select(NE(x, 0), convert<f64>(y), z) : f64
# CHECK-NEXT: TriGamma: a = LT(x, 0); b = select(GT(x, 1e+10), divide(1, subtract(x, 0.5)), polygamma(1, select(a, subtract(1, x), x))); c = divide(3.14159, sine(multiply(subtract(x, floor(x)), 3.14159))); select(a, subtract(multiply(c, c), b), b) : f64
# CHECK-NEXT: TrueDiv.int64.int64: divide(convert<f64>(x), convert<f64>(y)) : f64
# CHECK-NEXT: Trunc: select(LT(x, 0), ceil(x), floor(x)) : f64
# CHECK-NEXT: XOR.bool.bool: xor(x, y) : i1
# CHECK-NEXT: plain, A: Abs=abs Abs.complex128=abs Add=add ArcCos=acos ArcCosh=acosh ArcSin=asin ArcSinh=asinh ArcTan=atan ArcTan2=atan2 ArcTanh=atanh
# CHECK-NEXT: plain, B: BetaInc=@betainc BetaIncInv=@betaincinv
# CHECK-NEXT: plain, C: Ceil=ceil Cos=cosine
# CHECK-NEXT: plain, E: Erf=erf Erfc=erfc Erfcx=@erfcx Erfinv=erf_inv Exp=exponential Expm1=exponential_minus_one
# CHECK-NEXT: plain, F: Floor=floor
# CHECK-NEXT: plain, G: Gamma=@gamma GammaInc=@gammainc GammaIncC=@gammaincc GammaIncCInv=@gammainccinv GammaIncInv=@gammaincinv GammaLn=lgamma
# CHECK-NEXT: plain, I: I0=@i0 I0e=@i0e I1=@i1 I1e=@i1e Imag.complex128=imag Iv=@iv Ive=@ive
# CHECK-NEXT: plain, K: Kve=@kve
# CHECK-NEXT: plain, L: Log=log Log1p=log_plus_one
# CHECK-NEXT: plain, M: Maximum=maximum Minimum=minimum Mul=multiply
# CHECK-NEXT: plain, N: NdtriExp=@ndtriexp Neg=negate
# CHECK-NEXT: plain, P: Pow=power
# CHECK-NEXT: plain, R: Real.complex128=real RoundHalfAwayFromZero=round_nearest_afz RoundHalfToEven=round_nearest_even
# CHECK-NEXT: plain, S: ScalarMaximum=maximum ScalarMinimum=minimum Sgn=sign Sigmoid=logistic Sign=sign Sin=sine Sqrt=sqrt Sub=subtract Switch.bool.float64.float64=select
# CHECK-NEXT: plain, T: Tan=tan Tanh=tanh TrueDiv=divide TrueDivide=divide
