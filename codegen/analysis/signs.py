"""Between which numbers a value's elements lie, by the ops that make it.

In: a value. Out: the least and the greatest number, as far as is known, of elements that are not NaN. Decision to know:
only a few ops back are looked at, and only ops that models put before a gamma function; infinities are always right.
"""

from __future__ import annotations

import math

from ..ir.bindings import ir
from ..ir.kinds import direction_of, having
from ..ir.values import constant, is_constant, owner

Limits = tuple[float, float]

_DEPTH = 12
_ANY: Limits = (-math.inf, math.inf)
_POSITIVE: Limits = (0, math.inf)
_FIRST, _NONNEGATIVE, _KEEPS = (having(fact) for fact in ("first", "nonnegative", "keeps"))
_OTHERS = frozenset(f"stablehlo.{name}" for name in ("divide", "maximum", "minimum", "multiply", "negate", "select"))


def limits(value: ir.Value, depth: int = _DEPTH, known: dict[ir.Value, Limits] | None = None) -> Limits:
    """The least and the greatest number among the elements."""
    known = {} if known is None else known
    if value not in known:
        known[value] = _found(value, depth, known)
    return known[value]


def _found(value: ir.Value, depth: int, known: dict[ir.Value, Limits]) -> Limits:
    array, op = constant(value), owner(value)
    if array is not None and array.size and array.dtype.kind in "fiub" and (array == array).all():
        return float(array.min()), float(array.max())
    if op is None or not depth:
        return _ANY
    if op.name in _NONNEGATIVE or (op.name == "stablehlo.multiply" and op.operands[0] == op.operands[1]):
        return _POSITIVE
    if op.name in _FIRST:
        return limits(op.operands[0], depth - 1, known)
    if op.name not in _OTHERS and op.name not in _KEEPS:
        return _ANY
    name, ends = op.name.partition(".")[2], [limits(operand, depth - 1, known) for operand in op.operands]
    if name == "negate":
        return -ends[0][1], -ends[0][0]
    if name in ("maximum", "minimum"):
        pick = max if name == "maximum" else min
        return pick(low for low, _ in ends), pick(high for _, high in ends)
    if name == "select":
        low = min(low for low, _ in ends[1:])
        return (0 if _is_folded(op) else low), max(high for _, high in ends[1:])
    if name == "multiply":
        corners = [0.0 if 0 in (a, b) else a * b for a in ends[0] for b in ends[1]]
        return min(corners), max(corners)
    natural = all(low >= 0 for low, _ in ends)
    return _POSITIVE if natural and (name != "divide" or _has_no_negative_zero(op.operands[1])) else _ANY


def is_not_negative(value: ir.Value) -> bool:
    """Whether no element is below 0."""
    return limits(value)[0] >= 0


def is_fraction(value: ir.Value) -> bool:
    """Whether all elements are a logistic function's, or exponentials of what is not above 0: they lie in [0, 1]."""
    op = owner(value)
    if op is not None and op.name in _FIRST:
        return is_fraction(op.operands[0])
    if op is None:
        return False
    return op.name == "stablehlo.logistic" or (op.name == "stablehlo.exponential" and limits(op.operands[0])[1] <= 0)


def _has_no_negative_zero(value: ir.Value) -> bool:
    """Whether no element is -0, given that none is below 0: 1/x is then not negative either."""
    op = owner(value)
    if op is not None and op.name in _FIRST:
        return _has_no_negative_zero(op.operands[0])
    return limits(value)[0] > 0 or (op is not None and op.name in _NONNEGATIVE - {"stablehlo.sqrt"})


def _is_folded(select: ir.Operation) -> bool:
    """Whether it is `where(x < 0, c - x, x)` or `where(x >= 0, x, c - x)` with c >= 0, as reflections have it."""
    test, yes, no = (owner(operand) for operand in select.operands)
    if test is None or test.name != "stablehlo.compare" or not is_constant(test.operands[1], 0):
        return False
    places = {"LT": (yes, select.operands[2]), "GE": (no, select.operands[1])}
    changed, kept = places.get(direction_of(test), (None, None))
    x = test.operands[0]
    if changed is None or kept != x or changed.name not in ("stablehlo.subtract", "stablehlo.negate"):
        return False
    *least, subtracted = changed.operands
    return bool(subtracted == x) and all(map(is_not_negative, least))
