"""The table of scalar ops: one line each where StableHLO or CHLO has the op, a few lines where it has not.

In: handles of one shape, in the dtypes of the graph. Out: a handle in the output's dtype. A rule is `rule(dtype,
*operands)`; the wrappers below say how operands are converted first:

* `to_output`: operands are converted to the output's dtype (arithmetic, and functions that turn integers into floats).
* `as_is`: operands unchanged.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from functools import reduce as fold
from operator import floordiv, mod
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.errors import UnsupportedGraphError

ScalarRule = Callable[..., Tensor]
DType = np.dtype[Any]

TABLE: dict[str, ScalarRule] = {}


def to_output(*names: str) -> Callable[[ScalarRule], ScalarRule]:
    """Registers a rule whose operands are converted to the output's dtype."""

    def register(rule: ScalarRule) -> ScalarRule:
        def converted(dtype: DType, *operands: Tensor) -> Tensor:
            return rule(dtype, *[hlo.convert(x, dtype) for x in operands])

        TABLE.update(dict.fromkeys(names, converted))
        return rule

    return register


def as_is(*names: str) -> Callable[[ScalarRule], ScalarRule]:
    """Registers a rule that takes operands unchanged."""

    def register(rule: ScalarRule) -> ScalarRule:
        TABLE.update(dict.fromkeys(names, rule))
        return rule

    return register


def functions(table: Mapping[str, Callable[..., Tensor]]) -> None:
    """Registers functions of operands converted to the output's dtype, by the names of their ops."""
    for name, function in table.items():
        to_output(name)(lambda dtype, *operands, function=function: function(*operands))


# Ops without a meaning for complex numbers.
_REAL_ONLY = """
    Clip IntDiv FloorDivide Mod Softplus Log1mexp
    Deg2Rad Rad2Deg ArcTan2 Erf Erfc Erfcx Erfinv Erfcinv Owens_t Gamma GammaLn Psi TriGamma PolyGamma GammaInc
    GammaIncC GammaIncInv GammaIncCInv GammaU GammaL BetaInc BetaIncInv Hyp2F1 I0 I1
    Iv Ive Kve J0 J1 Jv
"""


def refusal(name: str, dtype: DType, operands: Sequence[DType]) -> str | None:
    """Why the op of that class cannot be applied to operands of these dtypes, or None where it can."""
    if name in _REAL_ONLY.split() and any(x.kind == "c" for x in operands):
        return "it is not defined for complex numbers"
    if name in ("AND", "OR", "XOR") and dtype.kind not in "iub":
        return f"no integer dtype holds both {' and '.join(map(str, operands))}; cast one of them"
    return None


def _compare(direction: str, x: Tensor, y: Tensor) -> Tensor:
    """Comparison in the operands' common dtype; of signed with unsigned integers exactly, as NumPy does."""
    common = np.result_type(x.dtype, y.dtype)
    if common.kind != "f" or "f" in (x.dtype.kind, y.dtype.kind):
        compare = hlo.compare if direction in ("EQ", "NE") else hlo.ordered
        return compare(direction, hlo.convert(x, common), hlo.convert(y, common))
    # NumPy's common dtype of int64 and uint64 is float64, which rounds. What is negative is less than any unsigned.
    unsigned = hlo.compare(direction, hlo.convert(x, np.uint64), hlo.convert(y, np.uint64))
    signed, when_negative = (x, ("LT", "LE", "NE")) if x.dtype.kind == "i" else (y, ("GT", "GE", "NE"))
    negative = signed < 0
    return hlo.select(negative, hlo.full_like(negative, direction in when_negative), unsigned)


def number(x: Tensor, value: float) -> Tensor:
    """A number in every place of x's shape, in its dtype."""
    return hlo.full_like(x, value)


def _scaled(x: Tensor, factor: float) -> Tensor:
    if x.dtype.kind == "c":
        return hlo.complex(_scaled(hlo.real(x), factor), _scaled(hlo.imag(x), factor))
    return x * factor


# ---- ops that StableHLO or CHLO has ------------------------------------------------------------------------------

