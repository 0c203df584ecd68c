"""cpu_math: float64 logarithms and the gamma family become code that XLA:CPU vectorises.

    before  %0 = stablehlo.log %x : tensor<1000xf64>                    // libm, an element at a time
    after   %b = stablehlo.bitcast_convert %x : tensor<1000xi64>        // exponent and mantissa by their bits,
            %q = stablehlo.divide %p, %r                                // a rational approximation,
            ...                                                         // zeros, infinities and NaN by selection

In: a module for the CPU. Out: `log`, `log_plus_one`, `lgamma`, `digamma` and `polygamma(1, x)` of static float64 arrays
of at least `elements` elements are elementwise arithmetic. Rounding: docs/explanation/cpu_math.md bounds each
function's error; subnormal arguments count as zero, as they do in the rest of XLA:CPU's programs.

Decisions to know. A formula stands where the op stood, and is fused with what is around it, if its result has one user
and the module has at most `inline` such ops. Otherwise it is a private function, one for each type of argument, whose
calls XLA leaves alone: it is computed once where XLA would repeat a part of it for each user, and compiled in less than
half the time. No element takes a branch: all cases are computed and selected from. XLA takes a division for expensive
and fuses it only into a fusion that uses its result once: a second use would split a formula into two kernels. So each
quotient is used once, and divisions of different cases are one, with selected numerator and denominator.
Multiplications and additions may be contracted to fused ones: no formula relies on a product's rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import builder as hlo
from ..analysis.known import is_fraction, is_not_negative
from ..builder import Builder, Tensor
from ..builder.places import INT64
from ..ir.bindings import ir
from ..ir.functions import adopt, call
from ..ir.ops import clone_block
from ..ir.refused import Refused, require
from ..ir.values import dtype_of, is_constant, main_function, owner, static_shape, users, walk
from .report import Report

# Below this many elements there is less than a microsecond to win, and XLA's own op compiles faster.
ELEMENTS = 64
INLINE = 8

# A module without any of these is left as it is.
OPS = frozenset({"stablehlo.log", "stablehlo.log_plus_one", "chlo.lgamma", "chlo.digamma", "chlo.polygamma"})

FLOAT64 = np.dtype(np.float64)
Formula = Callable[[Tensor], Tensor]


# ---- rational approximations -----------------------------------------------------------------------------------------

# Coefficients, that of the lowest power first. All are fits of our own in 80-digit arithmetic (Lawson's iteration of
# weighted least squares on a linearised quotient), rounded to double precision; the error that is given is the fit's,
# relative to the function that is computed in the end. Where arguments are positive, no denominator has a negative
# coefficient, so that nothing cancels in Horner's scheme; where a numerator has some, the quotient is a correction to a
# constant.

# log(1 + f) = f - f^2/2 + f^3 P(f)/Q(f) on [sqrt(1/2) - 1, sqrt(2) - 1]; error 1.4e-17.
_LOG_P = (
    7.708660001669071, 17.937402093298946, 14.499250357012366, 4.705852991901284, 0.49749509032155464,
    0.00010186819073890707,
)  # fmt: skip
_LOG_Q = (23.125980005007186, 71.15669128365528, 82.98968153078236, 45.228795355804216, 11.287484223040982, 1.0)

# log(1 + x) = x - x^2 (1/2 - x P(x)/Q(x)) on [0, 1]; error 1.4e-17.
_LOG1P_P = (
    14.707757347854473, 30.557741784928766, 21.485486976478867, 5.861805864969819, 0.498555089655979,
    3.92168161538263e-05,
)  # fmt: skip
_LOG1P_Q = (44.12327204357788, 124.76567938672844, 131.55675725845182, 63.45521375921913, 13.625888395182564, 1.0)

# lgamma(y) = (y - 1) (y - 2) (C + P(y)/Q(y)) on [3/4, 3]; error 3.4e-17.
_LGAMMA_CONSTANT = 0.46875
_LGAMMA_P = (
    1.063941871030776, 23.563285934275605, 98.89243140025478, 98.51588926073502, -16.66485097781707, -39.77670380497901,
    -9.171788294755476, -0.4500501795521496, -0.0001416343733595685,
)  # fmt: skip
_LGAMMA_Q = (
    0.5110872572043783, 23.084234219615674, 193.26189885735405, 507.4649185383175, 496.39331084518057,
    189.83203024000454, 26.437653092615143, 1.0,
)  # fmt: skip

# lgamma(a) = (a - 1/2) (log(a) - 1) + (log(2 pi) - 1)/2 + P(a^2)/(a Q(a^2)) for a >= 3; error 1.9e-17.
_STIRLING_P = (0.0, 0.143759570884981, 0.614970177400933, 0.48506820270634265, 0.08333333333330241)
_STIRLING_Q = (0.023970355366850573, 1.9286785695867295, 7.565256721753749, 5.854151765707601, 1.0)
_STIRLING_CONSTANT = 0.4189385332046727  # (log(2 pi) - 1)/2

# sin(pi r)/pi = r P(r^2) on [-1/2, 1/2]; error 2.6e-19.
_SINE_P = (
    1.0, -1.6449340668482262, 0.8117424252833373, -0.19075182412143063, 0.02614784780453184, -0.0023460808868439047,
    0.00014842780097319307, -6.972000739100413e-06, 2.449310638191976e-07,
)  # fmt: skip

# digamma(y) = (y - root) (1 + P(y)/Q(y)) on [3/4, 3]; error 7.9e-18. The root is the sum of two numbers.
_DIGAMMA_P = (
    723.120806486693, 1274.6385303099833, 57.57531139448616, -575.5835160545126, -238.52277688599708,
    -29.80114087454751, -0.9844471676923146, -0.00010154333395507076,
)  # fmt: skip
_DIGAMMA_Q = (
    3.6994349410999195e-06, 1056.9365709117512, 2074.7042609475952, 1326.0712785009166, 341.485428415233,
    34.22214326637861, 1.0,
)  # fmt: skip
_DIGAMMA_ROOT = (1.4616321449683622, 9.549995429965697e-17)

# digamma(a) = log(a) - P(a)/(a Q(a)) for a >= 3; error 3.2e-17.
_DIGAMMA_TAIL_P = (
    0.22144619896061557, 1.0950602733614399, 2.1127454917766775, 2.4075771655240445, 1.3203180129137138,
    0.49999999999990596,
)  # fmt: skip
_DIGAMMA_TAIL_Q = (0.2338814097791601, 1.6466291581742878, 3.508353230992051, 4.402826106614379, 2.47396935912787, 1.0)

# pi r cot(pi r) = P(r^2)/Q(r^2) on [-1/2, 1/2]; absolute error 1.8e-18.
_COTANGENT_P = (1.0, -4.645870721440624, 2.6801313799958812, -0.38975986055790274, 0.012663534497444033)
_COTANGENT_Q = (1.0, -1.3560025877441721, 0.38370814478878273, -0.027990749788505704, 0.0002852019914082612)

# trigamma(a) = 1/a + P(a)/(a Q(a)) for a >= 1; error 2.3e-17.
_TRIGAMMA_P = (
    11.614205073995166, 42.1546108089389, 71.65523423342893, 71.71532864645522, 45.235984162923856,
    18.079429022911455, 4.309991086634554, 0.4999999999999698,
)  # fmt: skip
_TRIGAMMA_Q = (
    9.180676614577998e-06, 11.614108413239954, 53.7693067137597, 106.31784343487675, 117.5142945558306,
    79.40642103030105, 33.39664176680186, 8.286648839923872, 1.0,
)  # fmt: skip


# ---- formulas --------------------------------------------------------------------------------------------------------

_INF, _NAN = math.inf, math.nan
_TINY = float(np.finfo("float64").tiny)
_HUGE = float(np.finfo("float64").max)
_MANTISSA = (1 << 52) - 1
_BIAS = 1023
# log(2) as a sum. The first has 32 zero bits at its end: its product with an exponent is exact (fdlibm's e_log.c).
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_SQRT_HALF = 0x3FE6A09E00000000  # bits of sqrt(1/2), rounded down
_TWO_52 = 0x4330000000000000  # bits of 2^52: a small integer in its last bits is added to it


def log(x: Tensor, *, positive: bool) -> Tensor:
    """Natural logarithm: -inf at 0, NaN below.

    Args:
        x: the argument.
        positive: whether x is known to be NaN or not below 0.
    """
    exponent, fraction, _ = _split(x)
    result = _log_sum(exponent, fraction)
    if positive:
        return _log_ends(x, result)
    bad = where(hlo.abs(x) < _TINY, -_INF, _NAN)
    return where(x >= _TINY, where(x < _INF, result, x), bad)


def log1p(x: Tensor) -> Tensor:
    """log(1 + x): -inf at -1, NaN below. Zeros keep their sign, which decides what a division by the result gives."""
    # XLA takes (1 + x) - 1 for x, unless it cannot see it.
    total = hlo.minimum_(x + 1.0, _HUGE)
    lost = x - (total - 1.0)
    exponent, fraction, shift = _split(total)
    # lost / 2^exponent; 2^-1024 would be the bits of an infinity.
    fraction = fraction + lost * hlo.bitcast_convert(hlo.maximum_(_BIAS * (1 << 52) - shift, 0), FLOAT64)
    result = _log_sum(exponent, fraction)
    bad = where(hlo.compare("EQ", x, -1.0), -_INF, _NAN)
    same = (hlo.abs(x) < _TINY) | hlo.compare("EQ", x, _INF)
    return where(x > -1.0, where(same, x, result), bad)


def log1p_of_fraction(x: Tensor) -> Tensor:
    """log(1 + x) for x in [0, 1] or NaN.

    Without a comparison or a bit operation: XLA:CPU fuses nothing into a reduction that has values of another type.
    """
    quotient = polynomial(x, _LOG1P_P) / polynomial(x, _LOG1P_Q)
    return x - x * x * (0.5 - x * quotient)


def lgamma(x: Tensor, *, positive: bool) -> Tensor:
    """log(abs(gamma(x))): inf at 0, -1, -2, ..., and at -inf.

    Args:
        x: the argument.
        positive: whether x is known to be NaN or not below 0.
    """
    size = x if positive else hlo.abs(x)
    small, large = size < 0.75, size >= 3.0
    # 0.75 .. 3 by an approximation that has the roots at 1 and 2 as factors; below, at x + 1; above, Stirling's series.
    y = where(small, size + 1.0, size)
    capped = hlo.minimum_(size, 1e30)
    square = capped * capped
    numerator = where(large, polynomial(square, _STIRLING_P), polynomial(y, _LGAMMA_P))
    denominator = where(large, capped * polynomial(square, _STIRLING_Q), polynomial(y, _LGAMMA_Q))
    quotient = where(large, 0.0, _LGAMMA_CONSTANT) + numerator / denominator
    correction = where(large, 1.0, (y - 1.0) * (y - 2.0)) * quotient

    exponent, fraction, _ = _split(size)
    # log(size) - 1 without the rounding of log(size): near e, and for the Stirling case alone.
    logarithm = _log_ends(size, _log_sum(exponent, fraction, where(large, 1.0, 0.0)))
    if positive:
        rest = where(small, -logarithm, 0.0)
        return where(large, (size - 0.5) * logarithm + _STIRLING_CONSTANT, rest) + correction
    negative = x < 0.0
    rest = where(small & (x >= 0.0), -logarithm, 0.0)
    result = where(large, (size - 0.5) * logarithm + _STIRLING_CONSTANT, rest) + correction
    # lgamma(-a) = -log(a sin(pi a)/pi) - lgamma(a) = -log(sin(pi a)/pi) - lgamma(1 + a)
    sine = hlo.abs(_sine(size)) * where(small, 1.0, size)
    reflected = where(sine < _TINY, -_INF, _log_sum(*_split(sine)[:2]))
    result = where(negative, -result - reflected, result)
    return where(hlo.compare("EQ", size, _INF), size, result)


def digamma(x: Tensor, *, positive: bool) -> Tensor:
    """The derivative of lgamma: NaN at 0, -1, -2, ..., and at -inf, as `chlo.digamma`.

    Args:
        x: the argument.
        positive: whether x is known to be NaN or not below 0.
    """
    size = x if positive else hlo.abs(x)
    small, large = size < 0.75, size >= 3.0
    y = where(small, size + 1.0, size)
    capped = hlo.minimum_(size, 1e30)
    numerator = where(large, -polynomial(capped, _DIGAMMA_TAIL_P), polynomial(y, _DIGAMMA_P))
    denominator = where(large, capped * polynomial(capped, _DIGAMMA_TAIL_Q), polynomial(y, _DIGAMMA_Q))
    # The root is subtracted in two steps, which XLA would make one if it saw them.
    distance = hlo.minimum_(y - _DIGAMMA_ROOT[0], 4.0) - _DIGAMMA_ROOT[1]
    quotient = where(large, 0.0, 1.0) + numerator / denominator
    result = where(large, log(size, positive=True), 0.0) + where(large, 1.0, distance) * quotient
    if positive:
        result = result + where(small, -1.0, 0.0) / where(small, size, 1.0)
        return where(hlo.compare("EQ", size, 0.0), _NAN, result)
    # digamma(-a) = digamma(1 + a) + pi cot(pi a) = digamma(a) + 1/a + pi cot(pi a)
    negative = x < 0.0
    offset = size - hlo.round_nearest_even(size)
    square = offset * offset
    above, below = polynomial(square, _COTANGENT_P), offset * polynomial(square, _COTANGENT_Q)
    numerator = where(negative, where(small, above, above * size + below), where(small, -1.0, 0.0))
    denominator = where(negative, below * where(small, 1.0, size), where(small, size, 1.0))
    result = result + numerator / denominator
    pole = hlo.compare("EQ", denominator, 0.0)
    return where(pole, _NAN, result)


def trigamma(x: Tensor, *, positive: bool) -> Tensor:
    """The second derivative of lgamma: inf at 0, -1, -2, ...; NaN at -inf.

    Args:
        x: the argument.
        positive: whether x is known to be NaN or not below 0.
    """
    # trigamma(x) = trigamma(1 + x) + 1/x^2 and trigamma(-a) = pi^2/sin(pi a)^2 - trigamma(1 + a)
    size = x if positive else hlo.abs(x)
    small = size < 1.0
    negative = None if positive else x < 0.0
    shifted = small if negative is None else small | negative
    y = where(shifted, size + 1.0, size)
    # trigamma(y) without 1/y. Both are scaled, so that the denominator does not overflow.
    capped, scale = hlo.minimum_(y, 2.0**54), 2.0**-440
    numerator = polynomial(capped, [number * scale for number in _TRIGAMMA_P])
    denominator = y * polynomial(capped, [number * scale for number in _TRIGAMMA_Q])
    base = numerator / denominator
    # 1/y, with the pole at 0, which is 1/square or pi^2/sin(pi a)^2.
    root = size if negative is None else where(negative, _sine(size), size)
    square = where(shifted, root * root, 1.0)
    signed = square if negative is None else where(negative, -square, square)
    pole = where(shifted, y + signed, 1.0) / (y * square)
    return (base if negative is None else where(negative, -base, base)) + pole


# What formulas have in common.


def where(mask: Tensor, yes: Tensor | float, no: Tensor | float) -> Tensor:
    """Where a mask is true, `yes`, elsewhere `no`."""
    one, other = (x if isinstance(x, Tensor) else mask.builder.constant(x, FLOAT64) for x in (yes, no))
    return hlo.select(mask, one, other)


def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """By Horner's scheme, the coefficient of the lowest power first."""
    *rest, last = coefficients
    result = x * last if last != 1.0 else x
    for coefficient in reversed(rest[1:]):
        result = (result + coefficient) * x
    return result + rest[0] if rest[0] else result


