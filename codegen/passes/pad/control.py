"""Padding rules: while, if, case, calls, custom calls, calls of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import builder as hlo
from ...builder import Tensor
from ...builder.places import INT32
from ...ir.bindings import ir
from ...ir.host_calls import TARGET, name_of
from ...ir.values import attributes_of, call_target
from . import facts
from .live import Live
from .moving import result_dims
from .padder import RULES, Padder, Pending, pads


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
    """A carry with the facts that hold before and after the body."""
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
        column = [outcome[place] for outcome in outcomes]
        dims = tuple(map(padder.dim, column[0].dims))
        known = [
            facts.join_all([x.pad(axis) for x in column]) if type(dim) is not int else None
            for axis, dim in enumerate(dims)
        ]
        results.append(padder.make(tensor, dims, known, facts.join_all([x.whole for x in column])))
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
    """The value as it is: where it is placed is said of live sizes, and is left to the compiler."""
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
