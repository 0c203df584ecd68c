"""Random programs on symbolic sizes: recipes, and what they build.

In: a `Recipe`, which is plain numbers. Out: a `Case`: a `?` program, bounds for its sizes, and for each result how far
two evaluations may differ. A number in a recipe chooses among what is possible at its place, so that any recipe is a
program, and a recipe with a step less or with smaller numbers is one too: that is how failures are made small.

How far evaluations may differ is computed, not guessed. Of each value an interval is known that holds its finite
elements, and either that its elements are multiples of `2**-grid`, few enough that no sum of them is rounded, or a
bound of what rounding has done to it. Ops that jump (comparisons, floor, argmax, conversion to integers, indices) see
values of the first kind only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from hlograph import builder as hlo
from hlograph.codegen import dims as dimension
from hlograph.codegen import signature as signatures
from hlograph.codegen.builder import Builder, Tensor
from hlograph.codegen.builder.shape import i64_array
from hlograph.codegen.builder.tensor import Dims, DType, Root
from hlograph.codegen.dims import Dim, maximum, minimum
from hlograph.codegen.ir.bindings import new_context
from hlograph.codegen.ir.modules import verify
from hlograph.codegen.program import Program
from hlograph.codegen.signature import Argument, Result, Signature

T = TypeVar("T")

LIMIT = 2**20  # of magnitudes: sums and products of what is below stay exact, also in float32
ELEMENTS = 600  # of a value, at the bounds
F64, F32, I32, I64, BOOL = (np.dtype(name) for name in ("f8", "f4", "i4", "i8", "?"))


@dataclass(frozen=True)
class Recipe:
    """A program in numbers.

    Attributes:
        seed: of the arguments' values and the sizes.
        header: choices of roots, bounds and arguments.
        steps: (kind, choices), one after the other.
    """

    seed: int
    header: tuple[int, ...]
    steps: tuple[tuple[str, tuple[int, ...]], ...]


def random_recipe(seed: int) -> Recipe:
    """The recipe of a seed."""
    source = random.Random(seed)

    def numbers(count: int) -> tuple[int, ...]:
        return tuple(source.randrange(5040) for _ in range(count))

    kinds, weights = list(KINDS), [weight for weight, _ in KINDS.values()]
    chosen = source.choices(kinds, weights, k=source.randint(5, 16))
    return Recipe(seed, numbers(40), tuple((kind, numbers(24 if kind in NESTING else 10)) for kind in chosen))


class Choices:
    """Numbers as choices; where they are used up, the first option is taken."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._rest = iter(numbers)

    def below(self, count: int) -> int:
        """An integer in `[0, count)`."""
        return next(self._rest, 0) % count

    def pick(self, options: Sequence[T]) -> T:
        """One of some options."""
        return options[self.below(len(options))]

    def one_in(self, count: int) -> bool:
        """True once in so many times."""
        return self.below(count) == count - 1


class InapplicableError(Exception):
    """A step has no operands, or its result would be too large: it is left out."""


@dataclass(frozen=True)
class Value:
    """A value of the program, and what is known of its live elements.

    Attributes:
        low, high: the finite ones are between.
        grid: they are multiples of `2**-grid`, computed without rounding; None where there is rounding.
        error: what rounding may have done, in units of the dtype's epsilon.
        special: there may be NaN or inf among them.
    """

    tensor: Tensor
    low: float
    high: float
    grid: int | None = 0
    error: float = 0.0
    special: bool = False

    @property
    def dims(self) -> Dims:
        """Sizes of the axes."""
        return self.tensor.dims

    @property
    def dtype(self) -> DType:
        """Dtype of the elements."""
        return self.tensor.dtype

    @property
    def size(self) -> float:
        """Greatest magnitude of a finite element."""
        return max(abs(self.low), abs(self.high))

    @property
    def exact(self) -> bool:
        """Computed without rounding."""
        return self.grid is not None


@dataclass(frozen=True)
class Given:
    """An argument: which values it takes.

    Attributes:
        style: a key of `_STYLES`, or "size" for a scalar that is a size by its value.
    """

    name: str
    dtype: DType
    dims: Dims
    style: str


@dataclass(frozen=True)
class Tolerance:
    """How far two evaluations of a result may differ: not at all, or by an absolute error."""

    exact: bool
    absolute: float


@dataclass(frozen=True)
class Case:
    """A program to test.

    Attributes:
        bounds: root name to its greatest size (magnitude, for a value).
        given: the arguments.
        tolerances: one per result.
        kinds: kinds of the steps that were applied.
        interpretable: whether the interpreter gives an op the same meaning as XLA.
    """

    program: Program
    bounds: Mapping[str, int]
    given: tuple[Given, ...]
    tolerances: tuple[Tolerance, ...]
    kinds: tuple[str, ...]
    interpretable: bool


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


def _float(x: Value) -> bool:
    return x.dtype.kind == "f"


def _number(x: Value) -> bool:
    return x.dtype.kind in "if"


def _exact_number(x: Value) -> bool:
    return _number(x) and x.exact


def _ranked(x: Value) -> bool:
    return bool(x.dims)


def _index(x: Value) -> bool:
    return x.dtype.kind == "i"


def _grid(*values: Value) -> int | None:
    return None if any(x.grid is None for x in values) else max(x.grid or 0 for x in values)


# ---- elementwise -----------------------------------------------------------------------------------------------------


@kind("unary", 6)
def _unary(m: Maker, c: Choices) -> None:
    """Ops that do not round; those that jump, on exact values."""
    x = m.operand(c, _number)
    names = ["negate", "abs", "square"]
    if x.exact:
        names.append("sign")
        names += (
            ["floor", "ceil", "round_nearest_even", "round_nearest_afz"] if _float(x) else ["not_", "popcnt", "clz"]
        )
    name = c.pick(names)
    t = x.tensor
    if name == "negate":
        m.add(replace(x, tensor=hlo.negate(t), low=-x.high, high=-x.low))
    elif name == "abs":
        m.add(
            replace(x, tensor=hlo.abs(t), low=0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high)), high=x.size)
        )
    elif name == "square":
        grid = None if x.grid is None else 2 * x.grid
        error = 0 if x.exact else 2 * x.size * x.error + x.size**2
        squared = hlo.square(t) if _float(x) else hlo.multiply(t, t)
        m.add(Value(squared, 0, x.size**2, grid, error, x.special))
    elif name == "sign":
        m.add(Value(hlo.sign(t), -1, 1, 0, 0, x.special))
    elif name == "not_":
        m.add(Value(hlo.not_(t), -x.size - 1, x.size + 1))
    elif name in ("popcnt", "clz"):
        m.add(Value((hlo.popcnt if name == "popcnt" else hlo.count_leading_zeros)(t), 0, 64))
    else:
        m.add(replace(x, tensor=getattr(hlo, name)(t), low=math.floor(x.low), high=math.ceil(x.high), grid=0))


