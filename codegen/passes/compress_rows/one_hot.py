"""An element of each row, at a constant place, by a mask: rows stay apart, where a gather by their numbers moves them.

    %p = gather %x, [[0, 2], [1, 0], ...]         %m = select %mask, %x, %zero       mask: [[0, 0, 1], [1, 0, 0], ...]
                                           ->     %p = reduce(%m) applies add across dimensions = [1]

In: a block. Out: the same, with such gathers, and scatters that add to zeros, written by masks. This is how the
probability of an observed category is looked up.
"""

from __future__ import annotations

import numpy as np

from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import Indexing, monoid_of
from ...ir.values import Array, is_constant, sizes_of
from ..constants import Constants

_WIDEST = 16  # elements of a row: of longer ones a mask costs more than it may save


def use_masks(block: ir.Block, constants: Constants, rows: int) -> None:
    """Writes lookups in at least this many rows by masks."""
    for view in list(block.operations):
        op = view.operation
        if op.name not in ("stablehlo.gather", "stablehlo.scatter") or op.operands[1] not in constants:
            continue
        mask = _mask(op, constants, rows)
        if mask is None:
            continue
        with ir.InsertionPoint(op), op.location:
            places, zero = ops.constant(mask), ops.full_like(op.operands[0], 0)
            if op.name == "stablehlo.gather":
                chosen = stablehlo.select(places, op.operands[0], zero)
                summed = ops.reduce("stablehlo.add", chosen, ops.scalar(0, zero), [1])
                made = ops.reshape(summed, sizes_of(op.results[0]))
            else:
                updates = ops.reshape(op.operands[2], [len(mask)])
                made = stablehlo.select(places, ops.broadcast_in_dim(updates, list(mask.shape), [0]), zero)
            op.results[0].replace_all_uses_with(made)


def _mask(op: ir.Operation, constants: Constants, rows: int) -> Array | None:
    """Which element of each row is looked up; None where it is not one of each, in order."""
    shape, numbers, spread = sizes_of(op.operands[0]), Indexing.of(op), sizes_of(op.operands[1])
    whole = numbers.mapped == numbers.collapsed == [0, 1] and not numbers.batching and numbers.vector == len(spread) - 1
    apart = spread[:1] == shape[:1] and spread[-1] == 2 and set(spread[1:-1]) <= {1}
    if len(shape) != 2 or not whole or not apart or shape[0] < rows or shape[1] > _WIDEST:
        return None
    if op.name == "stablehlo.scatter":
        adds = len(op.operands) == 3 and monoid_of(op.regions[0].blocks[0]) == "add"
        if not adds or not is_constant(op.operands[0], 0):
            return None
    found = constants.array(op.operands[1])
    places = np.zeros((0, 2)) if found is None else found.reshape(-1, 2)
    if not np.array_equal(places[:, 0], np.arange(shape[0])):
        return None
    inside = ((places[:, 1] >= 0) & (places[:, 1] < shape[1])).all()
    return places[:, 1, None] == np.arange(shape[1]) if inside else None
