"""A region as a function of its own, and a call of it.

In: the ops of a region. Out: the function, which makes again what costs nothing, and the call in their place. Decision
to know: XLA ends the process when an argument of a kernel of many ops has lost its last use, or is a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.clone import clone, replace_operands
from ...ir.functions import add_function, call
from ...ir.walk import free_symbol
from ..report import Report
from .cost import FREE, Callees
from .stages import Item

SMALL_CALL = '{inlineable = "false", xla_cpu_small_call = "true"}'


@dataclass
class Former:
    """What forming regions in one block after the other needs."""

    module: ir.Module
    limit: int
    report: Report
    callees: Callees
    count: int = 0

    def symbol(self) -> str:
        """A name for the next region."""
        self.count += 1
        return free_symbol(self.module, f"region_{self.count}")


def outline(
    former: Former,
    group: Sequence[Item],
    outlined: set[ir.Operation],
    items: Sequence[Item],
    numbers: Mapping[ir.Operation, int],
    block: ir.Block,
    following: ir.Operation,
) -> None:
    """Makes a function of a region's ops, calls it before the following op, and lets the others use its results.

    The ops stay where they are, without a use but by each other.
    """
    own = {item.op for item in group}
    again: dict[ir.Operation, None] = {}
    inputs: dict[ir.Value, None] = {}

    def need(value: ir.Value) -> None:
        definer = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if definer in own or definer in again:
            return
        if definer is not None and definer.name == "stablehlo.constant":
            again[definer] = None
        elif definer is not None and definer.name in FREE and definer in numbers:
            again[definer] = None
            for operand in items[numbers[definer]].reads:
                need(operand)
        else:
            inputs[value] = None

    for item in group:
        for value in item.reads:
            need(value)
    outlined |= own
    uses = {
        value: [use for use in value.uses if top_of(use.owner.operation, block) not in outlined]
        for item in group
        for value in item.op.results
    }
    outputs = [value for value, found in uses.items() if found]
    if not outputs:
        return
    symbol = former.symbol()

    def body(*arguments: ir.Value) -> list[ir.Value]:
        known = dict(zip(inputs, arguments, strict=True))
        for op in sorted([*again, *own], key=lambda op: numbers.get(op, -1)):
            copy = clone(op)
            replace_operands(copy, known)
            known.update(zip(op.results, copy.results, strict=True))
        return [*(known[value] for value in outputs), *([_witness(arguments)] if inputs else [])]

    with group[0].op.location:
        with ir.InsertionPoint(former.module.body):
            private = ir.StringAttr.get("private")
            function = add_function(symbol, [value.type for value in inputs], body, sym_visibility=private)
        types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
        with ir.InsertionPoint(following):
            operands, small = _kept_from_folding(list(inputs)), ir.Attribute.parse(SMALL_CALL)
            results = call(symbol, types, operands, **{"mhlo.frontend_attributes": small})
    for old, new in zip(outputs, results, strict=False):
        for use in uses[old]:
            use.owner.operation.operands[use.operand_number] = new
    former.report.applied(group[0].op, result=f"first of the {len(group)} ops of @{symbol}")


def _kept_from_folding(values: Sequence[ir.Value]) -> list[ir.Value]:
    """The arguments of a region, behind a barrier.

    Where XLA finds that an argument is a constant (computed from such, or carried unchanged by a loop), it puts the
    constant in the argument's place inside of the region too, and the argument has lost all uses. Barriers go when XLA
    has done with simplifying. Arguments of the program are never constants.
    """
    known = [isinstance(value.owner, ir.Block) and value.owner.owner.operation.name == "func.func" for value in values]
    hidden = [value for value, safe in zip(values, known, strict=True) if not safe]
    if not hidden:
        return list(values)
    behind = iter(ops.optimization_barrier(hidden))
    return [value if safe else next(behind) for value, safe in zip(values, known, strict=True)]


def _witness(arguments: Sequence[ir.Value]) -> ir.Value:
    """One element of each argument, as a result of the region that nobody reads.

    XLA ends the process when an argument of a kernel of many ops has lost its last use, as one behind a decided
    `select` does when XLA simplifies. What a result is made of stays; see also `_kept_from_folding`.
    """
    parts = []
    for value in arguments:
        rank = ir.RankedTensorType(value.type).rank
        value = ops.reshape(ops.slice(value, [0] * rank, [1] * rank), [1])
        if isinstance(ir.RankedTensorType(value.type).element_type, ir.ComplexType):
            value = stablehlo.real(value)
        parts.append(ops.convert(value, np.float64))
    return ops.concatenate(parts, 0)


def top_of(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The op of a block that an op is, or lies in."""
    while op.block != block:
        parent = op.parent
        assert parent is not None, "an op outside of the block"
        op = parent.operation
    return op
