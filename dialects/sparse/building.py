"""Matrices from parts and from dense ones, and back; of other formats and dtypes; side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .expansions import expands
from .kit import Kit
from .matrices import MAJOR, Matrix


@expands("CSM")
def from_parts(kit: Kit, node: Any, values: Any, indices: Any, starts: Any, shape: Any) -> Matrix:
    """The parts as they are; what is wrong with them is found where places are needed."""
    form = node.op.format
    sizes = kit.shape_of(shape)
    major = sizes[MAJOR[form]]
    starts = kit.sized(starts, major + 1)
    values = kit.sized(values, indices.type.shape[0] if kit.is_constant(indices) else indices.shape[0])
    return Matrix(kit, form, values, sizes, indices, starts=starts)


@expands("CSMProperties")
def parts(kit: Kit, node: Any, x: Matrix) -> list[Any]:
    """Values, indices, starts and shape, integers as int32."""
    shape = kit.shape_vector(x.shape)
    return [x.values, kit.known(kit.cast(x.indices, "int32")), kit.known(kit.cast(x.starts, "int32")), shape]


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
    x = Matrix(kit, "csr", values, (count, size), indices, starts=starts)
    other = Matrix(kit, "csr", other_values, (count, size), other_indices, starts=kit.sized(other_starts, count + 1))
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
    return Matrix(kit, "csc", values, sizes, indices, starts=starts)


@expands("EnsureSortedIndices")
def ensure_sorted_indices(kit: Kit, node: Any, x: Matrix) -> Matrix:
    """Values in the order of their places."""
    order = kit.argsort(x.keys())
    return kit.matrix(x.form, x.values[order], x.shape, x.major, x.minor[order])


# ---- side by side ---------------------------------------------------------------------------------------------------


def _stacked(kit: Kit, node: Any, blocks: Sequence[Matrix], axes: Sequence[int]) -> Matrix:
    """Matrices one behind the other, along one axis or along both."""
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


for _name, _expansion in {
    "Cast": lambda kit, node, x: x.with_values(kit.cast(x.values, node.op.out_type)),
    "DenseFromSparse": lambda kit, node, x: kit.dense(x) if isinstance(x, Matrix) else x,
    "SparseFromDense": lambda kit, node, x: kit.from_dense(x, node.op.format),
    "Transpose": lambda kit, node, x: x.transposed,
    "Remove0": lambda kit, node, x: kit.kept(x, kit.tensor.neq(x.values, 0)),
    "HStack": lambda kit, node, *blocks: _stacked(kit, node, blocks, [1]),
    "VStack": lambda kit, node, *blocks: _stacked(kit, node, blocks, [0]),
}.items():
    expands(_name)(_expansion)
