"""Gathers and scatters made at the current place, of what they are in words: one slice for each row of places.

In: an array, places `[rows, k]`, and which axes they count along. Out: values. Decision to know: dimension numbers are
those of whole slices, with the rows of places in front; the array may have these rows too (`each`).
"""

from __future__ import annotations

from collections.abc import Sequence

from . import ops
from .bindings import ir, stablehlo
from .open_ops import Size, vector
from .values import sizes_of


def _behind(axes: Sequence[int]) -> list[int]:
    return [axis + 1 for axis in axes]


def slices(
    value: ir.Value,
    places: ir.Value,
    axes: Sequence[int],
    sizes: Sequence[Size],
    *,
    each: bool,
    type_: ir.Type,
) -> ir.Value:
    """For each row of places the slice there; like `dynamic_slice`, a gather moves starts back into the array.

    Args:
        value: `[...]`, or with the rows in front.
        places: `[rows, k]`, for `k` axes.
        axes: those, counted without the rows.
        sizes: of a slice.
        each: whether the array has the rows in front, so that each row of places is for its own.
        type_: of the result.
    """
    numbers = stablehlo.GatherDimensionNumbers.get(
        offset_dims=_behind(range(len(sizes))),
        collapsed_slice_dims=[],
        operand_batching_dims=[0] if each else [],
        start_indices_batching_dims=[0] if each else [],
        start_index_map=_behind(axes) if each else list(axes),
        index_vector_dim=1,
    )
    return gather(value, places, type_, numbers, [1, *sizes] if each else sizes)


def along(value: ir.Value, places: ir.Value, axis: int) -> ir.Value:
    """In each row the elements at other places along an axis: `[rows, ..., n, ...]` by `[rows, m]`."""
    sizes = sizes_of(value)[1:]
    numbers = stablehlo.GatherDimensionNumbers.get(
        offset_dims=[1 + number + (number >= axis) for number in range(len(sizes) - 1)],
        collapsed_slice_dims=[axis + 1],
        operand_batching_dims=[0],
        start_indices_batching_dims=[0],
        start_index_map=[axis + 1],
        index_vector_dim=2,
    )
    count = sizes_of(places)
    shape = [count[0], *[count[1] if number == axis else size for number, size in enumerate(sizes)]]
    taken = [1, *[1 if number == axis else size for number, size in enumerate(sizes)]]
    return gather(value, ops.reshape(places, [*count, 1]), ops.tensor_type(value, shape), numbers, taken)


def gather(
    value: ir.Value,
    places: ir.Value,
    type_: ir.Type,
    numbers: ir.Attribute,
    sizes: Sequence[Size],
    *,
    is_sorted: bool = False,
) -> ir.Value:
    """A gather of slices of these sizes; a `dynamic_gather` where one of them is open."""
    known = [size for size in sizes if isinstance(size, int)]
    attributes = {"dimension_numbers": numbers, "indices_are_sorted": ir.BoolAttr.get(is_sorted)}
    if len(known) == len(sizes):
        attributes["slice_sizes"] = ops.integer_list(known)
        name, operands = "stablehlo.gather", [value, places]
    else:
        name, operands = "stablehlo.dynamic_gather", [value, places, vector(sizes)]
    return ir.Operation.create(name, results=[type_], operands=operands, attributes=attributes).results[0]


def with_slices(array: ir.Value, places: ir.Value, axes: Sequence[int], parts: ir.Value) -> ir.Value:
    """An array with rows, each with another slice at its own place; places outside of the array write nothing."""
    numbers = stablehlo.ScatterDimensionNumbers.get(
        update_window_dims=_behind(range(len(sizes_of(array)) - 1)),
        inserted_window_dims=[],
        input_batching_dims=[0],
        scatter_indices_batching_dims=[0],
        scattered_dims_to_operand_dims=_behind(axes),
        index_vector_dim=1,
    )
    made = ir.Operation.create(
        "stablehlo.scatter",
        results=[array.type],
        operands=[array, places, parts],
        attributes={
            "scatter_dimension_numbers": numbers,
            "indices_are_sorted": ir.BoolAttr.get(False),
            "unique_indices": ir.BoolAttr.get(True),
        },
        regions=1,
    )
    ops.fill(made.regions[0], [ops.tensor_type(array, [])] * 2, lambda _, new: [new])
    return made.results[0]
