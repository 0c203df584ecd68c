"""What IREE has no open form of: reshapes, pads, updates of parts.

    before  %r = stablehlo.dynamic_reshape %x, %shape : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x1xf64>
    after   %r = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [0], known_nonexpanding_dimensions = [0]

Rounding: none, elements are only copied. A reshape that only adds and drops axes of one element is a broadcast and a
reduction of one element; any other reads each element by its place. A pad is joined of parts, an update of a part is a
choice by index.
"""

from __future__ import annotations

from ...ir import open_ops as op_
from ...ir import ops
from ...ir.attributes import integers
from ...ir.bindings import DYNAMIC, ir, stablehlo
from ...ir.open_ops import Size, compute, is_open
from ...ir.refused import require
from ...ir.values import constant, owner, shape_of, sizes_of
from .origins import origin_of


def told_broadcast(op: ir.Operation) -> ir.Value | None:
    """A broadcast says which axes stretch: those of static size 1."""
    value, shape = op.operands
    made = owner(value)
    if "known_nonexpanding_dimensions" in op.attributes and (made is None or made.name not in op_.BROADCASTS):
        return None
    type_, axes = op.results[0].type, integers(op, "broadcast_dimensions")
    if not is_open(value, op.results[0]):
        return ops.broadcast_in_dim(value, sizes_of(op.results[0]), axes)
    return op_.broadcast_to(value, shape, axes, type_)


def reshape_by_units(op: ir.Operation) -> ir.Value:
    """A reshape of open sizes is a broadcast, a reduction of one element, or a reading of each element."""
    value, result = op.operands[0], op.results[0]
    if not is_open(value, result):
        return ops.reshape(value, sizes_of(result))
    shape = op_.elements(op.operands[1])
    before, after = shape_of(value), shape_of(result)
    kept = [axis for axis, known in enumerate(before) if known != 1]
    wanted = [axis for axis, known in enumerate(after) if known != 1]
    if _same_axes([before[axis] for axis in kept], [after[axis] for axis in wanted]):
        squeezed = op_.without_units(value, [axis for axis, known in enumerate(before) if known == 1])
        known = [each if each is not None else own for each, own in zip(after, shape, strict=True)]
        return op_.broadcast(squeezed, known, wanted, result.type)
    return read(value, shape, result.type)


def _same_axes(before: list[int | None], after: list[int | None]) -> bool:
    """Whether axes of as many elements in all are the same ones: all but one have the same static size."""
    different = [pair for pair in zip(before, after, strict=False) if pair[0] is None or pair[0] != pair[1]]
    return len(before) == len(after) and len(different) <= 1


def read(value: ir.Value, shape: list[Size], type_: ir.Type) -> ir.Value:
    """The elements in another shape, each by its place in row-major order."""
    own = op_.sizes(value)
    if not shape:
        return op_.without_units(op_.typed(value, ops.tensor_type(value, [1] * len(own))), range(len(own)))
    place = op_.full(0, "int64", shape)
    for axis, stride in enumerate(_strides(shape)):
        step = op_.broadcast(op_.number(stride), shape, [])
        place = stablehlo.add(place, stablehlo.multiply(op_.iota(shape, axis), step))
    places = []
    for extent, stride in zip(own, _strides(own), strict=True):
        # Of an array without elements nothing is read, but no division may be by zero.
        divisor = op_.broadcast(op_.number(compute("maximum", stride, 1)), shape, [])
        modulus = op_.broadcast(op_.number(compute("maximum", extent, 1)), shape, [])
        places.append(stablehlo.remainder(stablehlo.divide(place, divisor), modulus))
    return op_.elements_at(value, places, type_) if places else op_.broadcast(value, shape, [], type_)


def _strides(shape: list[Size]) -> list[Size]:
    strides: list[Size] = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, compute("multiply", strides[0], extent))
    return strides[: len(shape)]