functions(
    {
        "Exp": hlo.exponential,
        "Expm1": hlo.exponential_minus_one,
        "Log": hlo.log,
        "Log1p": hlo.log_plus_one,
        "Sqrt": hlo.sqrt,
        "Sqr": lambda x: x * x,
        "Sin": hlo.sine,
        "Cos": hlo.cosine,
        "Tan": hlo.tan,
        "ArcSin": hlo.asin,
        "ArcCos": hlo.acos,
        "ArcTan": hlo.atan,
        "ArcTan2": hlo.atan2,
        "Tanh": hlo.tanh,
        "ArcSinh": hlo.asinh,
        "ArcCosh": hlo.acosh,
        "ArcTanh": hlo.atanh,
        "Sigmoid": hlo.logistic,
        "Erf": hlo.erf,
        "Erfc": hlo.erfc,
        "Erfinv": hlo.erf_inv,
        "GammaLn": hlo.lgamma,
        "Sub": hlo.subtract,
        "TrueDiv": hlo.divide,
        "TrueDivide": hlo.divide,  # Aesara's name
        "Neg": hlo.negate,
        "Maximum": hlo.larger,
        "ScalarMaximum": hlo.larger,
        "Minimum": hlo.smaller,
        "ScalarMinimum": hlo.smaller,
        "AND": hlo.and_,
        "OR": hlo.or_,
        "XOR": hlo.xor,
        "Invert": hlo.not_,
        "Identity": lambda x: x,
        "Cast": lambda x: x,
        "Conj": lambda x: hlo.conj(x) if x.dtype.kind == "c" else x,
        "Reciprocal": lambda x: hlo.divide(1, x),
        "Deg2Rad": lambda x: x * (math.pi / 180),
        "Rad2Deg": lambda x: x * (180 / math.pi),
        "Log2": lambda x: _scaled(hlo.log(x), 1 / math.log(2)),
        "Log10": lambda x: _scaled(hlo.log(x), 1 / math.log(10)),
        "Exp2": lambda x: hlo.power(2, x),
        "Add": lambda *xs: fold(hlo.add, xs),
        "Mul": lambda *xs: fold(hlo.multiply, xs),
    }
)

for _name, _direction in {"LT": "LT", "GT": "GT", "LE": "LE", "GE": "GE", "EQ": "EQ", "NEQ": "NE"}.items():
    as_is(_name)(lambda dtype, x, y, direction=_direction: _compare(direction, x, y))
as_is("Second")(lambda dtype, x, y: hlo.convert(y, dtype))


# ---- rounding and parts -------------------------------------------------------------------------------------------


for _name, _function in {
    "Floor": hlo.floor,
    "Ceil": hlo.ceil,
    "RoundHalfToEven": hlo.round_nearest_even,
    "RoundHalfAwayFromZero": hlo.round_nearest_afz,
    "Trunc": lambda x: hlo.select(x < 0, hlo.ceil(x), hlo.floor(x)),
}.items():
    # Rounding of what is an integer already changes nothing.
    as_is(_name)(lambda t, x, round=_function: hlo.convert(x, t) if x.dtype.kind in "iub" else round(hlo.convert(x, t)))


@as_is("Abs")
def _abs(dtype: DType, x: Tensor) -> Tensor:
    return x if x.dtype.kind in "ub" else hlo.convert(hlo.abs(x), dtype)


@to_output("Sign", "Sgn")
def _sign(dtype: DType, x: Tensor) -> Tensor:
    if dtype.kind in "ub":
        return hlo.convert(hlo.compare("NE", x, 0), dtype)
    return hlo.sign(x) if dtype.kind != "c" else _unit(x)


def _unit(x: Tensor) -> Tensor:
    parts = hlo.real(x), hlo.imag(x)
    infinite = [hlo.is_inf(part) for part in parts]
    units = [hlo.select(own, hlo.sign(part), number(part, 0)) for own, part in zip(infinite, parts, strict=True)]
    return hlo.select(hlo.xor(*infinite), hlo.complex(*units), hlo.sign(x))


def _all_false(x: Tensor) -> Tensor:
    return hlo.full(x.builder, x.builder.constant(False), x.dims)


@as_is("IsNan")
def _is_nan(dtype: DType, x: Tensor) -> Tensor:
    return _all_false(x) if x.dtype.kind in "iub" else hlo.is_nan(x)


@as_is("IsInf")
def _is_inf(dtype: DType, x: Tensor) -> Tensor:
    if x.dtype.kind == "c":
        return hlo.is_inf(hlo.real(x)) | hlo.is_inf(hlo.imag(x))
    return _all_false(x) if x.dtype.kind in "iub" else hlo.is_inf(x)


# ---- arithmetic with NumPy's corner cases --------------------------------------------------------------------------


