"""Padding rules: sizes, indices, broadcasts, transposes, concatenations, reshapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.shape import product
from ...dims import Dim, maximum
from ...ir.bindings import ir
from ...ir.values import integers
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
        own = [x.tensor.sizes for x in operands]
        sizes: Any = [dim for part in own for dim in (part if isinstance(part, tuple) else (part,))]
        if len(sizes) <= 64 and padder.builder.exact(tuple(sizes), first.dtype):
            return [padder.live(padder.builder.size_vector(sizes, first.dtype))]
    if first.ndim == 2 and axis == 0 and all(x.tensor.uid in padder.tables for x in operands):
        rows = hlo.concatenate([x.tensor for x in operands], 0)
        padder.tables[rows.uid] = tuple(dim for x in operands for dim in padder.tables[x.tensor.uid])
        return [padder.live(rows)]
    common = first.dims
    for x in operands[1:]:
        pairs = enumerate(zip(common, x.dims, strict=True))
        common = tuple(a if i == axis else padder.equate(a, b, "join") for i, (a, b) in pairs)
    parts = [padder.fit(x, [x.dims[i] if i == axis else d for i, d in enumerate(common)]) for x in operands]
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


# ---- reshapes -------------------------------------------------------------------------------------------------------


@pads("stablehlo.reshape", "stablehlo.dynamic_reshape")
def reshape(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Free where padded axes are the major ones of what is merged or split; else the elements are moved together."""
    x = operands[0]
    shape, _dtype = padder.type_of(operation.results[0])
    if not x.padded and None not in shape and len(operands) == 1:
        result = hlo.reshape(x.tensor, shape)  # type: ignore[arg-type]
        elements = _elements(padder, x)
        if elements is not None and len(shape) == 2:
            result.value  # noqa: B018  the handle takes its uid now
            padder.tables[result.uid] = elements
        return [Live(result, shape, (None,) * len(shape), x.whole)]  # type: ignore[arg-type]
    if len(operands) > 1 or None not in shape:
        return [reshaped(padder, x, result_dims(padder, shape, operands[1] if len(operands) > 1 else None))]
    # A static reshape of a padded operand; one size may be open.
    total, given = product(x.dims), math.prod(size for size in shape if size is not None)
    if shape.count(None) > 1:
        padder.refuse("the result's size is not known", total)
    return [reshaped(padder, x, tuple(total // given if size is None else size for size in shape))]


def _elements(padder: Padder, x: Live) -> Dims | None:
    """The elements of a scalar, vector or matrix of sizes, row by row."""
    if x.ndim == 2:
        return padder.tables.get(x.tensor.uid)
    sizes = x.tensor.sizes
    return sizes if isinstance(sizes, tuple) or sizes is None else (sizes,)


def reshaped(padder: Padder, x: Live, dims: Sequence[Dim]) -> Live:
    """`x` with its live elements, in row-major order, in an array of live shape `dims`."""
    dims = tuple(map(padder.dim, dims))
    if 0 in x.dims or 0 in dims:  # nothing is in it, which says nothing of the other sizes
        return padder.live(hlo.broadcast_in_dim(padder.constant(0, x.dtype), padder.static_shape(dims), ()), dims)
    groups = _groups(padder, x.dims, dims)
    result = x
    done: list[Dim] = []
    for old, new in groups:
        start = len(done)
        result = _regroup(padder, result, start, len(old), new)
        done += new
    return result


def _groups(padder: Padder, old: Dims, new: Dims) -> list[tuple[Dims, Dims]]:
    """Splits a reshape into the finest runs of axes with equal numbers of elements."""
    groups: list[tuple[Dims, Dims]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            groups.append(((old[i],), (new[j],)))
            i, j = i + 1, j + 1
            continue
        a, b = _next_equal(padder, old[i:], new[j:])
        groups.append((old[i : i + a], new[j : j + b]))
        i, j = i + a, j + b
    return groups


def _next_equal(padder: Padder, old: Dims, new: Dims) -> tuple[int, int]:
    """The shortest prefixes with equal numbers of elements; all that is left, and a demand, where none is known."""
    of_new: dict[Dim, int] = {}
    total: Dim = 1
    for b, dim in enumerate(new, 1):
        total = padder.dim(total * dim)
        of_new.setdefault(total, b)
    total = 1
    if 1 in of_new and new and new[0] == 1:
        return 0, 1
    for a, dim in enumerate(old, 1):
        total = padder.dim(total * dim)
        if total == 1 and a == 1:
            return 1, 0
        if total in of_new and total != 0:
            return a, of_new[total]
    padder.equate(product(old), product(new), "reshape")
    return len(old), len(new)


def _regroup(padder: Padder, x: Live, start: int, count: int, new: Dims) -> Live:
    """`x` with its axes `start ... start + count` replaced by axes of live sizes `new`."""
    old, stop = x.dims[start : start + count], start + count
    if old == new:
        return x
    shape = padder.static_shape(new)
    kept = (*x.shape[:start], *shape, *x.shape[stop:])
    dims = (*x.dims[:start], *new, *x.dims[stop:])
    minor_padded = [d for side in (old, new) for d in [d for d in side if d != 1][1:] if type(d) is not int]
    if not minor_padded:
        # Live elements come first, before and after: the padding is the tail of the row-major order.
        size, wanted = math.prod(x.shape[start:stop]), math.prod(shape)
        tail: Fact = facts.join_all(
            [x.pad(axis) for axis in range(start, stop) if x.pads[axis] is not None] or [x.whole]
        )
        if size != wanted:
            flat = hlo.reshape(x.tensor, (*x.shape[:start], size, *x.shape[stop:]))
            fill = tail.value if isinstance(tail, facts.Constant) else None
            axes = (None,) * start + (tail,) + (None,) * (x.ndim - stop)
            flat_live = Live(flat, flat.dims, axes, x.whole)
            flat_live = padder.resize(flat_live, start, wanted, fill)
            tail = (
                tail
                if isinstance(tail, facts.Constant) or size > wanted
                else facts.join(tail, facts.constant(0, x.dtype))
            )
            tensor, whole = hlo.reshape(flat_live.tensor, kept), flat_live.whole
            others = [
                f if f is None else facts.join(f, facts.constant(0 if fill is None else fill, x.dtype)) for f in x.pads
            ]
        else:
            tensor, whole, others = hlo.reshape(x.tensor, kept), x.whole, list(x.pads)
        known = [*others[:start], *[tail] * len(new), *others[stop:]]
        return padder.make(tensor, dims, known, whole)
    padder.note("compact", product(new), f"[{', '.join(map(str, old))}] to [{', '.join(map(str, new))}]")
    flat = hlo.reshape(x.tensor, (*x.shape[:start], math.prod(x.shape[start:stop]), *x.shape[stop:]))
    if math.prod(flat.dims) == 0 or math.prod(kept) == 0:
        tensor = hlo.broadcast_in_dim(padder.constant(0, x.dtype), kept, ())
    else:
        tensor = hlo.take(flat, _places(padder, new, shape, old, x.shape[start:stop]), start)
    known = [*x.pads[:start], *[None] * len(new), *x.pads[stop:]]
    return padder.make(tensor, dims, known, x.whole)


def _places(padder: Padder, new: Dims, shape: tuple[int, ...], old: Dims, old_shape: tuple[int, ...]) -> Tensor:
    """The place in the old static shape, flattened, of the element at each place of the new one."""
    builder = padder.builder
    flat: Tensor | None = None
    stride: Dim = 1
    for axis in reversed(range(len(new))):
        index = hlo.iota(builder, shape, axis, np.dtype(np.int64))
        part = hlo.multiply(index, hlo.broadcast_in_dim(builder.size(padder.dim(stride)), shape, ()))
        flat = part if flat is None else hlo.add(flat, part)
        stride = stride * new[axis]
    if flat is None:
        flat = padder.index_constant(0)
    result: Tensor | None = None
    weight = 1
    for axis in reversed(range(len(old))):
        # Sizes of 0 divide nothing: there is no live element then.
        size = hlo.broadcast_in_dim(builder.size(padder.dim(maximum(old[axis], 1))), shape, ())
        index = hlo.remainder(flat, size) if axis else flat
        flat = hlo.divide(flat, size)
        part = hlo.multiply(index, hlo.broadcast_in_dim(padder.index_constant(weight), shape, ()))
        result = part if result is None else hlo.add(result, part)
        weight *= old_shape[axis]
    result = result if result is not None else hlo.broadcast_in_dim(padder.index_constant(0), shape, ())
    return hlo.clamp(padder.index_constant(0), result, padder.index_constant(max(weight - 1, 0)))
