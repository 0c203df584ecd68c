"""Every op on sparse matrices that is known, in terms of tensors.

In: an op of a graph library. Out: its expansion, `expansion(kit, node, *operands)`, from matrices (`matrices.Matrix`)
and variables to the node's results, which are such, too. Registered as lowering rules are, by the op's class's name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..registry import LIBRARIES
from .kit import MAJOR, Groups, Kit, Matrix

Expansion = Callable[..., Any]

COMPARISONS = {
    "Equal": "eq",
    "NotEqual": "neq",
    "LessThan": "lt",
    "GreaterThan": "gt",
    "LessEqual": "le",
    "GreaterEqual": "ge",
}
_EXPANSIONS: dict[str, Expansion] = {}
# What classes were called before PyTensor 3.2, and in Aesara.
_FORMER = {
    **{f"{name}SS": f"{name}SparseSparse" for name in (*COMPARISONS, "Add")},
    **{f"{name}SD": f"{name}SparseDense" for name in (*COMPARISONS, "Add")},
    "AddSSData": "AddSparseSparseData",
    "StructuredAddSV": "StructuredAddSparseDenseVector",
    **dict.fromkeys(("MulSS", "SparseSparseMultiply"), "MultiplySparseSparse"),
    **dict.fromkeys(("MulSD", "SparseDenseMultiply"), "MultiplySparseDense"),
    **dict.fromkeys(("MulSV", "SparseDenseVectorMultiply"), "MultiplySparseDenseVector"),
}


def expands(*ops: str) -> Callable[[Expansion], Expansion]:
    """Registers an expansion for ops by class name."""

    def register(expansion: Expansion) -> Expansion:
        _EXPANSIONS.update(dict.fromkeys(ops, expansion))
        return expansion

    return register


def registered() -> dict[str, Expansion]:
    """All expansions, by the names of ops."""
    return dict(_EXPANSIONS)


def of_sparse(class_: type) -> bool:
    """Whether a class is of a library's package for sparse matrices."""
    library, _, module = class_.__module__.partition(".")
    return library in LIBRARIES and module.partition(".")[0] == "sparse"


def name_of(class_: type) -> str:
    """The name that a class has in PyTensor now."""
    return _FORMER.get(class_.__name__, class_.__name__)


def find_class(class_: type) -> Expansion | None:
    """The expansion of the ops of a class, or None."""
    known = _EXPANSIONS
    return next((known[name_of(base)] for base in class_.__mro__ if of_sparse(base) and name_of(base) in known), None)


def expand(kit: Kit, node: Any, operands: Sequence[Any]) -> list[Any] | None:
    """The results of a node in terms of tensors; None for an op that has no expansion."""
    expansion = find_class(type(node.op))
    if expansion is None:
        return None
    found = expansion(kit, node, *operands)
    return list(found) if isinstance(found, list | tuple) else [found]


# ---- matrices from parts and from dense ones, and back ---------------------------------------------------------------


@expands("CSM")
def from_parts(kit: Kit, node: Any, values: Any, indices: Any, starts: Any, shape: Any) -> Matrix:
    """The parts as they are; what is wrong with them is found where places are needed."""
    form = node.op.format
    sizes = kit.shape_of(shape)
    major = sizes[MAJOR[form]]
    starts = kit.sized(starts, major + 1)
    values = kit.sized(values, indices.type.shape[0] if kit.is_constant(indices) else indices.shape[0])
    return Matrix(kit, form, values, sizes, indices, given_starts=starts)


@expands("CSMProperties")
def parts(kit: Kit, node: Any, x: Matrix) -> list[Any]:
    """Values, indices, starts and shape, integers as int32."""
    return [x.values, *(kit.known(kit.cast(y, "int32")) for y in (x.indices, x.starts, kit.shape_vector(x.shape)))]


@expands("CSMGrad")
def parts_gradient(kit: Kit, node: Any, *operands: Any) -> Any:
    """The values of the second matrix at the places of the first."""
    values, indices, starts, shape, other_values, other_indices, other_starts, _ = operands
    if kit.same(indices, other_indices) and kit.same(starts, other_starts):
        return other_values
    rows, columns = kit.shape_of(shape)
    both = isinstance(rows, int) and isinstance(columns, int)
    size = max(rows, columns) if both else kit.tensor.maximum(rows, columns)  # as many as indices may be in any format
    count = len(starts.data) - 1 if kit.is_constant(starts) else starts.shape[0] - 1
    x = Matrix(kit, "csr", values, (count, size), indices, given_starts=starts)
    other = Matrix(
        kit, "csr", other_values, (count, size), other_indices, given_starts=kit.sized(other_starts, count + 1)
    )
    return kit.at(other, x.keys())