def _sized(function: Callable[[Any, Any], Any]) -> Callable[[ScalarRule], ScalarRule]:
    """A rule of two integers that sizes have too: what is known as sizes stays so."""

    def wrap(rule: ScalarRule) -> ScalarRule:
        def sized(dtype: DType, x: Tensor, y: Tensor) -> Tensor:
            known = x.dim is not None and y.dim is not None and y.dim != 0 and hlo.wide_integer(dtype)
            dim = function(x.dim, y.dim) if known else None
            if dim is None or (isinstance(dim, int) and not np.iinfo(dtype).min <= dim <= np.iinfo(dtype).max):
                return rule(dtype, x, y)
            if x.builder.exact(x.sizes, dtype) and x.builder.exact(y.sizes, dtype):
                return x.builder.size(dim, dtype)
            return x.builder.knowing(rule(dtype, x, y), (dim,))

        return sized

    return wrap


@to_output("IntDiv", "FloorDivide")
@_sized(floordiv)
def _floor_divide(dtype: DType, x: Tensor, y: Tensor) -> Tensor:
    """`numpy.floor_divide`: rounds down; an integer divided by 0 is 0."""
    zero = number(x, 0)
    if dtype.kind == "b":
        return x & y
    if dtype.kind in "iu":
        safe = hlo.select(hlo.compare("EQ", y, zero), number(y, 1), y)
        quotient = x / safe
        if dtype.kind == "i":
            rest = hlo.remainder(x, safe)
            down = hlo.compare("NE", rest, zero) & hlo.compare("NE", rest < zero, safe < zero)
            quotient = hlo.select(down, quotient - number(x, 1), quotient)
        return hlo.select(hlo.compare("EQ", y, zero), zero, quotient)
    rest = hlo.remainder(x, y)
    down = hlo.compare("NE", rest, zero) & hlo.compare("NE", rest < zero, y < zero)
    quotient = (x - rest) / y
    quotient = hlo.select(down, quotient - number(x, 1), quotient)
    whole = hlo.floor(quotient)
    near = quotient - whole > number(x, 0.5)
    whole = hlo.select(near, whole + number(x, 1), whole)
    return hlo.select(hlo.compare("EQ", y, zero), x / y, whole)


@to_output("Mod")
@_sized(mod)
def _mod(dtype: DType, x: Tensor, y: Tensor) -> Tensor:
    """`numpy.mod`: the result has the divisor's sign; an integer modulo 0 is 0."""
    zero = number(x, 0)
    if dtype.kind == "b" or (dtype.kind in "iu" and y.dim == 0):
        return zero
    if dtype.kind in "iu":
        safe = hlo.select(hlo.compare("EQ", y, zero), number(y, 1), y)
        rest = hlo.remainder(x, safe)
    else:
        safe = y
        rest = hlo.remainder(x, y)
    if dtype.kind == "u":
        return rest
    opposite = hlo.compare("NE", rest < zero, safe < zero)
    if dtype.kind == "i":
        return hlo.select(hlo.compare("NE", rest, zero) & opposite, rest + safe, rest)
    adjusted = hlo.select(opposite, rest + safe, rest)
    signed_zero = hlo.select(y < zero, number(x, -0.0), zero)
    return hlo.select(hlo.compare("EQ", rest, zero), signed_zero, adjusted)


@as_is("Pow")
def _power(dtype: DType, x: Tensor, y: Tensor) -> Tensor:
    exponent = y.literal if y.literal is not None and y.literal.ndim == 0 else y.builder.splats.get(y.uid)
    x = hlo.convert(x, dtype)
    if dtype.kind in "iu":
        return _integer_power(x, hlo.convert(y, dtype), None if exponent is None else int(exponent.item()))
    if exponent is not None:
        # Powers that a multiplication or a square root gives exactly; `pow` itself is the slowest of ops.
        value = exponent.item()
        if value == 2:
            return x * x
        if value == 1:
            return x
        if value == 0:
            return number(x, 1)
        if value == -1:
            return hlo.divide(1, x)
    y = hlo.convert(y, dtype)
    result = hlo.power(x, y)
    if dtype.kind != "c":
        return result
    # XLA's 0 ** y is NaN, or 1 for y = 0 in some releases.
    zero, one = number(x, 0), number(x, 1)
    vanishes = hlo.real(y) > hlo.real(zero)
    at_zero = hlo.select(hlo.compare("EQ", y, zero), one, hlo.select(vanishes, zero, result))
    return hlo.select(hlo.compare("EQ", x, zero), at_zero, result)


