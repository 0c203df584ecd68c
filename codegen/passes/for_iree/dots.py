"""Dots and sums: IREE takes products of matrices, and makes a reshape of any other dot, which it then refuses.

    before  %y = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<?x?xf64>, tensor<?xf64>) -> ...
    after   %y = reduce(multiply %a, broadcast %x) applies add across dimensions = [1]

Rounding: a sum in another order. IREE makes one kernel of it, without the array of products. It adds one element after
the other: of some million float32 numbers 2 in 100 are lost, so that long sums of less than float64 are taken in that.
"""

from __future__ import annotations

import math

import numpy as np

from ...ir import open_ops as op_
from ...ir import ops
from ...ir.attributes import dot_numbers, integers
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import reduction
from ...ir.op_sheet import dot_axes
from ...ir.types import numpy_dtype
from ...ir.values import dtype_of, shape_of


def dot_as_sum(op: ir.Operation) -> ir.Value | None:
    """A dot of open sizes that is no plain product of matrices is a sum of products."""
    lhs, rhs = op.operands
    result = op.results[0]
    if not op_.is_open(lhs, rhs, result):
        return None
    numbers = dot_numbers(op.attributes["dot_dimension_numbers"])
    contracting = list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)
    batching = list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)
    if _is_matrix_product(lhs, rhs, contracting, batching):
        return None
    rank = len(shape_of(result))
    axes = dot_axes(contracting, batching, [len(shape_of(value)) for value in (lhs, rhs)])
    extents: dict[int, op_.Size] = {}
    places = []
    for value, own, contracted in zip((lhs, rhs), axes, contracting, strict=True):
        place = [rank + contracted.index(k) if axis is None else axis for k, axis in enumerate(own)]
        for k, axis in enumerate(place):
            if not isinstance(extents.get(axis), int):
                extents[axis] = op_.size(value, k)
        places.append(place)
    shape = [extents[axis] for axis in range(len(extents))]
    kind = numpy_dtype(ir.RankedTensorType(result.type).element_type)
    factors = [
        op_.broadcast(ops.convert(value, kind), shape, place) if place else _spread(ops.convert(value, kind), shape)
        for value, place in zip((lhs, rhs), places, strict=True)
    ]
    product = stablehlo.multiply(*factors)
    if contracting[0]:
        zero = ops.constant(np.zeros((), kind))
        product = ops.reduce("stablehlo.add", product, zero, range(rank, len(shape)))
    return op_.typed(product, result.type)


def _spread(value: ir.Value, shape: list[op_.Size]) -> ir.Value:
    return op_.broadcast(value, shape, [])


def _is_matrix_product(
    lhs: ir.Value, rhs: ir.Value, contracting: tuple[list[int], list[int]], batching: tuple[list[int], list[int]]
) -> bool:
    """Whether this is a product of matrices, or of batches of them, none of whose axes is known to have one element."""
    if len(contracting[0]) != 1 or len(batching[0]) > 1:
        return False
    return all(len(shape_of(value)) == 2 + len(batching[0]) and 1 not in shape_of(value) for value in (lhs, rhs))


_SHORT = 256  # elements that are added one after the other without many roundings


def sum_in_double(op: ir.Operation) -> ir.Value | None:
    """A long sum of less precision by way of float64."""
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
    return op_.typed(ops.convert(wide, kind), op.results[0].type)