@expands("ConstructSparseFromList")
def from_list(kit: Kit, node: Any, shape: Any, values: Any, rows: Any) -> Matrix:
    """Rows of a dense matrix as rows of a matrix in `csc`, at places that a vector says."""
    count, columns = values.shape[0], values.shape[1]
    sizes = (shape[0], shape[1])
    values = kit.demanded(values, "rows and their places", (count, rows.shape[0]))
    indices = kit.known(kit.tensor.alloc(kit.cast(rows, "int64"), columns, count).flatten())
    starts = kit.arange(columns + 1) * count
    values = kit.demanded(values.T.flatten(), "the columns of the rows", (columns, sizes[1]))
    return Matrix(kit, "csc", values, sizes, indices, given_starts=starts)


@expands("EnsureSortedIndices")
def ensure_sorted_indices(kit: Kit, node: Any, x: Matrix) -> Matrix:
    """Values in the order of their places."""
    order = kit.argsort(x.keys())
    return kit.matrix(x.form, x.values[order], x.shape, x.major, x.minor[order])


# ---- side by side ---------------------------------------------------------------------------------------------------


def _stacked(kit: Kit, node: Any, blocks: Sequence[Matrix], axes: Sequence[int]) -> Matrix:
    dtype, form = node.outputs[0].type.dtype, node.outputs[0].type.format
    shape = list(blocks[0].shape)
    rows, columns = ([x.places[axis] for x in blocks] for axis in (0, 1))
    places = [rows, columns]
    values = kit.tensor.concatenate([kit.cast(x.values, dtype) for x in blocks])
    for axis in (0, 1):
        if axis not in axes:
            pairs = [(x.shape[axis], shape[axis]) for x in blocks[1:]]
            values = kit.demanded(values, "blocks of different sizes", *pairs)
            continue
        offset: Any = 0
        for number, x in enumerate(blocks):
            places[axis][number] = kit.known(kit.cast(places[axis][number], "int64") + offset)
            offset = offset + x.shape[axis]
        shape[axis] = offset
    major, minor = (kit.join([kit.cast(x, "int64") for x in places[i]]) for i in (MAJOR[form], 1 - MAJOR[form]))
    return kit.ordered(form, values, (shape[0], shape[1]), major, minor)


@expands("SparseBlockDiagonal")
def block_diagonal(kit: Kit, node: Any, *blocks: Any) -> Matrix:
    """Matrices, sparse or dense, along the diagonal; of dense ones all elements are there, as in SciPy."""
    found = [x if isinstance(x, Matrix) else kit.whole(x) for x in blocks]
    return _stacked(kit, node, found, [0, 1])


# ---- element by element, and sums over axes --------------------------------------------------------------------------


_OPPOSITES = {"Equal": "neq", "LessEqual": "gt", "GreaterEqual": "lt"}  # which hold for two zeros
_SHAPES = "inconsistent shapes of sparse matrices"


def _alike(kit: Kit, x: Matrix, y: Matrix) -> Matrix:
    return x.with_values(kit.demanded(x.values, _SHAPES, *zip(x.shape, y.shape, strict=True)))


@expands("StructuredAddSparseDenseVector")
def add_vector(kit: Kit, node: Any, x: Matrix, y: Any) -> Matrix:
    """The element of a row added to what is not 0; of several values at one place to the first."""
    y = kit.sized(y, x.shape[1])
    groups = Groups(kit, x.keys())
    sums = kit.put(x.count, groups.slots, x.values)[groups.slots]  # of those at its place
    added = kit.tensor.switch(groups.first & kit.tensor.neq(sums, 0), y[x.places[1]], 0)
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
    """Each column, or each row, times its own number."""
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


# ---- products: of a dense matrix rows are taken, multiplied and added up; nothing of its size is made ----------------


