"""The formulas: log, log1p, lgamma, digamma and trigamma of float64 arrays without a call for each element.

In: a `Vector`, and what is known of its sign. Out: a `Vector`. No element takes a branch: all cases are computed and
selected from. Error bounds and tables: docs/cpu_math.md.

Decisions to know. XLA takes a division for expensive and fuses it only into a fusion that uses its result once: a
second use would split a formula into two kernels. So each quotient is used once, and divisions of different cases
are one, with selected numerator and denominator. Subnormal numbers count as zero, as they do in the rest of XLA:CPU's
programs. Multiplications and additions may be contracted to fused ones: no formula relies on a product's rounding.
"""

from __future__ import annotations

import math

import numpy as np

from . import coefficients as c
from .vector import Vector

_INF, _NAN = math.inf, math.nan
_TINY = float(np.finfo("float64").tiny)
_HUGE = float(np.finfo("float64").max)
_MANTISSA = (1 << 52) - 1
_BIAS = 1023
# log(2) as a sum. The first has 32 zero bits at its end: its product with an exponent is exact (fdlibm's e_log.c).
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_SQRT_HALF = 0x3FE6A09E00000000  # bits of sqrt(1/2), rounded down
_TWO_52 = 0x4330000000000000  # bits of 2^52: a small integer in its last bits is added to it


def log(x: Vector, *, positive: bool) -> Vector:
    """Natural logarithm: -inf at 0, NaN below.

    Args:
        x: the argument.
        positive: whether x is known to be NaN or not below 0.
    """
    exponent, fraction = _log_parts(x)
    result = _log_sum(exponent, fraction)
    if positive:
        return _log_ends(x, result)
    bad = (x.abs() < _TINY).where(-_INF, _NAN)
    return (x >= _TINY).where((x < _INF).where(result, x), bad)


def log1p(x: Vector) -> Vector:
    """log(1 + x): -inf at -1, NaN below. Zeros keep their sign, which decides what a division by the result gives."""
    # XLA takes (1 + x) - 1 for x, unless it cannot see it.
    total = (x + 1.0).minimum(_HUGE)
    lost = x - (total - 1.0)
    exponent, mantissa, shift = _split(total)
    # lost / 2^exponent; 2^-1024 would be the bits of an infinity.
    fraction = (mantissa - 1.0) + lost * (_BIAS * (1 << 52) - shift).maximum(0).from_bits()
    result = _log_sum(exponent, fraction)
    bad = x.is_equal(-1.0).where(-_INF, _NAN)
    same = (x.abs() < _TINY) | x.is_equal(_INF)
    return (x > -1.0).where(same.where(x, result), bad)


def log1p_of_fraction(x: Vector) -> Vector:
    """log(1 + x) for x in [0, 1] or NaN.

    Without a comparison or a bit operation: XLA:CPU fuses nothing into a reduction that has values of another type.
    """
    quotient = x.polynomial(c.LOG1P_P) / x.polynomial(c.LOG1P_Q)
    return x - x * x * (0.5 - x * quotient)


def lgamma(x: Vector, *, positive: bool) -> Vector:
    """log(abs(gamma(x))): inf at 0, -1, -2, ..., and at -inf.

    Args:
        x: the argument.
        positive: whether x is known to be NaN or not below 0.
    """
    size = x if positive else x.abs()
    small, large = size < 0.75, size >= 3.0
    # 0.75 .. 3 by an approximation that has the roots at 1 and 2 as factors; below, at x + 1; above, Stirling's series.
    y = small.where(size + 1.0, size)
    capped = size.minimum(1e30)
    square = capped * capped
    numerator = large.where(square.polynomial(c.STIRLING_P), y.polynomial(c.LGAMMA_P))
    denominator = large.where(capped * square.polynomial(c.STIRLING_Q), y.polynomial(c.LGAMMA_Q))
    quotient = large.where(0.0, c.LGAMMA_CONSTANT) + numerator / denominator
    correction = large.where(1.0, (y - 1.0) * (y - 2.0)) * quotient

    exponent, fraction = _log_parts(size)
    # log(size) - 1 without the rounding of log(size): near e, and for the Stirling case alone.
    logarithm = _log_ends(size, _log_sum(exponent, fraction, large.where(1.0, 0.0)))
    if positive:
        rest = small.where(-logarithm, 0.0)
        return large.where((size - 0.5) * logarithm + c.STIRLING_CONSTANT, rest) + correction
    negative = x < 0.0
    rest = (small & (x >= 0.0)).where(-logarithm, 0.0)
    result = large.where((size - 0.5) * logarithm + c.STIRLING_CONSTANT, rest) + correction
    # lgamma(-a) = -log(a sin(pi a)/pi) - lgamma(a) = -log(sin(pi a)/pi) - lgamma(1 + a)
    sine = _sine(size).abs() * small.where(1.0, size)
    reflected = (sine < _TINY).where(-_INF, _log_sum(*_log_parts(sine)))
    result = negative.where(-result - reflected, result)
    return size.is_equal(_INF).where(size, result)


