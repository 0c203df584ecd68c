"""roll_loops: straight-line code that repeats a block becomes a loop.

    before  %1 = stablehlo.multiply %0, %p0                   after  %r:2 = stablehlo.while(%i = %c0, %x = %0, ...)
            %2 = stablehlo.sine %1                                   cond { stablehlo.compare LT, %i, %c1000 }
            %3 = stablehlo.multiply %2, %p1                          do { %p = stablehlo.dynamic_slice %ps, %i
            %4 = stablehlo.sine %3                                        %m = stablehlo.multiply %x, %p
            ... 1,000 times                                               %s = stablehlo.sine %m ... }

In: a module, such as JAX or hlograph writes where a Python loop was unrolled, or its gradient. Out: the module with its
functions' repeated blocks rolled up, or untouched where there are none. The way: a function is read as arrays, in an
order in which repetitions lie one behind the other (snapshot.py); stretches with a period are found, and checked
operand by operand (find.py); of a block, what does not depend on earlier repetitions becomes one op with a leading axis
(plan.py), the rest a loop (loop.py); what pays (cost.py) is written anew (emit.py). Then the same for the bodies of
loops.

Preconditions: static shapes; no op with an effect in the block; each operand comes from the block, from up to
`LONGEST_LAG` repetitions ago, or from before the run. Rounding: every op stays, on the same numbers. With
`reassociate=true` a sum (or product) of one value per repetition becomes a `reduce`, and dots and floating-point
reductions of a block get a leading axis, which may make XLA add in another order.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.batching import captured
from ...ir.bindings import ir, run_pipeline
from ...ir.clone import clone_block
from ...ir.functions import add_function
from ...ir.modules import clone_module, replace_body, verify
from ..report import Report
from .cost import choose, loops
from .emit import Emitter, outside
from .find import find_runs
from .loop import roll_up
from .plan import Planner
from .snapshot import EFFECTS, take_snapshot

# A module of fewer ops cannot hold a run that pays.
TRIGGERS = 96


def run(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
    """The pass; without `reassociate` all bits stay."""
    exact = not reassociate
    # All is done on a copy, because equal ops are made one before it is known whether there is anything to roll up.
    copy = clone_module(module)
    run_pipeline(copy, "cse")
    functions = [
        operation.operation
        for operation in copy.body.operations
        if operation.operation.name == "func.func" and len(operation.operation.regions[0].blocks) == 1
    ]
    pure = not any(
        EFFECTS.search(str(function.get_asm(print_generic_op_form=True, assume_verified=True)))
        for function in functions
        if ir.StringAttr(function.attributes["sym_name"]).value != "main"
    )
    changed = False
    for function in functions:
        rolled = _roll(function, exact, pure, report)
        changed |= rolled is not None
        changed |= roll_bodies(rolled or function, lambda body: _roll(body, exact, pure, report, True), TRIGGERS)
    if changed:
        run_pipeline(copy, "cse")
        verify(copy, "what roll_loops made")
        replace_body(module, copy)


def _roll(function: ir.Operation, exact: bool, pure: bool, report: Report, again: bool = False) -> ir.Operation | None:
    """A function with its runs rolled up, in place of the old one; None where there are none.

    Args:
        function: the old one.
        exact: whether all bits must stay.
        pure: whether what it calls does nothing but compute.
        report: takes notes.
        again: whether it is a loop's body, which runs again and again.
    """
    taken = take_snapshot(function, pure)
    sequence, runs = find_runs(taken, report)
    if not runs:
        return None
    plans = []
    for found in runs:
        read = outside(sequence, found.start, found.period, found.count)
        used = {(repetition, code // sequence.stride) for code, times in read.items() for repetition in times}
        plans.append(Planner(found, used, exact).plan())
    chosen = []
    for made, reason in zip(plans, choose(plans, again), strict=True):
        first = taken.ops[int(sequence.ops[made.run.start])]
        if reason:
            report.refused(first, reason)
            continue
        chosen.append(made)
        period = made.run.period
        ops = f"{made.run.count} repetitions of a block of {period} op{'s' * (period > 1)} become "
        count = loops(made)
        report.applied(first, result=ops + (f"{count} loop{'s' * (count > 1)}" if count else "ops with a leading axis"))
    if not chosen:
        return None
    rolled = roll_up(Emitter(sequence, chosen), function)
    function.erase()
    return rolled


# ---- the bodies of loops, as functions for a while ------------------------------------------------------------------

Roll = Callable[[ir.Operation], "ir.Operation | None"]


def roll_bodies(function: ir.Operation, roll: Roll, smallest: int) -> bool:
    """Rolls up the bodies of the loops of a function, and the loops in these.

    Args:
        function: is changed in place.
        roll: rolls up a function: gives the new one in its place, or None where it stays as it is.
        smallest: bodies of fewer ops are left alone.

    Returns:
        Whether there was anything to roll up.
    """
    changed = False
    for operation in list(function.regions[0].blocks[0].operations):
        loop = operation.operation
        if loop.name == "stablehlo.while" and len(list(loop.regions[1].blocks[0].operations)) >= smallest:
            changed |= _roll_body(function, loop, roll, smallest)
    return changed


def _roll_body(function: ir.Operation, loop: ir.Operation, roll: Roll, smallest: int) -> bool:
    body = loop.regions[1].blocks[0]
    old = [operation.operation for operation in body.operations]
    values = [*body.arguments, *captured(loop)]

    def copied(*arguments: ir.Value) -> list[ir.Value]:
        return clone_block(body, dict(zip(values, arguments, strict=True)))[0]

    with function.context, function.location:
        with ir.InsertionPoint(function):
            taken = add_function("body", [value.type for value in values], copied)
        rolled = roll(taken)
        inner = roll_bodies(rolled or taken, roll, smallest)
        changed = rolled is not None or inner
        if changed:
            made = (rolled or taken).regions[0].blocks[0]
            with ir.InsertionPoint(old[0]):
                returned, _ = clone_block(made, dict(zip(made.arguments, values, strict=True)))
            for place, value in enumerate(returned):
                old[-1].operands[place] = value
            for op in reversed(old[:-1]):
                op.erase()
        (rolled or taken).erase()
    return changed
