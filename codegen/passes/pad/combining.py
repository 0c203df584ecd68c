"""Padding rules: reductions, contractions, orders and factorizations: elements that come from many."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import builder as hlo
from ...builder import Tensor, matrices
from ...builder.linalg import lu, lu_factor
from ...builder.places import INT32, DType
from ...dims import Dim, minimum
from ...dtypes import kind_of, limits
from ...ir.bindings import ir
from ...ir.kinds import direction_of, form_of, identity, monoid_of
from ...ir.values import attributes_of, dot_sides, integers, owner
from . import facts
from .facts import Fact
from .live import Live, attributes_of_op
from .moving import integer
from .padder import Padder, pads


def neutral(monoid: str, init: Tensor, dtype: DType) -> tuple[Any, bool]:
    """The value that the padding must hold under a monoid, and whether 0 of the other sign does as well."""
    value = identity(monoid, dtype)[()]
    if monoid != "add" or dtype.kind not in "fc":
        return value, False
    if (
        init.literal is not None
        and init.literal.size == 1
        and init.literal.reshape(())[()].real.tobytes()
        == bytes(init.literal.dtype.itemsize // (2 if dtype.kind == "c" else 1))
    ):
        return value, True  # +0 plus anything that is 0 is +0: the sign of the padding's zeros is lost
    return (-value if dtype.kind == "f" else value), False


@pads("stablehlo.reduce")
def reduce(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding holds the monoid's identity; a body that is no monoid is lifted to one by a flag."""
    count = len(operands) // 2
    values, inits = padder.align(operands[:count], "reduced tensors"), operands[count:]
    axes = integers(operation, "dimensions")
    padded = [axis for axis in axes if type(values[0].dims[axis]) is not int]
    block = operation.regions[0].blocks[0]
    monoid = monoid_of(block)
    kept = [axis for axis in range(values[0].ndim) if axis not in axes]
    if monoid is not None and count == 1:
        x, init = values[0], inits[0]
        if padded:
            value, either = neutral(monoid, init.tensor, x.dtype)
            x = padder.fill(x, padded, value, either=either)
        shape = tuple(x.shape[axis] for axis in kept)
        counted = padder.counted(x, axes)
        (tensor,) = padder.builder.again(operation, [x.tensor, init.tensor], [(shape, x.dtype)], counted, monoid)
        known = [_reduced(monoid, x.pads[axis], init.whole, x.dtype) for axis in kept]
        return [padder.make(tensor, [x.dims[axis] for axis in kept], known)]
    body = padder.scalar_region(block)
    if padded:
        tensors = _lifted(padder, values, inits, axes, padded, body)
    else:
        tensors = hlo.reduce([x.tensor for x in values], [x.tensor for x in inits], axes, body)
    dims = [values[0].dims[axis] for axis in kept]
    return [padder.make(tensor, dims) for tensor in tensors]


def _reduced(monoid: str, fact: Fact | None, init: Fact, dtype: DType) -> Fact | None:
    """The fact that holds of a reduction of elements of which `fact` holds."""
    if fact is None:
        return None
    if monoid == "add":
        return facts.ZERO if fact.zero and init.zero else facts.anything(dtype)
    if monoid in ("maximum", "minimum", "and", "or"):
        return fact if fact is init else facts.join(fact, init) if fact.finite else facts.anything(dtype)
    return facts.anything(dtype)


