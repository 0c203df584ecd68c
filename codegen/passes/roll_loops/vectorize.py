"""One op in place of one op per repetition: the same op with a leading axis.

In: an op of the block, its operands with a leading axis of repetitions (those that move) or without (those that are the
same in all). Out: its results for all repetitions, with a leading axis. Decision to know: every element is computed by
the same op on the same numbers; only dots and sums may be added up in another order than the smaller ones were, so they
are left in the loop where bits must stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.attributes import attributes_of, dot_numbers
from ...ir.bindings import ir
from ...ir.clone import clone_block
from ...ir.kinds import STABLEHLO
from ...ir.values import dtype_of
from . import build

Rule = Callable[[ir.Operation, list[ir.Value], list[bool], int], ir.Value]

# A leading axis could be taken for the one that a bitcast makes or joins.
ELEMENTWISE = STABLEHLO - {"stablehlo.bitcast_convert"}


def can(op: ir.Operation, moving: Sequence[bool], exact: bool) -> bool:
    """Whether there is a rule for an op, with these of its operands different in each repetition."""
    dialect, _, name = op.name.partition(".")
    if dialect == "chlo":
        same = {tuple(build.shape(value)) for value in [*op.operands, *op.results]}
        return len(op.regions) == 0 and len(op.results) == 1 and len(same) == 1 and not name.startswith("constant")
    if dialect != "stablehlo":
        return False
    if op.name in ELEMENTWISE or name in (
        "broadcast_in_dim",
        "reshape",
        "transpose",
        "concatenate",
        "reverse",
        "slice",
    ):
        return True
    if name == "pad":
        return not moving[1]
    if name == "reduce":
        return len(op.results) == 1 and not moving[1] and _free_of_captures(op) and not (exact and _rounds(op))
    return name == "dot_general" and not exact


def vectorize(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    """The results of an op for all repetitions, (count, ...)."""
    name = op.name.partition(".")[2]
    if not any(moving):
        copy = op.clone(ip=ir.InsertionPoint.current)
        for place, value in enumerate(operands):
            copy.operands[place] = value
        return repeat(copy.results[0], count)
    return _RULES.get(name, _elementwise)(op, operands, moving, count)


def repeat(value: ir.Value, count: int) -> ir.Value:
    """A value that is the same in all repetitions, with a leading axis."""
    inner = build.shape(value)
    return build.broadcast(value, [count, *inner], range(1, len(inner) + 1))


def _create(op: ir.Operation, operands: Sequence[ir.Value], type_: ir.Type, **changed: ir.Attribute) -> ir.Value:
    attributes = attributes_of(op.attributes) | changed
    return ir.Operation.create(op.name, results=[type_], operands=list(operands), attributes=attributes).results[0]


def _lead(op: ir.Operation, count: int) -> ir.Type:
    """The result's type with the leading axis."""
    result = op.results[0]
    return build.tensor([count, *build.shape(result)], result)


def _integers(op: ir.Operation, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes[name]))


def _elementwise(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    full = [count, *build.shape(op.results[0])]
    spread = []
    for value, moves in zip(operands, moving, strict=True):
        lead = value if moves else repeat(value, count)
        # A scalar predicate of a select, or bound of a clamp, goes with whole tensors.
        spread.append(build.broadcast(lead, full, range(len(build.shape(lead)))))
    return _create(op, spread, _lead(op, count))


def _broadcast_in_dim(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    axes = [0, *[axis + 1 for axis in _integers(op, "broadcast_dimensions")]]
    return _create(op, operands, _lead(op, count), broadcast_dimensions=build.integers(axes))


def _reshape(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    return build.reshape(operands[0], [count, *build.shape(op.results[0])])


def _transpose(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    axes = [0, *[axis + 1 for axis in _integers(op, "permutation")]]
    return _create(op, operands, _lead(op, count), permutation=build.integers(axes))


def _reverse(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    axes = [axis + 1 for axis in _integers(op, "dimensions")]
    return _create(op, operands, _lead(op, count), dimensions=build.integers(axes))


def _slice(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    return build.cut(
        operands[0],
        [0, *_integers(op, "start_indices")],
        [count, *_integers(op, "limit_indices")],
        [1, *_integers(op, "strides")],
    )


def _pad(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    changed = {name: build.integers([0, *_integers(op, name)]) for name in names}
    return _create(op, operands, _lead(op, count), **changed)


def _concatenate(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    spread = [value if moves else repeat(value, count) for value, moves in zip(operands, moving, strict=True)]
    return build.join(spread, ir.IntegerAttr(op.attributes["dimension"]).value + 1)


def _reduce(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    axes = [axis + 1 for axis in _integers(op, "dimensions")]
    attributes = attributes_of(op.attributes) | {"dimensions": build.integers(axes)}
    new = ir.Operation.create(op.name, results=[_lead(op, count)], operands=operands, attributes=attributes, regions=1)
    old = op.regions[0].blocks[0]
    location = ir.Location.current
    block = new.regions[0].blocks.append(*[value.type for value in old.arguments], arg_locs=[location] * 2)
    with ir.InsertionPoint(block):
        returned, _ = clone_block(old, dict(zip(old.arguments, block.arguments, strict=True)))
        ir.Operation.create("stablehlo.return", operands=returned)
    return new.results[0]


def _free_of_captures(op: ir.Operation) -> bool:
    known: set[Any] = set(op.regions[0].blocks[0].arguments)
    for operation in op.regions[0].blocks[0].operations:
        if operation.operation.regions or any(value not in known for value in operation.operation.operands):
            return False
        known.update(operation.operation.results)
    return True


def _rounds(op: ir.Operation) -> bool:
    """Whether a reduction gives other bits in another order."""
    whole = dtype_of(op.results[0]).kind in "biu"
    ordered = {"stablehlo.maximum", "stablehlo.minimum", "stablehlo.and", "stablehlo.or"}
    names = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return not whole and not (len(names) == 2 and names[0] in ordered)


def _dot_general(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    numbers = dot_numbers(op.attributes["dot_dimension_numbers"])
    batching = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    contracting = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    for side in (0, 1):
        if moving[side]:
            batching[side] = [axis + 1 for axis in batching[side]]
            contracting[side] = [axis + 1 for axis in contracting[side]]
    ranks = [len(build.shape(value)) for value in operands]
    free = [
        [axis for axis in range(ranks[side]) if axis not in batching[side] and axis not in contracting[side]]
        for side in (0, 1)
    ]
    if all(moving):
        batching = [[0, *batching[0]], [0, *batching[1]]]
        place = 0
    elif moving[0]:
        place = len(batching[0])
    else:
        place = len(batching[0]) + len(free[0])
    attribute = ir.Attribute.parse(
        f"#stablehlo.dot<lhs_batching_dimensions = {batching[0]}, rhs_batching_dimensions = {batching[1]}, "
        f"lhs_contracting_dimensions = {contracting[0]}, rhs_contracting_dimensions = {contracting[1]}>"
    )
    final = [count, *build.shape(op.results[0])]
    rank = len(final)
    axes = [axis for axis in range(rank) if axis != 0]
    axes.insert(place, 0)
    made = _create(
        op,
        operands,
        build.tensor([final[axis] for axis in axes], op.results[0]),
        dot_dimension_numbers=attribute,
    )
    return build.transpose(made, [axes.index(axis) for axis in range(rank)])


_RULES: dict[str, Rule] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": _concatenate,
    "dot_general": _dot_general,
    "pad": _pad,
    "reduce": _reduce,
    "reshape": _reshape,
    "reverse": _reverse,
    "slice": _slice,
    "transpose": _transpose,
}
