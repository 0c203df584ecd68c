"""merge_host_calls: Python functions that feed each other are called at once.

    before  %a:2 = custom_call @hlograph.host(%o, %x)        after   %m:2 = custom_call @hlograph.host(%o, %x, %y)
            %b:2 = custom_call @hlograph.host(%o, %a#1, %y)                {parts = [a of (0), b of (2, 1)]}

At each call XLA stops, and what crosses is copied, both ways. Where one function takes what another gives, and nothing
compiled is on any way between them (`ir/host_calls.py`), they are parts of one call: what only they use stays in
Python. They run in the order in which they stood; what needs their results comes behind. Modules with unknown sizes
stay as they are. Rounding: none.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.bindings import ir
from ..ir.host_calls import data_of, given_by, host_calls, host_groups, is_merged, merged, parts_of, reads_of, taken_by
from ..ir.values import is_static, owner
from .report import Report

TRIGGERS = frozenset({"stablehlo.custom_call"})


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    for call in host_calls(module):
        reason = _refusal(call)
        if reason:
            report.refused(call, reason)
            return
    for group in host_groups(module):
        if len(group) == 1:
            report.refused(group[0], "it takes nothing of another call, or something compiled is between them")
        else:
            report.applied(group[0], result=f"the first of {len(group)} parts of a call")
            _merge(group)


def _refusal(call: ir.Operation) -> str:
    """Why the calls of a module stay as they are, as far as one of them tells."""
    if not all(is_static(value.type) for value in (*call.operands, *call.results)):
        return "its sizes are not known: specialize the program first"
    if is_merged(call) or any(True for _ in call.results[0].uses):
        return "the calls of the module have been merged, or ordered"
    return ""


def _merge(group: list[ir.Operation]) -> None:
    """Makes a group one call, where its last one is."""
    last = group[-1]
    for op in reversed(_following(group)):
        op.move_after(last)
    inside = set(group)
    given, used = taken_by(group), given_by(group)
    pool = [*given, *(result for call in group for result in list(call.results)[1:])]
    place = {value: number for number, value in enumerate(pool)}
    parts = [
        replace(part, operands=tuple(place[x] for x in data_of(call))) for call in group for part in parts_of(call)
    ]
    with last.context, last.location, ir.InsertionPoint(last):
        made = merged(group[0].operands[0], given, parts, [place[x] for x in used])
    for old, new in zip(used, list(made.results)[1:], strict=True):
        for use in list(old.uses):
            if use.owner.operation not in inside:
                use.owner.operation.operands[use.operand_number] = new
    for call in reversed(group):
        call.erase()


def _following(group: list[ir.Operation]) -> list[ir.Operation]:
    """What stands between the calls of a group and needs one of them."""
    inside = set(group)
    found: dict[ir.Operation, None] = {}
    ops = [view.operation for view in group[0].block.operations]
    for op in ops[ops.index(group[0]) : ops.index(group[-1])]:
        needed = set(map(owner, reads_of(op)))
        if op not in inside and needed & (inside | found.keys()):
            found[op] = None
    return list(found)