def product(kit: Kit, x: Any, y: Any) -> Any:
    """A dense product of two operands, at least one of which is sparse."""
    if isinstance(x, Matrix):
        return _with_dense(kit, x, kit.dense(y) if isinstance(y, Matrix) else y)
    return _with_dense(kit, y.transposed, x.T).T


def _with_dense(kit: Kit, x: Matrix, y: Any) -> Any:
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
    return product(kit, Matrix(kit, form, values, shape, indices, given_starts=starts), y)


def sparse_product(kit: Kit, x: Matrix, y: Matrix) -> Matrix:
    """A sparse product of sparse matrices: each value of the first times the row that it meets."""
    y = kit.in_form(y, "csr")
    rows, met = x.places
    values = kit.demanded(x.values, "the product of sparse matrices", (x.shape[1], y.shape[0]))
    source, other = _of_rows(kit, y, met, x.count)
    shape = (x.shape[0], y.shape[1])
    row, column = kit.bounded(rows[source], shape[0]), kit.bounded(y.minor[other], shape[1])
    products = values[source] * y.values[other]
    found = kit.ordered(x.form, products, shape, *((row, column) if x.form == "csr" else (column, row)))
    groups = Groups(kit, found.keys())  # the values at one place add up; what is 0 then goes away
    return kit.of_groups(found, groups, kit.put(found.count, groups.slots, found.values), found.major, found.minor)


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
    pattern = Matrix(kit, form, indices, shape, indices, given_starts=starts)
    return kit.cast(sampled(kit, pattern, g, y), node.outputs[0].type.dtype)


def _either(kit: Kit, x: Any, y: Any) -> Any:
    return sparse_product(kit, x, y) if isinstance(y, Matrix) else product(kit, x, y)


def _sparse(kit: Kit, x: Matrix, y: Any) -> Matrix:
    found = _either(kit, x, y)
    return found if isinstance(found, Matrix) else kit.from_dense(found, x.form)


# ---- rows, blocks and elements, and the gradients of these -----------------------------------------------------------


@expands("GetItem2d")
def block(kit: Kit, node: Any, x: Matrix, *bounds: Any) -> Matrix:
    """`x[a:b:c, d:e:f]`."""
    slices = [slice(*(kit.bound(y) for y in bounds[3 * axis : 3 * axis + 3])) for axis in (0, 1)]
    numbers, sizes = zip(*[_chosen(kit, x.shape[axis], slices[axis]) for axis in (0, 1)], strict=True)
    places = [kit.known(numbers[axis][x.places[axis]]) for axis in (0, 1)]
    keep = kit.nonzero(kit.tensor.ge(places[0], 0) & kit.tensor.ge(places[1], 0))
    major, minor = (kit.known(places[axis][keep]) for axis in (MAJOR[x.form], 1 - MAJOR[x.form]))
    shape = (sizes[0], sizes[1])
    return kit.ordered(x.form, x.values[keep], shape, major, minor)


def _chosen(kit: Kit, size: Any, chosen: slice) -> tuple[Any, Any]:
    """For each row of a matrix its number among those that a slice chooses, or -1; and how many these are."""
    if chosen == slice(None):
        return kit.known(kit.arange(size)), size
    count = kit.arange(size)[chosen].shape[0]
    none = kit.tensor.full((size,), np.int64(-1), dtype="int64")
    known = kit.known(count)
    found = int(known.data) if kit.is_constant(known) else count
    return kit.known(kit.tensor.set_subtensor(none[chosen], kit.arange(found))), found


@expands("GetItemScalar")
def element(kit: Kit, node: Any, x: Matrix, row: Any, column: Any) -> Any:
    """`x[i, j]`."""
    row, column = kit.arange(x.shape[0])[row], kit.arange(x.shape[1])[column]
    rows, columns = x.places
    here = kit.tensor.eq(rows, row) & kit.tensor.eq(columns, column)
    return kit.cast(kit.tensor.switch(here, x.values, kit.tensor.zeros_like(x.values)).sum(), x.dtype)


@expands("GetItemList")
def rows_of(kit: Kit, node: Any, x: Matrix, index: Any) -> Matrix:
    """`x[index]`: rows, each as often as it is named."""
    by_row, count = kit.in_form(x, "csr"), index.shape[0]
    row, source = _of_rows(kit, by_row, index, count)
    found = kit.matrix("csr", by_row.values[source], (count, x.shape[1]), row, by_row.minor[source])
    return kit.in_form(found, x.form)


