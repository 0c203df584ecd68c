"""What runs rows of different lengths: a program of one row, for many (`RowsFunction`); of which trace each row is.

In: the arguments of a call (`callables.py`), padded, and their lengths. Out: the results of all rows, padded likewise.
A call's number of rows and greatest lengths are padded to the policy's bounds; for each set of bounds there is one
static program (`codegen/source.py`), which is a `Function` like any other: JAX differentiates it. Rows of which Python
decides otherwise, and rows without elements, which JAX's symbolic sizes exclude, are of another trace: they are run
apart from the rest, and put together (`OfRows`).
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen import dims as dimension
from ...codegen import forks, source
from ...codegen import signature as signatures
from ...codegen.constraints import Constraint
from ...codegen.dims import Dim
from ...codegen.errors import ArgumentError, ArgumentShapeError, HlographError, PaddingError, PolicyError
from ...codegen.passes.buckets import DEFAULT_BUCKET, Bucket
from ...codegen.program import Program
from ...codegen.signature import Argument, Signature
from ...dialects.jax.trace import is_key
from ..calls.path import Written
from ..executables.padding import cut, pad
from ..executables.policy import WARN_AFTER, Plan, Policies
from ..executables.stats import Stats
from ..function import Function
from ..options import CompileOptions
from ..warming import too_many
from .values import Ragged, arrays_of, chosen, is_ragged_value, joined, undefined

_RELATIONS = {">=": operator.ge, "==": operator.eq, "!=": operator.ne}
_MOST = np.iinfo(np.int32).max
# Calls with this many different sizes are recognized; then recognition starts again.
_KNOWN_SIZES = 1 << 12
# Rows cost what they compute: their number grows in larger steps than a length, which multiplies with it.
ROW_BUCKET = Bucket(factor=1.5, start=8)
Empty = frozenset[str]  # the sizes that are 0


# The bounds of some calls, and what runs these: a function of the element's arguments, of sizes by their names, and of
# which rows count; behind the element's results come sizes from data.
Made = tuple[Plan, Function]


class RowsFunction:
    """A program of one row, for many.

    Args:
        element: the program.
        shared: the arguments that are the same for all rows.
        ragged: the sizes that each row has for itself.
        rows: the name of their number.
        options: how programs are compiled; the policy is one of `rows` and all sizes.
    """

    def __init__(
        self, element: Program, shared: frozenset[int], ragged: frozenset[str], rows: str, options: CompileOptions
    ) -> None:
        names = [root.name for root in element.signature.roots]
        self.element, self.shared, self.ragged, self.rows = element, shared, ragged & set(names), rows
        self.options = options
        self._others = [name for name in names if name not in ragged]
        self.names = [rows, *names]
        self._plain = all(type(dim) is int for result in element.signature.results for dim in result.dims)
        given: Mapping[str, Any] = options.policy if isinstance(options.policy, Mapping) else {}
        others = "auto" if isinstance(options.policy, Mapping) else options.policy
        choices: dict[str, Any] = {**dict.fromkeys(self.names, others), **given}
        # Where "auto" leaves it open, rows and ragged sizes are padded from the first call on.
        choices |= {name: DEFAULT_BUCKET for name in self.ragged if choices[name] in ("auto", "padded")}
        choices[rows] = ROW_BUCKET if choices[rows] in ("auto", "padded") else choices[rows]
        of_sizes = Argument("rows", np.dtype(bool), tuple(map(dimension.symbol, self.names)))
        self._policies = Policies(choices, Signature((of_sizes,), (), signatures.find_roots([of_sizes])))
        self._takes_extents = others == "auto" and {rows, *self.ragged}.isdisjoint(given)
        # What is demanded of sizes: a difference, and how it is to be to 0; and of which size it is the least value.
        self._demands = [
            (c, c.lhs - c.rhs, str(c.lhs) if c.relation == ">=" and type(c.rhs) is int else "")
            for c in element.signature.constraints
        ]
        self._programs: dict[Any, Made] = {}
        self._recent: dict[Any, Made] = {}
        self._extents: list[Mapping[str, int]] = []
        self._places = [
            (number, [(axis, str(dim)) for axis, dim in enumerate(argument.dims, start=1) if str(dim) in self.ragged])
            for number, argument in enumerate(element.signature.arguments)
            if number not in shared
        ]
        self._lock = forks.lock()

    def __call__(self, arrays: Sequence[Any], lengths: Mapping[str, Any], sizes: Mapping[str, int]) -> list[Any]:
        """The results of all rows; of traced lengths NaN (of integers 0) where a row is none that the program is for.

        Args:
            arrays: for each argument of the element its value, or its values in all rows; ragged axes are as long as
                the longest row, or longer.
            lengths: of each ragged size the rows' values.
            sizes: the number of rows, the other sizes, and of the ragged ones what holds all rows.

        Returns:
            The results: arrays with the rows in front, or `Ragged` where axes have a length of their own in each row.
        """
        self._check(lengths, sizes)
        known = not any(isinstance(x, jax.core.Tracer) for x in lengths.values())
        counted = None if known else self._counted(lengths, sizes)
        (_, function), given = self.prepared(arrays, lengths, sizes, counted)
        found = self.cut(function, function.run(given), lengths, sizes)
        return found if counted is None else [chosen(counted, x, undefined(x)) for x in found]

    def cut(
        self, function: Function, results: Sequence[Any], lengths: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> list[Any]:
        """Results without what is behind the last row, and behind the longest one."""
        rows = sizes[self.rows]
        if self._plain:
            return [cut(x, (rows, *x.shape[1:])) for x in results]
        count = len(self.element.signature.results)
        known: dict[str, Any] = {**sizes, **lengths}
        counts = function.program.signature.results[count:]
        known.update({result.name: x[:rows] for result, x in zip(counts, results[count:], strict=True)})
        pairs = zip(results, self.element.signature.results, strict=False)
        return [_result(x, result.dims, known, rows) for x, result in pairs]

    def prepared(
        self, arrays: Sequence[Any], lengths: Mapping[str, Any], sizes: Mapping[str, int], counted: Any = None
    ) -> tuple[Made, list[Any]]:
        """What runs such a call, and its arguments.

        Args:
            arrays, lengths, sizes: those of the call.
            counted: which rows count, a vector of booleans; the others give zeros. By default all.
        """
        traced = any(isinstance(x, jax.core.Tracer) for x in (*arrays, *lengths.values()))
        sizes = sizes if traced or not self._takes_extents else self._as_given(arrays, sizes)
        key = (traced, counted is None, *map(sizes.__getitem__, self.names))
        made = self._recent.get(key)
        if made is None:
            if len(self._recent) >= _KNOWN_SIZES:
                self._recent.clear()
            made = self._recent[key] = self._made(sizes, traced, counted is not None)
        plan, function = made
        rows, bound, arguments = sizes[self.rows], plan.bounds[self.rows], function.program.signature.arguments
        given = [_fitted(x, argument.dims) for x, argument in zip(arrays, arguments, strict=False)]
        for name in [argument.name for argument in arguments[len(arrays) : -1]]:
            given.append(_lengths(lengths[name], bound) if name in self.ragged else np.int32(sizes[name]))
        given.append(np.arange(bound) < rows if counted is None else jax.numpy.pad(counted, (0, bound - rows)))
        return made, given

    def _as_given(self, arrays: Sequence[Any], sizes: Mapping[str, int]) -> Mapping[str, int]:
        """The sizes, of rows that are on the device already those of the arrays: whoever padded them has chosen.

        After some different ones that ends, and bounds are those of buckets.
        """
        found = dict(sizes)
        for number, axes in self._places:
            x = arrays[number]
            if not isinstance(x, jax.Array):
                return sizes
            for axis, name in axes:
                found[name] = max(found[name], x.shape[axis])
        if found not in self._extents:
            if len(self._extents) >= WARN_AFTER:
                return sizes
            self._extents.append(found)
        return found

    def _met(self, lengths: Mapping[str, Any], sizes: Mapping[str, int]) -> Iterator[tuple[Constraint, Any]]:
        """Each demand that not all rows are seen to meet, and for each row whether it does; but for sizes from data."""
        known = {**sizes, **lengths}
        for constraint, difference, least_of in self._demands:
            own = lengths.get(least_of)
            if isinstance(own, np.ndarray) and own.min(initial=_MOST) >= constraint.rhs:
                continue
            if dimension.roots(difference) <= known.keys():
                yield constraint, _RELATIONS[constraint.relation](_value_of(difference, known), 0)

    def _counted(self, lengths: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
        """Of traced lengths: for each row whether its values are there, and it is one that the program is for."""
        found: Any = True
        for name, own in lengths.items():
            values = jax.numpy.asarray(own)
            found = found & (values >= 0) & (values <= sizes[name])
        for _, holds in self._met(lengths, sizes):
            found = found & holds
        return found

    def _check(self, lengths: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        """Each row is one that the program is for; of traced lengths nothing is known.

        Raises:
            ArgumentShapeError: one is not.
        """
        if any(isinstance(x, jax.core.Tracer) for x in lengths.values()):
            return
        for constraint, holds in self._met(lengths, sizes):
            if not np.all(holds):
                row = int(np.argmin(holds))
                names = sorted(dimension.roots(constraint.lhs - constraint.rhs))
                known = {**sizes, **{name: int(x[row]) for name, x in lengths.items() if name in names}}
                said = ", ".join(f"{name} = {known[name]}" for name in names)
                raise ArgumentShapeError(f"row {row}: {constraint} does not hold for {said} ({constraint.where})")

    def _made(self, sizes: Mapping[str, int], traced: bool = False, partial: bool = False) -> Made:
        """What runs a call with these sizes, made now if there is none; `partial` where some rows do not count.

        Raises:
            ArgumentShapeError: a size is above its bound.
            PaddingError: an op that cannot be padded.
        """
        try:
            plan = self._policies.plan(sizes, exact=traced or sizes in self._extents)
        except PolicyError as error:
            raise ArgumentShapeError(str(error)) from None
        exact = {name: plan.exact[name] for name in self._others if name in plan.exact}
        bounds = {name: plan.bounds.get(name, size) for name, size in sizes.items() if name not in exact}
        rows = bounds[self.rows] = max(1, bounds[self.rows])
        met = Plan(exact, bounds)
        key = (met.key, partial)
        with self._lock:
            if key not in self._programs:
                if len(self._programs) >= self.options.cache_size:
                    self._programs.pop(next(iter(self._programs)))
                    self._recent.clear()
                element = self.element.specialize(exact) if exact else self.element
                open_ = {name: bound for name, bound in bounds.items() if name != self.rows}
                batch = source.Rows(rows, self.shared, self.ragged, open_, self.options.passes, partial)
                try:
                    program = batch.of(element)
                except PaddingError as error:
                    raise PaddingError(f"rows of different lengths need padding, and {error}") from None
                # Loops have been seen to before there were rows.
                self._programs[key] = met, Function(program, replace(self.options, policy="exact", passes=()))
            return self._programs[key]

    def warm(self, sizes: Mapping[str, int], up_to: Mapping[str, int]) -> dict[str, float]:
        """Compiles what a call runs whose rows are NumPy arrays; nothing is run.

        Args:
            sizes: as in a call.
            up_to: in place of some of them the largest; every bucket is compiled that such calls can meet.

        Returns:
            The seconds that it took, by the bounds ("b<=8, n<=24").

        Raises:
            ArgumentError: a size is missing or unknown.
        """
        given = {**up_to, **sizes}
        unknown, missing = sorted(given.keys() - {*self.names}), [name for name in self.names if name not in given]
        if unknown or missing:
            said = f"there is no size {unknown[0]!r}" if unknown else f"the size {missing[0]} is not known"
            raise ArgumentError(f"sizes: {said}; give {', '.join(self.names)}, of lengths the greatest")
        spans = {name: self._policies.buckets(name, up_to[name]) for name in up_to.keys() - sizes.keys()}
        count = math.prod(map(len, spans.values()))
        if count > self.options.cache_size:
            raise too_many(self.element.name, count, self.options.cache_size)
        self._policies.warmed(up_to)
        seconds: dict[str, float] = {}
        for each in itertools.product(*spans.values()):
            largest = {name: span[-1] for name, span in zip(spans, each, strict=True)}
            plan, function = self._made({**given, **largest})
            seconds[str(plan)] = sum(function.warm().values())
        return seconds

    def warm_call(
        self, arrays: Sequence[Any], lengths: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> dict[str, float]:
        """The same for what runs such a call."""
        self._check(lengths, sizes)
        (plan, function), _ = self.prepared(arrays, lengths, sizes)
        return {str(plan): sum(function.warm().values())}

    @property
    def functions(self) -> list[Function]:
        """The compiled functions held now, one for each set of bounds."""
        return [function for _, function in list(self._programs.values())]

    def clear(self) -> None:
        """Drops all programs."""
        with self._lock:
            self._programs.clear()
            self._recent.clear()
            self._extents.clear()


def _fitted(x: Any, shape: Sequence[Any]) -> Any:
    """An array of this shape: with zeros behind it, or without padding that no row needs."""
    if x.shape == shape:
        return x
    kept = tuple(map(min, x.shape, shape))
    return pad(cut(x, kept), tuple(shape))


def _lengths(values: Any, count: int) -> Any:
    if isinstance(values, jax.core.Tracer):
        return jax.numpy.pad(values.astype(np.int32), (0, count - values.shape[0]))
    found = np.zeros(count, np.int32)
    found[: len(values)] = values
    return found


def _result(x: Any, dims: Sequence[Dim], known: Mapping[str, Any], rows: int) -> Any:
    """A result of all rows, cut to the longest of them; `known` has the sizes, those of each row as vectors."""
    shape, axes, lengths = [rows], [], []
    for axis, dim in enumerate(dims, start=1):
        size = _value_of(dim, known)
        if np.ndim(size) == 0:
            shape.append(int(size))
            continue
        axes.append(axis)
        lengths.append(size.astype(np.int32))
        is_open = isinstance(size, jax.core.Tracer)
        shape.append(x.shape[axis] if is_open else int(np.asarray(size).max()) if rows else 0)
    found = cut(x, tuple(shape))
    return Ragged(found, tuple(lengths), tuple(axes)) if axes else found


def _value_of(dim: Dim, known: Mapping[str, Any]) -> Any:
    """A dimension's value in each row, or in all of them, for sizes of which some are vectors."""
    traced = any(isinstance(known[name], jax.core.Tracer) for name in dimension.roots(dim))
    module: Any = jax.numpy if traced else np
    wide = None if traced else np.int64

    def read(name: str) -> Any:
        return known[name] if isinstance(known[name], int) else module.asarray(known[name], wide)

    return dimension.rebuild(dim, read, minimum=module.minimum, maximum=module.maximum)


