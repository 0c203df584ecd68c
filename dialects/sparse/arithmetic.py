"""Sums, products and comparisons element by element; scaled rows and columns; sums over axes."""

from __future__ import annotations

import operator
from typing import Any

from .expansions import COMPARISONS, expands, name_of
from .kit import Kit
from .matrices import Matrix

_OPPOSITES = {"Equal": "neq", "LessEqual": "gt", "GreaterEqual": "lt"}  # which hold for two zeros
_SHAPES = "inconsistent shapes of sparse matrices"


def _alike(kit: Kit, x: Matrix, y: Matrix) -> Matrix:
    """The first of two matrices that are demanded to have one shape."""
    return x.with_values(kit.demanded(x.values, _SHAPES, *zip(x.shape, y.shape, strict=True)))


@expands("StructuredAddSparseDenseVector")
def add_vector(kit: Kit, node: Any, x: Matrix, y: Any) -> Matrix:
    """The element of a row added to what is not 0; of several values at one place to the first."""
    y = kit.sized(y, x.shape[1])
    first, sums = kit.first_of_each(x)
    added = kit.tensor.switch(first & kit.tensor.neq(sums, 0), y[x.places[1]], 0)
    return x.with_values(x.values + kit.cast(added, x.dtype))


@expands("MultiplySparseDense", "MultiplySparseDenseVector")
def multiply_dense(kit: Kit, node: Any, x: Matrix, y: Any) -> Matrix:
    """Each value times a number, or the element of a dense matrix, or of a row, at its place."""
    dtype = node.outputs[0].type.dtype
    if y.type.ndim:
        y = kit.sized(y, *x.shape[2 - y.type.ndim :])
        y = y[x.places if y.type.ndim == 2 else x.places[1]]
    return x.with_values(kit.cast(kit.cast(x.values, dtype) * kit.cast(y, dtype), dtype))


@expands(*[f"{name}SparseDense" for name in COMPARISONS])
def compare_dense(kit: Kit, node: Any, x: Matrix, y: Any) -> Any:
    """A comparison of all elements, as uint8."""
    found = getattr(kit.tensor, _comparison(node))(kit.dense(x), kit.sized(y, *x.shape))
    return kit.cast(found, "uint8")


@expands(*[f"{name}SparseSparse" for name in COMPARISONS])
def compare(kit: Kit, node: Any, x: Matrix, y: Matrix) -> Matrix:
    """A comparison of all elements, whose true ones are there, as uint8; `<=` is "not >", as in SciPy."""
    tensor, x = kit.tensor, _alike(kit, x, y)
    opposite = _OPPOSITES.get(name_of(type(node.op)).removesuffix("SparseSparse"))
    if opposite is None:
        function = getattr(tensor, _comparison(node))
        return kit.combined(x, y, function)
    wrong = getattr(tensor, opposite)(kit.dense(x), kit.dense(y))
    return kit.from_dense(tensor.invert(wrong), x.form)


def _comparison(node: Any) -> str:
    return COMPARISONS[name_of(type(node.op)).partition("Sparse")[0]]


@expands("ColScaleCSC", "RowScaleCSC")
def scale(kit: Kit, node: Any, x: Matrix, factors: Any) -> Matrix:
    """Each column, or each row, times a number of its own."""
    axis = 1 if type(node.op).__name__.startswith("Col") else 0
    factor = kit.sized(factors, x.shape[axis])[x.places[axis]]
    return x.with_values(kit.cast(x.values * factor, node.outputs[0].type.dtype))


@expands("SpSum")
def total(kit: Kit, node: Any, x: Matrix) -> Any:
    """The sum of all values, or of those of each column (axis 0) or row."""
    if node.op.axis is None:
        return kit.cast(x.values.sum(), x.dtype)
    kept = 1 - node.op.axis
    return kit.put(x.shape[kept], x.places[kept], x.values)


@expands("Diag")
def diagonal(kit: Kit, node: Any, x: Matrix) -> Any:
    """The elements on the diagonal of a square matrix."""
    values = kit.demanded(x.values, "the diagonal of a matrix that is not square", x.shape)
    here = kit.known(kit.tensor.eq(x.major, x.minor))
    return kit.put(x.shape[0], x.major, kit.tensor.switch(here, values, kit.tensor.zeros_like(values)))


# What is 0 in a sum or a product of sparse matrices goes away, as in SciPy.
for _name, _expansion in {
    "AddSparseSparse": lambda kit, node, x, y: kit.combined(_alike(kit, x, y), y, operator.add),
    "AddSparseSparseData": lambda kit, node, x, y: _alike(kit, x, y).with_values(
        x.values + kit.sized(y.values, x.count)
    ),
    "AddSparseDense": lambda kit, node, x, y: kit.added(
        kit.sized(kit.cast(y, node.outputs[0].type.dtype), *x.shape), x
    ),
    "MultiplySparseSparse": lambda kit, node, x, y: kit.combined(_alike(kit, x, y), y, operator.mul),
}.items():
    expands(_name)(_expansion)
