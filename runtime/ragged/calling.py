"""`OfRows`: what is called with rows of different lengths, be it a graph or a function (`callables.py`).

In: the arguments of a call as leaves, and of which trace each row is. Out: the results of all rows. Rows of which
Python decides otherwise, and rows without elements, which JAX's symbolic sizes exclude, are of another trace: they are
run apart from the rest, and put together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from .function import RowsFunction
from .values import Ragged, chosen, is_ragged_value, joined

Empty = frozenset[str]  # the sizes that are 0


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

    @staticmethod
    def of_rows(value: Any, path: str, axes: dict[int, str]) -> Leaf:
        """An argument that each row has for itself: a `Ragged`, or an array whose rows are all full.

        Raises:
            ArgumentShapeError: other axes have lengths of rows.
        """
        if not isinstance(value, Ragged):
            shape = np.shape(value)
            return Leaf(value, path, False, axes, tuple(np.full(shape[0], shape[axis], np.int32) for axis in axes))
        if tuple(axes) != value.axes:
            said = f"dims has {tuple(axes)}" if axes else "dims names none (write `n[b]`)"
            raise ArgumentShapeError(f"argument {path!r}: axes {value.axes} have lengths of rows, but {said}")
        return Leaf(value.values, path, False, axes, value.lengths)

    def some(self, rows: np.ndarray[Any, Any]) -> Leaf:
        """Some rows'."""
        if self.shared:
            return self
        return replace(self, value=self.value[rows], lengths=tuple(np.asarray(x)[rows] for x in self.lengths))


