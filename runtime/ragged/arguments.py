"""Arguments of a function of rows: which of their axes belong to rows, and lists of rows as `Ragged`.

In: what `dims` and `jax.vmap`'s `in_axes` say, and arguments. Out: the names of sizes that rows have for themselves,
and pytrees whose leaves are arrays with the rows in front, or `Ragged`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen.errors import ArgumentTypeError, GraphError, OptionError
from ...codegen.inputs import unfolded
from .values import Ragged

OF_ROWS = re.compile(r"\b([A-Za-z_]\w*)\[([A-Za-z_]\w*)\]")


def sizes_named(dims: Any) -> tuple[str, frozenset[str]]:
    """The name of the number of rows, and the sizes that each of them has for itself."""
    texts: list[str] = []
    stack = [dims]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            texts.append(entry)
        elif isinstance(entry, Mapping):
            stack.extend(entry.values())
        elif isinstance(entry, Sequence):
            stack.extend(entry)
    found = [match for text in texts for match in OF_ROWS.findall(text)]
    rows = {name for _, name in found}
    if len(rows) > 1:
        raise GraphError(f"dims: sizes belong to the rows of one batch, not to {' and '.join(sorted(rows))}")
    return rows.pop(), frozenset(name for name, _ in found)


def is_ragged_value(x: Any) -> bool:
    return isinstance(x, Ragged)


def _is_axes(entry: Any) -> bool:
    return isinstance(entry, tuple | list) and all(x in (None, ...) or isinstance(x, str | int) for x in entry)


def with_rows(value: Any, entry: Any, listed: list[bool]) -> Any:
    """An argument with `Ragged` in place of lists of rows; notes for each ragged leaf whether it came as a list."""
    if isinstance(value, Ragged):
        listed.append(False)
        return value
    if entry is None or not is_ragged(entry):
        return value
    if _is_axes(entry):
        if isinstance(value, tuple | list) and (... in entry or all(np.ndim(x) == len(entry) - 1 for x in value)):
            axes = unfolded(entry, np.ndim(value[0]) + 1) if value else ()
            listed.append(True)
            return Ragged.from_rows(
                value, [axis for axis, size in enumerate(axes) if isinstance(size, str) and OF_ROWS.search(size)]
            )
        if hasattr(value, "shape"):
            listed.append(False)
            return value
        if tree_util.all_leaves([value]):
            raise ArgumentTypeError(f"rows are a list of arrays, a Ragged or an array, got {type(value).__name__}")
        return tree_util.tree_map(lambda x: with_rows(x, entry, listed), value, is_leaf=is_ragged_value)
    if isinstance(value, Mapping):
        return type(value)({name: with_rows(x, entry.get(name), listed) for name, x in value.items()})  # type: ignore[call-arg]
    if isinstance(value, tuple | list) and isinstance(entry, tuple | list):
        parts = [with_rows(x, each, listed) for x, each in zip(value, entry, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def prefix(axes: Any, value: Any) -> list[int | None]:
    """For each leaf of a pytree the entry of a prefix of it."""
    found: list[int | None] = []

    def visit(axis: Any, part: Any) -> None:
        found.extend([axis] * len(tree_util.tree_leaves(part, is_leaf=is_ragged_value)))

    tree_util.tree_map(visit, axes, value, is_leaf=lambda x: x is None)
    return found


def leading(value: Any, axis: int | None) -> Any:
    """A leaf with the rows in front."""
    if isinstance(value, Ragged):
        if axis not in (0, None):
            raise OptionError(f"rows of different lengths have in_axes 0, not {axis}")
        return value
    if not axis:
        return value
    return (np if isinstance(value, np.ndarray) else jax.numpy).moveaxis(value, axis, 0)


def is_ragged(dims: Any) -> bool:
    """Whether names of axes say somewhere that rows have sizes of their own."""
    if isinstance(dims, str):
        return OF_ROWS.search(dims) is not None
    if isinstance(dims, Mapping):
        return any(map(is_ragged, dims.values()))
    return isinstance(dims, Sequence) and any(map(is_ragged, dims))
