"""Shape ops: broadcast, reshape, transpose, concatenate, slice, pad, iota, reverse.

In: handles and dimensions (ints and symbolic ones alike). Out: handles. Each op is emitted in its static form when all
sizes that it needs are ints, in its dynamic form (`dynamic_*`, `real_dynamic_slice`) when one is not.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .. import dims as dimension
from ..dims import Dim, maximum, minimum
from .core import Builder, Tensor
from .places import Attributes, Dims, DType, Expansion, Join, Rows, Transpose


def i64_array(values: Sequence[int]) -> str:
    """Text of an `array<i64: ...>` attribute."""
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def all_static(dims: Sequence[Dim]) -> bool:
    """True when every dimension is an int."""
    return all(type(dim) is int for dim in dims)


def product(dims: Sequence[Dim]) -> Dim:
    """Number of elements of a shape."""
    return math.prod(dims)


def _same(x: Tensor, dims: Dims) -> bool:
    """Whether `dims` is the shape of `x`, by what is known to be equal, and gives the same type."""
    canonical = x.builder.constraints.canonical
    return len(dims) == x.ndim and all(
        a == b or (type(a) is not int and type(b) is not int and canonical(a) == canonical(b))
        for a, b in zip(x.dims, dims, strict=True)
    )


def shaped(
    builder: Builder, name: str, operands: Sequence[Tensor], dims: Dims, dtype: DType, attributes: Attributes = ()
) -> Tensor:
    """The op of this name, or its dynamic form, which takes the result's shape as an operand."""
    if all_static(dims):
        return builder.op(f"stablehlo.{name}", operands, dims, dtype, attributes)
    return builder.op(f"stablehlo.dynamic_{name}", [*operands, builder.size_vector(dims)], dims, dtype, attributes)


def sized(
    names: tuple[str, str],
    operands: Sequence[Tensor],
    sizes: Mapping[str, Sequence[Dim]],
    dims: Dims,
    attributes: Attributes = (),
) -> Tensor:
    """The first op with these sizes as attributes, or the second one with them as operands, if one is symbolic."""
    x = operands[0]
    if all(map(all_static, sizes.values())):
        own = [(name, i64_array(values)) for name, values in sizes.items()]  # type: ignore[arg-type]
        return x.builder.op(f"stablehlo.{names[0]}", operands, dims, x.dtype, (*own, *attributes))
    vectors = [x.builder.size_vector(values) for values in sizes.values()]
    return x.builder.op(f"stablehlo.{names[1]}", [*operands, *vectors], dims, x.dtype, attributes)


def broadcast_in_dim(x: Tensor, dims: Dims, broadcast_dimensions: Sequence[int]) -> Tensor:
    """Stretches `x` to `dims`; axis i of `x` becomes axis `broadcast_dimensions[i]`.

    Each axis of `x` has size 1 or the size of the axis it becomes.
    """
    builder = x.builder
    if x.dims == dims and tuple(broadcast_dimensions) == tuple(range(len(dims))):
        return x
    dims = tuple(dim if type(dim) is int else builder.constraints.canonical(dim) for dim in dims)
    expanded = builder.noted(Expansion, x)
    if expanded is not None:
        x, broadcast_dimensions = expanded.source, [broadcast_dimensions[axis] for axis in expanded.kept]
    for axis, target in enumerate(broadcast_dimensions):
        if x.dims[axis] != 1:
            builder.equate(dims[target], x.dims[axis], "broadcast")
    if tuple(broadcast_dimensions) == tuple(range(len(dims))) and _same(x, dims):
        return with_dims(x, dims)
    scalar = x.literal is not None and x.literal.size == 1
    if scalar and x.ndim:
        x, broadcast_dimensions = builder.constant(x.literal.reshape(())), ()  # type: ignore[union-attr]
    attributes = (("broadcast_dimensions", i64_array(broadcast_dimensions)),)
    result = shaped(builder, "broadcast_in_dim", [x], dims, x.dtype, attributes)
    if scalar:
        builder.splats[result.uid] = x.literal  # type: ignore[assignment]
    return result


