"""cpu_nan: maxima and minima of many floats that keep NaN whatever XLA:CPU makes of them.

    before  %m = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [1] : tensor<8x4096xf64>
    after   %m = ...                                             // as before
            %n = stablehlo.compare NE, %x, %x                    // where NaN is
            %a = stablehlo.reduce(%n init: false) applies stablehlo.or across dimensions = [1]
            %r = stablehlo.select %a, NaN, %m                    // in the place of %m

XLA:CPU leaves reductions of 4,096 elements and more to a library whose maximum and minimum pass NaN over. Executables
of our own have a compile option against it; a module that goes into somebody else's has this. Preconditions: static
sizes. Rounding: none.
"""

from __future__ import annotations

import numpy as np

from ...dtypes import kind_of
from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.values import integers, numpy_dtype, walk
from ..report import Report

ELEMENTS = 4096  # from which XLA:CPU leaves a reduction to the library
_BODIES = ("stablehlo.maximum", "stablehlo.minimum")

# A module without any of these is left as it is; callers may then save themselves a copy.
TRIGGERS = frozenset({"stablehlo.reduce"})


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    for operation in endangered(module):
        _keep_nan(operation)
        report.applied(operation, result="NaN, if there is one")


def endangered(module: ir.Module) -> list[ir.Operation]:
    """The maxima and minima that XLA may leave to the library."""
    return [op for op in walk(module) if op.name == "stablehlo.reduce" and _may_lose_nan(op)]


def _may_lose_nan(operation: ir.Operation) -> bool:
    body = list(operation.regions[0].blocks[0].operations)
    if len(operation.results) != 1 or len(body) != 2 or body[0].operation.name not in _BODIES:
        return False
    operand = ir.RankedTensorType(operation.operands[0].type)
    if not operand.has_static_shape or int(np.prod(operand.shape, dtype=np.int64)) < ELEMENTS:
        return False
    return kind_of(numpy_dtype(operand.element_type)) == "f"


def _keep_nan(operation: ir.Operation) -> None:
    x, result = operation.operands[0], operation.results[0]
    uses = [(use.owner.operation, use.operand_number) for use in result.uses]
    with operation.location, ir.InsertionPoint.after(operation):
        is_nan = ops.compare("NE", x, x)
        any_nan = ops.reduce("stablehlo.or", is_nan, ops.constant(np.False_), integers(operation, "dimensions"))
        kept = stablehlo.select(any_nan, ops.full_like(result, np.nan), result)
    for owner, number in uses:
        owner.operands[number] = kept
