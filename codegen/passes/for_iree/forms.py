"""Ops as IREE 3.13 computes them right: the rewrites of `for_iree`, by the op that each replaces.

    before  %y = stablehlo.log_plus_one %x : tensor<?xf64>
    after   %u = add %x, 1;  %y = select(%u == 1, %x, log(%u) * (%x / (%u - 1)))

Of static sizes IREE takes almost everything, and computes some ops wrong; those come first. Of open sizes it takes
broadcasts that say which axes stretch, products of matrices, and gathers of single elements. Rounding: sums in another
order; a few units in the last place; float32's sines, powers and long sums go by way of float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import reduction
from ...ir.op_sheet import Indexing, dot_axes
from ...ir.ops import Size, compute, is_open
from ...ir.refused import require
from ...ir.values import (
    constant,
    defining,
    dot_sides,
    dtype_of,
    integers,
    numpy_dtype,
    owner,
    shape_of,
    sizes_of,
)

ABSOLUTE = "hlograph.absolute"  # marks a power of what is not negative

# ---- wrong numbers --------------------------------------------------------------------------------------------------


def log_plus_one(op: ir.Operation) -> ir.Value | None:
    """`log1p` by Kahan's correction of `log(1 + x)`, which IREE takes for it in float64."""
    (x,) = op.operands
    if dtype_of(x) != np.float64:
        return None
    one = ops.filled(x, 1)
    u = stablehlo.add(x, one)
    ratio = stablehlo.divide(x, stablehlo.subtract(u, one))
    corrected = stablehlo.multiply(stablehlo.log(u), ratio)
    infinite = ops.compare("EQ", x, ops.filled(x, np.inf))
    return stablehlo.select(ops.compare("EQ", u, one), x, stablehlo.select(infinite, x, corrected))


def exponential_minus_one(op: ir.Operation) -> ir.Value | None:
    """`expm1` by Kahan's correction of `exp(x) - 1`, which needs none far from zero."""
    (x,) = op.operands
    if dtype_of(x) != np.float64:
        return None
    one = ops.filled(x, 1)
    u = stablehlo.exponential(x)
    less = stablehlo.subtract(u, one)
    corrected = stablehlo.multiply(less, stablehlo.divide(x, stablehlo.log(u)))
    near = ops.compare("LT", stablehlo.abs(x), one)
    return stablehlo.select(ops.compare("EQ", u, one), x, stablehlo.select(near, corrected, less))


def power(op: ir.Operation) -> ir.Value | None:
    """A power of the absolute value, with its sign; NaN where the base is negative and the exponent no integer."""
    x, y = op.operands
    kind = dtype_of(x)
    if kind.kind not in "fV" or ABSOLUTE in op.attributes:
        return None
    x, y = ops.convert(x, np.float64), ops.convert(y, np.float64)
    one, two, zero = (ops.filled(x, number) for number in (1, 2, 0))
    size = ops.elementwise("stablehlo.power", stablehlo.abs(x), y)  # which IREE has right
    defining(size).attributes[ABSOLUTE] = ir.UnitAttr.get()
    odd = ops.compare("EQ", stablehlo.abs(stablehlo.remainder(y, two)), one)
    whole = stablehlo.or_(ops.compare("EQ", stablehlo.floor(y), y), ops.compare("EQ", x, ops.filled(x, -np.inf)))
    signed = stablehlo.select(odd, stablehlo.negate(size), size)
    negative = stablehlo.select(whole, signed, ops.filled(x, np.nan))
    # The sign of -0.0 is that of its reciprocal.
    is_zero = ops.compare("EQ", x, zero)
    minus_zero = stablehlo.and_(is_zero, ops.compare("LT", stablehlo.divide(one, x), zero))
    found = stablehlo.select(ops.compare("LT", x, zero), negative, stablehlo.select(minus_zero, signed, size))
    trivial = stablehlo.or_(ops.compare("EQ", x, one), ops.compare("EQ", y, zero))
    return ops.convert(stablehlo.select(trivial, one, found), kind)


def in_double(op: ir.Operation) -> ir.Value | None:
    """An op of less precision by way of float64."""
    kind = dtype_of(op.operands[0])
    if kind.kind not in "fV" or kind == np.float64:
        return None
    wide = ops.elementwise(op.name, *[ops.convert(operand, np.float64) for operand in op.operands])
    return ops.convert(wide, kind)


_SHORT = 256  # elements that are added one after the other without many roundings


def sum_in_double(op: ir.Operation) -> ir.Value | None:
    """A long sum of less precision by way of float64: IREE adds one element after the other."""
    if len(op.operands) != 2 or reduction(op) != "stablehlo.add":
        return None
    value, start = op.operands
    kind = dtype_of(value)
    if kind.kind not in "fV" or kind == np.float64:
        return None
    axes = integers(op, "dimensions")
    sizes = [shape_of(value)[axis] for axis in axes]
    if math.prod(_SHORT + 1 if size is None else size for size in sizes) <= _SHORT:
        return None
    wide = ops.reduce("stablehlo.add", ops.convert(value, np.float64), ops.convert(start, np.float64), axes)
    return ops.typed(ops.convert(wide, kind), op.results[0].type)


