"""What rewrites ask about ops and values, and how they copy them.

In: ops and values of a module. Out: answers, or `Refused` with the reason in the user's terms where a rewrite cannot do
without (`defining`, `only_user`, `require`). Nothing here changes what exists; `clone` and `rebuild_while` make new ops
at the place that is current (`with ir.InsertionPoint(op), op.location:`; a rewrite is called with both set).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import mlir
from ..builder.reduce import MONOIDS
from ..mlir import attributes_of as attributes_of
from ..mlir import ir, stablehlo
from .report import Refused

Array = np.ndarray[Any, Any]


def require(condition: Any, reason: str) -> None:
    """Raises `Refused` with the reason unless the condition holds."""
    if not condition:
        raise Refused(reason)


# ---- values -----------------------------------------------------------------------------------------------------


def shape_of(value: ir.Value) -> tuple[int | None, ...]:
    """A tensor's sizes; None for a dynamic one."""
    return tuple(None if size == mlir.DYNAMIC else size for size in ir.RankedTensorType(value.type).shape)


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
        return mlir.dtype_of(ir.RankedTensorType(value.type).element_type)
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


def constant(value: ir.Value) -> Array | None:
    """The value of a constant, also behind a broadcast or a reshape; a splat is a 0-d array. None if it is none."""
    op = owner(value)
    while op is not None and op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        found = constant(op.operands[0])
        return found if found is not None and found.ndim == 0 else None
    if op is None or op.name != "stablehlo.constant":
        return None
    try:
        return mlir.constant_value(op)
    except TypeError:  # of a type that numpy lacks
        return None


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


def monoid_of(block: ir.Block) -> str | None:
    """The monoid that a region's body is, by name: one op on its two arguments, in any order."""
    arguments = list(block.arguments)
    first, *rest = itertools.islice(block.operations, 3)
    body = first.operation
    name = body.name.partition(".")[2]
    if name not in MONOIDS or len(rest) != 1 or len(arguments) != 2 or rest[0].operation.operands[0] != body.results[0]:
        return None
    operands = list(body.operands)
    return name if operands in (arguments, arguments[::-1]) else None


# ---- uses -------------------------------------------------------------------------------------------------------


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


# ---- places -----------------------------------------------------------------------------------------------------


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


# ---- attributes -------------------------------------------------------------------------------------------------


def integers(op: ir.Operation, name: str) -> tuple[int, ...]:
    """An attribute that is a list of integers, such as `dimensions` or `start_indices`; () where there is none."""
    return tuple(ir.DenseI64ArrayAttr(op.attributes[name])) if name in op.attributes else ()


def text_attribute(op: ir.Operation, name: str) -> str:
    """An attribute as MLIR writes it; "" where there is none."""
    return str(op.attributes[name]) if name in op.attributes else ""


def reduction(op: ir.Operation) -> str:
    """The name of the one op that a `stablehlo.reduce` (or a scatter) combines elements with, e.g. `stablehlo.add`.

    Raises:
        Refused: it combines in another way, or several arrays at once.
    """
    body = list(op.regions[0].blocks[0].operations)
    arguments = op.regions[0].blocks[0].arguments
    names = " then ".join(inner.operation.name for inner in body[:-1])
    require(
        len(body) == 2
        and set(body[0].operation.operands) == set(arguments)
        and len(arguments) == 2
        and body[1].operation.operands[0] == body[0].operation.results[0],
        f"{op.name} does not combine its elements with a single op, but with {names or 'none'}",
    )
    return str(body[0].operation.name)


# ---- new ops ---------------------------------------------------------------------------------------------------


def full_like(value: ir.Value, number: float | int, shape: Sequence[int] | None = None) -> ir.Value:
    """A constant of one number, with a value's dtype, and its shape unless another is given.

    Raises:
        Refused: the value's shape is asked for, and it has a dynamic dimension.
    """
    element = ir.RankedTensorType(value.type).element_type
    kind = ir.RankedTensorType.get(list(static_shape(value) if shape is None else shape), element)
    scalar = np.asarray(number).astype(dtype_of(value))
    if isinstance(element, ir.ComplexType):
        return stablehlo.constant(mlir.dense_attr(np.full(tuple(kind.shape), scalar), value.type.context))
    attribute: ir.Attribute
    if isinstance(element, ir.IntegerType):
        attribute = ir.IntegerAttr.get(element, int(scalar))
    else:
        attribute = ir.FloatAttr.get(element, float(scalar))
    return stablehlo.constant(ir.DenseElementsAttr.get_splat(kind, attribute))


