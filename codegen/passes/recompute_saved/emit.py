"""The rewritten pair of loops: fewer stacks in the first, the work again in the second.

In: what is kept, in which stacks, and what is computed again. Out: the first loop with its new stacks, if any; in the
second loop's body, before all else, the rows of the kept values and the work, in place of the slices. Carries that are
not needed any more are left for the caller to drop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from ...analysis.loops import Affine, Loop
from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.clone import clone
from ...ir.types import numpy_dtype
from ...ir.values import owner, static_shape
from ...ir.walk import terminator
from ...ir.while_ops import add_carries
from .pairs import Pair, Stored, unit_root


@dataclass(frozen=True)
class Shifted:
    """A carry that is kept as it comes into a step and as it leaves it, in a stack of its own.

    The initial value is in row 0, and step `i` writes row `i + 1`.

    Attributes:
        carry: its number.
        before: the value that comes in.
        after: the one that leaves.
    """

    carry: int
    before: ir.Value
    after: ir.Value


@dataclass(frozen=True)
class Plan:
    """What is done.

    Attributes:
        again: values to compute again.
        kept: values that have a stack.
        added: values that get one.
        shifted: pairs of values that share one.
        earlier: carries that are read, as they come into a step, from a stack of their next values.
        result: a line for the report.
    """

    again: Set[ir.Value]
    kept: Mapping[ir.Value, Stored]
    added: Sequence[ir.Value]
    shifted: Sequence[Shifted]
    earlier: Mapping[ir.Value, Stored]
    result: str


def emit(pair: Pair, plan: Plan) -> tuple[ir.Operation, ir.Operation]:
    """Rewrites two loops; the loops that now stand there, the first and the second."""
    old = pair.forward.op
    forward = _with_stacks(pair.forward, plan.added, plan.shifted) if plan.added or plan.shifted else old
    new = list(forward.results)[len(old.results) :]
    with ir.InsertionPoint.at_block_begin(pair.reader.body), pair.reader.op.location:
        rows = _Rows(pair)
        known: dict[ir.Value, ir.Value] = {}
        for value, stored in plan.kept.items():
            known[value] = rows.existing(forward, stored, pair.row(stored), value.type)
        for value, stack in zip(plan.added, new, strict=False):
            known[value] = rows.added(stack, Affine(1, 0), value.type)
        for shift, stack in zip(plan.shifted, new[len(plan.added) :], strict=True):
            known[shift.before] = rows.added(stack, Affine(1, 0), shift.before.type)
            known[shift.after] = rows.added(stack, Affine(1, 1), shift.after.type)
        for value, stored in plan.earlier.items():
            row, carry = pair.row(stored), ir.BlockArgument(value).arg_number
            last = rows.existing(forward, stored, Affine(row.slope, row.start - row.slope), value.type)
            known[value] = rows.unless_first(pair.forward.initial(carry), last)
        replacements = _compute(pair, plan.again, known, rows)
    for saved, value in zip(pair.saved, replacements, strict=True):
        saved.op.results[0].replace_all_uses_with(value)
        saved.op.erase()
    if forward != old:
        old.erase()
    return forward, pair.reader.op


def _compute(pair: Pair, again: Set[ir.Value], known: dict[ir.Value, ir.Value], rows: _Rows) -> list[ir.Value]:
    """Copies the work to the current place; returns what takes the place of the slices."""
    forward = pair.forward

    def here(value: ir.Value) -> ir.Value:
        """What stands for a value of the first loop's body in the second."""
        if value in known:
            return known[value]
        carry, source = forward.carry_of(value), owner(value)
        if carry in forward.invariants:
            return forward.initial(carry)
        if not forward.inside(value):
            return value
        place, root = forward.affine(value), unit_root(value)
        if source is not None and source.name == "stablehlo.constant":
            known[value] = clone(source).results[0]
        elif place is not None:
            known[value] = rows.number(place, value.type)
        else:
            assert root != value, "a value that is neither kept nor computed again"
            known[value] = ops.as_type(here(root), value.type)
        return known[value]

    for operation in forward.body.operations:
        op = operation.operation
        if len(op.results) != 1 or op.results[0] not in again or forward.affine(op.results[0]) is not None:
            continue
        known[op.results[0]] = clone(op, [here(value) for value in op.operands]).results[0]
    return [here(saved.value) for saved in pair.saved]


