"""Facts about the elements in the padding: a small lattice, and how ops carry it on.

    constant k  <  ZERO (0 of either sign)  <  FINITE  <  UNKNOWN

In: facts of an op's operands. Out: the fact of its result. A constant is exact to the bit, since a consumer whose
identity it is gets no mask: only ops whose result IEEE arithmetic fixes are evaluated, and of the others the few values
that every implementation gives exactly (`exp(0) = 1`). `0 * x` is zero only where x is known to be finite.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import ml_dtypes
import numpy as np

from ...ir import evaluate, kinds

DType = np.dtype[Any]


class Fact:
    """What is known of elements. Facts are few: equal ones are one object.

    Attributes:
        value: what every element is, to the bit; None where the fact is no constant.
        zero: whether every element is 0, of either sign.
        finite: whether none is inf or NaN.
    """

    __slots__ = ("finite", "name", "value", "zero")

    def __init__(self, name: str, zero: bool, finite: bool, value: Any = None) -> None:
        self.name, self.zero, self.finite, self.value = name, zero, finite, value

    def __repr__(self) -> str:
        return self.name


ZERO: Final = Fact("0 of either sign", True, True)
FINITE: Final = Fact("finite", False, True)
UNKNOWN: Final = Fact("unknown", False, False)

_constants: dict[tuple[DType, bytes], Fact] = {}


def constant(value: Any, dtype: DType | None = None) -> Fact:
    """The fact that every element is `value`."""
    scalar = np.asarray(value, dtype)
    key = (scalar.dtype, scalar.tobytes())
    found = _constants.get(key)
    if found is None:
        finite = scalar.dtype.kind in "biu" or bool(np.isfinite(scalar))
        found = _constants.setdefault(key, Fact(str(scalar[()]), bool(scalar == 0), finite, scalar[()]))
    return found


def is_inexact(dtype: DType) -> bool:
    """Whether values may be NaN or infinite. NumPy's own dtypes of that kind are "f" and "c", bfloat16 is a "V"."""
    return dtype.kind in "fcV"


def anything(dtype: DType) -> Fact:
    """The fact that holds of any value of a dtype: integers and booleans are finite."""
    return FINITE if dtype.kind in "biu" else UNKNOWN


def join(a: Fact, b: Fact) -> Fact:
    """The fact that holds of elements of which one or the other holds."""
    return a if a is b else ZERO if a.zero and b.zero else FINITE if a.finite and b.finite else UNKNOWN


def join_all(facts: Sequence[Fact]) -> Fact:
    """The join of one or more facts."""
    return functools.reduce(join, facts)


# ---- elementwise ops -------------------------------------------------------------------------------------------------

# Results that are certain to the bit: those of floats where nothing is rounded, since compilers keep more digits than
# they are asked for (fused multiply-add, narrow floats in wide registers). NaN results are not kept: their bits differ.
_EXACT = frozenset(evaluate.ELEMENTWISE) - {"stablehlo.select"}
_ROUNDED = frozenset({"stablehlo.add", "stablehlo.subtract", "stablehlo.multiply", "chlo.square"})
_SIGNED_ZERO = frozenset({"stablehlo.maximum", "stablehlo.minimum", "stablehlo.clamp"})

# Values of transcendental functions that are exact everywhere (tests/codegen/passes/pad/test_facts.py asks XLA).
_KNOWN: dict[str, dict[float, float]] = {
    "stablehlo.exponential": {0.0: 1.0, -np.inf: 0.0},
    "stablehlo.exponential_minus_one": {0.0: 0.0},
    "stablehlo.log": {1.0: 0.0, 0.0: -np.inf},
    "stablehlo.log_plus_one": {0.0: 0.0},
    "stablehlo.logistic": {0.0: 0.5},
    "stablehlo.tanh": {0.0: 0.0},
    "stablehlo.sine": {0.0: 0.0},
    "stablehlo.cosine": {0.0: 1.0},
    "stablehlo.sqrt": {0.0: 0.0, 1.0: 1.0},
    "chlo.erf": {0.0: 0.0},
}

_FINITE, _PARTWISE, _ZERO = (kinds.having("elementwise", fact) for fact in ("finite", "parts", "zero"))


