"""Batching rules of ops that compute elements one by one, or move them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import ops
from ...ir.attributes import integers
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import SCALAR_OPERANDS
from ...ir.values import owner, sizes_of, unspread
from .batcher import RULES, Batcher, rule


def shifted(axes: Sequence[int]) -> list[int]:
    """Axes behind the batch axis."""
    return [axis + 1 for axis in axes]


def number(value: int) -> ir.IntegerAttr:
    """An integer of 64 bits as an attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def elementwise(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Scalar predicates and bounds are spread out where they have the axis."""
    scalars = SCALAR_OPERANDS.get(op.name, ())
    shape = sizes_of(op.results[0])
    spread = batcher.is_each([op.operands[place] for place in scalars])
    operands = []
    for place, operand in enumerate(op.operands):
        row = batcher.row(operand)
        if place in scalars and shape and not sizes_of(operand):
            value = row.value
            if spread:
                value = ops.broadcast_in_dim(value, [batcher.size, *shape], [0] if row.each else [])
            operands.append(value)
        else:
            operands.append(batcher.full(row))
    made = batcher.like(op, operands)
    return ops.optimization_barrier(made) if _is_mask(op) else made


def _is_mask(op: ir.Operation) -> bool:
    """Whether an op says which places belong to a row. XLA would compute that again for each element that it masks."""
    if op.name != "stablehlo.compare" or not sizes_of(op.results[0]):
        return False
    made = owner(unspread(op.operands[0]))
    return made is not None and made.name == "stablehlo.iota"


RULES["elementwise"] = elementwise


@rule("optimization_barrier")
def barrier(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    return batcher.like(op, batcher.each(op.operands))


@rule("broadcast_in_dim")
def broadcast(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    axes = [0, *shifted(integers(op, "broadcast_dimensions"))]
    return [ops.broadcast_in_dim(batcher.row(op.operands[0]).value, [batcher.size, *sizes_of(op.results[0])], axes)]


@rule("reshape")
def reshape(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    return [ops.reshape(batcher.row(op.operands[0]).value, [batcher.size, *sizes_of(op.results[0])])]


@rule("transpose")
def transpose(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    return [ops.transpose(batcher.row(op.operands[0]).value, [0, *shifted(integers(op, "permutation"))])]


@rule("reverse")
def reverse(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    axes = ops.integer_list(shifted(integers(op, "dimensions")))
    return batcher.like(op, batcher.each(op.operands), dimensions=axes)


@rule("concatenate")
def concatenate(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    return [ops.concatenate(batcher.each(op.operands), axis + 1)]


@rule("slice")
def slice_(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    starts, limits, strides = (integers(op, name) for name in ("start_indices", "limit_indices", "strides"))
    value = batcher.row(op.operands[0]).value
    return [ops.slice(value, [0, *starts], [batcher.size, *limits], [1, *strides])]


@rule("pad")
def pad(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Padding values of their own are put in afterwards."""
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, interior = ([0, *integers(op, name)] for name in names)
    operand, padding = (batcher.row(value) for value in op.operands)
    if not padding.each:
        return [ops.pad(batcher.full(operand), padding.value, low, high, interior)]
    inside = ops.full(np.array(True), sizes_of(op.operands[0]))
    no = ops.constant(np.array(False))
    kept = ops.pad(inside, no, low[1:], high[1:], interior[1:])
    shape = [batcher.size, *sizes_of(op.results[0])]
    zero = ops.scalar(0, padding.value)
    moved = ops.pad(batcher.full(operand), zero, low, high, interior)
    kept = ops.broadcast_in_dim(kept, shape, range(1, len(shape)))
    return [stablehlo.select(kept, moved, ops.broadcast_in_dim(padding.value, shape, [0]))]


@rule("bitcast_convert", "chlo.top_k", "cholesky", "fft")
def behind(batcher: Batcher, op: ir.Operation) -> Any:
    """Ops that take any number of axes in front."""
    return batcher.like(op, batcher.each(op.operands))