def _of_rows(kit: Kit, x: Matrix, index: Any, count: Any) -> tuple[Any, Any]:
    lengths = kit.known((x.starts[1:] - x.starts[:-1])[index])
    name = kit.bounded(kit.tensor.repeat(kit.arange(count), lengths), count)
    before = kit.known((kit.tensor.cumsum(lengths) - lengths)[name])
    return name, kit.bounded(kit.arange(name.shape[0]) - before + x.starts[:-1][index][name], x.count)


@expands("GetItemListGrad")
def rows_gradient(kit: Kit, node: Any, x: Matrix, index: Any, g: Matrix) -> Matrix:
    """A matrix with rows written to places; of several for one place the last."""
    places = kit.known(kit.arange(x.shape[0])[index])
    never = kit.tensor.zeros((index.shape[0],), dtype="int64")
    is_last = kit.known(kit.tensor.set_subtensor(never[Groups(kit, places).last(kit)], 1))
    by_row = kit.in_form(g, "csr")
    kept = kit.kept(by_row, kit.tensor.eq(is_last[by_row.major], 1))
    found = kit.ordered("csr", kit.cast(kept.values, x.dtype), x.shape, places[kept.major], kept.minor)
    return kit.in_form(found, x.form)


@expands("GetItem2Lists")
def elements(kit: Kit, node: Any, x: Matrix, rows: Any, columns: Any) -> Any:
    """`x[rows, columns]`."""
    major, minor = _places(kit, x, rows, columns)
    return kit.cast(kit.at(x, kit.key(major, minor, x.minor_size)), node.outputs[0].type.dtype)


def _places(kit: Kit, x: Matrix, rows: Any, columns: Any) -> list[Any]:
    chosen = [kit.known(kit.arange(size)[index]) for size, index in zip(x.shape, (rows, columns), strict=True)]
    return chosen if x.form == "csr" else chosen[::-1]


@expands("GetItem2ListsGrad")
def elements_gradient(kit: Kit, node: Any, x: Matrix, rows: Any, columns: Any, g: Any) -> Matrix:
    """A matrix with numbers written to places; of several for one place the last."""
    major, minor = _places(kit, x, rows, columns)
    writer = Groups(kit, kit.key(major, minor, x.minor_size)).last(kit)
    values = kit.cast(kit.sized(g, rows.shape[0])[writer], x.dtype)
    return kit.matrix(x.form, values, x.shape, major[writer], minor[writer])


# ---- what takes a line ----------------------------------------------------------------------------------------------

# What is 0 in a sum or a product of sparse matrices goes away, as in SciPy.
_IN_A_LINE: dict[str, Expansion] = {
    "Cast": lambda kit, node, x: x.with_values(kit.cast(x.values, node.op.out_type)),
    "DenseFromSparse": lambda kit, node, x: kit.dense(x) if isinstance(x, Matrix) else x,
    "SparseFromDense": lambda kit, node, x: kit.from_dense(x, node.op.format),
    "Transpose": lambda kit, node, x: x.transposed,
    "Remove0": lambda kit, node, x: kit.kept(x, kit.tensor.neq(x.values, 0)),
    "HStack": lambda kit, node, *blocks: _stacked(kit, node, blocks, [1]),
    "VStack": lambda kit, node, *blocks: _stacked(kit, node, blocks, [0]),
    "AddSparseSparse": lambda kit, node, x, y: kit.combined(_alike(kit, x, y), y, operator.add),
    "AddSparseSparseData": lambda kit, node, x, y: _alike(kit, x, y).with_values(
        x.values + kit.sized(y.values, x.count)
    ),
    "AddSparseDense": lambda kit, node, x, y: kit.added(
        kit.sized(kit.cast(y, node.outputs[0].type.dtype), *x.shape), x
    ),
    "MultiplySparseSparse": lambda kit, node, x, y: kit.combined(_alike(kit, x, y), y, operator.mul),
    "Dot": lambda kit, node, x, y: product(kit, x, y),
    "StructuredDot": lambda kit, node, x, y: _either(kit, x, y),
    "TrueDot": lambda kit, node, x, y: _sparse(kit, x, y),
}
_EXPANSIONS.update(_IN_A_LINE)
