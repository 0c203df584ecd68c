"""What follows a loop and depends on it.

In: a loop and its stacks, and what is found of the ops behind it. Out: where each value has the steps, the
reductions over them, and for values that are needed whole, why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

from ...analysis.loops import Loop, Stack
from ...ir.bindings import ir
from ...ir.kinds import direction_of, having
from ...ir.op_sheet import form_of
from ...ir.refused import Refused, needed, require
from ...ir.values import constant, integers, owner, shape_of, static_shape, unspread
from ..stepwise import Accumulation, Lifted, Monoid, Node


@dataclass(frozen=True)
class Difference:
    """`subtract %value, %base`, or elementwise work on it.

    Attributes:
        value: lifted.
        base: the other operand, before it was broadcast: it depends on the loop.
        op: the op that makes the difference, or what was made of it.
        kind: "difference", "square" or "exponential".
        through: the ops from `value` to here.
    """

    value: ir.Value
    base: ir.Value
    op: ir.Operation
    kind: str
    through: tuple[ir.Operation, ...]


@dataclass
class Region:
    """What follows a loop and depends on it.

    Attributes:
        loop: the loop.
        stacks: its stacks, by the value that they are after the loop.
        lifted: where values have the steps.
        nodes: the ops that make lifted values.
        reductions: those of lifted values.
        whole: for lifted values that are needed as a whole, why.
        differences: values that are compared with a reduction of themselves.
    """

    loop: Loop
    stacks: dict[ir.Value, Stack]
    lifted: dict[ir.Value, Lifted]
    nodes: dict[ir.Value, Node] = field(default_factory=dict)
    reductions: list[Accumulation] = field(default_factory=list)
    whole: dict[ir.Value, str] = field(default_factory=dict)
    differences: dict[ir.Value, Difference] = field(default_factory=dict)

    def sources(self, node: Node) -> list[ir.Value]:
        """The lifted operands of a node."""
        return [value for value in node.op.operands if value in self.lifted]

    def below(self, values: list[ir.Value]) -> list[Node]:
        """The nodes that make values, down to the stacks."""
        found: dict[ir.Value, Node] = {}
        pending = list(values)
        while pending:
            value = pending.pop()
            if value in self.nodes and value not in found:
                found[value] = self.nodes[value]
                pending.extend(self.sources(self.nodes[value]))
        return list(found.values())

    def counts_live_rows(self, reduction: Accumulation) -> bool:
        """Whether what the loop writes is all that there is, or the padding pass says that only it counts."""
        if not self.loop.is_live:
            return True
        counted, form, lifted = self.loop.sizes.marked(reduction.op), form_of(reduction.op), reduction.lifted
        if counted is None or form is None:
            return False
        first = reduction.node.rows[0]
        axis = first.axis if isinstance(reduction, Monoid) and first is not None else lifted.axis
        return counted[form.summed[0].index(axis)] == self.loop.trip_count * lifted.width

    def is_whole(self, value: ir.Value, lifted: Lifted) -> bool:
        """Whether the steps are all that there is of a value along their axis."""
        return self.loop.is_live or static_shape(value)[lifted.axis] == self.loop.most * lifted.width

    def root(self, value: ir.Value) -> ir.Value:
        """What a lifted value is in each of the steps, without masks."""
        while (node := self.nodes.get(value)) is not None and node.same is not None:
            value = node.op.operands[node.same]
        return value


# ---- values of which a loop's step could compute its own part -------------------------------------------------------
#
#     %r:3 = stablehlo.while(...)                     %r#2 : tensor<512x64x256xf32>, lifted: axis 0, 1 a step
#     %d = subtract %r#2, %data                       lifted: a step takes its row of %data
#     %t = transpose %d, dims = [1, 0, 2]             lifted: axis 1
#     %s = reduce(%t) across dimensions = [0, 2]      lifted: axis 0; the rows are tensor<1xf32>


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


# ---- masks of a padded module that let every step through -----------------------------------------------------------
#
#     %m = compare LT, iota, %t : tensor<512xi1>                 a loop of %t steps:
#     %p = broadcast_in_dim %m, dims = [0]                         true in each step's row
#     %s = select %p, %ys, %zeros                                  a step's part is its part of %ys
#
# What a mask does to the rows that the loop does not write is not looked at here.

_DEEPEST = 16


def masked(op: ir.Operation, known: Mapping[ir.Value, Lifted], loop: Loop) -> Node | None:
    """A select that takes its second operand, which has the steps, in each of them."""
    if not loop.is_live or op.name != "stablehlo.select" or op.operands[1] not in known:
        return None
    lifted = known[op.operands[1]]
    if not holds(op.operands[0], lifted, loop):
        return None
    third = lifted if op.operands[2] in known else None
    return Node(op, lifted, (None, lifted, third), same=1)


def holds(value: ir.Value, lifted: Lifted, loop: Loop, depth: int = 0) -> bool:
    """Whether booleans are true in all rows that the loop writes."""
    op = owner(value)
    if op is None or depth > _DEEPEST:
        return False
    if op.name == "stablehlo.and":
        return all(holds(operand, lifted, loop, depth + 1) for operand in op.operands)
    if op.name == "stablehlo.broadcast_in_dim":
        axes = integers(op, "broadcast_dimensions")
        if lifted.axis not in axes:
            return False
        axis = axes.index(lifted.axis)
        same = shape_of(op.operands[0])[axis] == shape_of(op.results[0])[lifted.axis]
        return same and holds(op.operands[0], Lifted(axis, lifted.width, lifted.offset), loop, depth + 1)
    if op.name == "stablehlo.compare":
        return _compares(op, lifted, loop)
    found = constant(value)
    return found is not None and bool(found.all())


def _compares(op: ir.Operation, lifted: Lifted, loop: Loop) -> bool:
    """Whether it compares the place along the steps' axis with a size that the live rows stay below."""
    place, limit = owner(op.operands[0]), loop.sizes.dim(unspread(op.operands[1]))
    if direction_of(op) != "LT" or place is None or place.name != "stablehlo.iota" or limit is None:
        return False
    along = ir.IntegerAttr(place.attributes["iota_dimension"]).value == lifted.axis
    return along and loop.sizes.at_most(loop.trip_count * lifted.width + lifted.offset, limit)
