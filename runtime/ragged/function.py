"""`RowsFunction`: a program of one row, called for many rows of different lengths.

In: the values of many rows, padded, and their lengths. Out: the results of all rows, padded likewise. A call's number
of rows and greatest lengths are met at bounds, as the policy says; for each set of bounds there is one static program
(`codegen/source.py`), which is a `Function` like any other: JAX differentiates it.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from ...codegen import dims as dimension
from ...codegen import forks
from ...codegen import signature as signatures
from ...codegen.constraints import Constraint
from ...codegen.dims import Dim
from ...codegen.errors import ArgumentError, ArgumentShapeError, PaddingError, PolicyError
from ...codegen.program import Program
from ...codegen.signature import Argument, Signature
from ...codegen.source import Rows
from ..executables.padding import cut, pad
from ..executables.policy import WARN_AFTER, Bucket, Policies, PolicyArgument
from ..function import Function
from ..options import CompileOptions
from ..warming import too_many
from .values import Ragged, chosen, undefined

_RELATIONS = {">=": operator.ge, "==": operator.eq, "!=": operator.ne}
_MOST = np.iinfo(np.int32).max
# Calls with so many different sizes are recognized; then recognition starts again.
_KNOWN_SIZES = 1 << 12
# Rows cost what they compute: their number grows in larger steps than a length, which multiplies with it.
ROW_BUCKET = Bucket(factor=1.5, start=8)


@dataclass(frozen=True)
class Made:
    """What runs calls within some bounds.

    Attributes:
        name: the bounds, as text.
        rows: how many there can be.
        function: the compiled program.
        shapes: those of its first arguments, which are the element's.
        sizes: the names of the sizes that come then.
        counts: the names of the sizes from data that come behind the element's results.
    """

    name: str
    rows: int
    function: Function
    shapes: Sequence[Any]
    sizes: Sequence[str]
    counts: Sequence[str]

    def warm(self) -> dict[str, float]:
        """Compiles it; the seconds that it took, by its bounds."""
        return {self.name: sum(self.function.warm().values())}


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
        self._policies = Policies(_choices(options.policy, rows, names, ragged), _of_sizes([rows, *names]))
        # What is demanded of sizes: a difference, and how it is to be to 0; and of which size it is the least value.
        self._demands = [
            (c, c.lhs - c.rhs, str(c.lhs) if c.relation == ">=" and type(c.rhs) is int else "")
            for c in element.signature.constraints
        ]
        self._programs: dict[Any, Made] = {}
        self._recent: dict[Any, Made] = {}
        self._extents: list[Mapping[str, int]] = []
        policy = options.policy if isinstance(options.policy, Mapping) else {}
        self._places = [
            (number, [(axis, str(dim)) for axis, dim in enumerate(argument.dims, start=1) if str(dim) in self.ragged])
            for number, argument in enumerate(element.signature.arguments)
            if number not in shared
        ]
        is_open = options.policy == "auto" or isinstance(options.policy, Mapping)
        self._takes_extents = is_open and not {rows, *self.ragged} & policy.keys()
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
        made, given = self.prepared(arrays, lengths, sizes, counted)
        found = self._cut(made, made.function.run(given), lengths, sizes)
        return found if counted is None else [chosen(counted, x, undefined(x)) for x in found]

    def _cut(
        self, made: Made, results: Sequence[Any], lengths: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> list[Any]:
        """Results without what is behind the last row, and behind the longest one."""
        rows = sizes[self.rows]
        if self._plain:
            return [x if made.rows == rows else cut(x, (rows, *x.shape[1:])) for x in results]
        count = len(self.element.signature.results)
        known: dict[str, Any] = {**sizes, **lengths}
        known.update({name: x[:rows] for name, x in zip(made.counts, results[count:], strict=True)})
        return [
            _result(x, result.dims, known, rows)
            for x, result in zip(results, self.element.signature.results, strict=False)
        ]

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
        rows, bound = sizes[self.rows], made.rows
        given = [_fitted(x, shape) for x, shape in zip(arrays, made.shapes, strict=True)]
        for name in made.sizes:
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
        bounds = {name: plan.bounds.get(name, size) for name, size in sizes.items()}
        bounds[self.rows] = max(1, bounds[self.rows])
        exact = {name: plan.exact[name] for name in self._others if name in plan.exact}
        key = (tuple(bounds.items()), tuple(exact.items()), partial)
        with self._lock:
            if key not in self._programs:
                if len(self._programs) >= self.options.cache_size:
                    self._programs.pop(next(iter(self._programs)))
                    self._recent.clear()
                element = self.element.specialize(exact) if exact else self.element
                open_ = {name: bound for name, bound in bounds.items() if name != self.rows and name not in exact}
                rows = Rows(bounds[self.rows], self.shared, self.ragged, open_, self.options.passes, partial)
                try:
                    program = rows.of(element)
                except PaddingError as error:
                    raise PaddingError(f"rows of different lengths need padding, and {error}") from None
                count, signature = len(self.element.signature.arguments), program.signature
                text = [f"{name}={size}" if name in exact else f"{name}<={size}" for name, size in bounds.items()]
                self._programs[key] = Made(
                    ", ".join(text),
                    bounds[self.rows],
                    # Loops have been seen to before there were rows.
                    Function(program, replace(self.options, policy="exact", passes=())),
                    [argument.dims for argument in signature.arguments[:count]],
                    [argument.name for argument in signature.arguments[count:-1]],
                    [result.name for result in signature.results[len(self.element.signature.results) :]],
                )
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
            seconds |= self._made({**given, **largest}).warm()
        return seconds

    def warm_call(
        self, arrays: Sequence[Any], lengths: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> dict[str, float]:
        """The same for what runs such a call."""
        self._check(lengths, sizes)
        return self.prepared(arrays, lengths, sizes)[0].warm()

    @property
    def functions(self) -> list[Function]:
        """The compiled functions held now, one for each set of bounds."""
        return [made.function for made in list(self._programs.values())]

    def clear(self) -> None:
        """Drops all programs."""
        with self._lock:
            self._programs.clear()
            self._recent.clear()
            self._extents.clear()


def _fitted(x: Any, shape: Sequence[int]) -> Any:
    """An array of this shape: with zeros behind it, or without padding that no row needs."""
    if x.shape == shape:
        return x
    kept = tuple(map(min, x.shape, shape))
    return pad(cut(x, kept), tuple(shape))


def _lengths(values: Any, count: int) -> Any:
    """Lengths of rows, with zeros behind them."""
    if isinstance(values, jax.core.Tracer):
        return jax.numpy.pad(values.astype(np.int32), (0, count - values.shape[0]))
    found = np.zeros(count, np.int32)
    found[: len(values)] = values
    return found


def _result(x: Any, dims: Sequence[Dim], known: Mapping[str, Any], rows: int) -> Any:
    """A result of all rows, cut to the longest of them; `known` has the sizes, those of each row as vectors."""
    sizes = [_size_of(dim, known) for dim in dims]
    shape = [rows]
    axes, lengths = [], []
    for axis, size in enumerate(sizes, start=1):
        if isinstance(size, int):
            shape.append(size)
            continue
        axes.append(axis)
        lengths.append(size)
        is_open = isinstance(size, jax.core.Tracer)
        shape.append(x.shape[axis] if is_open else int(np.asarray(size).max()) if rows else 0)
    found = cut(x, tuple(shape))
    return Ragged(found, tuple(lengths), tuple(axes)) if axes else found


def _size_of(dim: Dim, known: Mapping[str, Any]) -> Any:
    """A dimension's value in each row: an int where it is the same in all."""
    value = _value_of(dim, known)
    return value.astype(np.int32) if np.ndim(value) else int(value)


