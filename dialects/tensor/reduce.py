"""Reductions: CAReduce and its children, Argmax, cumulative ops, Softmax."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Monoid, Tensor
from ...codegen.dims import Dim, maximum, minimum
from ...codegen.emit import Context
from ..registry import lowers
from ..releases import axis_of, with_initial

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


def _unsupported(op: Any) -> Sequence[str]:
    name = type(op.scalar_op).__name__
    return [] if name in _MONOIDS or name == "MulWithoutZeros" else [f"reduction with {op.scalar_op}"]


@lowers("CAReduce", unsupported=_unsupported)
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
    known = _known_reduction(ctx, monoid, x, axes, dtype)
    if known is None:
        if monoid == "add" and x.dtype.kind == "b" and dtype == INT64 and len(axes) == x.ndim:
            return hlo.count_true(x)  # a size, where it is used as one
        return _reduction(ctx, monoid, x, axes, dtype)
    if ctx.builder.exact(x.sizes, x.dtype) and dtype == INT64:
        return ctx.builder.size(known, dtype)
    return ctx.builder.knowing(_reduction(ctx, monoid, x, axes, dtype), (known,))


def _reduction(ctx: Context, monoid: Monoid, x: Tensor, axes: Sequence[int], dtype: Any) -> Tensor:
    if monoid in ("maximum", "minimum"):
        for axis in () if with_initial(ctx.node.op) else axes:
            ctx.at_least(x.dims[axis], 1, f"{monoid} over axis {axis} of no elements")
        return hlo.convert(hlo.reduce_monoid(x, axes, monoid), dtype)
    if monoid in ("add", "multiply"):
        accumulator = _accumulator(ctx.node.op, x.dtype, dtype)
        return hlo.convert(hlo.reduce_monoid(hlo.convert(x, accumulator), axes, monoid), dtype)
    return hlo.reduce_monoid(hlo.convert(x, dtype), axes, monoid)


_OF_SIZES: dict[str, Callable[[Dim, Dim], Dim]] = {
    "add": operator.add,
    "multiply": operator.mul,
    "maximum": maximum,
    "minimum": minimum,
}
_OF_TRUTHS: dict[str, Callable[[Dim, Dim], Dim]] = {"or": maximum, "and": minimum}


def _known_reduction(ctx: Context, monoid: str, x: Tensor, axes: Sequence[int], dtype: Any) -> Dim | None:
    """The reduction of a vector of sizes is a size: `x.size` is the product of `x.shape`."""
    if not axes or not x.ndim or not x.sizes:
        return None
    if x.dtype.kind == "b" and dtype.kind == "b" and monoid in _OF_TRUTHS:
        return fold(_OF_TRUTHS[monoid], x.sizes)
    if monoid not in _OF_SIZES:
        return None
    accumulator = dtype if monoid in ("maximum", "minimum") else _accumulator(ctx.node.op, x.dtype, dtype)
    if dtype not in (np.int32, np.int64) or accumulator not in (np.int32, np.int64):
        return None  # sizes do not wrap around
    value = fold(_OF_SIZES[monoid], x.sizes)
    if isinstance(value, int) and not np.iinfo(accumulator).min <= value <= np.iinfo(accumulator).max:
        return None
    return value


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


def _restored(ctx: Context, reduced: Tensor, like: Tensor, axes: Sequence[int]) -> Tensor:
    """A reduced tensor stretched back over the reduced axes."""
    return hlo.broadcast_in_dim(reduced, like.dims, [axis for axis in range(like.ndim) if axis not in axes])


def _shifted(ctx: Context, x: Tensor, axes: Sequence[int]) -> Tensor:
    return x - _restored(ctx, hlo.reduce_monoid(x, axes, "maximum"), x, axes)


@lowers("Softmax")
def softmax(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """exp(x - max) / sum(exp(x - max)) over the op's axes."""
    x = hlo.convert(x, ctx.out_dtype())
    axes = reduced_axes(node.op.axis, x.ndim)
    weights = hlo.exponential(_shifted(ctx, x, axes))
    return weights / _restored(ctx, hlo.reduce_monoid(weights, axes, "add"), x, axes)


@lowers("LogSoftmax")
def log_softmax(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """x - max - log(sum(exp(x - max))) over the op's axes."""
    x = hlo.convert(x, ctx.out_dtype())
    axes = reduced_axes(node.op.axis, x.ndim)
    shifted = _shifted(ctx, x, axes)
    total = hlo.log(hlo.reduce_monoid(hlo.exponential(shifted), axes, "add"))
    return shifted - _restored(ctx, total, x, axes)


@lowers("SoftmaxGrad")
def softmax_grad(ctx: Context, node: Any, gradient: Tensor, value: Tensor) -> Tensor:
    """dy * sm - sm * sum(dy * sm) over the op's axes."""
    axes = reduced_axes(node.op.axis, value.ndim)
    gradient, value = hlo.convert(gradient, ctx.out_dtype()), hlo.convert(value, ctx.out_dtype())
    product = gradient * value
    total = _restored(ctx, hlo.reduce_monoid(product, axes, "add"), value, axes)
    return product - value * total
