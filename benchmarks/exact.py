"""A graph as it is written, evaluated with as many digits as it takes: the true values beside which rewriting is held.

No overflow, and no cancellation within the precision. A value counts as known where two precisions agree and it is
finite; what cancels beyond them (`log(1 - sigmoid(1e5))`) or what has no entry in the table is unknown, NaN here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

DIGITS = (60, 400)
LARGEST = 10**7


def _log1mexp(x: Any) -> Any:
    return mpmath.log(-mpmath.expm1(x))


def _pow(x: Any, y: Any) -> Any:
    return mpmath.mpf(1) if y == 0 else x**y


SCALAR: dict[str, Callable[..., Any]] = {
    "Abs": abs,
    "Add": lambda *x: sum(x[1:], x[0]),
    "AND": lambda x, y: bool(x) & bool(y),
    "Cast": lambda x: x,
    "EQ": lambda x, y: x == y,
    "Erf": mpmath.erf,
    "Erfc": mpmath.erfc,
    "Erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "Exp": mpmath.exp,
    "Expm1": mpmath.expm1,
    "GE": lambda x, y: x >= y,
    "GT": lambda x, y: x > y,
    "GammaLn": lambda x: mpmath.loggamma(x) if x > 0 else mpmath.log(abs(mpmath.gamma(x))),
    "Identity": lambda x: x,
    "Invert": lambda x: not x,
    "LE": lambda x, y: x <= y,
    "LT": lambda x, y: x < y,
    "Log": mpmath.log,
    "Log1mexp": _log1mexp,
    "Log1p": mpmath.log1p,
    "Mul": lambda *x: mpmath.fprod(x),
    "NEQ": lambda x, y: x != y,
    "Neg": lambda x: -x,
    "OR": lambda x, y: bool(x) | bool(y),
    "Pow": _pow,
    "Psi": mpmath.digamma,
    "Reciprocal": lambda x: 1 / x,
    "ScalarMaximum": max,
    "ScalarMinimum": min,
    "Second": lambda x, y: y,
    "Sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "Sign": mpmath.sign,
    "Softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "Sqr": lambda x: x * x,
    "Sqrt": mpmath.sqrt,
    "Sub": lambda x, y: x - y,
    "Switch": lambda condition, x, y: x if condition else y,
    "TrueDiv": lambda x, y: x / y,
}


def exact(inputs: Sequence[Any], outputs: Sequence[Any], point: Sequence[float]) -> list[float]:
    """The outputs' true values at a point of scalars, as far as they are known."""
    first, second = (_evaluate(inputs, outputs, point, digits) for digits in DIGITS)
    with mpmath.workdps(DIGITS[0]):
        return [float(y) if _agree(x, y) else float("nan") for x, y in zip(first, second, strict=True)]


def _agree(x: Any, y: Any) -> bool:
    if x is None or y is None or isinstance(x, mpmath.mpc) or isinstance(y, mpmath.mpc):
        return False
    return bool(mpmath.isfinite(x) and mpmath.isfinite(y) and abs(x - y) <= abs(y) * mpmath.mpf(10) ** -20)


def _evaluate(inputs: Sequence[Any], outputs: Sequence[Any], point: Sequence[float], digits: int) -> list[Any]:
    from pytensor.graph.traversal import toposort

    with mpmath.workdps(digits):
        known = {x: mpmath.mpf(float(v)) for x, v in zip(inputs, point, strict=True)}
        for node in toposort(list(outputs), blockers=list(inputs)):
            function = SCALAR.get(type(getattr(node.op, "scalar_op", node.op)).__name__)
            operands = [_value(known, x) for x in node.inputs]
            for variable in node.outputs:
                known[variable] = _apply(node.op, function, operands)
        return [_value(known, x) for x in outputs]


def _value(known: dict[Any, Any], variable: Any) -> Any:
    if variable not in known:
        data = getattr(variable, "data", None)
        single = data is not None and np.size(data) == 1
        known[variable] = mpmath.mpf(float(np.asarray(data).item())) if single else None
    return known[variable]


def _apply(op: Any, function: Callable[..., Any] | None, operands: list[Any]) -> Any:
    """None for what is not known; a selection does not ask for the branch that it does not take."""
    name = type(getattr(op, "scalar_op", op)).__name__
    if name == "DimShuffle" or (name == "Second" and len(operands) == 2):
        return operands[-1]
    if name == "Switch" and operands[0] is not None:
        return operands[1] if operands[0] else operands[2]
    if function is None or None in operands:
        return None
    try:
        found = function(*operands)
        # What has more than so many binary digits before or behind the point would take all memory in the next step.
        tame = isinstance(found, bool) or not mpmath.isfinite(found) or not found or abs(mpmath.mag(found)) < LARGEST
        return found if tame else None
    except (ZeroDivisionError, ValueError, OverflowError, TypeError):
        return None
