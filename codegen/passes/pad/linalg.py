"""Padding rules: factorizations and triangular solves, by what completes a matrix in its padding.

With the identity there a matrix is block diagonal: what is done to the live block is what would be done to it alone,
and the factors' padding is the identity again. With 0 there it has the reflections of its live block, and its singular
values before further zeros. The singular vectors of a zero are any, and may lie in the padding: what they are in the
live block is made orthonormal again. Eigenvalues are sorted from low to high: the padding's diagonal holds a number
above all of them.
"""

from __future__ import annotations

from ... import builder as hlo
from ...builder import matrices
from ...builder.linalg import lu, lu_factor
from ...builder.types import INT32
from ...dims import Dim, minimum
from ...ir.bindings import ir
from . import facts
from .live import Live, attributes_of_op
from .padder import Padder, pads


def _square(padder: Padder, a: Live) -> Live:
    """`a` (..., n, n) with one size for rows and columns."""
    dim = padder.equate(a.dims[-2], a.dims[-1], "square matrix")
    return padder.fit(a, [*a.dims[:-2], dim, dim])


def _with_identity(padder: Padder, a: Live) -> Live:
    """`a` (..., n, n) with 1 on the diagonal of its padding and 0 beside it."""
    a = _square(padder, a)
    rows, columns = a.ndim - 2, a.ndim - 1
    if type(a.dims[-1]) is int:
        return a
    padder.note("mask", a.dims[-1], "with the identity")
    size = a.shape[rows]
    row, column = (hlo.iota(padder.builder, (size, size), axis, INT32) for axis in (0, 1))
    eye = hlo.convert(hlo.compare("EQ", row, column), a.dtype)
    spread = hlo.broadcast_in_dim(eye, a.shape, (rows, columns))
    tensor = hlo.select(padder.box(a, [rows, columns]), a.tensor, spread)
    return padder.live(tensor, a.dims)


def _with_zeros(padder: Padder, a: Live) -> Live:
    """The same with 0 in the padding of rows and columns."""
    return padder.zeros(a, [a.ndim - 2, a.ndim - 1])


def _pads_matrix(a: Live) -> bool:
    """Whether one of the last two axes has padding."""
    return any(type(dim) is not int for dim in a.dims[-2:])


def _shorter(a: Live) -> list[Dim]:
    """The dims of as many numbers as a matrix has rows or columns, whichever are fewer."""
    return [*a.dims[:-2], minimum(a.dims[-2], a.dims[-1])]


