"""Batching rules of ops that take places as operands: slices, gathers, scatters.

Places that are the same for all rows leave a slice a slice; places of their own make it a gather, an update a scatter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import PassError
from .. import indexed_ops, open_ops, ops
from ..attributes import gather_numbers, integers, scatter_numbers
from ..bindings import DYNAMIC, ir, stablehlo
from ..open_ops import Size
from ..values import owner, sizes_of
from .batcher import Batcher, rule
from .elements import shifted, to_sizes

# An update that covers at least this part of an array is read at all its places, and not written at a few.
_LARGE_PART = 0.25


@rule("dynamic_slice")
def dynamic_slice(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    operand, starts = op.operands[0], list(op.operands)[1:]
    sizes = integers(op, "slice_sizes")
    row = batcher.row(operand)
    if not batcher.is_each(starts):
        places = [batcher.row(start).value for start in starts]
        if isinstance(batcher.size, int):
            return [ops.dynamic_slice(row.value, [ops.scalar(0, places[0]), *places], [batcher.size, *sizes])]
        vector = ops.concatenate([ops.reshape(ops.convert(x, np.int64), [1]) for x in (ops.index(0), *places)], 0)
        limits = stablehlo.add(vector, open_ops.vector([batcher.size, *sizes]))
        ones = open_ops.vector([1] * (len(sizes) + 1))
        return [stablehlo.real_dynamic_slice(batcher.type_of(op.results[0]), row.value, vector, limits, ones)]
    axes = _moving(sizes_of(operand), sizes)
    stacked = _stacked(batcher, [starts[axis] for axis in axes])
    return [slices(batcher, op, stacked, axes, sizes)]


def slices(
    batcher: Batcher, op: ir.Operation, places: ir.Value, axes: Sequence[int], sizes: Sequence[Size]
) -> ir.Value:
    """Of each row the slice of the op's operand at the row's own place."""
    row, type_ = batcher.row(op.operands[0]), batcher.type_of(op.results[0])
    if not row.each:
        return indexed_ops.slices(row.value, places, axes, sizes, each=False, type_=type_)
    value, places = batcher.one_at_least(row.value), batcher.one_at_least(places)
    return batcher.as_many(indexed_ops.slices(value, places, axes, sizes, each=True, type_=type_))


def _moving(whole: Sequence[int], part: Sequence[int]) -> list[int]:
    """The axes along which a part has, or may have, more than one place."""
    return [axis for axis, (all_, some) in enumerate(zip(whole, part, strict=True)) if all_ != some or all_ == DYNAMIC]


def _stacked(batcher: Batcher, starts: Sequence[ir.Value]) -> ir.Value:
    """Scalars as vectors of places: one of them for each row."""
    if not starts:
        return open_ops.full(0, np.int32, [batcher.size, 0])
    return ops.concatenate([open_ops.broadcast(x, [batcher.size, 1], [0]) for x in batcher.each(starts)], 1)


@rule("real_dynamic_slice")
def real_dynamic_slice(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Parts of one size at places of their own are found where `limits` are `starts` and the sizes."""
    _, starts, limits, _ = op.operands
    if not batcher.is_each([starts, limits]):
        return to_sizes(batcher, op)
    made = owner(limits)
    sums = list(made.operands) if made is not None and made.name == "stablehlo.add" else []
    sizes = [value for value in sums if value != starts and not batcher.row(value).each]
    if starts not in sums or len(sizes) != 1:
        raise PassError("batch: a slice would have another size for each row")
    extents = open_ops.elements(batcher.row(sizes[0]).value)
    return [slices(batcher, op, batcher.full(batcher.row(starts)), range(len(extents)), extents)]


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
    is_open = DYNAMIC in (batcher.extent, *whole, *sizes)
    if len(axes) == 1 and not is_open and sizes[axes[0]] >= _LARGE_PART * whole[axes[0]]:
        return [_overlaid(batcher, op, axes[0])]
    array, part = batcher.each([operand, update])
    columns = []
    for axis in axes:
        start = batcher.each([starts[axis]])[0]
        last = open_ops.compute("subtract", *(open_ops.size(value, axis + 1) for value in (array, part)))
        inside = stablehlo.clamp(ops.scalar(0, start), start, ops.convert(open_ops.number(last), start))
        columns.append(open_ops.broadcast(inside, [batcher.size, 1], [0]))
    return [indexed_ops.with_slices(array, ops.concatenate(columns, 1), axes, part)]


def _overlaid(batcher: Batcher, op: ir.Operation, axis: int) -> ir.Value:
    """An update along one axis as what each place of the array gets."""
    operand, update, *starts = op.operands
    whole, sizes = sizes_of(operand), sizes_of(update)
    array, part = batcher.each([operand, update])
    start = ops.convert(batcher.each([starts[axis]])[0], ops.index(0))
    limit = ops.filled(start, whole[axis] - sizes[axis])
    start = stablehlo.clamp(ops.filled(start, 0), start, limit)
    shape = [batcher.extent, whole[axis]]
    places = stablehlo.subtract(ops.iota(shape, 1), ops.broadcast_in_dim(start, shape, [0]))
    inside = stablehlo.and_(
        ops.compare("GE", places, ops.filled(places, 0)), ops.compare("LT", places, ops.filled(places, sizes[axis]))
    )
    mask = ops.broadcast_in_dim(inside, [batcher.extent, *whole], [0, axis + 1])
    return stablehlo.select(mask, indexed_ops.along(part, places, axis), array)


@rule("gather", "dynamic_gather")
def gather(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    found = gather_numbers(op.attributes["dimension_numbers"])
    operand, indices = (batcher.row(value) for value in list(op.operands)[:2])
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
    first: list[Size] = [] if not operand.each else [1] if both else [batcher.size]
    if op.name == "stablehlo.gather":
        sizes: list[Size] = [*first, *integers(op, "slice_sizes")]
    else:
        sizes = [*first, *open_ops.elements(batcher.same_for_all(op.operands[2]))]
    sorted_ = "indices_are_sorted" in op.attributes and ir.BoolAttr(op.attributes["indices_are_sorted"]).value
    type_ = batcher.type_of(op.results[0])
    value, places = (batcher.one_at_least(row.value) if both else row.value for row in (operand, indices))
    made = indexed_ops.gather(value, places, type_, numbers, sizes, is_sorted=sorted_ and not both)
    return [batcher.as_many(made) if both else made]


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
