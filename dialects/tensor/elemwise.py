"""Elementwise ops on tensors: broadcasting, then the scalar table; and reductions with scalar ops.

PyTensor's rule for broadcasting: an axis stretches only where the *type* says that its size is 1; two axes of unknown
size must agree when the graph runs, and are equated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from functools import reduce as fold
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import INT32, INT64, Dims, Monoid, Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError, UnsupportedOpError
from ..registry import lowers
from ..releases import axis_of, with_initial
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
_FEW = 64  # elements of these
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
        literals = [x.literal for x in operands if x.literal is not None and x.literal.size <= _FEW]
        if len(literals) == len(operands) and type(op).__name__ in FOLDED | INEXACT:
            places = np.broadcast(*literals)
            with np.errstate(all="ignore"):
                found = [op.impl(*map(np.float64, place)) for place in places]
            return [ctx.constant(np.asarray(found, dtype).reshape(places.shape))]
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

    def computed() -> list[Tensor]:
        given = broadcast_operands(ctx, node.inputs, operands) if operands and operands[0].ndim else operands
        dtypes = [output.type.dtype for output in node.outputs]
        shaped: Dims = max((x.dims for x in given), key=len, default=())
        # A composite's output may be a constant, or an input's value alone.
        return [
            hlo.broadcast_in_dim(hlo.convert(x, dtype), shaped if not x.ndim else x.dims, range(x.ndim))
            for x, dtype in zip(apply_scalar(ctx, node.op.scalar_op, node, given, dtypes), dtypes, strict=True)
        ]

    if sizes is None:
        return hlo.planned(ctx.builder, node.op, operands, computed) if operands else computed()
    return [ctx.builder.known_as(sizes, (len(sizes),), ctx.out_dtype(), lambda: computed()[0])]


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


@lowers("ScalarOp")
def scalar_op(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
    """A scalar op on scalars, as inside a composite."""
    dtypes = [output.type.dtype for output in node.outputs]
    return apply_scalar(ctx, node.op, node, operands, dtypes)


# ---- reductions: CAReduce and its children, Argmax, cumulative ops, Softmax ------------------------------------------

_MONOIDS: dict[str, Monoid] = {
    "Add": "add",
    "Mul": "multiply",
    "Maximum": "maximum",
    "ScalarMaximum": "maximum",
    "Minimum": "minimum",
    "ScalarMinimum": "minimum",
    "AND": "and",
    "OR": "or",
    "XOR": "xor",
}


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that are reduced; of a number none, as NumPy takes axis 0 and -1 of it."""
    if axis is None or ndim == 0:
        return tuple(range(ndim))
    return tuple(a % ndim for a in (axis if isinstance(axis, Sequence) else (axis,)))


def _unsupported_reduction(op: Any) -> Sequence[str]:
    name = type(op.scalar_op).__name__
    return [] if name in _MONOIDS or name == "MulWithoutZeros" else [f"reduction with {op.scalar_op}"]


