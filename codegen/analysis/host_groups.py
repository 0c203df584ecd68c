"""Which calls of Python functions can be one: one takes what another gives, and nothing compiled is between them.

In: a module. Out: the calls of each block, in groups. Decision to know: a group is of calls that follow each other, so
that what it needs can be there before it, and what needs it comes behind.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.bindings import ir
from ..ir.host_calls import data_of, is_host_call
from ..ir.walk import walk

Group = list[ir.Operation]


def host_groups(module: ir.Module) -> list[Group]:
    """The calls in groups of one or more, each in the order of its block."""
    groups: list[Group] = []
    for block in [block for op in walk(module) for region in op.regions for block in region.blocks]:
        last: Group = []
        needing: set[ir.Operation] = set()  # what is no call, and needs one of the last group
        for op in [view.operation for view in block.operations]:
            if is_host_call(op):
                needed = {definer(value) for value in data_of(op)}
                if needed & set(last) and not needed & needing:
                    last.append(op)
                    continue
                last, needing = [op], set()
                groups.append(last)
            elif op.regions and any(map(is_host_call, walk(op))):
                last = []
            elif {definer(value) for value in reads_of(op)} & (needing | set(last)):
                needing.add(op)
    return groups


def taken_by(group: Group) -> list[ir.Value]:
    """What the functions of a group take of others."""
    inside = set(group)
    return list(dict.fromkeys(x for call in group for x in data_of(call) if definer(x) not in inside))


def given_by(group: Group) -> list[ir.Value]:
    """What they give to others."""
    inside = set(group)
    results = (result for call in group for result in list(call.results)[1:])
    return [result for result in results if any(use.owner.operation not in inside for use in result.uses)]


def definer(value: ir.Value) -> ir.Operation | None:
    """The op that gives a value; None of an argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def reads_of(op: ir.Operation) -> Iterable[ir.Value]:
    """Values that an op, or an op inside, reads."""
    return dict.fromkeys(operand for inner in walk(op) for operand in inner.operands)