def _integer_power(x: Tensor, y: Tensor, exponent: int | None) -> Tensor:
    """`x ** y` by repeated squaring, wrapping around as NumPy's; XLA's own reads six bits of the exponent.

    A negative exponent, which NumPy refuses, gives the power rounded to 0 (1 and -1 are exact).
    """
    if exponent is not None and exponent > 0:
        factors = [x] if exponent & 1 else []
        while exponent := exponent >> 1:
            x = x * x
            factors += [x] if exponent & 1 else []
        return fold(hlo.multiply, factors)
    x, y = hlo.unify(x, y)
    one, zero = number(x, 1), number(x, 0)
    if exponent == 0:
        return one

    def rest(power: Tensor, square: Tensor, result: Tensor) -> Tensor:
        return hlo.reduce_monoid(power > zero, range(power.ndim), "or")

    def step(power: Tensor, square: Tensor, result: Tensor) -> list[Tensor]:
        odd = hlo.compare("EQ", power & one, one)
        result = hlo.select(odd, result * square, result)
        return [hlo.shift_right_logical(power, one), square * square, result]

    result = hlo.while_loop([hlo.maximum_(y, zero), x, one], rest, step)[2]
    if x.dtype.kind == "u":
        return result
    minus = -one
    odd = hlo.compare("EQ", y & one, one)
    unit = hlo.select(hlo.compare("EQ", x, one), one, zero)
    unit = hlo.select(hlo.compare("EQ", x, minus), hlo.select(odd, minus, one), unit)
    return hlo.select(y < zero, unit, result)


