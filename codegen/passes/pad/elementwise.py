"""Padding rules: ops that need nothing of the padding: elementwise ones, loops, branches, calls; facts go through them.

Integer scalars that stand for sizes go through the builder's own functions, which know them as dimension expressions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import builder as hlo
from ... import dims as dimension
from ...builder import Tensor
from ...builder.places import INT32, VALUE
from ...ir.bindings import ir
from ...ir.host_calls import TARGET, name_of
from ...ir.kinds import CHLO, STABLEHLO, direction_of
from ...ir.values import attributes_of, call_target, constant_value
from . import facts
from .facts import UNKNOWN, Fact
from .live import Live, attributes_of_op
from .moving import result_dims
from .padder import RULES, Padder, Pending, pads

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
    if all(x.ndim < 2 and x.tensor.sizes is not None for x in operands):
        found = _on_sizes(operation, name, [x.tensor for x in operands], dtype)
        if found is not None:
            single = found.literal is not None and found.literal.size == 1
            return [padder.make(found, whole=facts.constant(found.literal.reshape(())) if single else None)]  # type: ignore[union-attr]
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
    source = operands[-1].dtype
    whole = facts.fold(name, direction, tuple([x.whole for x in operands]), source, dtype)
    known: list[Fact | None] = [None] * len(first.dims)
    for axis, dim in enumerate(first.dims):
        if type(dim) is not int:
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
    return None if function is None or tensors[0].dtype.kind not in "iub" else function(*tensors)


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


# ---- calls -----------------------------------------------------------------------------------------------------------


@pads("func.call")
def call(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The callee is walked where it is called; functions that implement something have rules of their own.

    These keep what they implement, for which a library may come later, where nothing is padded too.
    """
    name = padder.implements(operation)
    if name in RULES:
        return RULES[name](padder, operation, operands)
    if name and any(x.padded for x in operands):
        padder.refuse(f"there is no rule for {name}", *[x.dims[axis] for x in operands for axis in x.padded])
    return padder.call(ir.FlatSymbolRefAttr(operation.attributes["callee"]).value, operands)


