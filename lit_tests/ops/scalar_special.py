# RUN: %python %s | filecheck %s --match-full-lines
"""Special functions: CHLO's where it has them, stable compositions, and functions taken from JAX (`@name`)."""

import pytensor.scalar.math as psm
from common import of_another_release, show_scalar, this_or_another_release


def older(name, op):
    """A function that PyTensor 3.3 makes of others."""
    make = of_another_release(type(psm.gammainc), op)
    return this_or_another_release(psm, name, lambda: make(psm.gammainc.output_types_preference))


# CHECK: Erf.static: erf(x) : tensor<4xf64>
# CHECK-NEXT: Erf.dynamic: erf(x) : tensor<?xf64>
show_scalar(psm.erf, "float64")
# CHECK-NEXT: Erfc.static: erfc(x) : tensor<4xf64>
# CHECK-NEXT: Erfc.dynamic: erfc(x) : tensor<?xf64>
show_scalar(psm.erfc, "float64")
# CHECK-NEXT: Erfinv.static: erf_inv(x) : tensor<4xf64>
# CHECK-NEXT: Erfinv.dynamic: erf_inv(x) : tensor<?xf64>
show_scalar(psm.erfinv, "float64")
# CHECK-NEXT: GammaLn.static: lgamma(x) : tensor<4xf64>
# CHECK-NEXT: GammaLn.dynamic: lgamma(x) : tensor<?xf64>
show_scalar(psm.gammaln, "float64")
# CHECK-NEXT: Psi.static: select(EQ(x, 0), divide(-1, x), digamma(x)) : tensor<4xf64>
# CHECK-NEXT: Psi.dynamic: select(EQ(x, 0), divide(-1, x), digamma(x)) : tensor<?xf64>
show_scalar(psm.psi, "float64")
# CHECK-NEXT: PolyGamma.static: polygamma(convert<f64>(x), y) : tensor<4xf64>
# CHECK-NEXT: PolyGamma.dynamic: polygamma(convert<f64>(x), y) : tensor<?xf64>
show_scalar(psm.polygamma, "int64", "float64")
# CHECK-NEXT: TriGamma.static: a = LT(x, 0); b = select(EQ(x, inf), 0, polygamma(1, select(a, subtract(1, x), x))); c = divide(3.14159, sine(multiply(subtract(x, floor(x)), 3.14159))); select(a, subtract(multiply(c, c), b), b) : tensor<4xf64>
# CHECK-NEXT: TriGamma.dynamic: a = LT(x, 0); b = select(EQ(x, inf), 0, polygamma(1, select(a, subtract(1, x), x))); c = divide(3.14159, sine(multiply(subtract(x, floor(x)), 3.14159))); select(a, subtract(multiply(c, c), b), b) : tensor<?xf64>
show_scalar(psm.tri_gamma, "float64")
# CHECK-NEXT: Sigmoid.static: logistic(x) : tensor<4xf64>
# CHECK-NEXT: Sigmoid.dynamic: logistic(x) : tensor<?xf64>
show_scalar(psm.sigmoid, "float64")

# Compositions.

# CHECK-NEXT: Softplus.static: add(maximum(x, 0), log_plus_one(exponential(negate(abs(x))))) : tensor<4xf64>
# CHECK-NEXT: Softplus.dynamic: add(maximum(x, 0), log_plus_one(exponential(negate(abs(x))))) : tensor<?xf64>
show_scalar(psm.softplus, "float64")
# CHECK-NEXT: Log1mexp.static: select(LT(x, -0.693147), log_plus_one(negate(exponential(x))), log(negate(exponential_minus_one(x)))) : tensor<4xf64>
# CHECK-NEXT: Log1mexp.dynamic: select(LT(x, -0.693147), log_plus_one(negate(exponential(x))), log(negate(exponential_minus_one(x)))) : tensor<?xf64>
show_scalar(psm.log1mexp, "float64")

# From JAX. Regularized incomplete gamma functions are scaled by gamma(k) for PyTensor's unregularized ones.

