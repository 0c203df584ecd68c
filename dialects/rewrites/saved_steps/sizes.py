"""Which values are the same; numbers of steps and rows; and which row a sequence reads.

In: scalars and arrays of the outer graph. Out: what follows from how the library writes a Scan: sizes as sums of what
is known by a number only (`len(y) - 1 + 1` is `len(y)`), and the arrays that a sequence goes through from their end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...releases import unflatten
from ...walk import kind_of, order


class Numbers:
    """A number for each value: variables computed in the same way from the same ones have the same."""

    def __init__(self) -> None:
        self._of: dict[Any, int] = {}
        self._known: dict[Any, int] = {}

    def of(self, variable: Any) -> int:
        """The number of a variable."""
        variable = unspecified(variable)
        for node in order([variable], self._of):
            operands = tuple(self._leaf(x) for x in node.inputs)
            for place, output in enumerate(node.outputs):
                key = (node.op, operands, place)
                self._of[output] = self._known.setdefault(key, len(self._known))
        return self._leaf(variable)

    def name(self, variable: Any, number: int | None = None) -> None:
        """Says which number an input has; a new one, if none is given."""
        self._of[variable] = self._known.setdefault(object(), len(self._known)) if number is None else number

    def _leaf(self, variable: Any) -> int:
        variable = unspecified(variable)
        if variable not in self._of:
            key = variable.signature() if hasattr(variable, "data") else object()
            self._of[variable] = self._known.setdefault(key, len(self._known))
        return self._of[variable]


# What a size is a sum of, with factors, and a number.
Length = tuple[frozenset[tuple[Any, int]], int]


class Lengths:
    """Sizes as sums: of integer scalars, and of first sizes of arrays that are known by their number only."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def of(self, scalar: Any) -> Length:
        """An integer scalar's value."""
        return self._settled(*self._sum(scalar))

    def of_buffer(self, buffer: Any) -> Length | None:
        """The rows of a state's buffer: as many as were allocated before the initial rows were set."""
        node = buffer.owner
        while node is not None and type(node.op).__name__ in ("IncSubtensor", "Unbroadcast", "SpecifyShape"):
            buffer, node = node.inputs[0], node.inputs[0].owner
        kind = kind_of(buffer)
        if kind in ("AllocEmpty", "Alloc"):
            return self.of(node.inputs[kind == "Alloc"])
        rows = buffer.type.shape[0]
        return None if rows is None else (frozenset(), rows)

    def of_rows(self, sequence: Any) -> set[Length]:
        """Lengths that a sequence has, if it has no fewer rows than that."""
        sequence = unspecified(sequence)
        found = {self._settled(*self._rows(sequence))}
        cut = _slice_of(sequence)
        if cut is not None and cut.start is None and cut.step is None and cut.stop is not None:
            found.add(self.of(cut.stop))
        return found

    @staticmethod
    def _settled(terms: Mapping[Any, int], number: int) -> Length:
        return frozenset((term, factor) for term, factor in terms.items() if factor), number

    def _rows(self, array: Any) -> tuple[dict[Any, int], int]:
        rows = array.type.shape[0]
        if rows is not None:
            return {}, rows
        cut = _slice_of(array)
        if cut is not None and cut.stop is None and cut.step is None and constant(cut.start) == 0:
            return self._rows(array.owner.inputs[0])
        return {("rows", self._numbers.of(array)): 1}, 0

    def _sum(self, scalar: Any) -> tuple[dict[Any, int], int]:
        value = constant(scalar)
        if value is not None:
            return {}, value
        node, kind = scalar.owner, kind_of(scalar)
        if kind in ("TensorFromScalar", "ScalarFromTensor", "Cast"):
            return self._sum(node.inputs[0])
        if kind in ("Add", "Sub"):
            total, number = dict[Any, int](), 0
            for place, operand in enumerate(node.inputs):
                sign = -1 if kind == "Sub" and place else 1
                terms, more = self._sum(operand)
                number += sign * more
                for term, factor in terms.items():
                    total[term] = total.get(term, 0) + sign * factor
            return total, number
        if kind == "Shape_i" and node.op.i == 0:
            return self._rows(node.inputs[0])
        if (
            kind == "Subtensor"
            and _is_first(node)
            and type(getattr(node.inputs[0].owner, "op", None)).__name__ == "Shape"
        ):
            return self._rows(node.inputs[0].owner.inputs[0])
        return {("value", self._numbers.of(scalar)): 1}, 0


def _is_first(node: Any) -> bool:
    """Whether a Subtensor is the element 0 of a vector."""
    return [constant(entry) for entry in unflatten(node.op.idx_list, node.inputs[1:])] == [0]


def _is_shape(vector: Any) -> bool:
    return vector.owner is not None and type(vector.owner.op).__name__ == "Shape"


def constant(scalar: Any) -> int | None:
    """The value of a constant integer scalar."""
    while scalar is not None and scalar.owner is not None and type(scalar.owner.op).__name__ == "ScalarFromTensor":
        scalar = scalar.owner.inputs[0]
    data = getattr(scalar, "data", None)
    return None if data is None or np.ndim(data) else int(data)


def unspecified(variable: Any) -> Any:
    """What a variable is, below shapes that it is said to have."""
    while variable.owner is not None and type(variable.owner.op).__name__ == "SpecifyShape":
        variable = variable.owner.inputs[0]
    return variable


def _slice_of(array: Any) -> slice | None:
    """The slice of the first axis, where an array is one of another and nothing else."""
    if array.owner is None or type(array.owner.op).__name__ != "Subtensor":
        return None
    entries = unflatten(array.owner.op.idx_list, array.owner.inputs[1:])
    return entries[0] if len(entries) == 1 and isinstance(entries[0], slice) else None


def backwards(sequence: Any) -> Iterator[tuple[Any, int]]:
    """Arrays that a sequence goes through from their end: row `j` is row `length - 1 - behind - j` of the array."""
    turned, dropped = False, 0  # `dropped`: rows left out of the array's end
    array = unspecified(sequence)
    while (cut := _slice_of(array)) is not None:
        step = 1 if cut.step is None else constant(cut.step)
        start = 0 if cut.start is None else constant(cut.start)
        stop = None if cut.stop is None else constant(cut.stop)
        if step == -1 and not turned and (cut.start is None or (start is not None and start < 0)):
            # What was left out after turning counts from here: rows in front of a turned array are rows at the end.
            turned, dropped = True, dropped + (0 if cut.start is None else -1 - (start or 0))
        elif step == 1 and turned:
            # Not turned yet, seen from the array: the end is the end.
            if cut.stop is not None:
                if stop is None or stop >= 0:
                    return
                dropped -= stop
            if start is None or start < 0:
                return
        elif step == 1 and start is not None and start >= 0:
            dropped += start
        else:
            return
        array = unspecified(array.owner.inputs[0])
        if turned:
            yield array, dropped