def digamma(x: Vector, *, positive: bool) -> Vector:
    """The derivative of lgamma: NaN at 0, -1, -2, ..., and at -inf, as `chlo.digamma`.

    Args:
        x: the argument.
        positive: whether x is known to be NaN or not below 0.
    """
    size = x if positive else x.abs()
    small, large = size < 0.75, size >= 3.0
    y = small.where(size + 1.0, size)
    capped = size.minimum(1e30)
    numerator = large.where(-capped.polynomial(c.DIGAMMA_TAIL_P), y.polynomial(c.DIGAMMA_P))
    denominator = large.where(capped * capped.polynomial(c.DIGAMMA_TAIL_Q), y.polynomial(c.DIGAMMA_Q))
    # The root is subtracted in two steps, which XLA would make one if it saw them.
    distance = (y - c.DIGAMMA_ROOT[0]).minimum(4.0) - c.DIGAMMA_ROOT[1]
    quotient = large.where(0.0, 1.0) + numerator / denominator
    result = large.where(log(size, positive=True), 0.0) + large.where(1.0, distance) * quotient
    if positive:
        result = result + small.where(-1.0, 0.0) / small.where(size, 1.0)
        return size.is_equal(0.0).where(_NAN, result)
    # digamma(-a) = digamma(1 + a) + pi cot(pi a) = digamma(a) + 1/a + pi cot(pi a)
    negative = x < 0.0
    offset = size - size.round()
    square = offset * offset
    above, below = square.polynomial(c.COTANGENT_P), offset * square.polynomial(c.COTANGENT_Q)
    numerator = negative.where(small.where(above, above * size + below), small.where(-1.0, 0.0))
    denominator = negative.where(below * small.where(1.0, size), small.where(size, 1.0))
    result = result + numerator / denominator
    pole = denominator.is_equal(0.0)
    return pole.where(_NAN, result)


def trigamma(x: Vector, *, positive: bool) -> Vector:
    """The second derivative of lgamma: inf at 0, -1, -2, ...; NaN at -inf.

    Args:
        x: the argument.
        positive: whether x is known to be NaN or not below 0.
    """
    # trigamma(x) = trigamma(1 + x) + 1/x^2 and trigamma(-a) = pi^2/sin(pi a)^2 - trigamma(1 + a)
    size = x if positive else x.abs()
    small = size < 1.0
    negative = None if positive else x < 0.0
    shifted = small if negative is None else small | negative
    y = shifted.where(size + 1.0, size)
    # trigamma(y) without 1/y. Both are scaled, so that the denominator does not overflow.
    capped, scale = y.minimum(2.0**54), 2.0**-440
    numerator = capped.polynomial([number * scale for number in c.TRIGAMMA_P])
    denominator = y * capped.polynomial([number * scale for number in c.TRIGAMMA_Q])
    base = numerator / denominator
    # 1/y, with the pole at 0, which is 1/square or pi^2/sin(pi a)^2.
    root = size if negative is None else negative.where(_sine(size), size)
    square = shifted.where(root * root, 1.0)
    signed = square if negative is None else negative.where(-square, square)
    pole = shifted.where(y + signed, 1.0) / (y * square)
    return (base if negative is None else negative.where(-base, base)) + pole


# ---- parts ----------------------------------------------------------------------------------------------------------


def _split(x: Vector) -> tuple[Vector, Vector, Vector]:
    """A positive normal number as 2^exponent mantissa, with a mantissa between sqrt(1/2) and sqrt(2).

    Returns:
        The exponent and the mantissa as float64, and the exponent as an int64 shifted to where float64 has it.
    """
    bits = x.bits()
    biased = bits - (_SQRT_HALF - (_BIAS << 52))
    # Not `convert`, which only AVX-512 has as a vector instruction.
    exponent = ((biased >> 52) | _TWO_52).from_bits() - (2.0**52 + _BIAS)
    shift = (biased & ~_MANTISSA) - (_BIAS << 52)
    return exponent, (bits - shift).from_bits(), shift


def _log_parts(x: Vector) -> tuple[Vector, Vector]:
    exponent, mantissa, _ = _split(x)
    return exponent, mantissa - 1.0


def _log_sum(exponent: Vector, fraction: Vector, less: Vector | None = None) -> Vector:
    """exponent log(2) + log(1 + fraction) - less; `less` is a small whole number."""
    square = fraction * fraction
    tail = fraction * square * (fraction.polynomial(c.LOG_P) / fraction.polynomial(c.LOG_Q))
    whole = exponent * _LN2[0]
    whole = whole if less is None else whole - less
    return whole - ((square * 0.5 - (tail + exponent * _LN2[1])) - fraction)


def _log_ends(x: Vector, result: Vector) -> Vector:
    """The logarithm with what it is for 0, infinity and NaN; x is not negative."""
    return (x < _TINY).where(-_INF, (x < _INF).where(result, x))


def _sine(size: Vector) -> Vector:
    """sin(pi size)/pi but for its sign; exactly 0 at whole numbers."""
    offset = size - size.round()
    return offset * (offset * offset).polynomial(c.SINE_P)
