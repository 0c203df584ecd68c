"""scatter_loop: a scatter as a loop over its updates, which may be in a kernel.

    before  %s = "stablehlo.scatter"(%x, %indices, %u) ({ add })
    after   %s = stablehlo.while(%i, %acc = %x)           eight updates in one turn
              do: %k = dynamic_slice %places, %i;  %old = dynamic_slice %acc, %k
                  %new = add %old, dynamic_slice %u, %i;  %acc1 = dynamic_update_slice %acc, %new, %k

In: with `kernel=true` only, a scatter of one array that combines by one op or overwrites, at known or unknown indices.
XLA:CPU compiles no scatter within a kernel. As a kernel of its own a scatter is faster than this loop (and than gathers
and sums, where indices are known), so it is otherwise left alone. Preconditions: static shapes, windows that are whole
along the axes that have no index and 1 along those that have, no batching dimensions. Rounding: none, updates come in
order. Indices out of bounds are left out; where all indices are known to be in bounds, that is not checked.
Scatters of the same kind at the same indices become one loop, which reads each index once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...analysis.integers import known
from ...ir.attributes import attributes_of, scatter_numbers
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import reduction
from ...ir.ops import reshape, transpose
from ...ir.refused import Refused, require
from ...ir.values import static_shape, users
from .build import compare, constant_of, cut, loop, number, part, spread, written
from .options import for_kernel

_UNROLL = 8
# More rows than this take longer than what a kernel of its own costs.
_MOST_ROWS = 1 << 16
# A window of this many elements is no longer copied as a few vectors.
_WIDEST = 1 << 10


@dataclass(frozen=True)
class _Scatter:
    """A scatter as rows of updates for a matrix.

    Attributes:
        order: the operand's axes, those with an index first.
        sizes: of those with an index.
        width: of a row: all other axes.
        rows: how many.
        update_order: of the updates' axes: those that count rows, then a row's.
        combine: from the old and the update, the new.
    """

    order: tuple[int, ...]
    sizes: tuple[int, ...]
    width: int
    rows: int
    update_order: tuple[int, ...]
    combine: Callable[[ir.Value, ir.Value], ir.Value]


def scatter_loop(op: ir.Operation) -> list[ir.Value] | ir.Value | None:
    """A scatter is a loop that updates one place after the other."""
    if not users(op.results[0]):
        return None
    require(for_kernel(), "outside of a kernel a scatter is faster than a loop, and than gathers and sums")
    require(len(op.operands) == 3, "it scatters into several arrays")
    found = _read(op)
    together = _together(op)
    if together and together[-1] != op:
        return None  # the last of them does it
    operands = [each.operands[0] for each in together or [op]]
    updates = [each.operands[2] for each in together or [op]]
    results = _emit(found, op, operands, updates)
    for other, result in zip(together[:-1], results, strict=False):
        other.results[0].replace_all_uses_with(result)
    return results[-1]


def _read(op: ir.Operation) -> _Scatter:
    x, _, updates = op.operands
    shape, given = static_shape(x), static_shape(updates)
    numbers = scatter_numbers(op.attributes["scatter_dimension_numbers"])
    require(not list(numbers.input_batching_dims), "the scatter has batching dimensions")
    mapped, inserted = list(numbers.scattered_dims_to_operand_dims), set(numbers.inserted_window_dims)
    require(mapped, "the scatter has no indices")
    windows = list(numbers.update_window_dims)
    window = [1] * len(shape)
    for axis, place in zip((k for k in range(len(shape)) if k not in inserted), windows, strict=True):
        window[axis] = given[place]
    for axis, size in enumerate(window):
        wanted = 1 if axis in mapped else shape[axis]
        require(size == wanted, f"its windows take {size} of axis {axis}, and not {wanted}")
    counting = [place for place in range(len(given)) if place not in windows]
    # A row's axes: those of windows that belong to an axis without an index, in the operand's order; then those of 1.
    rest = [axis for axis in range(len(shape)) if axis not in mapped]
    rows, width = math.prod(given[place] for place in counting), math.prod(shape[axis] for axis in rest)
    require(rows and all(shape) and all(given), "the scatter has no elements")
    require(rows <= _MOST_ROWS, f"{rows} rows are more than {_MOST_ROWS}, and are faster as a scatter")
    require(width <= _WIDEST, f"a row of {width} elements is longer than {_WIDEST}, and is faster in a scatter")
    require(math.prod(shape) < 2**31, "it has more elements than an int32 counts")
    return _Scatter(
        (*mapped, *rest),
        tuple(shape[axis] for axis in mapped),
        width,
        rows,
        (*counting, *windows),
        _combiner(op),
    )


def _combiner(op: ir.Operation) -> Callable[[ir.Value, ir.Value], ir.Value]:
    """What the scatter's region does, on arrays."""
    block = op.regions[0].blocks[0]
    body = [inner.operation for inner in block.operations]
    if len(body) == 1:
        require(body[0].operands[0] == block.arguments[1], "it keeps what was there")
        return lambda old, new: new
    name = reduction(op)
    swapped = body[0].operands[0] == block.arguments[1]
    require(not list(attributes_of(body[0].attributes)), f"its {name} has attributes")
    return lambda old, new: ir.Operation.create(
        name, results=[old.type], operands=[new, old] if swapped else [old, new]
    ).results[0]


