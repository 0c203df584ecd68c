"""Parts of matrix algorithms in plain StableHLO: masks, rows and columns, adjoints, products, counted loops.

In: handles of which the last two axes are a matrix (or the last one a vector), batched over the others. Out: handles.
An algorithm made of these works on whole matrices through masks, so that batch axes and unknown sizes need no thought.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..dims import Dim
from .control import while_loop
from .core import Builder, Tensor
from .elementwise import abs as abs_
from .elementwise import compare, conj, convert, imag, real, select, sqrt
from .places import INT64, Dims, DType
from .reduce import dot_general, reduce_monoid
from .shape import broadcast_in_dim, expand_dims, iota, pad, transpose


def number(like: Tensor, value: complex) -> Tensor:
    """A scalar of the dtype of `like`."""
    return like.builder.constant(np.array(value, like.dtype))


def places(like: Tensor, axis: int) -> Tensor:
    """The index along an axis, counted from the end (-1 is the last), in the shape of `like`."""
    return iota(like.builder, like.dims, like.ndim + axis, INT64)


def swap(a: Tensor) -> Tensor:
    """The transpose."""
    return transpose(a, [*range(a.ndim - 2), a.ndim - 1, a.ndim - 2])


def conjugate(a: Tensor) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    return conj(a) if a.dtype.kind == "c" else a


def adjoint(a: Tensor) -> Tensor:
    """The conjugate transpose."""
    return swap(conjugate(a))


def real_part(a: Tensor) -> Tensor:
    """The real part; a real tensor itself."""
    return real(a) if a.dtype.kind == "c" else a


def pivot_size(x: Tensor) -> Tensor:
    """What LAPACK compares pivots by: |x|, or |re x| + |im x|."""
    return abs_(real(x)) + abs_(imag(x)) if x.dtype.kind == "c" else abs_(x)


def spread(x: Tensor, like: Tensor, axis: int) -> Tensor:
    """`x`, which lacks one axis of `like` (counted from the end), stretched along it."""
    dropped = like.ndim + axis
    return broadcast_in_dim(x, like.dims, [i for i in range(like.ndim) if i != dropped])


def over_batch(x: Tensor, like: Tensor) -> Tensor:
    """`x`, one number for each element of the batch, stretched to the shape of `like`."""
    return broadcast_in_dim(x, like.dims, range(x.ndim))


def total(x: Tensor, axis: int) -> Tensor:
    """The sum along an axis, counted from the end."""
    return reduce_monoid(x, [x.ndim + axis], "add")


def lengthened(x: Tensor, size: Dim, value: complex = 0) -> Tensor:
    """`x` with numbers behind it along the last axis, up to a size."""
    none = [0] * x.ndim
    return pad(x, number(x, value), none, [*none[1:], size - x.dims[-1]])


def pick(a: Tensor, chosen: Tensor, axis: int) -> Tensor:
    """The sum along an axis of what the mask chooses: one row, one column, one element."""
    return total(select(chosen, a, number(a, 0)), axis)


def exchanged(x: Tensor, first: Tensor, second: Tensor, axis: int) -> Tensor:
    """`x` with two of its elements along an axis exchanged: one place for all, and one for each of the batch."""
    numbers = places(x, axis)
    here, there = compare("EQ", numbers, first), compare("EQ", numbers, over_batch(second, x))
    of_first, of_second = (spread(pick(x, mask, axis), x, axis) for mask in (here, there))
    return select(here, of_second, select(there, of_first, x))


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """The product of matrices."""
    batch = list(range(a.ndim - 2))
    return dot_general(a, b, contracting=([a.ndim - 1], [b.ndim - 2]), batching=(batch, batch))


def on_diagonal(like: Tensor, diagonal: int = 0) -> Tensor:
    """The mask of a diagonal, that many above the main one."""
    rows = places(like, -2)
    return compare("EQ", rows + diagonal if diagonal else rows, places(like, -1))


def identity_like(a: Tensor) -> Tensor:
    """Ones on the diagonal, of the shape and dtype of `a`."""
    return identity(a.builder, a.dims, a.dtype)


def identity(builder: Builder, dims: Dims, dtype: DType) -> Tensor:
    """Ones on the diagonal, of a shape."""
    rows, columns = (iota(builder, dims, len(dims) - axis, INT64) for axis in (2, 1))
    return convert(compare("EQ", rows, columns), dtype)


def diagonal_of(a: Tensor) -> Tensor:
    """The main diagonal of a matrix of any shape, one number for each row, 0 in rows past the last column."""
    return pick(a, on_diagonal(a), -1)


def as_column(x: Tensor) -> Tensor:
    """A vector as a matrix of one column."""
    return expand_dims(x, [x.ndim])


def steps(count: Dim, carries: Sequence[Tensor], body: Callable[..., Sequence[Tensor]]) -> list[Tensor]:
    """The carries after `body(k, *carries)` for each k from 0 to `count`."""
    builder = carries[0].builder
    start, end = builder.constant(0, np.int64), builder.size(count)

    def step(k: Tensor, *values: Tensor) -> list[Tensor]:
        return [k + 1, *body(k, *values)]

    return while_loop([start, *carries], lambda k, *_: compare("LT", k, end), step)[1:]


def magnitude(x: Tensor, axes: Sequence[int]) -> Tensor:
    """The largest absolute value along axes, counted from the end; 1 where all are 0, so that one may divide by it."""
    largest = reduce_monoid(abs_(x), [x.ndim + axis for axis in axes], "maximum")
    return select(compare("EQ", largest, 0), number(largest, 1), largest)


def squares(x: Tensor) -> Tensor:
    """The squared absolute value of each element."""
    size = abs_(x)
    return size * size


def norm(x: Tensor, axis: int) -> Tensor:
    """The Euclidean norm along an axis, counted from the end, without overflow on the way."""
    scale = magnitude(x, [axis])
    scaled = abs_(x) / spread(scale, x, axis)
    return scale * sqrt(total(scaled * scaled, axis))


def outer(column: Tensor, row: Tensor, like: Tensor) -> Tensor:
    """The product of a column and a row, as a matrix of the shape of `like`."""
    return spread(column, like, -1) * spread(row, like, -2)


def minus_outer(a: Tensor, column: Tensor, row: Tensor) -> Tensor:
    """`a` less the product of a column and a row."""
    return a - outer(column, row, a)
