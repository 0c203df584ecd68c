"""cpu_math: float64 logarithms and the gamma family become code that XLA:CPU vectorises.

    before  %0 = stablehlo.log %x : tensor<1000xf64>                    // libm, an element at a time
    after   %b = stablehlo.bitcast_convert %x : tensor<1000xi64>        // exponent and mantissa by their bits,
            %q = stablehlo.divide %p, %r                                // a rational approximation,
            ...                                                         // zeros, infinities and NaN by selection

In: a module for the CPU. Out: `log`, `log_plus_one`, `lgamma`, `digamma` and `polygamma(1, x)` of static float64 arrays
of at least `elements` elements are elementwise arithmetic. Rounding: docs/cpu_math.md bounds each function's error;
subnormal arguments count as zero.

Decision to know: a formula stands where the op stood, and is fused with what is around it, if its result has one user
and the module has at most `inline` such ops. Otherwise it is a private function, one for each type of argument, whose
calls XLA leaves alone: it is computed once where XLA would repeat a part of it for each user, and compiled in less than
half the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from ...analysis.signs import is_fraction, is_not_negative
from ...ir.bindings import ir
from ...ir.functions import add_function, call
from ...ir.refused import Refused, require
from ...ir.values import dtype_of, is_constant, owner, static_shape, users
from ...ir.walk import free_symbol, walk
from ..report import Report
from . import functions
from .vector import Vector

# Below this many elements there is less than a microsecond to win, and XLA's own op compiles faster.
ELEMENTS = 64
INLINE = 8

# A module without any of these is left as it is.
OPS = frozenset({"stablehlo.log", "stablehlo.log_plus_one", "chlo.lgamma", "chlo.digamma", "chlo.polygamma"})


def run(module: ir.Module, report: Report, *, elements: int = ELEMENTS, inline: int = INLINE) -> None:
    """The pass.

    Args:
        module: is changed in place.
        report: takes note of each op.
        elements: the least size of an array that is worth it.
        inline: with more ops than these to replace, all formulas are functions.
    """
    found: list[tuple[ir.Operation, _Formula]] = []
    for operation in walk(module):
        if operation.name not in OPS:
            continue
        name = operation.name.partition(".")[2]
        try:
            found.append((operation, _formula(operation, elements)))
        except Refused as refusal:
            report.refused(operation, str(refusal), name)
    symbols: dict[tuple[str, str], str] = {}
    for operation, formula in found:
        report.applied(operation, operation.name.partition(".")[2])
        x = operation.operands[-1]
        if len(found) > inline or len(set(users(operation.results[0]))) > 1:
            key = (formula.name, str(x.type))
            if key not in symbols:
                symbols[key] = _function(module, formula, x.type)
            result = _call(operation, symbols[key])
        else:
            with ir.InsertionPoint(operation), operation.location:
                result = formula(Vector(x)).value
        operation.results[0].replace_all_uses_with(result)
        operation.erase()


def _function(module: ir.Module, formula: _Formula, kind: ir.Type) -> str:
    """A private function for a formula on arrays of one type; returns its symbol."""
    symbol = free_symbol(module, f"cpu_math.{formula.name}")
    with ir.InsertionPoint(module.body), ir.Location.unknown(module.context):
        private = ir.StringAttr.get("private")
        add_function(symbol, [kind], lambda x: [formula(Vector(x)).value], sym_visibility=private)
    return symbol


def _call(operation: ir.Operation, symbol: str) -> ir.Value:
    with ir.InsertionPoint(operation), operation.location:
        fixed = ir.DictAttr.get({"inlineable": ir.StringAttr.get("false")})
        results = [operation.results[0].type]
        return call(symbol, results, [operation.operands[-1]], **{"mhlo.frontend_attributes": fixed})[0]


@dataclass(frozen=True)
class _Formula:
    """What takes an op's place: a function of `functions.py`, by a name that says with which arguments."""

    name: str
    build: Callable[[Vector], Vector]

    def __call__(self, x: Vector) -> Vector:
        return self.build(x)


def _formula(operation: ir.Operation, least: int) -> _Formula:
    """What takes an op's place.

    Raises:
        Refused: nothing does.
    """
    x = operation.operands[-1]
    require(dtype_of(x).name == "float64", "only float64 is slow")
    size = math.prod(static_shape(x))
    require(size >= least, f"it has {size} elements, fewer than elements={least}")
    name = operation.name.partition(".")[2]
    if name == "log_plus_one":
        if is_fraction(x):
            return _Formula("log1p_of_fraction", functions.log1p_of_fraction)
        return _Formula("log1p", functions.log1p)
    source = owner(x)
    if name == "log" and source is not None:
        require(source.name not in _XLA_SIMPLIFIES, f"XLA simplifies the logarithm of {source.name}")
    if name == "polygamma":
        require(is_constant(operation.operands[0], 1), "only polygamma(1, x), the trigamma function, has a formula")
    positive = is_not_negative(x)
    return _Formula(f"{name}_of_positive" if positive else name, partial(_FUNCTIONS[name], positive=positive))


_FUNCTIONS: Mapping[str, Callable[..., Vector]] = {
    "log": functions.log,
    "lgamma": functions.lgamma,
    "digamma": functions.digamma,
    "polygamma": functions.trigamma,
}

# log(exp(x)) is x, and log(power(x, y)) is y log(x).
_XLA_SIMPLIFIES = frozenset({"stablehlo.exponential", "stablehlo.power"})
