"""Values of which a loop's step could compute its own part.

    %r:3 = stablehlo.while(...)                     %r#2 : tensor<512x64x256xf32>, lifted: axis 0, 1 a step
    %d = subtract %r#2, %data                       lifted: a step takes its row of %data
    %t = transpose %d, dims = [1, 0, 2]             lifted: axis 1
    %s = reduce(%t) across dimensions = [0, 2]      lifted: axis 0; the rows are tensor<1xf32>

In: an op, and what is known of its operands. Out: along which axis its result has the steps, how many elements of that
axis a step has, and how each operand is needed: its row, or whole. Decision to know: in a row the axis stays, with the
size of one step's part, so that the row of a result is the same op on the operands' rows, with another result type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

from ...ir.attributes import dot_numbers, integers
from ...ir.axes import result_axes
from ...ir.bindings import ir
from ...ir.kinds import EFFECTS, SCALAR_OPERANDS, is_elementwise
from ...ir.refused import Refused, needed, require
from ...ir.values import owner, static_shape


@dataclass(frozen=True)
class Lifted:
    """Where a value has the steps of a loop.

    Attributes:
        axis: the axis along which they lie.
        width: how many elements of it a step has.
        offset: where along the axis the loop's part begins; what is before and behind it is no step's.
    """

    axis: int
    width: int
    offset: int = 0


@dataclass(frozen=True)
class Node:
    """An op of which a step can do its part.

    Attributes:
        op: the op.
        lifted: of its result; of its reduced operands, where the op reduces the steps' axis.
        rows: for each operand where it has the steps, or None where it is needed whole.
        same: the operand that the step's part is, if the op only masks what is not live (`live_masks.py`).
    """

    op: ir.Operation
    lifted: Lifted
    rows: tuple[Lifted | None, ...]
    same: int | None = None


def lift(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """The op's part in a step, if the steps' axis is still there in its result.

    Args:
        op: an op of the loop's block, with an operand that is lifted; the others do not depend on the loop.
        known: what is lifted.

    Raises:
        Refused: there is no such part, or the axis is not kept apart.
    """
    for value in (*op.operands, *op.results):
        if isinstance(value.type, ir.RankedTensorType):
            static_shape(value)
    if is_elementwise(op):
        return _elementwise(op, known)
    return needed(_RULES.get(op.name), f"{op.name} needs it whole")(op, known)


def _elementwise(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    found = {known[value] for value in op.operands if value in known}
    require(len(found) == 1, f"{op.name} combines different steps")
    (lifted,) = found
    shape = static_shape(op.results[0])
    scalars = SCALAR_OPERANDS.get(op.name, ())
    rows: list[Lifted | None] = []
    for place, value in enumerate(op.operands):
        scalar = place in scalars and not static_shape(value) and shape
        require(scalar or static_shape(value) == shape, f"{op.name} has operands of different shapes")
        rows.append(None if scalar else lifted)
    return Node(op, lifted, tuple(rows))


def _moved(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """An op that arranges axes."""
    lifted = known[op.operands[0]]
    axis = needed(result_axes(op)[lifted.axis], "the steps' axis is broadcast")
    return Node(op, replace(lifted, axis=axis), (lifted,))


def _reshape(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """The steps' axis may be merged with those behind it, or split so that steps stay apart."""
    lifted = known[op.operands[0]]
    before, after = static_shape(op.operands[0]), static_shape(op.results[0])
    outer, size = prod(before[: lifted.axis]), before[lifted.axis]
    inner = prod(before[lifted.axis + 1 :])
    for axis, extent in enumerate(after):
        if prod(after[:axis]) != outer or extent == 1 != size:
            continue
        width, rest = divmod(lifted.width * extent, size)
        offset, odd = divmod(lifted.offset * extent, size)
        behind = prod(after[axis + 1 :])
        if rest == 0 and odd == 0 and width > 0 and extent * behind == size * inner:
            return Node(op, Lifted(axis, width, offset), (lifted,))
    raise Refused("a reshape merges the steps' axis with another before it")


