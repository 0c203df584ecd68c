"""Padding rules: QR, eigenvalues of Hermitian matrices, singular values.

A matrix with 0 in its padding has the reflections of its live block, and its singular values before further zeros. The
singular vectors of a zero are any, and may lie in the padding: what they are in the live block is made orthonormal
again. Eigenvalues are sorted from low to high: the padding's diagonal holds a number above all of them.
"""

from __future__ import annotations

import numpy as np

from ... import builder as hlo
from ...builder import Tensor, matrices
from ...dims import Dim, minimum
from ...ir.bindings import ir
from . import facts
from .control import pads_function
from .live import Live
from .padder import Padder


def _zero_filled(padder: Padder, a: Live, axes: int = 2) -> Live:
    """The same with 0 in the padding of its last axes."""
    zero = np.zeros((), a.dtype)[()]
    return padder.fill(a, range(a.ndim - axes, a.ndim), zero, accept=facts.is_zero)


@pads_function("householder_qr", "pivoted_qr")
def qr(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Columns of 0 are longer than none: they keep their places behind the live ones, and have `tau` 0."""
    a = _zero_filled(padder, operands[0])
    k = minimum(a.dims[-2], a.dims[-1])
    pivoted = len(operation.results) == 3
    packed, taus, *order = (hlo.pivoted_qr if pivoted else hlo.householder_qr)(a.tensor)
    results = [padder.live(packed, a.dims), padder.live(taus, [*a.dims[:-2], k])]
    return [*results, *[padder.live(x, [*a.dims[:-2], a.dims[-1]]) for x in order]]


@pads_function("householder_product")
def householder_product(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Reflections with `tau` 0 are the identity."""
    a, taus = _zero_filled(padder, operands[0]), _zero_filled(padder, operands[1], 1)
    return [padder.live(hlo.householder_product(a.tensor, taus.tensor), a.dims)]


@pads_function("eigh")
def eigh(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding's eigenvalues are twice a bound of the live ones."""
    a = operands[0]
    dim = padder.equate(a.dims[-2], a.dims[-1], "square matrix")
    a = padder.fit(a, [*a.dims[:-2], dim, dim])
    if type(dim) is int:
        return _eigenpairs(padder, a, a.tensor)
    a = _zero_filled(padder, a)
    sizes = hlo.abs(hlo.triangle(a.tensor, lower=True))
    bound = hlo.add(matrices.total(sizes, -1), matrices.total(sizes, -2))
    bound = hlo.reduce_monoid(bound, [bound.ndim - 1], "maximum")
    high = hlo.select(hlo.compare("EQ", bound, 0), matrices.number(bound, 1), hlo.add(bound, bound))
    padder.note("mask", dim, "with a diagonal above all eigenvalues")
    last = [a.ndim - 2, a.ndim - 1]
    outside = hlo.and_(matrices.on_diagonal(a.tensor), hlo.not_(padder.box(a, last)))
    filled = hlo.select(outside, matrices.over_batch(hlo.convert(high, a.dtype), a.tensor), a.tensor)
    return _eigenpairs(padder, a, filled)


def _eigenpairs(padder: Padder, a: Live, filled: Tensor) -> list[Live]:
    vectors, values = hlo.eigh(filled)
    return [padder.live(vectors, a.dims), padder.live(values, a.dims[:-1])]


@pads_function("singular_values")
def singular_values(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding's are 0, the least."""
    a = _zero_filled(padder, operands[0])
    return [padder.live(hlo.singular_values(a.tensor), _values_dims(a))]


@pads_function("svd", "svd_complete")
def svd(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The values' vectors, cut to the live block and orthonormal there; a complete set has others beside them."""
    a = _zero_filled(padder, operands[0])
    dims = _values_dims(a)
    complete = _implemented(padder, operation) == "svd_complete"
    if not _pads_matrix(a):
        rows, columns = (a.dims[axis] if complete else dims[-1] for axis in (-2, -1))
        left, values, right = hlo.svd(a.tensor, complete=complete)
        shapes = [*a.dims[:-1], rows], dims, [*dims[:-1], columns, a.dims[-1]]
        return [padder.live(x, shape) for x, shape in zip((left, values, right), shapes, strict=True)]
    left, values, right = hlo.svd(a.tensor)
    lefts, rights = (
        _orthonormal(padder, padder.live(vectors, [*a.dims[:-2], a.dims[axis], dims[-1]]), complete=complete)
        for vectors, axis in ((left, -2), (matrices.adjoint(right), -1))
    )
    turned = padder.live(matrices.adjoint(rights.tensor), [*rights.dims[:-2], rights.dims[-1], rights.dims[-2]])
    return [lefts, padder.live(values, dims), turned]


def _pads_matrix(a: Live) -> bool:
    """Whether one of the last two axes has padding."""
    return any(type(dim) is not int for dim in a.dims[-2:])


def _implemented(padder: Padder, operation: ir.Operation) -> str:
    """What the function that is called implements."""
    function = padder.function(ir.FlatSymbolRefAttr(operation.attributes["callee"]).value)
    return ir.StringAttr(function.attributes["hlograph.implements"]).value


@pads_function("eig", "schur")
def spectral(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Of matrices that are not padded: LAPACK finds eigenvalues in no order that padding leaves alone."""
    a = operands[0]
    name = _implemented(padder, operation)
    if _pads_matrix(a):
        padder.refuse(f"the order in which {name} finds eigenvalues depends on the padding", *a.dims[-2:])
    if name == "schur":
        return [padder.live(x, a.dims) for x in hlo.schur(a.tensor)]
    values, vectors = hlo.eig(a.tensor)
    return [padder.live(values, a.dims[:-1]), padder.live(vectors, a.dims)]


def _values_dims(a: Live) -> list[Dim]:
    return [*a.dims[:-2], minimum(a.dims[-2], a.dims[-1])]


def _orthonormal(padder: Padder, x: Live, *, complete: bool) -> Live:
    """Columns that are orthonormal already stay; in place of others, and of those that lack, stand any that are."""
    x = _zero_filled(padder, x)
    packed, taus = hlo.householder_qr(x.tensor)
    unitary = hlo.householder_product(hlo.reflectors(packed, complete=complete), taus)
    signed = matrices.real_part(matrices.diagonal_of(packed))
    signed = hlo.slice_axis(signed, signed.ndim - 1, 0, unitary.dims[-1])
    one = matrices.number(signed, 1)
    signs = hlo.select(hlo.compare("LT", signed, 0), hlo.negate(one), one)
    turned = hlo.multiply(unitary, matrices.spread(hlo.convert(signs, x.dtype), unitary, -2))
    return padder.live(turned, [*x.dims[:-1], x.dims[-2]] if complete else x.dims)
