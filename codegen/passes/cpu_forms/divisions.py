"""reciprocal_once: many quotients by one number are products with its reciprocal.

    before  %b = stablehlo.broadcast_in_dim %s, dims = [] : tensor<f64> -> tensor<919xf64>
            %q = stablehlo.divide %x, %b
    after   %large = compare GE, abs(%s), 2^1000
            %c = select %large, 2^-100, 1                    // so that the reciprocal is a normal number
            %r = divide 1, multiply(%s, %c)
            %q = multiply(multiply(%x, broadcast(%c)), broadcast(%r))

In: a quotient of floats whose divisor is broadcast. Preconditions: static shapes, a divisor that is no constant (XLA
takes the reciprocal of those itself), enough elements, and eight for each of the divisor. A division of a vector takes
eight times as long as a product. Rounding: twice instead of once, which is 1.5 units in the last place at most; the
quotient is inf, NaN or zero, signs included, where the division's is.
"""

from __future__ import annotations

import math

import numpy as np

from ...ir import ops
from ...ir.attributes import integers
from ...ir.bindings import ir, stablehlo
from ...ir.refused import require
from ...ir.values import constant, dtype_of, owner, static_shape

_LEAST = 32
_SHARED = 8
# From where on a divisor is scaled, and by what: exponents of two. What is lost of a dividend that is scaled is below
# the least number when it is divided.
_SCALED = {np.dtype(np.float64): (1000, -100), np.dtype(np.float32): (100, -60)}


def reciprocal_once(op: ir.Operation) -> ir.Value | None:
    """A quotient by a broadcast divisor is a product with its reciprocal, which is taken before the broadcast."""
    spread = owner(op.operands[1])
    if spread is None or spread.name != "stablehlo.broadcast_in_dim" or dtype_of(op.results[0]) not in _SCALED:
        return None
    divisor, shape = spread.operands[0], static_shape(op.results[0])
    if constant(divisor) is not None:
        return None
    count, of_divisor = math.prod(shape), math.prod(static_shape(divisor))
    require(
        count >= max(_LEAST, _SHARED * of_divisor),
        f"{count} elements by {of_divisor}: fewer than {max(_LEAST, _SHARED * of_divisor)}",
    )
    scale, reciprocal = _parts(divisor)
    axes = integers(spread, "broadcast_dimensions")
    scaled = stablehlo.multiply(op.operands[0], ops.broadcast_in_dim(scale, shape, axes))
    return stablehlo.multiply(scaled, ops.broadcast_in_dim(reciprocal, shape, axes))


def _parts(divisor: ir.Value) -> tuple[ir.Value, ir.Value]:
    """What dividends are multiplied by, and the reciprocal of the divisor multiplied by the same."""
    threshold, exponent = _SCALED[dtype_of(divisor)]
    one = ops.full_like(divisor, 1.0)
    large = ops.compare("GE", stablehlo.abs(divisor), ops.full_like(divisor, 2.0**threshold))
    scale = stablehlo.select(large, ops.full_like(divisor, 2.0**exponent), one)
    return scale, stablehlo.divide(one, stablehlo.multiply(divisor, scale))
