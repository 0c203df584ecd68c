"""Steps that take many elements to one: reductions, products, windows."""

import math
from typing import Any

import numpy as np

from hlograph import builder as hlo
from hlograph.builder import Tensor
from hlograph.codegen.builder.shape import i64_array

from .maker import Maker, grid_of, is_exact_number, is_float, is_index, is_number, is_ranked, kind
from .recipes import BOOL, ELEMENTS, LIMIT, Choices, InapplicableError, Value, maximum


def _monoid_result(
    m: Maker, name: str, x: Value, count: int, least: int
) -> tuple[float, float, int | None, float, bool]:
    """Of what `count` elements combine to: interval, grid, error, special."""
    if name in ("maximum", "minimum"):
        if least == 0 and is_index(x):
            info = np.iinfo(x.dtype)
            return float(info.min), float(info.max), 0, 0.0, False
        return x.low, x.high, x.grid, x.error, x.special or least == 0
    if name == "add":
        error = 0.0 if x.exact else count * x.error + count * count * x.size
        return min(x.low * count, 0), max(x.high * count, 0), x.grid, error, x.special
    if name == "multiply":
        reach = max(x.size, 1.0) ** count
        if reach > 2**16 or not x.exact or (x.grid or 0) * count > 8:
            raise InapplicableError("a large product")
        return -reach, reach, (x.grid or 0) * count, 0.0, x.special
    if not x.exact or x.size > LIMIT:
        raise InapplicableError("bits of huge numbers")
    return (0, 1, 0, 0.0, False) if x.dtype == BOOL else (-(2**20), 2**20, 0, 0.0, False)


def _monoid(c: Choices, x: Value) -> Any:
    if is_float(x):
        return c.pick(["add", "maximum", "minimum", "multiply", "add"])
    if x.dtype == BOOL:
        return c.pick(["or", "and", "xor", "maximum", "minimum"])
    return c.pick(["add", "maximum", "minimum", "and", "or", "xor", "multiply"])


@kind("reduce", 9)
def _reduce(m: Maker, c: Choices) -> None:
    """One axis or several. (Initial values that are no identity mean different things to XLA and the interpreter.)"""
    x = m.operand(c, is_ranked)
    axes = sorted({c.below(len(x.dims)), c.below(len(x.dims))})
    name = _monoid(c, x)
    count, least = m.count([x.dims[axis] for axis in axes]), math.prod(m.least(x.dims[axis]) for axis in axes)
    low, high, grid, error, special = _monoid_result(m, name, x, count, least)
    m.add(Value(hlo.reduce_monoid(x.tensor, axes, name), low, high, grid, error, special), huge=name != "add")


