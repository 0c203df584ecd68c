"""cpu-initial: initial values of reductions that XLA:CPU takes in once.

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
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import PassError
from ..ir.attributes import dense_attr
from ..ir.bindings import ir
from ..ir.kinds import identity, monoid_of
from ..ir.types import numpy_dtype
from ..ir.values import constant
from ..ir.walk import walk
from .report import Report

SIZE = 32  # of an axis, from which XLA:CPU divides its reduction
_IDEMPOTENT = ("maximum", "minimum", "and", "or")


def run(module: ir.Module, options: Mapping[str, str], report: Report) -> None:
    """The pass; it takes no options."""
    if options:
        raise PassError("pass 'cpu-initial' takes no options")
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
    if math.prod(sizes) > 1 and (name in _IDEMPOTENT or max(sizes) < SIZE):
        return False
    value = constant(operation.operands[1])
    return value is None or name is None or bool(value != identity(name, value.dtype))  # type: ignore[arg-type]


def _begin_with_identity(operation: ir.Operation, name: str) -> None:
    initial, result = operation.operands[1], operation.results[0]
    uses = [(use.owner.operation, use.operand_number) for use in result.uses]
    element = ir.RankedTensorType(initial.type).element_type
    with ir.InsertionPoint(operation):
        operation.operands[1] = _constant(identity(name, numpy_dtype(element)))  # type: ignore[arg-type]
    with ir.InsertionPoint.after(operation):
        taken_in = ir.Operation.create(
            f"stablehlo.{name}", results=[result.type], operands=[_spread(initial, result.type), result]
        )
    for owner, number in uses:
        owner.operands[number] = taken_in.result


def _begin_with_nothing(operation: ir.Operation) -> None:
    """Reduces pairs of an element and whether there is one; the initial value stands for none."""
    (x, initial), result = list(operation.operands), operation.results[0]
    block = operation.regions[0].blocks[0]
    scalar, flag = initial.type, ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    flags = ir.RankedTensorType.get(ir.RankedTensorType(x.type).shape, flag.element_type)
    with ir.InsertionPoint(operation):
        reduced = ir.Operation.create(
            "stablehlo.reduce",
            results=[result.type, ir.RankedTensorType.get(ir.RankedTensorType(result.type).shape, flag.element_type)],
            operands=[x, _constant(np.ones(flags.shape, bool)), initial, _constant(np.array(False))],
            attributes={"dimensions": operation.attributes["dimensions"]},
            regions=1,
        )
        pairs = reduced.regions[0].blocks.append(scalar, flag, scalar, flag)
        with ir.InsertionPoint(pairs):
            old, is_old, new, is_new = pairs.arguments
            combined = _copy_body(block, [old, new])
            both = ir.Operation.create("stablehlo.and", results=[flag], operands=[is_old, is_new]).result
            either = ir.Operation.create("stablehlo.select", results=[scalar], operands=[is_old, old, new]).result
            kept = ir.Operation.create("stablehlo.select", results=[scalar], operands=[both, combined, either]).result
            any_ = ir.Operation.create("stablehlo.or", results=[flag], operands=[is_old, is_new]).result
            ir.Operation.create("stablehlo.return", operands=[kept, any_])
        rank = ir.RankedTensorType(result.type).rank
        taken_in = ir.Operation.create(
            "stablehlo.map",
            results=[result.type],
            operands=[_spread(initial, result.type), reduced.results[0]],
            attributes={"dimensions": ir.DenseI64ArrayAttr.get(list(range(rank)))},
            regions=1,
        )
        body = taken_in.regions[0].blocks.append(scalar, scalar)
        with ir.InsertionPoint(body):
            ir.Operation.create("stablehlo.return", operands=[_copy_body(block, list(body.arguments))])
    result.replace_all_uses_with(taken_in.result)  # XLA erases what nothing uses


def _copy_body(block: ir.Block, arguments: Sequence[ir.Value]) -> ir.Value:
    """A reduction's body, in place, of other arguments; its result."""
    values: dict[ir.Value, ir.Value] = dict(zip(block.arguments, arguments, strict=True))
    *operations, end = [item.operation for item in block.operations]
    for operation in operations:
        copy = operation.clone()
        for inner in walk(copy):  # what a loop or a branch in it reads, too
            for number, operand in enumerate(inner.operands):
                inner.operands[number] = values.get(operand, operand)
        values.update(zip(operation.results, copy.results, strict=True))
    return values.get(end.operands[0], end.operands[0])


def _spread(value: ir.Value, type_: ir.Type) -> ir.Value:
    attributes: dict[str, ir.Attribute] = {"broadcast_dimensions": ir.DenseI64ArrayAttr.get([])}
    return ir.Operation.create(
        "stablehlo.broadcast_in_dim", results=[type_], operands=[value], attributes=attributes
    ).result


def _constant(value: Any) -> ir.Value:
    context = ir.Context.current
    assert context is not None
    attribute = dense_attr(value, context)
    return ir.Operation.create("stablehlo.constant", results=[attribute.type], attributes={"value": attribute}).result
