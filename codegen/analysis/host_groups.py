"""Which calls of Python functions can be one: one takes what another gives, and nothing compiled is between them.

In: a module. Out: the calls of each block, in groups. Decision to know: a group is *closed*, that is, no way leads out
of it and back; all that it needs can be there before it, and all that needs it comes behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir.bindings import ir
from ..ir.host_calls import data_of, is_host_call
from ..ir.walk import walk

Group = list[ir.Operation]


def host_groups(module: ir.Module) -> list[Group]:
    """The calls in groups of one or more, each in the order of its block."""
    blocks = (block for op in walk(module) for region in op.regions for block in region.blocks)
    return [group for block in blocks for group in _Block(block).groups]


class _Block:
    def __init__(self, block: ir.Block) -> None:
        self.block = block
        self.groups: list[Group] = []
        self._group_of: dict[ir.Operation, Group] = {}
        for call in [view.operation for view in block.operations if is_host_call(view.operation)]:
            self._add(call)

    def _add(self, call: ir.Operation) -> None:
        """A call joins those that it takes something of, the last ones first, as far as it can."""
        own = self._group_of[call] = [call]
        self.groups.append(own)
        feeding = [self._group_of[op] for op in self._producers(call) if op in self._group_of]
        for group in sorted(feeding, key=self.groups.index, reverse=True):
            if group is not self._group_of[call] and self._is_closed([*group, *self._group_of[call]]):
                self._join(group, self._group_of[call])

    def _join(self, group: Group, other: Group) -> None:
        self.groups.remove(other)
        group += other
        self._group_of.update(dict.fromkeys(other, group))

    def _is_closed(self, members: Group) -> bool:
        """Whether none needs, of what is no member, what needs a member."""
        inside, seen = set(members), set(members)
        pending = [op for member in members for op in self._producers(member) if op not in inside]
        while pending:
            op = pending.pop()
            for each in self._group_of.get(op, [op]):  # what is one call needs what each of its parts needs
                seen.add(each)
                found = set(self._producers(each))
                if found & inside:
                    return False
                pending += found - seen
        return True

    def _producers(self, op: ir.Operation) -> Iterator[ir.Operation]:
        """The ops of the block that give what an op reads."""
        for value in data_of(op) if is_host_call(op) else reads_of(op):
            found = definer(value)
            if found is not None and found.block == self.block:
                yield found


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
