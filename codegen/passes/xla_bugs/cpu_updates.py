"""cpu_updates: a barrier between an update of a part of an array and a reshape of the result.

    before  %u = stablehlo.dynamic_update_slice %x, %part, %i, %j : ... -> tensor<8x16xf64>
            %r = stablehlo.reshape %u : (tensor<8x16xf64>) -> tensor<1x8x16xf64>
    after   %u = stablehlo.dynamic_update_slice %x, %part, %i, %j : ... -> tensor<8x16xf64>
            %b = stablehlo.optimization_barrier %u : tensor<8x16xf64>
            %r = stablehlo.reshape %b : (tensor<8x16xf64>) -> tensor<1x8x16xf64>

XLA moves such a reshape over the update, and XLA:CPU then writes the update in place while it still reads the operand:
where the update is made of it, as in `x[1:] = x[:-1]`, results are wrong (openxla/xla#49176; every jaxlib from 0.7.1
to 0.12.0.1). XLA drops the barrier after that. Scatters become updates in XLA. Preconditions: none. Rounding: none.
"""

from __future__ import annotations

from ...ir import ops
from ...ir.bindings import ir
from ...ir.values import owner, walk
from ..report import Report

_UPDATES = ("stablehlo.dynamic_update_slice", "stablehlo.scatter")
_RESHAPES = ("stablehlo.reshape", "stablehlo.broadcast_in_dim")

# A module without any of these is left as it is; callers may then save themselves a copy.
TRIGGERS = frozenset(_UPDATES)


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    for reshape in endangered(module):
        with module.context, reshape.location, ir.InsertionPoint(reshape):
            (reshape.operands[0],) = ops.optimization_barrier([reshape.operands[0]])
        report.applied(reshape, result="a barrier between it and the update")


def endangered(module: ir.Module) -> list[ir.Operation]:
    """The reshapes of updates."""
    return [op for op in walk(module) if op.name in _RESHAPES and _is_update(owner(op.operands[0]))]


def _is_update(operation: ir.Operation | None) -> bool:
    return operation is not None and operation.name in _UPDATES
