"""What follows a loop and depends on it.

In: a loop and its stacks, and what `explore.py` finds of the ops behind it. Out: where each value has the steps, the
reductions over them, and for values that are needed whole, why.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...analysis.loops import Loop, Stack
from ...ir.attributes import dot_numbers, integers
from ...ir.bindings import ir
from .accumulate import Accumulation, Dot
from .lift import Lifted, Node


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
    """

    loop: Loop
    stacks: dict[ir.Value, Stack]
    lifted: dict[ir.Value, Lifted]
    nodes: dict[ir.Value, Node] = field(default_factory=dict)
    reductions: list[Accumulation] = field(default_factory=list)
    whole: dict[ir.Value, str] = field(default_factory=dict)

    def sources(self, node: Node) -> list[ir.Value]:
        """The lifted operands of a node."""
        return [value for value in node.op.operands if value in self.lifted]

    def counts_live_rows(self, reduction: Accumulation) -> bool:
        """Whether what the loop writes is all that counts, or all that there is."""
        return not self.loop.is_live or _marked(reduction, self.loop)

    def root(self, value: ir.Value) -> ir.Value:
        """What a lifted value is in each of the steps, without masks."""
        while (node := self.nodes.get(value)) is not None and node.same is not None:
            value = node.op.operands[node.same]
        return value


def _marked(reduction: Accumulation, loop: Loop) -> bool:
    """Whether the padding pass says of a reduction that only the rows count which the loop writes."""
    op, lifted = reduction.op, reduction.lifted
    counted = loop.sizes.marked(op)
    if counted is None:
        return False
    axis = lifted.axis
    if isinstance(reduction, Dot):
        axes = list(dot_numbers(op.attributes["dot_dimension_numbers"]).lhs_contracting_dimensions)
        left = reduction.node.rows[0]
        assert left is not None
        axis = left.axis
    else:
        axes = list(integers(op, "dimensions"))
    return counted[axes.index(axis)] == loop.trip_count * lifted.width