@kind("reduce_pair", 2)
def _reduce_pair(m: Maker, c: Choices) -> None:
    """A body that is no monoid of one operand: a sum and a maximum at once."""
    x = m.operand(c, lambda v: is_exact_number(v) and bool(v.dims) and v.size < LIMIT)
    y = m.shaped(c, x.dims, x.dtype, lambda v: v.exact and v.size < LIMIT)
    axis = c.below(len(x.dims))
    count = m.bound(x.dims[axis])

    def body(total: Tensor, greatest: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
        return [hlo.add(total, a), hlo.maximum_(greatest, b)]

    inits = [m.builder.constant(hlo.identity(name, x.dtype)) for name in ("add", "maximum")]
    total, greatest = hlo.reduce([x.tensor, y.tensor], inits, [axis], body)
    m.add(Value(total, -x.size * count, x.size * count, x.grid, 0, x.special))
    low, high, grid, error, special = _monoid_result(m, "maximum", y, count, m.least(x.dims[axis]))
    m.add(Value(greatest, low, high, grid, error, special), huge=True)


@kind("arg_reduce", 3)
def _arg_reduce(m: Maker, c: Choices) -> None:
    """Over nothing it is the greatest integer."""
    x = m.operand(c, lambda v: is_exact_number(v) and bool(v.dims))
    result = hlo.arg_reduce(x.tensor, c.below(len(x.dims)), c.pick(["maximum", "minimum"]))  # type: ignore[arg-type]
    m.add(Value(result, 0, 2**63), huge=True)


@kind("mean", 4)
def _mean(m: Maker, c: Choices) -> None:
    """Mean and variance by the axis's size."""
    x = m.operand(c, lambda v: is_float(v) and bool(v.dims) and v.size < 1000)
    axis = c.below(len(x.dims))
    dim = x.dims[axis]
    count = hlo.convert(m.builder.size(dim), x.dtype)
    n = m.bound(dim)
    mean = hlo.divide(*hlo.align(hlo.reduce_monoid(x.tensor, [axis], "add"), count))
    error = 2 * n * (x.error + n * x.size)
    special = x.special or m.least(dim) == 0
    if c.below(2):
        m.add(Value(mean, -x.size, x.size, None, error, special))
        return
    spread = hlo.broadcast_in_dim(mean, x.dims, [i for i in range(len(x.dims)) if i != axis])
    squares = hlo.square(hlo.subtract(x.tensor, spread))
    variance = hlo.divide(*hlo.align(hlo.reduce_monoid(squares, [axis], "add"), count))
    m.add(Value(variance, 0, 4 * x.size**2, None, 8 * n * x.size * (error + x.size * n), special))


@kind("dot", 7)
def _dot(m: Maker, c: Choices) -> None:
    """A contraction over one or two axes, with a batch axis if there is one."""
    x = m.operand(c, lambda v: is_number(v) and bool(v.dims))
    y = m.operand(c, lambda v: v.dtype == x.dtype and bool(set(v.dims) & set(x.dims)))
    pairs: list[tuple[int, int]] = []
    for i, dim in enumerate(x.dims):
        j = next((j for j, other in enumerate(y.dims) if other == dim and j not in [q for _, q in pairs]), None)
        if j is not None:
            pairs.append((i, j))
    batch = [pairs.pop(c.below(len(pairs)))] if len(pairs) > 1 and c.below(2) else []
    pairs = pairs[: 1 + c.below(2)]
    count = m.count([x.dims[i] for i, _ in pairs])
    if m.count(x.dims) * m.count(y.dims) // max(count, 1) > 20 * ELEMENTS:
        raise InapplicableError("too large")
    result = hlo.dot_general(
        x.tensor,
        y.tensor,
        contracting=([i for i, _ in pairs], [j for _, j in pairs]),
        batching=([i for i, _ in batch], [j for _, j in batch]),
    )
    grid, reach = grid_of(x, y), count * x.size * y.size
    error = 0 if grid is not None else count * (x.size * y.error + y.size * x.error) + count * reach
    together = None if grid is None else (x.grid or 0) + (y.grid or 0)
    m.add(Value(result, -reach, reach, together, error, x.special or y.special))


@kind("cumulative", 4)
def _cumulative(m: Maker, c: Choices) -> None:
    x = m.operand(c, is_ranked)
    axis = c.below(len(x.dims))
    name = _monoid(c, x)
    count = m.bound(x.dims[axis])
    if name == "add" and x.grid is None and count > 8:
        raise InapplicableError("too rough")
    low, high, grid, error, special = _monoid_result(m, name, x, count, 1)
    if x.special and name in ("add", "multiply") and type(x.dims[axis]) is int:
        raise InapplicableError("inf in a running sum")
    m.add(
        Value(hlo.cumulative(x.tensor, axis, name), min(low, x.low), max(high, x.high), grid, error, special),
        huge=name != "add",
    )


@kind("window", 4)
def _window(m: Maker, c: Choices) -> None:
    """`reduce_window` along one axis, strided, dilated and padded."""
    x = m.operand(c, is_ranked)
    axis = c.below(len(x.dims))
    name = _monoid(c, x)
    size, stride, low, high = 1 + c.below(3), 1 + c.below(2), c.below(3), c.below(2)
    base, dilation = 1 + c.one_in(4), 1 + c.one_in(4)
    bottom, top, grid, error, special = _monoid_result(m, name, x, size, 0)
    dim = x.dims[axis]
    spread = dim if base == 1 else maximum((dim - 1) * base + 1, 0)
    room = spread + low + high - ((size - 1) * dilation + 1)
    length = maximum(room // stride + 1, 0)
    rank = len(x.dims)

    def along(value: int, other: int = 1) -> list[int]:
        return [value if i == axis else other for i in range(rank)]

    rows = ", ".join(f"[{a}, {b}]" for a, b in zip(along(low, 0), along(high, 0), strict=True))
    attributes = (
        ("window_dimensions", i64_array(along(size))),
        ("window_strides", i64_array(along(stride))),
        ("base_dilations", i64_array(along(base))),
        ("window_dilations", i64_array(along(dilation))),
        ("padding", f"dense<[{rows}]> : tensor<{rank}x2xi64>"),
    )
    init = m.builder.constant(hlo.identity(name, x.dtype))
    combine = hlo.MONOIDS[name]  # type: ignore[index]
    scalar = ((), x.dtype)
    dims = tuple(length if i == axis else d for i, d in enumerate(x.dims))
    (result,) = m.builder.region_op(
        "stablehlo.reduce_window",
        [x.tensor, init],
        [(dims, x.dtype)],
        [([scalar, scalar], lambda a, b: [combine(a, b)])],
        attributes,
        key=name,
    )
    m.add(Value(result, bottom, top, grid, error, special), huge=name != "add")


@kind("convolution", 2)
def _convolution(m: Maker, c: Choices) -> None:
    """Along the last axis of a tensor (batch, feature, place); the kernel has a static window."""
    x = m.operand(c, lambda v: is_float(v) and len(v.dims) == 3 and v.exact)
    window, stride, low, high = 1 + c.below(3), 1 + c.below(2), c.below(2), c.below(2)
    kernel = m.shaped(c, (2, x.dims[1], window), x.dtype, lambda v: v.exact)
    room = x.dims[2] + low + high - window
    dims = (x.dims[0], 2, maximum(room // stride + 1, 0))
    count = m.bound(x.dims[1]) * window
    attributes = (
        ("batch_group_count", "1 : i64"),
        ("dimension_numbers", "#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>"),
        ("feature_group_count", "1 : i64"),
        ("padding", f"dense<[[{low}, {high}]]> : tensor<1x2xi64>"),
        ("window_strides", i64_array([stride])),
    )
    result = m.builder.op("stablehlo.convolution", [x.tensor, kernel.tensor], dims, x.dtype, attributes)
    reach = count * x.size * kernel.size
    m.add(Value(result, -reach, reach, (x.grid or 0) + (kernel.grid or 0), 0, x.special or kernel.special))
