"""Values of which a loop's step could compute its own part.

    %r:3 = stablehlo.while(...)                     %r#2 : tensor<512x64x256xf32>, lifted: axis 0, 1 a step
    %d = subtract %r#2, %data                       lifted: a step takes its row of %data
    %t = transpose %d, dims = [1, 0, 2]             lifted: axis 1
    %s = reduce(%t) across dimensions = [0, 2]      lifted: axis 0; the rows are tensor<1xf32>

In: an op, and what is known of its operands. Out: along which axis its result has the steps, how many elements of that
axis a step has, and how each operand is needed: its row, or whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ...ir.bindings import ir
from ...ir.kinds import having
from ...ir.op_sheet import form_of
from ...ir.refused import Refused, needed, require
from ...ir.values import static_shape
from ..stepwise import Lifted, Node


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
    if op.name == "stablehlo.reshape":
        return _reshape(op, known)
    if op.name == "stablehlo.concatenate":
        along = ir.IntegerAttr(op.attributes["dimension"]).value
        if any(value in known and known[value].axis == along for value in op.operands):
            return _joined(op, known, along)
    form = form_of(op) if op.name in _PARTS else None
    form = needed(form, f"{op.name} needs it whole")
    require(len(op.results) == 1, "a reduction of several arrays over other axes gives several results")
    found = set()
    for value, axes in zip(op.operands, form.operands, strict=True):
        if value in known:
            axis = needed(axes[known[value].axis], f"{op.name} leaves nothing of the steps' axis")
            require(axis not in form.moved, f"{op.name} {_MOVES.get(op.name, 'moves the steps')}")
            found.add(replace(known[value], axis=axis))
    require(len(found) == 1, f"{op.name} combines different steps")
    (lifted,) = found
    places = form.places(lifted.axis)
    rows = tuple(None if place is None else replace(lifted, axis=place) for place in places)
    return Node(op, lifted, rows)


_PARTS = having("elementwise") | having("moving") | {"stablehlo.dot_general", "stablehlo.reduce"}
_MOVES = {
    "stablehlo.pad": "pads the steps' axis",
    "stablehlo.reverse": "turns the order of the steps round",
    "stablehlo.slice": "takes a part of the steps",
}


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


def _joined(op: ir.Operation, known: Mapping[ir.Value, Lifted], along: int) -> Node:
    """Along the steps' axis one part has the steps, the others are no step's."""
    found = [known.get(value) for value in op.operands]
    steps = [lifted for lifted in found if lifted is not None]
    require(len(steps) == 1, "the outputs of several loops (or one twice) are concatenated")
    place = next(number for number, lifted in enumerate(found) if lifted is not None)
    before = sum(static_shape(value)[along] for value in list(op.operands)[:place])
    require(not steps[0].offset, "it is concatenated twice")
    return Node(op, replace(steps[0], offset=before), tuple(found))


def summed(op: ir.Operation, known: Mapping[ir.Value, Lifted]) -> Node | None:
    """A reduction or a dot that combines what lies along the steps' axis, if it is one; `lifted` is its operand's.

    Raises:
        Refused: steps do not match.
    """
    form = form_of(op) if op.name in ("stablehlo.dot_general", "stablehlo.reduce") else None
    first = next((place for place, value in enumerate(op.operands) if value in known), None)
    if form is None or first is None or known[op.operands[first]].axis not in form.summed[first]:
        return None
    for value in op.operands:
        static_shape(value)
    lifted = known[op.operands[first]]
    number = form.summed[first].index(lifted.axis)
    rows = tuple(replace(lifted, axis=axes[number]) if axes else None for axes in form.summed)
    same = all(known.get(value, row) == row for value, row in zip(op.operands, rows, strict=True))
    require(same, f"{op.name} combines different steps")
    return Node(op, lifted, rows)
