"""A region: ops that make large arrays and only need each other, and what becomes small again behind them.

In: a block of a function or a loop. Out: its regions. Each is connected by large arrays: the ops that make these, those
that reduce them, and optionally small work in between (a row's maximum, on its way back into the array). Axes that are
the same in all of them (the rows of a matrix, and of what it is made from) are one class. Decision to know: an op is
known by its place in the block, and axes of what comes from outside belong to no class, because the same points may
stand along the rows of a matrix and along its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...ir.bindings import ir
from ...ir.op_sheet import Form
from ...ir.types import elements_of, static_bytes
from ...ir.values import sizes_of
from ...ir.walk import walk
from .axes import form_of, is_free

Axis = tuple[int, int]  # of an op's results: its place, and the number of the axis


class Straight:
    """The ops of a block, by place.

    Args:
        block: the block.
        elements: how many of them a large array has, at least.
    """

    def __init__(self, block: ir.Block, elements: int):
        self.ops = [operation.operation for operation in block.operations]
        self._elements = elements
        self.place: dict[ir.Value, int] = {result: place for place, op in enumerate(self.ops) for result in op.results}
        self._sizes: dict[ir.Type, bool] = {}

    @cached_property
    def large(self) -> list[int]:
        """The ops that make a large array."""
        return [place for place, op in enumerate(self.ops) if any(self._is_large(x.type) for x in op.results)]

    @cached_property
    def reads(self) -> list[list[int]]:
        """For each op, those whose results it reads, also deep within its regions."""
        return [sorted({self.place[x] for x in _operands(op) if x in self.place}) for op in self.ops]

    @cached_property
    def users(self) -> list[list[int]]:
        """For each op, those that read its results."""
        found: list[list[int]] = [[] for _ in self.ops]
        for place, read in enumerate(self.reads):
            for source in read:
                found[source].append(place)
        return found

    def behind(self, places: Iterable[int], following: Sequence[Sequence[int]]) -> set[int]:
        """All that follows from some ops, they themselves left out unless they follow from others."""
        found: set[int] = set()
        pending = list(places)
        while pending:
            for place in following[pending.pop()]:
                if place not in found:
                    found.add(place)
                    pending.append(place)
        return found

    def has_part(self, place: int) -> bool:
        """Whether an op's results are made from something."""
        results = list(self.ops[place].results)
        return bool(results) and not is_free(results[0])

    def _is_large(self, type_: ir.Type) -> bool:
        if type_ not in self._sizes:
            self._sizes[type_] = static_bytes(type_) is not None and elements_of(type_) >= self._elements
        return self._sizes[type_]


def _operands(op: ir.Operation) -> list[ir.Value]:
    return [x for inner in walk(op) for x in inner.operands] if op.regions else list(op.operands)


@dataclass
class Region:
    """Ops that belong together.

    Attributes:
        straight: the block.
        forms: how each op treats axes, by place, in order.
        large: those that make large arrays.
    """

    straight: Straight
    forms: dict[int, Form]
    large: frozenset[int]
    _parents: dict[Axis, Axis] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for place, form in self.forms.items():
            for number, axes in enumerate(form.operands):
                source = self.source(place, number)
                if source is not None:
                    for axis, along in enumerate(axes):
                        if along is not None:
                            self._unite((source, axis), (place, along))
            if len(form.summed) == 2 and form.summed[1]:
                left, right = (self.source(place, number) for number in (0, 1))
                if left is not None and right is not None:
                    for pair in zip(*form.summed, strict=True):
                        self._unite((left, pair[0]), (right, pair[1]))

    def op(self, place: int) -> ir.Operation:
        """The op at a place."""
        return self.straight.ops[place]

    def source(self, place: int, operand: int) -> int | None:
        """The op of the region that makes an operand; None where it comes from elsewhere."""
        found = self.straight.place.get(self.op(place).operands[operand])
        return found if found in self.forms else None

    def shape(self, place: int) -> list[int]:
        """The shape of an op's results."""
        return sizes_of(self.op(place).results[0])

    def bytes(self, place: int) -> int:
        """The size of an op's largest result."""
        return max(static_bytes(result.type) or 0 for result in self.op(place).results)

    @property
    def largest(self) -> int:
        """The op with the largest result."""
        return max(self.large, key=self.bytes)

    def axes(self, place: int, kind: Axis) -> list[int]:
        """The axes of an op's results that belong to a class."""
        return [axis for axis in range(len(self.shape(place))) if self.kind((place, axis)) == kind]

    def kind(self, axis: Axis) -> Axis:
        """The class of an axis."""
        found = axis
        while found in self._parents:
            found = self._parents[found]
        return found

    def _unite(self, one: Axis, other: Axis) -> None:
        one, other = self.kind(one), self.kind(other)
        if one != other:
            self._parents[max(one, other)] = min(one, other)


def regions(straight: Straight) -> list[list[Region]]:
    """The regions of a block, each with the small work in between, and without it."""
    forms = _forms(straight, straight.large)
    found = []
    for large in _connected(forms, straight):
        sinks = {user for place in large for user in straight.users[place]}
        between = straight.behind(large, straight.users) & straight.behind(large, straight.reads)
        choices = []
        for others in (sinks | between, sinks):
            own = _forms(straight, others - forms.keys()) | {place: forms[place] for place in large}
            choices.append(Region(straight, dict(sorted(own.items())), frozenset(large)))
        found.append(choices if choices[0].forms.keys() != choices[1].forms.keys() else choices[:1])
    return found


def _forms(straight: Straight, places: Iterable[int]) -> dict[int, Form]:
    """The forms of the ops that belong into regions; what can be made from nothing is a part of none."""
    found = {place: form_of(straight.ops[place]) for place in places if straight.has_part(place)}
    return {place: form for place, form in found.items() if form is not None}


def _connected(forms: dict[int, Form], straight: Straight) -> list[set[int]]:
    """Groups of ops that make large arrays, each with those that read its arrays, or are read beside them."""
    groups: dict[int, set[int]] = {place: {place} for place in forms}
    for reads in (([place] if place in forms else []) + read for place, read in enumerate(straight.reads)):
        own = [place for place in reads if place in forms]
        for place in own[1:]:
            one, other = groups[own[0]], groups[place]
            if one is not other:
                one |= other
                groups.update(dict.fromkeys(other, one))
    return list({id(group): group for group in groups.values()}.values())