def _lifted(
    padder: Padder,
    values: list[Live],
    inits: list[Live],
    axes: Sequence[int],
    padded: list[int],
    body: Callable[..., list[Tensor]],
) -> list[Tensor]:
    """Any associative body: a further operand says which elements are live, and those that are not are passed over.

    The initial values are not live either, so that they are a neutral element of what is reduced: XLA takes them in any
    number of times, and not at all where there is one element. They may be no neutral element of the body, so the body
    takes them in once, behind the reduction. They are the result where nothing is live.
    """
    count = len(values)
    for axis in padded:
        padder.note("flag", values[0].dims[axis], "live elements only")
    live = padder.box(values[0], padded)

    def guarded(*scalars: Tensor) -> list[Tensor]:
        old, first, new, second = scalars[:count], scalars[count], scalars[count + 1 : -1], scalars[-1]
        combined = body(*old, *new)
        both = hlo.and_(first, second)
        chosen = [hlo.select(both, c, hlo.select(first, a, b)) for a, b, c in zip(old, new, combined, strict=True)]
        return [*chosen, hlo.or_(first, second)]

    tensors = hlo.reduce(
        [*[x.tensor for x in values], live],
        [*[x.tensor for x in inits], padder.builder.constant(False)],
        axes,
        guarded,
        attributes=padder.counted(values[0], sorted(axes)),
    )
    some, shape = tensors[count], tensors[count].dims
    spread = [hlo.broadcast_in_dim(init.tensor, shape, ()) for init in inits]
    operands = [*spread, *tensors[:count]]
    taken_in = [
        hlo.map_elements(operands, init.dtype, lambda *scalars, i=i: body(*scalars)[i]) for i, init in enumerate(inits)
    ]
    return [hlo.select(some, tensor, init) for tensor, init in zip(taken_in, spread, strict=True)]


# ---- contractions ----------------------------------------------------------------------------------------------------


