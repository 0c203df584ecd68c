"""One op in place of one op per repetition: the same op with a leading axis.

In: an op of the block, its operands with a leading axis of repetitions (those that move) or without (those that are the
same in all). Out: its results for all repetitions, with a leading axis. Decision to know: every element is computed by
the same op on the same numbers; only dots and sums may be added up in another order than the smaller ones were, so they
are left in the loop where bits must stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir import ops
from ...ir.attributes import dot_numbers, integers
from ...ir.bindings import ir
from ...ir.clone import clone
from ...ir.kinds import STABLEHLO, having
from ...ir.op_sheet import dot_axes
from ...ir.values import dtype_of, sizes_of

Rule = Callable[[ir.Operation, list[ir.Value], list[bool], int], ir.Value]

# A leading axis could be taken for the one that a bitcast makes or joins.
ELEMENTWISE = STABLEHLO - {"stablehlo.bitcast_convert"}


def can(op: ir.Operation, moving: Sequence[bool], exact: bool) -> bool:
    """Whether there is a rule for an op, with these of its operands different in each repetition."""
    dialect, _, name = op.name.partition(".")
    if dialect == "chlo":
        same = {tuple(sizes_of(value)) for value in [*op.operands, *op.results]}
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
        return repeat(clone(op, operands).results[0], count)
    return _RULES.get(name, _elementwise)(op, operands, moving, count)


def repeat(value: ir.Value, count: int) -> ir.Value:
    """A value that is the same in all repetitions, with a leading axis."""
    inner = sizes_of(value)
    return ops.broadcast_in_dim(value, [count, *inner], range(1, len(inner) + 1))


def _lead(
    op: ir.Operation, operands: Sequence[ir.Value], count: int, axes: str = "", **changed: ir.Attribute
) -> ir.Value:
    """The op with the leading axis in its result; `axes` is an attribute that lists axes of what has it too."""
    if axes:
        moved = [axis + 1 for axis in integers(op, axes)]
        changed[axes] = ops.integer_list(moved if axes == "dimensions" else [0, *moved])
    return clone(op, operands, [count, *sizes_of(op.results[0])], **changed).results[0]


def _elementwise(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    full = [count, *sizes_of(op.results[0])]
    spread = []
    for value, moves in zip(operands, moving, strict=True):
        lead = value if moves else repeat(value, count)
        # A scalar predicate of a select, or bound of a clamp, goes with whole tensors.
        spread.append(ops.broadcast_in_dim(lead, full, range(len(sizes_of(lead)))))
    return _lead(op, spread, count)


def _slice(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    starts, limits, strides = (integers(op, name) for name in ("start_indices", "limit_indices", "strides"))
    return ops.slice(operands[0], [0, *starts], [count, *limits], [1, *strides])


def _pad(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return _lead(op, operands, count, "", **{name: ops.integer_list([0, *integers(op, name)]) for name in names})


def _concatenate(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    spread = [value if moves else repeat(value, count) for value, moves in zip(operands, moving, strict=True)]
    return ops.concatenate(spread, ir.IntegerAttr(op.attributes["dimension"]).value + 1)


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
    names = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return not whole and not (len(names) == 2 and names[0] in having("ordered"))


def _dot_general(op: ir.Operation, operands: list[ir.Value], moving: list[bool], count: int) -> ir.Value:
    numbers = dot_numbers(op.attributes["dot_dimension_numbers"])
    batching = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    contracting = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    for side in (0, 1):
        if moving[side]:
            batching[side] = [axis + 1 for axis in batching[side]]
            contracting[side] = [axis + 1 for axis in contracting[side]]
    if all(moving):
        batching = [[0, *batching[0]], [0, *batching[1]]]
    both = (contracting[0], contracting[1]), (batching[0], batching[1])
    place = dot_axes(*both, [len(sizes_of(value)) for value in operands])[moving.index(True)][0] or 0
    attribute = ops.dot_numbers(*both)
    final = [count, *sizes_of(op.results[0])]
    axes = list(range(1, len(final)))
    axes.insert(place, 0)
    made = clone(op, operands, [final[axis] for axis in axes], dot_dimension_numbers=attribute).results[0]
    return ops.transpose(made, [axes.index(axis) for axis in range(len(final))])


_RULES: dict[str, Rule] = {
    "broadcast_in_dim": lambda op, operands, moving, count: _lead(op, operands, count, axes="broadcast_dimensions"),
    "concatenate": _concatenate,
    "dot_general": _dot_general,
    "pad": _pad,
    "reduce": lambda op, operands, moving, count: _lead(op, operands, count, axes="dimensions"),
    "reshape": lambda op, operands, moving, count: ops.reshape(operands[0], [count, *sizes_of(op.results[0])]),
    "reverse": lambda op, operands, moving, count: _lead(op, operands, count, axes="dimensions"),
    "slice": _slice,
    "transpose": lambda op, operands, moving, count: _lead(op, operands, count, axes="permutation"),
}
