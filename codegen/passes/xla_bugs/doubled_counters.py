"""doubled_counters: counters of loops that are added to themselves.

    before  while (%i = %one) { %n = stablehlo.add %i, %i : tensor<i64> }
    after   while (%i = %one) { %m = stablehlo.negate %i
                                %n = stablehlo.subtract %i, %m }

Up to jaxlib 0.10, XLA's analysis of trip counts takes what is added to a counter for a constant, and ends the process
where it is the counter again; also where XLA itself makes `i + i` of what was written, such as `i + i * 1`. So each sum
of two integers that are computed of one argument of a block, and of no other value, becomes a difference.
Preconditions: none; integers of one element, in a module with a loop. Rounding: none, integers wrap either way.
"""

from __future__ import annotations

import math

from ...ir import ops
from ...ir.bindings import ir
from ...ir.values import dtype_of, main_function, owner, static_shape, walk
from ..report import Report

TRIGGERS = frozenset({"stablehlo.while"})
_FARTHEST = 64  # ops that are looked at for one sum; what is computed of more is taken for a counter


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    for operation in endangered(module):
        left, right = operation.operands
        with operation.context, operation.location, ir.InsertionPoint(operation):
            made = ops.elementwise("stablehlo.subtract", left, ops.elementwise("stablehlo.negate", right))
        operation.results[0].replace_all_uses_with(made)
        operation.erase()
        report.applied(owner(made) or "a sum", result="a difference")


def endangered(module: ir.Module) -> list[ir.Operation]:
    """The sums that XLA may see as a counter and itself."""
    operations = walk(module)
    if not any(operation.name == "stablehlo.while" for operation in operations):
        return []
    outermost = main_function(module)
    return [op for op in operations if op.name == "stablehlo.add" and op.parent != outermost and _is_doubled(op)]


def _is_doubled(operation: ir.Operation) -> bool:
    value = operation.results[0]
    if dtype_of(value).kind not in "iu" or math.prod(static_shape(value)) != 1:
        return False
    leaves = [_leaves(operand) for operand in operation.operands]
    return (
        all(found is None or len(found) == 1 for found in leaves) and len(set().union(*(x or () for x in leaves))) <= 1
    )


def _leaves(value: ir.Value) -> set[ir.Value] | None:
    """The arguments of blocks that a value is computed of; None where that is a long way."""
    found: set[ir.Value] = set()
    pending, seen = [value], 0
    while pending:
        current = pending.pop()
        seen += 1
        if seen > _FARTHEST:
            return None
        maker = owner(current)
        if maker is None:
            found.add(current)
        else:
            pending.extend(maker.operands)
    return found