# ---- calls -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaf:
    """One argument of the function of a row.

    Attributes:
        path: what it is called.
        axes: for each ragged axis, counted with that of the rows in front, the name of its size; None where it is the
            same for all rows.
    """

    path: str
    axes: dict[int, str] | None


@dataclass(frozen=True)
class Rows:
    """The rows of a call, or some of them.

    Attributes:
        leaves: the arguments.
        values: their values, of all rows, or the same for all.
        lengths: of each size that rows have for themselves.
        sizes: all sizes, of those one that holds all rows: the greatest length, or what there is of values where
            lengths are traced.
    """

    leaves: Sequence[Leaf]
    values: list[Any]
    lengths: dict[str, Any]
    sizes: dict[str, int]

    @staticmethod
    def of(leaves: Sequence[Leaf], given: Sequence[Any], known: Mapping[str, int]) -> Rows:
        """Those of arguments, of which each is a `Ragged`, or an array whose rows are all full; `known` has the other
        sizes.

        Raises:
            ArgumentShapeError: other axes have lengths of rows, or two arguments say different lengths.
        """
        lengths: dict[str, Any] = {}
        sizes, first = dict(known), dict[str, str]()
        for leaf, value in zip(leaves, given, strict=True):
            axes = leaf.axes or {}
            if isinstance(value, Ragged) and tuple(axes) != value.axes:
                said = f"dims has {tuple(axes)}" if axes else "dims names none (write `n[b]`)"
                raise ArgumentShapeError(f"argument {leaf.path!r}: axes {value.axes} have lengths of rows, but {said}")
            shape = value.values.shape if isinstance(value, Ragged) else np.shape(value)
            for number, (axis, name) in enumerate(axes.items()):
                is_ragged = isinstance(value, Ragged)
                own = value.lengths[number] if is_ragged else np.full(shape[0], shape[axis], np.int32)
                own = own if isinstance(own, jax.core.Tracer) else np.asarray(own)
                before, extent = lengths.get(name), shape[axis]
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
        return Rows(leaves, [arrays_of(x) for x in given], lengths, sizes)

    def some(self, rows: np.ndarray[Any, Any], count: str) -> Rows:
        """Some of them; `count` is the name of their number."""
        lengths = {name: np.asarray(x)[rows] for name, x in self.lengths.items()}
        longest = {name: int(x.max()) for name, x in lengths.items()}
        values = [x if leaf.axes is None else x[rows] for leaf, x in zip(self.leaves, self.values, strict=True)]
        return Rows(self.leaves, values, lengths, {**self.sizes, count: len(rows), **longest})

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

    def given(self, call: Rows, empty: Empty = frozenset()) -> tuple[list[Any], Mapping[str, Any], Mapping[str, int]]:
        """What `rows` takes: the arguments' values, the rows' lengths, the sizes; `empty` are the sizes that are 0."""
        fixed = {n: 0 if n in empty else call.sizes[n] for n in call.lengths if n not in self.rows.ragged}
        arrays = []
        for leaf, value, argument in zip(call.leaves, call.values, self.program.signature.arguments, strict=True):
            dtype = argument.dtype
            if fixed and leaf.axes and not fixed.keys().isdisjoint(leaf.axes.values()):
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


