"""Eigenvalues of Hermitian matrices and singular values, by Jacobi's rotations: private functions, marked.

In: handles on matrices. Out: handles. What is emitted is portable; the `device_linalg` pass puts the platform's library
in its place. A round turns all columns at once, in pairs `(i, j)` with `i + j = round` modulo n; n rounds are a sweep,
in which each pair comes once. Sweeps are repeated until nothing is left to turn; a matrix that needs more than `SWEEPS`
of them, or holds NaN, gives NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..dims import Dim
from .control import call, while_loop
from .core import Tensor
from .elementwise import abs as abs_
from .elementwise import (
    add,
    and_,
    compare,
    convert,
    divide,
    multiply,
    negate,
    not_,
    or_,
    select,
    sign,
    sqrt,
    subtract,
)
from .householder import factors, product, rank_of, reflectors
from .linalg import triangle
from .matrices import (
    adjoint,
    diagonal_of,
    identity,
    identity_like,
    magnitude,
    matmul,
    number,
    on_diagonal,
    outer,
    over_batch,
    pick,
    places,
    real_dtype,
    real_part,
    spread,
    squares,
    steps,
    total,
)
from .reduce import reduce_monoid, sort
from .shape import pad, slice_axis
from .types import INT64, DType

SWEEPS = 40


def eigh(a: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvectors (..., n, n) in columns, and eigenvalues (..., n) from low to high, of the Hermitian matrix `a`.

    Only its lower triangle is read.
    """
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "eigh")
    vectors, values = call(f"eigh_{a.dtype.name}", [a], _eigh, attributes={"hlograph.implements": '"eigh"'})
    return vectors, values


