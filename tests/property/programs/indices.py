"""Steps that sort, and that read and write at indices."""

from dataclasses import replace
from typing import Any

import numpy as np

from hlograph import builder as hlo
from hlograph.builder import Tensor

from .maker import Maker, grid_of, is_index, is_number, is_ranked, kind
from .recipes import BOOL, ELEMENTS, I32, I64, LIMIT, Choices, Dim, InapplicableError, Value


@kind("sort", 6)
def _sort(m: Maker, c: Choices) -> None:
    """By the usual order, backwards, by magnitude; alone, or with the places beside."""
    x = m.operand(c, lambda v: bool(v.dims) and v.dtype != BOOL)
    axis = c.below(len(x.dims))
    order = c.pick(["ascending", "descending", "magnitude"])
    if order != "ascending" and (x.special or not x.exact or x.size > LIMIT):
        raise InapplicableError("no order")

    def less(a: Tensor, b: Tensor) -> Tensor:
        if order == "ascending":
            return hlo.less_nan_last(a, b)
        if order == "descending":
            return hlo.compare("GT", a, b)
        return hlo.compare("LT", hlo.abs(a), hlo.abs(b))

    if not x.exact or c.below(3) == 0:
        (result,) = hlo.sort([x.tensor], axis, less, key=order)
        m.add(replace(x, tensor=result), huge=True)
        return
    indices = hlo.iota(m.builder, x.dims, axis, I32)
    values, order_of = hlo.sort([x.tensor, indices], axis, lambda a, b, i, j: less(a, b), key=f"arg {order}")
    m.add(replace(x, tensor=values), huge=True)
    m.add(Value(order_of, 0, m.bound(x.dims[axis])))


def _scalar_index(m: Maker, c: Choices) -> Tensor:
    index = m.shaped(c, (), c.pick([I32, I64]))
    return hlo.convert(index.tensor, I64)


@kind("dynamic_slice", 5)
def _dynamic_slice(m: Maker, c: Choices) -> None:
    """A window at runtime starts, which are clamped; of static size where there is one, else of a size."""
    x = m.operand(c, is_ranked)
    axis = c.below(len(x.dims))
    dim = x.dims[axis]
    least = m.least(dim)
    size: Dim
    if least and c.below(3):
        size = 1 + c.below(min(least, 3))
    elif c.one_in(3) and not m.builder.in_region and type(dim) is not int:
        m.at_least_one(dim)
        size = 1
    else:
        size = m.length_within(c, dim)
    starts = [
        _scalar_index(m, c) if i == axis or c.one_in(3) else m.builder.constant(0, np.int64) for i in range(len(x.dims))
    ]
    sizes = tuple(size if i == axis else d for i, d in enumerate(x.dims))
    m.add(replace(x, tensor=hlo.dynamic_slice(x.tensor, starts, sizes)), huge=True)


@kind("dynamic_update", 5)
def _dynamic_update(m: Maker, c: Choices) -> None:
    """A window written at runtime starts."""
    x = m.operand(c, is_ranked)
    dims = list(x.dims)
    for axis in {c.below(len(dims)), c.below(len(dims))}:
        dims[axis] = 1 if m.least(dims[axis]) and c.below(2) else m.length_within(c, dims[axis])
    update = m.shaped(c, tuple(dims), x.dtype)
    starts = [_scalar_index(m, c) for _ in dims]
    result = hlo.dynamic_update_slice(x.tensor, update.tensor, starts)
    m.add(Value.joined(result, x, update), huge=True)


@kind("take", 5)
def _take(m: Maker, c: Choices) -> None:
    """Elements, rows or windows at computed places; what is out of range is clamped."""
    x = m.operand(c, is_ranked)
    indices = m.operand(c, lambda v: is_index(v) and 0 < len(v.dims) < 3)
    axis = c.below(len(x.dims))
    if m.count(x.dims) * m.count(indices.dims) > 20 * ELEMENTS:
        raise InapplicableError("too large")
    m.nonempty(x.dims[axis], indices.dims)
    how = c.below(3)
    if how < 2 or len(indices.dims) > 1:
        m.add(replace(x, tensor=hlo.take(x.tensor, indices.tensor, axis)), huge=True)
        return
    size: Dim = (
        1 + c.below(min(m.least(x.dims[axis]), 3)) if m.least(x.dims[axis]) else m.length_within(c, x.dims[axis])
    )
    result = hlo.gather(
        x.tensor,
        indices.tensor,
        offset_dims=list(range(1, len(x.dims) + 1)),
        collapsed_slice_dims=[],
        start_index_map=[axis],
        index_vector_dim=1,
        slice_sizes=tuple(size if i == axis else d for i, d in enumerate(x.dims)),
    )
    m.add(replace(x, tensor=result), huge=True)


def _pairs(m: Maker, c: Choices) -> tuple[Value, Tensor]:
    """A vector of indices, and index pairs made of it and another one."""
    first = m.operand(c, lambda v: is_index(v) and len(v.dims) == 1)
    second = m.shaped(c, first.dims, first.dtype)
    columns = [hlo.expand_dims(x.tensor, [1]) for x in (first, second)]
    return first, hlo.concatenate(columns, 1)


