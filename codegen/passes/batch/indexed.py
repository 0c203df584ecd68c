"""Batching rules of ops that take places as operands: slices, gathers, scatters.

Places that are the same for all rows leave a slice a slice; places of their own make it a gather, an update a scatter.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import indexed_ops, ops
from ...ir.attributes import gather_numbers, integers, scatter_numbers
from ...ir.bindings import ir, stablehlo
from ...ir.values import sizes_of
from .batcher import Batcher, rule
from .elements import shifted

# An update that covers at least this part of an array is read at all its places, and not written at a few.
_LARGE_PART = 0.25


@rule("dynamic_slice")
def dynamic_slice(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    operand, starts = op.operands[0], list(op.operands)[1:]
    sizes = integers(op, "slice_sizes")
    row = batcher.row(operand)
    if not batcher.is_each(starts):
        places = [batcher.row(start).value for start in starts]
        return [ops.dynamic_slice(row.value, [ops.scalar(0, places[0]), *places], [batcher.size, *sizes])]
    axes = _moving(sizes_of(operand), sizes)
    stacked = _stacked(batcher, [starts[axis] for axis in axes])
    return [indexed_ops.slices(row.value, stacked, axes, sizes, each=row.each)]


def _moving(whole: Sequence[int], part: Sequence[int]) -> list[int]:
    """The axes along which a part has more than one place."""
    return [axis for axis, (all_, some) in enumerate(zip(whole, part, strict=True)) if all_ != some]


def _stacked(batcher: Batcher, starts: Sequence[ir.Value]) -> ir.Value:
    """Scalars as vectors of places: one of them for each row."""
    if not starts:
        return ops.full_like(ops.index(0), 0, [batcher.size, 0])
    columns = [ops.reshape(x, [batcher.size, 1]) for x in batcher.each(starts)]
    return ops.concatenate(columns, 1)


@rule("dynamic_update_slice")
def dynamic_update_slice(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    operand, update, *starts = op.operands
    if not batcher.is_each(starts):
        array, part = batcher.each([operand, update])
        places = [batcher.row(start).value for start in starts]
        return [ops.dynamic_update_slice(array, part, [ops.scalar(0, places[0]), *places])]
    whole, sizes = sizes_of(operand), sizes_of(update)
    axes = _moving(whole, sizes)
    if not axes:
        return batcher.each([update])
    if len(axes) == 1 and sizes[axes[0]] >= _LARGE_PART * whole[axes[0]]:
        return [_overlaid(batcher, op, axes[0])]
    array, part = batcher.each([operand, update])
    limits = [ops.filled(starts[axis], whole[axis] - sizes[axis], [batcher.size]) for axis in axes]
    columns = []
    for axis, limit in zip(axes, limits, strict=True):
        start = batcher.each([starts[axis]])[0]
        inside = stablehlo.clamp(ops.filled(start, 0), start, limit)
        columns.append(ops.reshape(inside, [batcher.size, 1]))
    return [indexed_ops.with_slices(array, ops.concatenate(columns, 1), axes, part)]


def _overlaid(batcher: Batcher, op: ir.Operation, axis: int) -> ir.Value:
    """An update along one axis as what each place of the array gets."""
    operand, update, *starts = op.operands
    whole, sizes = sizes_of(operand), sizes_of(update)
    array, part = batcher.each([operand, update])
    start = ops.convert(batcher.each([starts[axis]])[0], ops.index(0))
    limit = ops.filled(start, whole[axis] - sizes[axis])
    start = stablehlo.clamp(ops.filled(start, 0), start, limit)
    shape = [batcher.size, whole[axis]]
    places = stablehlo.subtract(ops.iota(shape, 1), ops.broadcast_in_dim(start, shape, [0]))
    inside = stablehlo.and_(
        ops.compare("GE", places, ops.filled(places, 0)), ops.compare("LT", places, ops.filled(places, sizes[axis]))
    )
    mask = ops.broadcast_in_dim(inside, [batcher.size, *whole], [0, axis + 1])
    return stablehlo.select(mask, indexed_ops.along(part, places, axis), array)


@rule("gather")
def gather(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    found = gather_numbers(op.attributes["dimension_numbers"])
    operand, indices = (batcher.row(value) for value in op.operands)
    both = operand.each and indices.each

    def of_operand(axes: Sequence[int]) -> list[int]:
        return shifted(axes) if operand.each else list(axes)

    numbers = stablehlo.GatherDimensionNumbers.get(
        offset_dims=([] if indices.each else [0]) + shifted(found.offset_dims),
        collapsed_slice_dims=of_operand(found.collapsed_slice_dims),
        operand_batching_dims=([0] if both else []) + of_operand(found.operand_batching_dims),
        start_indices_batching_dims=([0] if both else [])
        + (shifted if indices.each else list)(found.start_indices_batching_dims),
        start_index_map=of_operand(found.start_index_map),
        index_vector_dim=found.index_vector_dim + indices.each,
    )
    sizes = list(integers(op, "slice_sizes"))
    if operand.each:
        sizes = [1 if both else batcher.size, *sizes]
    return batcher.like(
        op, [operand.value, indices.value], dimension_numbers=numbers, slice_sizes=ops.integer_list(sizes)
    )


@rule("scatter")
def scatter(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    count = len(op.results)
    found = scatter_numbers(op.attributes["scatter_dimension_numbers"])
    arrays, updates = list(op.operands)[:count], list(op.operands)[count + 1 :]
    indices = batcher.row(op.operands[count])
    own = indices.each
    numbers = stablehlo.ScatterDimensionNumbers.get(
        update_window_dims=([] if own else [0]) + shifted(found.update_window_dims),
        inserted_window_dims=shifted(found.inserted_window_dims),
        input_batching_dims=([0] if own else []) + shifted(found.input_batching_dims),
        scatter_indices_batching_dims=([0] if own else [])
        + (shifted if own else list)(found.scatter_indices_batching_dims),
        scattered_dims_to_operand_dims=shifted(found.scattered_dims_to_operand_dims),
        index_vector_dim=found.index_vector_dim + own,
    )
    operands = [*batcher.each(arrays), indices.value, *batcher.each(updates)]
    return batcher.like(op, operands, scatter_dimension_numbers=numbers)
