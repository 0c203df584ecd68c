"""Ops by NumPy: what an op gives of arrays that are known.

In: the op's full name, or a comparison's direction; or an op and arrays. Out: the function; or the array, or None where
the op is not one of those that indices and sizes are computed with. Decision to know: integers wrap and truth values
combine as StableHLO has it (`add` of them is "or"); of floats these are IEEE's results, which a compiler may round
otherwise, so the caller decides for which dtypes and values that is good enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .bindings import ir
from .kinds import direction_of, monoid_of
from .values import Array, constant_value, dtype_of, integers, sizes_of

COMPARISONS: Mapping[str, Callable[..., Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}

ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "stablehlo.abs": np.abs,
    "stablehlo.add": np.add,
    "stablehlo.and": np.bitwise_and,
    "stablehlo.ceil": np.ceil,
    "stablehlo.clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "stablehlo.floor": np.floor,
    "stablehlo.is_finite": np.isfinite,
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.multiply": np.multiply,
    "stablehlo.negate": np.negative,
    "stablehlo.not": np.invert,
    "stablehlo.or": np.bitwise_or,
    "stablehlo.round_nearest_even": np.rint,
    "stablehlo.select": np.where,
    "stablehlo.sign": lambda x: np.where(x == 0, x, np.sign(x)),  # -0.0 stays
    "stablehlo.subtract": np.subtract,
    "stablehlo.xor": np.bitwise_xor,
    "chlo.is_inf": np.isinf,
    "chlo.square": np.square,
}


def is_known(op: ir.Operation) -> bool:
    """Whether `result_of` knows the op."""
    return op.name == "stablehlo.constant" or op.name in _RULES or op.name in ELEMENTWISE


def result_of(op: ir.Operation, operands: Sequence[Array]) -> Array | None:
    """The array that a static op with one result makes of arrays, which have its operands' shapes."""
    shape, dtype = sizes_of(op.results[0]), dtype_of(op.results[0])
    if op.name == "stablehlo.constant":
        found = constant_value(op)
        return None if found is None else np.broadcast_to(found, shape)
    if not is_known(op):
        return None
    with np.errstate(all="ignore"):
        made = _RULES[op.name](op, *operands) if op.name in _RULES else ELEMENTWISE[op.name](*operands)
    return None if made is None else np.asarray(made).astype(dtype, copy=False).reshape(shape)


def _iota(op: ir.Operation) -> Array:
    shape, axis = sizes_of(op.results[0]), ir.IntegerAttr(op.attributes["iota_dimension"]).value
    return np.broadcast_to(np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))]), shape)


def _broadcast(op: ir.Operation, x: Array) -> Array:
    axes, shape = integers(op, "broadcast_dimensions"), sizes_of(op.results[0])
    sizes = [1] * len(shape)
    for axis, size in zip(axes, x.shape, strict=True):
        sizes[axis] = size
    return np.broadcast_to(x.transpose(np.argsort(axes, kind="stable").tolist()).reshape(sizes), shape)


def _all(op: ir.Operation, x: Array, init: Array, *others: Array) -> Array | None:
    if others or x.dtype != bool or monoid_of(op.regions[0].blocks[0]) != "and":
        return None
    return np.logical_and(x.all(axis=integers(op, "dimensions")), init)


_RULES: Mapping[str, Callable[..., Any]] = {
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.compare": lambda op, *operands: COMPARISONS[direction_of(op)](*operands),
    "stablehlo.concatenate": lambda op, *parts: np.concatenate(parts, ir.IntegerAttr(op.attributes["dimension"]).value),
    # To a narrower type it wraps, as NumPy's does; to a truth value it compares with zero, as NumPy's does.
    "stablehlo.convert": lambda op, x: x,
    "stablehlo.iota": _iota,
    "stablehlo.reduce": _all,
    "stablehlo.reshape": lambda op, x: x,
    "stablehlo.slice": lambda op, x: x[
        tuple(map(slice, *(integers(op, name) for name in ("start_indices", "limit_indices", "strides"))))
    ],
    "stablehlo.transpose": lambda op, x: x.transpose(integers(op, "permutation")),
}