class OfRows(Written):
    """A function of a row, for many rows of different lengths.

    Attributes:
        name: what messages call it.
    """

    name: str
    program: Any  # of one row; of a function of JAX's what gives it, from arguments
    _rows: str
    _ragged: frozenset[str]
    _apart = True  # whether rows without elements need a trace of their own
    _programs: Any = None  # of a function of JAX's its traces

    def _variant(self, plan: Any, call: Rows, sizes: Mapping[str, int], empty: Empty) -> Variant:
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

    def _sizes(self, leaves: Sequence[Leaf], given: Sequence[Any], shapes: Sequence[Any]) -> dict[str, int]:
        """The number of rows, and the sizes that are the same for all of them, by their names in shapes of one row;
        None in place of a shape where it says nothing of them.

        Raises:
            ArgumentShapeError: two arguments contradict each other.
        """
        sizes: dict[str, int] = {}
        first: dict[str, str] = {}
        for leaf, value, names in zip(leaves, given, shapes, strict=True):
            own = np.shape(arrays_of(value))
            named = () if names is None else names if leaf.axes is None else [self._rows, *names]
            for axis, name in enumerate(named):
                if not isinstance(name, str) or not name.isidentifier() or axis in (leaf.axes or ()):
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
        """Calls, compiles and cache hits of all programs so far; traces, of a function of JAX's."""
        return Stats.total(
            [function.stats for function in self.functions], traces=self._programs.traces if self._programs else 0
        )


def _converted(value: Any, dtype: Any) -> Any:
    """An argument in the program's dtype: random keys as integers, NumPy's as JAX has them."""
    if is_key(value):
        return jax.random.key_data(value)
    if isinstance(value, jax.Array) or getattr(value, "dtype", None) == dtype:
        return value
    return np.asarray(value, dtype)