@lowers("CAReduce", unsupported=_unsupported_reduction)
def ca_reduce(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """Reduction of axes with a monoid, accumulated in `acc_dtype`."""
    op = node.op
    axes = reduced_axes(op.axis, x.ndim)
    dtype = ctx.out_dtype()
    name = type(op.scalar_op).__name__
    if name == "MulWithoutZeros":
        x = hlo.convert(x, dtype)
        one = ctx.constant(np.ones((), dtype))
        return hlo.reduce_monoid(hlo.select(hlo.compare("EQ", x, 0), one, x), axes, "multiply")
    monoid = _MONOIDS[name]
    known = _known_reduction(ctx, x, axes, dtype)
    if known is None:
        if monoid == "add" and x.dtype.kind == "b" and dtype == INT64 and len(axes) == x.ndim:
            return hlo.count_true(x)  # a size, where it is used as one
        return _reduction(ctx, monoid, x, axes, dtype)
    if ctx.builder.exact(x.sizes, x.dtype) and dtype == INT64:
        return known
    return ctx.builder.knowing(_reduction(ctx, monoid, x, axes, dtype), known.sizes)


def _reduction(ctx: Context, monoid: Monoid, x: Tensor, axes: Sequence[int], dtype: Any) -> Tensor:
    if monoid in ("maximum", "minimum"):
        for axis in () if with_initial(ctx.node.op) else axes:
            ctx.at_least(x.dims[axis], 1, f"{monoid} over axis {axis} of no elements")
        return hlo.convert(hlo.reduce_monoid(x, axes, monoid), dtype)
    if monoid in ("add", "multiply"):
        accumulator = _accumulator(ctx.node.op, x.dtype, dtype)
        return hlo.convert(hlo.reduce_monoid(hlo.convert(x, accumulator), axes, monoid), dtype)
    return hlo.reduce_monoid(hlo.convert(x, dtype), axes, monoid)


def _known_reduction(ctx: Context, x: Tensor, axes: Sequence[int], dtype: Any) -> Tensor | None:
    """The reduction of a vector of sizes, where it is a size too: `x.size` is the product of `x.shape`."""
    if not axes or not x.ndim or not x.sizes:
        return None
    op = ctx.node.op.scalar_op
    extreme = _MONOIDS[type(op).__name__] in ("maximum", "minimum")
    accumulator = dtype if extreme or dtype.kind == "b" else _accumulator(ctx.node.op, x.dtype, dtype)
    if dtype.kind != "b" and not {dtype, accumulator} <= {INT32, INT64}:
        return None  # sizes do not wrap around
    elements = [ctx.builder.size(size, x.dtype) for size in x.sizes]
    found = hlo.convert(fold(partial(scalar_rule(op), accumulator), elements), dtype)
    return None if found.dim is None else found


def _accumulator(op: Any, input_dtype: np.dtype[Any], output: np.dtype[Any]) -> np.dtype[Any]:
    """The op's `acc_dtype`, or PyTensor's default: at least 64 bits of the input's kind."""
    if op.acc_dtype is not None:
        return np.dtype(op.acc_dtype)
    wide = {"b": "int64", "i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}[input_dtype.kind]
    if output.kind == "b":
        return output
    return np.result_type(input_dtype, np.dtype(wide)) if input_dtype.itemsize < 8 else input_dtype


@lowers("Argmax", "MaxAndArgmax")
def argmax(ctx: Context, node: Any, x: Tensor) -> Any:
    """Index of the first largest element (NaN counts as largest) over one or several axes, flattened in order."""
    axes = sorted(reduced_axes(node.op.axis, x.ndim))
    for axis in axes:
        ctx.at_least(x.dims[axis], 1, f"argmax over axis {axis} of no elements")
    flat, place = x, axes[0] if axes else 0
    if len(axes) != 1:
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        moved = hlo.transpose(x, [*kept, *axes])
        flat = hlo.reshape(moved, (*moved.dims[: len(kept)], hlo.product(moved.dims[len(kept) :])))
        place = len(kept)
    if flat.dtype.kind == "b":
        flat = hlo.convert(flat, np.int8)
    index = hlo.convert(hlo.arg_reduce(flat, place, "maximum"), node.outputs[-1].type.dtype)
    if len(node.outputs) == 1:
        return index
    return hlo.reduce_monoid(x, axes, "maximum"), index


@lowers("CumOp")
def cumulative(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """Running sum or product along an axis, or over all elements in order."""
    axis = axis_of(node.op.axis, x.ndim)
    if axis is None:
        x, axis = hlo.reshape(x, (hlo.product(x.dims),)), 0
    return hlo.cumulative(hlo.convert(x, ctx.out_dtype()), axis, "add" if node.op.mode == "add" else "multiply")


def _restored(reduced: Tensor, like: Tensor, axes: Sequence[int]) -> Tensor:
    return hlo.broadcast_in_dim(reduced, like.dims, [axis for axis in range(like.ndim) if axis not in axes])


@lowers("Softmax", "LogSoftmax")
def softmax(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """exp(x - max) / sum(exp(x - max)) over the op's axes, or the logarithm: x - max - log(sum(exp(x - max)))."""
    x = hlo.convert(x, ctx.out_dtype())
    axes = reduced_axes(node.op.axis, x.ndim)
    shifted = x - _restored(hlo.reduce_monoid(x, axes, "maximum"), x, axes)
    weights = hlo.exponential(shifted)
    total = hlo.reduce_monoid(weights, axes, "add")
    if type(node.op).__name__ == "LogSoftmax":
        return shifted - _restored(hlo.log(total), x, axes)
    return weights / _restored(total, x, axes)


@lowers("SoftmaxGrad")
def softmax_grad(ctx: Context, node: Any, gradient: Tensor, value: Tensor) -> Tensor:
    """dy * sm - sm * sum(dy * sm) over the op's axes."""
    axes = reduced_axes(node.op.axis, value.ndim)
    gradient, value = hlo.convert(gradient, ctx.out_dtype()), hlo.convert(value, ctx.out_dtype())
    product = gradient * value
    total = _restored(hlo.reduce_monoid(product, axes, "add"), value, axes)
    return product - value * total
