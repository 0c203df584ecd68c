"""Steps that move elements: broadcasts, slices, pads, reshapes."""

from dataclasses import replace

from hlograph import builder as hlo
from hlograph.builder import Dims

from .maker import Maker, is_ranked, kind
from .recipes import ELEMENTS, F64, I32, I64, Choices, Dim, InapplicableError, Value, minimum


@kind("iota", 3)
def _iota(m: Maker, c: Choices) -> None:
    dims = tuple(c.pick(m.pool) for _ in range(1 + c.below(2)))
    axis = c.below(len(dims))
    m.add(Value(hlo.iota(m.builder, dims, axis, c.pick([F64, I32, I64])), 0, m.bound(dims[axis])))


@kind("broadcast", 5)
def _broadcast(m: Maker, c: Choices) -> None:
    """A new axis, of a size of its own."""
    x = m.operand(c, lambda v: len(v.dims) < 3)
    at = c.below(len(x.dims) + 1)
    dims = (*x.dims[:at], c.pick(m.pool), *x.dims[at:])
    if m.count(dims) > ELEMENTS:
        raise InapplicableError("too many elements")
    result = hlo.broadcast_in_dim(x.tensor, dims, [axis + (axis >= at) for axis in range(len(x.dims))])
    m.add(replace(x, tensor=result), huge=True)


@kind("transpose", 4)
def _transpose(m: Maker, c: Choices) -> None:
    x = m.operand(c, lambda v: len(v.dims) > 1)
    order = list(range(len(x.dims)))
    order.insert(c.below(len(order)), order.pop(c.below(len(order))))
    m.add(replace(x, tensor=hlo.transpose(x.tensor, order[::-1] if order == sorted(order) else order)), huge=True)


@kind("reverse", 4)
def _reverse(m: Maker, c: Choices) -> None:
    x = m.operand(c, is_ranked)
    axes = [c.below(len(x.dims))] if c.below(3) else list(range(len(x.dims)))
    m.add(replace(x, tensor=hlo.reverse(x.tensor, axes)), huge=True)


@kind("concatenate", 6)
def _concatenate(m: Maker, c: Choices) -> None:
    x = m.operand(c, is_ranked)
    axis = c.below(len(x.dims))

    def joins(v: Value) -> bool:
        return v.dtype == x.dtype and len(v.dims) == len(x.dims) and _without(v.dims, axis) == _without(x.dims, axis)

    parts = [x, *[m.operand(c, joins) for _ in range(1 + c.below(2))]]
    result = hlo.concatenate([part.tensor for part in parts], axis)
    m.add(Value.joined(result, *parts), huge=True)


def _without(dims: Dims, axis: int) -> Dims:
    return (*dims[:axis], *dims[axis + 1 :])


@kind("slice", 8)
def _slice(m: Maker, c: Choices) -> None:
    """From the beginning, from the end, or from the middle; every, or every second or third, also backwards."""
    x = m.operand(c, is_ranked)
    axis = c.below(len(x.dims))
    dim = x.dims[axis]
    if c.one_in(8):
        m.at_least_one(dim)
        start, length = 1, dim - 1
    else:
        length = m.length_within(c, dim)
        start = c.pick([0, dim - length, (dim - length) // 2])
    step = c.pick([1, 1, 2, -1, 3, -2])
    count = length if abs(step) == 1 else (length + abs(step) - 1) // abs(step)
    first = start if step > 0 else start + length - 1
    m.add(replace(x, tensor=hlo.slice_axis(x.tensor, axis, first, count, step)), huge=True)


@kind("diagonal", 1)
def _diagonal(m: Maker, c: Choices) -> None:
    """A slice whose stride is a size."""
    x = m.operand(c, lambda v: len(v.dims) > 1 and v.dims[-1] == v.dims[-2])
    m.add(replace(x, tensor=hlo.diagonal(x.tensor)), huge=True)


@kind("pad", 6)
def _pad(m: Maker, c: Choices) -> None:
    """Before, after and between; also by sizes, and negative."""
    x = m.operand(c, is_ranked)
    axis = c.below(len(x.dims))
    fill = m.shaped(c, (), x.dtype)
    some = c.pick(m.pool)
    options: list[tuple[Dim, Dim, int]] = [
        (0, 1, 0),
        (1, 0, 1),
        (2, 1, 0),
        (0, 0, 2),
        (some, 0, 0),
        (0, some, 1),
        (some, some, 0),
    ]
    cut = minimum(x.dims[axis], some)
    options += [(-cut, 1, 0), (0, -cut, 0), (some - cut, 0, 0), (1 - cut, cut, 0)]
    low, high, gap = c.pick(options)
    if m.bound(x.dims[axis]) + m.bound(low) + m.bound(high) > 40:
        raise InapplicableError("too long")
    zeros: list[Dim] = [0] * len(x.dims)
    result = hlo.pad(
        x.tensor,
        fill.tensor,
        [low if i == axis else z for i, z in enumerate(zeros)],
        [high if i == axis else z for i, z in enumerate(zeros)],
        [gap if i == axis else 0 for i in range(len(zeros))],
    )
    m.add(Value.joined(result, x, fill), huge=True)


@kind("reshape", 7)
def _reshape(m: Maker, c: Choices) -> None:
    """Axes merged, split, inserted."""
    x = m.operand(c, is_ranked)
    options: list[Dims] = [(*x.dims[:i], 1, *x.dims[i:]) for i in range(len(x.dims))]
    for i, (a, b) in enumerate(zip(x.dims, x.dims[1:], strict=False)):
        merged = a * b
        options += [(*x.dims[:i], merged, *x.dims[i + 2 :])] * 3
        if type(merged) is not int:
            m.products[merged] = (a, b)
    for i, dim in enumerate(x.dims):
        halves = dim // 2
        if halves * 2 == dim:
            options += [(*x.dims[:i], *pair, *x.dims[i + 1 :]) for pair in ((halves, 2), (2, halves))]
        if dim in m.products:
            a, b = m.products[dim]
            options += [(*x.dims[:i], *pair, *x.dims[i + 1 :]) for pair in ((a, b), (b, a))] * 2
    options = [dims for dims in options if len(dims) <= 4]
    if not options:
        raise InapplicableError("nothing to merge or split")
    m.add(replace(x, tensor=hlo.reshape(x.tensor, c.pick(options))), huge=True)
