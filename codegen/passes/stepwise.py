"""What loops over parts of an axis have in common: parts of values, and what becomes of all parts.

A step of a loop (`sink_reductions`) or a block of rows (`reduce_in_blocks`) is one part of an axis. `Part` makes the
part of any value that can be made part by part: in a part the axis stays, with the part's size, so that the part of a
result is the same op on parts of the operands, with another result type. Values from outside that have the axis are
taken apart too, as far as they are elementwise work that nobody else wants (`apart`, `Rows`), so that they need not be
in memory as a whole; the rest is sliced. `Accumulation` says what becomes of all parts: a sum, another reduction, or an
array that is written part by part. `hoist` and `dependent` say where a loop can stand.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ir import ops
from ..ir.bindings import ir
from ..ir.kinds import Form, form_of, identity, shortened
from ..ir.ops import Rows, clone, separable
from ..ir.values import ancestors, dtype_of, owner, reached, static_shape, users, walk
from ..ir.while_ops import add_to_sum, end_sum, start_sum, wider
from ..signature import LIVE


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
        same: the operand that the part is, if the op only masks what is not live (`sink_reductions/region.py`).
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


def apart(
    values: Iterable[ir.Value],
    block: ir.Block,
    region: Iterable[ir.Operation],
    worth: Callable[[ir.Operation, Container[ir.Operation]], bool],
) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The ops that make values from outside and are done step by step; and the values that are left to be read.

    Args:
        values: those that steps take parts of.
        block: the loop's.
        region: ops that are done step by step.
        worth: whether an op of which a step could do its part is done step by step, too, beside those that are.
    """
    moved: list[ir.Operation] = []
    leaves: dict[ir.Value, None] = {}
    inside, pending = set(region), list(values)
    while pending:
        value = pending.pop()
        op = owner(value)
        if op in inside:
            continue
        if op is not None and op.block == block and separable(op) and worth(op, inside):
            leaves.pop(value, None)
            inside.add(op)
            moved.append(op)
            pending.extend(op.operands)
        else:
            leaves[value] = None
    return moved, list(leaves)


def used_elsewhere(op: ir.Operation, inside: Container[ir.Operation]) -> bool:
    """Whether an op's result is used by other ops than these."""
    return any(user not in inside for user in users(op.results[0]))


# Sorts ops of one block.
_IN_ORDER: Any = functools.cmp_to_key(lambda a, b: -1 if a.is_before_in_block(b) else 1)


def reads(op: ir.Operation) -> list[ir.Value]:
    """An op's operands, and those of the ops in it."""
    return [value for inner in walk(op) for value in inner.operands] if op.regions else list(op.operands)


def late(values: Iterable[ir.Value], place: ir.Operation) -> list[ir.Operation]:
    """The ops behind a place in its block that values are made from, each behind those that it reads."""

    def makers(values: Iterable[ir.Value]) -> list[ir.Operation]:
        ops = (op for value in values if (op := owner(value)) is not None and op.block == place.block)
        return [op for op in ops if not op.is_before_in_block(place)]

    return sorted(reached(makers(values), lambda op: makers(reads(op))), key=_IN_ORDER)


def hoist(values: Iterable[ir.Value], place: ir.Operation) -> None:
    """Moves what makes values before a place."""
    for op in late(values, place):
        op.move_before(place)


def dependent(loop: ir.Operation) -> list[ir.Operation]:
    """The ops of a loop's block that use what follows from its results, in order."""

    def following(op: ir.Operation) -> Iterator[ir.Operation]:
        for user in (user for result in op.results for user in users(result)):
            yield next(around for around in (user, *ancestors(user)) if around.block == loop.block)

    return sorted(list(reached([loop], following))[1:], key=_IN_ORDER)


_SELECTING = frozenset(f"stablehlo.{name}" for name in ("compare", "select", "and", "or", "not", "return", "constant"))


@dataclass(frozen=True)
class Progress:
    """What a part is in the course of the reduction.

    Attributes:
        part: the part's values.
        before: how many elements along the axis of a value went into the carries before, as a scalar.
        backward: the part lies before those in the order of the axis.
    """

    part: Part
    before: Callable[[Lifted], ir.Value] | None = None
    backward: bool = False


@dataclass(frozen=True)
class Accumulation:
    """What becomes of all parts.

    Attributes:
        op: the op, whose results it makes.
        node: how the op (or what stands for it) takes its operands.
        passed: ops between the lifted values and `op` that go with it.
    """

    op: ir.Operation
    node: Node
    passed: Sequence[ir.Operation] = ()

    @property
    def exact(self) -> bool:
        """Whether results keep every bit, whatever the order."""
        return False

    @property
    def lifted(self) -> Lifted:
        """The place of the parts in what is reduced."""
        return self.node.lifted

    def start(self) -> list[ir.Value]:
        """What the carries start from."""
        raise NotImplementedError

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """The carries with one more part in them."""
        raise NotImplementedError

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """The op's results."""
        return list(carries)


def advance(
    everything: Sequence[Accumulation], carries: Sequence[Sequence[ir.Value]], progress: Progress
) -> list[ir.Value]:
    """The carries of several with one more part in them, one behind the other."""
    pairs = zip(everything, carries, strict=True)
    return [value for each, own in pairs for value in each.update(own, progress)]


