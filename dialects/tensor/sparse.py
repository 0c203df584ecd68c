"""Sparse matrices whose places are known: constants, and data on the places of a constant.

A sparse matrix is a value of its own here, `Sparse`, which only the ops of this file take. A product is a gather of
rows, a multiplication, and a scatter that adds; nothing of the size of the dense matrix is made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers


@dataclass(frozen=True)
class Sparse:
    """A matrix in compressed form, `csr` or `csc`, with its places as constants."""

    values: Tensor
    indices: np.ndarray[Any, Any]
    starts: np.ndarray[Any, Any]
    shape: tuple[int, int]
    form: str

    @property
    def transposed(self) -> Sparse:
        """Rows as columns."""
        return replace(self, shape=self.shape[::-1], form="csc" if self.form == "csr" else "csr")

    @property
    def places(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Row and column of each value, as int64."""
        major = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        minor = np.asarray(self.indices, np.int64)
        return (major, minor) if self.form == "csr" else (minor, major)


def as_sparse(ctx: Context, x: Any) -> Sparse:
    """A sparse operand: made by an op of this file, or a constant of SciPy's."""
    if isinstance(x, Sparse):
        return x
    return Sparse(ctx.constant(np.asarray(x.data)), x.indices, x.indptr, tuple(x.shape), x.format)


def _constants(ctx: Context, node: Any, *parts: Tensor) -> list[np.ndarray[Any, Any]]:
    """The arrays that say where the elements are."""
    known = [x.literal for x in parts]
    if any(x is None for x in known):
        raise UnsupportedGraphError(
            f"{node.op} at {ctx.builder.where}: the places of a sparse matrix must be constants; use a dense matrix, "
            "or indexing"
        )
    return known  # type: ignore[return-value]


@lowers("SparseCSM")
def csm(ctx: Context, node: Any, values: Tensor, indices: Tensor, starts: Tensor, shape: Tensor) -> list[Sparse]:
    """Values on the places of a constant matrix in compressed form."""
    indices_, starts_, shape_ = _constants(ctx, node, indices, starts, shape)
    ctx.equate(values.dims[0], len(indices_), f"the number of values of {node.op}")
    rows, columns = map(int, shape_)
    return [Sparse(values, indices_, starts_, (rows, columns), node.op.format)]


@lowers("SparseCSMProperties")
def csm_properties(ctx: Context, node: Any, x: Any) -> list[Tensor]:
    """Values, indices, starts and shape."""
    x = as_sparse(ctx, x)
    parts = zip((x.indices, x.starts, np.asarray(x.shape)), node.outputs[1:], strict=True)
    return [x.values, *[ctx.constant(np.asarray(part), np.dtype(v.type.dtype)) for part, v in parts]]


@lowers("SparseCSMGrad")
def csm_grad(ctx: Context, node: Any, values: Tensor, *parts: Tensor) -> Tensor:
    """The values of the gradient's matrix, which has the same places."""
    indices, starts, _, other_indices, other_starts, _ = _constants(ctx, node, *parts[:3], *parts[4:])
    if not (np.array_equal(indices, other_indices) and np.array_equal(starts, other_starts)):
        raise UnsupportedGraphError(f"{node.op} at {ctx.builder.where}: the two matrices have other places")
    return hlo.convert(parts[3], ctx.out_dtype())


@lowers("SparseTranspose")
def transpose(ctx: Context, node: Any, x: Any) -> list[Sparse]:
    """Rows as columns."""
    return [as_sparse(ctx, x).transposed]


@lowers("SparseMultiplySparseDense", "SparseMultiplySparseDenseVector")
def multiply(ctx: Context, node: Any, x: Any, y: Tensor) -> list[Sparse]:
    """Each value times a number, or the element of a dense matrix, or of a row, at its place."""
    x = as_sparse(ctx, x)
    for size, dim in zip(x.shape[2 - y.ndim :], y.dims, strict=True):
        ctx.equate(dim, size, f"{node.op} of two matrices")
    places = np.stack(x.places[2 - y.ndim :], 1) if y.ndim else None
    factor = y if places is None else _elements(ctx, y, places)
    dtype = np.dtype(node.outputs[0].type.dtype)
    values = hlo.multiply(hlo.convert(x.values, dtype), hlo.convert(factor, dtype))
    return [replace(x, values=values)]


@lowers("SparseColScaleCSC", "SparseRowScaleCSC")
def scale(ctx: Context, node: Any, x: Any, factors: Tensor) -> list[Sparse]:
    """Each column, or each row, times a number of its own."""
    x = as_sparse(ctx, x)
    axis = 1 if type(node.op).__name__.startswith("Col") else 0
    ctx.equate(factors.dims[0], x.shape[axis], f"the factors of {node.op}")
    factor = hlo.take(factors, ctx.constant(x.places[axis]), 0)
    return [replace(x, values=hlo.multiply(x.values, hlo.convert(factor, x.values.dtype)))]


