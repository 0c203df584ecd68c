"""Dense linear algebra on the last two axes, batched over the others.

In: handles on matrices (..., m, n). Out: handles. What is emitted is portable: StableHLO's `cholesky` and
`triangular_solve`, and for other factorizations private functions in plain StableHLO, marked with what they implement:
`hlograph.implements = "lu"`. When the platform is known, the `device_linalg` pass puts the platform's library (LAPACK
through jaxlib on CPU, cuSOLVER on GPU) in their place. Eigenvalues and Schur forms of any square matrix have no
portable form: their functions hold a custom call that nobody knows, and the pass refuses where there is no library.

A QR is packed as LAPACK packs it: with k = min(m, n), a matrix (..., m, n) with R on and above the diagonal and the
reflections' vectors below it, and their factors `tau` (..., k): the unitary matrix is the product of `I - tau v v^H`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dims import Dim, minimum
from .control import call, while_loop
from .core import Tensor
from .elementwise import abs as abs_
from .elementwise import compare, convert, imag, real_dtype, select, sign, sqrt
from .indexing import take_elements
from .matrices import (
    adjoint,
    conjugate,
    diagonal_of,
    exchanged,
    identity,
    identity_like,
    lengthened,
    magnitude,
    matmul,
    minus_outer,
    norm,
    number,
    on_diagonal,
    outer,
    over_batch,
    pick,
    pivot_size,
    places,
    real_part,
    spread,
    squares,
    steps,
    total,
)
from .places import INT32, INT64, Dims, DType
from .reduce import arg_reduce, reduce_monoid, sort
from .shape import broadcast_in_dim, custom_call, full, iota, reshape, sized, slice_axis


def flag(value: bool) -> str:
    """Text of a boolean attribute."""
    return "true" if value else "false"


def cholesky(a: Tensor, *, lower: bool = True) -> Tensor:
    """`stablehlo.cholesky` of `a` (..., n, n), one triangle read; the other triangle of the result is zero.

    A matrix that is not positive definite gives NaN.
    """
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "cholesky")
    result = builder.op("stablehlo.cholesky", [a], a.dims, a.dtype, (("lower", flag(lower)),))
    return triangle(result, lower=lower)


def triangle(a: Tensor, *, lower: bool, diagonal: int = 0) -> Tensor:
    """`a` (..., n, m) with what is above (or below) the given diagonal set to zero: NumPy's `tril` and `triu`."""
    rank = a.ndim
    rows = iota(a.builder, a.dims[-2:], 0, INT64)
    columns = iota(a.builder, a.dims[-2:], 1, INT64)
    shifted = rows + diagonal if diagonal else rows
    keep = compare("GE" if lower else "LE", shifted, columns)
    keep = broadcast_in_dim(keep, a.dims, (rank - 2, rank - 1))
    return select(keep, a, a.builder.constant(np.zeros((), a.dtype)))


def triangular_solve(
    a: Tensor,
    b: Tensor,
    *,
    lower: bool,
    left_side: bool = True,
    unit_diagonal: bool = False,
    transpose: bool = False,
    adjoint: bool = False,
) -> Tensor:
    """`stablehlo.triangular_solve`: x with `op(a) x = b`, or `x op(a) = b`; `a` (..., n, n), `b` (..., n, k).

    `op` is nothing, the transpose, or the adjoint (conjugate transpose).
    """
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "triangular_solve")
    builder.equate(a.dims[-1], b.dims[-2 if left_side else -1], "triangular_solve, right-hand side")
    op = "ADJOINT" if adjoint else "TRANSPOSE" if transpose else "NO_TRANSPOSE"
    attributes = (
        ("left_side", flag(left_side)),
        ("lower", flag(lower)),
        ("unit_diagonal", flag(unit_diagonal)),
        ("transpose_a", f"#stablehlo<transpose {op}>"),
    )
    return builder.op("stablehlo.triangular_solve", [a, b], b.dims, b.dtype, attributes)


def _marked(name: str, operands: Sequence[Tensor], body: Callable[..., Sequence[Tensor]]) -> Any:
    attributes = {"hlograph.implements": f'"{name}"'}
    return tuple(call(f"{name}_{operands[0].dtype.name}", operands, body, attributes=attributes))


def lu(a: Tensor) -> tuple[Tensor, Tensor]:
    """LU with partial pivoting of `a` (..., n, n).

    Returns:
        The packed factors (..., n, n), unit lower and upper, and the row permutation (..., n) int32, such that
        `a[permutation] = L U`. A zero pivot leaves zero below it, as LAPACK's getrf does.
    """
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "lu")
    return _marked("lu", [a], _lu)


