"""What becomes of the parts of an axis, as values that the loop over them carries.

In: an op on whole arrays. Out: what the carries start from, how a part goes into them, and what is made of them in the
end. Sums are added up in a wider type, or with what rounding takes from float64 (`ir/while_ops.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ...ir import ops
from ...ir.bindings import ir
from ...ir.clone import clone
from ...ir.kinds import identity
from ...ir.op_sheet import Form, form_of
from ...ir.values import dtype_of, static_shape
from ...ir.while_ops import add_to_sum, end_sum, start_sum, wider
from ...signature import LIVE
from .parts import Lifted, Node, Part

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