@functools.cache
def fold(name: str, direction: str, facts: tuple[Fact, ...], operand: DType, dtype: DType) -> Fact:
    """The fact of an elementwise op's result.

    Args:
        name: the op's full name.
        direction: comparison direction of `stablehlo.compare`, else "".
        facts: one per operand.
        operand: dtype of the last operand.
        dtype: the result's.
    """
    if name == "stablehlo.select":
        pred, on_true, on_false = facts
        if pred.value is not None:
            return on_true if pred.value else on_false
        return join(on_true, on_false)
    if all(fact.value is not None for fact in facts):
        exact = _evaluate(name, direction, [fact.value for fact in facts], dtype)
        if exact is not None:
            return exact
    if dtype.kind != "b":
        if name == "stablehlo.multiply" and any(fact.zero for fact in facts) and all(fact.finite for fact in facts):
            # An integer zero has no sign.
            return constant(0, dtype) if dtype.kind in "iu" else ZERO
        if name == "stablehlo.and" and any(fact.zero for fact in facts):
            return constant(0, dtype)
        if name in _ZERO and all(fact.zero for fact in facts):
            return constant(0, dtype) if dtype.kind in "iu" else ZERO
    if dtype.kind in "biu":
        return FINITE
    if name == "stablehlo.convert":
        return FINITE if facts[0].finite and _holds_all(dtype, operand) else UNKNOWN
    # Functions of large complex numbers overflow.
    if name in _FINITE and (operand.kind != "c" or name in _PARTWISE) and all(fact.finite for fact in facts):
        return FINITE
    return UNKNOWN


def _holds_all(dtype: DType, source: DType) -> bool:
    """Whether a float dtype is wide enough for every finite value of another dtype."""
    if source.kind == "b":
        return True
    if source.kind in "iu":
        return dtype.itemsize >= 4
    return dtype == source or float(ml_dtypes.finfo(dtype).max) >= float(ml_dtypes.finfo(source).max)


def _evaluate(name: str, direction: str, values: Sequence[Any], dtype: DType) -> Fact | None:
    """The constant that an op makes of constants, where it is certain."""
    if any(is_inexact(value.dtype) and np.isnan(value) for value in values):
        return None
    with np.errstate(all="ignore"):
        if name == "stablehlo.compare":
            if values[0].dtype.kind in "fV" and _both_zeros(values):
                return None  # 0 and -0 differ in the total order
            result = evaluate.COMPARISONS[direction](*values)
        elif name == "stablehlo.convert":
            result = _converted(values[0], dtype)
        elif name == "stablehlo.divide" and dtype.kind in "fV":
            # Division is not rounded the same everywhere; by 1 and of or by 0 it is certain.
            result = np.divide(*values) if values[1] == 1 or 0 in values else None
        elif name in _EXACT:
            if name in _SIGNED_ZERO and dtype.kind in "fV" and _both_zeros(values):
                return None  # which of the two it is is left open
            result = evaluate.ELEMENTWISE[name](*values)
            if name in _ROUNDED and is_inexact(dtype) and not _unrounded(name, values, result):
                return None
        elif name in _KNOWN and values[0].dtype.kind in "fV" and not (values[0] == 0 and np.signbit(values[0])):
            result = _KNOWN[name].get(float(values[0]))
        else:
            return None
    if result is None or (is_inexact(dtype) and np.isnan(result)):
        return None
    return constant(np.asarray(result).astype(dtype))


def _both_zeros(values: Sequence[np.generic]) -> bool:
    return len({bool(np.signbit(value)) for value in values if value == 0}) > 1


def _unrounded(name: str, values: Sequence[np.generic], result: Any) -> bool:
    """Whether a sum, difference or product of floats is what it is without rounding."""
    if not all(map(np.isfinite, values)):
        return True
    if not np.isfinite(result) or result.dtype.kind == "c":
        return False
    a, b = Fraction(float(values[0])), Fraction(float(values[-1]))
    exact = a + b if name.endswith("add") else a - b if name.endswith("subtract") else a * b
    return exact == Fraction(float(result))


def _converted(value: np.generic, dtype: DType) -> Any:
    """The converted value where no rounding or overflow is involved."""
    if dtype.kind == "b":
        return value != 0
    if value.dtype.kind == "c" and dtype.kind != "c":
        return None
    if is_inexact(value.dtype) and not np.isfinite(value):
        return value.astype(dtype) if dtype.kind in "fV" else None
    result = value.astype(dtype)
    return result if result == value else None
