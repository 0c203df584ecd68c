# RUN: %python %s | filecheck %s --match-full-lines
"""Special functions: CHLO's where it has them, stable compositions, and functions taken from JAX (`@name`)."""

import pytensor.scalar.math as psm
from common import of_another_release, show_scalar, this_or_another_release


def older(name, op):
    """A function that PyTensor 3.3 makes of others."""
    make = of_another_release(type(psm.gammainc), op)
    return this_or_another_release(psm, name, lambda: make(psm.gammainc.output_types_preference))


# CHECK: Erf: erf(x) : f64
show_scalar(psm.erf, "float64")
# CHECK-NEXT: Erfc: erfc(x) : f64
show_scalar(psm.erfc, "float64")
# CHECK-NEXT: Erfinv: erf_inv(x) : f64
show_scalar(psm.erfinv, "float64")
# CHECK-NEXT: GammaLn: lgamma(x) : f64
show_scalar(psm.gammaln, "float64")
# CHECK-NEXT: Psi: select(EQ(x, 0), divide(-1, x), digamma(x)) : f64
show_scalar(psm.psi, "float64")
# CHECK-NEXT: PolyGamma: a = convert<f64>(x); b = and(LE(y, 0), GT(a, 0)); c = select(b, add(y, ceil(negate(y))), y); d = polygamma(a, select(and(b, EQ(c, 0)), 1, c)); select(b, add(d, @polygamma_left(a, y)), d) : f64
show_scalar(psm.polygamma, "int64", "float64")
# CHECK-NEXT: TriGamma: a = LT(x, 0); b = select(GT(x, 1e+10), divide(1, subtract(x, 0.5)), polygamma(1, select(a, subtract(1, x), x))); c = divide(3.14159, sine(multiply(subtract(x, floor(x)), 3.14159))); select(a, subtract(multiply(c, c), b), b) : f64
show_scalar(psm.tri_gamma, "float64")
# CHECK-NEXT: Sigmoid: logistic(x) : f64
show_scalar(psm.sigmoid, "float64")

# Compositions.

# CHECK-NEXT: Softplus: add(maximum(x, 0), log_plus_one(exponential(negate(abs(x))))) : f64
show_scalar(psm.softplus, "float64")
# CHECK-NEXT: Log1mexp: select(LT(x, -0.693147), log_plus_one(negate(exponential(x))), log(negate(exponential_minus_one(x)))) : f64
show_scalar(psm.log1mexp, "float64")

# From JAX. Regularized incomplete gamma functions are scaled by gamma(k) for PyTensor's unregularized ones.

# CHECK-NEXT: Erfcx: @erfcx(x) : f64
show_scalar(psm.erfcx, "float64")
# CHECK-NEXT: Erfcinv: multiply(@ndtri(multiply(x, 0.5)), -0.707107) : f64
show_scalar(psm.erfcinv, "float64")
# CHECK-NEXT: Gamma: @gamma(x) : f64
show_scalar(psm.gamma, "float64")
# CHECK-NEXT: GammaInc: @gammainc(x, y) : f64
show_scalar(psm.gammainc, "float64", "float64")
# CHECK-NEXT: GammaIncC: @gammaincc(x, y) : f64
show_scalar(psm.gammaincc, "float64", "float64")
# CHECK-NEXT: GammaU: multiply(@gammaincc(x, y), @gamma(x)) : f64
show_scalar(older("gammau", "GammaU"), "float64", "float64")
# CHECK-NEXT: GammaL: multiply(@gammainc(x, y), @gamma(x)) : f64
show_scalar(older("gammal", "GammaL"), "float64", "float64")
# CHECK-NEXT: GammaIncInv: ... select(...) : f64
show_scalar(psm.gammaincinv, "float64", "float64")
# CHECK-NEXT: GammaIncCInv: ... select(...) : f64
show_scalar(psm.gammainccinv, "float64", "float64")
# CHECK-NEXT: BetaIncInv: ... select(...) : f64
show_scalar(psm.betaincinv, "float64", "float64", "float64")
# CHECK-NEXT: I0: @i0(x) : f64
show_scalar(psm.i0, "float64")
# CHECK-NEXT: I1: @i1(x) : f64
show_scalar(psm.i1, "float64")
# PyMC's own.
# CHECK-NEXT: I0e: @i0e(x) : f64
show_scalar(of_another_release(type(psm.i0), "I0e")(psm.i0.output_types_preference), "float64")
# CHECK-NEXT: I1e: @i1e(x) : f64
show_scalar(of_another_release(type(psm.i1), "I1e")(psm.i1.output_types_preference), "float64")
# CHECK-NEXT: BetaInc: @betainc(x, y, z) : f64
show_scalar(psm.betainc, "float64", "float64", "float64")
# CHECK-NEXT: Hyp2F1: @hyp2f1(x, y, z, w) : f64
show_scalar(psm.hyp2f1, "float64", "float64", "float64", "float64")

# Modified Bessel functions are written for JAX, too; others are SciPy's, called in Python.

# CHECK-NEXT: J0: a:2 = @hlograph.host(0, x); a#1 : f64
show_scalar(psm.j0, "float64")
# CHECK-NEXT: J1: a:2 = @hlograph.host(0, x); a#1 : f64
show_scalar(psm.j1, "float64")
# CHECK-NEXT: Jv: a:2 = @hlograph.host(0, x, y); a#1 : f64
show_scalar(psm.jv, "float64", "float64")
# CHECK-NEXT: Owens_t: a:2 = @hlograph.host(0, x, y); a#1 : f64
show_scalar(psm.owens_t, "float64", "float64")
# CHECK-NEXT: Ive: @ive(x, y) : f64
show_scalar(psm.ive, "float64", "float64")
# CHECK-NEXT: Iv: multiply(@ive(x, y), exponential(abs(y))) : f64
show_scalar(older("iv", "Iv"), "float64", "float64")
# CHECK-NEXT: Kve: @kve(x, y) : f64
show_scalar(psm.kve, "float64", "float64")
# CHECK-NEXT: NdtriExp: ... select(...) : f64
ndtri_exp = this_or_another_release(
    psm, "ndtri_exp", lambda: of_another_release(type(psm.erf), "NdtriExp")(psm.erf.output_types_preference)
)
show_scalar(ndtri_exp, "float64")
