"""Padding rules: elementwise ops. They need nothing of the padding; what it holds is folded.

Integer scalars that stand for sizes go through the builder's own functions, which know them as dimension expressions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import builder as hlo
from ... import dims as dimension
from ...builder import Tensor
from ...builder.places import VALUE
from ...dims import Dim, maximum, minimum
from ...ir.bindings import ir
from ...ir.kinds import CHLO, STABLEHLO, direction_of
from ...ir.values import constant_value
from . import facts
from .facts import UNKNOWN, Fact
from .live import Live, attributes_of_op
from .padder import Padder, pads

NAMES = (*sorted(STABLEHLO), *sorted(CHLO))

# How the builder calls what it knows of sizes.
_FUNCTIONS = (
    *("abs", "add", "and_", "divide", "maximum_", "minimum_", "multiply", "negate", "not_", "or_", "remainder"),
    *("select", "sign", "subtract", "xor"),
)
_SIZES: dict[str, Callable[..., Tensor]] = {
    **{f"stablehlo.{name.rstrip('_')}": getattr(hlo, name) for name in _FUNCTIONS},
    "stablehlo.clamp": lambda low, x, high: hlo.minimum_(hlo.maximum_(x, low), high),
}


@pads(*NAMES)
def elementwise(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The op on the static tensors; facts are folded per axis."""
    name = operation.name
    shape, dtype = padder.type_of(operation.results[0])
    first = operands[0]
    if not first.dims and dtype.kind in "iu" and VALUE in operation.attributes:
        value = padder.parse_dim(ir.StringAttr(operation.attributes[VALUE]).value)
        # The roots of a private function are not known here.
        if dimension.roots(value) <= padder.builder.intervals.keys() and padder.builder.exact((value,), dtype):
            return [padder.make(padder.builder.size(value, dtype))]
    if not first.dims and all(x.tensor.sizes is not None for x in operands):
        found = _on_sizes(operation, name, [x.tensor for x in operands], dtype)
        if found is not None:
            single = found.literal is not None and found.literal.size == 1
            return [padder.make(found, whole=facts.constant(found.literal.reshape(())) if single else None)]  # type: ignore[union-attr]
    if dtype.kind in "iu" and len(first.dims) == 1 and len(operands) > 1 and type(first.dims[0]) is int:
        found = _on_size_vectors(padder, operation, name, [x.tensor for x in operands], dtype)
        if found is not None:
            return [padder.make(found)]
    if len(operands) > 1:
        aligned = iter(padder.align([x for x in operands if x.dims]))  # bounds and predicates may be scalars
        operands = [next(aligned) if x.dims else x for x in operands]
        first = max(operands, key=lambda x: len(x.dims))
    if name == "stablehlo.bitcast_convert" and len(shape) != first.ndim:  # a last axis comes or goes
        kept, added = min(first.ndim, len(shape)), shape[first.ndim :]
        if first.dims[kept:] != first.shape[kept:]:
            padder.refuse("it joins elements along a padded axis", *first.dims[kept:])
        tensor = padder.builder.op(name, [first.tensor], (*first.shape[:kept], *added), dtype)  # type: ignore[arg-type]
        return [padder.make(tensor, (*first.dims[:kept], *added))]  # type: ignore[arg-type]
    direction = direction_of(operation) if name == "stablehlo.compare" else ""
    tensor = padder.builder.op(name, [x.tensor for x in operands], first.shape, dtype, attributes_of_op(operation))
    if name == "stablehlo.add" and dtype.kind in "iu" and len(first.dims) == 1:
        for vector, sizes in (operands, operands[::-1]):
            if sizes.tensor.sizes is not None:
                padder.sums[tensor.uid] = (vector.tensor.uid, sizes.tensor.sizes)
    source = operands[-1].dtype
    whole = facts.fold(name, direction, tuple([x.whole for x in operands]), source, dtype)
    known: list[Fact | None] = [None] * first.ndim
    for axis in first.padded:
        of_axis = tuple([x.pad(axis) if x.dims else x.whole for x in operands])
        known[axis] = facts.fold(name, direction, of_axis, source, dtype)
    return [Live(tensor, first.dims, tuple(known), whole)]


