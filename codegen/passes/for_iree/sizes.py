"""Sizes of which IREE knows that no product of them overflows.

    before  %n = stablehlo.get_dimension_size %x, dim = 0
    after   %y = stablehlo.real_dynamic_slice %x, ... the first min(n, 2**29) of each axis     at @main's head
            %n = stablehlo.maximum (stablehlo.minimum (stablehlo.get_dimension_size %y, dim = 0), 2**29), 0

IREE 3.13 works out ranges of the offsets at which arrays lie in a buffer. Where it cannot bound a size, it takes that
offset to be whatever else may stand in its place: loops and branches that hold several arrays of open sizes then read
and write at wrong places. With bounds on all sizes their products stay below 2**62, and the offsets are right. Done
only in programs with loops or branches. Rounding: none.
"""

from __future__ import annotations

import math

import numpy as np

from ...ir import open_ops as op_
from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.open_ops import Size, is_open
from ...ir.values import defining, dtype_of, owner, shape_of
from ...ir.walk import main_function, walk

_BYTES = 2**60  # of an array, and of all that lies beside it
_AXIS = 2**31 - 1  # what `get_dimension_size` can tell
_SHAPES = {"stablehlo.dynamic_broadcast_in_dim": 1, "stablehlo.dynamic_iota": 0}
_CONTROL = ("stablehlo.while", "stablehlo.if", "stablehlo.case")


def _axis_limit(module: ir.Module) -> int:
    """The greatest size of an open axis for which no array of the module has too many bytes."""
    limit = _AXIS
    for op in walk(module):
        for result in op.results:
            limit = min(limit, _limit(result))
    function = main_function(module)
    for argument in function.regions[0].blocks[0].arguments:
        limit = min(limit, _limit(argument))
    return limit


def bound_sizes(module: ir.Module) -> int | None:
    """Bounds all sizes from below and above, in place.

    Returns:
        The greatest size of an axis; None where nothing was to be done, or arrays can be as long as they like.
    """
    inside = walk(module)
    if not any(op.name in _CONTROL for op in inside) or not any(is_open(*op.results) for op in inside):
        return None
    limit = _axis_limit(module)
    for op in walk(module):
        if op.name == "stablehlo.get_dimension_size":
            _bound_result(op, limit)
    _bound_arguments(module, limit)
    for op in walk(module):
        if op.name in _SHAPES:
            place = _SHAPES[op.name]
            with ir.InsertionPoint(op), op.location:
                greatest = max(_limit(op.results[0]), limit)
                sizes = op_.elements(op.operands[place])
                op.operands[place] = op_.vector([x if isinstance(x, int) else _clamped(x, greatest) for x in sizes])
    return limit if limit < _AXIS else None


def _limit(value: ir.Value) -> int:
    if not isinstance(value.type, ir.RankedTensorType) or not is_open(value):
        return _AXIS
    known = [size for size in shape_of(value) if size is not None]
    number = len(shape_of(value)) - len(known)
    return int((_BYTES // (16 * math.prod([max(each, 1) for each in known]))) ** (1 / number))


def _bound_result(op: ir.Operation, limit: int) -> None:
    result = op.results[0]
    following = list(op.block.operations)
    place = next(number for number, each in enumerate(following) if each.operation == op)
    with ir.InsertionPoint(following[place + 1]), op.location:
        bounded = _clamped(result, limit)
    result.replace_all_uses_except(bounded, defining(defining(bounded).operands[0]))


def _bound_arguments(module: ir.Module, limit: int) -> None:
    block = main_function(module).regions[0].blocks[0]
    for argument in block.arguments:
        if not is_open(argument):
            continue
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown(module.context):
            extents: list[Size] = []
            readers = []
            for axis, known in enumerate(shape_of(argument)):
                if known is not None:
                    extents.append(known)
                    continue
                read = stablehlo.get_dimension_size(argument, axis)
                readers.append(owner(read))
                extents.append(ops.convert(_clamped(read, limit), np.int64))
            part = op_.typed_part(argument, extents)
            readers.append(owner(part))
        argument.replace_all_uses_except(part, [each for each in readers if each is not None])


def _clamped(size: ir.Value, limit: int) -> ir.Value:
    dtype = dtype_of(size)
    lower = stablehlo.minimum(size, ops.constant(np.array(limit).astype(dtype)))
    return stablehlo.maximum(lower, ops.constant(np.array(0).astype(dtype)))
