"""Elementwise ops that IREE computes wrong, or not at all, as ops that it computes right.

    before  %y = stablehlo.log_plus_one %x : tensor<?xf64>
    after   %u = add %x, 1;  %y = select(%u == 1, %x, log(%u) * (%x / (%u - 1)))

IREE 3.13 takes float64's `log1p` and `expm1` for `log(1 + x)` and `exp(x) - 1`, gives NaN for powers of negative
numbers, and its float32 sines, cosines and arcs are off by some thousand roundings, and wrong for large arguments.
Rounding: a few units in the last place; float32 ones go by way of float64.
"""

from __future__ import annotations

import numpy as np

from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.open_ops import full_like, is_open
from ...ir.values import defining, dtype_of


def log_plus_one(op: ir.Operation) -> ir.Value | None:
    """`log1p` by Kahan's correction of `log(1 + x)`."""
    (x,) = op.operands
    if dtype_of(x) != np.float64:
        return None
    one = full_like(x, 1)
    u = stablehlo.add(x, one)
    ratio = stablehlo.divide(x, stablehlo.subtract(u, one))
    corrected = stablehlo.multiply(stablehlo.log(u), ratio)
    infinite = ops.compare("EQ", x, full_like(x, np.inf))
    return stablehlo.select(ops.compare("EQ", u, one), x, stablehlo.select(infinite, x, corrected))


def exponential_minus_one(op: ir.Operation) -> ir.Value | None:
    """`expm1` by Kahan's correction of `exp(x) - 1`, which needs none far from zero."""
    (x,) = op.operands
    if dtype_of(x) != np.float64:
        return None
    one = full_like(x, 1)
    u = stablehlo.exponential(x)
    less = stablehlo.subtract(u, one)
    corrected = stablehlo.multiply(less, stablehlo.divide(x, stablehlo.log(u)))
    near = ops.compare("LT", stablehlo.abs(x), one)
    return stablehlo.select(ops.compare("EQ", u, one), x, stablehlo.select(near, corrected, less))


def power(op: ir.Operation) -> ir.Value | None:
    """A power of the absolute value, with its sign; NaN where the base is negative and the exponent no integer."""
    x, y = op.operands
    kind = dtype_of(x)
    if kind.kind not in "fV" or _has_sign(op):
        return None
    wide = np.dtype(np.float64)
    x, y = ops.convert(x, wide), ops.convert(y, wide)
    one, two, zero = (full_like(x, number) for number in (1, 2, 0))
    size = _absolute_power(stablehlo.abs(x), y)
    odd = ops.compare("EQ", stablehlo.abs(stablehlo.remainder(y, two)), one)
    whole = stablehlo.or_(ops.compare("EQ", stablehlo.floor(y), y), ops.compare("EQ", x, full_like(x, -np.inf)))
    below = ops.compare("LT", x, zero)
    signed = stablehlo.select(odd, stablehlo.negate(size), size)
    negative = stablehlo.select(whole, signed, full_like(x, np.nan))
    # The sign of -0.0 is that of its reciprocal.
    is_zero = ops.compare("EQ", x, zero)
    minus_zero = stablehlo.and_(is_zero, ops.compare("LT", stablehlo.divide(one, x), zero))
    found = stablehlo.select(below, negative, stablehlo.select(minus_zero, signed, size))
    trivial = stablehlo.or_(ops.compare("EQ", x, one), ops.compare("EQ", y, zero))
    return ops.convert(stablehlo.select(trivial, one, found), kind)


def _absolute_power(x: ir.Value, y: ir.Value) -> ir.Value:
    """The power of what is not negative, which IREE has right."""
    made = ops.elementwise("stablehlo.power", x, y)
    defining(made).attributes[ABSOLUTE] = ir.UnitAttr.get()
    return made


ABSOLUTE = "hlograph.absolute"


def _has_sign(op: ir.Operation) -> bool:
    return ABSOLUTE in op.attributes


def in_double(op: ir.Operation) -> ir.Value | None:
    """An op of less precision by way of float64."""
    kind = dtype_of(op.operands[0])
    if kind.kind not in "fV" or kind == np.float64:
        return None
    wide = ops.elementwise(op.name, *[ops.convert(operand, np.float64) for operand in op.operands])
    return ops.convert(wide, kind)


def through_barrier(op: ir.Operation) -> list[ir.Value] | None:
    """A barrier is nothing that IREE needs, and of open sizes nothing that it takes."""
    return list(op.operands) if is_open(*op.operands) else None