def _on_sizes(operation: ir.Operation, name: str, tensors: Sequence[Tensor], dtype: np.dtype[Any]) -> Tensor | None:
    """The result as the builder knows it, where it knows it as a size."""
    if name == "stablehlo.convert":
        return hlo.convert(tensors[0], dtype) if dtype.kind in "iub" else None
    if name == "stablehlo.compare":
        return hlo.compare(direction_of(operation), tensors[0], tensors[1])
    function = _SIZES.get(name)
    if function is None or tensors[0].dtype.kind not in "iub":
        return None
    found = _truncated(name, *tensors) if name in ("stablehlo.divide", "stablehlo.remainder") else None
    return function(*tensors) if found is None else found


def _truncated(name: str, a: Tensor, b: Tensor) -> Tensor | None:
    """A division, which rounds to zero, of what may be negative by what is positive; the builder knows the others."""
    builder, x, y = a.builder, a.dim, b.dim
    if x is None or y is None:
        return None
    (low, high), least = builder.interval(x), builder.interval(y)[0]
    if (low is not None and low >= 0) or least is None or least <= 0:
        return None
    if high is not None and high <= 0:
        quotient = -(-x // y)
    else:
        quotient = (x + (y - 1) * minimum(maximum(-x, 0), 1)) // y
    size = quotient if name == "stablehlo.divide" else x - quotient * y
    return builder.size(size, a.dtype) if builder.exact((size,), a.dtype) else None


def _on_size_vectors(
    padder: Padder, operation: ir.Operation, name: str, tensors: Sequence[Tensor], dtype: np.dtype[Any]
) -> Tensor | None:
    """The result of an op on vectors of sizes, element by element, where it is a vector of sizes again."""
    columns = [x.sizes for x in tensors if x.dims and x.sizes is not None]
    if name not in _SIZES or len(columns) < len(tensors):
        return None
    results: list[Dim] = []
    for parts in zip(*columns, strict=True):
        scalars = [padder.builder.size(part, x.dtype) for part, x in zip(parts, tensors, strict=True)]
        found = _on_sizes(operation, name, scalars, dtype)
        if found is None or found.dim is None:
            return None
        results.append(found.dim)
    return padder.builder.size_vector(results, dtype) if padder.builder.exact(tuple(results), dtype) else None


@pads("stablehlo.constant")
def constant(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Small constants become handles that know their value; large ones are taken as they are."""
    shape, dtype = padder.type_of(operation.results[0])
    static: tuple[int, ...] = shape  # type: ignore[assignment]
    value = constant_value(operation)
    if value is not None and math.prod(static) <= 16:
        tensor = padder.builder.constant(np.broadcast_to(value, static).copy())
    elif dtype.kind == "c":  # whose attributes the bindings cannot read
        tensor = Tensor(padder.builder, operation.clone(ip=padder.builder.insertion_point).results[0], static, dtype)
    else:
        tensor = padder.builder.op(operation.name, [], static, dtype, attributes_of_op(operation))
    if value is None:
        return [padder.make(tensor)]
    if value.ndim == 0 or value.size == 1:
        padder.builder.splats[tensor.uid] = value.reshape(())
        return [padder.make(tensor, whole=facts.constant(value.reshape(())))]
    finite = value.dtype.kind in "biu" or bool(np.isfinite(value).all())
    return [padder.make(tensor, whole=facts.FINITE if finite else UNKNOWN)]


@pads("stablehlo.optimization_barrier")
def barrier(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Values pass through."""
    tensors = padder.builder.again(operation, [x.tensor for x in operands], [(x.shape, x.dtype) for x in operands])
    return [Live(tensor, x.dims, x.pads, x.whole) for tensor, x in zip(tensors, operands, strict=True)]
