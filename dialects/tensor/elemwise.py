"""Elementwise ops on tensors: broadcasting, then the scalar table.

PyTensor's rule for broadcasting: an axis stretches only where the *type* says that its size is 1; two axes of unknown
size must agree when the graph runs, and are equated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Dims, Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError, UnsupportedOpError
from ..registry import lowers
from .scalar import TABLE, refusal
from .shape import typed_dims


def broadcast_operands(ctx: Context, variables: Sequence[Any], operands: Sequence[Tensor]) -> list[Tensor]:
    """Operands stretched to one shape, by the broadcast patterns of their types.

    A constant of one element becomes a scalar: it is stretched where it is used, in the dtype that it is used in.
    """
    first = operands[0].dims
    if all(x.dims == first for x in operands):
        return list(operands)
    rank = len(first)
    patterns = [variable.type.broadcastable for variable in variables]
    shapes = [(pattern, x.dims) for x, pattern in zip(operands, patterns, strict=True)]
    target = typed_dims(ctx, shapes, "axis {} of the elementwise operation")
    stretched = []
    for x, pattern in zip(operands, patterns, strict=True):
        if x.literal is not None and x.literal.size == 1 and any(dim != 1 for dim in target):
            stretched.append(ctx.constant(x.literal.reshape(())))
            continue
        grows = any(pattern[axis] and target[axis] != 1 for axis in range(rank))
        stretched.append(hlo.broadcast_in_dim(x, target, range(rank)) if grows else x)
    return stretched


# What is done at once to numbers that are known.
FOLDED = frozenset({"Add", "Mul", "Sub", "TrueDiv"})
# Functions that sizes have, too.
_OF_SIZES = frozenset(
    {
        *("Abs", "Add", "Mul", "Neg", "Sign", "Sub", "FloorDivide", "IntDiv", "Mod"),
        *("Clip", "Maximum", "Minimum", "ScalarMaximum", "ScalarMinimum", "Switch"),
        *("EQ", "GE", "GT", "LE", "LT", "NEQ"),
    }
)
# Functions that lose digits in float32 near their roots.
INEXACT = frozenset({"BetaInc", "Gamma", "GammaInc", "GammaIncC", "GammaLn", "Psi", "TriGamma"})


def apply_scalar(ctx: Context, op: Any, node: Any, operands: Sequence[Tensor], dtypes: Sequence[Any]) -> list[Tensor]:
    """Applies a scalar op, or the inner graph of a composite one, to operands of one shape."""
    fgraph = getattr(op, "fgraph", None)
    if fgraph is not None and type(op).__name__ == "Composite":
        return ctx.lower_inner(fgraph.inputs, fgraph.outputs, operands)
    if _is_loop(op):
        return _scalar_loop(ctx, op, operands)
    rule = scalar_rule(op)
    if rule is None:
        raise UnsupportedOpError(f"scalar op {op} ({type(op).__name__}) has no lowering")
    refused = refusal(type(op).__name__, np.dtype(dtypes[0]), [x.dtype for x in operands])
    if refused is not None:
        raise UnsupportedGraphError(f"scalar op {op}: {refused}")
    dtype = np.dtype(dtypes[0])
    if dtype == np.float32:
        # PyTensor types functions of small numbers as float32, and a float64 density has constants made of them.
        literals = [x.literal for x in operands if x.literal is not None and x.literal.ndim == 0]
        if len(literals) == len(operands) and type(op).__name__ in FOLDED | INEXACT:
            with np.errstate(all="ignore"):
                return [ctx.constant(np.asarray(op.impl(*[np.float64(literal) for literal in literals]), dtype))]
        if type(op).__name__ in INEXACT and all(x.dtype.kind in "iu" for x in operands):
            return [hlo.convert(rule(np.dtype(np.float64), *operands), dtype)]
    return [rule(dtype, *operands)]


def _is_loop(op: Any) -> bool:
    return hasattr(op, "fgraph") and any(base.__name__ == "ScalarLoop" for base in type(op).__mro__)


def _scalar_loop(ctx: Context, op: Any, operands: Sequence[Tensor]) -> list[Tensor]:
    """`ScalarLoop(steps, *states, *constants)`: each element repeats the inner graph until its own end.

    One loop over whole tensors runs as long as any element goes on; the states of the others stay as they are.
    """
    steps, *rest = hlo.unify(*operands)
    graph = op.fgraph
    count = len(graph.outputs) - bool(op.is_while)
    dtypes = [np.dtype(variable.type.dtype) for variable in graph.inputs[:count]]
    states = [hlo.convert(x, dtype) for x, dtype in zip(rest, dtypes, strict=False)]

    def runs(index: Tensor, done: Tensor) -> Tensor:
        return ~done & (hlo.convert(index, steps.dtype) < steps)

    def goes_on(index: Tensor, done: Tensor, *states: Tensor) -> Tensor:
        return hlo.reduce_monoid(runs(index, done), range(done.ndim), "or")

    def step(index: Tensor, done: Tensor, *states: Tensor) -> list[Tensor]:
        active = runs(index, done)
        new = ctx.lower_inner(graph.inputs, graph.outputs, [*states, *rest[count:]])
        kept = [
            hlo.select(active, hlo.convert(x, dtype), old) for x, dtype, old in zip(new, dtypes, states, strict=False)
        ]
        if op.is_while:
            done = done | active & hlo.convert(new[-1], bool)
        return [index + 1, done, *kept]

    start = ctx.constant(np.zeros((), np.int64))
    never = hlo.broadcast_in_dim(ctx.constant(False), steps.dims, ())
    _, done, *states = hlo.while_loop([start, never, *states], goes_on, step)
    return [*states, done] if op.is_while else states


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
        if type(scalar).__name__ == "Composite" or _is_loop(scalar):
            pending.extend(node.op for node in scalar.fgraph.toposort())
        elif scalar_rule(scalar) is None:
            found.append(f"scalar op {scalar}")
    return found


@lowers("Elemwise", unsupported=_unsupported)
def elemwise(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
    """A scalar op over tensors, with broadcasting."""
    sizes = _of_sizes(ctx, node, operands)
    if sizes is None:
        return _elementwise(ctx, node, operands)
    return [ctx.builder.known_as(sizes, (len(sizes),), ctx.out_dtype(), lambda: _elementwise(ctx, node, operands)[0])]


def _of_sizes(ctx: Context, node: Any, operands: Sequence[Tensor]) -> tuple[Dim, ...] | None:
    """What is known as sizes of an op on a vector such as `x.shape`; None where an element is not known."""
    if type(node.op.scalar_op).__name__ not in _OF_SIZES:
        return None
    count = max((len(x.sizes) for x in operands if x.ndim and x.sizes is not None), default=0)
    if not count or len(node.outputs) > 1 or not (hlo.wide_integer(ctx.out_dtype()) or ctx.out_dtype().kind == "b"):
        return None
    columns = []
    for x in operands:
        known = x.sizes if x.literal is None else tuple(x.literal.ravel())
        if known is None or not x.ndim or len(known) not in (1, count):
            return None
        elements = [ctx.builder.size(v, x.dtype) if x.literal is None else ctx.constant(v, x.dtype) for v in known]
        columns.append(elements * (count // len(known)))
    dtypes = [ctx.out_dtype()]
    found = [apply_scalar(ctx, node.op.scalar_op, node, row, dtypes)[0].dim for row in zip(*columns, strict=True)]
    known = tuple(size for size in found if size is not None)
    return known if len(known) == count else None


def _elementwise(ctx: Context, node: Any, operands: Sequence[Tensor]) -> list[Tensor]:
    if operands and operands[0].ndim:
        operands = tuple(broadcast_operands(ctx, node.inputs, operands))
    dtypes = [output.type.dtype for output in node.outputs]
    results = apply_scalar(ctx, node.op.scalar_op, node, operands, dtypes)
    shaped: Dims = max((x.dims for x in operands), key=len, default=())
    # A composite's output may be a constant, or an input's value alone.
    return [
        hlo.broadcast_in_dim(hlo.convert(x, dtype), shaped if not x.ndim else x.dims, range(x.ndim))
        for x, dtype in zip(results, dtypes, strict=True)
    ]


@lowers("ScalarOp")
def scalar_op(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
    """A scalar op on scalars, as inside a composite."""
    dtypes = [output.type.dtype for output in node.outputs]
    return apply_scalar(ctx, node.op, node, operands, dtypes)
