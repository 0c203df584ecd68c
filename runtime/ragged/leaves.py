"""`Leaf`: one argument of the function of a row, and its values in a call.

In: the values of all rows, and their lengths. Out: those of some rows; the lengths and sizes that arguments agree on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from ...codegen.errors import ArgumentShapeError


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

    That is the greatest length, or what there is of values where lengths are traced.

    Raises:
        ArgumentShapeError: two arguments say different lengths.
    """
    lengths: dict[str, Any] = {}
    sizes, first = dict(known), dict[str, str]()
    for leaf in leaves:
        for (axis, name), given in zip(leaf.axes.items(), leaf.lengths, strict=True):
            own = given if isinstance(given, jax.core.Tracer) else np.asarray(given)
            before, extent = lengths.get(name), leaf.value.shape[axis]
            traced = isinstance(own, jax.core.Tracer) or isinstance(before, jax.core.Tracer)
            if before is None:
                lengths[name], first[name] = own, leaf.path
                sizes[name] = extent if traced else int(own.max()) if own.size else 0
            elif traced:
                sizes[name] = min(sizes[name], extent)
            elif not np.array_equal(before, own):
                row = int(np.argmax(before != own))
                raise ArgumentShapeError(
                    f"argument {leaf.path!r}, row {row}: {name} = {own[row]}, but {first[name]!r} has {before[row]}"
                )
    return lengths, sizes


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