class _Rows:
    """Rows of stacks and numbers, by the step of the first loop that the second loop's step corresponds to."""

    def __init__(self, pair: Pair):
        self._pair = pair
        self._type = _index_type(pair.forward)

    def number(self, place: Affine, type_: ir.Type) -> ir.Value:
        """`place` at that step."""
        steps = self._pair.steps
        here = Affine(place.slope * steps.slope, steps.start * place.slope + place.start)
        reader = self._pair.reader
        return _number(reader, reader.body.arguments[reader.counter], here, type_)

    def existing(self, forward: ir.Operation, stored: Stored, row: Affine, type_: ir.Type) -> ir.Value:
        """The part of a stack where a value of the first loop's body was written."""
        axis, sizes = self._pair.stacks[stored.carry].axis, static_shape(stored.written)
        return ops.as_type(_slice(forward.results[stored.carry], self.number(row, self._type), axis, sizes), type_)

    def added(self, stack: ir.Value, row: Affine, type_: ir.Type) -> ir.Value:
        """A row of a new stack."""
        part = _slice(stack, self.number(row, self._type), 0, (1, *static_shape(stack)[1:]))
        return ops.as_type(part, type_)

    def unless_first(self, initial: ir.Value, value: ir.Value) -> ir.Value:
        """The initial value at step 0, otherwise another."""
        step = self.number(Affine(1, 0), self._type)
        return stablehlo.select(ops.compare("EQ", step, ops.scalar(0, step)), initial, value)


def _slice(stack: ir.Value, start: ir.Value, axis: int, sizes: Sequence[int]) -> ir.Value:
    zero = ops.scalar(0, start)
    return ops.dynamic_slice(stack, [start if place == axis else zero for place in range(len(sizes))], sizes)


def _index_type(loop: Loop) -> ir.Type:
    """A type for places in stacks: the counter's, unless it is too narrow for them."""
    type_ = loop.initial(loop.counter).type
    if numpy_dtype(ir.RankedTensorType(type_).element_type).itemsize >= 4 and not ir.RankedTensorType(type_).shape:
        return type_
    return ops.tensor_type(np.int64, [])


def _number(loop: Loop, counter: ir.Value, place: Affine, type_: ir.Type) -> ir.Value:
    """A number as a function of a loop's step, from its counter, at the current place in its body."""
    emit = loop.sizes.emit
    if place.slope == 0:
        return emit(place.start, type_)
    grows = loop.affine(loop.body.arguments[loop.counter])
    assert grows is not None, "a counter is affine"
    value = counter
    slope, start = place.slope, place.start
    if abs(grows.slope) == 1:
        slope *= grows.slope
        start = start - grows.start * slope
    else:
        value = stablehlo.subtract(value, emit(grows.start, value.type))
        value = stablehlo.divide(value, emit(grows.slope, value.type))
    value = ops.as_type(value, type_)
    if slope == -1:
        return stablehlo.subtract(emit(start, type_), value)
    if slope != 1:
        value = stablehlo.multiply(value, emit(slope, type_))
    return value if start == 0 else stablehlo.add(value, emit(start, type_))


def _with_stacks(loop: Loop, added: Sequence[ir.Value], shifted: Sequence[Shifted]) -> ir.Operation:
    """The loop with more stacks, before the old one."""
    with ir.InsertionPoint(loop.op), loop.op.location:
        initial = [_zeros(loop.most, value) for value in added]
        for shift in shifted:
            first = loop.initial(shift.carry)
            zeros = _zeros(loop.most + 1, first)
            row = _as_row(first)
            zero = ops.integer(0, loop.initial(loop.counter).type)
            initial.append(ops.dynamic_update_slice(zeros, row, [zero] * len(static_shape(zeros))))

        def step(stacks: list[ir.Value]) -> Sequence[ir.Value]:
            counter = loop.body.arguments[loop.counter]
            last = terminator(loop.body)
            written = [*added, *(last.operands[shift.carry] for shift in shifted)]
            made = []
            for number, (stack, value) in enumerate(zip(stacks, written, strict=True)):
                row = _number(loop, counter, Affine(1, 0 if number < len(added) else 1), _index_type(loop))
                zero = ops.scalar(0, row)
                starts = [row, *([zero] * len(static_shape(value)))]
                made.append(ops.dynamic_update_slice(stack, _as_row(value), starts))
            return made

        return add_carries(loop.op, initial, step)


def _as_row(value: ir.Value) -> ir.Value:
    return ops.reshape(value, [1, *static_shape(value)])


def _zeros(rows: int, value: ir.Value) -> ir.Value:
    """A stack before the loop: all of its rows are written in it."""
    return ops.filled(value, 0, [rows, *static_shape(value)])