@kind("take_pairs", 2)
def _take_pairs(m: Maker, c: Choices) -> None:
    """Single elements of a matrix at computed rows and columns."""
    x = m.operand(c, lambda v: len(v.dims) == 2)
    first, pairs = _pairs(m, c)
    for dim in x.dims:
        m.nonempty(dim, first.dims)
    result = hlo.gather(
        x.tensor,
        pairs,
        offset_dims=[],
        collapsed_slice_dims=[0, 1],
        start_index_map=[0, 1],
        index_vector_dim=1,
        slice_sizes=hlo.element_sizes(x.tensor, [0, 1], pairs),
    )
    m.add(replace(x, tensor=result), huge=True)


def _apart(x: Value, indices: Value) -> Tensor:
    """Indices that are not the operand itself: XLA:CPU (jaxlib 0.10) would overwrite them as it goes."""
    return hlo.clamp(-100, indices.tensor, 100) if indices.dtype == x.dtype else indices.tensor


def _scattered(m: Maker, x: Value, update: Value, tensor: Tensor, combiner: str, count: int) -> Value:
    special = x.special or update.special
    if combiner == "add":
        error = (
            0.0 if grid_of(x, update) is not None else count * (x.error + update.error + count * (x.size + update.size))
        )
        reach = x.size + count * update.size
        return Value(tensor, -reach, reach, grid_of(x, update), error, special)
    if combiner == "multiply":
        reach = x.size * max(update.size, 1) ** count
        grid = grid_of(x, update)
        if grid is None or reach > 2**16 or (update.grid or 0) * count + (x.grid or 0) > 8:
            raise InapplicableError("a large product")
        return Value(tensor, -reach, reach, (x.grid or 0) + (update.grid or 0) * count, 0, special)
    return Value.joined(tensor, x, update)


@kind("put", 5)
def _put(m: Maker, c: Choices) -> None:
    """Elements or rows at computed places; what is out of range is dropped."""
    x = m.operand(c, lambda v: is_ranked(v) and is_number(v) and v.size <= LIMIT)
    indices = m.operand(c, lambda v: is_index(v) and 0 < len(v.dims) < 3)
    axis = c.below(len(x.dims))
    dims = (*x.dims[:axis], *indices.dims, *x.dims[axis + 1 :])
    if m.count(dims) > ELEMENTS:
        raise InapplicableError("too large")
    combiner: Any = c.pick(["add", "maximum", "minimum", "multiply", "set"])
    update = m.shaped(c, dims, x.dtype, lambda v: v.size <= LIMIT)
    if combiner == "set" and len(indices.dims) > 1:
        combiner = "add"
    where = _apart(x, indices)
    if combiner == "set":
        # Different places for all: two writes to one place have no order.
        where = hlo.add(hlo.iota(m.builder, indices.dims, 0, indices.dtype), c.below(3) - 1)
    result = hlo.put(x.tensor, where, update.tensor, axis, combiner)
    m.add(
        _scattered(m, x, update, result, combiner, m.count(indices.dims)),
        huge=combiner in ("maximum", "minimum", "set"),
    )


@kind("put_windows", 3)
def _put_windows(m: Maker, c: Choices) -> None:
    """Windows combined at computed places: XLA drops one that does not fit as a whole.

    The specification, and the interpreter, drop only those of its elements that do not fit.
    """
    x = m.operand(c, lambda v: is_ranked(v) and is_number(v) and v.size <= LIMIT)
    indices = m.operand(c, lambda v: is_index(v) and len(v.dims) == 1)
    axis = c.below(len(x.dims))
    dim = x.dims[axis]
    size: Dim = 1 + c.below(min(m.least(dim), 3)) if m.least(dim) else m.length_within(c, dim)
    dims = (*indices.dims, *x.dims[:axis], size, *x.dims[axis + 1 :])
    if m.count(dims) > ELEMENTS:
        raise InapplicableError("too large")
    combiner: Any = c.pick(["add", "maximum", "minimum"])
    update = m.shaped(c, dims, x.dtype, lambda v: v.size <= LIMIT)
    where = _apart(x, indices)
    if c.below(2):
        last = hlo.convert(m.builder.size(dim - size), indices.dtype)
        where = hlo.clamp(0, where, last)
    else:
        m.interpretable = False
    result = hlo.scatter(
        x.tensor,
        where,
        update.tensor,
        combiner,
        update_window_dims=list(range(1, len(dims))),
        inserted_window_dims=[],
        scatter_dims_to_operand_dims=[axis],
        index_vector_dim=1,
    )
    m.add(_scattered(m, x, update, result, combiner, m.bound(size) * m.count(indices.dims)), huge=combiner != "add")


@kind("put_pairs", 2)
def _put_pairs(m: Maker, c: Choices) -> None:
    """Single elements of a matrix combined at computed rows and columns."""
    x = m.operand(c, lambda v: len(v.dims) == 2 and is_number(v) and v.size <= LIMIT)
    first, pairs = _pairs(m, c)
    combiner: Any = c.pick(["add", "maximum", "minimum"])
    update = m.shaped(c, first.dims, x.dtype, lambda v: v.size <= LIMIT)
    result = hlo.scatter(
        x.tensor,
        pairs,
        update.tensor,
        combiner,
        update_window_dims=[],
        inserted_window_dims=[0, 1],
        scatter_dims_to_operand_dims=[0, 1],
        index_vector_dim=1,
    )
    m.add(_scattered(m, x, update, result, combiner, m.count(first.dims)), huge=combiner != "add")
