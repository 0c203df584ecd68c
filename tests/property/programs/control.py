"""Steps with regions and functions: branches, loops, calls; and factorizations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hlograph import builder as hlo
from hlograph.builder import Tensor

from .maker import Maker, is_exact_number, is_float, is_index, is_ranked, kind
from .recipes import BOOL, I32, LIMIT, Choices, Value


@kind("linalg", 4)
def _linalg(m: Maker, c: Choices) -> None:
    """Factors of, and solutions with, a matrix whose diagonal dominates."""
    x = m.operand(c, lambda v: is_float(v) and len(v.dims) in (2, 3) and v.exact and not v.special and v.size <= 8)
    rank = len(x.dims)
    batch = list(range(rank - 2))
    gram = hlo.dot_general(x.tensor, x.tensor, contracting=([rank - 1], [rank - 1]), batching=(batch, batch))
    places = [hlo.iota(m.builder, gram.dims, axis, I32) for axis in (rank - 2, rank - 1)]
    heavy = m.number(64.0 * (1 + m.bound(x.dims[-1]) * m.bound(x.dims[-2])), x.dtype).tensor
    eye = hlo.select(hlo.compare("EQ", *places), heavy, m.number(0, x.dtype).tensor)
    matrix = hlo.add(gram, eye)
    how = c.pick(["cholesky", "solve", "lu"])
    if how == "cholesky":
        m.add(Value(hlo.cholesky(matrix, lower=bool(c.below(2))), -200, 200, None, 2e4))
        return
    right = m.shaped(c, x.dims, x.dtype, lambda v: v.exact and not v.special and v.size <= 64)
    if how == "lu":
        factors, permutation = hlo.lu(matrix)
        m.add(Value(hlo.lu_solve(factors, permutation, right.tensor), -64, 64, None, 2e4))
        m.add(Value(permutation, 0, m.bound(x.dims[-2])))
        return
    lower, flipped = bool(c.below(2)), bool(c.below(2))
    triangle = hlo.cholesky(matrix, lower=lower)
    if c.below(2):
        right = replace(right, tensor=hlo.transpose(right.tensor, [*batch, rank - 1, rank - 2]))
        solved = hlo.triangular_solve(triangle, right.tensor, lower=lower, left_side=False, transpose=flipped)
    else:
        solved = hlo.triangular_solve(triangle, right.tensor, lower=lower, transpose=flipped, unit_diagonal=False)
    m.add(Value(solved, -100, 100, None, 2e4))


def _flag(m: Maker, c: Choices) -> Tensor:
    """A boolean scalar that is computed from data."""
    flags = [x for x in m.values if x.dtype == BOOL and not x.dims]
    if flags and c.below(2):
        return c.pick(flags).tensor
    index = m.operand(c, lambda v: is_index(v) and not v.dims)
    return hlo.compare("GT", index.tensor, c.below(3))


def _like(m: Maker, x: Value) -> Value:
    """The newest value of the type of `x`."""
    return next(v for v in reversed(m.values) if v.dims == x.dims and v.dtype == x.dtype)


@kind("if", 4)
def _if(m: Maker, c: Choices) -> None:
    x = m.operand(c)
    flag = _flag(m, c)
    _branches(m, c, x, 2, lambda branches: hlo.if_(flag, *branches))


@kind("case", 2)
def _case(m: Maker, c: Choices) -> None:
    x = m.operand(c)
    index = m.operand(c, lambda v: v.dtype == I32 and not v.dims)
    count = 2 + c.below(2)
    _branches(m, c, x, count, lambda branches: hlo.case(index.tensor, branches))


def _branches(m: Maker, c: Choices, x: Value, count: int, build: Callable[[list[Any]], list[Tensor]]) -> None:
    found: list[list[Value]] = []
    also = m.operand(c, is_ranked)

    def branch() -> list[Tensor]:
        with m.scope():
            m.values += [x]
            m.nested(c, 1 + c.below(3))
            found.append([_like(m, x), _like(m, also)])
            return [v.tensor for v in found[-1]]

    tensors = build([branch] * count)
    for tensor, column in zip(tensors, zip(*found, strict=True), strict=True):
        m.add(Value.joined(tensor, *column), huge=True)


@kind("while", 5)
def _while(m: Maker, c: Choices) -> None:
    """A counted loop, which data may end early; its carries stay within the intervals that they start in."""
    x = m.operand(c, lambda v: bool(v.dims) and (v.dtype == BOOL or is_exact_number(v)) and v.size <= LIMIT)
    y = m.operand(c, lambda v: v.exact and v.size <= LIMIT)
    carried = [x, y] if y.dtype.kind != "b" and c.below(2) else [x]
    index = m.operand(c, lambda v: v.dtype == I32 and not v.dims)
    sizes = [dim for dim in m.pool if m.bound(dim) <= 6]
    if c.below(2):
        trips = hlo.clamp(0, index.tensor, 4)
    else:
        trips = m.builder.size(c.pick(sizes), I32)
    early = c.one_in(3) and x.dtype != BOOL
    zero = m.builder.constant(0, np.int32)

    def inside(handles: Sequence[Tensor]) -> list[Value]:
        return [Value(h, v.low, v.high, v.grid, 0, v.special) for h, v in zip(handles, carried, strict=True)]

    def condition(count: Tensor, *handles: Tensor) -> Tensor:
        more = hlo.compare("LT", count, trips)
        if early:
            least = hlo.full_like(handles[0], max(math.floor(x.low), -LIMIT))
            some = hlo.reduce_monoid(hlo.compare("GT", handles[0], least), range(x.tensor.ndim), "or")
            more = hlo.and_(more, some)
        return more

    def body(count: Tensor, *handles: Tensor) -> list[Tensor]:
        with m.scope():
            own = inside(handles)
            m.values += [Value(count, 0, 6), *own]
            m.nested(c, 1 + c.below(3))
            return [hlo.add(count, 1), *[_kept(_like(m, v), v) for v in own]]

    results = hlo.while_loop([zero, *[v.tensor for v in carried]], condition, body)
    m.add(Value(results[0], 0, 8))
    for tensor, v in zip(results[1:], carried, strict=True):
        m.add(replace(v, tensor=tensor))


def _kept(result: Value, carry: Value) -> Tensor:
    """A loop's new carry: within the interval, on the grid, and finite where the carry is."""
    if not result.exact or (result.grid or 0) > (carry.grid or 0):
        return carry.tensor
    tensor = result.tensor
    if result.special and not carry.special:
        tensor = hlo.select(hlo.is_finite(tensor), tensor, hlo.full_like(tensor, carry.low))
    if carry.dtype == BOOL or (carry.low <= result.low and result.high <= carry.high):
        return tensor
    return hlo.clamp(carry.low, tensor, carry.high)


@kind("call", 4)
def _call(m: Maker, c: Choices) -> None:
    """A private function on two values."""
    operands = [m.operand(c, is_ranked), m.operand(c)]
    name = f"part{m.calls}"
    m.calls += 1
    found: list[Value] = []

    def body(*handles: Tensor) -> list[Tensor]:
        for handle, outer in zip(handles, operands, strict=True):
            for own, dim in zip(handle.dims, outer.dims, strict=True):
                if type(own) is not int:
                    m.intervals[str(own)] = m.least(dim), m.bound(dim)
        before = m.products
        m.products = {}
        with m.scope([replace(x, tensor=handle) for x, handle in zip(operands, handles, strict=True)]):
            m.nested(c, 1 + c.below(3))
            found.extend(m.values[-2:])
        m.products = before
        return [v.tensor for v in found]

    for tensor, v in zip(hlo.call(name, [x.tensor for x in operands], body), found, strict=True):
        m.add(replace(v, tensor=tensor), huge=True)
