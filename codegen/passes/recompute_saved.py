"""recompute_saved: what a loop saves for a later loop is computed again there, where that is cheaper.

    %f:4 = while(%i, %h, %ys, %ss, %cs)                     %f:3 = while(%i, %h, %ss, %cs)
      do: %s = sine %h, %c = cosine %h                        do: ...
          %y = add (multiply %s, %w), %c                          saves only %s and %c
          saves %y, %s and %c at row %i                ->
    while(%j, %g)                                           while(%j, %g)
      do: %y1, %s1, %c1 = row 511 - %j of %f#2, #3, #4        do: %s1, %c1 = row 511 - %j of %f#2, #3
                                                                  %y1 = add (multiply %s1, %w), %c1

In a gradient these are the intermediate values of the forward loop that the backward loop needs. Which of the body's
values are saved is a minimum cut (`analysis/costs.py`) between what the later loop has anyway (invariants, arrays that
the body reads step by step, the step's number) and what it needs, with the prices there: a value is
kept in a stack, the old or a new one, or computed again from others. So stacks of the same value become one, a stack
whose rows are cheap work on other rows goes, and so does one that is cheap work on what is read anyway; an exponential
is done again where that saves a stack, a sine is not.

A carry that is saved as it enters the step and also as it leaves it (`%h` and `%h1`) is saved once, as it leaves
it: what came into a step is the row before, and the initial value in the first step.

What the later loop computes again itself, as PyTensor's gradients do with a whole step (`analysis/loop_pairs.py`), is
priced likewise: a dot or a loop in the step is saved for it, in a new stack.

Preconditions: both loops have a known number of steps; a stack that goes is read by that one loop only, row by row,
every row being one that the first loop has written; the memory falls, or the later loop does less work. What has no
cheap work (dots, loops, calls) is kept.

Rounding: none by itself, as each value comes from the same operations on the same operands; XLA may fuse these in
another way (multiply and add in one instruction), as it may at every change of a program. It is therefore also done
under `reassociate=false`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set

import numpy as np

from ..analysis.costs import FOREVER, Value, cheapest, cost, load, store
from ..analysis.loop_pairs import Pair, Place, find_pair
from ..analysis.loops import Affine, Loop
from ..ir import ops
from ..ir.bindings import ir, run_pipeline, stablehlo
from ..ir.ops import captured, clone, replace_operands
from ..ir.refused import Refused, require
from ..ir.tidy import erase, erase_unused
from ..ir.values import (
    key_of,
    numpy_dtype,
    owner,
    static_bytes,
    static_shape,
    unit_root,
    users,
    walk,
)
from ..ir.while_ops import add_carries, drop_dead_carries
from .report import Report

_MOST = 20_000  # values of a body that are examined
_GAIN = 0.9  # what later loops cost afterwards, at most, where the memory does not fall
_DEEPEST = 64  # ops between what is needed and what it is computed from

# Without a loop there is nothing to do.
TRIGGERS = frozenset({"stablehlo.while"})


def run(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
    """Computes again in later loops what is not worth saving.

    Args:
        module: is changed, in place; calls in loops should have been inlined, and common subexpressions be one.
        report: takes note of each loop that saves values for another.
        reassociate: whether reductions of stacks will move into loops: a stack that is only reduced otherwise is then
            not taken to be there anyway, but to go if the later loop does without it. No rounding changes here.
    """
    pending, settled = [op for op in walk(module) if op.name == "stablehlo.while"], list[ir.Operation]()
    redone = False
    while pending:
        op, *later = pending
        pair = rewritten = None
        try:
            pair = find_pair(op, reassociate, later, settled)
            rewritten = None if pair is None else _rewrite(pair, report)
        except Refused as refusal:
            report.refused(op, str(refusal))
        if pair is None or rewritten is None:
            pending, settled = later, []
            continue
        forward, unused = rewritten
        keys = list(map(key_of, later))  # all that may be asked of one that is gone
        gone = erase(unused)
        later = [other for key, other in zip(keys, later, strict=True) if key not in gone]
        is_reader = [other == pair.reader.op for other in later]
        settled.append(drop_dead_carries(pair.reader.op))
        later = [settled[-1] if is_it else other for other, is_it in zip(later, is_reader, strict=True)]
        new = drop_dead_carries(forward)
        pending = [new, *later] if pair.redone else later  # another loop may do it again, too
        settled = settled if pair.redone else []
        redone |= bool(pair.redone)
    if redone:
        erase_unused(module)
    if report.rewritten:
        run_pipeline(module, "canonicalize,cse")


def _rewrite(pair: Pair, report: Report) -> tuple[ir.Operation, list[ir.Operation]]:
    """Decides what is kept, and rewrites two loops; the first one that now stands there, and ops that nothing needs.

    Raises:
        Refused: all that is saved is needed.
    """
    stacks = pair.stacks_by_value()
    # The row before is what came into the step, where a stack of what left it stays in any case.
    earlier = {
        before: after
        for before, after in _carried(pair).items()
        if after in stacks and stacks[after][0].carry in pair.shared
    }
    values = _values(pair, stacks, earlier)
    choice = cheapest(values, list(dict.fromkeys(map(unit_root, pair.saved.values()))))
    require(choice.price < FOREVER, "what it saves cannot be computed again")
    left = {value for value in choice.kept if value not in stacks or stacks[value][0].carry not in pair.shared}
    twice = {before: after for before, after in _carried(pair).items() if {before, after} <= left and before != after}
    chosen = [value for value in values if value in choice.kept and value not in twice]
    kept = {value: stacks[value] for value in chosen if value in stacks}
    fresh = [value for value in chosen if value not in stacks]
    before = pair.read - pair.shared
    require(before or pair.redone, "all that it saves is also used in another way than row by row in one later loop")
    stay = {stack.carry for stack, _ in kept.values()}
    gone = sum(static_bytes(pair.forward.op.results[carry].type) or 0 for carry in before - stay)
    steps = pair.forward.most
    come = sum(steps * (static_bytes(value.type) or 0) for value in fresh)
    done = {x for op in pair.redone for x in op.results} & values.keys()
    today = sum(values[x].again for x in done) + sum(values[x].keep for x in values.keys() & pair.rows)
    spared = not done <= choice.again and choice.price < _GAIN * today
    require(
        come < gone or spared,
        f"all of the {len(before)} stacks that it saves are needed: none is cheap work on the others",
    )
    line = f"saves {len(before | pair.shared)} -> {len(stay | pair.shared) + len(fresh)} stacks, "
    work = sum(values[value].again > 0 for value in choice.again)
    line += f"{gone - come} bytes less; a later loop does {work} ops again" + f" in place of {len(done)}" * spared
    twice |= {value: after for value, after in earlier.items() if value in choice.again}
    report.applied(pair.forward.op, result=line)
    return _emit(pair, choice.again, {**kept, **{x: stacks[x] for x in twice.values() if x in stacks}}, fresh, twice)


def _values(
    pair: Pair, stacks: Mapping[ir.Value, Place], earlier: Mapping[ir.Value, ir.Value]
) -> dict[ir.Value, Value[ir.Value]]:
    """The values of the body that the needed ones are computed from, with prices."""
    found: dict[ir.Value, Value[ir.Value]] = {}
    pending = deque((unit_root(value), 0) for value in pair.saved.values())
    while pending:
        value, depth = pending.popleft()
        if value in found:
            continue
        again, sources = _again(pair, value) if len(found) < _MOST and depth < _DEEPEST else (FOREVER, [])
        size = static_bytes(value.type)
        if value in earlier and size is not None:
            again = _stack(pair, size, load) * 5 // 4
        if size is None:
            keep = FOREVER
        elif value in stacks:
            keep = _stack(pair, size, load if stacks[value][0].carry in pair.shared else store)
        else:
            keep = _stack(pair, size, store) * 102 // 100  # where it does not matter, there is no new stack
        found[value] = Value(sources, again, keep)
        pending.extend((source, depth + 1) for source in sources)
    return found


def _again(pair: Pair, value: ir.Value) -> tuple[int, list[ir.Value]]:
    """What it costs the later loop to compute a value again, and from which values of the body."""
    if _free(pair, value):
        return 0, []
    op = owner(value)
    if op is None or op.block != pair.forward.body:
        return FOREVER, []
    price = _read(pair, op) if op.name == "stablehlo.dynamic_slice" else cost(op)
    price = pair.redone.get(op) if price is None else price
    if price is None:
        return FOREVER, []
    roots = [unit_root(operand) for operand in (*op.operands, *captured(op)) if not _free(pair, operand)]
    return price, [root for root in roots if not _free(pair, root)]


def _free(pair: Pair, value: ir.Value) -> bool:
    """Whether the later loop has a value anyway: from outside, an invariant, or a place."""
    forward = pair.forward
    op = owner(value)
    if op is None:
        carry = forward.carry_of(value)
        return carry is None or carry in forward.invariants or forward.affine(value) is not None
    if op.block != forward.body:
        return not forward.inside(value)
    return op.name == "stablehlo.constant" or forward.affine(value) is not None


def _read(pair: Pair, op: ir.Operation) -> int | None:
    """What it costs to take a slice again: more where the array would have to be kept for it."""
    size = static_bytes(op.results[0].type)
    array = op.operands[0]
    carry = pair.forward.carry_of(array)
    if carry is not None and carry in pair.forward.invariants:
        array = pair.forward.initial(carry)
    if size is None:
        return None
    source = owner(array)
    changed = any(user.name == "stablehlo.dynamic_update_slice" for user in users(array))  # perhaps in place
    stays = (source is None and not changed) or (source is not None and source.name == "stablehlo.constant")
    stays = stays or any(user == pair.reader.op or user.block == pair.reader.body for user in users(array))
    return _stack(pair, size, load if stays else store)


def _stack(pair: Pair, size: int, price: Callable[[int], int]) -> int:
    return price(size * pair.forward.most) // pair.forward.most


def _carried(pair: Pair) -> dict[ir.Value, ir.Value]:
    forward = pair.forward
    carries = {c: unit_root(after) for c, after in enumerate(forward.returned) if c not in forward.invariants}
    return {forward.body.arguments[carry]: after for carry, after in carries.items()}


# ---- the rewritten pair: fewer stacks in the first loop, the work again in the second -------------------------------
#
# In the second loop's body come, before all else, the rows of the kept values and the work, in place of the slices.
# Carries that are not needed any more are left for the caller to drop.


def _emit(
    pair: Pair,
    again: Set[ir.Value],
    kept: Mapping[ir.Value, Place],
    added: Sequence[ir.Value],
    earlier: Mapping[ir.Value, ir.Value],
) -> tuple[ir.Operation, list[ir.Operation]]:
    """Rewrites two loops; the first one that now stands there, and the ops in the second that nothing needs.

    Args:
        pair: the loops.
        again: values to compute again.
        kept: values that have a stack.
        added: values that get one.
        earlier: what comes into a step, and what leaves it: the first is read from the second's stack.
    """
    old, type_ = pair.forward.op, _index_type(pair.forward)
    forward = _with_stacks(pair.forward, added) if added else old
    new = dict(zip(added, list(forward.results)[len(old.results) :], strict=True))

    def number(place: Affine, type_: ir.Type = type_) -> ir.Value:
        """`place` at the step of the first loop that the second loop's step corresponds to."""
        slope, start = pair.steps.slope, pair.steps.start
        here = Affine(place.slope * slope, start * place.slope + place.start)
        return _number(pair.reader, here, type_)

    def read(value: ir.Value, behind: int = 0) -> ir.Value:
        """A value of the first loop's body this many steps before."""
        if value in new:
            return ops.row(new[value], number(Affine(1, -behind)))
        stack, write = kept[value]
        rate, sizes = stack.width * stack.place.slope, static_shape(write.value)
        start = number(Affine(rate, stack.width * stack.place.start + write.offset - behind * rate))
        starts = [start if axis == stack.axis else ops.scalar(0, start) for axis in range(len(sizes))]
        return ops.as_type(ops.dynamic_slice(forward.results[stack.carry], starts, sizes), value.type)

    with ir.InsertionPoint.at_block_begin(pair.reader.body), pair.reader.op.location:
        known = {value: read(value) for value in (*kept, *added)}
        for value, after in earlier.items():
            initial, step = pair.forward.initial(ir.BlockArgument(value).arg_number), number(Affine(1, 0))
            last = ops.as_type(read(after, 1), value.type)
            known[value] = stablehlo.select(ops.compare("EQ", step, ops.scalar(0, step)), initial, last)
        replacements = _compute(pair, again, known, number)
    for saved, value in zip(pair.saved, replacements, strict=True):
        saved.replace_all_uses_with(value)
    if forward != old:
        old.erase()
    return forward, [op for saved in pair.saved if (op := owner(saved)) is not None]


