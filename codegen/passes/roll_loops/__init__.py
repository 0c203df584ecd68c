"""roll_loops: straight-line code that repeats a block becomes a loop.

    before  %1 = stablehlo.multiply %0, %p0                   after  %r:2 = stablehlo.while(%i = %c0, %x = %0, ...)
            %2 = stablehlo.sine %1                                   cond { stablehlo.compare LT, %i, %c1000 }
            %3 = stablehlo.multiply %2, %p1                          do { %p = stablehlo.dynamic_slice %ps, %i
            %4 = stablehlo.sine %3                                        %m = stablehlo.multiply %x, %p
            ... 1,000 times                                               %s = stablehlo.sine %m ... }

In: a module, such as JAX or hlograph writes where a Python loop was unrolled, or its gradient. Out: the module with its
functions' repeated blocks rolled up, or untouched where there are none. The way: a function is read as arrays, in an
order in which repetitions lie one behind the other (snapshot.py); stretches with a period are found, and checked
operand by operand (find.py); of a block, what does not depend on earlier repetitions becomes one op with a leading
axis, the rest a loop, where that pays (plan.py), and is written anew (emit.py). Then the same for the bodies of loops.

Preconditions: static shapes; no op with an effect in the block; each operand comes from the block, from up to
`LONGEST_LAG` repetitions ago, or from before the run. Rounding: every op stays, on the same numbers. With
`reassociate=true` a sum (or product) of one value per repetition becomes a `reduce`, and dots and floating-point
reductions of a block get a leading axis, which may make XLA add in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...ir.bindings import ir, run_pipeline
from ...ir.functions import add_function
from ...ir.modules import clone_module, replace_body, verify
from ...ir.ops import captured, clone_block
from ...ir.refused import require
from ...ir.values import holds
from ..pad_sums import SERIES, joined_pads
from ..report import Report
from ..rewriting import Rewrite, apply
from .emit import Emitter, roll_up
from .find import find_runs
from .plan import Planner, choose, loops
from .snapshot import EFFECTS, take_snapshot

# A module of fewer ops cannot hold a run that pays.
TRIGGERS = 96


def run(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
    """The pass; without `reassociate` all bits stay."""
    exact = not reassociate
    # All is done on a copy, because equal ops are made one before it is known whether there is anything to roll up.
    copy = clone_module(module)
    run_pipeline(copy, "cse")
    if holds(copy, lambda op: op.name == "stablehlo.pad"):
        apply(copy, [_SUMS], Report("roll_loops"), reassociate=reassociate)
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
    changed = [_roll_all(function, exact, pure, report)[1] for function in functions]
    if any(changed):
        run_pipeline(copy, "cse")
        verify(copy, "what roll_loops made")
        replace_body(module, copy)


def _joined(op: ir.Operation) -> ir.Value | None:
    return joined_pads(op, lambda boxes, _: require(len(boxes) >= SERIES, "no more pads than in a sum without a loop"))


_SUMS = Rewrite(name="roll_loops", line="", roots=("stablehlo.add",), function=_joined, exact=True)


def _roll_all(
    function: ir.Operation, exact: bool, pure: bool, report: Report, again: bool = False
) -> tuple[ir.Operation, bool]:
    """A function with its runs rolled up, and those in the bodies of its loops; and whether there were any.

    Args:
        function: is changed in place, or gives way to the new one.
        exact: whether all bits must stay.
        pure: whether what it calls does nothing but compute.
        report: takes notes.
        again: whether it is a loop's body, which runs again and again.
    """
    rolled = _roll(function, exact, pure, report, again)
    changed, function = rolled is not None, rolled or function
    for operation in list(function.regions[0].blocks[0].operations):
        loop = operation.operation
        if loop.name != "stablehlo.while" or len(list(loop.regions[1].blocks[0].operations)) < TRIGGERS:
            continue
        # A body as a function for a while.
        body = loop.regions[1].blocks[0]
        old = [operation.operation for operation in body.operations]
        values = [*body.arguments, *captured(loop)]
        copied = partial(_copied, body, values)
        with function.context, function.location:
            with ir.InsertionPoint(function):
                taken = add_function("body", [value.type for value in values], copied)
            taken, found = _roll_all(taken, exact, pure, report, True)
            if found:
                with ir.InsertionPoint(old[0]):
                    made = taken.regions[0].blocks[0]
                    for place, value in enumerate(_copied(made, made.arguments, *values)):
                        old[-1].operands[place] = value
                for op in reversed(old[:-1]):
                    op.erase()
            taken.erase()
        changed |= found
    return function, changed


def _copied(block: ir.Block, known: Sequence[ir.Value], *values: ir.Value) -> list[ir.Value]:
    return clone_block(block, dict(zip(known, values, strict=True)))[0]


def _roll(function: ir.Operation, exact: bool, pure: bool, report: Report, again: bool) -> ir.Operation | None:
    """A function with its runs rolled up, in place of the old one; None where there are none."""
    taken = take_snapshot(function, pure)
    sequence, runs = find_runs(taken, report)
    plans = [Planner(found, exact).plan() for found in runs]
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
