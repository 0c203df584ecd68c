"""The program being made, and the kinds of its steps, which register themselves in the order of their definition."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from hlograph import builder as hlo
from hlograph.builder import Builder, Dims, DType
from hlograph.builder import dims as dimension

from .recipes import BOOL, ELEMENTS, LIMIT, Choices, Dim, InapplicableError, Value, maximum, minimum

Kind = Callable[["Maker", Choices], None]
KINDS: dict[str, tuple[int, Kind]] = {}
NESTING = frozenset({"if", "case", "while", "call"})


def kind(name: str, weight: int = 4) -> Callable[[Kind], Kind]:
    """Registers a kind of step."""

    def register(function: Kind) -> Kind:
        KINDS[name] = (weight, function)
        return function

    return register


@dataclass
class Maker:
    """A program being made.

    Attributes:
        values: what a step may take as operands, oldest first.
        pool: dimensions to make new axes of.
        intervals: of the roots.
        signed: sizes that are an argument's value.
        products: dimensions that are products, with their factors.
        used: uids of the values that some step took.
        calls: how many private functions there are.
        interpretable: see `Case`.
    """

    builder: Builder
    values: list[Value]
    pool: list[Dim]
    intervals: dict[str, tuple[int | None, int | None]]
    signed: list[Dim]
    products: dict[Dim, tuple[Dim, Dim]] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    calls: int = 0
    interpretable: bool = True

    # ---- sizes ------------------------------------------------------------------------------------------------------

    def bound(self, dim: Dim) -> int:
        """The greatest value of a dimension."""
        high = dimension.bounds(dim, self.intervals)[1]
        assert high is not None, f"{dim} has no bound"
        return max(high, 0)

    def least(self, dim: Dim) -> int:
        """The least value of a dimension."""
        low = dimension.bounds(dim, self.intervals)[0]
        return 0 if low is None else max(low, 0)

    def count(self, dims: Sequence[Dim]) -> int:
        """The greatest number of elements."""
        return math.prod(map(self.bound, dims))

    def nonempty(self, dim: Dim, indices: Dims) -> None:
        """Sees to it that an axis has elements where there are indices."""
        if self.least(dim) or dim in indices:
            return
        if self.builder.in_region or not self.builder.in_function or str(dim) not in self.intervals:
            raise InapplicableError("there may be nothing to take")
        self.at_least_one(dim)

    def at_least_one(self, dim: Dim) -> None:
        """Demands that an axis is not empty."""
        if not self.bound(dim):
            raise InapplicableError("it is always empty")
        self.builder.at_least(dim, 1, "index")
        if str(dim) in self.intervals:
            self.intervals[str(dim)] = 1, self.intervals[str(dim)][1]

    def length_within(self, c: Choices, dim: Dim) -> Dim:
        """A dimension that is at most `dim`."""
        options: list[Dim] = [dim // 2, minimum(dim, 1), minimum(dim, 2), maximum(dim - 1, 0), dim]
        options += [minimum(dim, other) for other in self.pool if type(other) is not int][:3]
        options += [minimum(maximum(value, 0), dim) for value in self.signed] * 2
        return c.pick(options)

    # ---- values -----------------------------------------------------------------------------------------------------

    def add(self, value: Value, *, huge: bool = False) -> Value:
        """A new value; refused where it is too large, or known too badly."""
        if self.count(value.dims) > ELEMENTS:
            raise InapplicableError("too many elements")
        if (
            value.grid is not None
            and not huge
            and (value.size > LIMIT or value.grid > 8 or value.size * 2**value.grid > LIMIT)
        ):
            raise InapplicableError("too large")
        if value.grid is None and (value.error > 1e5 or value.size > LIMIT):
            raise InapplicableError("too rough")
        self.values.append(value)
        return value

    def operand(self, c: Choices, fits: Callable[[Value], bool] = lambda x: True) -> Value:
        """A value, the newer the likelier."""
        found = [x for x in reversed(self.values) if fits(x)]
        if not found:
            raise InapplicableError("no operand")
        value = found[min(c.below(len(found)), c.below(len(found)))]
        self.used.add(value.tensor.uid)
        return value

    def number(self, value: float, dtype: DType) -> Value:
        """A constant scalar."""
        tensor = self.builder.constant(np.array(value, dtype))
        return Value(tensor, value, value, 2 if dtype.kind == "f" and value % 1 else 0)

    def shaped(self, c: Choices, dims: Dims, dtype: DType, fits: Callable[[Value], bool] = lambda x: True) -> Value:
        """A value of the given dims and dtype: one that is there, or a smaller one, or a constant, broadcast."""
        found = [x for x in reversed(self.values) if x.dtype == dtype and fits(x) and places(x.dims, dims) is not None]
        at = c.below(len(found) + 1)
        if at == len(found):
            options = [1, 2, -1, 0, 3] + ([0.5, -1.5] if dtype.kind == "f" else [])
            scalar = self.number(c.pick([1, 0]) if dtype == BOOL else c.pick(options), dtype)
            value = scalar if fits(scalar) else self.number(1, dtype)
        else:
            value = found[at]
            self.used.add(value.tensor.uid)
        where = places(value.dims, dims)
        assert where is not None
        return replace(value, tensor=hlo.broadcast_in_dim(value.tensor, dims, where))

    @contextmanager
    def scope(self, values: Sequence[Value] | None = None) -> Iterator[None]:
        """Values made inside are gone afterwards; with `values` only those are known."""
        before, pool, signed = self.values, self.pool, self.signed
        self.values = list(before if values is None else values)
        if values is not None:
            self.pool, self.signed = [*dict.fromkeys(dim for x in values for dim in x.dims), 2, 3], []
        try:
            yield
        finally:
            self.values, self.pool, self.signed = before, pool, signed

    def nested(self, c: Choices, count: int) -> None:
        """Some steps inside a region."""
        for _ in range(count):
            try:
                KINDS[c.pick(INSIDE)][1](self, c)
            except InapplicableError:
                continue


def places(dims: Dims, target: Dims) -> list[int] | None:
    """At which axes of `target` the axes of a tensor stand that is broadcast to it; None if it cannot be."""
    found: list[int] = []
    at = 0
    for dim in dims:
        while at < len(target) and target[at] != dim:
            at += 1
        if at == len(target):
            return None
        found.append(at)
        at += 1
    return found


def is_float(x: Value) -> bool:
    return x.dtype.kind == "f"


def is_number(x: Value) -> bool:
    return x.dtype.kind in "if"


def is_exact_number(x: Value) -> bool:
    return is_number(x) and x.exact


def is_ranked(x: Value) -> bool:
    return bool(x.dims)


def is_index(x: Value) -> bool:
    return x.dtype.kind == "i"


def grid_of(*values: Value) -> int | None:
    return None if any(x.grid is None for x in values) else max(x.grid or 0 for x in values)


# What is done inside of branches, loops and functions: no demands there, and nothing nested.
INSIDE = [
    *("unary", "binary", "binary", "compare", "select", "clamp", "convert", "broadcast", "transpose", "reverse"),
    *("concatenate", "reduce", "dot", "cumulative", "sort", "take", "put", "dynamic_update", "smooth", "mean", "iota"),
    *("binary", "reverse", "window", "size"),
]