def _together(op: ir.Operation) -> list[ir.Operation]:
    """This scatter and those that one loop can do with it, in the block's order; [] where there is no other."""
    alike = [op]
    for other in {user for user in users(op.operands[1]) if user != op}:
        if other.name != op.name or len(other.operands) != 3 or other.operands[1] != op.operands[1]:
            continue
        if other.block != op.block or [v.type for v in other.operands] != [v.type for v in op.operands]:
            continue
        if attributes_of(other.attributes) != attributes_of(op.attributes) or _text(other) != _text(op):
            continue
        alike.append(other)
    last = op
    for other in alike:
        last = other if last.is_before_in_block(other) else last
    # Each is moved to the last one's place, so nothing may need it before.
    kept = [other for other in alike if other == last or _used_after(other, last)]
    if len(kept) < 2 or op not in kept:
        return []
    return sorted(kept, key=lambda each: sum(other.is_before_in_block(each) for other in kept if other != each))


def _text(op: ir.Operation) -> str:
    return "; ".join(
        f"{inner.operation.name}({', '.join(str(value.get_name(use_local_scope=True)) for value in inner.operands)})"
        for inner in op.regions[0].blocks[0].operations
    )


def _used_after(op: ir.Operation, last: ir.Operation) -> bool:
    for user in users(op.results[0]):
        place: ir.Operation | None = user
        while place is not None and place.block != last.block:
            parent = place.parent
            place = None if parent is None else parent.operation
        if place is None or place == last or not last.is_before_in_block(place):
            return False
    return True


def _emit(
    found: _Scatter, op: ir.Operation, operands: Sequence[ir.Value], updates: Sequence[ir.Value]
) -> list[ir.Value]:
    shape, count = static_shape(operands[0]), math.prod(found.sizes)
    places, checked = _places(op, found)
    matrix = (count, found.width) if found.width > 1 else (count,)
    arrays = [reshape(transpose(x, found.order), matrix) for x in operands]
    rows = (found.rows, *matrix[1:])
    lines = [reshape(transpose(u, found.update_order), rows) for u in updates]
    results = put_rows(arrays, places, lines, found.combine, checked=checked)
    back = [int(place) for place in np.argsort(found.order)]
    moved = [shape[axis] for axis in found.order]
    return [transpose(reshape(result, moved), back) for result in results]


