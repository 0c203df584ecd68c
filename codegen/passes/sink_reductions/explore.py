"""What follows a loop is looked at: what its steps could do themselves, and what needs a stack whole.

In: a loop and its stacks. Out: a `Region`. Decision to know: ops are visited in the order of the block, so that all
that an op reads is known when its turn comes; nothing is changed here.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...analysis.loops import Loop, Stack
from ...ir.bindings import ir
from ...ir.refused import Refused, require
from ...ir.values import owner, users
from .accumulate import Accumulation, Dot, Monoid, monoid
from .lift import Lifted, can_hoist, joins_steps, lift, summed
from .live_masks import masked
from .patterns import Difference, deviations, exponentials, is_difference
from .region import Region


@functools.total_ordering
@dataclass(frozen=True)
class _InOrder:
    """Ops of a block, in their order."""

    op: ir.Operation

    def __lt__(self, other: _InOrder) -> bool:
        return bool(self.op.is_before_in_block(other.op))


class _Dependent:
    """The values that depend on a loop, found on demand: most of what comes after it is never asked for."""

    def __init__(self, loop: ir.Operation):
        self._loop, self._known = loop, {loop: True}

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, ir.Value)
        first = self._candidate(value)
        pending = [] if first is None else [first]
        while pending:
            op = pending[-1]
            if op in self._known:
                pending.pop()
                continue
            before = [found for value in _used(op) if (found := self._candidate(value)) is not None]
            unknown = [found for found in before if found not in self._known]
            if unknown:
                pending.extend(unknown)
            else:
                self._known[op] = any(self._known[found] for found in before)
        return first is not None and self._known[first]

    def _candidate(self, value: ir.Value) -> ir.Operation | None:
        """The op that makes a value, if it is the loop or comes after it."""
        op = owner(value)
        if op is None or op.block != self._loop.block:
            return None
        return op if op == self._loop or not op.is_before_in_block(self._loop) else None


def _used(op: ir.Operation) -> list[ir.Value]:
    """An op's operands, and those of the ops in it."""
    found = list(op.operands)
    pending = [op]
    while pending:
        for region in pending.pop().regions:
            for block in region.blocks:
                for inner in block.operations:
                    found.extend(inner.operation.operands)
                    if inner.operation.regions:
                        pending.append(inner.operation)
    return found


def explore(loop: Loop, stacks: dict[ir.Value, Stack], dead: set[ir.Operation], reassociate: bool) -> Region:
    """Follows the stacks as far as steps could do the work, and notes where they cannot."""
    lifted = {value: Lifted(stack.axis, stack.width) for value, stack in stacks.items()}
    region = Region(loop, stacks, lifted)
    depends = _Dependent(loop.op)
    differences: dict[ir.Value, Difference] = {}
    queue: list[_InOrder] = []
    queued: set[ir.Operation] = set()

    def follow(values: Sequence[ir.Value]) -> None:
        for value in values:
            for use in value.uses:
                user: Any = use.owner.operation
                while user.block != loop.op.block:
                    user = user.parent.operation
                if user not in queued and user not in dead:
                    queued.add(user)
                    heapq.heappush(queue, _InOrder(user))

    follow(list(stacks))
    while queue:
        op = heapq.heappop(queue).op
        try:
            _visit(op, region, depends, differences, reassociate)
        except Refused as refusal:
            for value in op.operands:
                value = differences[value].value if value in differences else value
                if value in region.lifted:
                    region.whole.setdefault(value, str(refusal))
            inner = [value for value in region.lifted if op.regions and _captured(op, value)]
            for value in inner:
                region.whole.setdefault(value, f"{op.name} uses it inside")
        follow([value for value in op.results if value in region.lifted or value in differences])
    gone = {op for reduction in region.reductions for op in (reduction.op, *reduction.passed)}
    for value, difference in differences.items():
        if any(user not in gone and user not in dead for user in (difference.op, *users(value))):
            _needs_whole(region, difference)
    return region


_ASKED = "and reassociate=false is asked for"
_COMPARED = "it is compared with a reduction of itself in a way that is not known"


def _needs_whole(region: Region, difference: Difference) -> None:
    region.whole.setdefault(difference.value, _COMPARED)


def _captured(op: ir.Operation, value: ir.Value) -> bool:
    for use in value.uses:
        user: Any = use.owner.operation
        while user is not None and user.block != op.block:
            user = user.parent.operation if user.parent is not None else None
        if user == op and use.owner.operation != op:
            return True
    return False


def _visit(
    op: ir.Operation,
    region: Region,
    depends: _Dependent,
    differences: dict[ir.Value, Difference],
    reassociate: bool,
) -> None:
    """Takes up one op that depends on the loop.

    Raises:
        Refused: no step can do its part of it.
    """
    loop = region.loop.op
    if not any(value in region.lifted for value in op.operands) and not any(v in differences for v in op.operands):
        if op.regions:
            raise Refused(f"{op.name} uses it inside")
        return
    if op.name in ("func.return", "stablehlo.return"):
        raise Refused("it is returned")
    reduction: Accumulation | None = None
    mask = masked(op, region.lifted, region.loop)
    special = deviations(op, differences, region) or exponentials(op, differences, region)
    if special is not None:
        reduction = special
    elif is_difference(op, region, depends, differences):
        return
    else:
        for value in op.operands:
            if value in region.lifted or _left_over(op, region):
                continue
            if value in differences:
                raise Refused(_COMPARED)
            if value in depends:
                raise Refused(f"{op.name} combines it with another result of the loop")
            reason = can_hoist(value, loop)
            if reason:
                raise Refused(reason)
        reduction = _reduction(op, region)
    if reduction is None:
        node = mask or lift(op, region.lifted)
        adds = (op.name == "stablehlo.reduce" and not Monoid(op, node).exact) or (
            op.name == "stablehlo.dot_general" and not Dot(op, node).exact
        )
        require(reassociate or not adds, f"{op.name} of a part of it may be added up in another order, {_ASKED}")
        require(not (region.loop.is_live and joins_steps(node)), "it is joined behind a number of steps that varies")
        region.nodes[op.results[0]] = node
        region.lifted[op.results[0]] = node.lifted
        return
    if not reassociate and not reduction.exact:
        raise Refused(f"{op.name} in another order rounds differently, {_ASKED}")
    region.reductions.append(reduction)


def _left_over(op: ir.Operation, region: Region) -> bool:
    """Whether an op joins the steps with what an unrolled loop has left over, which is done beside the loop."""
    if op.name != "stablehlo.concatenate":
        return False
    along = ir.IntegerAttr(op.attributes["dimension"]).value
    return any(region.lifted[value].axis == along for value in op.operands if value in region.lifted)


def _reduction(op: ir.Operation, region: Region) -> Accumulation | None:
    """A reduction over the steps, if the op is one."""
    node = summed(op, region.lifted)
    if node is None:
        return None
    if op.name == "stablehlo.dot_general":
        return Dot(op, node)
    reason = monoid(node)
    require(not reason, reason)
    return Monoid(op, node)
