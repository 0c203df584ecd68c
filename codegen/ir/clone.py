"""Copies of ops and blocks, made at the place that is current (`with ir.InsertionPoint(op), op.location:`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .bindings import DYNAMIC, ir
from .ops import tensor_type
from .values import terminator, walk


def clone(
    op: ir.Operation,
    operands: Sequence[ir.Value] | None = None,
    shape: Sequence[int | None] | None = None,
    dtype: Any = None,
    **attributes: ir.Attribute,
) -> ir.Operation:
    """A copy of an op at the current place.

    Args:
        op: the op. Its attributes and regions are kept.
        operands: others in place of its own.
        shape: another one of its results; None stands for a dynamic size.
        dtype: another one of its results' elements, as NumPy's or a value that has it.
        attributes: those that are to be another.
    """
    copy = op.clone(ip=ir.InsertionPoint.current)
    for place, value in enumerate(operands or ()):
        copy.operands[place] = value
    for name, attribute in attributes.items():
        copy.attributes[name] = attribute
    for result in copy.results if shape is not None or dtype is not None else ():
        sizes = ir.RankedTensorType(result.type).shape if shape is None else shape
        known = [DYNAMIC if size is None else size for size in sizes]
        result.set_type(tensor_type(result if dtype is None else dtype, known))
    return copy


def clone_block(
    block: ir.Block, values: Mapping[ir.Value, ir.Value]
) -> tuple[list[ir.Value], dict[ir.Value, ir.Value]]:
    """Copies of a block's ops at the current place.

    Args:
        block: a block with a terminator.
        values: what stands for its arguments, and for values from outside that are to be replaced.

    Returns:
        What the terminator returned; and the copy of each value of the block.
    """
    known = dict(values)
    for operation in list(block.operations)[:-1]:
        copy = operation.operation.clone(ip=ir.InsertionPoint.current)
        replace_operands(copy, lambda value: known.get(value, value))
        known.update(zip(operation.operation.results, copy.results, strict=True))
    return [known.get(value, value) for value in terminator(block).operands], known


def replace_operands(op: ir.Operation, instead: Callable[[ir.Value], ir.Value]) -> None:
    """In an op and all that it holds."""
    for place, operand in enumerate(op.operands):
        if (value := instead(operand)) is not operand:
            op.operands[place] = value
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                replace_operands(inner.operation, instead)


def captured(operation: ir.Operation) -> list[ir.Value]:
    """Values from outside that an op's regions read."""
    around = walk(operation) if operation.regions else []
    blocks = [block for op in around for region in op.regions for block in region.blocks]
    inside: set[ir.Value] = {argument for block in blocks for argument in block.arguments}
    inside.update(result for inner in around[1:] for result in inner.results)
    return [x for x in dict.fromkeys(operand for inner in around[1:] for operand in inner.operands) if x not in inside]
