"""Scalar ops that are special functions: error, gamma and beta functions and their inverses, Bessel functions.

In and out as in `scalar.py`, whose table these rules join. Most functions come from `jax.scipy.special`; the rest is
written here, or in `bessel.py` and `hypergeometric.py`, or called in SciPy. The inverses of the incomplete gamma and
beta functions solve in a transformed variable in which the function's logarithm is concave, so that Newton's method
cannot cycle.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.errors import UnsupportedGraphError
from .scalar import DType, functions, number, to_output


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
        "GammaU": lambda k, x: hlo.multiply(_jax("gammaincc", k, x), _jax("gamma", k)),
        "GammaL": lambda k, x: hlo.multiply(_jax("gammainc", k, x), _jax("gamma", k)),
        # -ndtri(x / 2) / sqrt(2), accurate for tiny x where erf_inv(1 - x) is not.
        "Erfcinv": lambda x: hlo.multiply(_jax("ndtri", hlo.multiply(x, number(x, 0.5))), number(x, -math.sqrt(0.5))),
    }
)


@to_output("Psi")
def _digamma(dtype: DType, x: Tensor) -> Tensor:
    """As `scipy.special.psi`, -inf at 0 and inf at -0, where CHLO's is NaN."""
    at_zero = hlo.compare("EQ", x, number(x, 0))
    return hlo.select(at_zero, hlo.divide(number(x, -1), x), hlo.digamma(x))


@to_output("PolyGamma")
def _polygamma(dtype: DType, n: Tensor, x: Tensor) -> Tensor:
    """CHLO's at 0 and right of it, from where the recurrence leads further left."""
    zero = number(x, 0)
    left = hlo.and_(hlo.compare("LE", x, zero), hlo.compare("GT", n, number(n, 0)))
    right = hlo.select(left, hlo.add(x, hlo.ceil(hlo.negate(x))), x)
    rest = _in_float64(dtype, (n, x), lambda *xs: _written("polygamma", "polygamma_left", *xs))
    at_pole = hlo.and_(left, hlo.compare("EQ", right, zero))
    one = hlo.polygamma(hlo.convert(n, dtype), hlo.select(at_pole, number(x, 1), right))
    return hlo.select(left, hlo.add(one, rest), one)


@to_output("TriGamma")
def _trigamma(dtype: DType, x: Tensor) -> Tensor:
    """Left of 0 by reflection, pi^2 / sin(pi x)^2 - trigamma(1 - x): CHLO's series is for x > -9."""
    one = number(x, 1)
    negative = hlo.compare("LT", x, number(x, 0))
    right = hlo.polygamma(one, hlo.select(negative, hlo.subtract(one, x), x))
    far = hlo.compare("GT", x, number(x, 1e10))  # CHLO's squares it
    right = hlo.select(far, hlo.divide(one, hlo.subtract(x, number(x, 0.5))), right)
    wave = hlo.sine(hlo.multiply(hlo.subtract(x, hlo.floor(x)), number(x, math.pi)))
    ratio = hlo.divide(number(x, math.pi), wave)
    return hlo.select(negative, hlo.subtract(hlo.multiply(ratio, ratio), right), right)


# ---- the quantile of a logarithm of a probability -------------------------------------------------------------------

