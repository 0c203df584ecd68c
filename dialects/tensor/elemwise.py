"""Elementwise ops on tensors: broadcasting, then the scalar table.

PyTensor's rule for broadcasting: an axis stretches only where the *type* says that its size is 1; two axes of unknown
size must agree when the graph runs, and are equated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedOpError
from ..registry import lowers
from .scalar import TABLE


def broadcast_operands(ctx: Context, variables: Sequence[Any], operands: Sequence[Tensor]) -> list[Tensor]:
    """Operands stretched to one shape, by the broadcast patterns of their types."""
    first = operands[0].dims
    if all(x.dims == first for x in operands):
        return list(operands)
    rank = len(first)
    patterns = [variable.type.broadcastable for variable in variables]
    dims: list[Dim] = []
    for axis in range(rank):
        size: Dim | None = None
        for x, pattern in zip(operands, patterns, strict=True):
            if pattern[axis]:
                ctx.equate(x.dims[axis], 1, f"axis {axis} of the elementwise operation")
            elif size is None:
                size = x.dims[axis]
            else:
                size = ctx.equate(size, x.dims[axis], f"axis {axis} of the elementwise operation")
        dims.append(1 if size is None else size)
    target = tuple(dims)
    stretched = []
    for x, pattern in zip(operands, patterns, strict=True):
        grows = any(pattern[axis] and target[axis] != 1 for axis in range(rank))
        stretched.append(hlo.broadcast_in_dim(x, target, range(rank)) if grows else x)
    return stretched


def apply_scalar(ctx: Context, op: Any, node: Any, operands: Sequence[Tensor], dtypes: Sequence[Any]) -> list[Tensor]:
    """Applies a scalar op, or the inner graph of a composite one, to operands of one shape."""
    fgraph = getattr(op, "fgraph", None)
    if fgraph is not None and type(op).__name__ == "Composite":
        return ctx.lower_inner(fgraph.inputs, fgraph.outputs, operands)
    rule = scalar_rule(op)
    if rule is None:
        raise UnsupportedOpError(f"scalar op {op} ({type(op).__name__}) has no lowering")
    return [rule(np.dtype(dtypes[0]), *operands)]


def scalar_rule(op: Any) -> Any:
    """The table's entry for a scalar op, or for a class that it derives from."""
    for base in type(op).__mro__:
        if base.__name__ in TABLE:
            return TABLE[base.__name__]
    return None


def _unsupported(op: Any) -> Sequence[str]:
    """Scalar ops in the op, or in a composite's inner graph, that the table lacks."""
    pending, found = [op.scalar_op], []
    while pending:
        scalar = pending.pop()
        if type(scalar).__name__ == "Composite":
            pending.extend(node.op for node in scalar.fgraph.toposort())
        elif scalar_rule(scalar) is None:
            found.append(f"scalar op {scalar}")
    return found


@lowers("Elemwise", unsupported=_unsupported)
def elemwise(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
    """A scalar op over tensors, with broadcasting."""
    if operands and operands[0].ndim:
        operands = tuple(broadcast_operands(ctx, node.inputs, operands))
    dtypes = [output.type.dtype for output in node.outputs]
    results = apply_scalar(ctx, node.op.scalar_op, node, operands, dtypes)
    shaped = operands[0].dims if operands else ()
    # A composite's output may be a constant, or an input's value alone.
    return [
        hlo.broadcast_in_dim(x, shaped, ()) if shaped and not x.ndim else hlo.convert(x, dtype)
        for x, dtype in zip(results, dtypes, strict=True)
    ]


@lowers("ScalarOp")
def scalar_op(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
    """A scalar op on scalars, as inside a composite."""
    dtypes = [output.type.dtype for output in node.outputs]
    return apply_scalar(ctx, node.op, node, operands, dtypes)


@lowers("TensorFromScalar", "ScalarFromTensor")
def scalar_conversion(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """A scalar and a 0-d tensor are the same here."""
    return x