# name -> (from, to, steepest slope there, rounding in ulps, least and greatest result; None: at the ends)
_SMOOTH: dict[str, tuple[float, float, float, float, tuple[float, float] | None]] = {
    "acos": (-0.75, 0.75, 1.6, 16, (0, 3.2)),
    "acosh": (1.5, 1e6, 1, 16, (0, 15)),
    "asin": (-0.75, 0.75, 1.6, 16, (-1, 1)),
    "asinh": (-1e6, 1e6, 1, 16, (-15, 15)),
    "atan": (-1e6, 1e6, 1, 16, (-1.6, 1.6)),
    "atanh": (-0.75, 0.75, 2.3, 16, (-1, 1)),
    "cbrt": (0.25, 1e6, 1, 16, (0.6, 100)),
    "cosh": (-4, 4, 28, 16, (1, 28)),
    "cosine": (-100, 100, 1, 100, (-1, 1)),
    "digamma": (0.5, 50, 5, 200, (-2, 4)),
    "erf": (-1e6, 1e6, 1.2, 16, (-1, 1)),
    "erfc": (-8, 8, 1.2, 16, (0, 2)),
    "exponential": (-50, 4, 55, 16, (0, 55)),
    "exponential_minus_one": (-50, 4, 55, 16, (-1, 55)),
    "lgamma": (0.5, 50, 4, 200, (-0.2, 145)),
    "log": (0.25, 1e6, 4, 16, (-1.4, 14)),
    "log_plus_one": (-0.5, 1e6, 2, 16, (-0.7, 14)),
    "logistic": (-1e6, 1e6, 0.25, 16, (0, 1)),
    "rsqrt": (0.25, 1e6, 4, 16, (0.001, 2)),
    "sine": (-100, 100, 1, 100, (-1, 1)),
    "sinh": (-4, 4, 28, 16, (-28, 28)),
    "sqrt": (0.25, 1e6, 1, 4, (0.5, 1000)),
    "tan": (-1, 1, 3.5, 16, (-1.6, 1.6)),
    "tanh": (-1e6, 1e6, 1, 16, (-1, 1)),
}


@kind("smooth", 6)
def _smooth(m: Maker, c: Choices) -> None:
    """A function that rounds; its operand is clamped to where the function is tame, if it is not there already."""
    x = m.operand(c, _float)
    name = c.pick(list(_SMOOTH))
    start, stop, slope, ulps, ends = _SMOOTH[name]
    if name in ("sqrt", "cbrt") and x.exact and x.low >= 0:
        start = 0
    if x.special and name in ("lgamma", "digamma", "acosh", "asinh", "atanh"):
        raise InapplicableError("other NaN in other implementations")
    t = x.tensor
    if x.low < start or x.high > stop:
        t = hlo.clamp(start, t, stop)
    low, high = ends or (start, stop)
    m.add(
        Value(
            getattr(hlo, name)(t),
            low if start else 0,
            high,
            None,
            slope * x.error + ulps * max(abs(low), abs(high)),
            x.special,
        )
    )


@kind("binary", 12)
def _binary(m: Maker, c: Choices) -> None:
    x = m.operand(c, _number)
    name = c.pick(["add", "subtract", "multiply", "maximum", "minimum", "divide", "remainder", "atan2", "power"])
    y = m.shaped(c, x.dims, x.dtype)
    if _index(x) and name in ("atan2", "power"):
        name = "add"
    if c.one_in(2) and name in ("add", "subtract", "multiply", "maximum", "minimum"):
        x, y = y, x
    m.add(_combined(name, x, y))


def _combined(name: str, x: Value, y: Value) -> Value:
    """A binary op on two values of one shape."""
    special, grid = x.special or y.special, _grid(x, y)
    a, b = x.tensor, y.tensor
    corners = [p * q for p in (x.low, x.high) for q in (y.low, y.high)]
    if name == "add":
        error = x.error + y.error + (0 if grid is not None else x.size + y.size)
        return Value(hlo.add(a, b), x.low + y.low, x.high + y.high, grid, error, special)
    if name == "subtract":
        error = x.error + y.error + (0 if grid is not None else x.size + y.size)
        return Value(hlo.subtract(a, b), x.low - y.high, x.high - y.low, grid, error, special)
    if name == "multiply":
        error = 0.0 if grid is not None else x.size * y.error + y.size * x.error + x.size * y.size
        together = None if grid is None else (x.grid or 0) + (y.grid or 0)
        return Value(hlo.multiply(a, b), min(corners), max(corners), together, error, special)
    if name in ("maximum", "minimum"):
        function, pick = (hlo.maximum_, max) if name == "maximum" else (hlo.minimum_, min)
        return Value(function(a, b), pick(x.low, y.low), pick(x.high, y.high), grid, max(x.error, y.error), special)
    if y.low < 0.25 or y.special:
        raise InapplicableError("the right operand may be 0")
    if name == "divide" and _index(x):
        return Value(hlo.divide(a, b), -x.size, x.size)
    if name == "remainder":
        if grid is None or x.special:
            raise InapplicableError("it jumps")
        return Value(hlo.remainder(a, b), -y.high if x.low < 0 else 0, y.high, grid)
    if name == "divide":
        error = x.error / y.low + x.size * y.error / y.low**2 + 2 * x.size / y.low
        return Value(hlo.divide(a, b), -x.size / y.low, x.size / y.low, None, error, special)
    if name == "atan2":
        return Value(hlo.atan2(a, b), -1.6, 1.6, None, 4 * x.error + 4 * x.size * y.error + 16, special)
    if y.size > 4 or x.size > 4 or x.special:
        raise InapplicableError("a large power")
    return Value(hlo.power(b, a), 0, 256, None, 2000 * (x.error + y.error) + 256 * 32)


@kind("compare", 4)
def _compare(m: Maker, c: Choices) -> None:
    x = m.operand(c, _exact_number)
    y = m.shaped(c, x.dims, x.dtype, lambda v: v.exact)
    m.add(Value(hlo.compare(c.pick(["LT", "GE", "EQ", "NE", "GT", "LE"]), x.tensor, y.tensor), 0, 1))


@kind("logical", 4)
def _logical(m: Maker, c: Choices) -> None:
    """Bits of booleans and of integers; shifts."""
    x = m.operand(c, lambda v: v.dtype.kind in "bi")
    name = c.pick(["and_", "or_", "xor", "not_", "shift_left", "shift_right_arithmetic", "shift_right_logical"])
    if name == "not_" or (x.dtype == BOOL and name.startswith("shift")):
        m.add(
            replace(
                x, tensor=hlo.not_(x.tensor), low=-x.high - 1 if _index(x) else 0, high=-x.low - 1 if _index(x) else 1
            )
        )
        return
    if name.startswith("shift"):
        if name == "shift_right_logical" and x.low < 0:
            raise InapplicableError("the result is huge")
        low, high = (4 * x.low, 4 * x.high) if name == "shift_left" else (min(x.low, 0), max(x.high, 0))
        m.add(Value(getattr(hlo, name)(x.tensor, m.number(c.pick([1, 0, 2]), x.dtype).tensor), low, high))
        return
    y = m.shaped(c, x.dims, x.dtype)
    reach = 2 ** math.ceil(math.log2(max(x.size, y.size, 1) + 1))
    result = getattr(hlo, name)(x.tensor, y.tensor)
    m.add(Value(result, 0, 1) if x.dtype == BOOL else Value(result, -reach, reach))


@kind("select", 5)
def _select(m: Maker, c: Choices) -> None:
    pred = m.operand(c, lambda v: v.dtype == BOOL)
    dims = pred.dims
    if not dims:
        dims = m.operand(c).dims
    dtype = c.pick([F64, F32, I32, F64, BOOL])
    x, y = m.shaped(c, dims, dtype), m.shaped(c, dims, dtype)
    result = hlo.select(pred.tensor, x.tensor, y.tensor)
    m.add(
        Value(
            result, min(x.low, y.low), max(x.high, y.high), _grid(x, y), max(x.error, y.error), x.special or y.special
        ),
        huge=True,
    )


@kind("clamp", 3)
def _clamp(m: Maker, c: Choices) -> None:
    """To constants, or to runtime scalars."""
    x = m.operand(c, _number)
    low = m.shaped(c, () if c.one_in(2) else x.dims, x.dtype)
    high = m.shaped(c, low.dims, x.dtype)
    if low.special or high.special or low.high > high.low:
        low, high = m.number(-2, x.dtype), m.number(3, x.dtype)
    result = hlo.clamp(low.tensor, x.tensor, high.tensor)
    m.add(Value(result, low.low, high.high, _grid(x, low, high), max(x.error, low.error, high.error), x.special))


