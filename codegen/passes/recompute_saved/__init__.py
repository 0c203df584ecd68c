"""recompute_saved: what a loop saves for a later loop is computed again there, where that is cheaper.

    %f:4 = while(%i, %h, %ys, %ss, %cs)                     %f:3 = while(%i, %h, %ss, %cs)
      do: %s = sine %h, %c = cosine %h                        do: ...
          %y = add (multiply %s, %w), %c                          saves only %s and %c
          saves %y, %s and %c at row %i                ->
    while(%j, %g)                                           while(%j, %g)
      do: %y1, %s1, %c1 = row 511 - %j of %f#2, #3, #4        do: %s1, %c1 = row 511 - %j of %f#2, #3
                                                                  %y1 = add (multiply %s1, %w), %c1

In a gradient these are the intermediate values of the forward loop that the backward loop needs. Which of the body's
values are saved is a minimum cut (`analysis/cut.py`) between what the later loop has anyway (invariants, arrays that
the body reads step by step, the step's number) and what it needs, with the prices of `analysis/cost.py`: a value is
kept in a stack, the old or a new one, or computed again from others. So stacks of the same value become one, a stack
whose rows are cheap work on other rows goes, and so does one that is cheap work on what is read anyway; an exponential
is done again where that saves a stack, a sine is not.

A carry that is saved as it comes into the step and also as it leaves it (`%h` and `%h1`) is saved once: the stack gets
a row more, for its initial value, and each step reads two rows of it.

Preconditions: both loops have a known number of steps; a stack that goes is read by that one loop only, row by row,
every row being one that the first loop has written; the memory falls. What has no cheap work (dots, loops, calls) is
kept.

Rounding: none by itself, as each value comes from the same operations on the same operands; XLA may fuse these in
another way (multiply and add in one instruction), as it may at every change of a program. It is therefore also done
under `reassociate=false`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal

from ...analysis.cost import cost, load, store
from ...analysis.cut import FOREVER, Choice, Value, cheapest
from ...ir.bindings import ir, run_pipeline
from ...ir.refused import Refused, require
from ...ir.types import static_bytes
from ...ir.values import owner, users
from ...ir.walk import loops_by_depth
from ...ir.while_ops import drop_dead_carries
from ..report import Report
from .emit import Plan, Shifted, emit
from .pairs import Pair, Stored, find_pair, unit_root

_MOST = 20_000  # values of a body that are looked at
_DEEPEST = 64  # ops between what is needed and what it is computed from

# Without a loop there is nothing to do.
TRIGGERS = frozenset({"stablehlo.while"})


def run(
    module: ir.Module,
    report: Report,
    *,
    reassociate: bool = True,
    after: Literal["nothing", "sink_reductions"] = "nothing",
) -> None:
    """Computes again in later loops what is not worth saving.

    Args:
        module: is changed, in place; calls in loops should have been inlined, and common subexpressions be one.
        report: takes note of each loop that saves values for another.
        reassociate: whether reductions of stacks may move into loops; no rounding changes here.
        after: what must have changed the module before (`driver.py` sees to it). Where reductions are still to move, a
            stack that is only reduced otherwise is not taken to be there anyway, but to go if the later loop does
            without it; when they have moved, what is there anyway is known.
    """
    pending = loops_by_depth(module)
    while pending:
        op = pending.pop(0)
        try:
            pair = find_pair(op, reassociate and after == "nothing")
            if pair is None:
                continue
            plan = _plan(pair)
        except Refused as refusal:
            report.refused(op, str(refusal))
            continue
        report.applied(op, result=plan.result)
        forward, reader = emit(pair, plan)
        place = next((number for number, other in enumerate(pending) if other == reader), None)
        new = drop_dead_carries(reader)
        if place is not None:
            pending[place] = new
        drop_dead_carries(forward)
    if report.rewritten:
        run_pipeline(module, "canonicalize,cse")


def _plan(pair: Pair) -> Plan:
    """Decides what is kept.

    Raises:
        Refused: all that is saved is needed.
    """
    stacks = pair.stacks_by_value()
    earlier = _earlier(pair, stacks)
    values = _values(pair, stacks, earlier)
    choice = cheapest(values, list(dict.fromkeys(unit_root(saved.value) for saved in pair.saved)))
    require(choice.price < FOREVER, "what it saves cannot be computed again")
    chosen = [value for value in values if value in choice.kept]
    shifted = _shifted(pair, choice, stacks)
    chosen = [value for value in chosen if all(value not in (shift.before, shift.after) for shift in shifted)]
    kept = {value: stacks[value] for value in chosen if value in stacks}
    fresh = [value for value in chosen if value not in stacks]
    before = {saved.stack.carry for saved in pair.saved} - pair.shared
    require(before, "all that it saves is also used in another way than row by row in one later loop")
    stay = {stored.carry for stored in kept.values()}
    gone = sum(static_bytes(pair.forward.op.results[carry].type) or 0 for carry in before - stay)
    steps = pair.forward.most
    come = sum(steps * (static_bytes(value.type) or 0) for value in fresh)
    come += sum((steps + 1) * (static_bytes(shift.after.type) or 0) for shift in shifted)
    require(
        come < gone,
        f"all of the {len(before)} stacks that it saves are needed: none is cheap work on the others",
    )
    left = len(stay | pair.shared) + len(fresh) + len(shifted)
    line = f"saves {len(before | pair.shared)} -> {left} stacks, "
    work = sum(values[value].again > 0 for value in choice.again)
    line += f"{gone - come} bytes less; a later loop does {work} ops again"
    used = {value: item for value, item in earlier.items() if value in choice.again}
    return Plan(choice.again, kept, fresh, shifted, used, line)


def _values(
    pair: Pair, stacks: Mapping[ir.Value, Stored], earlier: Mapping[ir.Value, Stored]
) -> dict[ir.Value, Value[ir.Value]]:
    """The values of the body that the needed ones are computed from, with prices."""
    found: dict[ir.Value, Value[ir.Value]] = {}
    pending = deque((unit_root(saved.value), 0) for saved in pair.saved)
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
            keep = _stack(pair, size, load if stacks[value].carry in pair.shared else store)
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
    if price is None:
        return FOREVER, []
    roots = [unit_root(operand) for operand in op.operands if not _free(pair, operand)]
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
    """A step's part of the price of an array with a row of this size for each step."""
    return price(size * pair.forward.most) // pair.forward.most


def _earlier(pair: Pair, stacks: Mapping[ir.Value, Stored]) -> dict[ir.Value, Stored]:
    """Carries whose next values have a stack that stays in any case: the row before is what came into the step."""
    forward = pair.forward
    found: dict[ir.Value, Stored] = {}
    for carry, following in enumerate(forward.returned):
        stored = stacks.get(unit_root(following))
        if stored is not None and stored.carry in pair.shared and carry not in forward.invariants:
            found[forward.body.arguments[carry]] = stored
    return found


def _shifted(pair: Pair, choice: Choice[ir.Value], stacks: Mapping[ir.Value, Stored]) -> list[Shifted]:
    """Carries that are kept both as they come into a step and as they leave it."""
    forward = pair.forward
    whole = {value for value, stored in stacks.items() if stored.carry in pair.shared}
    left = set(choice.kept) - whole
    found: list[Shifted] = []
    for carry, following in enumerate(forward.returned):
        before, after = forward.body.arguments[carry], unit_root(following)
        if before in left and after in left and before != after:
            left -= {before, after}
            found.append(Shifted(carry, before, after))
    return found