def svd(a: Tensor, *, complete: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """U, the singular values from high to low, and V^H, with `a = U diag(s) V^H`.

    Args:
        a: (..., m, n); k is min(m, n).
        complete: whether U is (..., m, m) and V^H (..., n, n), or (..., m, k) and (..., k, n).
    """
    name = "svd_complete" if complete else "svd"
    marks = {"hlograph.implements": f'"{name}"'}
    left, values, right = call(f"{name}_{a.dtype.name}", [a], lambda x: _svd(x, complete), attributes=marks)
    return left, values, right


def singular_values(a: Tensor) -> Tensor:
    """The singular values (..., k) of `a` from high to low."""
    marks = {"hlograph.implements": '"singular_values"'}
    return call(f"singular_values_{a.dtype.name}", [a], _singular_values, attributes=marks)[0]


def _rounding(dtype: DType, times: float = 1) -> float:
    """The square of so many times the spacing of numbers at 1."""
    return float((times * np.finfo(real_dtype(dtype)).eps) ** 2)


def _partners(like: Tensor, turn: Tensor) -> Tensor:
    """The mask of pairs in a round: `i + j` is the round or n more."""
    both = add(places(like, -2), places(like, -1))
    size = like.builder.size(like.dims[-1])
    paired = or_(compare("EQ", both, turn), compare("EQ", both, add(turn, size)))
    return and_(paired, not_(on_diagonal(like)))


def _rotations(gram: Tensor, turn: Tensor) -> Tensor:
    """The unitary matrix that makes the pairs' elements of a Hermitian matrix zero.

    It is one only if both columns of a pair are turned by the same angle: what rounding left unequal is made equal.
    """
    gram = multiply(add(gram, adjoint(gram)), number(gram, 0.5))
    pairs = _partners(gram, turn)
    own = real_part(diagonal_of(gram))
    other = pick(spread(own, gram, -1), pairs, -2)
    size = abs_(pick(gram, pairs, -2))
    one, zero = number(own, 1), number(own, 0)
    idle = compare("EQ", size, zero)
    safe = select(idle, one, size)
    angle = divide(subtract(other, own), add(safe, safe))
    partner = pick(places(gram, -2), pairs, -2)
    side = select(compare("LT", places(own, -1), partner), one, number(own, -1))
    side = select(compare("EQ", angle, zero), side, sign(angle))
    tangent = divide(side, add(abs_(angle), sqrt(add(multiply(angle, angle), one))))
    tangent = select(idle, zero, tangent)
    cosine = divide(one, sqrt(add(multiply(tangent, tangent), one)))
    factor = convert(negate(divide(multiply(cosine, tangent), safe)), gram.dtype)
    across = multiply(gram, spread(factor, gram, -2))
    zeros = number(gram, 0)
    return select(pairs, across, select(on_diagonal(gram), spread(convert(cosine, gram.dtype), gram, -2), zeros))


def _sweeps(
    carries: Sequence[Tensor],
    body: Callable[..., Sequence[Tensor]],
    unfinished: Callable[..., Tensor],
) -> list[Tensor]:
    """Sweeps of `body(round, *carries)` while `unfinished(*carries)`, a flag for each matrix, holds of any."""
    builder, size = carries[0].builder, carries[-1].dims[-1]

    def flag(*values: Tensor) -> Tensor:
        found = unfinished(*values)
        return reduce_monoid(found, range(found.ndim), "or")

    def sweep(count: Tensor, _: Tensor, *values: Tensor) -> list[Tensor]:
        turned = steps(size, values, body)
        return [add(count, 1), flag(*turned), *turned]

    def more(count: Tensor, going: Tensor, *_: Tensor) -> Tensor:
        return and_(going, compare("LT", count, SWEEPS))

    return while_loop([builder.constant(0, INT64), flag(*carries), *carries], more, sweep)[2:]


def _nan_unless(good: Tensor, x: Tensor) -> Tensor:
    """`x` where a flag of its matrix holds, else NaN."""
    return select(over_batch(good, x), x, number(x, np.nan))


def _sorted(values: Tensor, direction: str) -> Tensor:
    """Numbers (..., n) in order."""
    return sort([values], values.ndim - 1, lambda a, b: compare(direction, a, b), key=direction)[0]


def _sorted_columns(columns: Tensor, values: Tensor, direction: str) -> Tensor:
    """The columns of a matrix (..., m, n) in the order of numbers (..., n)."""
    keys = spread(values, columns, -2)
    return sort([keys, columns], columns.ndim - 1, lambda a, b, *_: compare(direction, a, b), key=direction)[1]


def _eigh(a: Tensor) -> list[Tensor]:
    """Two-sided: the matrix becomes diagonal."""
    zero = number(a, 0)
    strict = triangle(a, lower=True, diagonal=-1)
    diagonal = select(on_diagonal(a), convert(real_part(a), a.dtype), zero)
    whole = add(add(strict, adjoint(strict)), diagonal)
    scale = magnitude(whole, [-2, -1])
    whole = divide(whole, over_batch(convert(scale, a.dtype), whole))
    length = total(total(squares(whole), -1), -1)

    def off_diagonal(matrix: Tensor) -> Tensor:
        sizes = squares(matrix)
        return total(total(select(on_diagonal(matrix), number(sizes, 0), sizes), -1), -1)

    def below(matrix: Tensor, times: float) -> Tensor:
        limit = multiply(length, _rounding(a.dtype, times))
        return compare("LE", off_diagonal(matrix), limit)

    def turn(which: Tensor, matrix: Tensor, vectors: Tensor) -> list[Tensor]:
        rotation = _rotations(matrix, which)
        turned = matmul(matmul(adjoint(rotation), matrix), rotation)
        return [select(_partners(matrix, which), zero, turned), matmul(vectors, rotation)]

    matrix, vectors = _sweeps([whole, identity_like(whole)], turn, lambda matrix, _: not_(below(matrix, 1)))
    values = multiply(real_part(diagonal_of(matrix)), spread(scale, diagonal_of(matrix), -1))
    good = below(matrix, 1000)
    vectors = _sorted_columns(vectors, values, "LT")
    return [_nan_unless(good, vectors), _nan_unless(good, _sorted(values, "LT"))]


def _rotated(a: Tensor, *right: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
    """One-sided: the columns of `a` turned until they are orthogonal, and those of other matrices with them.

    Returns:
        The matrices, that of `a` first and over its scale; the scale; for each matrix whether that was reached.
    """
    scale = magnitude(a, [-2, -1])
    columns = divide(a, over_batch(convert(scale, a.dtype), a))

    def turn(which: Tensor, columns: Tensor, *right: Tensor) -> list[Tensor]:
        rotation = _rotations(matmul(adjoint(columns), columns), which)
        return [matmul(x, rotation) for x in (columns, *right)]

    turned = _sweeps([columns, *right], turn, lambda columns, *_: not_(_orthogonal(columns, 2)))
    return turned, scale, _orthogonal(turned[0], 1000)


def _singular_values(a: Tensor) -> list[Tensor]:
    """The lengths of orthogonal columns, of which no more than k are above rounding."""
    (columns,), scale, good = _rotated(a)
    lengths = _sorted(sqrt(total(squares(columns), -2)), "GT")
    values = slice_axis(lengths, lengths.ndim - 1, 0, rank_of(a))
    return [_nan_unless(good, multiply(values, spread(scale, values, -1)))]


def _svd(a: Tensor, complete: bool) -> list[Tensor]:
    """The Householder QR of orthogonal columns `a V` gives U, and s on R's diagonal.

    Reflections are unitary where columns are zero too, and complete U.
    """
    k = rank_of(a)
    start = identity(a.builder, (*a.dims[:-2], a.dims[-1], a.dims[-1]), a.dtype)
    turned, scale, good = _rotated(a, start)
    lengths = total(squares(turned[0]), -2)
    columns, right = (_sorted_columns(x, lengths, "GT") for x in turned)
    packed, taus = factors(slice_axis(columns, a.ndim - 1, 0, k))
    left = product(reflectors(packed, complete=complete), taus)
    signed = real_part(diagonal_of(packed))
    values = slice_axis(abs_(signed), signed.ndim - 1, 0, k)
    signed = slice_axis(signed, signed.ndim - 1, 0, left.dims[-1])
    flipped = convert(compare("LT", signed, 0), signed.dtype)
    left = multiply(left, spread(convert(subtract(1, add(flipped, flipped)), a.dtype), left, -2))
    left, right = (_sorted_columns(x, _lengthened(values, x.dims[-1]), "GT") for x in (left, right))
    right = right if complete else slice_axis(right, a.ndim - 1, 0, k)
    values = multiply(_sorted(values, "GT"), spread(scale, values, -1))
    return [_nan_unless(good, x) for x in (left, values, adjoint(right))]


def _lengthened(values: Tensor, size: Dim) -> Tensor:
    """Numbers that are not negative, and -1 behind them."""
    none = [0] * values.ndim
    return pad(values, number(values, -1), none, [*none[1:], size - values.dims[-1]])


def _orthogonal(columns: Tensor, times: float) -> Tensor:
    """Whether all columns of a matrix are orthogonal, up to rounding, but those that rounding alone made.

    One flag for each matrix; false where one holds NaN.
    """
    gram = matmul(adjoint(columns), columns)
    lengths = real_part(diagonal_of(gram))
    limit = multiply(total(lengths, -1), _rounding(columns.dtype))
    tiny = compare("LE", lengths, spread(limit, lengths, -1))
    rows = convert(columns.builder.size(columns.dims[-2]), lengths.dtype)
    allowed = multiply(outer(lengths, lengths, gram), multiply(rows, _rounding(columns.dtype, times)))
    small = compare("LE", squares(gram), allowed)
    passed = or_(or_(small, on_diagonal(gram)), or_(spread(tiny, gram, -1), spread(tiny, gram, -2)))
    finite = compare("LT", total(lengths, -1), np.inf)
    return and_(reduce_monoid(reduce_monoid(passed, [gram.ndim - 1], "and"), [gram.ndim - 2], "and"), finite)