def reduce_with(name: str, value: ir.Value, init: ir.Value, dimensions: Sequence[int]) -> ir.Value:
    """A `stablehlo.reduce` of one array by one op, e.g. `stablehlo.add`; the reverse of `reduction`."""
    tensor = ir.RankedTensorType(value.type)
    shape = [size for axis, size in enumerate(tensor.shape) if axis not in dimensions]
    scalar = ir.RankedTensorType.get([], tensor.element_type)
    made = ir.Operation.create(
        "stablehlo.reduce",
        results=[ir.RankedTensorType.get(shape, tensor.element_type)],
        operands=[value, init],
        attributes={"dimensions": ir.DenseI64ArrayAttr.get(sorted(dimensions))},
        regions=1,
    )
    block = made.regions[0].blocks.append(scalar, scalar, arg_locs=[made.location] * 2)
    with ir.InsertionPoint(block):
        inner = ir.Operation.create(name, results=[scalar], operands=list(block.arguments))
        ir.Operation.create("stablehlo.return", operands=list(inner.results))
    return made.results[0]


# ---- copies -----------------------------------------------------------------------------------------------------


def clone(op: ir.Operation, operands: Sequence[ir.Value] | None = None) -> ir.Operation:
    """A copy of an op at the current place, with other operands if given; its type stays."""
    copy = op.clone(ip=ir.InsertionPoint.current)
    for place, value in enumerate(operands or ()):
        copy.operands[place] = value
    return copy


def clone_block(
    block: ir.Block, values: Mapping[ir.Value, ir.Value]
) -> tuple[list[ir.Value], dict[ir.Value, ir.Value]]:
    """Copies of a block's ops at the current place.

    Args:
        block: a block with a terminator.
        values: what stands for its arguments, and for values from outside that are to be replaced.

    Returns:
        What the terminator returned; and the copy of each value of the block.
    """
    known = dict(values)
    for operation in list(block.operations)[:-1]:
        copy = operation.operation.clone(ip=ir.InsertionPoint.current)
        replace_operands(copy, known)
        known.update(zip(operation.operation.results, copy.results, strict=True))
    terminator = list(block.operations)[-1].operation
    return [known.get(value, value) for value in terminator.operands], known


def replace_operands(op: ir.Operation, values: Mapping[ir.Value, ir.Value]) -> None:
    """In an op and all that it holds."""
    for place, operand in enumerate(op.operands):
        if operand in values:
            op.operands[place] = values[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                replace_operands(inner.operation, values)


def rebuild_while(
    loop: ir.Operation,
    keep: Sequence[int],
    added: Sequence[ir.Value] = (),
    step: Callable[[list[ir.Value], dict[ir.Value, ir.Value], list[ir.Value]], Sequence[ir.Value]] | None = None,
    replaced: Mapping[int, Callable[[], ir.Value]] | None = None,
) -> ir.Operation:
    """A `stablehlo.while` like another, before it, with other carries. The old one stays, for the caller to replace.

    Args:
        loop: the old one.
        keep: which of its carries stay, in order.
        added: initial values of further carries, which come behind them.
        step: makes the added carries' next values at the end of the body: called with the added block arguments, with
            the new value of each value of the old body, and with the new values that the body returns for the carries
            of `keep` (which it may change in place).
        replaced: for carries that are dropped but still read in the loop: what stands for them, made at the start of
            the body and of the condition.

    Returns:
        The new loop: one result for each of `keep`, then one for each of `added`.
    """
    inits = [loop.operands[place] for place in keep] + list(added)
    types = [value.type for value in inits]
    new = ir.Operation.create("stablehlo.while", results=types, operands=inits, regions=2, loc=loop.location)
    for number, region in enumerate(new.regions):
        old = loop.regions[number].blocks[0]
        block = region.blocks.append(*types, arg_locs=[loop.location] * len(types))
        known = {old.arguments[place]: block.arguments[index] for index, place in enumerate(keep)}
        extra: list[ir.Value] = [*block.arguments][len(keep) :]
        with ir.InsertionPoint(block), loop.location:
            for place, make in (replaced or {}).items():
                known[old.arguments[place]] = make()
            returned, known = clone_block(old, known)
            if number == 1:
                returned = [returned[place] for place in keep]
                following = list(step(extra, known, returned)) if step is not None else extra
                returned = [*returned, *following]
            ir.Operation.create("stablehlo.return", operands=returned, loc=loop.location)
    return new
