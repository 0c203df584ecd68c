"""sink_reductions: reductions of what a loop stacks move into the loop.

    %r:3 = stablehlo.while(%i, %h, %ys = %zeros)        %r:3 = stablehlo.while(%i, %h, %acc = %zero)
      do: %ys1 = dynamic_update_slice %ys, %h1, %i, %z    do: %row = dynamic_slice %data, %i, %z
    %d = subtract %r#2, %data                       ->        %d = subtract %h1, %row
    %s = reduce(%d init: %zero) applies add                   %s = reduce(%d init: %zero) applies add
           across dimensions = [0, 1]                         %acc1 = add %acc, %s

In: a loop, and what follows it in its block. Out: a loop with accumulators, or a thinner stack where the steps' axis is
not reduced. Decision to know: stacks that are used together go together. Where anything needs one of them whole, all of
them stay.
"""

from __future__ import annotations

from ...analysis.loops import Loop, Stack
from ...ir.bindings import ir, run_pipeline
from ...ir.refused import Refused
from ...ir.values import sizes_of, users
from ..report import Report
from .explore import explore
from .plan import plan
from .rebuild import transform

_HOLDERS = ("stablehlo.while", "stablehlo.if", "stablehlo.case")

# Without a loop there is nothing to do.
TRIGGERS = frozenset({"stablehlo.while"})


def run(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
    """Moves reductions into the loops of a module, in place; without `reassociate` only where no rounding changes."""
    while _sink_all(module, report, reassociate):
        # Drops what the old loops consisted of; all handles of operations are invalid after it.
        run_pipeline(module, "canonicalize,cse")


def _sink_all(module: ir.Module, report: Report, reassociate: bool) -> bool:
    """Moves reductions into all loops but those in new bodies, which have their turn in the next round."""
    pending = [block for op in module.body.operations for region in op.operation.regions for block in region.blocks]
    dead: set[ir.Operation] = set()
    while pending:
        operations = [operation.operation for operation in pending.pop().operations]
        for op in operations:
            if op.name not in _HOLDERS or op in dead:
                continue
            if op.name == "stablehlo.while" and _sink(op, dead, report, reassociate):
                continue
            pending.extend(inner for region in op.regions for inner in region.blocks)
    return bool(dead)


def _sink(op: ir.Operation, dead: set[ir.Operation], report: Report, reassociate: bool) -> bool:
    """Moves reductions of a loop's stacks into it.

    Args:
        op: a `stablehlo.while`.
        dead: ops that nothing needs any more; those that become so are added.
        report: takes note of each stack.
        reassociate: whether rounding may change.

    Returns:
        Whether anything was done.
    """
    try:
        loop = Loop.of(op)
    except Refused as refusal:
        report.refused(op, str(refusal))
        return False
    stacks: dict[ir.Value, Stack] = {}
    for carry, result in enumerate(op.results):
        stack = _stack(loop, carry, dead)
        if isinstance(stack, Stack):
            stacks[result] = stack
    if not stacks:
        return False
    if loop.trip_count == 0:
        report.refused(op, "it runs no step")
        return False
    region = explore(loop, stacks, dead, reassociate)
    plans = plan(region, report)
    if plans:
        dead.update(transform(region, plans, report))
    return bool(plans)


def _stack(loop: Loop, carry: int, dead: set[ir.Operation]) -> Stack | None:
    if 0 in sizes_of(loop.op.results[carry]):  # what is nothing would be moved for ever
        return None
    try:
        stack = loop.stack(carry)
    except Refused:
        return None
    used = [user for user in users(loop.op.results[carry]) if user not in dead]
    return stack if used and not stack.read and not users(loop.condition.arguments[carry]) else None