def _places(op: ir.Operation, found: _Scatter) -> tuple[ir.Value, bool]:
    """The row of each update as int32, -1 where it is left out; and whether there are such."""
    indices = op.operands[1]
    vector = scatter_numbers(op.attributes["scatter_dimension_numbers"]).index_vector_dim
    shape = static_shape(indices)
    array = known(indices)
    if array is not None:
        given = array if vector == len(shape) else np.moveaxis(array, vector, -1)
        given = given.reshape(found.rows, len(found.sizes)).astype(np.int64)
        fine = ((given >= 0) & (given < np.array(found.sizes))).all(1)
        strides = np.cumprod([1, *found.sizes[:0:-1]])[::-1]
        rows = np.where(fine, given @ strides, -1).astype(np.int32)
        return constant_of(rows, indices), not fine.all()
    if vector != len(shape):
        indices = transpose(indices, [*(axis for axis in range(len(shape)) if axis != vector), vector])
    indices = reshape(indices, (found.rows, len(found.sizes)))
    long = ir.IntegerType.get_signless(64, indices.type.context)
    wide = stablehlo.convert(ir.RankedTensorType.get([found.rows, len(found.sizes)], long), indices)
    total: ir.Value | None = None
    inside: ir.Value | None = None
    for axis, size in enumerate(found.sizes):
        column = reshape(cut(wide, (0, axis), (found.rows, axis + 1)), (found.rows,))
        zero, end = (constant_of(np.full(found.rows, each, np.int64), indices) for each in (0, size))
        fine_here = stablehlo.and_(compare("GE", column, zero), compare("LT", column, end))
        inside = fine_here if inside is None else stablehlo.and_(inside, fine_here)
        total = column if total is None else stablehlo.add(stablehlo.multiply(total, end), column)
    if total is None or inside is None:
        raise Refused("it has no indices")
    rows_ = stablehlo.select(inside, total, constant_of(np.full(found.rows, -1, np.int64), indices))
    short = ir.IntegerType.get_signless(32, indices.type.context)
    return stablehlo.convert(ir.RankedTensorType.get([found.rows], short), rows_), True


def put_rows(
    arrays: Sequence[ir.Value],
    places: ir.Value,
    lines: Sequence[ir.Value],
    combine: Callable[[ir.Value, ir.Value], ir.Value],
    *,
    checked: bool,
) -> list[ir.Value]:
    """Arrays with rows combined in, one after the other, in a loop.

    Args:
        arrays: (m,) or (m, w) each.
        places: (n,) int32, less than m; with `checked`, rows with a negative one are left out.
        lines: (n,) or (n, w) each, what goes into the array of the same position.
        combine: from the old and the given, the new.
        checked: whether places may be negative.
    """
    zero = number(0, places)
    rows = static_shape(places)[0]

    def one(place: ir.Value, array: ir.Value, line: ir.Value) -> ir.Value:
        shape = static_shape(line)
        starts = [scalar_place(place), *([zero] * (len(shape) - 1))]
        old = part(array, starts, shape)
        new = combine(old, line)
        if checked:
            new = stablehlo.select(spread(scalar_place(compare("GE", place, one_zero)), shape, ()), new, old)
        return written(array, new, starts)

    def scalar_place(place: ir.Value) -> ir.Value:
        return reshape(place, ())

    one_zero = constant_of(np.zeros(1, np.int32), places)

    def turn(unroll: int) -> Callable[[ir.Value, list[ir.Value]], list[ir.Value]]:
        def body(index: ir.Value, carries: list[ir.Value]) -> list[ir.Value]:
            # Eight places and updates are read at once, which XLA:CPU checks against the bounds once.
            several = part(places, [index], (unroll,))
            taken = [
                part(line, [index, *([zero] * (len(static_shape(line)) - 1))], (unroll, *static_shape(line)[1:]))
                for line in lines
            ]
            for offset in range(unroll):
                place = cut(several, (offset,), (offset + 1,))
                for position, line in enumerate(taken):
                    shape = static_shape(line)
                    starts, limits = [offset, *([0] * (len(shape) - 1))], [offset + 1, *shape[1:]]
                    carries[position] = one(place, carries[position], cut(line, starts, limits))
            return carries

        return body

    unroll = _UNROLL if all(len(static_shape(line)) == 1 for line in lines) else 1
    whole = rows // unroll * unroll
    made = loop(0, whole, unroll, list(arrays), turn(unroll))
    return loop(whole, rows, 1, made, turn(1)) if unroll > 1 else made
