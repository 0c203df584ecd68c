"""The stages of a block's ops: how many ops that stay outside are on the way to each.

In: the ops of a block, with what each reads and why it stays outside. Out: the stage of each, and the regions that the
ops of a stage are divided into. Decision to know: an op goes to the last stage that its users allow.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...ir.bindings import ir
from .cost import FREE


@dataclass
class Item:
    """An op of a block.

    Attributes:
        op: the op.
        reads: values that it reads, those inside of its own regions not included.
        refusal: why it is in no region; "" where it can be.
        weight: see `weight`.
        stage: the number of ops outside on the way to it.
    """

    op: ir.Operation
    reads: list[ir.Value]
    refusal: str
    weight: int
    stage: int = 0

    @property
    def free(self) -> bool:
        """Whether regions make it again; where it stands, it is for ops outside."""
        return self.op.name in FREE

    @property
    def outside(self) -> bool:
        """Whether it is in no region."""
        return bool(self.refusal) or self.free


def reads_of(op: ir.Operation) -> Iterator[ir.Value]:
    """Values that an op, or an op inside, reads from outside."""
    yield from dict.fromkeys(op.operands)
    inside: set[ir.Value] = set()
    for region in op.regions:
        for block in region.blocks:
            inside.update(block.arguments)
            for operation in block.operations:
                yield from (value for value in reads_of(operation.operation) if value not in inside)
                inside.update(operation.results)


def find_stages(items: Sequence[Item]) -> None:
    """Gives each op the last stage that its users allow.

    Of each value it is known from which stage on a region can use it, and from which an op outside. The ops of a stage
    that are outside come behind its region.
    """
    inside: dict[ir.Value, int] = {}
    outside: dict[ir.Value, int] = {}
    for item in items:
        within = max((inside.get(value, 0) for value in item.reads), default=0)
        without = max((outside.get(value, 0) for value in item.reads), default=0)
        if not item.outside:
            item.stage = without = within
        elif item.refusal:
            item.stage, within = without, without + 1
        inside.update(dict.fromkeys(item.op.results, within))
        outside.update(dict.fromkeys(item.op.results, without))
    last = max((item.stage for item in items if not item.outside), default=0)
    latest: dict[ir.Value, int] = {}
    for item in reversed(items):
        allowed = min((latest[value] for value in item.op.results if value in latest), default=last)
        if not item.refusal:
            item.stage = allowed
        for value in item.reads:
            latest[value] = min(latest.get(value, item.stage), item.stage)
    # What regions make again is made outside as soon as it can be: there may be a use at any later stage.
    made: dict[ir.Value, int] = {}
    for item in items:
        if item.free:
            item.stage = max((made.get(value, 0) for value in item.reads), default=0)
        made.update(dict.fromkeys(item.op.results, item.stage))


def groups_of(items: Sequence[Item], stage: int, limit: int) -> Iterator[list[Item]]:
    """The ops of a stage in order: its regions, of at most `limit` ops each, and one by one what is outside."""
    yield from _split([item for item in items if item.stage == stage and not item.outside], limit)
    yield from ([item] for item in items if item.stage == stage and item.outside)


def _split(items: Sequence[Item], limit: int) -> Iterator[list[Item]]:
    """Regions of about equal size, cut where the least has to be handed over in memory."""
    weights = list(itertools.accumulate(item.weight for item in items))
    crossing = _crossing(items)
    begin, done = 0, 0
    while begin < len(items):
        left = weights[-1] - done
        count = -(-left // limit)
        target = left / max(count, 1)
        end = len(items)
        if count > 1:
            cuts = [
                cut
                for cut in range(begin + 1, len(items))
                if 0.75 * target <= weights[cut - 1] - done <= min(1.25 * target, limit)
            ]
            first = next(
                cut for cut in range(begin + 1, len(items) + 1) if cut == len(items) or weights[cut] - done > limit
            )
            end = min(cuts, key=crossing.__getitem__, default=first)
        yield list(items[begin:end])
        begin, done = end, weights[end - 1]


def _crossing(items: Sequence[Item]) -> list[int]:
    """For each place between two ops, the elements of values that are made before it and used behind it."""
    last: dict[ir.Value, int] = {}
    for number, item in enumerate(items):
        last.update(dict.fromkeys(item.reads, number))
    change = [0] * (len(items) + 2)
    for number, item in enumerate(items):
        for value in item.op.results:
            if last.get(value, number) > number:
                size = math.prod(ir.RankedTensorType(value.type).shape)
                change[number + 1] += size
                change[last[value] + 1] -= size
    return list(itertools.accumulate(change))