def lu_factor(a: Tensor) -> tuple[Tensor, Tensor]:
    """As `lu`, of `a` (..., m, n), with LAPACK's pivots (..., k) int32 for the permutation, k = min(m, n).

    Row i was exchanged with row `pivots[i]`.
    """
    return _marked("lu_factor", [a], lambda x: _lu(x, pivots=True))


def pivots_to_permutation(pivots: Tensor, *, inverse: bool, rows: Dim | None = None) -> Tensor:
    """The permutation (..., m) int64 that exchanging row i with `pivots[i]`, in order, makes of 0, 1, ...

    Args:
        pivots: (..., k) int32, as `lu_factor` gives them.
        inverse: the permutation p with `a[p] = L U`; else its inverse.
        rows: m, where it is not k.
    """
    builder, axis = pivots.builder, pivots.ndim - 1
    numbers = iota(builder, pivots.dims, axis, INT64)
    start = numbers if rows is None else iota(builder, (*pivots.dims[:-1], rows), axis, INT64)
    targets = convert(pivots, INT64)

    def body(k: Tensor, order: Tensor) -> list[Tensor]:
        return [exchanged(order, k, pick(targets, compare("EQ", numbers, k), -1), -1)]

    order = steps(pivots.dims[-1], [start], body)[0]
    if inverse:
        return order
    return sort([order, start], axis, lambda a, b, i, j: compare("LT", a, b), key="inverse")[1]


def _lu(a: Tensor, *, pivots: bool = False) -> list[Tensor]:
    """One column a step, on whole matrices through masks, so that batch axes need no thought.

    Besides the factors, the row permutation, or the row that each step brought up.
    """
    zero = number(a, 0)
    rows, columns = places(a, -2), places(a, -1)
    of_rows, of_columns = (iota(a.builder, (*a.dims[:-2], a.dims[axis]), a.ndim - 2, INT64) for axis in (-2, -1))
    count = minimum(a.dims[-2], a.dims[-1])
    turns = iota(a.builder, (*a.dims[:-2], count), a.ndim - 2, INT64)

    def body(k: Tensor, matrix: Tensor, order: Tensor) -> list[Tensor]:
        at_column = compare("EQ", columns, k)
        size = pivot_size(pick(matrix, at_column, -1))
        size = select(compare("GE", of_rows, k), size, number(size, -1))
        pivot_row = arg_reduce(size, a.ndim - 2, "maximum")
        matrix = exchanged(matrix, k, pivot_row, -2)
        if pivots:
            order = select(compare("EQ", turns, k), over_batch(convert(pivot_row, INT32), order), order)
        else:
            order = exchanged(order, k, pivot_row, -1)
        column, row = pick(matrix, at_column, -1), pick(matrix, compare("EQ", rows, k), -2)
        pivot = over_batch(pick(row, compare("EQ", of_columns, k), -1), column)
        usable = compare("GT", of_rows, k) & compare("NE", pivot, zero)
        multipliers = select(usable, column / pivot, zero)
        later = select(compare("GT", of_columns, k), row, zero)
        replaced = at_column & spread(usable, a, -1)
        return [select(replaced, spread(multipliers, a, -1), minus_outer(matrix, multipliers, later)), order]

    first = iota(a.builder, turns.dims if pivots else a.dims[:-1], a.ndim - 2, INT32)
    return steps(count, [a, first], body)


def lu_solve(factors: Tensor, permutation: Tensor, b: Tensor) -> Tensor:
    """x with `a x = b` from `lu(a)`; `b` (..., n, k)."""
    y = permuted_rows(b, permutation)
    y = triangular_solve(factors, y, lower=True, unit_diagonal=True)
    return triangular_solve(factors, y, lower=False)


def permuted_rows(b: Tensor, permutation: Tensor) -> Tensor:
    """Row `permutation[..., i]` of `b` (..., n, k) as row i."""
    axes = range(b.ndim - 1)
    batch = [iota(b.builder, permutation.dims, axis, permutation.dtype) for axis in axes[:-1]]
    return take_elements(b, [*batch, permutation], axes, 0)


def permutation_sign(permutation: Tensor, dtype: DType) -> Tensor:
    """+1 or -1: the parity of each permutation (..., n), from its number of inversions. Shape (...)."""
    builder, rank = permutation.builder, permutation.ndim
    dims: Dims = (*permutation.dims, permutation.dims[-1])
    left = broadcast_in_dim(permutation, dims, range(rank))
    right = broadcast_in_dim(permutation, dims, [*range(rank - 1), rank])
    before = compare("LT", iota(builder, dims, rank - 1, INT64), iota(builder, dims, rank, INT64))
    inverted = before & compare("GT", left, right)
    # A product, not a parity by `xor`, for which XLA:GPU has no all-reduce where the matrix is divided among devices.
    signs = select(inverted, builder.constant(np.array(-1, dtype)), builder.constant(np.array(1, dtype)))
    return reduce_monoid(signs, (rank - 1, rank), "multiply")


