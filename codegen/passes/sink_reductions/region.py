"""What follows a loop and depends on it.

In: a loop and its stacks, and what `explore.py` finds of the ops behind it. Out: where each value has the steps, the
reductions over them, and for values that are needed whole, why.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...analysis.loops import Loop, Stack
from ...ir.bindings import ir
from ...ir.op_sheet import form_of
from ...ir.values import static_shape
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