@to_output("Clip")
def _clip(dtype: DType, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    below, above = x < low, x > high
    return hlo.select(below, low, hlo.select(above, high, x))


@as_is("Switch")
def _switch(dtype: DType, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return hlo.select_mask(hlo.convert(condition, bool), hlo.convert(x, dtype), hlo.convert(y, dtype))


@to_output("MulWithoutZeros")
def _mul_without_zeros(dtype: DType, x: Tensor, y: Tensor) -> Tensor:
    zero = number(x, 0)
    both = x * y
    return hlo.select(hlo.compare("EQ", x, zero), y, hlo.select(hlo.compare("EQ", y, zero), x, both))


# ---- stable compositions ---------------------------------------------------------------------------------------------


@to_output("Softplus")
def _softplus(dtype: DType, x: Tensor) -> Tensor:
    tail = hlo.log_plus_one(hlo.exponential(-hlo.abs(x)))
    return hlo.maximum_(x, 0) + tail


@to_output("Cosh")
def _cosh(dtype: DType, x: Tensor) -> Tensor:
    """(exp(x) + exp(-x)) / 2; XLA's own takes exp(x - log(2)), which loses the digits that x has before its point."""
    if dtype.kind == "c":
        return hlo.cosh(x)
    grown, shrunk = _halves(x)
    return grown + shrunk


@to_output("Sinh")
def _sinh(dtype: DType, x: Tensor) -> Tensor:
    """(exp(x) - exp(-x)) / 2, by expm1 where they are near each other."""
    if dtype.kind == "c":
        return hlo.sinh(x)
    grown, shrunk = _halves(x)
    far = hlo.select(x < 0, shrunk - grown, grown - shrunk)
    e = hlo.exponential_minus_one(x)
    near = number(x, 0.5) * (e + e / (e + number(x, 1)))
    return hlo.select(hlo.abs(x) < number(x, 1), near, far)


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    half = number(x, 0.5)
    root = hlo.exponential(half * hlo.abs(x))
    return half * root * root, half / root / root


@to_output("Log1mexp")
def _log1mexp(dtype: DType, x: Tensor) -> Tensor:
    near = hlo.log(-hlo.exponential_minus_one(x))
    far = hlo.log_plus_one(-hlo.exponential(x))
    return hlo.select(x < -math.log(2), far, near)


# ---- complex ---------------------------------------------------------------------------------------------------------


@as_is("Real")
def _real(dtype: DType, x: Tensor) -> Tensor:
    return hlo.convert(hlo.real(x) if x.dtype.kind == "c" else x, dtype)


@as_is("Imag")
def _imag(dtype: DType, x: Tensor) -> Tensor:
    return hlo.convert(hlo.imag(x), dtype) if x.dtype.kind == "c" else hlo.full_like(hlo.convert(x, dtype), 0)


@as_is("Angle")
def _angle(dtype: DType, x: Tensor) -> Tensor:
    if x.dtype.kind == "c":
        return hlo.convert(hlo.atan2(hlo.imag(x), hlo.real(x)), dtype)
    x = hlo.convert(x, dtype)
    return hlo.atan2(number(x, 0), x)


@as_is("Complex")
def _complex(dtype: DType, x: Tensor, y: Tensor) -> Tensor:
    part = np.dtype(f"f{dtype.itemsize // 2}")
    return hlo.complex(hlo.convert(x, part), hlo.convert(y, part))


@as_is("ComplexFromPolar")
def _complex_from_polar(dtype: DType, r: Tensor, theta: Tensor) -> Tensor:
    part = np.dtype(f"f{dtype.itemsize // 2}")
    r, theta = hlo.convert(r, part), hlo.convert(theta, part)
    return hlo.complex(r * hlo.cosine(theta), r * hlo.sine(theta))


# ---- special functions: of `jax.scipy.special`, of by_jax.py, of SciPy, and what densities have of them --------------


def _jax(name: str, *operands: Tensor) -> Tensor:
    """A function of `jax.scipy.special`, imported as a private function of the module."""
    import jax.scipy.special as special

    function = getattr(special, name, None)
    if function is None:
        raise UnsupportedGraphError(f"jax.scipy.special has no {name} in this release of JAX; upgrade jax")
    return hlo.import_elementwise(name, function, operands)


for _op in ("Gamma", "GammaInc", "GammaIncC", "BetaInc", "I0", "I1", "I0e", "I1e", "Erfcx"):
    functions({_op: partial(_jax, _op.lower())})
functions(
    {
        "GammaU": lambda k, x: _jax("gammaincc", k, x) * _jax("gamma", k),
        "GammaL": lambda k, x: _jax("gammainc", k, x) * _jax("gamma", k),
        # -ndtri(x / 2) / sqrt(2), accurate for tiny x where erf_inv(1 - x) is not.
        "Erfcinv": lambda x: _jax("ndtri", x * 0.5) * number(x, -math.sqrt(0.5)),
    }
)


@to_output("Psi")
def _digamma(dtype: DType, x: Tensor) -> Tensor:
    at_zero = hlo.compare("EQ", x, 0)
    return hlo.select(at_zero, hlo.divide(-1, x), hlo.digamma(x))


@to_output("PolyGamma")
def _polygamma(dtype: DType, n: Tensor, x: Tensor) -> Tensor:
    """CHLO's at 0 and right of it, from where the recurrence leads further left."""
    zero = number(x, 0)
    left = (x <= zero) & (n > 0)
    right = hlo.select(left, x + hlo.ceil(-x), x)
    rest = _in_float64("polygamma_left", dtype, n, x)
    at_pole = left & hlo.compare("EQ", right, zero)
    one = hlo.polygamma(hlo.convert(n, dtype), hlo.select(at_pole, number(x, 1), right))
    return hlo.select(left, one + rest, one)


@to_output("TriGamma")
def _trigamma(dtype: DType, x: Tensor) -> Tensor:
    """Left of 0 by reflection, pi^2 / sin(pi x)^2 - trigamma(1 - x): CHLO's series is for x > -9."""
    one = number(x, 1)
    negative = x < 0
    right = hlo.polygamma(one, hlo.select(negative, one - x, x))
    far = x > 1e10  # CHLO's squares it
    right = hlo.select(far, one / (x - 0.5), right)
    wave = hlo.sine((x - hlo.floor(x)) * number(x, math.pi))
    ratio = number(x, math.pi) / wave
    return hlo.select(negative, ratio * ratio - right, right)


def _in_float64(name: str, dtype: DType, *operands: Tensor) -> Tensor:
    function = getattr(importlib.import_module(".by_jax", __package__), name)
    wide = [hlo.convert(x, np.float64) for x in hlo.unify(*operands)]
    return hlo.convert(hlo.import_elementwise(name, function, wide), dtype)


def _by_scipy(name: str, dtype: DType, *operands: Tensor) -> Tensor:
    """A function that no density has, and JAX has not: a call of SciPy's."""

    def function(arrays: Sequence[Any]) -> list[Any]:
        return [getattr(importlib.import_module("scipy.special"), name)(*arrays)]

    first, *rest = hlo.unify(*operands)
    call = hlo.HostCall(name, function, "it is SciPy's")
    return hlo.host_call(first.builder, call, [first, *rest], [(first.dims, dtype)])[0]


for _op in ("Ive", "Iv", "Kve", "NdtriExp", "GammaIncInv", "GammaIncCInv", "BetaIncInv"):
    to_output(_op)(lambda dtype, *operands, op=_op: _in_float64(op.lower(), dtype, *operands))
for _op in ("J0", "J1", "Jv", "Owens_t", "Hyp2F1"):
    to_output(_op)(lambda dtype, *operands, op=_op: _by_scipy(op.lower(), dtype, *operands))
