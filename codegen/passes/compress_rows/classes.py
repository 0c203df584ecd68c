"""Rows of data: which axes of a program's values count the rows of its constants.

    %r = subtract %y, %m : tensor<10000xf64>              one class: axis 0 of %r and of %q, and what reduces %q;
    %q = multiply %r, %r                                  %y lies along it
    %s = reduce(%q) across dimensions = [0]

In: a block, and what follows from constants alone. Out: classes of axes, each with the ops that work on its rows
one by one (`Use.result`), or add them up. Decisions to know: a constant belongs to no class, so that two parts of a
program may read the same one; nor does a value along an axis along which it is broadcast. A class whose rows are needed
one by one (they are arguments or results, or moved among each other) has a reason in place of its ops.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from ...ir.bindings import ir
from ...ir.kinds import Form, Indexing, form_of
from ...ir.ops import captured
from ...ir.values import names_of, returned_by, shape_of, sizes_of
from ..constants import Constants

FEWEST = 32  # rows that are examined

_REDUCING = ("stablehlo.reduce", "stablehlo.scatter")


@dataclass(frozen=True)
class Use:
    """An op on the rows of a class.

    Attributes:
        op: the op.
        operands: the rows' axis of each operand; None of one that has none.
        result: the axis of its result; None where it adds them up, or combines them in another way.
    """

    op: ir.Operation
    operands: tuple[int | None, ...]
    result: int | None


@dataclass
class RowClass:
    """Axes that count the same rows.

    Attributes:
        size: how many there are.
        reason: why they must stay as they are; "" where nothing is known to be in the way.
        uses: the ops, in order.
        constants: the constants that have the rows, each with the axis.
        spread: values that are the same for all rows, with the axis.
    """

    size: int
    reason: str = ""
    uses: list[Use] = field(default_factory=list)
    constants: dict[ir.Value, int] = field(default_factory=dict)
    spread: dict[ir.Value, int] = field(default_factory=dict)

    @property
    def sums(self) -> list[Use]:
        """The ops whose results have no rows."""
        return [use for use in self.uses if use.result is None]


@dataclass
class _Op:
    """An op, with what is the same axis: for each operand's axis one of the result's, or a number of what is gone."""

    op: ir.Operation
    ties: list[tuple[int, int, int, bool]] = field(default_factory=list)  # operand, its axis, the place, whether kept


def row_classes(block: ir.Block, constants: Constants) -> list[RowClass]:
    """The classes of a block that have constants, those with most rows first."""
    finder = _Finder(constants)
    for argument in block.arguments:
        finder.mark(argument, "an argument has the rows")
    for view in list(block.operations)[:-1]:
        finder.read(view.operation)
    for value in returned_by(block):
        finder.mark(value, "a result has the rows")
    found = [each for each in finder.classes() if each.constants]
    return sorted(found, key=lambda each: -each.size)


class _Finder:
    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._parents: dict[Hashable, Hashable] = {}
        self._reasons: dict[Hashable, str] = {}
        self._spread: set[tuple[ir.Value, int]] = set()
        self._ops: list[_Op] = []

    def mark(self, value: ir.Value, reason: str, axes: Iterable[int] | None = None) -> None:
        """Says why rows that lie along axes of a value stay."""
        for axis in _long(value) if axes is None else axes:
            if self._free(value, axis):
                continue
            self._reasons.setdefault(self._root((value, axis)), reason)

    def read(self, op: ir.Operation) -> None:
        """Takes in one op."""
        if op.results and op.results[0] in self._constants:
            return
        form, entry = _form(op), _Op(op)
        if form is None or any("shard" in name or name == "hlograph.live" for name in names_of(op.attributes)):
            for value in (*op.operands, *op.results, *(captured(op) if op.regions else ())):
                self.mark(value, f"{op.name} needs them one by one")
            return
        sourced: set[int] = set()
        for number, (value, axes) in enumerate(zip(op.operands, form.operands, strict=True)):
            summed = form.summed[number] if form.summed else ()
            for axis in _long(value):
                place = axes[axis] if axis < len(axes) else None
                if axis in summed:
                    entry.ties.append((number, axis, summed.index(axis), False))
                elif place is None:
                    self.mark(value, f"{op.name} arranges them in another way", [axis])
                elif place in form.moved:
                    self.mark(value, f"{op.name} moves them", [axis])
                    self.mark(op.results[0], f"{op.name} moves them", [place])
                else:
                    entry.ties.append((number, axis, place, True))
                    sourced.add(place)
        self._ops.append(entry)
        for result in op.results:
            for axis in _long(result):
                if axis in sourced:
                    continue
                if axis in form.moved:
                    self.mark(result, f"{op.name} moves them", [axis])
                elif op.name == "stablehlo.broadcast_in_dim":
                    self._spread.add((result, axis))
                else:
                    self.mark(result, f"{op.name} makes them", [axis])
        for number, axis, place, kept in entry.ties:
            value = op.operands[number]
            for result in op.results if kept else ():
                self._join((value, axis), (result, place))
            if not kept:
                self._join((value, axis), (op, place))

    def classes(self) -> Iterator[RowClass]:
        """All classes."""
        found: dict[Hashable, RowClass] = {}
        for entry in self._ops:
            kept: dict[Hashable, list[int]] = {}
            gone: dict[Hashable, list[int]] = {}
            for number, axis, place, is_kept in entry.ties:
                key = (entry.op.results[0], place) if is_kept else (entry.op, place)
                size = sizes_of(entry.op.operands[number])[axis]
                root = self._root(key)
                found.setdefault(root, RowClass(size, self._reasons.get(root, "")))
                places = (kept if is_kept else gone).setdefault(root, [])
                if place not in places:
                    places.append(place)
            for root in kept.keys() | gone.keys():
                self._take(found[root], entry, kept.get(root, []), gone.get(root, []))
        yield from found.values()

    def _take(self, group: RowClass, entry: _Op, kept: list[int], gone: list[int]) -> None:
        if len(kept) + len(gone) > 1 or len(entry.op.results) > 1:
            group.reason = group.reason or f"{entry.op.name} combines rows with other rows"
            return
        place = (kept or gone)[0]
        axes: list[int | None] = [None] * len(entry.op.operands)
        for number, axis, other, is_kept in entry.ties:
            if other != place or is_kept != bool(kept):
                continue
            axes[number] = axis
            value = entry.op.operands[number]
            if not self._free(value, axis):
                continue
            own = group.constants if value in self._constants else group.spread
            if own.setdefault(value, axis) != axis:
                group.reason = group.reason or "a constant has the rows along two axes"
        group.uses.append(Use(entry.op, tuple(axes), place if kept else None))

    def _free(self, value: ir.Value, axis: int) -> bool:
        return value in self._constants or (value, axis) in self._spread

    def _root(self, node: Hashable) -> Hashable:
        while (parent := self._parents.get(node, node)) != node:
            above = self._parents.get(parent, parent)
            self._parents[node] = above
            node = above
        return node

    def _join(self, one: tuple[ir.Value, int], other: Hashable) -> None:
        if self._free(*one):
            return
        first, second = self._root(one), self._root(other)
        if first != second:
            self._parents[first] = second
            reason = self._reasons.get(second) or self._reasons.get(first)
            if reason:
                self._reasons[second] = reason


def _long(value: ir.Value) -> list[int]:
    if not isinstance(value.type, ir.RankedTensorType):
        return []
    return [axis for axis, size in enumerate(shape_of(value)) if size is None or size >= FEWEST]


def _form(op: ir.Operation) -> Form | None:
    """How an op treats axes; None where rows may depend on each other, or it is not known."""
    if op.name == "stablehlo.scatter":
        return _scatter(op)
    if op.regions and (op.name not in _REDUCING or captured(op)):
        return None
    if any(None in shape_of(value) for value in (*op.operands, *op.results)):
        return None
    return form_of(op)


def _scatter(op: ir.Operation) -> Form | None:
    """Places that are added to: the updates' axes that count them are gone."""
    if len(op.operands) != 3 or captured(op):
        return None
    numbers = Indexing.of(op)
    if numbers.batching:
        return None
    indices, updates = op.operands[1:]
    counting = [axis for axis in range(len(sizes_of(updates))) if axis not in numbers.offsets]
    places = [axis for axis in range(len(sizes_of(indices))) if axis != numbers.vector]
    none: list[list[int | None]] = [[None] * len(sizes_of(value)) for value in op.operands]
    return Form(tuple(none), summed=((), tuple(places), tuple(counting)))
