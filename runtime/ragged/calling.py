"""`OfRows`: what is called with rows of different lengths, be it a graph (`graphs.py`) or a function (`jitted.py`).

In: arguments as leaves, and of which trace each row is. Out: the results of all rows. Rows of which Python decides
otherwise, and rows without elements, which JAX's symbolic sizes exclude, are of another trace: they are run apart from
the rest, and put together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen.constraints import Constraint
from ...codegen.errors import ArgumentShapeError, HlographError
from ...codegen.program import Program
from ...dialects.jax.trace import is_key
from ..executables.stats import Stats
from ..function import Function
from .arguments import is_ragged_value
from .function import RowsFunction
from .leaves import Leaf, all_filled, part
from .results import chosen, joined

Empty = frozenset[str]  # the sizes that are 0


@dataclass
class Variant:
    """A program, for rows of which the same holds.

    Attributes:
        guards: that.
        program: of one row.
        rows: what runs it for many.
        restore: makes of the program's results the function's; None where they are the same.
    """

    guards: tuple[Constraint, ...]
    program: Program
    rows: RowsFunction
    restore: Callable[[Any], Any] | None = None

    @functools.cached_property
    def dtypes(self) -> list[Any]:
        """Those of the program's arguments."""
        return [argument.dtype for argument in self.program.signature.arguments]


