"""Which ops are elementwise: each element of the result comes from the operands' elements at the same place.

In: nothing. Out: the names, for passes that treat all of these alike. Decision to know: `bitcast_convert` is among them
only where it keeps the shape, and `select` and `clamp` may have scalar operands; who uses the names looks at shapes.
"""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np

from ..dtypes import limits
from .bindings import ir
from .refused import require

_STABLEHLO = """
abs add and atan2 bitcast_convert cbrt ceil clamp compare complex convert cosine count_leading_zeros divide
exponential exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply negate not
or popcnt power real reduce_precision remainder round_nearest_afz round_nearest_even rsqrt select shift_left
shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh xor
"""
_CHLO = """
acos acosh asin asinh atan atanh bessel_i1e conj constant_like cosh digamma erf erf_inv erfc is_inf is_neg_inf
is_pos_inf lgamma mulhi next_after polygamma sinh square tan zeta
"""

STABLEHLO = frozenset(f"stablehlo.{name}" for name in _STABLEHLO.split())
CHLO = frozenset(f"chlo.{name}" for name in _CHLO.split())

Monoid = Literal["add", "multiply", "maximum", "minimum", "and", "or", "xor"]
MONOIDS: tuple[Monoid, ...] = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def identity(monoid: Monoid, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The value that leaves every other unchanged under the monoid: 0, 1, -inf or the lowest integer, ..."""
    if monoid in ("add", "or", "xor"):
        return np.zeros((), dtype)
    if monoid == "multiply":
        return np.ones((), dtype)
    if monoid == "and":
        return np.array(True) if dtype.kind == "b" else np.array(-1).astype(dtype)
    least, greatest = limits(dtype)
    return np.array(least if monoid == "maximum" else greatest)


def monoid_of(block: ir.Block) -> str | None:
    """The monoid that a region's body is, by name: one op on its two arguments, in any order."""
    arguments = list(block.arguments)
    first, *rest = itertools.islice(block.operations, 3)
    body = first.operation
    name = body.name.partition(".")[2]
    if name not in MONOIDS or len(rest) != 1 or len(arguments) != 2 or rest[0].operation.operands[0] != body.results[0]:
        return None
    operands = list(body.operands)
    return name if operands in (arguments, arguments[::-1]) else None


def reduction(op: ir.Operation) -> str:
    """The name of the one op that a `stablehlo.reduce` (or a scatter) combines elements with, e.g. `stablehlo.add`.

    Raises:
        Refused: it combines in another way, or several arrays at once.
    """
    body = list(op.regions[0].blocks[0].operations)
    arguments = op.regions[0].blocks[0].arguments
    names = " then ".join(inner.operation.name for inner in body[:-1])
    require(
        len(body) == 2
        and set(body[0].operation.operands) == set(arguments)
        and len(arguments) == 2
        and body[1].operation.operands[0] == body[0].operation.results[0],
        f"{op.name} does not combine its elements with a single op, but with {names or 'none'}",
    )
    return str(body[0].operation.name)
