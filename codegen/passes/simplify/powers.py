"""power_to_multiply: powers with small whole exponents are multiplications.

    before  %c = stablehlo.constant dense<4.0> : tensor<8xf32>
            %p = stablehlo.power %x, %c
    after   %q = stablehlo.multiply %x, %x
            %p = stablehlo.multiply %q, %q

In: `power` with a constant exponent, the same for all elements: whole, up to 8, or down to -8 (of the reciprocal), or
half of an odd number from -7/2 to 7/2 (of the square root or its reciprocal, with what `power` has at -0.0 and -inf),
but for 1/2, which XLA does. Integers: exponents from 0 to 8.
Precondition: real numbers. Rounding: a product is rounded at each step (at most seven times, each half a unit in the
last place), `power` once or twice; inf, NaN and signed zeros are as `power` has them.
"""

from __future__ import annotations

import math

from ...ir import ops
from ...ir.attributes import Array
from ...ir.bindings import ir, stablehlo
from ...ir.ops import full_like
from ...ir.refused import Refused, needed, require
from ...ir.values import constant, dtype_of, static_shape
from ..rewriting import rewrite

_GREATEST = 8
_HALVES = 7


@rewrite("stablehlo.power", exact=False)
def power_to_multiply(op: ir.Operation) -> ir.Value | None:
    """A power with a small whole exponent is a product; with half of an odd one a product of square roots."""
    x = op.operands[0]
    exponent = needed(constant(op.operands[1]), "the exponent is not one constant number")
    require(exponent.ndim == 0, "the exponent is not one constant number")
    require(dtype_of(x).kind != "c", "a power of complex numbers")
    shape = static_shape(x)
    count = _whole(exponent)
    if count is None:
        halves = _whole(exponent * 2)
        wanted = halves is not None and abs(halves) <= _HALVES and halves != 1
        require(wanted, f"the exponent {exponent} is not whole")
        assert halves is not None
        return _power_of_root(x, halves, shape)
    if dtype_of(x).kind in "iu":
        require(count >= 0, f"integers with the exponent {count}")
    require(abs(count) <= _GREATEST, f"the exponent {count} is beyond {_GREATEST}")
    if count == 0:
        return full_like(x, 1, shape)
    # Powers of the reciprocal, not the reciprocal of powers: those may overflow where the result is a small number.
    return _power(x if count > 0 else stablehlo.divide(full_like(x, 1, shape), x), abs(count))


def _whole(exponent: Array) -> int | None:
    if exponent.dtype.kind in "iu":
        return int(exponent)
    number = float(exponent)
    if not math.isfinite(number):
        raise Refused(f"the exponent {number} is not whole")
    return int(number) if number == int(number) else None


def _power(x: ir.Value, count: int) -> ir.Value:
    """By repeated squaring."""
    result: ir.Value | None = None
    square = x
    while True:
        if count % 2:
            result = square if result is None else stablehlo.multiply(result, square)
        count //= 2
        if not count:
            assert result is not None
            return result
        square = stablehlo.multiply(square, square)


def _power_of_root(x: ir.Value, halves: int, shape: tuple[int, ...]) -> ir.Value:
    """x^(halves/2); `power` has 0 or inf for -0.0 and for -inf, where a square root has -0.0 and NaN."""
    root = stablehlo.abs(stablehlo.sqrt(x))
    if halves < 0:
        root = stablehlo.divide(full_like(x, 1, shape), root)
    lowest = ops.compare("EQ", x, full_like(x, -math.inf, shape))
    at_lowest = full_like(x, 0 if halves < 0 else math.inf, shape)
    return stablehlo.select(lowest, at_lowest, _power(root, abs(halves)))
