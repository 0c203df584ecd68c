"""What follows for a value's sign from the ops that make it.

In: a value. Out: whether all its elements are known to lie in a range; NaN may be among them. Decision to know: only a
few ops back are looked at, and only ops that models put before a gamma function; `False` is always right.
"""

from __future__ import annotations

from ..ir.bindings import ir
from ..ir.kinds import direction_of, having
from ..ir.values import constant, is_constant, owner

_DEPTH = 12
_FIRST, _NONNEGATIVE, _KEEPS = (having(fact) for fact in ("first", "nonnegative", "keeps"))


def is_not_negative(value: ir.Value, depth: int = _DEPTH) -> bool:
    """Whether no element is below 0."""
    found = constant(value)
    if found is not None:
        return bool((found >= 0).all())
    op = owner(value)
    if op is None or not depth:
        return False

    def of(*operands: ir.Value) -> bool:
        return all(is_not_negative(operand, depth - 1) for operand in operands)

    if op.name in _NONNEGATIVE:
        return True
    if op.name in _FIRST:
        return of(op.operands[0])
    if op.name == "stablehlo.multiply" and op.operands[0] == op.operands[1]:
        return True
    if op.name in _KEEPS:
        return of(*op.operands)
    if op.name == "stablehlo.divide":
        return of(*op.operands) and _has_no_negative_zero(op.operands[1])
    if op.name == "stablehlo.maximum":
        return of(op.operands[0]) or of(op.operands[1])
    if op.name == "stablehlo.select":
        _, yes, no = op.operands
        return (of(yes) and of(no)) or _is_folded(op)
    return False


def is_not_positive(value: ir.Value, depth: int = _DEPTH) -> bool:
    """Whether no element is above 0."""
    found = constant(value)
    if found is not None:
        return bool((found <= 0).all())
    op = owner(value)
    if op is None or not depth:
        return False
    if op.name == "stablehlo.negate":
        return is_not_negative(op.operands[0], depth - 1)
    if op.name in _FIRST:
        return is_not_positive(op.operands[0], depth - 1)
    if op.name == "stablehlo.multiply":
        first, second = op.operands
        return any(
            is_not_negative(one, depth - 1) and is_not_positive(other, depth - 1)
            for one, other in ((first, second), (second, first))
        )
    if op.name == "stablehlo.minimum":
        return any(is_not_positive(operand, depth - 1) for operand in op.operands)
    return False


def is_fraction(value: ir.Value) -> bool:
    """Whether all elements lie in [0, 1]."""
    op = owner(value)
    if op is not None and op.name in _FIRST:
        return is_fraction(op.operands[0])
    if op is None:
        return False
    return op.name == "stablehlo.logistic" or (op.name == "stablehlo.exponential" and is_not_positive(op.operands[0]))


def _has_no_negative_zero(value: ir.Value) -> bool:
    """Whether no element is -0, given that none is below 0: 1/x is then not negative either."""
    found = constant(value)
    if found is not None:
        return bool((found > 0).all())
    op = owner(value)
    if op is None:
        return False
    if op.name in _FIRST:
        return _has_no_negative_zero(op.operands[0])
    return op.name in _NONNEGATIVE - {"stablehlo.sqrt"}


def _is_folded(select: ir.Operation) -> bool:
    """Whether it is `where(x < 0, c - x, x)` or `where(x >= 0, x, c - x)` with c >= 0, as reflections have it."""
    test, yes, no = (owner(operand) for operand in select.operands)
    if test is None or test.name != "stablehlo.compare" or not is_constant(test.operands[1], 0):
        return False
    x = test.operands[0]
    direction = direction_of(test)
    if direction == "LT":
        changed, kept = yes, select.operands[2]
    elif direction == "GE":
        changed, kept = no, select.operands[1]
    else:
        return False
    if changed is None or kept != x or changed.name not in ("stablehlo.subtract", "stablehlo.negate"):
        return False
    if changed.name == "stablehlo.negate":
        return bool(changed.operands[0] == x)
    return bool(changed.operands[1] == x) and is_not_negative(changed.operands[0])