def _slice(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    lifted = known[op.operands[0]]
    size = static_shape(op.operands[0])[lifted.axis]
    window = tuple(integers(op, name)[lifted.axis] for name in ("start_indices", "limit_indices", "strides"))
    require(window == (0, size, 1), "stablehlo.slice takes a part of the steps")
    return Node(op, lifted, (lifted,))


def _reverse(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    lifted = known[op.operands[0]]
    require(lifted.axis not in integers(op, "dimensions"), "stablehlo.reverse turns the order of the steps round")
    return Node(op, lifted, (lifted,))


def _pad(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    require(op.operands[0] in known and op.operands[1] not in known, "the padding value is computed by the loop")
    lifted = known[op.operands[0]]
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    padding = [integers(op, name)[lifted.axis] for name in names]
    require(not any(padding), "stablehlo.pad pads the steps' axis")
    return Node(op, lifted, (lifted, None))


def _concatenate(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """Along another axis it is elementwise; along the steps', one part has the steps, the others are no step's."""
    along = ir.IntegerAttr(op.attributes["dimension"]).value
    found = [known.get(value) for value in op.operands]
    steps = [lifted for lifted in found if lifted is not None]
    if all(lifted.axis != along for lifted in steps):
        require(len(set(steps)) == 1, f"{op.name} combines different steps")
        return Node(op, steps[0], (steps[0],) * len(found))
    require(len(steps) == 1, "the outputs of several loops (or one twice) are concatenated")
    place = next(number for number, lifted in enumerate(found) if lifted is not None)
    before = sum(static_shape(value)[along] for value in list(op.operands)[:place])
    require(not steps[0].offset, "it is concatenated twice")
    return Node(op, replace(steps[0], offset=before), tuple(found))


def _reduce(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """Over other axes."""
    require(len(op.results) == 1, "a reduction of several arrays over other axes gives several results")
    node = reduced(op, known)
    axis = needed(result_axes(op)[node.lifted.axis], "it reduces the steps' axis")
    return replace(node, lifted=replace(node.lifted, axis=axis))


def reduced(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """A `stablehlo.reduce` whose operands have the steps; `lifted` is theirs."""
    count = len(op.results)
    operands, inits = list(op.operands)[:count], list(op.operands)[count:]
    found = {known[value] for value in operands if value in known}
    require(len(found) == 1, f"{op.name} combines different steps")
    require(not any(value in known for value in inits), "the initial value is computed by the loop")
    (lifted,) = found
    return Node(op, lifted, (lifted,) * count + (None,) * count)


def _dot(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """Steps as a batch axis of both operands, or as a free axis of one."""
    axes = [result_axes(op, side) for side in (0, 1)]
    found = [known.get(value) for value in op.operands]
    for side, own in enumerate(found):
        require(own is None or axes[side][own.axis] is not None, "it contracts the steps' axis")
    side, lifted = next((side, own) for side, own in enumerate(found) if own is not None)
    axis = axes[side][lifted.axis]
    assert axis is not None
    result = replace(lifted, axis=axis)
    if all(axis in own for own in axes):
        rows = tuple(replace(lifted, axis=own.index(axis)) for own in axes)
        require(all(known.get(v, row) == row for v, row in zip(op.operands, rows, strict=True)), "steps do not match")
        return Node(op, result, rows)
    require(None in found, "both operands have the steps, which are no batch axis")
    return Node(op, result, tuple(found))


def contracted(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node:
    """A `stablehlo.dot_general` that contracts the steps' axis.

    Raises:
        Refused: it does not.
    """
    numbers = dot_numbers(op.attributes["dot_dimension_numbers"])
    axes = (list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions))
    side = 0 if op.operands[0] in known else 1
    lifted = known[op.operands[side]]
    require(lifted.axis in axes[side], "it does not contract the steps' axis")
    place = axes[side].index(lifted.axis)
    rows = tuple(replace(lifted, axis=axes[number][place]) for number in (0, 1))
    require(all(known.get(v, row) == row for v, row in zip(op.operands, rows, strict=True)), "steps do not match")
    return Node(op, lifted, rows)


_RULES: dict[str, Callable[[ir.Operation, Mapping[ir.Value, Lifted]], Node]] = {
    "stablehlo.broadcast_in_dim": _moved,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.dot_general": _dot,
    "stablehlo.pad": _pad,
    "stablehlo.reduce": _reduce,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": _reverse,
    "stablehlo.slice": _slice,
    "stablehlo.transpose": _moved,
}


def joins_steps(node: Node) -> bool:
    """Whether a node is a concatenate of the steps with what is no step's."""
    return node.op.name == "stablehlo.concatenate" and None in node.rows


# ---- values that do not depend on the loop ------------------------------------------------------------------------


_MOVABLE_REGIONS = ("stablehlo.reduce", "stablehlo.sort", "stablehlo.scatter", "stablehlo.reduce_window")
_FIXED = EFFECTS | {"func.call", "stablehlo.composite", "stablehlo.optimization_barrier"}


def can_hoist(value: ir.Value, loop: ir.Operation) -> str:
    """Why a value that does not depend on the loop cannot be had before it; "" where it can."""
    pending, seen = [value], set()
    while pending:
        op = owner(pending.pop())
        if op is None or op in seen or op.block != loop.block or op.is_before_in_block(loop):
            continue
        seen.add(op)
        if (op.regions and op.name not in _MOVABLE_REGIONS) or op.name in _FIXED:
            return f"another operand is computed after the loop, by {op.name}"
        pending.extend(op.operands)
    return ""


def hoist(value: ir.Value, loop: ir.Operation) -> None:
    """Moves what computes a value before the loop; `can_hoist` has said that it can be."""
    order: list[ir.Operation] = []
    pending: list[tuple[ir.Value, bool]] = [(value, False)]
    done = set()
    while pending:
        current, ready = pending.pop()
        op = owner(current)
        if op is None or op in done or op.block != loop.block or op.is_before_in_block(loop):
            continue
        if ready:
            done.add(op)
            order.append(op)
        else:
            pending.append((current, True))
            pending.extend((operand, False) for operand in op.operands)
    for op in order:
        op.move_before(loop)
