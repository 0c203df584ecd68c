"""IfElse, checks, copies, inner graphs, Blockwise."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import find, lowers


def _if_else_branches(op: Any) -> Sequence[Sequence[int]]:
    return [range(1, 1 + op.n_outs), range(1 + op.n_outs, 1 + 2 * op.n_outs)]


@lowers("IfElse", branches=_if_else_branches)
def if_else(ctx: Context, node: Any, condition: Tensor) -> list[Tensor]:
    """Evaluates the nodes that only the chosen branch needs, and its checks, only when it is chosen."""
    return hlo.if_(hlo.convert(condition, bool), ctx.branch(0), ctx.branch(1))


def exception_name(exception: type[BaseException]) -> str:
    """`ValueError`, or `package.module.Name(ValueError)` with the built-in class that it derives from."""
    if getattr(builtins, exception.__name__, None) is exception:
        return exception.__name__
    base = next(b.__name__ for b in exception.__mro__ if getattr(builtins, b.__name__, None) is b)
    return f"{exception.__module__}.{exception.__qualname__}({base})"


@lowers("CheckAndRaise")
def check_and_raise(ctx: Context, node: Any, value: Tensor, *conditions: Tensor) -> Tensor:
    """The value; the call raises the op's exception when a condition is false."""
    flags = [hlo.convert(hlo.reshape(c, ()), bool) for c in conditions]
    if flags:
        ctx.check(hlo.all_true(flags), exception_name(node.op.exc_type), str(node.op.msg))
    return value


@lowers("DeepCopyOp", "ViewOp", "TypeCastingOp", "CpuContiguous", "Rebroadcast")
def identity(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """Values are immutable here: a copy is the value."""
    return x


@lowers("OpFromGraph", inner=True)
def op_from_graph(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
    """The inner graph, in place."""
    fgraph = node.op.fgraph
    return ctx.lower_inner(fgraph.inputs, fgraph.outputs, operands)


def _unsupported_core(op: Any) -> Sequence[str]:
    return [] if find(op.core_op) is not None else [f"Blockwise of {op.core_op}"]


@lowers("Blockwise", unsupported=_unsupported_core)
def blockwise(ctx: Context, node: Any, *operands: Tensor) -> Any:
    """A core op over leading batch axes: handed to the core op's rule, which knows batches or needs none."""
    op = node.op
    counts = [x.ndim - len(core) for x, core in zip(operands, op.inputs_sig, strict=True)]
    lowering = find(op.core_op)
    assert lowering is not None
    if not any(counts):
        return ctx.lower_op(op.core_op, _CoreNode(node, op.core_op), operands)
    if not lowering.batched:
        raise UnsupportedGraphError(
            f"{type(op.core_op).__name__} over batch axes (inputs {[str(v.type) for v in node.inputs]}) has no lowering; "
            "apply it to one matrix at a time"
        )
    rank = max(counts)
    batch: list[Dim] = [1] * rank
    for x, count in zip(operands, counts, strict=True):
        for axis, size in enumerate(x.dims[:count], start=rank - count):
            if not (isinstance(size, int) and size == 1):
                known = batch[axis]
                stretched = isinstance(known, int) and known == 1
                batch[axis] = size if stretched else ctx.equate(known, size, f"batch axis {axis}")
    stretched_operands = []
    for x, count in zip(operands, counts, strict=True):
        dims = (*batch, *x.dims[count:])
        stretched_operands.append(hlo.broadcast(x, dims))
    return ctx.lower_op(op.core_op, _CoreNode(node, op.core_op), stretched_operands)


class _CoreNode:
    """A `Blockwise` node as the core op's rule sees it."""

    def __init__(self, node: Any, op: Any) -> None:
        self.op = op
        self.inputs = node.inputs
        self.outputs = node.outputs