# Cephes' ndtri (S. Moshier, 1989), for z = sqrt(-2 log p): numerator and denominator in 1 / z, highest power first.
_NEAR_TAIL = (
    (
        *(4.05544892305962419923e0, 3.15251094599893866154e1, 5.71628192246421288162e1, 4.40805073893200834700e1),
        *(1.46849561928858024014e1, 2.18663306850790267539e0, -1.40256079171354495875e-1, -3.50424626827848203418e-2),
        -8.57456785154685413611e-4,
    ),
    (
        *(1.0, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1, 1.50425385692907503408e1),
        *(2.50464946208309415979e0, -1.42182922854787788574e-1, -3.80806407691578277194e-2, -9.33259480895457427372e-4),
    ),
)
_FAR_TAIL = (
    (
        *(3.23774891776946035970e0, 6.91522889068984211695e0, 3.93881025292474443415e0, 1.33303460815807542389e0),
        *(2.01485389549179081538e-1, 1.23716634817820021358e-2, 3.01581553508235416007e-4, 2.65806974686737550832e-6),
        6.23974539184983293730e-9,
    ),
    (
        *(1.0, 6.02427039364742014255e0, 3.67983563856160859403e0, 1.37702099489081330271e0, 2.16236993594496635890e-1),
        *(1.34204006088543189037e-2, 3.28014464682127739104e-4, 2.89247864745380683936e-6, 6.79019408009981274425e-9),
    ),
)


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """A polynomial by Horner's rule, the highest power's coefficient first."""
    value = number(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = hlo.add(hlo.multiply(value, x), number(x, coefficient))
    return value


def _normal_quantile_of_exp(x: Tensor) -> Tensor:
    """The standard normal quantile of exp(x).

    Near 0 by the other tail, whose probability is -expm1(x); below -2 from x itself, since exp(x) vanishes there.
    """
    upper = hlo.compare("GT", x, number(x, math.log1p(-math.exp(-2))))
    lower = hlo.compare("LT", x, number(x, -2))
    chance = hlo.select(upper, hlo.negate(hlo.exponential_minus_one(x)), hlo.exponential(x))
    middle = _jax("ndtri", hlo.select(lower, number(x, 0.5), chance))
    middle = hlo.select(upper, hlo.negate(middle), middle)
    # -2 x may overflow; where the tail is not asked for it must not be NaN for the derivatives' sake.
    z = hlo.multiply(hlo.sqrt(hlo.negate(hlo.select(lower, x, number(x, -2)))), number(x, math.sqrt(2)))
    inverse = hlo.divide(number(x, 1), z)
    near, far = (
        hlo.divide(_polynomial(inverse, above), _polynomial(inverse, below)) for above, below in (_NEAR_TAIL, _FAR_TAIL)
    )
    correction = hlo.multiply(inverse, hlo.select(hlo.compare("LT", z, number(x, 8)), near, far))
    tail = hlo.add(hlo.subtract(correction, z), hlo.multiply(hlo.log(z), inverse))
    tail = hlo.select(hlo.is_inf(x), number(x, -math.inf), tail)
    found = hlo.select(lower, tail, middle)
    return hlo.select(hlo.compare("GT", x, number(x, 0)), number(x, math.nan), found)


# ---- inverses ------------------------------------------------------------------------------------------------------

_WIDEST = 745.0  # exp(-745) is the smallest positive float64


def _solve(start: Tensor, function: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Tensor:
    """The root of an increasing function by Newton's method, by halving the bracket where a step leaves it.

    Args:
        start: float64, between -745 and 745; the root is sought there.
        function: from t to (value, slope), elementwise.
    """
    low, high, half = number(start, -_WIDEST), number(start, _WIDEST), number(start, 0.5)
    count = start.builder.constant(0, np.int64)

    def goes_on(t: Tensor, low: Tensor, high: Tensor, move: Tensor, count: Tensor) -> Tensor:
        tolerance = hlo.multiply(hlo.add(hlo.abs(t), number(t, 1)), number(t, 4e-16))
        moves = hlo.reduce_monoid(hlo.compare("GT", hlo.abs(move), tolerance), range(t.ndim), "or")
        return hlo.and_(moves, hlo.compare("LT", count, 100))

    def step(t: Tensor, low: Tensor, high: Tensor, move: Tensor, count: Tensor) -> list[Tensor]:
        value, slope = function(t)
        below = hlo.compare("LT", value, number(t, 0))
        low, high = hlo.select(below, t, low), hlo.select(below, high, t)
        newton = hlo.subtract(t, hlo.divide(value, slope))
        inside = hlo.and_(hlo.compare("GE", newton, low), hlo.compare("LE", newton, high))  # false for NaN
        moved = hlo.select(inside, newton, hlo.multiply(hlo.add(low, high), half))
        return [moved, low, high, hlo.subtract(moved, t), hlo.add(count, 1)]

    return hlo.while_loop([start, low, high, high, count], goes_on, step)[0]


def _normal(t: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """The function of t, and 0 where that is less than every normal float64 (XLA rounds such numbers either way)."""
    return hlo.select(hlo.compare("LT", t, number(t, -708)), number(t, 0), function(t))


def _excess(tail: Tensor, target: Tensor, is_lower: Tensor) -> Tensor:
    """log(tail / target) as a function that increases: negated for an upper tail."""
    excess = hlo.log(hlo.divide(tail, target))
    return hlo.select(is_lower, excess, hlo.negate(excess))


def _outside(x: Tensor, low: float, high: float) -> Tensor:
    """True where x is not between `low` and `high`, NaN included."""
    inside = hlo.and_(hlo.compare("GE", x, number(x, low)), hlo.compare("LE", x, number(x, high)))
    return hlo.not_(inside)


def _gamma_quantile(a: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """x where gammainc(a, x) = lower and gammaincc(a, x) = upper = 1 - lower; solved for log(x) by the smaller one."""
    nan, zero, one = number(a, math.nan), number(a, 0), number(a, 1)
    invalid = hlo.or_(_outside(a, 0, math.inf), hlo.or_(_outside(lower, 0, 1), _outside(upper, 0, 1)))
    vanishes, infinite = hlo.compare("EQ", lower, zero), hlo.compare("EQ", upper, zero)
    degenerate = hlo.compare("EQ", a, zero)
    done = hlo.or_(hlo.or_(invalid, degenerate), hlo.or_(vanishes, infinite))
    shape = hlo.select(done, one, a)
    is_lower = hlo.compare("LE", lower, upper)
    target = hlo.select(done, number(a, 0.5), hlo.select(is_lower, lower, upper))
    log_gamma = hlo.lgamma(shape)

    def function(t: Tensor) -> tuple[Tensor, Tensor]:
        x = hlo.exponential(t)
        tail = hlo.select(is_lower, _jax("gammainc", shape, x), _jax("gammaincc", shape, x))
        log_density = hlo.subtract(hlo.subtract(hlo.multiply(shape, t), x), log_gamma)
        return _excess(tail, target, is_lower), hlo.divide(hlo.exponential(log_density), tail)

    # gammainc(a, x) < x^a / gamma(a + 1), close for small x; a itself is near the median of a large `a`.
    chance = hlo.select(done, number(a, 0.5), lower)
    bound = hlo.divide(hlo.add(hlo.log(chance), hlo.lgamma(hlo.add(shape, one))), shape)
    start = hlo.select(hlo.compare("LT", shape, one), bound, hlo.log(shape))
    root = _normal(_solve(hlo.clamp(-_WIDEST, start, _WIDEST), function), hlo.exponential)
    root = hlo.select(infinite, number(a, math.inf), hlo.select(degenerate, nan, root))
    return hlo.select(invalid, nan, hlo.select(vanishes, zero, root))


def _in_float64(dtype: DType, operands: Sequence[Tensor], function: Callable[..., Tensor]) -> Tensor:
    """The function of operands widened to float64: an inverse needs more digits than its result has."""
    return hlo.convert(function(*[hlo.convert(x, np.float64) for x in hlo.unify(*operands)]), dtype)


def _written(module: str, name: str, *operands: Tensor) -> Tensor:
    """A JAX function that is written here, in a module that imports JAX."""
    function = getattr(importlib.import_module(f".{module}", __package__), name)
    return hlo.import_elementwise(name, function, operands)


def _by_scipy(name: str, dtype: DType, *operands: Tensor) -> Tensor:
    """A function that no density has, and JAX has not: a call of SciPy's."""

    def function(arrays: Sequence[Any]) -> list[Any]:
        return [getattr(importlib.import_module("scipy.special"), name)(*arrays)]

    first, *rest = hlo.unify(*operands)
    call = hlo.HostCall(name, function, "it is SciPy's")
    return hlo.host_call(first.builder, call, [first, *rest], [(first.dims, dtype)])[0]


def _beta_quantile(a: Tensor, b: Tensor, lower: Tensor) -> Tensor:
    """x where betainc(a, b, x) = lower; solved for log(x / (1 - x)) by the smaller of lower and 1 - lower."""
    nan, zero, one, half = (number(a, value) for value in (math.nan, 0, 1, 0.5))
    positive = hlo.and_(hlo.compare("GT", a, zero), hlo.compare("GT", b, zero))
    invalid = hlo.or_(hlo.not_(positive), _outside(lower, 0, 1))
    at_end = hlo.or_(hlo.compare("EQ", lower, zero), hlo.compare("EQ", lower, one))
    done = hlo.or_(invalid, at_end)
    a, b = hlo.select(done, one, a), hlo.select(done, one, b)
    chance = hlo.select(done, half, lower)
    is_lower = hlo.compare("LE", chance, half)
    target = hlo.select(is_lower, chance, hlo.subtract(one, chance))
    first, second = hlo.select(is_lower, a, b), hlo.select(is_lower, b, a)
    log_beta = hlo.subtract(hlo.add(hlo.lgamma(a), hlo.lgamma(b)), hlo.lgamma(hlo.add(a, b)))

    def function(t: Tensor) -> tuple[Tensor, Tensor]:
        x, rest = hlo.logistic(t), hlo.logistic(hlo.negate(t))
        tail = _jax("betainc", first, second, hlo.select(is_lower, x, rest))
        powers = hlo.add(hlo.multiply(a, hlo.log(x)), hlo.multiply(b, hlo.log(rest)))
        density = hlo.exponential(hlo.subtract(powers, log_beta))
        return _excess(tail, target, is_lower), hlo.divide(density, tail)

    root = _normal(_solve(hlo.clamp(-_WIDEST, hlo.log(hlo.divide(a, b)), _WIDEST), function), hlo.logistic)
    return hlo.select(invalid, nan, hlo.select(at_end, lower, root))


_WIDE: dict[str, Callable[..., Tensor]] = {
    "Ive": lambda v, x: _written("bessel", "ive", v, x),
    "Iv": lambda v, x: hlo.multiply(_written("bessel", "ive", v, x), hlo.exponential(hlo.abs(x))),
    "Kve": lambda v, x: _written("bessel", "kve", v, x),
    "Hyp2F1": lambda *xs: _written("hypergeometric", "hyp2f1", *xs),
    "NdtriExp": _normal_quantile_of_exp,
    "GammaIncInv": lambda a, p: _gamma_quantile(a, p, hlo.subtract(number(p, 1), p)),
    "GammaIncCInv": lambda a, q: _gamma_quantile(a, hlo.subtract(number(q, 1), q), q),
    "BetaIncInv": _beta_quantile,
}
for _op, _function in _WIDE.items():
    to_output(_op)(lambda dtype, *operands, function=_function: _in_float64(dtype, operands, function))
for _op in ("J0", "J1", "Jv", "Owens_t"):
    to_output(_op)(lambda dtype, *operands, op=_op: _by_scipy(op.lower(), dtype, *operands))
