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
from .types import INT64

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
        floordiv=placed(lambda a, b: _emit_division(builder, "//", a, b), operator.floordiv),
        mod=placed(lambda a, b: _emit_division(builder, "%", a, b), operator.mod),
        minimum=binary("stablehlo.minimum", dimension.minimum),
        maximum=binary("stablehlo.maximum", dimension.maximum),
    )
    builder.size_table[dim] = found
    return found


def _emit_division(builder: Any, kind: str, a: _Part, b: _Part) -> Any:
    """Floor quotient, or remainder with the divisor's sign, from truncating ones; 0 where b is 0, as NumPy's.

    `a mod b` is `((a rem b) + b) rem b`, and the quotient `(a - a mod b) / b`.
    """
    name, of = ("stablehlo.divide", operator.floordiv) if kind == "//" else ("stablehlo.remainder", operator.mod)
    low, least = dimension.bounds(a[1])[0], dimension.bounds(b[1])[0]
    if low is not None and low >= 0 and least is not None and least > 0:  # rounding down is rounding to zero
        return builder.op(name, [a[0], b[0]], (), INT64)
    dividend, divisor = _without_zero(builder, a, b)
    value = ((VALUE, f'"{of(a[1], b[1])}"'),)  # for passes that could not tell
    shifted = builder.op("stablehlo.remainder", [dividend, divisor], (), INT64)
    shifted = builder.op("stablehlo.add", [shifted, divisor], (), INT64)
    if kind == "%":
        return builder.op(name, [shifted, divisor], (), INT64, value)
    remainder = builder.op("stablehlo.remainder", [shifted, divisor], (), INT64)
    return builder.op(
        name, [builder.op("stablehlo.subtract", [dividend, remainder], (), INT64), divisor], (), INT64, value
    )


def _without_zero(builder: Any, a: _Part, b: _Part) -> tuple[Any, Any]:
    """0 and 1 in place of a and b where b is 0; StableHLO leaves a division by 0 open."""
    low, high = dimension.bounds(b[1])
    if (low is not None and low > 0) or (high is not None and high < 0):
        return a[0], b[0]
    zero, one = builder.emit_constant(np.zeros((), np.int64)), builder.emit_constant(np.ones((), np.int64))
    is_zero = builder.compared("EQ", b[0], zero)
    dividend = builder.op("stablehlo.select", [is_zero, zero, a[0]], (), INT64)
    return dividend, builder.op("stablehlo.select", [is_zero, one, b[0]], (), INT64)
