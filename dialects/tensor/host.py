"""Ops that are Python: the program calls it, and goes on with what it gives.

In: a node whose op has no StableHLO: a print, a wrapped function, a decomposition that only SciPy has, an op of the
user's own; with `on_unsupported="host"` any that has no rule. Out: a host call. Decisions to know: XLA must know the
shapes of what comes back before it does, so the op has to say them; what cannot come back (a sparse matrix, what has a
size that nobody knows before) waits, and is computed in the call that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import DataDependentSizeError, UnsupportedGraphError, UnsupportedOpError
from ...codegen.graph import Deferred, Lowering
from .. import host_ops, registry
from ..host_ops import Group, is_constant, is_tensor
from ..registry import lowers, lowers_python

Lower = Callable[[Sequence[Any]], list[Tensor]]

_REMEDY = "give it an infer_shape, or static shapes to the types of its outputs"


def _refusal(node: Any, deferring: bool = False) -> str:
    """Why a node cannot be a call of Python; "" where it can.

    Args:
        node: the node.
        deferring: whether another call may need what cannot be given to the program.
    """
    for x in node.inputs:
        if not is_tensor(x) and not is_constant(x) and (x.owner is None or not deferring):
            return f"it runs Python, which gets dense tensors here, not a {x.type}"
    for x in node.outputs:
        if not is_tensor(x) and not deferring:
            return f"it runs Python, which gives dense tensors here, not a {x.type}"
    if deferring or host_ops.says_shapes(node.op):
        return ""
    for place, x in enumerate(node.outputs):
        for axis, size in enumerate(getattr(x.type, "shape", ())):
            if size is None:
                return f"it runs Python, and the size of axis {axis} of result {place} is known only then: {_REMEDY}"
    return ""


@lowers(
    *("Print", "FromFunctionOp", "PdbBreakpoint"),
    *("MinimizeOp", "MinimizeScalarOp", "RootOp", "RootScalarOp", "QZ"),
    loops=True,
    refuses=_refusal,
)
def host(ctx: Context, node: Any, *operands: Any) -> Sequence[Any]:
    """The op's own `perform`, called on the host."""
    if all(isinstance(x, Tensor) or is_constant(v) for v, x in zip(node.inputs, operands, strict=True)):
        group, tensors = _alone(node, operands)
        dims = _result_dims(ctx, group, lambda sizes: ctx.lower_inner(group.inputs, sizes, tensors))
    else:
        group = host_ops.group_of(node, lambda x: isinstance(ctx.value(x), Tensor))
        tensors = [ctx.value(x) for x in group.inputs]
        dims = _result_dims(ctx, group, ctx.lower_more)
    types = [(own, np.dtype(x.type.dtype)) for own, x in zip(dims, group.outputs, strict=True)]
    call = hlo.HostCall(group.name, host_ops.Performed(group), _why(node, operands))
    return hlo.host_call(ctx.builder, call, tensors, types)


def _why(node: Any, operands: Sequence[Any]) -> str:
    """Why an op is called and not compiled."""
    waiting = next((x for x in operands if isinstance(x, Deferred)), None)
    if waiting is not None:
        return f"it needs what stays in Python: {waiting.reason}"
    found = registry.find(node.op)
    if found is None:
        return "it has no lowering rule"
    if not runs_python(node.op):
        return "it wraps what has no lowering rule"
    return "it is Python" if found.name != registry.OF_USERS else "it is an op of the user's own"


def _host_or_deferred(ctx: Context, node: Any, *operands: Any) -> Sequence[Any]:
    """The same; what cannot come back into the program waits for who needs it."""
    other = next((x for x in node.outputs if not is_tensor(x)), None)
    if other is not None:
        return (Deferred(f"{node.op} gives a {other.type}, which is no dense tensor"),) * len(node.outputs)
    try:
        return host(ctx, node, *operands)
    except (UnsupportedOpError, UnsupportedGraphError) as error:
        return (Deferred(str(error)),) * len(node.outputs)


def _alone(node: Any, operands: Sequence[Any]) -> tuple[Group, list[Tensor]]:
    """A node as its op sees it, and what it takes of the program; constants it has.

    One of a batch has more axes than what is computed for one element.
    """
    inputs = []
    for variable, x in zip(node.inputs, operands, strict=True):
        if host_ops.has_value(variable) and (not isinstance(x, Tensor) or x.dims == np.shape(variable.data)):
            inputs.append(variable)
        elif hasattr(variable.type, "broadcastable"):
            shape = tuple(dim if type(dim) is int else None for dim in x.dims)
            inputs.append(variable.type.clone(shape=shape)())
        else:
            inputs.append(variable.type())
    batched = getattr(node, "batch_ndim", None) is not None
    outputs = node.op.make_node(*inputs).outputs if batched else node.outputs
    tensors = [x for variable, x in zip(inputs, operands, strict=True) if not host_ops.has_value(variable)]
    return host_ops.alone(node.op, inputs, outputs), tensors


def _result_dims(ctx: Context, group: Group, lower: Lower) -> list[tuple[Dim, ...]]:
    """The sizes of the results.

    Args:
        ctx: the context.
        group: what is run.
        lower: lowers expressions of its inputs' sizes.

    Raises:
        UnsupportedOpError: an op does not say a size.
        DataDependentSizeError: it is computed from data.
    """
    try:
        found = host_ops.shapes(group)
    except host_ops.UnsaidError as error:
        raise UnsupportedOpError(
            f"{error} runs Python, and the sizes of what it gives are known only then: {_REMEDY}"
        ) from None
    return [tuple(_dim(ctx, group, size, lower) for size in own) for own in found]


def _dim(ctx: Context, group: Group, size: Any, lower: Lower) -> Dim:
    """A size of a result."""
    if not hasattr(size, "type"):
        return int(size)
    (found,) = lower([size])
    try:
        return ctx.dim(found, f"a size of {group.name}")
    except DataDependentSizeError as error:
        raise DataDependentSizeError(f"{group.name}: a size of what it gives depends on data: {error}") from None


lowers_python(host, _refusal)


def runs_python(op: Any) -> bool:
    """Whether an op is called on the host."""
    found = registry.find(op)
    if found is None or found.rule is host:
        return found is not None
    drawn = getattr(op, "rv_op", op)
    if not hasattr(drawn, "rng_fn"):
        return False
    from ..random import sampling

    return sampling.is_python(drawn)


# ---- any op ----------------------------------------------------------------------------------------------------------


def find(op: Any) -> Lowering:
    """The lowering of an op: its own, or a call of the graph library's Python where it has none."""
    found = registry.find(op)
    if found is None or found.rule is host or (found.unsupported is not None and found.unsupported(op)):
        return _ANY
    return _with_deferred(found)


_ANY = Lowering("any op", _host_or_deferred, refuses=partial(_refusal, deferring=True))


@cache
def _with_deferred(lowering: Lowering) -> Lowering:
    """The same, for operands that do not enter the program, of which the rule knows nothing."""

    def rule(ctx: Context, node: Any, *operands: Any) -> Any:
        if any(isinstance(x, Deferred) for x in operands):
            return _host_or_deferred(ctx, node, *operands)
        return lowering.rule(ctx, node, *operands)

    return replace(lowering, rule=rule)