@pads("stablehlo.cholesky")
def cholesky(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The factor of the completed matrix."""
    a = _with_identity(padder, operands[0])
    tensor = padder.builder.op(operation.name, [a.tensor], a.shape, a.dtype, attributes_of_op(operation))
    return [padder.live(tensor, a.dims)]


@pads("stablehlo.triangular_solve")
def triangular_solve(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The solution for the completed matrix, with right-hand sides of 0 in the padding: the solution is 0 there too."""
    a, b = operands
    axis = b.ndim - 2 if ir.BoolAttr(operation.attributes["left_side"]).value else b.ndim - 1
    batch = [(i, i) for i in range(a.ndim - 2)]
    a, b = padder.equal(_square(padder, a), b, [*batch, (a.ndim - 1, axis)], "triangular solve")
    a, b = _with_identity(padder, a), padder.zeros(b, [axis])
    tensor = padder.builder.op(operation.name, [a.tensor, b.tensor], b.shape, b.dtype, attributes_of_op(operation))
    known = [facts.ZERO if i == axis and b.pads[i] is not None else None for i in range(b.ndim)]
    return [padder.make(tensor, b.dims, known)]


@pads("lu", "lu_factor")
def lu_(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Pivots of live columns are live: the padding of a live column is 0. A singular live block leaves zeros there.

    A square matrix is completed with the identity, which never makes its factorization fail; any other with 0: a column
    of 0 is passed over without an exchange of rows, and reported as singular, which JAX does not look at.
    """
    a = operands[0]
    a = _with_identity(padder, a) if a.dims[-1] == a.dims[-2] else _with_zeros(padder, a)
    factors, order = (lu if padder.implements(operation) == "lu" else lu_factor)(a.tensor)
    return [padder.live(factors, a.dims), padder.live(order, _shorter(a))]


@pads("householder_qr", "pivoted_qr")
def qr(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Columns of 0 are longer than none: they keep their places behind the live ones, and have `tau` 0."""
    a = _with_zeros(padder, operands[0])
    pivoted = padder.implements(operation) == "pivoted_qr"
    packed, taus, *order = (hlo.pivoted_qr if pivoted else hlo.householder_qr)(a.tensor)
    results = [padder.live(packed, a.dims), padder.live(taus, _shorter(a))]
    return [*results, *[padder.live(x, [*a.dims[:-2], a.dims[-1]]) for x in order]]


@pads("householder_product")
def householder_product(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Reflections with `tau` 0 are the identity."""
    a, taus = _with_zeros(padder, operands[0]), padder.zeros(operands[1], [operands[1].ndim - 1])
    return [padder.live(hlo.householder_product(a.tensor, taus.tensor), a.dims)]


@pads("eigh")
def eigh(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding's eigenvalues are twice a bound of the live ones."""
    a = _square(padder, operands[0])
    filled = a.tensor
    if _pads_matrix(a):
        a = _with_zeros(padder, a)
        sizes = hlo.abs(hlo.triangle(a.tensor, lower=True))
        bound = hlo.add(matrices.total(sizes, -1), matrices.total(sizes, -2))
        bound = hlo.reduce_monoid(bound, [bound.ndim - 1], "maximum")
        high = hlo.select(hlo.compare("EQ", bound, 0), matrices.number(bound, 1), hlo.add(bound, bound))
        padder.note("mask", a.dims[-1], "with a diagonal above all eigenvalues")
        outside = hlo.not_(padder.box(a, [a.ndim - 2, a.ndim - 1]))
        outside = hlo.and_(matrices.on_diagonal(a.tensor), outside)
        filled = hlo.select(outside, matrices.over_batch(hlo.convert(high, a.dtype), a.tensor), a.tensor)
    vectors, values = hlo.eigh(filled)
    return [padder.live(vectors, a.dims), padder.live(values, a.dims[:-1])]


@pads("singular_values")
def singular_values(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding's are 0, the least."""
    a = _with_zeros(padder, operands[0])
    return [padder.live(hlo.singular_values(a.tensor), _shorter(a))]


@pads("svd", "svd_complete")
def svd(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The values' vectors, cut to the live block and orthonormal there; a complete set has others beside them."""
    a = _with_zeros(padder, operands[0])
    dims, complete = _shorter(a), padder.implements(operation) == "svd_complete"
    if not _pads_matrix(a):
        rows, columns = (a.dims[axis] if complete else dims[-1] for axis in (-2, -1))
        shapes = [*a.dims[:-1], rows], dims, [*dims[:-1], columns, a.dims[-1]]
        return [padder.live(x, own) for x, own in zip(hlo.svd(a.tensor, complete=complete), shapes, strict=True)]
    left, values, right = hlo.svd(a.tensor)
    lefts, rights = (
        _orthonormal(padder, padder.live(vectors, [*a.dims[:-2], a.dims[axis], dims[-1]]), complete=complete)
        for vectors, axis in ((left, -2), (matrices.adjoint(right), -1))
    )
    turned = padder.live(matrices.adjoint(rights.tensor), [*rights.dims[:-2], rights.dims[-1], rights.dims[-2]])
    return [lefts, padder.live(values, dims), turned]


def _orthonormal(padder: Padder, x: Live, *, complete: bool) -> Live:
    """Columns that are orthonormal already stay; in place of others, and of those that lack, stand any that are."""
    x = _with_zeros(padder, x)
    packed, taus = hlo.householder_qr(x.tensor)
    unitary = hlo.householder_product(hlo.reflectors(packed, complete=complete), taus)
    signed = matrices.real_part(matrices.diagonal_of(packed))
    signed = hlo.slice_axis(signed, signed.ndim - 1, 0, unitary.dims[-1])
    one = matrices.number(signed, 1)
    signs = hlo.select(hlo.compare("LT", signed, 0), hlo.negate(one), one)
    turned = hlo.multiply(unitary, matrices.spread(hlo.convert(signs, x.dtype), unitary, -2))
    return padder.live(turned, [*x.dims[:-1], x.dims[-2]] if complete else x.dims)


@pads("eig", "schur")
def spectral(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Of matrices that are not padded: LAPACK finds eigenvalues in no order that padding leaves alone."""
    a, name = operands[0], padder.implements(operation)
    if _pads_matrix(a):
        padder.refuse(f"the order in which {name} finds eigenvalues depends on the padding", *a.dims[-2:])
    if name == "schur":
        return [padder.live(x, a.dims) for x in hlo.schur(a.tensor)]
    values, vectors = hlo.eig(a.tensor)
    return [padder.live(values, a.dims[:-1]), padder.live(vectors, a.dims)]
