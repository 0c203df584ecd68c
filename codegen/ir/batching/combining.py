"""Batching rules of ops whose elements come from many: dots, reductions, sorts, windows, convolutions, solutions."""

from __future__ import annotations

from typing import Any

from .. import open_ops, ops
from ..attributes import convolution_numbers, dot_numbers, flag_of
from ..bindings import DYNAMIC, ir
from ..kinds import identity, monoid_of
from ..op_sheet import dot_axes, leading
from ..values import dtype_of, sizes_of
from .batcher import Batcher, rule
from .elements import number, shifted


@rule("dot_general")
def dot(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """One side with the axis: it is one that the dot keeps. Both: one of its batches."""
    numbers = dot_numbers(op.attributes["dot_dimension_numbers"])
    sides = [batcher.row(value) for value in op.operands]
    contracting = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    batching = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    both = all(side.each for side in sides)
    for place, side in enumerate(sides):
        if side.each:
            contracting[place] = shifted(contracting[place])
            batching[place] = ([0] if both else []) + shifted(batching[place])
    shapes = [sizes_of(side.value) for side in sides]
    found = dot_axes((contracting[0], contracting[1]), (batching[0], batching[1]), [len(shape) for shape in shapes])
    sizes: dict[int | None, int] = {}
    for axes, shape in zip(found, shapes, strict=True):
        sizes.update(zip(axes, shape, strict=True))
    sizes.pop(None, None)
    shape = [sizes[axis] for axis in range(len(sizes))]
    attribute = ops.dot_numbers((contracting[0], contracting[1]), (batching[0], batching[1]))
    values = [side.value for side in sides]
    made = batcher.like(op, values, [shape], dot_dimension_numbers=attribute)[0]
    first = next(axes[0] for axes, side in zip(found, sides, strict=True) if side.each)
    assert first is not None
    return [ops.transpose(made, [first, *[axis for axis in range(len(shape)) if axis != first]])]


@rule("reduce", "reduce_window")
def reduce(batcher: Batcher, op: ir.Operation) -> Any:
    """One that begins with initial values; those with the axis are taken in at the end, where that is the same."""
    count = len(op.operands) // 2
    values, starts = list(op.operands)[:count], list(op.operands)[count:]
    if not batcher.is_each(starts):
        operands = [*batcher.each(values), *[batcher.row(start).value for start in starts]]
        return batcher.like(op, operands, None, **leading(op))
    monoid = monoid_of(op.regions[0].blocks[0])
    if monoid is None or len(values) != 1 or op.name != "stablehlo.reduce":
        return NotImplemented
    neutral = ops.constant(identity(monoid, dtype_of(values[0])))
    made = batcher.like(op, [*batcher.each(values), neutral], None, **leading(op))[0]
    start = open_ops.broadcast(batcher.row(starts[0]).value, open_ops.sizes(made), [0])
    return [ops.elementwise(f"stablehlo.{monoid}", start, made)]


@rule("triangular_solve")
def triangular_solve(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """A matrix for all rows takes their right-hand sides as columns of one."""
    matrix, sides = (batcher.row(value) for value in op.operands)
    if matrix.each or len(sizes_of(op.operands[1])) != 2 or not flag_of(op, "left_side", True):
        return batcher.like(op, batcher.each(op.operands))
    _, length, count = open_ops.sizes(sides.value)
    whole = open_ops.compute("multiply", batcher.size, count)
    columns = open_ops.reshape(ops.transpose(sides.value, [1, 0, 2]), [length, whole])
    made = batcher.like(op, [matrix.value, columns], [sizes_of(columns)])[0]
    return [ops.transpose(open_ops.reshape(made, [length, batcher.size, count]), [1, 0, 2])]


@rule("convolution")
def convolution(batcher: Batcher, op: ir.Operation) -> Any:
    """Rows of inputs are further images; rows of kernels are further features, in groups where inputs have rows too."""
    sizes = [size for value in (*op.operands, *op.results) for size in sizes_of(value)]
    if _integer(op, "batch_group_count") != 1 or not isinstance(batcher.size, int) or DYNAMIC in sizes:
        return NotImplemented
    numbers = convolution_numbers(op.attributes["dimension_numbers"])
    groups = _integer(op, "feature_group_count")
    inputs, kernels = (batcher.row(value) for value in op.operands)
    shape = sizes_of(op.results[0])
    images, features = numbers.output_batch_dimension, numbers.output_feature_dimension
    attributes: dict[str, ir.Attribute] = {}
    if not kernels.each:
        operands = [_merged(inputs.value, numbers.input_batch_dimension), kernels.value]
        into = images
    else:
        if groups > 1 or inputs.each:
            whole = _merged(batcher.full(inputs), numbers.input_feature_dimension)
            attributes["feature_group_count"] = number(groups * batcher.size)
        else:
            whole = inputs.value
        operands = [whole, _merged(kernels.value, numbers.kernel_output_feature_dimension)]
        into = features
    merged = [size * batcher.size if axis == into else size for axis, size in enumerate(shape)]
    made = batcher.like(op, operands, [merged], **attributes)[0]
    split = ops.reshape(made, [*shape[:into], batcher.size, *shape[into:]])
    return [ops.transpose(split, [into, *[axis for axis in range(len(shape) + 1) if axis != into]])]


def _integer(op: ir.Operation, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value) if name in op.attributes else 1


def _merged(value: ir.Value, axis: int) -> ir.Value:
    """The batch axis as the major part of another one."""
    size, *shape = sizes_of(value)
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)]
    return ops.reshape(ops.transpose(value, order), [n * size if i == axis else n for i, n in enumerate(shape)])
