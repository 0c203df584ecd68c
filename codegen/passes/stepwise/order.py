"""Which ops of a block stand before a loop, and which follow from it.

In: a loop, or the place of one, and values or ops of its block. Out: the ops that must move before it; those that
depend on it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from ...ir.bindings import ir
from ...ir.values import owner
from ...ir.walk import walk


def reads(op: ir.Operation) -> list[ir.Value]:
    """An op's operands, and those of the ops in it."""
    return [value for inner in walk(op) for value in inner.operands] if op.regions else list(op.operands)


def late(values: Iterable[ir.Value], place: ir.Operation) -> list[ir.Operation]:
    """The ops behind a place in its block that values are made from, each behind those that it reads."""
    found: dict[ir.Operation, None] = {}
    pending = [(value, False) for value in values]
    while pending:
        value, ready = pending.pop()
        op = owner(value)
        if op is None or op in found or op.block != place.block or op.is_before_in_block(place):
            continue
        if ready:
            found[op] = None
        else:
            pending.append((value, True))
            pending.extend((operand, False) for operand in reads(op))
    return list(found)


def hoist(values: Iterable[ir.Value], place: ir.Operation) -> None:
    """Moves what makes values before a place."""
    for op in late(values, place):
        op.move_before(place)


def dependent(loop: ir.Operation) -> list[ir.Operation]:
    """The ops of a loop's block that use what follows from its results, in order."""
    found: set[ir.Operation] = set()
    pending = [loop]
    while pending:
        for result in pending.pop().results:
            for use in result.uses:
                user: Any = use.owner.operation
                while user.block != loop.block:
                    user = user.parent.operation
                if user not in found:
                    found.add(user)
                    pending.append(user)
    in_order: Any = functools.cmp_to_key(lambda a, b: -1 if a.is_before_in_block(b) else 1)
    return sorted(found, key=in_order)
