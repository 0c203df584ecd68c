"""The ops of its own that sparse matrices need: row or column of each stored value, from the starts of a format.

In: a graph on a matrix's parts. Out: indices that are known to be in range, so that what reads and writes with them
asks no further. Imports PyTensor: only for where its graphs are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.basic import as_tensor_variable
from pytensor.tensor.type import TensorType

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.emit import Context
from ..library import library
from ..registry import lowers
from ..tensor.random import PlainOp

GRAPHS = library("pytensor")


class InRange(PlainOp, Op):
    """Indices of which it is known that they are at least 0 and less than a size."""

    library, __props__ = GRAPHS, ()

    def make_node(self, index: Any, size: Any) -> Apply:
        """Two inputs, one output."""
        index, size = map(as_tensor_variable, (index, size))
        return Apply(self, [index, size], [index.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """The indices."""
        output_storage[0][0] = inputs[0]


@lowers(InRange)
def lower_in_range(ctx: Context, node: Any, index: Tensor, size: Tensor) -> Tensor:
    """The indices, of which no more is asked."""
    ctx.builder.below[index.uid] = ctx.dim(size, "the size of a sparse matrix")
    return index


class Places(PlainOp, Op):
    """From starts, indices and the number of rows (or columns) that indices count: majors and minors of all values."""

    library, __props__ = GRAPHS, ()

    def make_node(self, starts: Any, indices: Any, size: Any) -> Apply:
        """Three inputs, two outputs as long as the indices."""
        starts, indices, size = map(as_tensor_variable, (starts, indices, size))
        dtype = "int32" if indices.type.dtype == "int32" else "int64"
        return Apply(self, [starts, indices, size], [TensorType(dtype, indices.type.shape)() for _ in range(2)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Evaluates it with NumPy."""
        major, minor = places(*inputs)
        dtype = node.outputs[0].type.dtype
        output_storage[0][0], output_storage[1][0] = major.astype(dtype), minor.astype(dtype)


def places(starts: Any, indices: Any, size: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Major and minor index of each value, as int64.

    Raises:
        ValueError: these are not the parts of a matrix.
    """
    starts, indices = np.asarray(starts, np.int64), np.asarray(indices, np.int64)
    lengths = np.diff(starts)
    if starts[0] != 0 or starts[-1] != len(indices) or (lengths < 0).any():
        raise ValueError(STARTS)
    if len(indices) and not 0 <= indices.min() <= indices.max() < int(size):
        raise ValueError(INDICES)
    return np.repeat(np.arange(len(lengths)), lengths), indices


STARTS = "indptr of a sparse matrix must start with 0, end with the number of values, and not decrease"
INDICES = "indices of a sparse matrix are out of range"


@lowers(Places)
def lower_places(ctx: Context, node: Any, starts: Tensor, indices: Tensor, size: Tensor) -> list[Tensor]:
    """A one where a row starts, summed up; what is wrong with the parts is reported."""
    builder, dtype = ctx.builder, ctx.out_dtype()
    count, end = indices.dims[0], ctx.dim(size, "the size of a sparse matrix")
    rows = starts.dims[0] - 1
    ctx.at_least(rows, 0, "indptr of a sparse matrix")
    starts, indices = hlo.convert(starts, dtype), hlo.convert(indices, dtype)
    ends, begins = hlo.slice(starts, [1], [rows + 1]), hlo.slice(starts, [0], [rows])
    first, last = (hlo.reshape(hlo.slice(starts, [at], [at + 1]), ()) for at in (0, rows))
    whole = hlo.compare("EQ", first, ctx.constant(0, dtype)) & hlo.compare(
        "EQ", last, hlo.convert(builder.size(count), dtype)
    )
    ordered = whole & hlo.reduce_monoid(begins <= ends, [0], "and")
    ctx.check(ordered, "ValueError", STARTS)
    zero = hlo.full_like(indices, 0)
    inside = (indices >= zero) & (
        indices < hlo.broadcast_in_dim(hlo.convert(builder.size(end), dtype), indices.dims, ())
    )
    ctx.check(inside, "ValueError", INDICES)
    # What ends at the end is out of range, which a scatter drops.
    steps = hlo.put(hlo.full_like(indices, 0), ends, hlo.full_like(ends, 1), 0, "add")
    major = hlo.cumulative(steps, 0, "add")
    minor = hlo.select(inside, indices, zero)
    builder.below[major.uid], builder.below[minor.uid] = rows, end
    return [major, minor]