# ---- open sizes -----------------------------------------------------------------------------------------------------


def through_barrier(op: ir.Operation) -> list[ir.Value] | None:
    """A barrier is nothing that IREE needs, and of open sizes nothing that it takes."""
    return list(op.operands) if is_open(*op.operands) else None


def told_broadcast(op: ir.Operation) -> ir.Value | None:
    """A broadcast says which axes stretch: those of static size 1."""
    value, shape = op.operands
    made = owner(value)
    if "known_nonexpanding_dimensions" in op.attributes and (made is None or made.name not in ops.BROADCASTS):
        return None
    type_, axes = op.results[0].type, integers(op, "broadcast_dimensions")
    if not is_open(value, op.results[0]):
        return ops.broadcast_in_dim(value, sizes_of(op.results[0]), axes)
    return ops.broadcast_to(value, shape, axes, type_)


def reshape_by_units(op: ir.Operation) -> ir.Value | None:
    """A reshape that adds and drops axes of one element is a broadcast, and a reduction of one element."""
    value, result = op.operands[0], op.results[0]
    if not is_open(value, result):
        return ops.reshape(value, sizes_of(result))
    before, after = shape_of(value), shape_of(result)
    kept = [known for known in before if known != 1]
    wanted = [axis for axis, known in enumerate(after) if known != 1]
    # Axes of as many elements in all are the same ones where all but one have the same static size.
    different = [
        pair for pair in zip(kept, (after[k] for k in wanted), strict=False) if None in pair or len({*pair}) > 1
    ]
    require(len(kept) == len(wanted) and len(different) <= 1, "axes of unknown size are joined or split")
    squeezed = ops.without_units(value, [axis for axis, known in enumerate(before) if known == 1])
    shape = ops.elements(op.operands[1])
    known = [each if each is not None else own for each, own in zip(after, shape, strict=True)]
    return ops.broadcast_in_dim(squeezed, known, wanted, result.type)


def dot_as_sum(op: ir.Operation) -> ir.Value | None:
    """A dot of open sizes that is no product of matrices, nor of batches of them, is a sum of products: one kernel."""
    lhs, rhs = op.operands
    result = op.results[0]
    if not is_open(lhs, rhs, result):
        return None
    contracting, batching = dot_sides(op)
    shapes = [shape_of(value) for value in (lhs, rhs)]
    are_matrices = all(len(shape) == 2 + len(batching[0]) and 1 not in shape for shape in shapes)
    if are_matrices and len(contracting[0]) == 1 and len(batching[0]) <= 1:
        return None
    rank = len(shape_of(result))
    extents: dict[int, Size] = {}
    places = []
    axes = dot_axes(contracting, batching, list(map(len, shapes)))
    for value, own, contracted in zip((lhs, rhs), axes, contracting, strict=True):
        place = [rank + contracted.index(k) if axis is None else axis for k, axis in enumerate(own)]
        for k, axis in enumerate(place):
            if not isinstance(extents.get(axis), int):
                extents[axis] = ops.size(value, k)
        places.append(place)
    shape = [extents[axis] for axis in range(len(extents))]
    kind = numpy_dtype(ir.RankedTensorType(result.type).element_type)
    pairs = zip((lhs, rhs), places, strict=True)
    product = stablehlo.multiply(
        *[ops.broadcast_in_dim(ops.convert(value, kind), shape, place) for value, place in pairs]
    )
    if contracting[0]:
        zero = ops.constant(np.zeros((), kind))
        product = ops.reduce("stablehlo.add", product, zero, range(rank, len(shape)))
    return ops.typed(product, result.type)


def gather_of_elements(op: ir.Operation) -> ir.Value | None:
    """A gather of slices of open sizes reads single elements, whose places are written out."""
    value, indices, *given = op.operands
    result = op.results[0]
    if not is_open(value, indices, result) and not given:
        return None
    numbers = Indexing.of(op)
    batching, mapped = numbers.batching, numbers.mapped
    gone = {*numbers.collapsed, *batching}
    rank, at, own = len(shape_of(indices)), numbers.vector, shape_of(indices)
    by_elements = not given and not batching and len(gone) == len(shape_of(value))
    if by_elements and (at == rank or (at == rank - 1 and own[at] != 1)):
        return None  # by no column of indices alone
    lengths: list[Size] = ops.elements(given[0]) if given else list(integers(op, "slice_sizes"))
    windows = dict(zip([k for k in range(len(lengths)) if k not in gone], sorted(numbers.offsets), strict=True))
    batch = [axis for axis in range(len(shape_of(result))) if axis not in windows.values()]
    counts = dict(zip([axis for axis in range(rank) if axis != at], batch, strict=True))
    extents = {place: lengths[axis] for axis, place in windows.items()}
    extents |= {place: ops.size(indices, axis) for axis, place in counts.items()}
    shape = [extents[axis] for axis in range(len(extents))]
    zero = ops.filled(np.int64, 0, shape)
    places = []
    for axis, length in enumerate(lengths):
        place = ops.iota(shape, windows[axis], np.int64) if axis in windows else zero
        if axis in batching:
            place = ops.iota(shape, counts[numbers.places[batching.index(axis)]], np.int64)
        if axis in mapped:
            start = ops.broadcast_in_dim(_column(indices, at, mapped.index(axis)), shape, batch)
            room = compute("maximum", compute("subtract", ops.size(value, axis), length), 0)
            limit = ops.broadcast_in_dim(ops.number(room), shape, [])
            place = stablehlo.add(place, stablehlo.minimum(stablehlo.maximum(start, zero), limit))
        places.append(place)
    return (
        ops.elements_at(value, places, result.type) if places else ops.broadcast_in_dim(value, shape, [], result.type)
    )