@dataclass(frozen=True)
class Rows:
    """The rows of a call, or some of them.

    Attributes:
        leaves: the arguments.
        lengths: of each size that rows have for themselves.
        sizes: all sizes, of those one that holds all rows: the greatest length, or what there is of values where
            lengths are traced.
    """

    leaves: list[Leaf]
    lengths: dict[str, Any]
    sizes: dict[str, int]

    @staticmethod
    def of(leaves: list[Leaf], known: Mapping[str, int]) -> Rows:
        """Those of arguments; `known` has the other sizes.

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
        return Rows(leaves, lengths, sizes)

    def some(self, rows: np.ndarray[Any, Any], count: str) -> Rows:
        """Some of them; `count` is the name of their number."""
        lengths = {name: np.asarray(x)[rows] for name, x in self.lengths.items()}
        longest = {name: int(x.max()) for name, x in lengths.items()}
        return Rows([leaf.some(rows) for leaf in self.leaves], lengths, {**self.sizes, count: len(rows), **longest})

    @property
    def filled(self) -> bool:
        """Whether lengths are known, and no row is without elements."""
        return all(isinstance(own, np.ndarray) and own.size and own.min() > 0 for own in self.lengths.values())


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

    def given(self, call: Rows, empty: Empty = frozenset()) -> tuple[list[Any], Mapping[str, Any], Mapping[str, int]]:
        """What `rows` takes: the arguments' values, the rows' lengths, the sizes; `empty` are the sizes that are 0."""
        fixed = {n: 0 if n in empty else call.sizes[n] for n in call.lengths if n not in self.rows.ragged}
        arrays = []
        for leaf, dtype in zip(call.leaves, self.dtypes, strict=True):
            value = leaf.value
            if fixed and not fixed.keys().isdisjoint(leaf.axes.values()):
                value = value[tuple(slice(0, fixed.get(leaf.axes.get(axis, ""))) for axis in range(value.ndim))]
            arrays.append(value if getattr(value, "dtype", None) is dtype else _converted(value, dtype))
        if not fixed:
            return arrays, call.lengths, call.sizes
        lengths, sizes = ({n: x for n, x in of.items() if n not in fixed} for of in (call.lengths, call.sizes))
        return arrays, lengths, sizes

    def __call__(self, call: Rows, empty: Empty = frozenset()) -> Any:
        """The results of rows, as the function has them."""
        results = self.rows(*self.given(call, empty))
        found = results[0] if len(results) == 1 else tuple(results)
        return found if self.restore is None else self.restore(found)


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

    def _variant(self, plan: Any, call: Rows, sizes: Mapping[str, int], empty: Empty) -> Variant:
        """What runs rows with these sizes, made now if there is none."""
        raise NotImplementedError

    @property
    def _variants(self) -> list[Variant]:
        raise NotImplementedError

    def _run(self, plan: Any, call: Rows) -> Any:
        """All rows; `plan.variant` is what runs those that are not empty, where it is known."""
        if plan.variant is not None and (not self._apart or call.filled):
            return plan.variant(call)
        if any(isinstance(x, jax.core.Tracer) for x in call.lengths.values()):
            return self._run_open(plan, call)
        parts = self._parts(plan, call)
        if len(parts) == 1:
            [(variant, empty, _)] = parts
            if not variant.guards and not empty:
                plan.variant = variant
            return variant(call, empty)
        results = [variant(call.some(rows, self._rows), empty) for variant, empty, rows in parts]
        places = [rows for _, _, rows in parts]
        return tree_util.tree_map(lambda *xs: joined(xs, places), *results, is_leaf=is_ragged_value)

    def _parts(self, plan: Any, call: Rows) -> list[tuple[Variant, Empty, np.ndarray[Any, Any]]]:
        """What rows are run by, which sizes are 0 there, and which rows."""
        parts: dict[int, tuple[Variant, Empty, list[np.ndarray[Any, Any]]]] = {}
        count = call.sizes.get(self._rows, 0)
        kinds, inverse = np.ones((1, len(call.lengths)), int), np.zeros(count, int)
        if count and call.lengths:
            stacked = np.stack([np.asarray(x) for x in call.lengths.values()], 1)
            kinds, inverse = np.unique(stacked, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            found = {**call.sizes, **dict(zip(call.lengths, map(int, kind), strict=True))}
            empty = frozenset(name for name in call.lengths if found[name] == 0)
            variant = self._variant(plan, call, found, empty)
            own = np.flatnonzero(inverse.reshape(-1) == number)
            parts.setdefault(id(variant), (variant, empty, []))[2].append(own)
        return [(variant, empty, np.sort(np.concatenate(rows))) for variant, empty, rows in parts.values()]

    def _run_open(self, plan: Any, call: Rows) -> Any:
        """Rows of lengths that are traced: those without elements are computed apart, and chosen where they are."""
        variant = self._variant(plan, call, call.sizes, frozenset())
        if variant.guards:
            raise ArgumentShapeError(
                f"{self.name} decides by the lengths of rows ({variant.guards[0]}, at {variant.guards[0].where}), "
                "which are traced here: give them as NumPy arrays from outside of jax.jit"
            )
        found = variant(call)
        if len(call.lengths) != 1:
            return found
        [(name, own)] = call.lengths.items()
        empty = frozenset([name])
        try:
            variant = self._variant(plan, call, {**call.sizes, name: 0}, empty)
        except (HlographError, TypeError, ValueError):  # it takes none, as a maximum does not
            return found
        filled = jax.numpy.asarray(own) != 0
        none = variant(call, empty)
        return tree_util.tree_map(functools.partial(chosen, filled), found, none, is_leaf=is_ragged_value)

    def _sizes(self, leaves: Sequence[Leaf], shapes: Sequence[Sequence[Any]]) -> dict[str, int]:
        """The number of rows, and the sizes that are the same for all of them, by their names in shapes of one row.

        Raises:
            ArgumentShapeError: two arguments contradict each other.
        """
        sizes: dict[str, int] = {}
        first: dict[str, str] = {}
        for leaf, names in zip(leaves, shapes, strict=True):
            own = np.shape(leaf.value)
            for axis, name in enumerate(names if leaf.shared else [self._rows, *names]):
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


def _converted(value: Any, dtype: Any) -> Any:
    """An argument in the program's dtype: random keys as integers, NumPy's as JAX has them."""
    if is_key(value):
        return jax.random.key_data(value)
    if isinstance(value, jax.Array) or getattr(value, "dtype", None) == dtype:
        return value
    return np.asarray(value, dtype)


__all__ = ["Empty", "Leaf", "OfRows", "Rows", "Variant"]