def _compute(
    pair: Pair, again: Set[ir.Value], known: dict[ir.Value, ir.Value], number: Callable[..., ir.Value]
) -> list[ir.Value]:
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
            known[value] = number(place, value.type)
        else:
            assert root != value, "a value that is neither kept nor computed again"
            known[value] = ops.as_type(here(root), value.type)
        return known[value]

    for operation in forward.body.operations:
        op = operation.operation
        if again.isdisjoint(op.results) or forward.affine(op.results[0]) is not None:
            continue
        copy = clone(op, list(map(here, op.operands)))
        outside = {value: here(value) for value in captured(op)}
        replace_operands(copy, lambda value, known=outside: known.get(value, value))  # type: ignore[misc]
        known.update(zip(op.results, copy.results, strict=True))
    return [ops.as_type(here(value), saved.type) for saved, value in pair.saved.items()]


def _index_type(loop: Loop) -> ir.Type:
    """A type for places in stacks: the counter's, unless it is too narrow for them."""
    type_ = loop.initial(loop.counter).type
    if numpy_dtype(ir.RankedTensorType(type_).element_type).itemsize >= 4 and not ir.RankedTensorType(type_).shape:
        return type_
    return ops.tensor_type(np.int64, [])


def _number(loop: Loop, place: Affine, type_: ir.Type) -> ir.Value:
    """A number as a function of a loop's step, from its counter, at the current place in its body."""
    emit = loop.sizes.emit
    if place.slope == 0:
        return emit(place.start, type_)
    value: ir.Value = loop.body.arguments[loop.counter]
    grows = loop.affine(value)
    assert grows is not None, "a counter is affine"
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


def _with_stacks(loop: Loop, added: Sequence[ir.Value]) -> ir.Operation:
    """The loop with more stacks, before the old one; all of their rows are written in it."""
    with ir.InsertionPoint(loop.op), loop.op.location:
        initial = [ops.filled(value, 0, [loop.most, *static_shape(value)]) for value in added]

        def step(stacks: list[ir.Value]) -> Sequence[ir.Value]:
            number = _number(loop, Affine(1, 0), _index_type(loop))
            return [ops.with_row(stack, value, number) for stack, value in zip(stacks, added, strict=True)]

        return add_carries(loop.op, initial, step)
