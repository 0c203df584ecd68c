"""Batching rules of ops that compute elements one by one, move them, or combine them.

Most ops need one rule: operands with the axis in front, and attributes as the table of axes has them then
(`kinds.leading`). The others say what differs: of a size that is open, of a scalar operand that has the axis, of
places of their own, which make a slice a gather and an update a scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import PassError
from .. import ops
from ..bindings import DYNAMIC, current_context, ir, stablehlo
from ..kinds import AXES, CHLO, SCALAR_OPERANDS, STABLEHLO, Indexing, dot_shape, identity, leading, monoid_of
from ..ops import Size
from ..values import (
    attributes_of,
    call_target,
    convolution_numbers,
    dense_attr,
    dot_sides,
    dtype_of,
    flag_of,
    integers,
    owner,
    sizes_of,
    unspread,
)
from .batcher import Batcher, Row, rule

# An update that covers at least this part of an array is read at all its places, and not written at a few.
_LARGE_PART = 0.25


@rule(*AXES, *STABLEHLO, *CHLO, "chlo.top_k", "optimization_barrier")
def in_front(batcher: Batcher, op: ir.Operation, same: Sequence[int] = ()) -> list[ir.Value]:
    """An op that takes a further axis in front, but for operands (by number) that are the same for all rows."""
    rows = [batcher.row(value) for value in op.operands]
    operands = [row.value if place in same else batcher.full(row) for place, row in enumerate(rows)]
    return batcher.like(op, operands, None, **leading(op, batcher.size if isinstance(batcher.size, int) else None))


def _to_front(value: ir.Value, axis: int) -> ir.Value:
    return ops.transpose(value, [axis, *[other for other in range(len(sizes_of(value))) if other != axis]])


# ---- elements computed, and moved to places that attributes say ------------------------------------------------------


@rule("select", "clamp")
def with_scalars(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Scalar predicates and bounds are spread out where one of them has the axis."""
    shape = sizes_of(op.results[0])
    small = [place for place in SCALAR_OPERANDS[op.name] if shape and not sizes_of(op.operands[place])]
    if not batcher.is_each([op.operands[place] for place in small]):
        return in_front(batcher, op, small)
    operands = [row.value if place in small else batcher.full(row) for place, row in enumerate(batcher.rows_of(op))]
    whole = ops.sizes(next(value for place, value in enumerate(operands) if place not in small))
    for place in small:
        axes = [0] if batcher.row(op.operands[place]).each else []
        operands[place] = ops.broadcast_in_dim(operands[place], whole, axes)
    return batcher.like(op, operands)


