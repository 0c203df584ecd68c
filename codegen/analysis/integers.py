"""Integers that are known before the run: iota, constants, and arithmetic on them.

In: a value of integers or truth values. Out: its array, or None. Indices that a library computes (`arange(a, b)`, with
wrapping of negative ones, conversion, a check against the size) come out as the numbers that they are. Decision to
know: work is bounded, in ops and in elements, so that asking is cheap where the answer is no.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..ir import evaluate
from ..ir.attributes import Array, constant_value, integers
from ..ir.bindings import ir
from ..ir.driver import remembered
from ..ir.kinds import direction_of
from ..ir.types import numpy_dtype
from ..ir.values import constant, owner, shape_of

_OPS, _ELEMENTS = 48, 1 << 21


def known(value: ir.Value) -> Array | None:
    """The array of a value that no argument has a part in; None where it is not known, or not cheaply."""
    unknown: set[int] = remembered("unknown integers", set)
    return _Evaluation(unknown).value(value)


class _Evaluation:
    """One question: how many ops are still looked at, and what is known of those that were.

    What is found to be unknown is remembered (as hashes, not as values) for the questions to come in the same run.
    """

    def __init__(self, unknown: set[int]) -> None:
        self._left = _OPS
        self._unknown = unknown
        self._found: dict[ir.Value, Array] = {}

    def value(self, value: ir.Value) -> Array | None:
        if value in self._found:
            return self._found[value]
        if hash(value) in self._unknown:
            return None
        self._left -= 1
        op = owner(value)
        result = None
        if op is not None and self._left >= 0 and _is_small(value):
            result = self._op(op, value)
        if result is None:
            self._unknown.add(hash(value))
        else:
            self._found[value] = result
        return result

    def _op(self, op: ir.Operation, value: ir.Value) -> Array | None:
        shape = tuple(ir.RankedTensorType(value.type).shape)
        dtype = numpy_dtype(ir.RankedTensorType(value.type).element_type)
        if op.name == "stablehlo.constant":
            found = constant_value(op)
            return None if found is None else np.broadcast_to(found, shape)
        if op.name == "stablehlo.iota":
            axis = ir.IntegerAttr(op.attributes["iota_dimension"]).value
            along = np.arange(shape[axis]).astype(dtype).reshape([-1 if k == axis else 1 for k in range(len(shape))])
            return np.broadcast_to(along, shape)
        rule = _RULES.get(op.name)
        if rule is None and op.name not in evaluate.ELEMENTWISE:
            return None
        operands = []
        for operand in op.operands:
            found = self.value(operand)
            if found is None:
                return None
            operands.append(found)
        with np.errstate(all="ignore"):
            made = rule(op, operands, shape) if rule is not None else evaluate.ELEMENTWISE[op.name](*operands)
        return None if made is None else np.asarray(made).astype(dtype, copy=False).reshape(shape)


def _is_small(value: ir.Value) -> bool:
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    tensor = ir.RankedTensorType(value.type)
    element = tensor.element_type
    if not isinstance(element, ir.IntegerType) or element.width not in (1, 8, 16, 32, 64):
        return False
    shape = shape_of(value)
    return None not in shape and int(np.prod([size or 0 for size in shape], dtype=np.int64)) <= _ELEMENTS


def _broadcast(op: ir.Operation, operands: Sequence[Array], shape: tuple[int, ...]) -> Array:
    dims = integers(op, "broadcast_dimensions")
    # An operand's axes may be permuted on the way.
    array = operands[0].transpose(*np.argsort(dims).tolist()) if dims else operands[0]
    sizes = [1] * len(shape)
    for axis, size in zip(sorted(dims), array.shape, strict=True):
        sizes[axis] = size
    return np.broadcast_to(array.reshape(sizes), shape)


def _compare(op: ir.Operation, operands: Sequence[Array], shape: tuple[int, ...]) -> Array:
    found: Array = evaluate.COMPARISONS[direction_of(op)](*operands)
    return found


def _slice(op: ir.Operation, operands: Sequence[Array], shape: tuple[int, ...]) -> Array:
    parts = zip(*(integers(op, name) for name in ("start_indices", "limit_indices", "strides")), strict=True)
    return operands[0][tuple(slice(*part) for part in parts)]


def _concatenate(op: ir.Operation, operands: Sequence[Array], shape: tuple[int, ...]) -> Array:
    return np.concatenate(operands, axis=ir.IntegerAttr(op.attributes["dimension"]).value)


def _all(op: ir.Operation, operands: Sequence[Array], shape: tuple[int, ...]) -> Array | None:
    """A `reduce` of truth values with `and`, which is how indices are checked."""
    if len(operands) != 2 or operands[0].dtype != bool or len(op.regions[0].blocks[0].operations) != 2:
        return None
    body = op.regions[0].blocks[0].operations[0].operation
    if body.name != "stablehlo.and" or set(body.operands) != set(op.regions[0].blocks[0].arguments):
        return None
    return np.logical_and(operands[0].all(axis=integers(op, "dimensions")), operands[1])


_RULES: dict[str, Callable[[ir.Operation, Sequence[Array], tuple[int, ...]], Array | None]] = {
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.reshape": lambda op, operands, shape: operands[0].reshape(shape),
    # To a narrower type it wraps, as NumPy's does; to a truth value it compares with zero, as NumPy's does.
    "stablehlo.convert": lambda op, operands, shape: operands[0],
    "stablehlo.transpose": lambda op, operands, shape: operands[0].transpose(integers(op, "permutation")),
    "stablehlo.compare": _compare,
    "stablehlo.slice": _slice,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.reduce": _all,
}


def zero_splat(value: ir.Value) -> float | int | None:
    """0 or -0.0 where all elements of a value are known to be it, else None."""
    found = constant(value)
    if found is None or found.ndim or found != 0:
        return None
    return -0.0 if found.dtype.kind not in "iubc" and np.signbit(found) else 0