def _column(indices: ir.Value, at: int, number: int) -> ir.Value:
    """One of the indices that make a place, as int64."""
    if at < len(shape_of(indices)):
        if shape_of(indices)[at] != 1:
            indices = ops.part_along(indices, at, number, number + 1)
        indices = ops.without_units(indices, [at])
    return ops.convert(indices, np.int64)


def joined(op: ir.Operation) -> ir.Value | None:
    """A concatenate without empty parts; of columns of one element a choice by index, for which IREE has a form."""
    axis, result = ir.IntegerAttr(op.attributes["dimension"]).value, op.results[0]
    parts = [part for part in op.operands if shape_of(part)[axis] != 0]
    if not is_open(result, *op.operands) or not parts:
        return None
    if len(parts) == 1:
        return ops.typed(parts[0], result.type)
    if any(shape_of(part)[axis] != 1 for part in parts):
        return ops.concatenate(parts, axis, result.type) if len(parts) < len(op.operands) else None
    extents = ops.sizes(parts[0])
    extents[axis] = len(parts)
    axes, index = range(len(extents)), ops.iota(extents, axis, np.int64)
    *others, found = [ops.broadcast_in_dim(part, extents, axes, result.type) for part in parts]
    for place, part in reversed(list(enumerate(others))):
        here = ops.compare("EQ", index, ops.filled(np.int64, place, extents))
        found = stablehlo.select(here, part, found)
    return found


def part_by_place(op: ir.Operation) -> ir.Value | None:
    """A part of open size is read by place: IREE then knows the size as the number that it is given."""
    value, result = op.operands[0], op.results[0]
    strides = constant(op.operands[3])
    if not is_open(result) or strides is None or (strides != 1).any():
        return None
    starts, limits = (ops.elements(operand) for operand in op.operands[1:3])
    lengths = [compute("subtract", limit, start) for start, limit in zip(starts, limits, strict=True)]
    extents = [length if own is None else own for own, length in zip(shape_of(result), lengths, strict=True)]
    firsts = [ops.broadcast_in_dim(ops.number(start), extents, []) for start in starts]
    places = [stablehlo.add(ops.iota(extents, axis, np.int64), first) for axis, first in enumerate(firsts)]
    return ops.elements_at(value, places, result.type)


def own_operand(op: ir.Operation) -> list[ir.Value] | None:
    """What a scatter writes into is its own, where that is one number everywhere.

    IREE makes such an array anew for each scatter, merges the copies again, and no longer asks who writes into them:
    each result then holds the updates of all. What depends on the places is made once, and copied.
    """
    count = len(op.results)
    numbers = [constant(value) if is_open(value) else None for value in op.operands[:count]]
    if all(number is None for number in numbers):
        return None
    places = op.operands[count]
    zero, axes = ops.constant(np.zeros((), dtype_of(places))), range(len(shape_of(places)))
    least, greatest = (ops.reduce(f"stablehlo.{name}", places, zero, axes) for name in ("minimum", "maximum"))
    never, own = ops.compare("GT", least, greatest), {}
    for place, number in enumerate(numbers):
        if number is not None:
            value = op.operands[place]
            other = ops.filled(value, 0 if number.any() else 1)
            own[place] = stablehlo.select(never, other, value)
    copy = op.clone()
    for place, value in own.items():
        copy.operands[place] = value
    return list(copy.results)


FORMS: Mapping[str, Callable[..., Any]] = {
    "stablehlo.atan2": in_double,
    "stablehlo.concatenate": joined,
    "stablehlo.cosine": in_double,
    "stablehlo.dot_general": dot_as_sum,
    "stablehlo.dynamic_broadcast_in_dim": told_broadcast,
    "stablehlo.dynamic_gather": gather_of_elements,
    "stablehlo.dynamic_reshape": reshape_by_units,
    "stablehlo.exponential_minus_one": exponential_minus_one,
    "stablehlo.gather": gather_of_elements,
    "stablehlo.log_plus_one": log_plus_one,
    "stablehlo.optimization_barrier": through_barrier,
    "stablehlo.power": power,
    "stablehlo.real_dynamic_slice": part_by_place,
    "stablehlo.reduce": sum_in_double,
    "stablehlo.scatter": own_operand,
    "stablehlo.sine": in_double,
    "stablehlo.tan": in_double,
}
