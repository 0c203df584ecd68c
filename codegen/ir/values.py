"""What is asked of values and ops: types, definitions, uses, places.

In: ops and values of a module. Out: answers, or `Refused` with the reason in the user's terms where a rewrite cannot do
without (`defining`, `only_user`, `static_shape`). Nothing here changes what exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dtypes import kind_of
from .attributes import Array, constant_value
from .bindings import DYNAMIC, ir
from .refused import Refused, require
from .types import numpy_dtype


def shape_of(value: ir.Value) -> tuple[int | None, ...]:
    """A tensor's sizes; None for a dynamic one."""
    return tuple(None if size == DYNAMIC else size for size in ir.RankedTensorType(value.type).shape)


def sizes_of(value: ir.Value) -> list[int]:
    """A tensor's sizes, where they are known to be static."""
    return list(ir.RankedTensorType(value.type).shape)


def static_shape(value: ir.Value) -> tuple[int, ...]:
    """A tensor's sizes.

    Raises:
        Refused: one of them is dynamic.
    """
    shape = shape_of(value)
    require(None not in shape, f"{value.type} has a dynamic dimension (specialize the program first)")
    return tuple(size for size in shape if size is not None)


def dtype_of(value: ir.Value) -> np.dtype[Any]:
    """A tensor's numpy dtype.

    Raises:
        Refused: numpy has none for it.
    """
    try:
        return numpy_dtype(ir.RankedTensorType(value.type).element_type)
    except TypeError as error:
        raise Refused(str(error)) from None


def owner(value: ir.Value) -> ir.Operation | None:
    """The op that a value is a result of; None for a block argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def defining(value: ir.Value, *names: str) -> ir.Operation:
    """The op that a value is a result of, which must have one of these names (any, if none is given).

    Raises:
        Refused: it is a block argument, or another op.
    """
    op = owner(value)
    if op is None:
        raise Refused(f"an operand is an argument, not the result of {' or '.join(names) or 'an op'}")
    require(not names or op.name in names, f"an operand is the result of {op.name}, not of {' or '.join(names)}")
    return op


_SPREADING = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "dynamic_broadcast_in_dim", "reshape", "dynamic_reshape", "transpose")
)

_ARITHMETIC = {
    "stablehlo.add": np.add,
    "stablehlo.subtract": np.subtract,
    "stablehlo.multiply": np.multiply,
}


def constant(value: ir.Value) -> Array | None:
    """The value of a constant, a splat as a 0-d array; None if it is none.

    Also of one number that is broadcast, by a static or a dynamic op, reshaped, or converted without rounding, and of
    the sum, difference or product of two such numbers.
    """
    op = owner(value)
    if op is not None and op.name in _ARITHMETIC:
        return _computed(op)
    if op is not None and op.name in _SPREADING:
        found = constant(op.operands[0])
        return found if found is not None and found.ndim == 0 else None
    if op is not None and op.name == "stablehlo.convert":
        return _converted(constant(op.operands[0]), value)
    if op is None or op.name != "stablehlo.constant":
        return None
    try:
        return constant_value(op)
    except TypeError:  # of a type that numpy lacks
        return None


def _computed(op: ir.Operation) -> Array | None:
    """Arithmetic on two numbers that are no results of arithmetic themselves, so that long chains are not followed."""
    if any(getattr(owner(unspread(operand)), "name", "") in _ARITHMETIC for operand in op.operands):
        return None
    one, other = (constant(operand) for operand in op.operands)
    if one is None or other is None or one.ndim or other.ndim or one.dtype.char not in "fd":
        return None
    with np.errstate(all="ignore"):
        found = np.asarray(_ARITHMETIC[op.name](one, other))
    tiny = np.finfo(found.dtype).tiny  # what is smaller may be zero on a device
    return found if np.isfinite(found) and (found == 0 or abs(found) >= tiny) else None


def _converted(number: Array | None, value: ir.Value) -> Array | None:
    """One number as another type holds it, if it is the same there."""
    if number is None or number.ndim:
        return None
    try:
        dtype = numpy_dtype(ir.RankedTensorType(value.type).element_type)
    except TypeError:
        return None
    with np.errstate(all="ignore"):
        found = np.asarray(number.astype(dtype))
        same = kind_of(number.dtype) != "c" or kind_of(dtype) == "c"
        back = found.astype(number.dtype) if same else found
    return found if same and back.tobytes() == number.tobytes() else None


def unspread(value: ir.Value) -> ir.Value:
    """What a value was before it was broadcast or reshaped."""
    op = owner(value)
    while op is not None and op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        value, op = op.operands[0], owner(op.operands[0])
    return value


def is_constant(value: ir.Value, number: complex) -> bool:
    """Whether all elements of a value are known to be this number."""
    found = constant(value)
    return found is not None and found.ndim == 0 and bool(found == number)


def users(value: ir.Value) -> list[ir.Operation]:
    """The ops that use a value, each as often as it does."""
    return [use.owner.operation for use in value.uses]


def only_user(value: ir.Value, *names: str) -> ir.Operation:
    """The one op that uses a value, once.

    Raises:
        Refused: there are other uses, or the user has another name.
    """
    found = users(value)
    require(len(found) == 1, f"the value has {len(found)} uses, not one ({', '.join(op.name for op in found[:4])})")
    require(not names or found[0].name in names, f"it is used by {found[0].name}, not by {' or '.join(names)}")
    return found[0]


def single_use(value: ir.Value) -> bool:
    """Whether a value is used exactly once."""
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def ancestors(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops that an op lies in, innermost first, up to the module."""
    parent = op.parent
    while parent is not None:
        yield parent.operation
        parent = parent.operation.parent


def enclosing(op: ir.Operation, name: str = "stablehlo.while") -> ir.Operation | None:
    """The innermost op of this name that an op lies in."""
    return next((parent for parent in ancestors(op) if parent.name == name), None)


def dominates(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value can be used at the place before an op."""
    definer = owner(value)
    block = value.owner if definer is None else definer.block
    place: ir.Operation | None = op
    while place is not None and place.block != block:
        parent = place.parent
        place = None if parent is None or parent.operation.parent is None else parent.operation
    if place is None:
        return False
    return definer is None or (definer != place and definer.is_before_in_block(place))
