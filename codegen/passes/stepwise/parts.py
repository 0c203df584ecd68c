"""Parts of values along an axis, inside of a loop or beside it.

In: nodes, and which part: a step's, a block of rows, or a piece of the axis that is no step's (what is left over of a
loop whose body was unrolled: one operand of a concatenate). Out: the part, as ops at the current place. Decision to
know: in a part the axis stays, with the part's size, so that the part of a result is the same op on parts of the
operands, with another result type. Values from outside that have the axis are taken apart too, as far as they are
elementwise work that nobody else wants (`apart`, `Rows`), so that they need not be in memory as a whole; the rest is
sliced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...ir import ops
from ...ir.bindings import ir
from ...ir.clone import clone
from ...ir.kinds import is_elementwise
from ...ir.op_sheet import shortened
from ...ir.rows import Rows, separable
from ...ir.values import owner, static_shape


@dataclass(frozen=True)
class Lifted:
    """Where a value has the parts.

    Attributes:
        axis: the axis along which they lie.
        width: how many elements of it a part has.
        offset: where along the axis the loop's part begins; what is before and behind it is no step's.
    """

    axis: int
    width: int = 1
    offset: int = 0


@dataclass(frozen=True)
class Node:
    """An op that can be done part by part.

    Attributes:
        op: the op.
        lifted: of its results; of its reduced operands, where the op reduces the axis.
        rows: for each operand where it has the parts, or None where it is needed whole.
        same: the operand that the part is, if the op only masks what is not live (`live_masks.py`).
    """

    op: ir.Operation
    lifted: Lifted
    rows: tuple[Lifted | None, ...]
    same: int | None = None

    @property
    def joins_steps(self) -> bool:
        """Whether it is a concatenate of the steps with what is no step's."""
        return self.op.name == "stablehlo.concatenate" and None in self.rows


class Part:
    """One part of the axis.

    Args:
        nodes: values that are made part by part, and the ops that make them.
        stacks: makes the step's part of each of the loop's stacks.
        rows: takes parts of values from outside.
        start: where the part begins along the axis of a value with this place of the steps.
        size: how many elements it has there.
        piece: for what is no step's: which operand of the concatenates it is.
    """

    def __init__(
        self,
        nodes: Mapping[ir.Value, Node],
        stacks: Mapping[ir.Value, Callable[[], ir.Value]],
        rows: Rows,
        start: Callable[[Lifted], ir.Value],
        size: Callable[[Lifted], int],
        piece: int | None = None,
    ):
        self._nodes, self._stacks, self._rows = nodes, stacks, rows
        self._start, self._size, self._piece = start, size, piece
        self._made: dict[ir.Value, ir.Value] = {}
        self._taken: dict[tuple[ir.Value, Lifted], ir.Value] = {}

    def of(self, value: ir.Value) -> ir.Value:
        """The part of a value."""
        pending = [value]
        while pending:
            current = pending[-1]
            node = self._nodes.get(current)
            if current in self._made:
                pending.pop()
            elif node is None:
                self._made[current] = self._stacks[current]()
            else:
                wanted = [source for source in self._sources(node) if source not in self._made]
                if not wanted:
                    self._made.update(zip(node.op.results, self._make(node), strict=True))
                pending.extend(wanted)
        return self._made[value]

    def operands(self, node: Node) -> list[ir.Value]:
        """The operands of a node, each its part or as it is."""
        for value in self._sources(node):
            self.of(value)
        return [
            value if lifted is None else self._made[value] if value in self._made else self._outside(value, lifted)
            for value, lifted in zip(node.op.operands, node.rows, strict=True)
        ]

    def starts(self, value: ir.Value, lifted: Lifted) -> list[ir.Value]:
        """Where the part begins in an array."""
        start = self._start(lifted)
        zero = ops.scalar(0, start)
        return [start if axis == lifted.axis else zero for axis in range(len(static_shape(value)))]

    def _sources(self, node: Node) -> list[ir.Value]:
        """The operands that the part needs parts of."""
        if node.joins_steps and self._piece is not None:
            return []
        if node.same is not None:
            return [node.op.operands[node.same]]
        rows = zip(node.op.operands, node.rows, strict=True)
        return [v for v, row in rows if row is not None and (v in self._nodes or v in self._stacks)]

    def _make(self, node: Node) -> Sequence[ir.Value]:
        op = node.op
        if node.same is not None:
            return [self._made[op.operands[node.same]]]
        if node.joins_steps:
            return [op.operands[self._piece] if self._piece is not None else self._made[self._sources(node)[0]]]
        shape = list(static_shape(op.results[0]))
        axis = node.lifted.axis
        shape[axis] = self._size(node.lifted)
        return list(clone(op, self.operands(node), shape, **shortened(op, axis, shape[axis])).results)

    def _outside(self, value: ir.Value, lifted: Lifted) -> ir.Value:
        if (value, lifted) not in self._taken:
            shape = list(static_shape(value))
            shape[lifted.axis] = self._size(lifted)
            self._taken[value, lifted] = self._rows.take(value, self.starts(value, lifted), shape)
        return self._taken[value, lifted]


def apart(values: Sequence[ir.Value], block: ir.Block, region: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The ops that make values from outside and are worth doing step by step.

    Args:
        values: those that steps take parts of.
        block: the loop's.
        region: ops that are done step by step: a use by them alone is no reason to have a value as a whole.
    """
    moved: list[ir.Operation] = []
    inside = set(region)
    pending = list(values)
    while pending:
        op = owner(pending.pop())
        if op is None or op.block != block or op in inside or not separable(op):
            continue
        light = op.name in ("stablehlo.constant", "stablehlo.iota", "stablehlo.broadcast_in_dim")
        if not light:
            alone = all(use.owner.operation in inside for use in op.results[0].uses)
            if not alone or not (is_elementwise(op) or op.name == "stablehlo.transpose"):
                continue
        inside.add(op)
        moved.append(op)
        pending.extend(op.operands)
    return moved
