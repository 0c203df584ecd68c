"""Batching rules of ops that compute elements one by one, or move them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import open_ops, ops
from ..attributes import attributes_of, call_target, dense_attr, integers
from ..bindings import current_context, ir, stablehlo
from ..kinds import SCALAR_OPERANDS
from ..op_sheet import leading
from ..open_ops import Size
from ..values import owner, sizes_of, unspread
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
    small = {place for place in scalars if shape and not sizes_of(op.operands[place])}
    operands = [
        batcher.row(value).value if place in small else batcher.full(batcher.row(value))
        for place, value in enumerate(op.operands)
    ]
    for place in small if spread else ():
        whole = open_ops.sizes(next(operands[other] for other in range(len(operands)) if other not in small))
        axes = [0] if batcher.row(op.operands[place]).each else []
        operands[place] = open_ops.broadcast(operands[place], whole, axes)
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
    return [open_ops.broadcast(batcher.row(op.operands[0]).value, [batcher.size, *sizes_of(op.results[0])], axes)]


@rule("reshape")
def reshape(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    return [open_ops.reshape(batcher.row(op.operands[0]).value, [batcher.size, *sizes_of(op.results[0])])]


@rule("dynamic_broadcast_in_dim", "dynamic_reshape", "dynamic_pad")
def to_sizes(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Ops that are given sizes, or places, as vectors: for the batch axis these say that it stays as it is."""
    operands = list(batcher.each(op.operands[:1]))
    front: dict[str, list[Size]] = {
        "stablehlo.dynamic_pad": [0, 0, 0],
        "stablehlo.real_dynamic_slice": [0, batcher.size, 1],
    }
    added = front.get(op.name, [batcher.size])
    if op.name == "stablehlo.dynamic_pad":
        operands.append(batcher.same_for_all(op.operands[1]))
    vectors = list(op.operands)[len(operands) :]
    for vector, first in zip(vectors, added, strict=True):
        value = batcher.same_for_all(vector)
        head = ops.convert(ops.reshape(open_ops.number(first), [1]), value)
        operands.append(ops.concatenate([head, value], 0))
    attributes: dict[str, ir.Attribute] = {}
    for name in ("broadcast_dimensions", "known_expanding_dimensions", "known_nonexpanding_dimensions"):
        if name in op.attributes:
            first_axis = [0] if name == "broadcast_dimensions" else []
            attributes[name] = ops.integer_list([*first_axis, *shifted(integers(op, name))])
    return batcher.like(op, operands, None, **attributes)


@rule("slice")
def slice_(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    starts, limits, strides = (integers(op, name) for name in ("start_indices", "limit_indices", "strides"))
    value = batcher.row(op.operands[0]).value
    if isinstance(batcher.size, int):
        return [ops.slice(value, [0, *starts], [batcher.size, *limits], [1, *strides])]
    vectors = [open_ops.vector([first, *rest]) for first, rest in ((0, starts), (batcher.size, limits), (1, strides))]
    return [stablehlo.real_dynamic_slice(batcher.type_of(op.results[0]), value, *vectors)]


@rule("pad")
def pad(batcher: Batcher, op: ir.Operation) -> list[ir.Value]:
    """Padding values of their own are put in afterwards."""
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, interior = ([0, *integers(op, name)] for name in names)
    operand, padding = (batcher.row(value) for value in op.operands)
    if not padding.each:
        return [ops.pad(batcher.full(operand), padding.value, low, high, interior)]
    whole = batcher.full(operand)
    zero = ops.scalar(0, padding.value)
    moved = ops.pad(whole, zero, low, high, interior)
    inside = open_ops.full(1, np.bool_, open_ops.sizes(whole))
    kept = ops.pad(inside, ops.constant(np.array(False)), low, high, interior)
    return [stablehlo.select(kept, moved, open_ops.broadcast(padding.value, open_ops.sizes(moved), [0]))]


@rule("bitcast_convert", "chlo.top_k", "cholesky", "concatenate", "fft", "map", "reverse", "sort", "transpose")
def behind(batcher: Batcher, op: ir.Operation) -> Any:
    """Ops that take any number of axes in front; what their attributes are then is in the table of axes."""
    return batcher.like(op, batcher.each(op.operands), None, **leading(op))


@rule("custom_call")
def custom_call(batcher: Batcher, op: ir.Operation) -> Any:
    """Those of the builder that wait for sizes, or for a platform's library, take any number of axes in front."""
    if call_target(op) == "stablehlo.dynamic_reduce_window" and not batcher.row(op.operands[1]).each:
        return batcher.like(op, _window(batcher, *op.operands))
    if call_target(op) not in _IN_FRONT:
        return NotImplemented
    given = "indices_of_shape_operands" in op.attributes
    data = list(op.operands)[: len(op.operands) - (len(op.results) if given else 0)]
    shapes = [open_ops.elements(batcher.same_for_all(x)) for x in list(op.operands)[len(data) :]]
    types = [batcher.type_of(result) for result in op.results]
    attributes = attributes_of(op.attributes)
    operands = batcher.each(data)
    if given or not isinstance(batcher.size, int):
        shapes = shapes or [list(sizes_of(result)) for result in op.results]
        operands += [open_ops.vector([batcher.size, *shape]) for shape in shapes]
        places = np.arange(len(data), len(operands))
        attributes["indices_of_shape_operands"] = dense_attr(places, current_context())
    return list(ir.Operation.create(op.name, results=types, operands=operands, attributes=attributes).results)


def _window(batcher: Batcher, x: ir.Value, start: ir.Value, *vectors: ir.Value) -> list[ir.Value]:
    """Operands of a reduction over windows whose sizes are open: of the batch axis a window has one element."""
    *sizes, padding = map(batcher.same_for_all, vectors)
    ones = [ops.concatenate([ops.full_like(each, 1, [1]), each], 0) for each in sizes]
    count = 2 * sizes_of(padding)[0]
    padding = ops.concatenate([ops.full_like(padding, 0, [2]), ops.reshape(padding, [count])], 0)
    padding = ops.reshape(padding, [1 + count // 2, 2])
    return [batcher.full(batcher.row(x)), batcher.row(start).value, *ones, padding]


_IN_FRONT = ("hlograph.fft", "hlograph.library")