@pads("stablehlo.dot_general")
def dot_general(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """A product with the cheapest masks that make one operand 0 and the other finite along contracted padded axes."""
    lhs, rhs = operands
    dtype = padder.type_of(operation.results[0])[1]
    contracting, batching = dot_sides(operation)
    lhs, rhs = padder.equal(lhs, rhs, (*zip(*batching, strict=True), *zip(*contracting, strict=True)), "dot")
    for left, right in zip(*contracting, strict=True):
        if type(lhs.dims[left]) is not int:
            lhs, rhs = _annihilate(padder, lhs, left, rhs, right)
    form = form_of(operation)
    assert form is not None
    places = map(form.places, range(len(padder.type_of(operation.results[0])[0])))
    pairs = [(lhs, left, rhs) if left is not None else (rhs, right or 0, lhs) for left, right in places]
    known: list[Fact | None] = []
    for x, axis, y in pairs:
        zero = x.pads[axis] is not None and x.pad(axis).zero and y.whole.finite
        known.append(facts.ZERO if zero else facts.anything(dtype))
    shape = tuple(x.shape[axis] for x, axis, _ in pairs)
    attributes = attributes_of_op(operation) + padder.counted(lhs, contracting[0])
    tensor = padder.builder.op(operation.name, [lhs.tensor, rhs.tensor], shape, dtype, attributes)
    return [padder.make(tensor, [x.dims[axis] for x, axis, _ in pairs], known)]


def _annihilate(padder: Padder, lhs: Live, left: int, rhs: Live, right: int) -> tuple[Live, Live]:
    """Masks such that products of padding are 0: none, the smaller one that does, or both."""
    a, b = lhs.pad(left), rhs.pad(right)
    if (a.zero and b.finite) or (b.zero and a.finite):
        padder.asked(lhs, left)
        padder.asked(rhs, right)
        return lhs, rhs
    of_left, of_right = b.finite, a.finite  # then 0 on the other side is enough
    if of_left and of_right:
        of_left = (lhs.ndim, math.prod(lhs.shape)) <= (rhs.ndim, math.prod(rhs.shape))
        of_right = not of_left
    both = not (of_left or of_right)
    if of_left or both:
        lhs = padder.zeros(lhs, [left])
    if of_right or both:
        rhs = padder.zeros(rhs, [right])
    return lhs, rhs


# ---- order: padding goes last ----------------------------------------------------------------------------------------


@pads("stablehlo.sort")
def sort(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Where the order is known, padding holds what comes last in it; else a leading key tells it from live elements."""
    axis = integer(operation, "dimension")
    values = padder.align(operands, "sorted tensors")
    dim = values[0].dims[axis]
    block = operation.regions[0].blocks[0]
    last = _last(block, values[0].dtype)
    if type(dim) is int or last is not None:
        # Live elements that compare equal to the padding stand before it, and a stable sort keeps them there.
        values[0] = values[0] if last is None else padder.fill(values[0], [axis], last)
        stays = (("is_stable", "true"),) if type(dim) is not int and len(values) > 1 else ()
        types = [(x.shape, x.dtype) for x in values]
        tensors = padder.builder.again(operation, [x.tensor for x in values], types, stays)
    else:
        padder.note("key", dim, "padding last")
        region = padder.scalar_region(block)
        stable = ir.BoolAttr(operation.attributes["is_stable"]).value if "is_stable" in operation.attributes else False

        def keyed(first: Tensor, second: Tensor, *scalars: Tensor) -> Tensor:
            (inner,) = region(*scalars)
            return hlo.select(hlo.compare("EQ", first, second), inner, hlo.compare("LT", first, second))

        behind = hlo.not_(padder.box(values[0], [axis]))
        keys = [hlo.convert(behind, INT32), *[x.tensor for x in values]]
        tensors = hlo.sort(keys, axis, keyed, stable=stable)[1:]
    return [padder.make(tensor, x.dims) for tensor, x in zip(tensors, values, strict=True)]


# Floats in order with NaN last: as the builder writes it, and JAX's total order, in which all NaN are one and 0 is -0.
_ONE_NAN = "stablehlo.select(NE({0}, {0}), nan, stablehlo.select(EQ({0}, 0), 0, {0}))"
_NAN_LAST = {
    "stablehlo.or(LT(a, b), stablehlo.and(EQ(a, a), NE(b, b)))",
    f"LT total({_ONE_NAN.format('a')}, {_ONE_NAN.format('b')})",
}


def _last(block: ir.Block, dtype: DType) -> Any:
    """The element that no other comes after, for the orders known here; None for others.

    They compare the first operand alone: `a < b` and `a > b` of integers and booleans; floats with NaN last.
    """
    texts: dict[ir.Value, str] = dict(zip(block.arguments, "ab", strict=False))

    def text_of(value: ir.Value) -> str:
        outside = owner(value)  # constants may stand outside of the region
        return texts.get(value) or ("?" if outside is None else _constant_text(outside))

    for view in block.operations:
        operation = view.operation
        operands = ", ".join(map(text_of, operation.operands))
        if operation.name == "stablehlo.return":
            break
        if operation.name == "stablehlo.compare":
            total = " total" if "TOTALORDER" in str(attributes_of(operation.attributes).get("compare_type")) else ""
            text = f"{direction_of(operation)}{total}({operands})"
        elif operation.name == "stablehlo.constant":
            text = _constant_text(operation)
        else:
            text = f"{operation.name}({operands})"
        texts[operation.results[0]] = text
    kind = kind_of(dtype)
    if kind in "biu":
        least, greatest = limits(dtype)
        return {"LT(a, b)": greatest, "GT(a, b)": least}.get(operands)
    if kind == "f" and operands in _NAN_LAST:
        nan = np.array(np.nan).astype(dtype)
        return nan[()] if np.isnan(nan) else None
    return None


def _constant_text(operation: ir.Operation) -> str:
    if operation.name != "stablehlo.constant":
        return "?"
    value = str(operation.attributes["value"]).lower()
    is_nan = value.startswith(("dense<0x7f", "dense<0x7e", "dense<0x7c"))  # without its sign
    return "nan" if is_nan else "0" if value.startswith("dense<0.0") else "?"


@pads("chlo.top_k")
def top_k(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Along a padded last axis the padding holds the least value, which is behind live ones that equal it."""
    x = operands[0]
    k = ir.IntegerAttr(operation.attributes["k"]).value
    axis = x.ndim - 1
    padder.demand(x.dims[axis], k, "the number of elements that are wanted")
    if type(x.dims[axis]) is not int:
        # Of floats the NaN all of whose bits are set, the first of the total order by bits.
        nan = np.full(x.dtype.itemsize, 0xFF, np.uint8).view(x.dtype)[0]
        x = padder.fill(x, [axis], limits(x.dtype)[0] if kind_of(x.dtype) in "biu" else nan)
    if x.shape[axis] < k:
        padder.refuse(f"{k} elements are wanted of at most {x.shape[axis]}", x.dims[axis])
    shape = (*x.shape[:axis], k)
    tensors = padder.builder.again(operation, [x.tensor], [(shape, x.dtype), (shape, INT32)])
    return [padder.make(tensor, (*x.dims[:axis], k)) for tensor in tensors]


# ---- factorizations and triangular solves, by what completes a matrix in its padding ---------------------------------
#
# With the identity there a matrix is block diagonal: what is done to the live block is what would be done to it alone,
# and the factors' padding is the identity again. With 0 there it has the reflections of its live block, and its
# singular values before further zeros. The singular vectors of a zero are any, and may lie in the padding: what they
# are in the live block is made orthonormal again. Eigenvalues are sorted from low to high: its diagonal holds a number
# above all of them.


def _square(padder: Padder, a: Live) -> Live:
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
    return padder.make(tensor, a.dims)


def _with_zeros(padder: Padder, a: Live) -> Live:
    return padder.zeros(a, [a.ndim - 2, a.ndim - 1])


def _pads_matrix(a: Live) -> bool:
    return any(type(dim) is not int for dim in a.dims[-2:])


def _shorter(a: Live) -> list[Dim]:
    return [*a.dims[:-2], minimum(a.dims[-2], a.dims[-1])]


@pads("stablehlo.cholesky")
def cholesky(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The factor of the completed matrix."""
    a = _with_identity(padder, operands[0])
    tensor = padder.builder.op(operation.name, [a.tensor], a.shape, a.dtype, attributes_of_op(operation))
    return [padder.make(tensor, a.dims)]


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
    return [padder.make(factors, a.dims), padder.make(order, _shorter(a))]


@pads("householder_qr", "pivoted_qr")
def qr(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Columns of 0 are longer than none: they keep their places behind the live ones, and have `tau` 0."""
    a = _with_zeros(padder, operands[0])
    pivoted = padder.implements(operation) == "pivoted_qr"
    packed, taus, *order = (hlo.pivoted_qr if pivoted else hlo.householder_qr)(a.tensor)
    results = [padder.make(packed, a.dims), padder.make(taus, _shorter(a))]
    return [*results, *[padder.make(x, [*a.dims[:-2], a.dims[-1]]) for x in order]]


@pads("householder_product")
def householder_product(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Reflections with `tau` 0 are the identity."""
    a, taus = _with_zeros(padder, operands[0]), padder.zeros(operands[1], [operands[1].ndim - 1])
    return [padder.make(hlo.householder_product(a.tensor, taus.tensor), a.dims)]


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
    return [padder.make(vectors, a.dims), padder.make(values, a.dims[:-1])]


@pads("singular_values")
def singular_values(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The padding's are 0, the least."""
    a = _with_zeros(padder, operands[0])
    return [padder.make(hlo.singular_values(a.tensor), _shorter(a))]


@pads("svd", "svd_complete")
def svd(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The values' vectors, cut to the live block and orthonormal there; a complete set has others beside them."""
    a = _with_zeros(padder, operands[0])
    dims, complete = _shorter(a), padder.implements(operation) == "svd_complete"
    if not _pads_matrix(a):
        rows, columns = (a.dims[axis] if complete else dims[-1] for axis in (-2, -1))
        shapes = [*a.dims[:-1], rows], dims, [*dims[:-1], columns, a.dims[-1]]
        return [padder.make(x, own) for x, own in zip(hlo.svd(a.tensor, complete=complete), shapes, strict=True)]
    left, values, right = hlo.svd(a.tensor)
    lefts, rights = (
        _orthonormal(padder, padder.make(vectors, [*a.dims[:-2], a.dims[axis], dims[-1]]), complete=complete)
        for vectors, axis in ((left, -2), (matrices.adjoint(right), -1))
    )
    turned = padder.make(matrices.adjoint(rights.tensor), [*rights.dims[:-2], rights.dims[-1], rights.dims[-2]])
    return [lefts, padder.make(values, dims), turned]


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
    return padder.make(turned, [*x.dims[:-1], x.dims[-2]] if complete else x.dims)


@pads("eig", "schur")
def spectral(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Of matrices that are not padded: LAPACK finds eigenvalues in no order that padding leaves alone."""
    a, name = operands[0], padder.implements(operation)
    if _pads_matrix(a):
        padder.refuse(f"the order in which {name} finds eigenvalues depends on the padding", *a.dims[-2:])
    if name == "schur":
        return [padder.make(x, a.dims) for x in hlo.schur(a.tensor)]
    values, vectors = hlo.eig(a.tensor)
    return [padder.make(values, a.dims[:-1]), padder.make(vectors, a.dims)]