def _elements(ctx: Context, y: Tensor, places: np.ndarray[Any, Any]) -> Tensor:
    """The elements of a dense array at places, [count, rank]."""
    axes = list(range(y.ndim))
    index = ctx.constant(places)
    return hlo.gather(
        y,
        index,
        offset_dims=[],
        collapsed_slice_dims=axes,
        start_index_map=axes,
        index_vector_dim=1,
        slice_sizes=hlo.element_sizes(y, axes, ctx.constant(places[:, 0])),
    )


@lowers("SparseSpSum")
def total(ctx: Context, node: Any, x: Any) -> Tensor:
    """The sum of all values, or of those of each column (axis 0) or row."""
    x = as_sparse(ctx, x)
    if node.op.axis is None:
        return hlo.reduce_monoid(x.values, [0], "add")
    kept = 1 - node.op.axis
    zeros = hlo.full(ctx.builder, ctx.constant(0, x.values.dtype), (x.shape[kept],))
    return hlo.put(zeros, ctx.constant(x.places[kept]), x.values, 0, "add")


@lowers("SparseAddSparseDense")
def add(ctx: Context, node: Any, x: Any, y: Tensor) -> Tensor:
    """A dense matrix with the values added at their places."""
    x = as_sparse(ctx, x)
    for size, dim in zip(x.shape, y.dims, strict=True):
        ctx.equate(dim, size, f"{node.op} of two matrices")
    return _added(ctx, hlo.reshape(hlo.convert(y, ctx.out_dtype()), x.shape), x)


@lowers("SparseDenseFromSparse")
def dense_from_sparse(ctx: Context, node: Any, x: Any) -> Tensor:
    """All elements; values at one place add up."""
    x = as_sparse(ctx, x)
    return _added(ctx, hlo.full(ctx.builder, ctx.constant(0, x.values.dtype), x.shape), x)


def _added(ctx: Context, y: Tensor, x: Sparse) -> Tensor:
    return hlo.scatter(
        y,
        ctx.constant(np.stack(x.places, 1)),
        hlo.convert(x.values, y.dtype),
        "add",
        update_window_dims=[],
        inserted_window_dims=[0, 1],
        scatter_dims_to_operand_dims=[0, 1],
        index_vector_dim=1,
    )


@lowers("SparseDot", "SparseStructuredDot")
def dot(ctx: Context, node: Any, x: Any, y: Any) -> Tensor:
    """A product of a sparse matrix with a dense one or a vector, on either side."""
    dtype = ctx.out_dtype()
    if isinstance(x, Tensor) == isinstance(y, Tensor):
        raise UnsupportedGraphError(
            f"{node.op} of two sparse matrices at {ctx.builder.where}: make one of them dense (dense_from_sparse)"
        )
    if isinstance(y, Tensor):
        return _product(ctx, as_sparse(ctx, x), hlo.convert(y, dtype))
    matrix = as_sparse(ctx, y).transposed
    axes = list(range(x.ndim))[::-1]
    found = _product(ctx, matrix, hlo.transpose(hlo.convert(x, dtype), axes))
    return hlo.transpose(found, axes)


def _product(ctx: Context, x: Sparse, y: Tensor) -> Tensor:
    """A sparse matrix times a dense one of 1 or 2 axes."""
    ctx.equate(y.dims[0], x.shape[1], "the product with a sparse matrix")
    rows, columns = map(ctx.constant, x.places)
    found = hlo.take(y, columns, 0)
    values = hlo.broadcast_in_dim(hlo.convert(x.values, y.dtype), found.dims, (0,))
    zeros = hlo.full(ctx.builder, ctx.constant(0, y.dtype), (x.shape[0], *y.dims[1:]))
    return hlo.put(zeros, rows, hlo.multiply(values, found), 0, "add")


@lowers("SparseStructuredDotGradCSR", "SparseStructuredDotGradCSC")
def structured_dot_grad(ctx: Context, node: Any, indices: Tensor, starts: Tensor, y: Tensor, g: Tensor) -> Tensor:
    """Of the sparse matrix of a product, the gradient by its values: row times row, for each of their places."""
    form = "csr" if type(node.op).__name__.endswith("CSR") else "csc"
    indices_, starts_ = _constants(ctx, node, indices, starts)
    shape = (g.dims[0], y.dims[0])
    rows, columns = map(ctx.constant, Sparse(y, indices_, starts_, shape, form).places)  # type: ignore[arg-type]
    dtype = ctx.out_dtype()
    products = hlo.multiply(hlo.convert(hlo.take(g, rows, 0), dtype), hlo.convert(hlo.take(y, columns, 0), dtype))
    return hlo.reduce_monoid(products, [1], "add")
