"""Products of matrices. One with a dense matrix takes rows, multiplies, and adds up; nothing of its size is made."""

from __future__ import annotations

from typing import Any

from .expansions import expands
from .kit import Kit
from .matrices import Matrix


def product(kit: Kit, x: Any, y: Any) -> Any:
    """A dense product of two operands, at least one of which is sparse."""
    if isinstance(x, Matrix):
        return _with_dense(kit, x, kit.dense(y) if isinstance(y, Matrix) else y)
    return _with_dense(kit, y.transposed, x.T).T


def _with_dense(kit: Kit, x: Matrix, y: Any) -> Any:
    """A sparse matrix times a dense one of 1 or 2 axes."""
    rows, columns = x.places
    found = kit.sized(y, x.shape[1], *[None] * (y.type.ndim - 1))[columns]
    values = x.values if y.type.ndim == 1 else x.values[:, None]
    return kit.put(x.shape[0], rows, values * found)


@expands("StructuredDotCSC", "StructuredDotCSR")
def product_of_parts(kit: Kit, node: Any, values: Any, indices: Any, starts: Any, *rest: Any) -> Any:
    """A dense product with a matrix that is given by its parts; of one in csc with the number of rows."""
    *rows, y = rest
    form = "csc" if rows else "csr"
    shape = (kit.size_of(rows[0]) if rows else starts.shape[0] - 1, y.shape[0])
    starts = kit.sized(starts, shape[form == "csc"] + 1)
    return product(kit, Matrix(kit, form, values, shape, indices, starts=starts), y)


def sparse_product(kit: Kit, x: Matrix, y: Matrix) -> Matrix:
    """A sparse product of sparse matrices: each value of the first times the row that it meets."""
    tensor, y = kit.tensor, kit.in_form(y, "csr")
    rows, met = x.places
    values = kit.demanded(x.values, "the product of sparse matrices", (x.shape[1], y.shape[0]))
    starts = y.starts
    lengths = kit.known((starts[1:] - starts[:-1])[met])
    source = kit.bounded(tensor.repeat(kit.arange(x.count), lengths), x.count)
    before = kit.known((tensor.cumsum(lengths) - lengths)[source])
    other = kit.bounded(kit.arange(source.shape[0]) - before + starts[:-1][met[source]], y.count)
    shape = (x.shape[0], y.shape[1])
    row, column = kit.bounded(rows[source], shape[0]), kit.bounded(y.minor[other], shape[1])
    products = values[source] * y.values[other]
    if x.form == "csr":
        found = kit.ordered("csr", products, shape, row, column)
    else:
        found = kit.ordered("csc", products, shape, column, row)
    return kit.coalesced(found)


@expands("Usmm")
def scaled_product_and_sum(kit: Kit, node: Any, alpha: Any, x: Any, y: Any, z: Any) -> Any:
    """`alpha * x @ y + z`."""
    dtype = node.outputs[0].type.dtype
    found = product(kit, x, y)
    scaled = found * alpha.reshape(()) if alpha.type.ndim else found * alpha
    return kit.cast(scaled + kit.sized(z, found.shape[0], found.shape[1]), dtype)


@expands("SamplingDot")
def sampling_dot(kit: Kit, node: Any, x: Any, y: Any, pattern: Matrix) -> Matrix:
    """The elements of `x @ y.T` at the places of a pattern, times its values."""
    found = sampled(kit, pattern, kit.sized(x, pattern.shape[0], None), kit.sized(y, pattern.shape[1], None))
    return pattern.with_values(kit.cast(pattern.values * found, node.outputs[0].type.dtype))


def sampled(kit: Kit, pattern: Matrix, x: Any, y: Any) -> Any:
    """The elements of `x @ y.T` at the places of a pattern."""
    rows, columns = pattern.places
    return (x[rows] * y[columns]).sum(axis=1)


@expands("StructuredDotGradCSR", "StructuredDotGradCSC")
def structured_dot_gradient(kit: Kit, node: Any, indices: Any, starts: Any, y: Any, g: Any) -> Any:
    """Of the sparse matrix of a product, the gradient by its values: row times row, for each of their places."""
    form = type(node.op).__name__[-3:].lower()
    y, g = (kit.dense(x) if isinstance(x, Matrix) else x for x in (y, g))
    shape = (g.shape[0], y.shape[0])
    starts = kit.sized(starts, shape[form == "csc"] + 1)
    pattern = Matrix(kit, form, indices, shape, indices, starts=starts)
    return kit.cast(sampled(kit, pattern, g, y), node.outputs[0].type.dtype)


def _either(kit: Kit, x: Any, y: Any) -> Any:
    """A product, which is sparse if both operands are."""
    return sparse_product(kit, x, y) if isinstance(y, Matrix) else product(kit, x, y)


def _sparse(kit: Kit, x: Matrix, y: Any) -> Matrix:
    found = _either(kit, x, y)
    return found if isinstance(found, Matrix) else kit.from_dense(found, x.form)


for _name, _expansion in {"Dot": product, "StructuredDot": _either, "TrueDot": _sparse}.items():
    expands(_name)(lambda kit, node, x, y, function=_expansion: function(kit, x, y))
