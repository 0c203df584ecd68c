"""Ops of which newer releases write the graph themselves and older ones do not."""

from __future__ import annotations

from typing import Any

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ..registry import lowers


@lowers("AllocDiag")
def alloc_diag(ctx: Context, node: Any, x: Tensor) -> Any:
    """A vector on the k-th diagonal of a zero matrix; the rest through the op's own inner graph, if it has one."""
    op = node.op
    fgraph = getattr(op, "fgraph", None)
    if fgraph is not None and (x.ndim != 1 or (op.axis1, op.axis2) != (0, 1)):
        return ctx.lower_inner(fgraph.inputs, fgraph.outputs, [x])
    offset: int = op.offset
    size: Dim = x.dims[0] + abs(offset)
    padded = hlo.pad(x, ctx.constant(0, x.dtype), [max(-offset, 0)], [max(offset, 0)])
    dims = (size, size)
    rows, columns = (hlo.iota(ctx.builder, dims, axis, hlo.INT64) for axis in (0, 1))
    on_diagonal = hlo.compare("EQ", hlo.add(rows, offset) if offset else rows, columns)
    return hlo.select(on_diagonal, hlo.broadcast_in_dim(padded, dims, (0,)), ctx.constant(0, x.dtype))