def broadcast(x: Tensor, dims: Dims) -> Tensor:
    """Stretches `x` to `dims` as NumPy does: its axes are the last ones."""
    return broadcast_in_dim(x, dims, range(len(dims) - x.ndim, len(dims)))


def full(builder: Builder, value: Tensor, dims: Dims) -> Tensor:
    """A tensor of shape `dims` that holds the scalar `value` everywhere."""
    return broadcast_in_dim(value, dims, ())


def reshape(x: Tensor, dims: Dims) -> Tensor:
    """Same elements in the same order, in shape `dims`; the numbers of elements are equated."""
    builder = x.builder
    if x.dims == dims:
        return x
    if _same(x, dims):
        return with_dims(x, dims)
    builder.equate(product(dims), product(x.dims), "reshape")
    if x.literal is not None and x._value is None and all_static(dims) and x.literal.size <= 64:
        return builder.constant(x.literal.reshape(dims))
    known = x.sizes if len(dims) < 2 else None
    if known is not None and x.literal is not None:
        return builder.constant(x.literal.reshape(-1 if dims else ()))
    if known is not None and x._value is None:
        return builder.of_sizes(known, dims, x.dtype)
    result = shaped(builder, "reshape", [x], dims, x.dtype)
    if known is not None:
        builder.knowing(result, known)
    kept = _kept_axes(x.dims, dims)
    if kept is not None:
        builder.note_made(Expansion(x, kept, result=result))
    return result


def _kept_axes(old: Dims, new: Dims) -> tuple[int, ...] | None:
    """The places of a shape's axes in another one that has further axes of size 1; None if it is not such a one."""
    kept: list[int] = []
    for axis, dim in enumerate(new):
        if len(kept) < len(old) and dim == old[len(kept)]:
            kept.append(axis)
        elif dim != 1:
            return None
    return tuple(kept) if len(kept) == len(old) < len(new) else None


def transpose(x: Tensor, permutation: Sequence[int]) -> Tensor:
    """Axis i of the result is axis `permutation[i]` of `x`."""
    if list(permutation) == list(range(x.ndim)):
        return x
    dims = tuple(x.dims[axis] for axis in permutation)
    result = x.builder.op("stablehlo.transpose", [x], dims, x.dtype, (("permutation", i64_array(permutation)),))
    x.builder.note_made(Transpose(x, tuple(permutation), result=result))
    return result


