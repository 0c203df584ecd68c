"""Masks that rounding decides, made so that XLA computes them once.

A gradient multiplies by `x > 0`, or selects zero. XLA computes what is cheap again in each fusion that needs it, and
contracts `a * b + c` to a fused multiply-add in one and not in another. Where x is zero but for rounding, the mask is
then 1 for one user and 0 for another, and what must cancel does not. The distance of a point to itself in a Gaussian
process, `-2 * x @ x.T + sum(x**2) + sum(x**2).T`, is such an x: the gradient was wrong by more than its size. XLA does
not repeat what it holds for expensive, and a square root, which leaves 0 and 1 as they are, is.
"""

from __future__ import annotations

from typing import Any

from ..ir.attributes import constant_attribute
from ..ir.bindings import ir
from .core import Tensor
from .types import BOOL

_SAME_ELEMENTS = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "dynamic_broadcast_in_dim", "reshape", "dynamic_reshape", "transpose", "convert")
)
_LOGIC = frozenset({"stablehlo.and", "stablehlo.or", "stablehlo.not", "stablehlo.xor"})
_LIMIT = 16  # values that are looked at


def once(number: Tensor) -> Tensor:
    """A tensor of zeros and ones, which XLA does not compute again for each of its users."""
    return number.builder.op("stablehlo.sqrt", [number], number.dims, number.dtype)


def decided_by_rounding(mask: Tensor) -> bool:
    """Whether a boolean array comes from comparisons of computed floating-point numbers."""
    if mask.dtype != BOOL or mask.ndim == 0 or mask.literal is not None or mask.sizes is not None:
        return False
    stack: list[Any] = [mask.value]
    for _ in range(_LIMIT):
        if not stack:
            return False
        operation = _origin(stack.pop())
        if operation is None:
            continue
        if operation.name in _LOGIC:
            stack.extend(operation.operands)
        elif operation.name == "stablehlo.compare" and any(map(_is_computed_float, operation.operands)):
            return True
    return False


def is_zero(x: Tensor) -> bool:
    """Whether a tensor is plainly zero everywhere."""
    if x.literal is not None:
        return not x.literal.any()
    operation = _origin(x.value)
    if operation is None or operation.name != "stablehlo.constant":
        return False
    value = constant_attribute(operation)
    return value is not None and bool(value.is_splat) and not _number(value.get_splat_value())


def _number(attribute: Any) -> Any:
    return getattr(attribute, "value", True)


def _origin(value: Any) -> Any:
    """The operation that computes a value's elements, or None for an argument."""
    while not isinstance(value.owner, ir.Block):
        operation = value.owner.operation
        if operation.name not in _SAME_ELEMENTS:
            return operation
        value = operation.operands[0]
    return None


def _is_computed_float(value: Any) -> bool:
    element = ir.RankedTensorType(value.type).element_type
    operation = _origin(value)
    return isinstance(element, ir.FloatType) and operation is not None and operation.name != "stablehlo.constant"
