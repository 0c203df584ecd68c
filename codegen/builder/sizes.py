"""Dimension expressions as scalar int64 arithmetic of the program.

In: a dimension. Out: a handle on a scalar. Each operation goes where sizes of its operands' roots are computed: to the
prologue, or behind the latest of the roots that depend on data. Floor division and remainder are Python's; StableHLO's
round to zero, so that they need corrections, except where the operands are known not to be negative. Divided by 0, both
are 0, as NumPy's integers are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dims as dimension
from ..dims import Dim, SymbolicDim
from .types import INT64, Attributes

VALUE = "hlograph.value"
_Part = tuple[Any, Dim]  # a handle, and the dimension that it is


def emit_size(builder: Any, dim: Dim) -> Any:
    """Scalar int64 arithmetic for a dimension expression; called with the insertion point where it belongs."""
    if type(dim) is int:
        return builder.emit_constant(np.asarray(dim, np.int64))
    found = builder.size_table.get(dim)
    if found is not None:
        return found

    def placed(emit: Callable[[_Part, _Part], Any], combine: Callable[[Dim, Dim], Dim]) -> Callable[..., _Part]:
        def make(a: _Part, b: _Part) -> _Part:
            with builder.at_sizes(dimension.roots(a[1]) | dimension.roots(b[1])):
                return emit(a, b), combine(a[1], b[1])

        return make

    def binary(name: str, combine: Callable[[Dim, Dim], Dim]) -> Callable[..., _Part]:
        return placed(lambda a, b: builder.op(name, [a[0], b[0]], (), INT64), combine)

    def root(name: str) -> _Part:
        with builder.at_sizes((name,)):
            return builder.emit_root(name)

    assert isinstance(dim, SymbolicDim)
    found, _ = dimension.rebuild(
        dim,
        root,
        const=lambda value: (builder.emit_constant(np.asarray(value, np.int64)), value),
        add=binary("stablehlo.add", operator.add),
        mul=binary("stablehlo.multiply", operator.mul),
        floordiv=placed(lambda a, b: _emit_floordiv(builder, a, b), operator.floordiv),
        mod=placed(lambda a, b: _emit_mod(builder, a, b), operator.mod),
        minimum=binary("stablehlo.minimum", dimension.minimum),
        maximum=binary("stablehlo.maximum", dimension.maximum),
    )
    builder.size_table[dim] = found
    return found


def _same_as_truncated(a: _Part, b: _Part) -> bool:
    """Whether rounding down is rounding to zero: a >= 0 and b > 0 at every size."""
    low, least = dimension.bounds(a[1])[0], dimension.bounds(b[1])[0]
    return low is not None and low >= 0 and least is not None and least > 0


def _emit_floordiv(builder: Any, a: _Part, b: _Part) -> Any:
    """Floor quotient from StableHLO's truncating one: (a - a mod b) / b; 0 where b is 0, as NumPy's."""
    if _same_as_truncated(a, b):
        return builder.op("stablehlo.divide", [a[0], b[0]], (), INT64)
    dividend, divisor = _without_zero(builder, a, b)
    exact = builder.op("stablehlo.subtract", [dividend, _wrapped_remainder(builder, dividend, divisor)], (), INT64)
    return builder.op("stablehlo.divide", [exact, divisor], (), INT64, value_attribute(a[1] // b[1]))


def _emit_mod(builder: Any, a: _Part, b: _Part) -> Any:
    """Remainder with the divisor's sign: ((a rem b) + b) rem b; 0 where b is 0, as NumPy's."""
    if _same_as_truncated(a, b):
        return builder.op("stablehlo.remainder", [a[0], b[0]], (), INT64)
    return _wrapped_remainder(builder, *_without_zero(builder, a, b), value_attribute(a[1] % b[1]))


def _wrapped_remainder(builder: Any, a: Any, b: Any, attributes: Attributes = ()) -> Any:
    remainder = builder.op("stablehlo.remainder", [a, b], (), INT64)
    shifted = builder.op("stablehlo.add", [remainder, b], (), INT64)
    return builder.op("stablehlo.remainder", [shifted, b], (), INT64, attributes)


def value_attribute(dim: Dim) -> Attributes:
    """Says on an op that its value is this dimension, for passes that could not tell."""
    return ((VALUE, f'"{dim}"'),)


def _without_zero(builder: Any, a: _Part, b: _Part) -> tuple[Any, Any]:
    """0 and 1 in place of a and b where b is 0; StableHLO leaves a division by 0 open."""
    low, high = dimension.bounds(b[1])
    if (low is not None and low > 0) or (high is not None and high < 0):
        return a[0], b[0]
    zero, one = builder.emit_constant(np.zeros((), np.int64)), builder.emit_constant(np.ones((), np.int64))
    is_zero = builder.compared("EQ", b[0], zero)
    dividend = builder.op("stablehlo.select", [is_zero, zero, a[0]], (), INT64)
    return dividend, builder.op("stablehlo.select", [is_zero, one, b[0]], (), INT64)
