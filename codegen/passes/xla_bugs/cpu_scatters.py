"""cpu_scatters: a barrier before the operand of a scatter of integers along an axis of one element.

    before  %s = stablehlo.scatter %zeros, %places, %updates : tensor<4x1xi32>, ... (adds)
    after   %b = stablehlo.optimization_barrier %zeros : tensor<4x1xi32>
            %s = stablehlo.scatter %b, %places, %updates : tensor<4x1xi32>, ... (adds)

Along such an axis all places are the same. Where XLA:CPU knows them, and the operand to be zero, it takes in one of the
updates, whatever the scatter makes of several (every jaxlib from 0.10 to 0.12). Preconditions: none. Rounding: none.
"""

from __future__ import annotations

from ...ir import ops
from ...ir.bindings import ir
from ...ir.op_sheet import Indexing
from ...ir.values import numpy_dtype, walk
from ..report import Report

# A module without any of these is left as it is; callers may then save themselves a copy.
TRIGGERS = frozenset({"stablehlo.scatter"})


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    for scatter in endangered(module):
        with module.context, scatter.location, ir.InsertionPoint(scatter):
            (scatter.operands[0],) = ops.optimization_barrier([scatter.operands[0]])
        report.applied(scatter, result="a barrier before its operand")


def endangered(module: ir.Module) -> list[ir.Operation]:
    """Scatters of one array of integers, where an axis that is scattered along has one element."""
    return [op for op in walk(module) if op.name == "stablehlo.scatter" and _is_endangered(op)]


def _is_endangered(scatter: ir.Operation) -> bool:
    type_ = ir.RankedTensorType(scatter.operands[0].type)
    numbers = Indexing.of(scatter)
    return (
        len(scatter.results) == 1
        and numpy_dtype(type_.element_type).kind in "iub"
        and any(type_.shape[axis] == 1 for axis in numbers.mapped)
    )
