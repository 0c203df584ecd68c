"""roll_loops: straight-line code that repeats a block becomes a loop.

    before  %1 = stablehlo.multiply %0, %p0                   after  %r:2 = stablehlo.while(%i = %c0, %x = %0, ...)
            %2 = stablehlo.sine %1                                   cond { stablehlo.compare LT, %i, %c1000 }
            %3 = stablehlo.multiply %2, %p1                          do { %p = stablehlo.dynamic_slice %ps, %i
            %4 = stablehlo.sine %3                                        %m = stablehlo.multiply %x, %p
            ... 1,000 times                                               %s = stablehlo.sine %m ... }

In: a module, such as JAX or hlograph writes where a Python loop was unrolled, or its gradient. Out: the module with its
functions' repeated blocks rolled up, or untouched where there are none. The way: a function is read as arrays
(snapshot.py), in an order in which repetitions lie one behind the other (sequence.py); stretches with a period are
found (periods.py, find.py) and checked operand by operand (classify.py); of a block, what does not depend on earlier
repetitions becomes one op with a leading axis (plan.py, vectorize.py), the rest a loop (loop.py); what pays (cost.py)
is written anew (emit.py). Then the same for the bodies of loops (bodies.py).

Preconditions: static shapes; no op with an effect in the block; each operand comes from the block, from up to
`LONGEST_LAG` repetitions ago, or from before the run. Rounding: every op stays, on the same numbers. With
`reassociate=true` a sum (or product) of one value per repetition becomes a `reduce`, and dots and floating-point
reductions of a block get a leading axis, which may make XLA add in another order.
"""

from __future__ import annotations

from ...ir.bindings import ir, run_pipeline
from ...ir.modules import clone_module, replace_body, verify
from ..report import Report
from .bodies import roll_bodies
from .cost import choose, loops
from .emit import Emitter, outside
from .find import find_runs
from .loop import roll_up
from .plan import make_plan
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
        plans.append(make_plan(found, used, exact))
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