@pads("stablehlo.composite")
def composite(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """A composite is its decomposition."""
    return padder.call(ir.FlatSymbolRefAttr(operation.attributes["decomposition"]).value, operands)


# ---- loops -----------------------------------------------------------------------------------------------------------


@pads("stablehlo.while")
def while_(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Carries keep their live sizes; what their padding holds is a fixpoint, begun with what the first values hold."""
    condition, body = (region.blocks[0] for region in operation.regions)
    # As a size a carry's value is known before the loop only.
    known = [Live(Tensor(padder.builder, None, x.shape, x.dtype), x.dims, x.pads, x.whole) for x in operands]
    types = [(x.shape, x.dtype) for x in operands]
    padder.enter(operation)
    for attempt in range(4):
        outcome: list[Live] = []

        def walk(*handles: Tensor, known: Sequence[Live] = known, outcome: list[Live] = outcome) -> list[Tensor]:
            lives = [Live(h, x.dims, x.pads, x.whole) for h, x in zip(handles, known, strict=True)]
            results = padder.block(body, lives)
            results = [_same_sizes(padder, x, y, "carry of a loop") for x, y in zip(known, results, strict=True)]
            outcome.extend(results)
            return [x.tensor for x in results]

        actions, forget = len(padder.actions), padder.builder.checkpoint()
        tensors = padder.builder.region_op(
            "stablehlo.while",
            [x.tensor for x in operands],
            types,
            [(types, padder.region(condition, known)), (types, walk)],
        )
        weaker = [_joined(x, y) for x, y in zip(known, outcome, strict=True)]
        if all(x.pads == y.pads and x.whole is y.whole for x, y in zip(known, weaker, strict=True)):
            return [Live(tensor, x.dims, x.pads, x.whole) for tensor, x in zip(tensors, known, strict=True)]
        # It is made anew with weaker facts.
        forget()
        tensors[0].value.owner.operation.erase()  # type: ignore[union-attr]
        del padder.actions[actions:]
        # What one carry loses another may lose a turn later: after two attempts nothing is hoped for.
        known = weaker if attempt < 2 else [padder.make(x.tensor, x.dims) for x in known]
    raise AssertionError("the facts of a loop's carries found no fixpoint")


def _same_sizes(padder: Padder, like: Live, x: Live, what: str) -> Live:
    """`x` with the dims and the static shape of another value, which has equal sizes."""
    if x.dims != like.dims:
        for a, b in zip(like.dims, x.dims, strict=True):
            padder.equate(a, b, what)
    for axis, size in enumerate(like.shape):
        x = padder.resize(x, axis, size)
    known = [None if type(dim) is int else x.pad(axis) for axis, dim in enumerate(like.dims)]
    return Live(x.tensor, like.dims, tuple(known), x.whole)


def _joined(carry: Live, x: Live) -> Live:
    pads = tuple(None if a is None else facts.join(a, x.pad(axis)) for axis, a in enumerate(carry.pads))
    return Live(carry.tensor, carry.dims, pads, facts.join(carry.whole, x.whole))


# ---- branches --------------------------------------------------------------------------------------------------------


@pads("stablehlo.if", "stablehlo.case")
def branches(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Branches agree in live sizes; facts are joined."""
    outcomes: list[list[Live]] = []
    blocks = [region.blocks[0] for region in operation.regions]
    selector = operands[0].tensor
    # The sizes of the results are those of the first branch; the others are fitted to them.

    def branch(block: ir.Block) -> Callable[[], list[Tensor]]:
        def build() -> list[Tensor]:
            results = padder.block(block, [])
            if outcomes:
                results = [
                    _same_sizes(padder, x, y, "results of the branches")
                    for x, y in zip(outcomes[0], results, strict=True)
                ]
            outcomes.append(results)
            return [x.tensor for x in results]

        return build

    if operation.name == "stablehlo.if":
        tensors = hlo.if_(selector, branch(blocks[0]), branch(blocks[1]))
    else:
        tensors = hlo.case(selector, [branch(block) for block in blocks])
    results = []
    for place, tensor in enumerate(tensors):
        joined = functools.reduce(_joined, [outcome[place] for outcome in outcomes])
        results.append(padder.make(tensor, joined.dims, joined.pads, joined.whole))
    return results


# ---- custom calls ----------------------------------------------------------------------------------------------------


@pads("stablehlo.custom_call")
def custom_call(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The rule of the target; one without a rule is fine where nothing is padded."""
    target = call_target(operation)
    if target in RULES:
        return RULES[target](padder, operation, operands)
    return padder.unpadded(operation, operands, f"calls of {target!r}")


@pads("sdy.sharding_constraint", "Sharding", "annotate_device_placement")
def placement(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The value as it is: where it is placed is said about live sizes, and is left to the compiler."""
    return operands


@pads("shape_assertion")
def shape_assertion(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Nothing: the signature's constraints say the same."""
    return []


@pads("hlograph.size")
def data_size(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """A size that is computed from data: a scalar of the program, with an upper bound."""
    attributes = attributes_of(operation.attributes)
    name = ir.StringAttr(attributes["hlograph.dim"]).value
    count = operands[0].tensor
    limits = []
    if "hlograph.bound" in attributes:
        limits.append(padder.bound(padder.parse_dim(ir.StringAttr(attributes["hlograph.bound"]).value)))
    if name in padder.bounds:
        limits.append(padder.bounds[name])
    if not limits:
        raise Pending(name, count)
    return [padder.make(padder.declare_count(name, count, min(limits)))]


@pads(TARGET)
def host_call(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The last operand is a vector of the live sizes of the operands' axes, and then of the results'."""
    types = [padder.type_of(result) for result in operation.results]
    open_ = "indices_of_shape_operands" in attributes_of(operation.attributes)
    given, shapes = (operands[: -len(types)], operands[-len(types) :]) if open_ else (operands, [None] * len(types))
    dims = [padder.written(result_dims(padder, shape, x)) for (shape, _), x in zip(types, shapes, strict=True)]
    sizes = [dim for own in [*[x.dims for x in given[1:]], *dims[1:]] for dim in own]
    live = any(type(dim) is not int for dim in sizes)
    tensors = [x.tensor for x in given]
    if live:
        tensors.append(padder.builder.size_vector(sizes, INT32))
    config = {"name": f'"{name_of(operation)}"', **({"live": "true"} if live else {})}
    made = hlo.custom_call(
        TARGET,
        tensors,
        [(padder.static_shape(own), dtype) for own, (_, dtype) in zip(dims, types, strict=True)],
        backend_config=config,
        has_side_effect=True,
    )
    return [
        padder.make(tensor, own, [facts.constant(0, tensor.dtype)] * len(own))
        for tensor, own in zip(made, dims, strict=True)
    ]