def _split(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A positive normal number as 2^exponent (1 + fraction), the latter between sqrt(1/2) and sqrt(2).

    Returns:
        The exponent and the fraction as float64, and the exponent as an int64 shifted to where float64 has it.
    """
    bits = hlo.bitcast_convert(x, INT64)
    biased = bits - (_SQRT_HALF - (_BIAS << 52))
    # Not `convert`, which only AVX-512 has as a vector instruction.
    exponent = hlo.bitcast_convert(hlo.shift_right_logical(biased, 52) | _TWO_52, FLOAT64) - (2.0**52 + _BIAS)
    shift = (biased & ~_MANTISSA) - (_BIAS << 52)
    return exponent, hlo.bitcast_convert(bits - shift, FLOAT64) - 1.0, shift


def _log_sum(exponent: Tensor, fraction: Tensor, less: Tensor | None = None) -> Tensor:
    """exponent log(2) + log(1 + fraction) - less; `less` is a small whole number."""
    square = fraction * fraction
    tail = fraction * square * (polynomial(fraction, _LOG_P) / polynomial(fraction, _LOG_Q))
    whole = exponent * _LN2[0]
    whole = whole if less is None else whole - less
    return whole - ((square * 0.5 - (tail + exponent * _LN2[1])) - fraction)


def _log_ends(x: Tensor, result: Tensor) -> Tensor:
    return where(x < _TINY, -_INF, where(x < _INF, result, x))


def _sine(size: Tensor) -> Tensor:
    offset = size - hlo.round_nearest_even(size)
    return offset * polynomial(offset * offset, _SINE_P)


# ---- the pass --------------------------------------------------------------------------------------------------------

_FUNCTIONS: dict[str, Any] = {
    "log": log,
    "lgamma": lgamma,
    "digamma": digamma,
    "polygamma": trigamma,
}

# log(exp(x)) is x, and log(power(x, y)) is y log(x).
_XLA_SIMPLIFIES = frozenset({"stablehlo.exponential", "stablehlo.power"})


def run(module: ir.Module, report: Report, *, elements: int = ELEMENTS, inline: int = INLINE) -> None:
    """The pass.

    Args:
        module: is changed in place.
        report: takes note of each op.
        elements: the least size of an array that is worth it.
        inline: with more ops than these to replace, all formulas are functions.
    """
    found: list[tuple[ir.Operation, str, Formula]] = []
    for operation in walk(module):
        if operation.name not in OPS:
            continue
        name = operation.name.partition(".")[2]
        try:
            found.append((operation, *_formula(operation, elements)))
        except Refused as refusal:
            report.refused(operation, str(refusal), name)
    fixed = ir.DictAttr.get({"inlineable": ir.StringAttr.get("false", module.context)}, module.context)
    symbols: dict[tuple[str, str], str] = {}
    for operation, formula_name, formula in found:
        report.applied(operation, operation.name.partition(".")[2])
        x = operation.operands[-1]
        key = (formula_name, str(x.type))
        with ir.InsertionPoint(operation), operation.location:
            if len(found) > inline or len(set(users(operation.results[0]))) > 1:
                if key not in symbols:
                    symbols[key] = adopt(module, _written(formula, x), f"cpu_math.{formula_name}")
                results = call(symbols[key], [x.type], [x], **{"mhlo.frontend_attributes": fixed})
            else:
                written = _written(formula, x)
                block = main_function(written).regions[0].blocks[0]
                results, _ = clone_block(block, {block.arguments[0]: x})
        operation.results[0].replace_all_uses_with(results[0])
        operation.erase()


def _written(formula: Formula, x: ir.Value) -> ir.Module:
    builder = Builder(x.type.context, "formula")  # of jaxlib 0.7 a value has none
    with builder.function("main", [(static_shape(x), FLOAT64)]) as (argument,):
        builder.finish([formula(argument)])
    return builder.module


def _formula(operation: ir.Operation, least: int) -> tuple[str, Formula]:
    """What takes an op's place, and a name that says with which arguments.

    Raises:
        Refused: nothing does.
    """
    x = operation.operands[-1]
    require(dtype_of(x).name == "float64", "only float64 is slow")
    size = math.prod(static_shape(x))
    require(size >= least, f"it has {size} elements, fewer than elements={least}")
    name = operation.name.partition(".")[2]
    if name == "log_plus_one":
        if is_fraction(x):
            return "log1p_of_fraction", log1p_of_fraction
        return "log1p", log1p
    source = owner(x)
    if name == "log" and source is not None:
        require(source.name not in _XLA_SIMPLIFIES, f"XLA simplifies the logarithm of {source.name}")
    if name == "polygamma":
        require(is_constant(operation.operands[0], 1), "only polygamma(1, x), the trigamma function, has a formula")
    positive = is_not_negative(x)
    return f"{name}_of_positive" if positive else name, partial(_FUNCTIONS[name], positive=positive)