@kind("convert", 5)
def _convert(m: Maker, c: Choices) -> None:
    x = m.operand(c)
    dtype = c.pick([F64, F32, I32, I64, BOOL])
    if dtype.kind in "ib" and not (x.exact and (dtype == BOOL or not x.special) and x.size <= LIMIT):
        raise InapplicableError("it jumps")
    result = hlo.convert(x.tensor, dtype)
    if dtype == BOOL:
        m.add(Value(result, 0, 1))
    elif dtype.kind == "i":
        m.add(replace(x, tensor=result, low=math.floor(x.low), high=math.ceil(x.high), grid=0))
    else:
        if x.size > LIMIT:
            raise InapplicableError("it rounds")
        narrower = dtype.itemsize < x.dtype.itemsize
        scale = 1.0 if x.dtype.kind != "f" or narrower else 2.0**29 if dtype.itemsize > x.dtype.itemsize else 1.0
        error = 0.0 if x.exact else x.error * scale + (x.size if narrower else 0)
        m.add(replace(x, tensor=result, error=error))


@kind("finite", 2)
def _finite(m: Maker, c: Choices) -> None:
    """Tests for NaN and inf, and what is made of them."""
    x = m.operand(c, _float)
    flag = hlo.is_finite(x.tensor) if c.below(2) == 0 else hlo.not_(hlo.is_inf(x.tensor))
    if c.one_in(2):
        m.add(Value(flag, 0, 1))
        return
    finite = hlo.is_finite(x.tensor)
    cleaned = hlo.select(finite, x.tensor, hlo.full_like(x.tensor, 0))
    m.add(replace(x, tensor=cleaned, low=min(x.low, 0), high=max(x.high, 0), special=False))


@kind("bits", 1)
def _bits(m: Maker, c: Choices) -> None:
    """A magnitude by its bits; a rounding that has nothing to round."""
    x = m.operand(c, lambda v: _float(v) and v.exact and v.size <= LIMIT)
    if c.below(2):
        m.add(replace(x, tensor=hlo.reduce_precision(x.tensor, 8, 23)))
        return
    integers = np.dtype(f"i{x.dtype.itemsize}")
    bits = hlo.bitcast_convert(x.tensor, integers)
    magnitude = hlo.and_(bits, np.iinfo(integers).max)
    m.add(replace(x, tensor=hlo.bitcast_convert(magnitude, x.dtype), low=0, high=x.size))


@kind("complex", 1)
def _complex(m: Maker, c: Choices) -> None:
    x = m.operand(c, lambda v: _float(v) and not v.special)
    y = m.shaped(c, x.dims, x.dtype, lambda v: not v.special)
    z = hlo.complex(x.tensor, y.tensor)
    if c.below(2):
        z = hlo.conj(z)
    part = (hlo.real if c.below(2) else hlo.imag)(hlo.multiply(z, z))
    reach, grid = x.size**2 + y.size**2, _grid(x, y)
    error = 0 if grid is not None else 4 * (x.size + y.size) * (x.error + y.error) + 4 * reach
    m.add(Value(part, -reach, reach, None if grid is None else 2 * grid, error))


@kind("size", 3)
def _size(m: Maker, c: Choices) -> None:
    """A size as data."""
    dim = c.pick(m.pool)
    dtype = c.pick([F64, I32, I64, F32])
    scalar = hlo.convert(m.builder.size(dim), dtype)
    m.add(Value(scalar, m.least(dim), m.bound(dim)))


# ---- shapes ----------------------------------------------------------------------------------------------------------


@kind("iota", 3)
def _iota(m: Maker, c: Choices) -> None:
    dims = tuple(c.pick(m.pool) for _ in range(1 + c.below(2)))
    axis = c.below(len(dims))
    m.add(Value(hlo.iota(m.builder, dims, axis, c.pick([F64, I32, I64])), 0, m.bound(dims[axis])))


@kind("broadcast", 5)
def _broadcast(m: Maker, c: Choices) -> None:
    """A new axis, of a size of its own."""
    x = m.operand(c, lambda v: len(v.dims) < 3)
    at = c.below(len(x.dims) + 1)
    dims = (*x.dims[:at], c.pick(m.pool), *x.dims[at:])
    if m.count(dims) > ELEMENTS:
        raise InapplicableError("too many elements")
    result = hlo.broadcast_in_dim(x.tensor, dims, [axis + (axis >= at) for axis in range(len(x.dims))])
    m.add(replace(x, tensor=result), huge=True)


@kind("transpose", 4)
def _transpose(m: Maker, c: Choices) -> None:
    x = m.operand(c, lambda v: len(v.dims) > 1)
    order = list(range(len(x.dims)))
    order.insert(c.below(len(order)), order.pop(c.below(len(order))))
    m.add(replace(x, tensor=hlo.transpose(x.tensor, order[::-1] if order == sorted(order) else order)), huge=True)


@kind("reverse", 4)
def _reverse(m: Maker, c: Choices) -> None:
    x = m.operand(c, _ranked)
    axes = [c.below(len(x.dims))] if c.below(3) else list(range(len(x.dims)))
    m.add(replace(x, tensor=hlo.reverse(x.tensor, axes)), huge=True)


@kind("concatenate", 6)
def _concatenate(m: Maker, c: Choices) -> None:
    x = m.operand(c, _ranked)
    axis = c.below(len(x.dims))

    def joins(v: Value) -> bool:
        return v.dtype == x.dtype and len(v.dims) == len(x.dims) and _without(v.dims, axis) == _without(x.dims, axis)

    parts = [x, *[m.operand(c, joins) for _ in range(1 + c.below(2))]]
    result = hlo.concatenate([part.tensor for part in parts], axis)
    m.add(
        Value(
            result,
            min(part.low for part in parts),
            max(part.high for part in parts),
            _grid(*parts),
            max(part.error for part in parts),
            any(part.special for part in parts),
        ),
        huge=True,
    )


def _without(dims: Dims, axis: int) -> Dims:
    return (*dims[:axis], *dims[axis + 1 :])