class OfRows:
    """A function of a row, for many rows of different lengths.

    Attributes:
        name: what messages call it.
    """

    name: str
    program: Any  # of one row; of a function of JAX's what gives it, from arguments
    _rows: str
    _ragged: frozenset[str]
    # Whether rows without elements need a trace of their own.
    _apart = True

    def _variant(self, plan: Any, leaves: Sequence[Leaf], sizes: Mapping[str, int], empty: Empty) -> Variant:
        """What runs rows with these sizes, made now if there is none."""
        raise NotImplementedError

    @property
    def _variants(self) -> list[Variant]:
        raise NotImplementedError

    def _run(self, plan: Any, leaves: list[Leaf], lengths: dict[str, Any], sizes: dict[str, int]) -> Any:
        """All rows; `plan.variant` is what runs those that are not empty, where it is known."""
        if plan.variant is not None and (not self._apart or all_filled(lengths)):
            return self._call(plan.variant, leaves, lengths, sizes, frozenset())
        if any(isinstance(x, jax.core.Tracer) for x in lengths.values()):
            return self._run_open(plan, leaves, lengths, sizes)
        parts = self._parts(plan, leaves, lengths, sizes)
        if len(parts) == 1:
            [(variant, empty, _)] = parts
            if not variant.guards and not empty:
                plan.variant = variant
            return self._call(variant, leaves, lengths, sizes, empty)
        results = [
            self._call(variant, *part(leaves, lengths, sizes, self._rows, rows), empty)
            for variant, empty, rows in parts
        ]
        places = [rows for _, _, rows in parts]
        return tree_util.tree_map(lambda *xs: joined(xs, places), *results, is_leaf=is_ragged_value)

    def _parts(
        self, plan: Any, leaves: Sequence[Leaf], lengths: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> list[tuple[Variant, Empty, np.ndarray[Any, Any]]]:
        """What rows are run by, which sizes are 0 there, and which rows."""
        parts: dict[int, tuple[Variant, Empty, list[np.ndarray[Any, Any]]]] = {}
        if not sizes.get(self._rows, 0) or not lengths:
            kinds, inverse = np.ones((1, len(lengths)), int), np.zeros(sizes.get(self._rows, 0), int)
        else:
            stacked = np.stack([np.asarray(x) for x in lengths.values()], 1)
            kinds, inverse = np.unique(stacked, axis=0, return_inverse=True)
            inverse = inverse.reshape(-1)
        for number, kind in enumerate(kinds):
            found = {**sizes, **dict(zip(lengths, map(int, kind), strict=True))}
            empty = frozenset(name for name in lengths if found[name] == 0)
            variant = self._variant(plan, leaves, found, empty)
            parts.setdefault(id(variant), (variant, empty, []))[2].append(np.flatnonzero(inverse == number))
        return [(variant, empty, np.sort(np.concatenate(rows))) for variant, empty, rows in parts.values()]

    def _run_open(self, plan: Any, leaves: list[Leaf], lengths: dict[str, Any], sizes: dict[str, int]) -> Any:
        """Rows of lengths that are traced: those without elements are computed apart, and chosen where they are."""
        variant = self._variant(plan, leaves, sizes, frozenset())
        if variant.guards:
            raise ArgumentShapeError(
                f"{self.name} decides by the lengths of rows ({variant.guards[0]}, at {variant.guards[0].where}), "
                "which are traced here: give them as NumPy arrays from outside of jax.jit"
            )
        found = self._call(variant, leaves, lengths, sizes, frozenset())
        if len(lengths) != 1:
            return found
        [(name, own)] = lengths.items()
        empty = frozenset([name])
        try:
            variant = self._variant(plan, leaves, {**sizes, name: 0}, empty)
        except (HlographError, TypeError, ValueError):  # it takes none, as a maximum does not
            return found
        none = self._call(variant, leaves, lengths, sizes, empty)
        filled = jax.numpy.asarray(own) != 0
        return tree_util.tree_map(functools.partial(chosen, filled), found, none, is_leaf=is_ragged_value)

    def _call(
        self,
        variant: Variant,
        leaves: Sequence[Leaf],
        lengths: Mapping[str, Any],
        sizes: Mapping[str, int],
        empty: Empty,
    ) -> Any:
        results = variant.rows(*self._given(variant, leaves, lengths, sizes, empty))
        found = results[0] if len(results) == 1 else tuple(results)
        return found if variant.restore is None else variant.restore(found)

    def _given(
        self,
        variant: Variant,
        leaves: Sequence[Leaf],
        lengths: Mapping[str, Any],
        sizes: Mapping[str, int],
        empty: Empty,
    ) -> tuple[list[Any], Mapping[str, Any], Mapping[str, int]]:
        """What the program takes: the arguments' values, the rows' lengths, the sizes."""
        arrays = []
        fixed = {name: 0 if name in empty else sizes[name] for name in lengths if name not in variant.rows.ragged}
        for leaf, dtype in zip(leaves, variant.dtypes, strict=True):
            value = leaf.value
            if fixed and not fixed.keys().isdisjoint(leaf.axes.values()):
                value = value[tuple(slice(0, fixed.get(leaf.axes.get(axis, ""))) for axis in range(value.ndim))]
            arrays.append(value if getattr(value, "dtype", None) is dtype else converted(value, dtype))
        if fixed:
            lengths = {name: x for name, x in lengths.items() if name not in fixed}
            sizes = {name: size for name, size in sizes.items() if name not in fixed}
        return arrays, lengths, sizes

    def _sizes(self, leaves: Sequence[Leaf], shapes: Sequence[Sequence[Any]]) -> dict[str, int]:
        """The number of rows, and the sizes that are the same for all of them, by their names in shapes of one row.

        Raises:
            ArgumentShapeError: two arguments contradict each other.
        """
        sizes: dict[str, int] = {}
        first: dict[str, str] = {}
        for leaf, names in zip(leaves, shapes, strict=True):
            own = np.shape(leaf.value)
            named = list(enumerate(names if leaf.shared else [self._rows, *names]))
            for axis, name in named:
                if not isinstance(name, str) or not name.isidentifier() or axis in leaf.axes:
                    continue
                if sizes.setdefault(name, own[axis]) != own[axis]:
                    raise ArgumentShapeError(
                        f"argument {leaf.path!r} has {name} = {own[axis]}, but {first[name]!r} has {sizes[name]}"
                    )
                first.setdefault(name, leaf.path)
        return sizes

    # ---- looking ----------------------------------------------------------------------------------------------------

    @property
    def functions(self) -> list[Function]:
        """The compiled functions held now: one for each trace and set of bounds."""
        return [function for variant in self._variants for function in variant.rows.functions]

    @property
    def programs(self) -> list[Program]:
        """The programs of one row that are held now."""
        return [variant.program for variant in self._variants]

    @property
    def stats(self) -> Stats:
        """Calls, compiles and cache hits of all programs so far."""
        return Stats.total([function.stats for function in self.functions])


def converted(value: Any, dtype: Any) -> Any:
    """An argument in the program's dtype: random keys as integers, NumPy's as JAX has them."""
    if is_key(value):
        return jax.random.key_data(value)
    if isinstance(value, jax.Array) or getattr(value, "dtype", None) == dtype:
        return value
    return np.asarray(value, dtype)


__all__ = ["Empty", "OfRows", "Variant", "converted"]