def pad_of_parts(op: ir.Operation) -> ir.Value | None:
    """A pad by amounts that are computed, or negative, is a slice between blocks of the padding."""
    value, padding = op.operands[:2]
    result = op.results[0]
    if op.name == "stablehlo.pad":
        low, high, interior = (
            integers(op, name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
        )
        if not is_open(value, result) or min((*low, *high), default=0) >= 0:
            return None
        amounts: list[list[Size]] = [list(low), list(high), list(interior)]
    else:
        amounts = [op_.elements(operand) for operand in op.operands[2:]]
    between = [each for each in amounts[2] if isinstance(each, int)]
    require(len(between) == len(amounts[2]), "the amounts between the elements of a dynamic_pad are computed")
    if any(between):
        zeros = [0] * len(between)
        value = stablehlo.pad(value, padding, *[ops.integer_list(each) for each in (zeros, zeros, between)])
    return _padded(value, padding, amounts[0], amounts[1], result.type)


def _padded(value: ir.Value, padding: ir.Value, low: list[Size], high: list[Size], type_: ir.Type) -> ir.Value:
    """Each element by its place; outside of the array the element behind its end, which is the padding."""
    rank = len(low)
    longer = stablehlo.pad(value, padding, *[ops.integer_list([number] * rank) for number in (0, 1, 0)])
    own = op_.sizes(value)
    extents: list[Size] = []
    for size, below, above in zip(own, low, high, strict=True):
        extents.append(compute("maximum", compute("add", compute("add", size, below), above), 0))
    zero = op_.full(0, "int64", extents)
    coordinates = []
    for axis in range(rank):
        start, end = (op_.broadcast(op_.number(each), extents, []) for each in (low[axis], own[axis]))
        index = stablehlo.subtract(op_.iota(extents, axis), start)
        inside = stablehlo.select(ops.compare("LT", index, zero), end, index)
        coordinates.append(stablehlo.minimum(inside, end))
    return op_.typed(op_.elements_at(longer, coordinates, _open(longer, extents)), type_)


def _open(like: ir.Value, extents: list[Size]) -> ir.Type:
    return ops.tensor_type(like, [each if isinstance(each, int) else DYNAMIC for each in extents])


def update_of_parts(op: ir.Operation) -> ir.Value | None:
    """An update of a part is a choice by index between the array and the part."""
    value, update, *starts = op.operands
    if not is_open(value, update):
        return None
    places: list[Size] = []
    for axis, start in enumerate(starts):
        room = compute("subtract", op_.size(value, axis), op_.size(update, axis))
        limited = compute("maximum", _integer(start), 0)
        places.append(compute("minimum", limited, room))
    return op_.typed(_updated(value, update, places), op.results[0].type)


def _integer(start: ir.Value) -> Size:
    known = constant(start)
    return ops.convert(start, "int64") if known is None else int(known)


def _updated(value: ir.Value, update: ir.Value, places: list[Size]) -> ir.Value:
    """An array with a part at a place: each element is chosen by its index."""
    extents, axes = op_.sizes(value), range(len(places))
    moving = [axis for axis in axes if not _is_whole(value, update, axis)]
    if all(shape_of(update)[axis] == 1 for axis in moving):
        part = op_.broadcast(update, extents, axes, value.type)
    else:
        part = _moved(update, extents, places, value.type)
    for axis in moving:
        index, start = op_.iota(extents, axis), op_.broadcast(op_.number(places[axis]), extents, [])
        end = compute("add", places[axis], op_.size(update, axis))
        behind = ops.compare("LT", index, op_.broadcast(op_.number(end), extents, []))
        inside = stablehlo.and_(ops.compare("GE", index, start), behind)
        part = stablehlo.select(inside, part, value)
    return op_.typed(part, value.type)


def _moved(update: ir.Value, extents: list[Size], places: list[Size], type_: ir.Type) -> ir.Value:
    """A part at its place in an array of another shape; what lies outside of it is any of its elements."""
    rank = len(places)
    # One element more along each axis, so that there is one to read.
    padding = op_.full(0, update, [])
    ends = [ops.integer_list([number] * rank) for number in (0, 1, 0)]
    longer = stablehlo.pad(update, padding, *ends)
    coordinates = []
    for axis in range(rank):
        start, last = (op_.broadcast(op_.number(each), extents, []) for each in (places[axis], op_.size(update, axis)))
        index = stablehlo.subtract(op_.iota(extents, axis), start)
        coordinates.append(stablehlo.minimum(stablehlo.maximum(index, op_.full(0, "int64", extents)), last))
    return op_.elements_at(longer, coordinates, type_)


def _is_whole(value: ir.Value, update: ir.Value, axis: int) -> bool:
    """Whether the part is known to be all of an axis."""
    known = shape_of(value)[axis], shape_of(update)[axis]
    if known[0] is not None or known[1] is not None:
        return known[0] == known[1]
    return origin_of(value, axis) == origin_of(update, axis)