@kind("slice", 8)
def _slice(m: Maker, c: Choices) -> None:
    """From the beginning, from the end, or from the middle; every, or every second or third, also backwards."""
    x = m.operand(c, _ranked)
    axis = c.below(len(x.dims))
    dim = x.dims[axis]
    if c.one_in(8):
        m.at_least_one(dim)
        start, length = 1, dim - 1
    else:
        length = m.length_within(c, dim)
        start = c.pick([0, dim - length, (dim - length) // 2])
    step = c.pick([1, 1, 2, -1, 3, -2])
    count = length if abs(step) == 1 else (length + abs(step) - 1) // abs(step)
    first = start if step > 0 else start + length - 1
    m.add(replace(x, tensor=hlo.slice_axis(x.tensor, axis, first, count, step)), huge=True)


@kind("diagonal", 1)
def _diagonal(m: Maker, c: Choices) -> None:
    """A slice whose stride is a size."""
    x = m.operand(c, lambda v: len(v.dims) > 1 and v.dims[-1] == v.dims[-2])
    m.add(replace(x, tensor=hlo.diagonal(x.tensor)), huge=True)


@kind("pad", 6)
def _pad(m: Maker, c: Choices) -> None:
    """Before, after and between; also by sizes, and negative."""
    x = m.operand(c, _ranked)
    axis = c.below(len(x.dims))
    fill = m.shaped(c, (), x.dtype)
    some = c.pick(m.pool)
    options: list[tuple[Dim, Dim, int]] = [
        (0, 1, 0),
        (1, 0, 1),
        (2, 1, 0),
        (0, 0, 2),
        (some, 0, 0),
        (0, some, 1),
        (some, some, 0),
    ]
    cut = minimum(x.dims[axis], some)
    options += [(-cut, 1, 0), (0, -cut, 0), (some - cut, 0, 0), (1 - cut, cut, 0)]
    low, high, gap = c.pick(options)
    if m.bound(x.dims[axis]) + m.bound(low) + m.bound(high) > 40:
        raise InapplicableError("too long")
    zeros: list[Dim] = [0] * len(x.dims)
    result = hlo.pad(
        x.tensor,
        fill.tensor,
        [low if i == axis else z for i, z in enumerate(zeros)],
        [high if i == axis else z for i, z in enumerate(zeros)],
        [gap if i == axis else 0 for i in range(len(zeros))],
    )
    m.add(
        Value(
            result,
            min(x.low, fill.low),
            max(x.high, fill.high),
            _grid(x, fill),
            max(x.error, fill.error),
            x.special or fill.special,
        ),
        huge=True,
    )


@kind("reshape", 7)
def _reshape(m: Maker, c: Choices) -> None:
    """Axes merged, split, inserted."""
    x = m.operand(c, _ranked)
    options: list[Dims] = [(*x.dims[:i], 1, *x.dims[i:]) for i in range(len(x.dims))]
    for i, (a, b) in enumerate(zip(x.dims, x.dims[1:], strict=False)):
        merged = a * b
        options += [(*x.dims[:i], merged, *x.dims[i + 2 :])] * 3
        if type(merged) is not int:
            m.products[merged] = (a, b)
    for i, dim in enumerate(x.dims):
        halves = dim // 2
        if halves * 2 == dim:
            options += [(*x.dims[:i], *pair, *x.dims[i + 1 :]) for pair in ((halves, 2), (2, halves))]
        if dim in m.products:
            a, b = m.products[dim]
            options += [(*x.dims[:i], *pair, *x.dims[i + 1 :]) for pair in ((a, b), (b, a))] * 2
    options = [dims for dims in options if len(dims) <= 4]
    if not options:
        raise InapplicableError("nothing to merge or split")
    m.add(replace(x, tensor=hlo.reshape(x.tensor, c.pick(options))), huge=True)


# ---- reductions ------------------------------------------------------------------------------------------------------


def _monoid_result(
    m: Maker, name: str, x: Value, count: int, least: int
) -> tuple[float, float, int | None, float, bool]:
    """Of what `count` elements combine to: interval, grid, error, special."""
    if name in ("maximum", "minimum"):
        if least == 0 and _index(x):
            info = np.iinfo(x.dtype)
            return float(info.min), float(info.max), 0, 0.0, False
        return x.low, x.high, x.grid, x.error, x.special or least == 0
    if name == "add":
        error = 0.0 if x.exact else count * x.error + count * count * x.size
        return min(x.low * count, 0), max(x.high * count, 0), x.grid, error, x.special
    if name == "multiply":
        reach = max(x.size, 1.0) ** count
        if reach > 2**16 or not x.exact or (x.grid or 0) * count > 8:
            raise InapplicableError("a large product")
        return -reach, reach, (x.grid or 0) * count, 0.0, x.special
    if not x.exact or x.size > LIMIT:
        raise InapplicableError("bits of huge numbers")
    return (0, 1, 0, 0.0, False) if x.dtype == BOOL else (-(2**20), 2**20, 0, 0.0, False)


def _monoid(c: Choices, x: Value) -> Any:
    if _float(x):
        return c.pick(["add", "maximum", "minimum", "multiply", "add"])
    if x.dtype == BOOL:
        return c.pick(["or", "and", "xor", "maximum", "minimum"])
    return c.pick(["add", "maximum", "minimum", "and", "or", "xor", "multiply"])


@kind("reduce", 9)
def _reduce(m: Maker, c: Choices) -> None:
    """One axis or several. (Initial values that are no identity mean different things to XLA and the interpreter.)"""
    x = m.operand(c, _ranked)
    axes = sorted({c.below(len(x.dims)), c.below(len(x.dims))})
    name = _monoid(c, x)
    count, least = m.count([x.dims[axis] for axis in axes]), math.prod(m.least(x.dims[axis]) for axis in axes)
    low, high, grid, error, special = _monoid_result(m, name, x, count, least)
    m.add(Value(hlo.reduce_monoid(x.tensor, axes, name), low, high, grid, error, special), huge=name != "add")


@kind("reduce_pair", 2)
def _reduce_pair(m: Maker, c: Choices) -> None:
    """A body that is no monoid of one operand: a sum and a maximum at once."""
    x = m.operand(c, lambda v: _exact_number(v) and bool(v.dims) and v.size < LIMIT)
    y = m.shaped(c, x.dims, x.dtype, lambda v: v.exact and v.size < LIMIT)
    axis = c.below(len(x.dims))
    count = m.bound(x.dims[axis])

    def body(total: Tensor, greatest: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
        return [hlo.add(total, a), hlo.maximum_(greatest, b)]

    inits = [m.builder.constant(hlo.identity(name, x.dtype)) for name in ("add", "maximum")]
    total, greatest = hlo.reduce([x.tensor, y.tensor], inits, [axis], body)
    m.add(Value(total, -x.size * count, x.size * count, x.grid, 0, x.special))
    low, high, grid, error, special = _monoid_result(m, "maximum", y, count, m.least(x.dims[axis]))
    m.add(Value(greatest, low, high, grid, error, special), huge=True)


@kind("arg_reduce", 3)
def _arg_reduce(m: Maker, c: Choices) -> None:
    """Over nothing it is the greatest integer."""
    x = m.operand(c, lambda v: _exact_number(v) and bool(v.dims))
    result = hlo.arg_reduce(x.tensor, c.below(len(x.dims)), c.pick(["maximum", "minimum"]))  # type: ignore[arg-type]
    m.add(Value(result, 0, 2**63), huge=True)


@kind("mean", 4)
def _mean(m: Maker, c: Choices) -> None:
    """Mean and variance by the axis's size."""
    x = m.operand(c, lambda v: _float(v) and bool(v.dims) and v.size < 1000)
    axis = c.below(len(x.dims))
    dim = x.dims[axis]
    count = hlo.convert(m.builder.size(dim), x.dtype)
    n = m.bound(dim)
    mean = hlo.divide(*hlo.align(hlo.reduce_monoid(x.tensor, [axis], "add"), count))
    error = 2 * n * (x.error + n * x.size)
    special = x.special or m.least(dim) == 0
    if c.below(2):
        m.add(Value(mean, -x.size, x.size, None, error, special))
        return
    spread = hlo.broadcast_in_dim(mean, x.dims, [i for i in range(len(x.dims)) if i != axis])
    squares = hlo.square(hlo.subtract(x.tensor, spread))
    variance = hlo.divide(*hlo.align(hlo.reduce_monoid(squares, [axis], "add"), count))
    m.add(Value(variance, 0, 4 * x.size**2, None, 8 * n * x.size * (error + x.size * n), special))


@kind("dot", 7)
def _dot(m: Maker, c: Choices) -> None:
    """A contraction over one or two axes, with a batch axis if there is one."""
    x = m.operand(c, lambda v: _number(v) and bool(v.dims))
    y = m.operand(c, lambda v: v.dtype == x.dtype and bool(set(v.dims) & set(x.dims)))
    pairs: list[tuple[int, int]] = []
    for i, dim in enumerate(x.dims):
        j = next((j for j, other in enumerate(y.dims) if other == dim and j not in [q for _, q in pairs]), None)
        if j is not None:
            pairs.append((i, j))
    batch = [pairs.pop(c.below(len(pairs)))] if len(pairs) > 1 and c.below(2) else []
    pairs = pairs[: 1 + c.below(2)]
    count = m.count([x.dims[i] for i, _ in pairs])
    if m.count(x.dims) * m.count(y.dims) // max(count, 1) > 20 * ELEMENTS:
        raise InapplicableError("too large")
    result = hlo.dot_general(
        x.tensor,
        y.tensor,
        contracting=([i for i, _ in pairs], [j for _, j in pairs]),
        batching=([i for i, _ in batch], [j for _, j in batch]),
    )
    grid, reach = _grid(x, y), count * x.size * y.size
    error = 0 if grid is not None else count * (x.size * y.error + y.size * x.error) + count * reach
    together = None if grid is None else (x.grid or 0) + (y.grid or 0)
    m.add(Value(result, -reach, reach, together, error, x.special or y.special))


@kind("cumulative", 4)
def _cumulative(m: Maker, c: Choices) -> None:
    x = m.operand(c, _ranked)
    axis = c.below(len(x.dims))
    name = _monoid(c, x)
    count = m.bound(x.dims[axis])
    if name == "add" and x.grid is None and count > 8:
        raise InapplicableError("too rough")
    low, high, grid, error, special = _monoid_result(m, name, x, count, 1)
    if x.special and name in ("add", "multiply") and type(x.dims[axis]) is int:
        raise InapplicableError("inf in a running sum")
    m.add(
        Value(hlo.cumulative(x.tensor, axis, name), min(low, x.low), max(high, x.high), grid, error, special),
        huge=name != "add",
    )


@kind("window", 4)
def _window(m: Maker, c: Choices) -> None:
    """`reduce_window` along one axis, strided, dilated and padded."""
    x = m.operand(c, _ranked)
    axis = c.below(len(x.dims))
    name = _monoid(c, x)
    size, stride, low, high = 1 + c.below(3), 1 + c.below(2), c.below(3), c.below(2)
    base, dilation = 1 + c.one_in(4), 1 + c.one_in(4)
    bottom, top, grid, error, special = _monoid_result(m, name, x, size, 0)
    dim = x.dims[axis]
    spread = dim if base == 1 else maximum((dim - 1) * base + 1, 0)
    room = spread + low + high - ((size - 1) * dilation + 1)
    length = maximum(room // stride + 1, 0)
    rank = len(x.dims)

    def along(value: int, other: int = 1) -> list[int]:
        return [value if i == axis else other for i in range(rank)]

    rows = ", ".join(f"[{a}, {b}]" for a, b in zip(along(low, 0), along(high, 0), strict=True))
    attributes = (
        ("window_dimensions", i64_array(along(size))),
        ("window_strides", i64_array(along(stride))),
        ("base_dilations", i64_array(along(base))),
        ("window_dilations", i64_array(along(dilation))),
        ("padding", f"dense<[{rows}]> : tensor<{rank}x2xi64>"),
    )
    init = m.builder.constant(hlo.identity(name, x.dtype))
    combine = hlo.MONOIDS[name]  # type: ignore[index]
    scalar = ((), x.dtype)
    dims = tuple(length if i == axis else d for i, d in enumerate(x.dims))
    (result,) = m.builder.region_op(
        "stablehlo.reduce_window",
        [x.tensor, init],
        [(dims, x.dtype)],
        [([scalar, scalar], lambda a, b: [combine(a, b)])],
        attributes,
        key=name,
    )
    m.add(Value(result, bottom, top, grid, error, special), huge=name != "add")


@kind("convolution", 2)
def _convolution(m: Maker, c: Choices) -> None:
    """Along the last axis of a tensor (batch, feature, place); the kernel has a static window."""
    x = m.operand(c, lambda v: _float(v) and len(v.dims) == 3 and v.exact)
    window, stride, low, high = 1 + c.below(3), 1 + c.below(2), c.below(2), c.below(2)
    kernel = m.shaped(c, (2, x.dims[1], window), x.dtype, lambda v: v.exact)
    room = x.dims[2] + low + high - window
    dims = (x.dims[0], 2, maximum(room // stride + 1, 0))
    count = m.bound(x.dims[1]) * window
    attributes = (
        ("batch_group_count", "1 : i64"),
        ("dimension_numbers", "#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>"),
        ("feature_group_count", "1 : i64"),
        ("padding", f"dense<[[{low}, {high}]]> : tensor<1x2xi64>"),
        ("window_strides", i64_array([stride])),
    )
    result = m.builder.op("stablehlo.convolution", [x.tensor, kernel.tensor], dims, x.dtype, attributes)
    reach = count * x.size * kernel.size
    m.add(Value(result, -reach, reach, (x.grid or 0) + (kernel.grid or 0), 0, x.special or kernel.special))


# ---- order -----------------------------------------------------------------------------------------------------------


@kind("sort", 6)
def _sort(m: Maker, c: Choices) -> None:
    """By the usual order, backwards, by magnitude; alone, or with the places beside."""
    x = m.operand(c, lambda v: bool(v.dims) and v.dtype != BOOL)
    axis = c.below(len(x.dims))
    order = c.pick(["ascending", "descending", "magnitude"])
    if order != "ascending" and (x.special or not x.exact or x.size > LIMIT):
        raise InapplicableError("no order")

    def less(a: Tensor, b: Tensor) -> Tensor:
        if order == "ascending":
            return hlo.less_nan_last(a, b)
        if order == "descending":
            return hlo.compare("GT", a, b)
        return hlo.compare("LT", hlo.abs(a), hlo.abs(b))

    if not x.exact or c.below(3) == 0:
        (result,) = hlo.sort([x.tensor], axis, less, key=order)
        m.add(replace(x, tensor=result), huge=True)
        return
    indices = hlo.iota(m.builder, x.dims, axis, I32)
    values, order_of = hlo.sort([x.tensor, indices], axis, lambda a, b, i, j: less(a, b), key=f"arg {order}")
    m.add(replace(x, tensor=values), huge=True)
    m.add(Value(order_of, 0, m.bound(x.dims[axis])))


# ---- indices ---------------------------------------------------------------------------------------------------------


def _scalar_index(m: Maker, c: Choices) -> Tensor:
    index = m.shaped(c, (), c.pick([I32, I64]))
    return hlo.convert(index.tensor, I64)


@kind("dynamic_slice", 5)
def _dynamic_slice(m: Maker, c: Choices) -> None:
    """A window at runtime starts, which are clamped; of static size where there is one, else of a size."""
    x = m.operand(c, _ranked)
    axis = c.below(len(x.dims))
    dim = x.dims[axis]
    least = m.least(dim)
    size: Dim
    if least and c.below(3):
        size = 1 + c.below(min(least, 3))
    elif c.one_in(3) and not m.builder.in_region and type(dim) is not int:
        m.at_least_one(dim)
        size = 1
    else:
        size = m.length_within(c, dim)
    starts = [
        _scalar_index(m, c) if i == axis or c.one_in(3) else m.builder.constant(0, np.int64) for i in range(len(x.dims))
    ]
    sizes = tuple(size if i == axis else d for i, d in enumerate(x.dims))
    m.add(replace(x, tensor=hlo.dynamic_slice(x.tensor, starts, sizes)), huge=True)


@kind("dynamic_update", 5)
def _dynamic_update(m: Maker, c: Choices) -> None:
    """A window written at runtime starts."""
    x = m.operand(c, _ranked)
    dims = list(x.dims)
    for axis in {c.below(len(dims)), c.below(len(dims))}:
        dims[axis] = 1 if m.least(dims[axis]) and c.below(2) else m.length_within(c, dims[axis])
    update = m.shaped(c, tuple(dims), x.dtype)
    starts = [_scalar_index(m, c) for _ in dims]
    result = hlo.dynamic_update_slice(x.tensor, update.tensor, starts)
    m.add(
        Value(
            result,
            min(x.low, update.low),
            max(x.high, update.high),
            _grid(x, update),
            max(x.error, update.error),
            x.special or update.special,
        ),
        huge=True,
    )


@kind("take", 5)
def _take(m: Maker, c: Choices) -> None:
    """Elements, rows or windows at computed places; what is out of range is clamped."""
    x = m.operand(c, _ranked)
    indices = m.operand(c, lambda v: _index(v) and 0 < len(v.dims) < 3)
    axis = c.below(len(x.dims))
    if m.count(x.dims) * m.count(indices.dims) > 20 * ELEMENTS:
        raise InapplicableError("too large")
    m.nonempty(x.dims[axis], indices.dims)
    how = c.below(3)
    if how < 2 or len(indices.dims) > 1:
        m.add(replace(x, tensor=hlo.take(x.tensor, indices.tensor, axis)), huge=True)
        return
    size: Dim = (
        1 + c.below(min(m.least(x.dims[axis]), 3)) if m.least(x.dims[axis]) else m.length_within(c, x.dims[axis])
    )
    result = hlo.gather(
        x.tensor,
        indices.tensor,
        offset_dims=list(range(1, len(x.dims) + 1)),
        collapsed_slice_dims=[],
        start_index_map=[axis],
        index_vector_dim=1,
        slice_sizes=tuple(size if i == axis else d for i, d in enumerate(x.dims)),
    )
    m.add(replace(x, tensor=result), huge=True)


def _pairs(m: Maker, c: Choices) -> tuple[Value, Tensor]:
    """A vector of indices, and index pairs made of it and another one."""
    first = m.operand(c, lambda v: _index(v) and len(v.dims) == 1)
    second = m.shaped(c, first.dims, first.dtype)
    columns = [hlo.expand_dims(x.tensor, [1]) for x in (first, second)]
    return first, hlo.concatenate(columns, 1)


@kind("take_pairs", 2)
def _take_pairs(m: Maker, c: Choices) -> None:
    """Single elements of a matrix at computed rows and columns."""
    x = m.operand(c, lambda v: len(v.dims) == 2)
    first, pairs = _pairs(m, c)
    for dim in x.dims:
        m.nonempty(dim, first.dims)
    result = hlo.gather(
        x.tensor,
        pairs,
        offset_dims=[],
        collapsed_slice_dims=[0, 1],
        start_index_map=[0, 1],
        index_vector_dim=1,
        slice_sizes=hlo.element_sizes(x.tensor, [0, 1], pairs),
    )
    m.add(replace(x, tensor=result), huge=True)


def _apart(x: Value, indices: Value) -> Tensor:
    """Indices that are not the operand itself: XLA:CPU (jaxlib 0.10) would overwrite them as it goes."""
    return hlo.clamp(-100, indices.tensor, 100) if indices.dtype == x.dtype else indices.tensor


def _scattered(m: Maker, x: Value, update: Value, tensor: Tensor, combiner: str, count: int) -> Value:
    special = x.special or update.special
    if combiner == "add":
        error = (
            0.0 if _grid(x, update) is not None else count * (x.error + update.error + count * (x.size + update.size))
        )
        reach = x.size + count * update.size
        return Value(tensor, -reach, reach, _grid(x, update), error, special)
    if combiner == "multiply":
        reach = x.size * max(update.size, 1) ** count
        grid = _grid(x, update)
        if grid is None or reach > 2**16 or (update.grid or 0) * count + (x.grid or 0) > 8:
            raise InapplicableError("a large product")
        return Value(tensor, -reach, reach, (x.grid or 0) + (update.grid or 0) * count, 0, special)
    return Value(
        tensor, min(x.low, update.low), max(x.high, update.high), _grid(x, update), max(x.error, update.error), special
    )


@kind("put", 5)
def _put(m: Maker, c: Choices) -> None:
    """Elements or rows at computed places; what is out of range is dropped."""
    x = m.operand(c, lambda v: _ranked(v) and _number(v) and v.size <= LIMIT)
    indices = m.operand(c, lambda v: _index(v) and 0 < len(v.dims) < 3)
    axis = c.below(len(x.dims))
    dims = (*x.dims[:axis], *indices.dims, *x.dims[axis + 1 :])
    if m.count(dims) > ELEMENTS:
        raise InapplicableError("too large")
    combiner: Any = c.pick(["add", "maximum", "minimum", "multiply", "set"])
    update = m.shaped(c, dims, x.dtype, lambda v: v.size <= LIMIT)
    if combiner == "set" and len(indices.dims) > 1:
        combiner = "add"
    where = _apart(x, indices)
    if combiner == "set":
        # Different places for all: two writes to one place have no order.
        where = hlo.add(hlo.iota(m.builder, indices.dims, 0, indices.dtype), c.below(3) - 1)
    result = hlo.put(x.tensor, where, update.tensor, axis, combiner)
    m.add(
        _scattered(m, x, update, result, combiner, m.count(indices.dims)),
        huge=combiner in ("maximum", "minimum", "set"),
    )


@kind("put_windows", 3)
def _put_windows(m: Maker, c: Choices) -> None:
    """Windows combined at computed places: XLA drops one that does not fit as a whole.

    The specification, and the interpreter, drop only those of its elements that do not fit.
    """
    x = m.operand(c, lambda v: _ranked(v) and _number(v) and v.size <= LIMIT)
    indices = m.operand(c, lambda v: _index(v) and len(v.dims) == 1)
    axis = c.below(len(x.dims))
    dim = x.dims[axis]
    size: Dim = 1 + c.below(min(m.least(dim), 3)) if m.least(dim) else m.length_within(c, dim)
    dims = (*indices.dims, *x.dims[:axis], size, *x.dims[axis + 1 :])
    if m.count(dims) > ELEMENTS:
        raise InapplicableError("too large")
    combiner: Any = c.pick(["add", "maximum", "minimum"])
    update = m.shaped(c, dims, x.dtype, lambda v: v.size <= LIMIT)
    where = _apart(x, indices)
    if c.below(2):
        last = hlo.convert(m.builder.size(dim - size), indices.dtype)
        where = hlo.clamp(0, where, last)
    else:
        m.interpretable = False
    result = hlo.scatter(
        x.tensor,
        where,
        update.tensor,
        combiner,
        update_window_dims=list(range(1, len(dims))),
        inserted_window_dims=[],
        scatter_dims_to_operand_dims=[axis],
        index_vector_dim=1,
    )
    m.add(_scattered(m, x, update, result, combiner, m.bound(size) * m.count(indices.dims)), huge=combiner != "add")


@kind("put_pairs", 2)
def _put_pairs(m: Maker, c: Choices) -> None:
    """Single elements of a matrix combined at computed rows and columns."""
    x = m.operand(c, lambda v: len(v.dims) == 2 and _number(v) and v.size <= LIMIT)
    first, pairs = _pairs(m, c)
    combiner: Any = c.pick(["add", "maximum", "minimum"])
    update = m.shaped(c, first.dims, x.dtype, lambda v: v.size <= LIMIT)
    result = hlo.scatter(
        x.tensor,
        pairs,
        update.tensor,
        combiner,
        update_window_dims=[],
        inserted_window_dims=[0, 1],
        scatter_dims_to_operand_dims=[0, 1],
        index_vector_dim=1,
    )
    m.add(_scattered(m, x, update, result, combiner, m.count(first.dims)), huge=combiner != "add")


# ---- linear algebra --------------------------------------------------------------------------------------------------


@kind("linalg", 4)
def _linalg(m: Maker, c: Choices) -> None:
    """Factors of, and solutions with, a matrix whose diagonal dominates."""
    x = m.operand(c, lambda v: _float(v) and len(v.dims) in (2, 3) and v.exact and not v.special and v.size <= 8)
    rank = len(x.dims)
    batch = list(range(rank - 2))
    gram = hlo.dot_general(x.tensor, x.tensor, contracting=([rank - 1], [rank - 1]), batching=(batch, batch))
    places = [hlo.iota(m.builder, gram.dims, axis, I32) for axis in (rank - 2, rank - 1)]
    heavy = m.number(64.0 * (1 + m.bound(x.dims[-1]) * m.bound(x.dims[-2])), x.dtype).tensor
    eye = hlo.select(hlo.compare("EQ", *places), heavy, m.number(0, x.dtype).tensor)
    matrix = hlo.add(gram, eye)
    how = c.pick(["cholesky", "solve", "lu"])
    if how == "cholesky":
        m.add(Value(hlo.cholesky(matrix, lower=bool(c.below(2))), -200, 200, None, 2e4))
        return
    right = m.shaped(c, x.dims, x.dtype, lambda v: v.exact and not v.special and v.size <= 64)
    if how == "lu":
        factors, permutation = hlo.lu(matrix)
        m.add(Value(hlo.lu_solve(factors, permutation, right.tensor), -64, 64, None, 2e4))
        m.add(Value(permutation, 0, m.bound(x.dims[-2])))
        return
    lower, flipped = bool(c.below(2)), bool(c.below(2))
    triangle = hlo.cholesky(matrix, lower=lower)
    if c.below(2):
        right = replace(right, tensor=hlo.transpose(right.tensor, [*batch, rank - 1, rank - 2]))
        solved = hlo.triangular_solve(triangle, right.tensor, lower=lower, left_side=False, transpose=flipped)
    else:
        solved = hlo.triangular_solve(triangle, right.tensor, lower=lower, transpose=flipped, unit_diagonal=False)
    m.add(Value(solved, -100, 100, None, 2e4))


# ---- control flow ----------------------------------------------------------------------------------------------------


def _flag(m: Maker, c: Choices) -> Tensor:
    """A boolean scalar that is computed from data."""
    flags = [x for x in m.values if x.dtype == BOOL and not x.dims]
    if flags and c.below(2):
        return c.pick(flags).tensor
    index = m.operand(c, lambda v: _index(v) and not v.dims)
    return hlo.compare("GT", index.tensor, c.below(3))


def _like(m: Maker, x: Value) -> Value:
    """The newest value of the type of `x`."""
    return next(v for v in reversed(m.values) if v.dims == x.dims and v.dtype == x.dtype)


def _joined(tensor: Tensor, values: Sequence[Value]) -> Value:
    return Value(
        tensor,
        min(v.low for v in values),
        max(v.high for v in values),
        _grid(*values),
        max(v.error for v in values),
        any(v.special for v in values),
    )


@kind("if", 4)
def _if(m: Maker, c: Choices) -> None:
    x = m.operand(c)
    flag = _flag(m, c)
    _branches(m, c, x, 2, lambda branches: hlo.if_(flag, *branches))


@kind("case", 2)
def _case(m: Maker, c: Choices) -> None:
    x = m.operand(c)
    index = m.operand(c, lambda v: v.dtype == I32 and not v.dims)
    count = 2 + c.below(2)
    _branches(m, c, x, count, lambda branches: hlo.case(index.tensor, branches))


def _branches(m: Maker, c: Choices, x: Value, count: int, build: Callable[[list[Any]], list[Tensor]]) -> None:
    found: list[list[Value]] = []
    also = m.operand(c, _ranked)

    def branch() -> list[Tensor]:
        with m.scope():
            m.values += [x]
            m.nested(c, 1 + c.below(3))
            found.append([_like(m, x), _like(m, also)])
            return [v.tensor for v in found[-1]]

    tensors = build([branch] * count)
    for tensor, column in zip(tensors, zip(*found, strict=True), strict=True):
        m.add(_joined(tensor, column), huge=True)


@kind("while", 5)
def _while(m: Maker, c: Choices) -> None:
    """A counted loop, which data may end early; its carries stay within the intervals that they start in."""
    x = m.operand(c, lambda v: bool(v.dims) and (v.dtype == BOOL or _exact_number(v)) and v.size <= LIMIT)
    y = m.operand(c, lambda v: v.exact and v.size <= LIMIT)
    carried = [x, y] if y.dtype.kind != "b" and c.below(2) else [x]
    index = m.operand(c, lambda v: v.dtype == I32 and not v.dims)
    sizes = [dim for dim in m.pool if m.bound(dim) <= 6]
    if c.below(2):
        trips = hlo.clamp(0, index.tensor, 4)
    else:
        trips = m.builder.size(c.pick(sizes), I32)
    early = c.one_in(3) and x.dtype != BOOL
    zero = m.builder.constant(0, np.int32)

    def inside(handles: Sequence[Tensor]) -> list[Value]:
        return [Value(h, v.low, v.high, v.grid, 0, v.special) for h, v in zip(handles, carried, strict=True)]

    def condition(count: Tensor, *handles: Tensor) -> Tensor:
        more = hlo.compare("LT", count, trips)
        if early:
            least = hlo.full_like(handles[0], max(math.floor(x.low), -LIMIT))
            some = hlo.reduce_monoid(hlo.compare("GT", handles[0], least), range(x.tensor.ndim), "or")
            more = hlo.and_(more, some)
        return more

    def body(count: Tensor, *handles: Tensor) -> list[Tensor]:
        with m.scope():
            own = inside(handles)
            m.values += [Value(count, 0, 6), *own]
            m.nested(c, 1 + c.below(3))
            return [hlo.add(count, 1), *[_kept(_like(m, v), v) for v in own]]

    results = hlo.while_loop([zero, *[v.tensor for v in carried]], condition, body)
    m.add(Value(results[0], 0, 8))
    for tensor, v in zip(results[1:], carried, strict=True):
        m.add(replace(v, tensor=tensor))


def _kept(result: Value, carry: Value) -> Tensor:
    """A loop's new carry: within the interval, on the grid, and finite where the carry is."""
    if not result.exact or (result.grid or 0) > (carry.grid or 0):
        return carry.tensor
    tensor = result.tensor
    if result.special and not carry.special:
        tensor = hlo.select(hlo.is_finite(tensor), tensor, hlo.full_like(tensor, carry.low))
    if carry.dtype == BOOL or (carry.low <= result.low and result.high <= carry.high):
        return tensor
    return hlo.clamp(carry.low, tensor, carry.high)


@kind("call", 4)
def _call(m: Maker, c: Choices) -> None:
    """A private function on two values."""
    operands = [m.operand(c, _ranked), m.operand(c)]
    name = f"part{m.calls}"
    m.calls += 1
    found: list[Value] = []

    def body(*handles: Tensor) -> list[Tensor]:
        for handle, outer in zip(handles, operands, strict=True):
            for own, dim in zip(handle.dims, outer.dims, strict=True):
                if type(own) is not int:
                    m.intervals[str(own)] = m.least(dim), m.bound(dim)
        before = m.products
        m.products = {}
        with m.scope([replace(x, tensor=handle) for x, handle in zip(operands, handles, strict=True)]):
            m.nested(c, 1 + c.below(3))
            found.extend(m.values[-2:])
        m.products = before
        return [v.tensor for v in found]

    for tensor, v in zip(hlo.call(name, [x.tensor for x in operands], body), found, strict=True):
        m.add(replace(v, tensor=tensor), huge=True)


# What is done inside of branches, loops and functions: no demands there, and nothing nested.
INSIDE = [
    *("unary", "binary", "binary", "compare", "select", "clamp", "convert", "broadcast", "transpose", "reverse"),
    *("concatenate", "reduce", "dot", "cumulative", "sort", "take", "put", "dynamic_update", "smooth", "mean", "iota"),
    *("binary", "reverse", "window", "size"),
]


# ---- programs --------------------------------------------------------------------------------------------------------

_STYLES = {
    "small": (-4, 4),
    "positive": (1, 5),
    "special": (-3, 3),
    "halves": (-2, 2),
    "real": (-2, 2),
    "index": (-2, 6),
}


def build(recipe: Recipe) -> Case:
    """The program of a recipe."""
    c = Choices(recipe.header)
    names = ["n", "m", "k"][: 1 + c.below(3)]
    bounds = {name: c.pick([3, 4, 2, 5, 6, 1]) for name in names}
    roots: list[Dim] = [dimension.symbol(name) for name in names]
    given = _arguments(c, names, roots, bounds)
    intervals: dict[str, tuple[int | None, int | None]] = {name: (0, bound) for name, bound in bounds.items()}
    signed: list[Dim] = []
    if c.below(2):
        bounds["c"], intervals["c"] = 4, (-4, 4)
        signed.append(dimension.symbol("c", signed=True))
        given.append(Given("c", I64, (), "size"))
    context = new_context()
    builder = Builder(context)
    with builder.function("main", [(g.dims, g.dtype) for g in given]) as handles:
        values = []
        for g, handle in zip(given, handles, strict=True):
            for axis, dim in enumerate(g.dims):
                if str(dim) in bounds:
                    builder.add_root(Root(str(dim), handle, axis))
            if g.style == "size":
                builder.add_root(Root("c", handle, None))
                handle.sizes = signed[0]
                continue
            low, high = _STYLES[g.style] if g.dtype != BOOL else (0, 1)
            grid = {"halves": 1, "real": None}.get(g.style, 0)
            values.append(Value(handle, low, high, grid, 0, g.style == "special"))
        m = Maker(builder, values, _pool(roots), intervals, signed)
        own = len(values)
        kinds = []
        for name, numbers in recipe.steps:
            try:
                KINDS[name][1](m, Choices(numbers))
            except InapplicableError:
                continue
            kinds.append(name)
        results = [v for v in m.values[own:] if v.tensor.uid not in m.used][-10:] or m.values[-1:]
        operation = builder.finish([v.tensor for v in results])
    arguments = tuple(Argument(g.name, g.dtype, g.dims, ("c",) if g.style == "size" else ()) for g in given)
    canonical = builder.constraints.canonical
    described = tuple(Result(f"out{i}", v.dtype, tuple(canonical(d) for d in v.dims)) for i, v in enumerate(results))
    signatures.write(operation, Signature(arguments, described, (), tuple(builder.constraints)))
    verify(builder.module, "the random program")
    tolerances = tuple(
        Tolerance(v.exact, 0.0 if v.exact else 4 * v.error * float(np.finfo(v.dtype).eps) + 1e-30) for v in results
    )
    return Case(Program(builder.module), bounds, tuple(given), tolerances, tuple(kinds), m.interpretable)


def _pool(roots: Sequence[Dim]) -> list[Dim]:
    first, last = roots[0], roots[-1]
    pool: list[Dim] = [*roots, 2, 3, 1, first + last, 2 * first, last // 2, maximum(first - 1, 0), first + 1, 4]
    return [*pool, minimum(first, last), first * last] if first != last else pool


def _arguments(c: Choices, names: Sequence[str], roots: Sequence[Dim], bounds: Mapping[str, int]) -> list[Given]:
    """One for each root, some more, and an integer scalar."""
    given = []
    count = len(roots) + 2 + c.below(2)
    for number in range(count):
        dims: list[Dim] = [c.pick([*roots, 2, 3, 1]) for _ in range(c.below(3))]
        if number < len(roots):
            dims.insert(c.below(len(dims) + 1), roots[number])
        elif c.one_in(4):
            dims.append(2 * roots[0])
        if number == count - 1:
            dims = dims[:2] or [c.pick([roots[-1], 3])]
            given.append(Given(f"x{number}", c.pick([I32, I64]), tuple(dims), "index"))
            continue
        style = c.pick(["small", "positive", "special", "halves", "small", "real"])
        dtype = c.pick([F64, F64, F32, I32, BOOL]) if style in ("small", "positive") else c.pick([F64, F32])
        given.append(Given(f"x{number}", dtype, tuple(dims), style))
    given.append(Given("i", I32, (), "index"))
    return given


# ---- arguments -------------------------------------------------------------------------------------------------------


def sizes_of(case: Case, recipe: Recipe, count: int) -> list[dict[str, int]]:
    """Some sets of sizes that the program accepts: the bounds, and others with many ends among them."""
    source = random.Random(recipe.seed)
    found = [dict(case.bounds)] if source.random() < 0.4 else []
    for _ in range(30):
        if len(found) == count:
            break
        sizes = {}
        for root in case.program.signature.roots:
            bound = case.bounds[root.name]
            ends = [0, 1, 2, bound - 1, bound]
            sizes[root.name] = (
                source.randint(-bound, bound) if root.kind == "value" else min(source.choice(ends), bound)
            )
        sizes |= {name: bound for name, bound in case.bounds.items() if name not in sizes}
        if sizes not in found:
            found.append(sizes)
    return [sizes for sizes in found if all(one.holds(sizes) for one in case.program.signature.constraints)]


def arrays_of(case: Case, recipe: Recipe, sizes: Mapping[str, int]) -> list[np.ndarray]:
    """Arguments for given sizes."""
    source = np.random.default_rng([recipe.seed, *[value + 100 for value in sizes.values()]])
    arrays = []
    for g in case.given:
        shape = tuple(dimension.evaluate(dim, sizes) for dim in g.dims)
        if g.style == "size":
            arrays.append(np.array(sizes["c"], g.dtype))
        elif g.dtype == BOOL:
            arrays.append(np.asarray(source.random(shape) < 0.5))
        else:
            low, high = _STYLES[g.style]
            if g.style == "real":
                array = source.uniform(low, high, shape)
            elif g.style == "halves":
                array = source.integers(2 * low, 2 * high + 1, shape) / 2
            else:
                array = source.integers(low, high + 1, shape)
            array = np.asarray(array, g.dtype)
            if g.style == "special" and array.size:
                odd = source.choice([np.nan, np.inf, -np.inf, -0.0], shape)
                array = np.where(source.random(shape) < 0.2, odd, array).astype(g.dtype)
            arrays.append(array)
    return arrays


# ---- making failures small -------------------------------------------------------------------------------------------


def shrink(recipe: Recipe, fails: Callable[[Recipe], bool], attempts: int = 300) -> Recipe:
    """A smaller recipe that fails too: without steps that do not matter, and with smaller numbers."""
    left = attempts

    def better(candidate: Recipe) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and fails(candidate)

    changed = True
    while changed and left > 0:
        changed = False
        for at in reversed(range(len(recipe.steps))):
            candidate = replace(recipe, steps=recipe.steps[:at] + recipe.steps[at + 1 :])
            if better(candidate):
                recipe, changed = candidate, True
        for at, (name, numbers) in enumerate(recipe.steps):
            for place, number in enumerate(numbers):
                for smaller in dict.fromkeys((0, number % 6)):
                    if smaller >= number:
                        continue
                    fewer = (*numbers[:place], smaller, *numbers[place + 1 :])
                    candidate = replace(recipe, steps=(*recipe.steps[:at], (name, fewer), *recipe.steps[at + 1 :]))
                    if better(candidate):
                        recipe, numbers, changed = candidate, fewer, True
                        break
    return recipe