def diagonal(a: Tensor) -> Tensor:
    """The main diagonals of square matrices (..., n, n), shape (..., n): every (n + 1)-th element."""
    builder, batch = a.builder, a.dims[:-2]
    n = builder.equate(a.dims[-2], a.dims[-1], "diagonal")
    flat = reshape(a, (*batch, n * n))
    ones = [1] * len(batch)
    places = {"start_indices": [0] * flat.ndim, "limit_indices": flat.dims, "strides": [*ones, n + 1]}
    return sized(("slice", "real_dynamic_slice"), [flat], places, (*batch, n))


# ---- QR, by Householder's reflections --------------------------------------------------------------------------------


def rank_of(a: Tensor) -> Dim:
    """min(m, n)."""
    return minimum(a.dims[-2], a.dims[-1])


def householder_qr(a: Tensor) -> tuple[Tensor, Tensor]:
    """The packed factorization of `a` and its `tau`: LAPACK's geqrf."""
    return _marked("householder_qr", [a], factors)


def pivoted_qr(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """As `householder_qr`, of the columns in an order that makes R's diagonal fall: LAPACK's geqp3.

    Returns:
        The packed factorization, `tau`, and the order (..., n) int32: `a[:, order] = Q R`.
    """
    return _marked("pivoted_qr", [a], lambda x: factors(x, pivot=True))


def householder_product(a: Tensor, taus: Tensor) -> Tensor:
    """The first n columns (..., m, n) of the product of the reflections in `a` (..., m, n), m >= n: LAPACK's orgqr."""
    return _marked("householder_product", [a, taus], lambda *x: [product(*x)])[0]


def reflectors(packed: Tensor, *, complete: bool) -> Tensor:
    """The columns of a packed factorization of which `householder_product` makes k columns of Q, or all m."""
    k, m = rank_of(packed), packed.dims[-2]
    vectors = slice_axis(packed, packed.ndim - 1, 0, k)
    if not complete:
        return vectors
    return lengthened(vectors, m)


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
        done = done & compare("EQ", imag(alpha), 0)
    left = convert(select(compare("LT", real_part(alpha), 0), length, -length), alpha.dtype)
    safe = select(done, number(alpha, 1), left)
    tau = select(done, zero, (safe - alpha) / safe)
    scale = select(done, number(alpha, 1), alpha - safe)
    vector = select(here, number(column, 1), rest / spread(scale, column, -1))
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
            # The first of the columns from `step` on that are longest in the rows from `step` on.
            scaled = abs_(matrix) / broadcast_in_dim(scale[0], matrix.dims, range(scale[0].ndim))
            below = compare("GE", places(matrix, -2), step)
            lengths = total(select(below, squares(scaled), number(scaled, 0)), -2)
            lengths = select(compare("GE", places(lengths, -1), step), lengths, number(lengths, -1))
            chosen = arg_reduce(lengths, lengths.ndim - 1, "maximum")
            matrix, *order = (exchanged(x, step, chosen, -1) for x in (matrix, *order))
        here = compare("EQ", columns, step)
        vector, tau, left = _reflection(pick(matrix, here, -1), step)
        kept = compare("LE", columns, step)
        row = total(spread(conjugate(vector), matrix, -1) * matrix, -2)
        row = spread(conjugate(tau), row, -1) * row
        applied = select(kept, matrix, minus_outer(matrix, vector, row))
        column = select(compare("EQ", places(vector, -1), step), spread(left, vector, -1), vector)
        replaced = here & compare("GE", rows, step)
        matrix = select(replaced, spread(column, matrix, -1), applied)
        return [matrix, select(compare("EQ", numbers, step), spread(tau, taus, -1), taus), *order]

    return steps(k, [a, taus, *order], body)


def product(a: Tensor, taus: Tensor) -> Tensor:
    """`householder_product` in plain StableHLO: the reflections applied to the identity, the last one first."""
    rows, columns, numbers = places(a, -2), places(a, -1), places(taus, -1)
    last = a.builder.size(taus.dims[-1] - 1)

    def body(step: Tensor, product: Tensor) -> list[Tensor]:
        k = last - step
        below = compare("EQ", columns, k) & compare("GT", rows, k)
        vector = pick(a, below, -1)
        vector = select(compare("EQ", places(vector, -1), k), number(vector, 1), vector)
        tau = pick(taus, compare("EQ", numbers, k), -1)
        row = total(spread(conjugate(vector), product, -1) * product, -2)
        return [minus_outer(product, vector, spread(tau, row, -1) * row)]

    return steps(taus.dims[-1], [identity_like(a)], body)[0]


# ---- eigenvalues of Hermitian matrices, and singular values, by Jacobi's rotations of columns ------------------------

SWEEPS = 40


def eigh(a: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvectors (..., n, n) in columns, and eigenvalues (..., n) from low to high, of the Hermitian matrix `a`.

    Only its lower triangle is read.
    """
    builder = a.builder
    builder.equate(a.dims[-2], a.dims[-1], "eigh")
    return _marked("eigh", [a], _eigh)


def svd(a: Tensor, *, complete: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """U, the singular values from high to low, and V^H, with `a = U diag(s) V^H`.

    Args:
        a: (..., m, n); k is min(m, n).
        complete: whether U is (..., m, m) and V^H (..., n, n), or (..., m, k) and (..., k, n).
    """
    return _marked("svd_complete" if complete else "svd", [a], lambda x: _svd(x, complete))


def singular_values(a: Tensor) -> Tensor:
    """The singular values (..., k) of `a` from high to low."""
    return _marked("singular_values", [a], _singular_values)[0]


def _rotated(a: Tensor, *right: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
    """The columns of `a` turned until they are orthogonal, and those of other matrices with them.

    A round turns all columns at once, in pairs `(i, j)` with `i + j = round` modulo n; n rounds are a sweep, in which
    each pair comes once. Sweeps are repeated until nothing is left to turn.

    Returns:
        The matrices, that of `a` first and over its scale; the scale; for each matrix whether `SWEEPS` were enough,
        which they are not where it holds NaN.
    """
    builder, scale = a.builder, magnitude(a, [-2, -1])
    columns = a / over_batch(convert(scale, a.dtype), a)

    def unfinished(columns: Tensor) -> Tensor:
        found = ~_orthogonal(columns, 2)
        return reduce_monoid(found, range(found.ndim), "or")

    def turn(which: Tensor, columns: Tensor, *right: Tensor) -> list[Tensor]:
        rotation = _rotations(matmul(adjoint(columns), columns), which)
        return [matmul(x, rotation) for x in (columns, *right)]

    def sweep(count: Tensor, _: Tensor, *values: Tensor) -> list[Tensor]:
        turned = steps(a.dims[-1], values, turn)
        return [count + 1, unfinished(turned[0]), *turned]

    def more(count: Tensor, going: Tensor, *_: Tensor) -> Tensor:
        return going & compare("LT", count, SWEEPS)

    carries = [builder.constant(0, INT64), unfinished(columns), columns, *right]
    _, _, *turned = while_loop(carries, more, sweep)
    return turned, scale, _orthogonal(turned[0], 1000)


def _rotations(gram: Tensor, turn: Tensor) -> Tensor:
    """The unitary matrix that makes the pairs' elements of a Hermitian matrix zero.

    It is one only if both columns of a pair are turned by the same angle: what rounding left unequal is made equal.
    """
    gram = (gram + adjoint(gram)) * number(gram, 0.5)
    both = places(gram, -2) + places(gram, -1)
    paired = compare("EQ", both, turn) | compare("EQ", both, turn + gram.builder.size(gram.dims[-1]))
    pairs = paired & ~on_diagonal(gram)
    own = real_part(diagonal_of(gram))
    other = pick(spread(own, gram, -1), pairs, -2)
    size = abs_(pick(gram, pairs, -2))
    one, zero = number(own, 1), number(own, 0)
    idle = compare("EQ", size, zero)
    safe = select(idle, one, size)
    angle = (other - own) / (safe + safe)
    partner = pick(places(gram, -2), pairs, -2)
    side = select(compare("LT", places(own, -1), partner), one, number(own, -1))
    side = select(compare("EQ", angle, zero), side, sign(angle))
    tangent = side / (abs_(angle) + sqrt(angle * angle + one))
    tangent = select(idle, zero, tangent)
    cosine = one / sqrt(tangent * tangent + one)
    factor = convert(-(cosine * tangent / safe), gram.dtype)
    across = gram * spread(factor, gram, -2)
    zeros = number(gram, 0)
    return select(pairs, across, select(on_diagonal(gram), spread(convert(cosine, gram.dtype), gram, -2), zeros))


def _orthogonal(columns: Tensor, times: float) -> Tensor:
    """Whether all columns of a matrix are orthogonal, up to rounding, but those that rounding alone made.

    One flag for each matrix; false where one holds NaN.
    """
    gram, eps = matmul(adjoint(columns), columns), np.finfo(real_dtype(columns.dtype)).eps
    lengths = real_part(diagonal_of(gram))
    tiny = compare("LE", lengths, spread(total(lengths, -1) * float(eps**2), lengths, -1))
    rows = convert(columns.builder.size(columns.dims[-2]), lengths.dtype)
    allowed = outer(lengths, lengths, gram) * (rows * float((times * eps) ** 2))
    small = compare("LE", squares(gram), allowed)
    passed = small | on_diagonal(gram) | (spread(tiny, gram, -1) | spread(tiny, gram, -2))
    finite = compare("LT", total(lengths, -1), np.inf)
    return reduce_monoid(passed, [gram.ndim - 2, gram.ndim - 1], "and") & finite


def _nan_unless(good: Tensor, x: Tensor) -> Tensor:
    return select(over_batch(good, x), x, number(x, np.nan))


def _sorted(values: Tensor, direction: str) -> Tensor:
    return sort([values], values.ndim - 1, lambda a, b: compare(direction, a, b), key=direction)[0]


def _sorted_columns(columns: Tensor, values: Tensor, direction: str) -> Tensor:
    keys = spread(values, columns, -2)
    return sort([keys, columns], columns.ndim - 1, lambda a, b, *_: compare(direction, a, b), key=direction)[1]


def _eigh(a: Tensor) -> list[Tensor]:
    """Its diagonal raised until all eigenvalues are positive, a matrix has its eigenvectors for singular vectors."""
    strict = triangle(a, lower=True, diagonal=-1)
    diagonal = select(on_diagonal(a), convert(real_part(a), a.dtype), number(a, 0))
    whole = strict + adjoint(strict) + diagonal
    scale = magnitude(whole, [-2, -1])
    whole = whole / over_batch(convert(scale, a.dtype), whole)
    bound = reduce_monoid(total(abs_(whole), -1), [a.ndim - 2], "maximum")
    raised = over_batch(convert(bound + bound, a.dtype), whole)
    (_, vectors), _, good = _rotated(whole + identity_like(a) * raised, identity_like(a))
    values = total(real_part(conjugate(vectors) * matmul(whole, vectors)), -2)
    vectors = _sorted_columns(vectors, values, "LT")
    values = _sorted(values, "LT") * spread(scale, values, -1)
    return [_nan_unless(good, vectors), _nan_unless(good, values)]


def _singular_values(a: Tensor) -> list[Tensor]:
    """The lengths of orthogonal columns, of which no more than k are above rounding."""
    (columns,), scale, good = _rotated(a)
    lengths = _sorted(sqrt(total(squares(columns), -2)), "GT")
    values = slice_axis(lengths, lengths.ndim - 1, 0, rank_of(a))
    return [_nan_unless(good, values * spread(scale, values, -1))]


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
    left = left * spread(convert(1 - (flipped + flipped), a.dtype), left, -2)
    left, right = (_sorted_columns(x, lengthened(values, x.dims[-1], -1), "GT") for x in (left, right))
    right = right if complete else slice_axis(right, a.ndim - 1, 0, k)
    values = _sorted(values, "GT") * spread(scale, values, -1)
    return [_nan_unless(good, x) for x in (left, values, adjoint(right))]


# ---- what only libraries have ----------------------------------------------------------------------------------------


NO_FORM = "hlograph.library"
WITHOUT_FORM = frozenset({"eig", "schur"})


def eig(a: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues (..., n) and, in columns, right eigenvectors (..., n, n); both complex: LAPACK's geev."""
    dtype = np.result_type(a.dtype, np.complex64)
    return _library("eig", a, [(a.dims[:-1], dtype), (a.dims, dtype)])


def schur(a: Tensor) -> tuple[Tensor, Tensor]:
    """T and the unitary Z with `a = Z T Z^H`: LAPACK's gees.

    T is upper triangular; of a real matrix it has blocks of two on its diagonal, for pairs of complex eigenvalues.
    """
    return _library("schur", a, [(a.dims, a.dtype)] * 2)


def _library(name: str, a: Tensor, results: list[tuple[Dims, DType]]) -> Any:
    a.builder.equate(a.dims[-2], a.dims[-1], name)

    def body(x: Tensor) -> list[Tensor]:
        own = [(x.dims[: len(dims)], dtype) for dims, dtype in results]
        return custom_call(NO_FORM, [x], own, backend_config={"name": f'"{name}"'})

    return _marked(name, [a], body)