def _value_of(dim: Dim, known: Mapping[str, Any]) -> Any:
    """A dimension of sizes, of which some are vectors."""
    traced = any(isinstance(known[name], jax.core.Tracer) for name in dimension.roots(dim))
    module: Any = jax.numpy if traced else np
    wide = None if traced else np.int64

    def read(name: str) -> Any:
        return known[name] if isinstance(known[name], int) else module.asarray(known[name], wide)

    return dimension.rebuild(dim, read, minimum=module.minimum, maximum=module.maximum)


def _of_sizes(names: Sequence[str]) -> Signature:
    """A signature with these sizes and no more."""
    argument = Argument("rows", np.dtype(bool), tuple(map(dimension.symbol, names)))
    return Signature((argument,), (), signatures.find_roots([argument]))


def _choices(policy: PolicyArgument, rows: str, names: Sequence[str], ragged: frozenset[str]) -> dict[str, Any]:
    """The policy of each size: where "auto" leaves it open, rows and ragged sizes are padded from the first call on."""
    given = dict(policy) if isinstance(policy, Mapping) else dict.fromkeys([rows, *names], policy)
    found = {**dict.fromkeys([rows, *names], "auto"), **given}
    for name in (rows, *[name for name in names if name in ragged]):
        if found[name] == "auto" or (name == rows and found[name] == "padded"):
            found[name] = ROW_BUCKET if name == rows else "padded"
    return found