@rule("compare")
def compare(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """XLA would compute which places belong to a row again for each element that it masks."""
    made = in_front(batcher, op)
    source = owner(unspread(op.operands[0])) if sizes_of(op.results[0]) else None
    return ops.optimization_barrier(made) if source is not None and source.name == "stablehlo.iota" else made


@rule("broadcast_in_dim", "reshape", "slice")
def to_types(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Ops whose types or attributes have the sizes: where that of the batch is open, dynamic ones."""
    value = batcher.row(op.operands[0]).value
    shape: list[Size] = [batcher.size, *sizes_of(op.results[0])]
    if op.name == "stablehlo.reshape":
        return [ops.reshape(value, shape)]
    if isinstance(batcher.size, int):
        return in_front(batcher, op)
    if op.name == "stablehlo.broadcast_in_dim":
        axes = [0, *(axis + 1 for axis in integers(op, "broadcast_dimensions"))]
        return [ops.broadcast_in_dim(value, shape, axes)]
    front: dict[str, Size] = {"start_indices": 0, "limit_indices": batcher.size, "strides": 1}
    vectors = [ops.vector([first, *integers(op, name)]) for name, first in front.items()]
    return [stablehlo.real_dynamic_slice(batcher.type_of(op.results[0]), value, *vectors)]


@rule("dynamic_broadcast_in_dim", "dynamic_reshape", "dynamic_pad")
def to_sizes(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Ops that are given sizes, or places, as vectors: for the batch axis these say that it stays as it is."""
    front: dict[str, list[Size]] = {
        "stablehlo.dynamic_pad": [0, 0, 0],
        "stablehlo.real_dynamic_slice": [0, batcher.size, 1],
    }
    added = front.get(op.name, [batcher.size])
    whole, *others = op.operands
    operands = [batcher.full(batcher.row(whole)), *map(batcher.same_for_all, others)]
    for place, first in enumerate(added, len(operands) - len(added)):
        head = ops.reshape(ops.convert(ops.number(first), ops.tensor_type(operands[place], [])), [1])
        operands[place] = ops.concatenate([head, operands[place]], 0)
    attributes: dict[str, ir.Attribute] = {}
    for name in ("broadcast_dimensions", "known_expanding_dimensions", "known_nonexpanding_dimensions"):
        if name in op.attributes:
            first_axis = [0] if name == "broadcast_dimensions" else []
            attributes[name] = ops.integer_list([*first_axis, *(axis + 1 for axis in integers(op, name))])
    return batcher.like(op, operands, None, **attributes)


@rule("pad")
def pad(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Padding values of their own are put in afterwards."""
    operand, padding = batcher.rows_of(op)
    if not padding.each:
        return in_front(batcher, op, [1])
    whole, numbers = batcher.full(operand), leading(op)
    moved = batcher.like(op, [whole, ops.scalar(0, padding.value)], None, **numbers)[0]
    inside = ops.filled(np.bool_, 1, ops.sizes(whole))
    kept = stablehlo.pad(inside, ops.constant(np.array(False)), *numbers.values())
    return [stablehlo.select(kept, moved, ops.broadcast_in_dim(padding.value, ops.sizes(moved), [0]))]


@rule("custom_call")
def custom_call(batcher: Batcher, op: ir.Operation) -> Any:
    """Those of the builder that wait for sizes, or for a platform's library, take any number of axes in front."""
    if call_target(op) == "stablehlo.dynamic_reduce_window" and not batcher.row(op.operands[1]).each:
        return batcher.like(op, _window(batcher, *op.operands))
    if call_target(op) not in ("hlograph.fft", "hlograph.library"):
        return NotImplemented
    given = "indices_of_shape_operands" in op.attributes
    data = list(op.operands)[: len(op.operands) - (len(op.results) if given else 0)]
    shapes = [ops.elements(batcher.same_for_all(x)) for x in list(op.operands)[len(data) :]]
    types = [batcher.type_of(result) for result in op.results]
    attributes = attributes_of(op.attributes)
    operands = batcher.each(data)
    if given or not isinstance(batcher.size, int):
        shapes = shapes or [list(sizes_of(result)) for result in op.results]
        operands += [ops.vector([batcher.size, *shape]) for shape in shapes]
        places = np.arange(len(data), len(operands))
        attributes["indices_of_shape_operands"] = dense_attr(places, current_context())
    return list(ir.Operation.create(op.name, results=types, operands=operands, attributes=attributes).results)


def _window(batcher: Batcher, x: ir.Value, start: ir.Value, *vectors: ir.Value) -> list[ir.Value]:
    """Operands of a reduction over windows whose sizes are open: of the batch axis a window has one element.

    The padding stays the reshape of a list, as which the builder writes it, so that its numbers are found.
    """
    *sizes, padding = map(batcher.same_for_all, vectors)
    ones = [ops.concatenate([ops.full_like(each, 1, [1]), each], 0) for each in sizes]
    count = sizes_of(padding)[0]
    padding = ops.concatenate([ops.full_like(padding, 0, [2]), ops.reshape(padding, [2 * count])], 0)
    padding = ops.reshape(padding, [count + 1, 2])
    return [batcher.full(batcher.row(x)), batcher.row(start).value, *ones, padding]


# ---- elements combined ---------------------------------------------------------------------------------------------


@rule("dot_general")
def dot(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Where both sides have the axis, it is one of the dot's batches. Else the dot keeps it: in front of what it keeps,
    with the side that has it as the left one, so that rows of columns need no transposition."""
    sides = batcher.rows_of(op)
    swapped = sides[1].each and not sides[0].each and "algorithm" not in op.attributes
    places, attributes = [0, 1][:: -1 if swapped else 1], dict[str, ir.Attribute]()
    contracting, batching = (
        [[axis + sides[place].each for axis in axes[place]] for place in places] for axes in dot_sides(op)
    )
    sides = [sides[place] for place in places]
    if sides[0].each and sides[1].each:
        batching = [[0, *axes] for axes in batching]
    if swapped and "precision_config" in op.attributes:
        attributes["precision_config"] = ir.ArrayAttr.get(list(ir.ArrayAttr(op.attributes["precision_config"]))[::-1])
    attributes["dot_dimension_numbers"] = ops.dot_numbers(contracting, batching)
    shapes = [sizes_of(side.value) for side in sides]
    shape, start = dot_shape(contracting, batching, shapes), len(batching[0])
    made = batcher.like(op, [side.value for side in sides], [shape], **attributes)[0]
    kept = len(shapes[0]) - len(contracting[0]) - start  # of the first side
    first = 0 if sides[0].each and sides[1].each else start if sides[0].each else start + kept
    rest = [axis for axis in range(len(shape)) if axis != first]
    if swapped:
        rest = [*rest[:start], *rest[start + kept - 1 :], *rest[start : start + kept - 1]]
    return [ops.transpose(made, [first, *rest])]


@rule("reduce", "reduce_window")
def reduce(batcher: Batcher, op: ir.Operation) -> Any:
    """One that begins with initial values; those with the axis are taken in at the end, where that is the same."""
    count = len(op.operands) // 2
    values, starts = list(op.operands)[:count], list(op.operands)[count:]
    if not batcher.is_each(starts):
        return in_front(batcher, op, range(count, 2 * count))
    monoid = monoid_of(op.regions[0].blocks[0])
    if monoid is None or len(values) != 1 or op.name != "stablehlo.reduce":
        return NotImplemented
    neutral = ops.constant(identity(monoid, dtype_of(values[0])))
    made = batcher.like(op, [*batcher.each(values), neutral], None, **leading(op))[0]
    start = ops.broadcast_in_dim(batcher.row(starts[0]).value, ops.sizes(made), [0])
    return [ops.elementwise(f"stablehlo.{monoid}", start, made)]


@rule("triangular_solve")
def triangular_solve(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """A matrix for all rows takes their right-hand sides as columns of one."""
    matrix, sides = batcher.rows_of(op)
    if matrix.each or len(sizes_of(op.operands[1])) != 2 or not flag_of(op, "left_side", True):
        return in_front(batcher, op)
    _, length, count = ops.sizes(sides.value)
    whole = ops.compute("multiply", batcher.size, count)
    columns = ops.reshape(ops.transpose(sides.value, [1, 0, 2]), [length, whole])
    made = batcher.like(op, [matrix.value, columns], [sizes_of(columns)])[0]
    return [ops.transpose(ops.reshape(made, [length, batcher.size, count]), [1, 0, 2])]


@rule("convolution")
def convolution(batcher: Batcher, op: ir.Operation) -> Any:
    """Rows of inputs are further images; rows of kernels are further features, in groups where inputs have rows too."""
    sizes = [size for value in (*op.operands, *op.results) for size in sizes_of(value)]
    images_in_groups, groups = (
        ir.IntegerAttr(op.attributes[name]).value if name in op.attributes else 1
        for name in ("batch_group_count", "feature_group_count")
    )
    if images_in_groups != 1 or not isinstance(batcher.size, int) or DYNAMIC in sizes:
        return NotImplemented
    numbers = convolution_numbers(op.attributes["dimension_numbers"])
    inputs, kernels = batcher.rows_of(op)
    shape = sizes_of(op.results[0])
    attributes: dict[str, ir.Attribute] = {}
    if not kernels.each:
        operands = [_merged(inputs.value, numbers.input_batch_dimension), kernels.value]
        into = numbers.output_batch_dimension
    else:
        whole = inputs.value
        if groups > 1 or inputs.each:
            whole = _merged(batcher.full(inputs), numbers.input_feature_dimension)
            count = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), groups * batcher.size)
            attributes["feature_group_count"] = count
        operands = [whole, _merged(kernels.value, numbers.kernel_output_feature_dimension)]
        into = numbers.output_feature_dimension
    merged = [size * batcher.size if axis == into else size for axis, size in enumerate(shape)]
    made = batcher.like(op, operands, [merged], **attributes)[0]
    return [_to_front(ops.reshape(made, [*shape[:into], batcher.size, *shape[into:]]), into)]


def _merged(value: ir.Value, axis: int) -> ir.Value:
    size, *shape = sizes_of(value)
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)]
    return ops.reshape(ops.transpose(value, order), [n * size if i == axis else n for i, n in enumerate(shape)])


# ---- places that operands say --------------------------------------------------------------------------------------


@rule("gather", "dynamic_gather")
def gather(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    operand, indices, *given = op.operands
    sizes: list[Size] = list(integers(op, "slice_sizes"))
    for vector in given:
        sizes = ops.elements(batcher.same_for_all(vector))
    is_sorted = flag_of(op, "indices_are_sorted", False)
    rows = batcher.row(operand), batcher.row(indices)
    return [_gathered(batcher, *rows, Indexing.of(op), sizes, batcher.type_of(op.results[0]), is_sorted)]


def _gathered(
    batcher: Batcher,
    array: Row,
    indices: Row,
    numbers: Indexing,
    sizes: Sequence[Size],
    type_: ir.Type,
    is_sorted: bool = False,
) -> ir.Value:
    """A gather of rows: its numbers and the sizes of slices are those of one row, its type is that of all."""
    both = array.each and indices.each
    value, places = (batcher.one_at_least(row.value) if both else row.value for row in (array, indices))
    taken = [*([] if not array.each else [1] if both else [batcher.size]), *sizes]
    known = [size for size in taken if isinstance(size, int)]
    attributes: dict[str, ir.Attribute] = {
        "dimension_numbers": stablehlo.GatherDimensionNumbers.get(*numbers.leading(array.each, indices.each)),
        "indices_are_sorted": ir.BoolAttr.get(is_sorted and not both),
    }
    if len(known) == len(taken):
        attributes["slice_sizes"] = ops.integer_list(known)
        name, operands = "stablehlo.gather", [value, places]
    else:
        name, operands = "stablehlo.dynamic_gather", [value, places, ops.vector(taken)]
    made = ir.Operation.create(name, results=[type_], operands=operands, attributes=attributes).results[0]
    # The rows that there are, of what was made of one at least.
    return ops.first(made, batcher.size) if both and batcher.may_be_empty else made


@rule("dynamic_slice")
def dynamic_slice(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Like a gather, it moves starts back into the array."""
    operand, *starts = op.operands
    sizes = integers(op, "slice_sizes")
    row = batcher.row(operand)
    if not batcher.is_each(starts):
        places = [batcher.row(start).value for start in starts]
        if isinstance(batcher.size, int):
            return [ops.dynamic_slice(row.value, [ops.scalar(0, places[0]), *places], [batcher.size, *sizes])]
        vector = ops.concatenate([ops.reshape(ops.convert(x, np.int64), [1]) for x in (ops.index(0), *places)], 0)
        limits = stablehlo.add(vector, ops.vector([batcher.size, *sizes]))
        ones = ops.vector([1] * (len(sizes) + 1))
        return [stablehlo.real_dynamic_slice(batcher.type_of(op.results[0]), row.value, vector, limits, ones)]
    axes = _moving(sizes_of(operand), sizes)
    stacked = _stacked(batcher, batcher.each([starts[axis] for axis in axes]))
    return [_slices(batcher, op, stacked, axes, sizes)]


def _slices(
    batcher: Batcher, op: ir.Operation, places: ir.Value, axes: Sequence[int], sizes: Sequence[Size]
) -> ir.Value:
    numbers = Indexing([*range(len(sizes))], [], [], [], [*axes], 0)
    row = batcher.row(op.operands[0])
    return _gathered(batcher, row, Row(places, True), numbers, sizes, batcher.type_of(op.results[0]))


def _moving(whole: Sequence[int], part: Sequence[int]) -> list[int]:
    return [axis for axis, (all_, some) in enumerate(zip(whole, part, strict=True)) if all_ != some or all_ == DYNAMIC]


def _stacked(batcher: Batcher, starts: Sequence[ir.Value]) -> ir.Value:
    if not starts:
        return ops.filled(np.int32, 0, [batcher.size, 0])
    return ops.concatenate([ops.broadcast_in_dim(x, [batcher.size, 1], [0]) for x in starts], 1)


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
    extents = ops.elements(batcher.row(sizes[0]).value)
    return [_slices(batcher, op, batcher.full(batcher.row(starts)), range(len(extents)), extents)]


@rule("dynamic_update_slice")
def dynamic_update_slice(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    operand, update, *starts = op.operands
    array, part = batcher.each([operand, update])
    if not batcher.is_each(starts):
        places = [batcher.row(start).value for start in starts]
        return [ops.dynamic_update_slice(array, part, [ops.scalar(0, places[0]), *places])]
    whole, sizes = sizes_of(operand), sizes_of(update)
    axes = _moving(whole, sizes)
    if not axes:
        return [part]
    inside = []
    for axis in axes:
        start = batcher.full(batcher.row(starts[axis]))
        if dtype_of(start).itemsize < 4:  # a few bits hold the start, but may not hold the last one there is
            start = ops.convert(start, np.int32)
        last = ops.compute("subtract", *(ops.size(value, axis + 1) for value in (array, part)))
        inside.append(stablehlo.clamp(ops.scalar(0, start), start, ops.convert(ops.number(last), start)))
    is_open = DYNAMIC in (batcher.extent, *whole, *sizes)
    if len(axes) == 1 and not is_open and sizes[axes[0]] >= _LARGE_PART * whole[axes[0]]:
        return [_overlaid(batcher, array, part, axes[0], ops.convert(inside[0], np.int32))]
    made = ir.Operation.create(
        "stablehlo.scatter",
        results=[array.type],
        operands=[array, _stacked(batcher, inside), part],
        attributes={
            "scatter_dimension_numbers": stablehlo.ScatterDimensionNumbers.get(
                *Indexing([*range(len(whole))], [], [], [], axes, 0).leading(True, True)
            ),
            "indices_are_sorted": ir.BoolAttr.get(False),
            "unique_indices": ir.BoolAttr.get(True),
        },
        regions=1,
    )
    ops.fill(made.regions[0], [ops.tensor_type(array, [])] * 2, lambda _, new: [new])
    return [made.results[0]]


def _overlaid(batcher: Batcher, array: ir.Value, part: ir.Value, axis: int, start: ir.Value) -> ir.Value:
    """An update along one axis as what each place of the array gets."""
    rows, *whole = sizes_of(array)
    taken = [1 if number == axis else size for number, size in enumerate(whole)]
    places = stablehlo.subtract(ops.iota([rows, whole[axis]], 1), ops.broadcast_in_dim(start, [rows, whole[axis]], [0]))
    inside = stablehlo.and_(
        ops.compare("GE", places, ops.filled(places, 0)),
        ops.compare("LT", places, ops.filled(places, sizes_of(part)[axis + 1])),
    )
    others = [number for number in range(len(whole)) if number != axis]
    indices = Row(ops.reshape(places, [rows, whole[axis], 1]), True)
    read = _gathered(batcher, Row(part, True), indices, Indexing(others, [axis], [], [], [axis], 1), taken, array.type)
    return stablehlo.select(ops.broadcast_in_dim(inside, sizes_of(array), [0, axis + 1]), read, array)


@rule("scatter")
def scatter(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    count = len(op.results)
    rows = batcher.rows_of(op)
    numbers = stablehlo.ScatterDimensionNumbers.get(*Indexing.of(op).leading(True, rows[count].each))
    operands = [row.value if place == count else batcher.full(row) for place, row in enumerate(rows)]
    return batcher.like(op, operands, scatter_dimension_numbers=numbers)
