"""cpu_initial: initial values of reductions that XLA:CPU takes in once.

    before  %r = stablehlo.reduce(%x init: %three) applies stablehlo.add across dimensions = [0] : tensor<100xf32>
    after   %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
            %r = stablehlo.add %three, %s

XLA:CPU divides a reduction of 32 elements and more into parts, and begins each of them, and what puts them together,
with the initial value: `%r` is 12 too large (jaxlib 0.10.2 to 0.12.0.1). That does no harm where the value is the
monoid's identity, or the body takes it in twice as once (`maximum`, `and`). Of a single element XLA passes the value
over. A body that is no monoid gets a flag beside each element, which says that there is one; the body takes in the
initial value behind the reduction. Preconditions: static sizes, one operand. Rounding: the initial value is added last.
"""

from __future__ import annotations

import math

import numpy as np

from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.clone import clone_block
from ...ir.kinds import having, identity, monoid_of
from ...ir.values import constant, dtype_of, integers, static_shape, walk
from ..report import Report

TRIGGERS = frozenset({"stablehlo.reduce"})
SIZE = 32  # of an axis, from which XLA:CPU divides its reduction
_AGAIN = having("again")


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    for operation in endangered(module):
        name = monoid_of(operation.regions[0].blocks[0])
        with operation.context, operation.location:
            if name is not None:
                _begin_with_identity(operation, name)
            else:
                _begin_with_nothing(operation)
        report.applied(operation, result="its initial value behind it")


def endangered(module: ir.Module) -> list[ir.Operation]:
    """The reductions whose initial value is no identity, and which XLA:CPU would not take in once."""
    return [op for op in walk(module) if op.name == "stablehlo.reduce" and _may_go_wrong(op)]


def _may_go_wrong(operation: ir.Operation) -> bool:
    if len(operation.results) != 1:
        return False
    type_ = ir.RankedTensorType(operation.operands[0].type)
    sizes = [type_.shape[axis] for axis in ir.DenseI64ArrayAttr(operation.attributes["dimensions"])]
    if not type_.has_static_shape or 0 in type_.shape:
        return False
    name = monoid_of(operation.regions[0].blocks[0])
    if math.prod(sizes) > 1 and (f"stablehlo.{name}" in _AGAIN or max(sizes) < SIZE):
        return False
    value = constant(operation.operands[1])
    return value is None or name is None or bool(value != identity(name, value.dtype))


def _begin_with_identity(operation: ir.Operation, name: str) -> None:
    initial, result = operation.operands[1], operation.results[0]
    uses = [(use.owner.operation, use.operand_number) for use in result.uses]
    with ir.InsertionPoint(operation):
        operation.operands[1] = ops.constant(identity(name, dtype_of(initial)))
    with ir.InsertionPoint.after(operation):
        taken_in = ops.elementwise(f"stablehlo.{name}", ops.broadcast_in_dim(initial, static_shape(result)), result)
    for owner, number in uses:
        owner.operands[number] = taken_in


def _begin_with_nothing(operation: ir.Operation) -> None:
    """Reduces pairs of an element and whether there is one; the initial value stands for none."""
    (x, initial), result = list(operation.operands), operation.results[0]
    block = operation.regions[0].blocks[0]

    def combined(*arguments: ir.Value) -> list[ir.Value]:
        return clone_block(block, dict(zip(block.arguments, arguments, strict=True)))[0]

    def pairs(old: ir.Value, is_old: ir.Value, new: ir.Value, is_new: ir.Value) -> list[ir.Value]:
        together, both = combined(old, new)[0], stablehlo.and_(is_old, is_new)
        kept = stablehlo.select(both, together, stablehlo.select(is_old, old, new))
        return [kept, stablehlo.or_(is_old, is_new)]

    with ir.InsertionPoint(operation):
        flags, none = ops.constant(np.ones(static_shape(x), bool)), ops.constant(np.False_)
        reduced = ops.reduce_by(pairs, [x, flags], [initial, none], integers(operation, "dimensions"))[0]
        taken_in = ops.map_elements(combined, [ops.broadcast_in_dim(initial, static_shape(result)), reduced])
    result.replace_all_uses_with(taken_in)  # XLA erases what nothing uses
