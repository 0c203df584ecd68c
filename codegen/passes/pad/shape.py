"""Padding rules: sizes, indices, broadcasts, transposes, concatenations."""

from __future__ import annotations

from collections.abc import Sequence

from ... import builder as hlo
from ...builder import Tensor
from ...dims import Dim
from ...ir.attributes import integers
from ...ir.bindings import ir
from . import facts
from .facts import UNKNOWN, Fact
from .live import Dims, Live
from .padder import Padder, pads


def integer(operation: ir.Operation, name: str) -> int:
    """An integer attribute."""
    return ir.IntegerAttr(operation.attributes[name]).value


@pads("stablehlo.get_dimension_size")
def get_dimension_size(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The live size, known as an expression."""
    dim = operands[0].dims[integer(operation, "dimension")]
    dtype = padder.type_of(operation.results[0])[1]
    return [padder.live(padder.builder.size(dim, dtype))]


@pads("stablehlo.iota", "stablehlo.dynamic_iota")
def iota(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The same indices at every size."""
    shape, dtype = padder.type_of(operation.results[0])
    dims = result_dims(padder, shape, operands[0] if operands else None)
    axis = integer(operation, "iota_dimension")
    return [padder.live(hlo.iota(padder.builder, padder.static_shape(dims), axis, dtype), dims, facts.FINITE)]


def result_dims(padder: Padder, shape: Sequence[int | None], operand: Live | None) -> Dims:
    """Result dims of an op with a shape operand."""
    if operand is None:
        return tuple(size for size in shape if size is not None)
    known = padder.sizes_of(operand, "the result's size")
    for size, dim in zip(shape, known, strict=True):
        if size is None:
            padder.demand(dim, 0, "a size that is not negative")
    return tuple(dim if size is None else size for size, dim in zip(shape, known, strict=True))


@pads("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")
def broadcast_in_dim(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Axes that stay keep their padding; in new ones it holds what the operand holds."""
    shape, _ = padder.type_of(operation.results[0])
    dims = list(result_dims(padder, shape, operands[1] if len(operands) > 1 else None))
    x = operands[0]
    places = integers(operation, "broadcast_dimensions")
    sizes = x.tensor.sizes
    length = dims[0] if len(dims) == 1 and not x.dims else None
    exact = sizes is not None and not isinstance(sizes, tuple) and padder.builder.exact(sizes, x.dtype)
    if exact and type(length) is int and length <= 16:
        vector = padder.builder.size_vector([sizes] * length, x.dtype)  # type: ignore[list-item]
        return [padder.live(vector, fact=x.whole)]
    for axis, place in enumerate(places):
        if x.dims[axis] != 1:
            dims[place] = padder.equate(dims[place], x.dims[axis], "broadcast")
    x = padder.fit(x, [1 if x.dims[axis] == 1 else dims[place] for axis, place in enumerate(places)])
    tensor = hlo.broadcast_in_dim(x.tensor, padder.static_shape(dims), places)
    known: list[Fact] = [x.whole] * len(dims)
    for axis, place in enumerate(places):
        known[place] = x.pad(axis)
    return [padder.make(tensor, dims, known, x.whole)]


@pads("stablehlo.transpose")
def transpose(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Facts go with their axes."""
    x = operands[0]
    order = integers(operation, "permutation")
    tensor = hlo.transpose(x.tensor, order)
    return [Live(tensor, tuple(x.dims[i] for i in order), tuple(x.pads[i] for i in order), x.whole)]


@pads("stablehlo.concatenate")
def concatenate(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Along a padded axis each part is written at its running live offset, over the padding of the one before."""
    axis = integer(operation, "dimension")
    first = operands[0]
    if first.ndim == 1 and all(x.tensor.sizes is not None for x in operands) and not any(x.padded for x in operands):
        known = _as_sizes(padder, operands)
        if known is not None:
            return [padder.live(known)]
    if first.ndim == 2 and axis == 0 and all(x.tensor.uid in padder.tables for x in operands):
        rows = hlo.concatenate([x.tensor for x in operands], 0)
        padder.tables[rows.uid] = tuple(dim for x in operands for dim in padder.tables[x.tensor.uid])
        return [padder.live(rows)]
    parts = _aligned_but(padder, operands, axis)
    lengths = [x.dims[axis] for x in parts]
    total: Dim = 0
    for length in lengths:
        total = total + length
    dims = [total if i == axis else dim for i, dim in enumerate(parts[0].dims)]
    known_pads = [
        facts.join_all([x.pad(i) for x in parts]) if parts[0].pads[i] is not None or i == axis else None
        for i in range(first.ndim)
    ]
    whole = facts.join_all([x.whole for x in parts])
    if all(type(length) is int for length in lengths[:-1]):
        tensor = hlo.concatenate([x.tensor for x in parts], axis)
        result = padder.make(
            tensor, dims, [parts[-1].pads[axis] if i == axis else f for i, f in enumerate(known_pads)], whole
        )
        return [padder.fit(result, result.dims)]
    padder.note("shift", padder.dim(total), "joined at live offsets")
    room = sum(x.shape[axis] for x in parts)
    fill = known_pads[axis].value if isinstance(known_pads[axis], facts.Constant) else None  # type: ignore[union-attr]
    result = padder.resize(parts[0], axis, room, fill)
    offset: Dim = parts[0].dims[axis]
    zero = padder.index_constant(0)
    tensor = result.tensor
    for x in parts[1:]:
        starts = [padder.builder.size(padder.dim(offset)) if i == axis else zero for i in range(x.ndim)]
        tensor = hlo.dynamic_update_slice(tensor, x.tensor, starts)
        offset = offset + x.dims[axis]
    if not isinstance(known_pads[axis], facts.Constant):
        known_pads[axis] = facts.join(known_pads[axis] or UNKNOWN, facts.constant(0, first.dtype))
    filler = facts.constant(0 if fill is None else fill, first.dtype)
    known_pads = [f if f is None or i == axis else facts.join(f, filler) for i, f in enumerate(known_pads)]
    joined = padder.make(tensor, dims, known_pads, facts.join(whole, filler))
    return [padder.fit(joined, joined.dims)]


def _as_sizes(padder: Padder, operands: Sequence[Live]) -> Tensor | None:
    """A vector of sizes from parts that are known as sizes."""
    dims: list[Dim] = []
    dtype = operands[0].dtype
    for x in operands:
        sizes = x.tensor.sizes
        dims += sizes if isinstance(sizes, tuple) else [sizes]  # type: ignore[list-item]
    if len(dims) > 64 or not padder.builder.exact(tuple(dims), dtype):
        return None
    return padder.builder.size_vector(dims, dtype)


def _aligned_but(padder: Padder, operands: Sequence[Live], axis: int) -> list[Live]:
    dims = operands[0].dims
    for x in operands[1:]:
        dims = tuple(
            a if i == axis else padder.equate(a, b, "join") for i, (a, b) in enumerate(zip(dims, x.dims, strict=True))
        )
    return [padder.fit(x, [x.dims[i] if i == axis else d for i, d in enumerate(dims)]) for x in operands]
