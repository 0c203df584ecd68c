"""Writing to diagonals: AllocDiag, FillDiagonal, FillDiagonalOffset."""

from __future__ import annotations

from typing import Any

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ..registry import lowers


@lowers("AllocDiag")
def alloc_diag(ctx: Context, node: Any, x: Tensor) -> Any:
    """The last axis on the k-th diagonal of zero matrices, whose axes are where the op says.

    Where an op has an inner graph, that says it of more than a vector; newer releases write the graph themselves.
    """
    op = node.op
    fgraph = getattr(op, "fgraph", None)
    if fgraph is not None and (x.ndim != 1 or (op.axis1, op.axis2) != (0, 1)):
        return ctx.lower_inner(fgraph.inputs, fgraph.outputs, [x])
    rank, offset = x.ndim + 1, op.offset
    axes = sorted(axis % rank for axis in (getattr(op, "axis1", 0), getattr(op, "axis2", 1)))
    size: Dim = x.dims[-1] + abs(offset)
    before = [0] * (rank - 2)
    padded = hlo.pad(x, ctx.constant(0, x.dtype), [*before, max(-offset, 0)], [*before, max(offset, 0)])
    others = [axis for axis in range(rank) if axis not in axes]
    sizes = {axes[0]: size, axes[1]: size, **dict(zip(others, x.dims[:-1], strict=True))}
    dims = tuple(sizes[axis] for axis in range(rank))
    rows, columns = (hlo.iota(ctx.builder, dims, axis, INT64) for axis in axes)
    on_diagonal = hlo.compare("EQ", hlo.add(rows, offset) if offset else rows, columns)
    spread = hlo.broadcast_in_dim(padded, dims, (*others, axes[0]))
    return hlo.select(on_diagonal, spread, ctx.constant(0, x.dtype))


@lowers("FillDiagonal")
def fill_diagonal(ctx: Context, node: Any, x: Tensor, value: Tensor) -> Tensor:
    """`numpy.fill_diagonal`; with more than two axes all of them must have one size."""
    if x.ndim > 2:
        for axis in range(1, x.ndim):
            ctx.equate(x.dims[0], x.dims[axis], f"FillDiagonal, axis {axis}")
    first, *others = (hlo.iota(ctx.builder, x.dims, axis, INT64) for axis in range(x.ndim))
    return _filled(x, value, hlo.all_true([hlo.compare("EQ", first, other) for other in others]))


@lowers("FillDiagonalOffset")
def fill_diagonal_offset(ctx: Context, node: Any, x: Tensor, value: Tensor, offset: Tensor) -> Tensor:
    """A value on the diagonal that starts so many columns to the right, or rows down where that is negative.

    PyTensor's Python writes one element for some offsets past the matrix; here nothing is written for them.
    """
    rows, columns = (hlo.iota(ctx.builder, x.dims, axis, INT64) for axis in (0, 1))
    shifted = hlo.add(rows, hlo.convert(offset, INT64))
    return _filled(x, value, hlo.compare("EQ", shifted, columns))


def _filled(x: Tensor, value: Tensor, places: Tensor) -> Tensor:
    return hlo.select(places, hlo.broadcast_in_dim(hlo.convert(value, x.dtype), x.dims, ()), x)
