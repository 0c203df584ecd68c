"""QR by Householder reflections, as LAPACK packs it: private functions, marked with what they implement.

In: handles on matrices (..., m, n). Out: handles. With k = min(m, n), a factorization is a matrix (..., m, n) with R on
and above the diagonal and the reflections' vectors below it, and their factors `tau` (..., k): the unitary matrix is
the product of `I - tau v v^H`. The `device_linalg` pass puts the platform's library in the functions' place.
"""

from __future__ import annotations

from ..dims import Dim, minimum
from .control import call
from .core import Tensor
from .elementwise import abs as abs_
from .elementwise import (
    and_,
    compare,
    convert,
    divide,
    imag,
    multiply,
    negate,
    select,
    subtract,
)
from .matrices import (
    conjugate,
    exchanged,
    identity_like,
    magnitude,
    minus_outer,
    norm,
    number,
    pick,
    places,
    real_part,
    spread,
    squares,
    steps,
    total,
)
from .reduce import arg_reduce, reduce_monoid
from .shape import broadcast_in_dim, full, iota, pad, slice_axis
from .types import INT32


def rank_of(a: Tensor) -> Dim:
    """The number of reflections that a matrix takes: min(m, n)."""
    return minimum(a.dims[-2], a.dims[-1])


def householder_qr(a: Tensor) -> tuple[Tensor, Tensor]:
    """The packed factorization of `a` and its `tau`: LAPACK's geqrf."""
    marks = {"hlograph.implements": '"householder_qr"'}
    packed, taus = call(f"householder_qr_{a.dtype.name}", [a], factors, attributes=marks)
    return packed, taus


def pivoted_qr(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """As `householder_qr`, of the columns in an order that makes R's diagonal fall: LAPACK's geqp3.

    Returns:
        The packed factorization, `tau`, and the order (..., n) int32: `a[:, order] = Q R`.
    """
    marks = {"hlograph.implements": '"pivoted_qr"'}
    packed, taus, order = call(f"pivoted_qr_{a.dtype.name}", [a], lambda x: factors(x, pivot=True), attributes=marks)
    return packed, taus, order


def householder_product(a: Tensor, taus: Tensor) -> Tensor:
    """The first n columns (..., m, n) of the product of the reflections in `a` (..., m, n), m >= n: LAPACK's orgqr."""
    marks = {"hlograph.implements": '"householder_product"'}
    return call(f"householder_product_{a.dtype.name}", [a, taus], lambda *x: [product(*x)], attributes=marks)[0]


def reflectors(packed: Tensor, *, complete: bool) -> Tensor:
    """The columns of a packed factorization of which `householder_product` makes k columns of Q, or all m."""
    k, m = rank_of(packed), packed.dims[-2]
    vectors = slice_axis(packed, packed.ndim - 1, 0, k)
    if not complete:
        return vectors
    none = [0] * packed.ndim
    zero = number(packed, 0)
    return pad(vectors, zero, none, [*none[1:], m - k])


def _reflection(column: Tensor, k: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The reflection that makes a column (..., m) zero below row k, as LAPACK's larfg chooses it.

    Returns:
        Its vector (..., m), 1 in row k and 0 above; its tau (...); what is left in row k (...).
    """
    rows = places(column, -1)
    here, below = compare("EQ", rows, k), compare("GT", rows, k)
    zero = number(column, 0)
    alpha = pick(column, here, -1)
    rest = select(below, column, zero)
    length = norm(select(compare("GE", rows, k), column, zero), -1)
    done = reduce_monoid(compare("EQ", rest, zero), [rest.ndim - 1], "and")
    if alpha.dtype.kind == "c":
        done = and_(done, compare("EQ", imag(alpha), 0))
    left = convert(select(compare("LT", real_part(alpha), 0), length, negate(length)), alpha.dtype)
    safe = select(done, number(alpha, 1), left)
    tau = select(done, zero, divide(subtract(safe, alpha), safe))
    scale = select(done, number(alpha, 1), subtract(alpha, safe))
    vector = select(here, number(column, 1), divide(rest, spread(scale, column, -1)))
    return vector, tau, select(done, alpha, left)


def factors(a: Tensor, *, pivot: bool = False) -> list[Tensor]:
    """`householder_qr` or `pivoted_qr` in plain StableHLO, one column a step."""
    builder, k = a.builder, rank_of(a)
    rows, columns = places(a, -2), places(a, -1)
    taus = full(builder, number(a, 0), (*a.dims[:-2], k))
    order = [iota(builder, (*a.dims[:-2], a.dims[-1]), a.ndim - 2, INT32)] if pivot else []
    numbers = places(taus, -1)
    # A scale for each matrix, so that no sum of squares leaves the numbers' range.
    scale = [magnitude(a, [-2, -1])] if pivot else []

    def body(step: Tensor, matrix: Tensor, taus: Tensor, *orders: Tensor) -> list[Tensor]:
        order = list(orders)
        if pivot:
            chosen = _longest(matrix, step, *scale)
            matrix, *order = (exchanged(x, step, chosen, -1) for x in (matrix, *order))
        here = compare("EQ", columns, step)
        vector, tau, left = _reflection(pick(matrix, here, -1), step)
        kept = compare("LE", columns, step)
        row = total(multiply(spread(conjugate(vector), matrix, -1), matrix), -2)
        row = multiply(spread(conjugate(tau), row, -1), row)
        applied = select(kept, matrix, minus_outer(matrix, vector, row))
        column = select(compare("EQ", places(vector, -1), step), spread(left, vector, -1), vector)
        replaced = and_(here, compare("GE", rows, step))
        matrix = select(replaced, spread(column, matrix, -1), applied)
        return [matrix, select(compare("EQ", numbers, step), spread(tau, taus, -1), taus), *order]

    return steps(k, [a, taus, *order], body)


def _longest(matrix: Tensor, step: Tensor, scale: Tensor) -> Tensor:
    """The first of the columns from `step` on that are longest in the rows from `step` on: (...), int64."""
    zero = number(scale, 0)
    scaled = divide(abs_(matrix), broadcast_in_dim(scale, matrix.dims, range(scale.ndim)))
    lengths = total(select(compare("GE", places(matrix, -2), step), squares(scaled), zero), -2)
    behind = compare("GE", places(lengths, -1), step)
    return arg_reduce(select(behind, lengths, number(lengths, -1)), lengths.ndim - 1, "maximum")


def product(a: Tensor, taus: Tensor) -> Tensor:
    """`householder_product` in plain StableHLO: the reflections applied to the identity, the last one first."""
    rows, columns, numbers = places(a, -2), places(a, -1), places(taus, -1)
    last = a.builder.size(taus.dims[-1] - 1)

    def body(step: Tensor, product: Tensor) -> list[Tensor]:
        k = subtract(last, step)
        below = and_(compare("EQ", columns, k), compare("GT", rows, k))
        vector = pick(a, below, -1)
        vector = select(compare("EQ", places(vector, -1), k), number(vector, 1), vector)
        tau = pick(taus, compare("EQ", numbers, k), -1)
        row = total(multiply(spread(conjugate(vector), product, -1), product), -2)
        return [minus_outer(product, vector, multiply(spread(tau, row, -1), row))]

    return steps(taus.dims[-1], [identity_like(a)], body)[0]