def expand_dims(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Inserts axes of size 1 at the given places of the result."""
    if not axes:
        return x
    rank = x.ndim + len(axes)
    rest = iter(x.dims)
    return reshape(x, tuple(1 if axis in axes else next(rest) for axis in range(rank)))


def squeeze(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Drops axes; their sizes are equated with 1."""
    for axis in axes:
        x.builder.equate(x.dims[axis], 1, f"dropped axis {axis}")
    return reshape(x, tuple(dim for axis, dim in enumerate(x.dims) if axis not in axes))


def concatenate(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Joins tensors along `axis`; their other sizes are equated."""
    builder = parts[0].builder
    if len(parts) == 1:
        return parts[0]
    dims = list(parts[0].dims)
    total: Dim = dims[axis]
    for part in parts[1:]:
        total = total + part.dims[axis]
        for other in range(len(dims)):
            if other != axis:
                dims[other] = builder.equate(dims[other], part.dims[other], f"join, axis {other}")
    dims[axis] = builder.constraints.canonical(total)
    attributes = (("dimension", f"{axis} : i64"),)
    result = builder.op("stablehlo.concatenate", parts, tuple(dims), parts[0].dtype, attributes)
    parts_ = tuple((x.dims[axis], lambda x=x: x) for x in parts)
    builder.note_made(Join(parts_, axis, result=result))
    return result


def slice(x: Tensor, start: Sequence[Dim], limit: Sequence[Dim], stride: Sequence[int] | None = None) -> Tensor:
    """Elements `start, start + stride, ... < limit` of each axis.

    The caller sees to `0 <= start <= limit <= size` and `stride > 0`.
    """
    builder = x.builder
    steps = list(stride) if stride is not None else [1] * x.ndim
    if list(start) == [0] * x.ndim and list(limit) == list(x.dims) and steps == [1] * x.ndim:
        return x
    dims = tuple((b - a + s - 1) // s for a, b, s in zip(start, limit, steps, strict=True))
    join = builder.noted(Join, x)
    if join is not None and dims != x.dims:
        found = _part_with(join, start[join.axis], limit[join.axis])
        if found is not None:
            make, offset = found
            part = make()
            start, limit = list(start), list(limit)
            start[join.axis], limit[join.axis] = start[join.axis] - offset, limit[join.axis] - offset
            return with_dims(slice(part, start, limit, stride), dims)
    if x.sizes is not None and all_static(start) and all_static(limit):
        places = range(int(start[0]), int(limit[0]), steps[0])  # type: ignore[arg-type]
        if x.literal is not None:
            return builder.constant(x.literal[places])
        if builder.exact(x.sizes, x.dtype):
            return builder.size_vector([x.sizes[place] for place in places], x.dtype)
    plain = steps == [1] * x.ndim
    if not (all_static(start) and all_static(limit)) and all_static(dims) and plain:
        sizes = (("slice_sizes", i64_array(dims)),)  # type: ignore[arg-type]
        starts = [builder.size(value) for value in start]
        result = builder.op("stablehlo.dynamic_slice", [x, *starts], dims, x.dtype, sizes)
    else:
        ends = {"start_indices": start, "limit_indices": limit, "strides": steps}
        result = sized(("slice", "real_dynamic_slice"), [x], ends, dims)
    if x.ndim and plain and list(start[1:]) == [0] * (x.ndim - 1) and tuple(limit[1:]) == x.dims[1:]:
        builder.note_made(Rows(x, start[0], 1, result=result))
    return result


def with_last(x: Tensor, axis: int, last: tuple[Dim, Callable[[], Tensor]] | None) -> Tensor:
    """The same, whose last elements along an axis, so many, are known to be these: slices of them read these."""
    if last is not None:
        join = x.builder.note_made(Join((), axis, result=x))
        if join.axis == axis:
            join.last = last
    return x


def _part_with(join: Join, start: Dim, limit: Dim) -> tuple[Callable[[], Tensor], Dim] | None:
    """The part of a concatenation that holds these elements, and where it begins; None where none is known to."""
    offset: Dim = 0
    if join.last is not None:
        size, last = join.last
        offset = join.result.dims[join.axis] - size
        least = dimension.bounds(start - offset)[0]
        if least is not None and least >= 0:
            return last, offset
        offset = 0
    if type(start) is int and type(limit) is int and join.ends is not None:
        place = bisect_right(join.ends, start)
        begin = join.ends[place - 1] if place else 0
        return (join.parts[place][1], begin) if place < len(join.ends) and limit <= join.ends[place] else None
    for size, part in join.parts:
        end = offset + size
        inside = [dimension.bounds(start - offset)[0], dimension.bounds(end - limit)[0]]
        if all(room is not None and room >= 0 for room in inside):
            return part, offset
        offset = end
    return None


def slice_axis(x: Tensor, axis: int, start: Dim, length: Dim, step: int = 1) -> Tensor:
    """`length` elements of one axis from `start` on, every `step`-th; `step` may be negative.

    The caller sees to it that all of them exist (`length` may be 0).
    """
    if step < 0:
        # Elements start, start+step, ... are, from low to high, those from start + (length-1)*step on. An empty slice
        # must not start below 0 or above the size.
        low = (start + (length - 1) * step) * minimum(length, 1)
        return reverse(slice_axis(x, axis, low, length, -step), [axis])
    return slice_axes(x, {axis: (start, length, step)})


def slice_axes(x: Tensor, parts: Mapping[int, tuple[Dim, Dim, int]]) -> Tensor:
    """Slices of several axes at once: axis -> (start, length, positive step). The caller sees to it that they exist."""
    whole: list[tuple[Dim, Dim, int]] = [(0, size, 1) for size in x.dims]
    chosen = [parts.get(axis, each) for axis, each in enumerate(whole)]
    # Behind the last element; the start of an empty slice.
    limits = [start + (length if step == 1 else maximum((length - 1) * step + 1, 0)) for start, length, step in chosen]
    result = slice(x, [start for start, _, _ in chosen], limits, [step for _, _, step in chosen])
    return with_dims(result, tuple(length for _, length, _ in chosen))


def with_dims(x: Tensor, dims: Dims) -> Tensor:
    """The same value under another, equal, way to write its dimensions."""
    if x.dims == dims:
        return x
    if [type(dim) is int for dim in x.dims] != [type(dim) is int for dim in dims]:
        return x
    return Tensor(x.builder, x.value, dims, x.dtype, sizes=x.sizes, literal=x.literal, uid=x.uid)


def pad(
    x: Tensor,
    value: Tensor,
    low: Sequence[Dim],
    high: Sequence[Dim],
    interior: Sequence[int] | None = None,
) -> Tensor:
    """`stablehlo.pad`: `value` before, after and between the elements of each axis; negative amounts cut."""
    between = list(interior) if interior is not None else [0] * x.ndim
    if all_static(low) and all_static(high) and not (any(low) or any(high) or any(between)):
        return x
    dims: list[Dim] = []
    for size, before, after, gap in zip(x.dims, low, high, between, strict=True):
        inner = size
        if gap:
            inner = size + gap * maximum(size - 1, 0)
        dims.append(before + inner + after)
    amounts = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": between}
    return sized(("pad", "dynamic_pad"), [x, value], amounts, tuple(dims))


def iota(builder: Builder, dims: Dims, axis: int, dtype: DType) -> Tensor:
    """Indices 0, 1, ... along `axis`, of shape `dims`."""
    attributes = (("iota_dimension", f"{axis} : i64"),)
    return shaped(builder, "iota", [], dims, dtype, attributes)


def reverse(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Elements in the opposite order along `axes`."""
    result = x.builder.op("stablehlo.reverse", [x], x.dims, x.dtype, (("dimensions", i64_array(axes)),))
    if list(axes) == [0]:
        x.builder.note_made(Rows(x, x.dims[0] - 1, -1, result=result))
    return result


def stack_scalars(parts: Sequence[Tensor]) -> Tensor:
    """A vector of scalars, shape `(len(parts),)`; knows its sizes when all parts do."""
    builder = parts[0].builder
    dtype = parts[0].dtype
    known = tuple(dim for part in parts if (dim := part.dim) is not None)

    def computed() -> Tensor:
        return concatenate([reshape(part, (1,)) for part in parts], 0)

    if len(known) < len(parts):
        return computed()
    if all(part.literal is not None for part in parts):
        return builder.constant(np.array([part.literal for part in parts], dtype))
    return builder.known_as(known, (len(parts),), dtype, computed)


def custom_call(
    target: str,
    operands: Sequence[Tensor],
    results: Sequence[tuple[Dims, DType]],
    *,
    backend_config: Mapping[str, str] | None = None,
    has_side_effect: bool = False,
    attributes: Attributes = (),
) -> list[Tensor]:
    """`stablehlo.custom_call` of a typed FFI target.

    Args:
        target: name of the registered target.
        operands: arguments, row-major.
        results: (dims, dtype) of each result.
        backend_config: FFI attributes as (name, MLIR text).
        has_side_effect: keeps the call although nothing uses its results.
        attributes: further ones.
    """
    builder = operands[0].builder
    config = ", ".join(f"{k} = {v}" for k, v in (backend_config or {}).items())
    attributes += (
        ("call_target_name", json.dumps(target)),
        ("api_version", "4 : i32"),
        ("backend_config", f"{{{config}}}"),
        ("has_side_effect", "true" if has_side_effect else "false"),
    )
    shape_operands: list[Tensor] = []
    if any(type(dim) is not int for dims, _ in results for dim in dims):
        # Result sizes are given as operands, so that shape refinement can read them; it takes them away again.
        shape_operands = [builder.size_vector(dims) for dims, _ in results]
        places = range(len(operands), len(operands) + len(shape_operands))
        text = f"dense<{list(places)}> : tensor<{len(places)}xi64>"
        attributes += (("indices_of_shape_operands", text),)
    return builder.create("stablehlo.custom_call", [*operands, *shape_operands], results, attributes)[1]
