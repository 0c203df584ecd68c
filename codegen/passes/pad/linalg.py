"""Padding rules: factorizations and triangular solves. The padding is completed with an identity block.

A matrix whose padding holds the identity is block diagonal: what is done to the live block is what would be done to it
alone, and the factors' padding is the identity again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.linalg import lu, lu_factor
from ...builder.types import INT32
from ...dims import minimum
from ...ir.attributes import attributes_of
from ...ir.bindings import ir
from . import facts
from .control import pads_custom_call, pads_function
from .live import Live
from .live_builder import attributes_of_op
from .padder import Padder, pads


def with_identity(padder: Padder, a: Live) -> Live:
    """`a` (..., n, n) with 1 on the diagonal of its padding and 0 beside it."""
    rows, columns = a.ndim - 2, a.ndim - 1
    dim = padder.equate(a.dims[rows], a.dims[columns], "square matrix")
    a = padder.fit(a, [*a.dims[:rows], dim, dim])
    if type(dim) is int:
        return a
    padder.note("mask", dim, "with the identity")
    size = a.shape[rows]
    row, column = (hlo.iota(padder.builder, (size, size), axis, INT32) for axis in (0, 1))
    eye = hlo.convert(hlo.compare("EQ", row, column), a.dtype)
    spread = hlo.broadcast_in_dim(eye, a.shape, (rows, columns))
    tensor = hlo.select(padder.box(a, [rows, columns]), a.tensor, spread)
    return padder.live(tensor, a.dims)


@pads("stablehlo.cholesky")
def cholesky(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The factor of the completed matrix."""
    a = with_identity(padder, operands[0])
    tensor = padder.builder.op(operation.name, [a.tensor], a.shape, a.dtype, attributes_of_op(operation))
    return [padder.live(tensor, a.dims)]


@pads("stablehlo.triangular_solve")
def triangular_solve(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The solution for the completed matrix, with right-hand sides of 0 in the padding: the solution is 0 there too."""
    a, b = operands
    left = ir.BoolAttr(operation.attributes["left_side"]).value
    axis = b.ndim - 2 if left else b.ndim - 1
    a, b = _solvable(padder, a, b, axis)
    tensor = padder.builder.op(operation.name, [a.tensor, b.tensor], b.shape, b.dtype, attributes_of_op(operation))
    known = [facts.ZERO if i == axis and b.pads[i] is not None else None for i in range(b.ndim)]
    return [padder.make(tensor, b.dims, known)]


def _solvable(padder: Padder, a: Live, b: Live, axis: int) -> tuple[Live, Live]:
    """The completed matrix, and right-hand sides that are 0 in the padding of `axis`."""
    dim = padder.equate(a.dims[-1], b.dims[axis], "triangular solve")
    batch = [padder.equate(x, y, "batch axis") for x, y in zip(a.dims[:-2], b.dims[:-2], strict=True)]
    a = with_identity(padder, padder.fit(a, [*batch, dim, dim]))
    b = padder.fit(b, [*batch, *[dim if i == axis else d for i, d in enumerate(b.dims)][-2:]])
    zero = np.zeros((), b.dtype)[()]
    b = padder.fill(b, [axis], zero, accept=facts.is_zero)
    return a, b


@pads_function("lu", "lu_factor")
def lu_(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Pivots of live columns are live: the padding of a live column is 0. A singular live block leaves zeros there."""
    a = _factorable(padder, operands[0])
    function = padder.function(ir.FlatSymbolRefAttr(operation.attributes["callee"]).value)
    name = ir.StringAttr(function.attributes["hlograph.implements"]).value
    factors, order = (lu if name == "lu" else lu_factor)(a.tensor)
    return [padder.live(factors, a.dims), padder.live(order, [*a.dims[:-2], minimum(a.dims[-2], a.dims[-1])])]


def _factorable(padder: Padder, a: Live) -> Live:
    """A square matrix is completed with the identity, which never makes its factorization fail.

    Any other is completed with 0: a column of 0 is passed over without an exchange of rows, and reported as singular,
    which JAX does not look at.
    """
    if a.dims[-1] == a.dims[-2]:
        return with_identity(padder, a)
    return padder.fill(a, [a.ndim - 2, a.ndim - 1], np.zeros((), a.dtype)[()], accept=facts.is_zero)


# ---- LAPACK, as JAX calls it -----------------------------------------------------------------------------------------


def _lapack(name: str) -> list[str]:
    return [f"lapack_{kind}{name}_ffi" for kind in "sdcz"]


@pads_custom_call(*_lapack("potrf"))
def factorization(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The factors of the completed matrix: the identity never makes it fail."""
    a = with_identity(padder, operands[0])
    return _library_call(padder, operation, [a], operands)


@pads_custom_call(*_lapack("getrf"))
def lu_factorization(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Of the completed matrix: pivots of live columns are live."""
    return _library_call(padder, operation, [_factorable(padder, operands[0])], operands)


@pads_custom_call(*_lapack("trsm"))
def library_triangular_solve(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """As `stablehlo.triangular_solve`."""
    a, b, *_ = operands
    left = "side = 76 : ui8" in str(operation.attributes["mhlo.backend_config"])  # 76 is "L"
    return _library_call(padder, operation, list(_solvable(padder, a, b, b.ndim - 2 if left else b.ndim - 1)), operands)


def _library_call(padder: Padder, operation: ir.Operation, data: list[Live], operands: Sequence[Live]) -> list[Live]:
    """The call on static tensors; operands that give the sizes of its results go away."""
    count = len(data)
    attributes = attributes_of(operation.attributes)
    attributes.pop("indices_of_shape_operands", None)
    layouts = list(ir.ArrayAttr(attributes["operand_layouts"]))[:count]
    attributes["operand_layouts"] = ir.ArrayAttr.get(layouts, padder.builder.context)
    types = [padder.type_of(result) for result in operation.results]
    shapes = [padder.sizes_of(part, "a result's size") for part in operands[count:]]
    if not shapes:
        shapes = [tuple(dim for dim in shape if dim is not None) for shape, _ in types]
    results = [(padder.static_shape(dims), dtype) for dims, (_, dtype) in zip(shapes, types, strict=True)]
    copy = ir.Operation.create(
        operation.name,
        results=[padder.builder.tensor_type(*type_) for type_ in results],
        operands=[x.tensor.value for x in data],
        attributes=attributes,
        loc=operation.location,
        ip=padder.builder.insertion_point,
    )
    return [
        padder.live(Tensor(padder.builder, value, *type_), dims)
        for value, type_, dims in zip(copy.results, results, shapes, strict=True)
    ]
