"""Gathers and sorts of open sizes.

    before  %g = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{offset_dims = [1], collapsed_slice_dims = [0], ...}>
    after   %g = "stablehlo.gather"(%x, %places) <{offset_dims = [], collapsed_slice_dims = [0, 1], ...}>

IREE takes gathers of single elements; the places of a slice's elements are written out. Rounding: none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import open_ops as op_
from ...ir import ops
from ...ir.attributes import gather_numbers, integers
from ...ir.bindings import ir, stablehlo
from ...ir.open_ops import Size, compute
from ...ir.values import constant, dtype_of, owner, shape_of, sizes_of, users


def gather_of_elements(op: ir.Operation) -> ir.Value | None:
    """A gather of slices of open sizes reads single elements."""
    value, indices, *given = op.operands
    result = op.results[0]
    if not op_.is_open(value, indices, result) and not given:
        return None
    numbers = gather_numbers(op.attributes["dimension_numbers"])
    rank = len(shape_of(indices))
    if not given and _reads_elements(numbers, len(shape_of(value)), rank, shape_of(indices)):
        return None
    lengths: list[Size] = op_.elements(given[0]) if given else list(integers(op, "slice_sizes"))
    places = _Places(numbers, indices, lengths, len(shape_of(result)))
    shape = places.shape
    coordinates = [places.along(axis, op_.size(value, axis), shape) for axis in range(len(lengths))]
    if not coordinates:
        return op_.broadcast(value, shape, [], result.type)
    return op_.elements_at(value, coordinates, result.type)


def _reads_elements(numbers: Any, operand_rank: int, rank: int, shape: tuple[int | None, ...]) -> bool:
    """Whether a gather is one that IREE takes: of single elements, by no column of indices alone."""
    single = len(list(numbers.collapsed_slice_dims)) == operand_rank and not list(numbers.operand_batching_dims)
    at = numbers.index_vector_dim
    return single and (at == rank or (at == rank - 1 and shape[at] != 1))


class _Places:
    """Where a gather reads.

    Attributes:
        shape: the result's sizes.
    """

    def __init__(self, numbers: Any, indices: ir.Value, lengths: list[Size], rank: int) -> None:
        self._numbers, self._indices, self._lengths = numbers, indices, lengths
        offset = list(numbers.offset_dims)
        self._batch = [axis for axis in range(rank) if axis not in offset]
        gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
        windows = [axis for axis in range(len(lengths)) if axis not in gone]
        self._window = dict(zip(windows, sorted(offset), strict=True))
        at = numbers.index_vector_dim
        self._counts = [axis for axis in range(len(shape_of(indices))) if axis != at]
        extents: dict[int, Size] = {place: lengths[axis] for axis, place in self._window.items()}
        extents.update({place: op_.size(indices, k) for k, place in zip(self._counts, self._batch, strict=True)})
        self.shape = [extents[axis] for axis in range(rank)]

    def along(self, axis: int, extent: Size, shape: list[Size]) -> ir.Value:
        """The index along an axis of the operand, in the result's shape."""
        place = op_.full(0, np.int64, shape)
        if axis in self._window:
            place = op_.iota(shape, self._window[axis])
        batching = list(self._numbers.operand_batching_dims)
        if axis in batching:
            count = list(self._numbers.start_indices_batching_dims)[batching.index(axis)]
            return stablehlo.add(place, op_.iota(shape, self._batch[self._counts.index(count)]))
        mapped = list(self._numbers.start_index_map)
        if axis not in mapped:
            return place
        start = op_.broadcast(self._column(mapped.index(axis)), shape, self._batch)
        room = compute("maximum", compute("subtract", extent, self._lengths[axis]), 0)
        limited = stablehlo.minimum(
            stablehlo.maximum(start, op_.full(0, np.int64, shape)), op_.broadcast(op_.number(room), shape, [])
        )
        return stablehlo.add(place, limited)

    def _column(self, number: int) -> ir.Value:
        """One of the indices that make a place, as int64."""
        at, indices = self._numbers.index_vector_dim, self._indices
        if at < len(shape_of(indices)):
            if shape_of(indices)[at] != 1:
                indices = op_.part_along(indices, at, number, number + 1)
            indices = op_.without_units(indices, [at])
        return ops.convert(indices, np.int64)


def sort_all_used(op: ir.Operation) -> list[ir.Value] | None:
    """Of a sort of several arrays IREE wants all results used: one that is not is compared with impossible values."""
    if not op_.is_open(*op.operands) or len(op.results) == 1 or KEPT in op.attributes:
        return None
    unused = [k for k, result in enumerate(op.results) if not users(result)]
    if not unused:
        return None
    copy = op.clone()
    copy.attributes[KEPT] = ir.UnitAttr.get()
    values: list[ir.Value] = list(copy.results)
    for k in unused:
        values = [value if j in unused else _with_use(value, copy.results[k]) for j, value in enumerate(values)]
    return values


KEPT = "hlograph.all_used"


def _with_use(value: ir.Value, other: ir.Value) -> ir.Value:
    """The value, by a choice that depends on another one and never falls on it."""
    one, two = (op_.full_like(other, number) for number in ((0, 1) if dtype_of(other).kind == "b" else (2, 3)))
    never = stablehlo.and_(ops.compare("EQ", other, one), ops.compare("EQ", other, two))
    return stablehlo.select(never, op_.full_like(value, 0), value)


def part_of_one_number(op: ir.Operation) -> ir.Value | None:
    """A part of what is one number everywhere is that number: IREE loses track of an array of it that loops read."""
    number, result = constant(op.operands[0]), op.results[0]
    if number is None or number.ndim or op_.is_open(result) or not op_.is_open(op.operands[0]):
        return None
    return op_.full(number.item(), result, sizes_of(result), result.type)


def part_by_place(op: ir.Operation) -> ir.Value | None:
    """A part of open size is read by place: IREE then knows the size as the number that it is given."""
    value, result = op.operands[0], op.results[0]
    strides = constant(op.operands[3])
    if not op_.is_open(result) or strides is None or (strides != 1).any():
        return None
    starts, limits = (op_.elements(operand) for operand in op.operands[1:3])
    known = shape_of(result)
    extents = [_length(starts[k], limits[k]) if (size := known[k]) is None else size for k in range(len(known))]
    first = [op_.broadcast(op_.number(start), extents, []) for start in starts]
    places = [stablehlo.add(op_.iota(extents, axis), start) for axis, start in enumerate(first)]
    return op_.elements_at(value, places, result.type)


def _length(start: Size, limit: Size) -> Size:
    """The difference of two sizes; of a sum with the same number what it was before."""
    made = None if isinstance(limit, int) else owner(limit)
    if made is not None and made.name == "stablehlo.add" and isinstance(start, int):
        for one, other in (made.operands, reversed(list(made.operands))):
            known = constant(other)
            if known is not None and int(known) == start:
                return one
    return compute("subtract", limit, start)