def split(values: Sequence[ir.Value], like: Sequence[Sequence[ir.Value]]) -> Iterator[Sequence[ir.Value]]:
    """Values in groups as large as others; what is left over is left out."""
    end = 0
    for group in like:
        yield values[end : (end := end + len(group))]


@dataclass(frozen=True)
class Written(Accumulation):
    """An array that is written part by part.

    Attributes:
        first: what it is before.
    """

    first: Sequence[ir.Value] = field(kw_only=True)

    def start(self) -> list[ir.Value]:
        """What it is before."""
        return list(self.first)

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """The part, in its place."""
        values = [progress.part.of(value) for value in self.op.results]
        starts = progress.part.starts(values[0], Lifted(self.lifted.axis, self.lifted.width))
        pairs = zip(carries, values, strict=True)
        return [ops.dynamic_update_slice(carry, value, starts) for carry, value in pairs]


@dataclass(frozen=True)
class Monoid(Accumulation):
    """A `stablehlo.reduce`, of one or several arrays, or a dot that contracts the axis."""

    @property
    def _form(self) -> Form:
        form = form_of(self.op)
        assert form is not None
        return form

    @property
    def refusal(self) -> str:
        """Why it cannot be accumulated; "" where it can."""
        if self._form.monoid or set(names := _names(self.op)) <= _SELECTING:
            return ""
        return f"it combines elements with {' then '.join(names[:-1])}, which is no monoid that is known"

    @property
    def exact(self) -> bool:
        """For choices, logic and integers."""
        return self._form.ordered if self._form.monoid else set(_names(self.op)) <= _SELECTING

    def start(self) -> list[ir.Value]:
        """The initial values."""
        results = self.op.results
        inits = [] if self.op.name == "stablehlo.dot_general" else list(self.op.operands)[len(results) :]
        if self._form.monoid == "add":
            return start_sum(results[0], *inits)
        if self._form.monoid == "multiply":
            inits = [ops.convert(inits[0], wider(dtype_of(inits[0])))]
        pairs = zip(inits, results, strict=True)
        return [ops.broadcast_in_dim(init, static_shape(result)) for init, result in pairs]

    def update(self, carries: Sequence[ir.Value], progress: Progress) -> list[ir.Value]:
        """The part is reduced by itself, and combined with the carries."""
        monoid = self._form.monoid
        operands = progress.part.operands(self.node)
        if monoid and self.op.name == "stablehlo.reduce":
            operands[1] = ops.constant(identity(monoid, dtype_of(operands[1])))
        parts = reduce_part(self.op, operands, self._form.summed[0])
        if monoid == "add":
            return add_to_sum(carries, parts[0])
        first, second = (parts, carries) if progress.backward else (carries, parts)
        if not monoid:
            return combine(self.op, first, second)
        return [ops.elementwise(f"stablehlo.{monoid}", *(ops.convert(x, carries[0]) for x in (*first, *second)))]

    def finish(self, carries: Sequence[ir.Value]) -> list[ir.Value]:
        """The op's results."""
        if self._form.monoid == "add":
            return [end_sum(carries, self.op.results[0])]
        return [ops.convert(value, result) for value, result in zip(carries, self.op.results, strict=True)]


def _names(op: ir.Operation) -> list[str]:
    return [inner.operation.name for inner in op.regions[0].blocks[0].operations]


def reduce_part(op: ir.Operation, operands: Sequence[ir.Value], axes: Sequence[int]) -> list[ir.Value]:
    """A reduction, or a dot, of parts; a `stablehlo.reduce` along axes of size 1 is a reshape.

    What counts of a part, where the padding pass says it of the whole, is all of it along the parts' axis.

    Args:
        op: the op on whole arrays.
        operands: the parts.
        axes: those of the first operand that are reduced.
    """
    sizes, whole = static_shape(operands[0]), static_shape(op.operands[0])
    if op.name == "stablehlo.reduce" and all(sizes[axis] == 1 for axis in axes):
        return [ops.reshape(x, static_shape(result)) for result, x in zip(op.results, operands, strict=False)]
    copy = clone(op, operands)
    if LIVE in op.attributes:
        marks = list(ir.ArrayAttr(op.attributes[LIVE]))
        for number, axis in enumerate(axes):
            if sizes[axis] != whole[axis]:
                marks[number] = ir.StringAttr.get(str(sizes[axis]))
        copy.attributes[LIVE] = ir.ArrayAttr.get(marks)
    return list(copy.results)


def combine(op: ir.Operation, first: Sequence[ir.Value], second: Sequence[ir.Value]) -> list[ir.Value]:
    """What a reduction's body makes of two values, for whole arrays, element by element."""
    block = op.regions[0].blocks[0]
    shape = list(static_shape(op.results[0]))
    known: dict[ir.Value, ir.Value] = dict(zip(block.arguments, [*first, *second], strict=True))
    for operation in block.operations:
        inner = operation.operation
        if inner.name == "stablehlo.return":
            return [known[value] for value in inner.operands]
        if inner.name == "stablehlo.constant":
            known[inner.results[0]] = ops.broadcast_in_dim(clone(inner).results[0], shape)
            continue
        copy = clone(inner, [known.get(value, value) for value in inner.operands], shape)
        known.update(zip(inner.results, copy.results, strict=True))
    raise AssertionError("a region without a terminator")
