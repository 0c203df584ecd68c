"""`Leaf`: one argument of the function of a row, and its values in a call.

In: the values of all rows, and their lengths. Out: those of some rows; the lengths and sizes that arguments agree on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .arguments import Lengths


@dataclass(frozen=True)
class Leaf:
    """One argument of the function of a row, and its values in a call.

    Attributes:
        value: of all rows, or the same for all.
        path: what it is called.
        shared: it is the same for all rows.
        axes: for each ragged axis, counted as in `value`, the name of its size.
        lengths: of each ragged axis.
    """

    value: Any
    path: str
    shared: bool
    axes: dict[int, str] = field(default_factory=dict)
    lengths: tuple[Any, ...] = ()


def all_filled(lengths: Mapping[str, Any]) -> bool:
    """Whether lengths are known, and no row is without elements."""
    return all(isinstance(own, np.ndarray) and own.size and own.min() > 0 for own in lengths.values())


def lengths_of(leaves: Sequence[Leaf], known: Mapping[str, int]) -> tuple[dict[str, Any], dict[str, int]]:
    """The lengths of each size that rows have for themselves; and all sizes, of those one that holds all rows.

    Raises:
        ArgumentShapeError: two arguments say different lengths.
    """
    found = Lengths({}, dict(known))
    for leaf in leaves:
        for (axis, name), own in zip(leaf.axes.items(), leaf.lengths, strict=True):
            found.note(name, own, leaf.value.shape[axis], leaf.path)
    return found.lengths, found.sizes


def part(
    leaves: Sequence[Leaf], lengths: Mapping[str, Any], sizes: Mapping[str, int], name: str, rows: np.ndarray[Any, Any]
) -> tuple[list[Leaf], dict[str, Any], dict[str, int]]:
    """Some rows' values, lengths and sizes; `name` is that of the number of rows."""
    some = {own: np.asarray(x)[rows] for own, x in lengths.items()}
    longest = {own: int(x.max()) for own, x in some.items()}
    return [rows_of(leaf, rows) for leaf in leaves], some, {**sizes, name: len(rows), **longest}


def rows_of(leaf: Leaf, rows: np.ndarray[Any, Any]) -> Leaf:
    if leaf.shared:
        return leaf
    return replace(leaf, value=leaf.value[rows], lengths=tuple(np.asarray(x)[rows] for x in leaf.lengths))