# CHECK-NEXT: Erfcx.static: @erfcx(x) : tensor<4xf64>
# CHECK-NEXT: Erfcx.dynamic: @erfcx(x) : tensor<?xf64>
show_scalar(psm.erfcx, "float64")
# CHECK-NEXT: Erfcinv.static: multiply(@ndtri(multiply(x, 0.5)), -0.707107) : tensor<4xf64>
# CHECK-NEXT: Erfcinv.dynamic: multiply(@ndtri(multiply(x, 0.5)), -0.707107) : tensor<?xf64>
show_scalar(psm.erfcinv, "float64")
# CHECK-NEXT: Owens_t.static: ... select(...) : tensor<4xf64>
# CHECK-NEXT: Owens_t.dynamic: ... select(...) : tensor<?xf64>
show_scalar(psm.owens_t, "float64", "float64")
# CHECK-NEXT: Gamma.static: @gamma(x) : tensor<4xf64>
# CHECK-NEXT: Gamma.dynamic: @gamma(x) : tensor<?xf64>
show_scalar(psm.gamma, "float64")
# CHECK-NEXT: GammaInc.static: @gammainc(x, y) : tensor<4xf64>
# CHECK-NEXT: GammaInc.dynamic: @gammainc(x, y) : tensor<?xf64>
show_scalar(psm.gammainc, "float64", "float64")
# CHECK-NEXT: GammaIncC.static: @gammaincc(x, y) : tensor<4xf64>
# CHECK-NEXT: GammaIncC.dynamic: @gammaincc(x, y) : tensor<?xf64>
show_scalar(psm.gammaincc, "float64", "float64")
# CHECK-NEXT: GammaU.static: multiply(@gammaincc(x, y), @gamma(x)) : tensor<4xf64>
# CHECK-NEXT: GammaU.dynamic: multiply(@gammaincc(x, y), @gamma(x)) : tensor<?xf64>
show_scalar(older("gammau", "GammaU"), "float64", "float64")
# CHECK-NEXT: GammaL.static: multiply(@gammainc(x, y), @gamma(x)) : tensor<4xf64>
# CHECK-NEXT: GammaL.dynamic: multiply(@gammainc(x, y), @gamma(x)) : tensor<?xf64>
show_scalar(older("gammal", "GammaL"), "float64", "float64")
# CHECK-NEXT: GammaIncInv.static: ... select(...) : tensor<4xf64>
# CHECK-NEXT: GammaIncInv.dynamic: ... select(...) : tensor<?xf64>
show_scalar(psm.gammaincinv, "float64", "float64")
# CHECK-NEXT: GammaIncCInv.static: ... select(...) : tensor<4xf64>
# CHECK-NEXT: GammaIncCInv.dynamic: ... select(...) : tensor<?xf64>
show_scalar(psm.gammainccinv, "float64", "float64")
# CHECK-NEXT: BetaIncInv.static: ... select(...) : tensor<4xf64>
# CHECK-NEXT: BetaIncInv.dynamic: ... select(...) : tensor<?xf64>
show_scalar(psm.betaincinv, "float64", "float64", "float64")
# CHECK-NEXT: I0.static: @i0(x) : tensor<4xf64>
# CHECK-NEXT: I0.dynamic: @i0(x) : tensor<?xf64>
show_scalar(psm.i0, "float64")
# CHECK-NEXT: I1.static: @i1(x) : tensor<4xf64>
# CHECK-NEXT: I1.dynamic: @i1(x) : tensor<?xf64>
show_scalar(psm.i1, "float64")
# CHECK-NEXT: BetaInc.static: @betainc(x, y, z) : tensor<4xf64>
# CHECK-NEXT: BetaInc.dynamic: @betainc(x, y, z) : tensor<?xf64>
show_scalar(psm.betainc, "float64", "float64", "float64")
# CHECK-NEXT: Hyp2F1.static: @hyp2f1(x, y, z, w) : tensor<4xf64>
# CHECK-NEXT: Hyp2F1.dynamic: @hyp2f1(x, y, z, w) : tensor<?xf64>
show_scalar(psm.hyp2f1, "float64", "float64", "float64", "float64")
# CHECK-NEXT: NdtriExp.static: ... select(...) : tensor<4xf64>
# CHECK-NEXT: NdtriExp.dynamic: ... select(...) : tensor<?xf64>
ndtri_exp = this_or_another_release(
    psm, "ndtri_exp", lambda: of_another_release(type(psm.erf), "NdtriExp")(psm.erf.output_types_preference)
)
show_scalar(ndtri_exp, "float64")
