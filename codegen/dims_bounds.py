"""Bounds of dimensions: interval arithmetic, with compound atoms expanded where that tells more.

In: a dimension, and intervals of roots if they are narrower than their kinds say. Out: its least and greatest value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from .dims_terms import Atom, Dim, Monomial, SymbolicDim, add_terms, constant_of, stages, terms_of

Bound: TypeAlias = float  # an int of any size, or +-math.inf
Interval: TypeAlias = tuple[Bound, Bound]

_ELIMINATIONS = 4  # compound atoms that one bound may expand
_LONGEST_ELIMINATION = 16  # terms of a sum in which they are expanded
_KEPT = 1 << 14

R = TypeVar("R")


class _Intervals:
    """Interval arithmetic with given intervals for some roots; the last few thousand results are kept."""

    __slots__ = ("known", "sizes")

    def __init__(self, sizes: Mapping[str, tuple[int | None, int | None]]) -> None:
        self.sizes = sizes
        self.known: dict[object, Any] = {}  # of terms, of terms with eliminations, of atoms

    def kept(self, key: object, make: Callable[..., R], *args: Any) -> R:
        """What is kept under a key, or else is made now."""
        try:
            found: R = self.known[key]
        except KeyError:
            found = make(*args)
            if len(self.known) > _KEPT:
                self.known.clear()
            self.known[key] = found
        return found

    def interval(self, dim: Dim) -> Interval:
        return (dim, dim) if isinstance(dim, int) else self.kept(dim.terms, self._interval, dim)

    def _interval(self, dim: SymbolicDim) -> Interval:
        for part in stages(dim):
            self.atom(part)
        return self.lower(dim, _ELIMINATIONS), -self.lower(-dim, _ELIMINATIONS)

    def lower(self, dim: Dim, eliminations: int) -> Bound:
        """A lower bound: of the terms one by one, or after replacing a compound atom by what bounds it."""
        return dim if isinstance(dim, int) else self.kept((dim.terms, eliminations), self._lower, dim, eliminations)

    def _lower(self, dim: SymbolicDim, eliminations: int) -> Bound:
        low: Bound = 0
        compound: tuple[Atom, int] | None = None
        for monomial, c in terms_of(dim):
            if len(monomial) == 1 and monomial[0].kind != "root":
                compound = compound or (monomial[0], c)
            low = _plus(low, _times(c, self.product(monomial)[c < 0]))
        others = len(dim.terms) - (constant_of(dim) != 0)
        if compound and eliminations and 1 < others <= _LONGEST_ELIMINATION:
            low = max(low, self.eliminated(dim, *compound, eliminations - 1))
        return low

    def eliminated(self, dim: Dim, atom: Atom, c: int, eliminations: int) -> Bound:
        """A lower bound of ``dim``, which has the term ``c*atom``, with the atom expanded (n - min(n, m) >= 0)."""
        x = atom.args[0]

        def with_(argument: Dim, times: int = 1) -> Bound:
            """A bound of ``times*(dim - c*atom) + c*argument``."""
            rest = [(m, k * times) for m, k in terms_of(dim) if m != (atom,)]
            return self.lower(add_terms(rest, terms_of(argument * c)), eliminations)

        if atom.kind == "sum":
            return with_(x)
        if atom.kind in ("min", "max"):
            lows = list(map(with_, atom.args))
            return min(lows) if (atom.kind == "min") == (c > 0) else max(lows)
        divisor = atom.args[1]
        if atom.kind == "floordiv" and isinstance(divisor, int):  # divisor * (x//divisor) == x - x % divisor
            low = _plus(with_(x, divisor), -c * (divisor - 1) if c > 0 else 0)
            return low if is_infinite(low) else -(-low // divisor)
        if atom.kind == "mod" and c < 0 and self.interval(x)[0] >= 0 and self.interval(divisor)[0] >= 0:
            return with_(x)  # x % divisor <= x
        return -math.inf

    def product(self, monomial: Monomial) -> Interval:
        low: Bound = 1
        high: Bound = 1
        for atom, group in itertools.groupby(monomial):
            a, b = _power(self.atom(atom), len(list(group)))
            corners = [_times(low, a), _times(low, b), _times(high, a), _times(high, b)]
            low, high = min(corners), max(corners)
        return low, high

    def atom(self, atom: Atom) -> Interval:
        if atom.kind == "root":
            least, greatest = self.sizes.get(atom.name, (None if atom.signed else 0, None))
            return -math.inf if least is None else least, math.inf if greatest is None else greatest
        return self.kept(atom, self._compound, atom)

    def _compound(self, atom: Atom) -> Interval:
        intervals = list(map(self.interval, atom.args))
        if atom.kind == "sum":
            return intervals[0]
        if atom.kind in ("min", "max"):
            pick = min if atom.kind == "min" else max
            return pick(low for low, _ in intervals), pick(high for _, high in intervals)
        a, (low, high) = intervals
        of = _quotient if atom.kind == "floordiv" else _remainder
        found: list[Interval] = []
        if high >= 1:
            found.append(of(a, (max(low, 1), high)))
        if low <= -1:
            x, y = of((-a[1], -a[0]), (max(-high, 1), -low))
            found.append((x, y) if atom.kind == "floordiv" else (-y, -x))
        return min((p[0] for p in found), default=-math.inf), max((p[1] for p in found), default=math.inf)


DEFAULT = _Intervals({})


@lru_cache(maxsize=64)
def _intervals(sizes: frozenset[tuple[str, tuple[int | None, int | None]]]) -> _Intervals:
    """Kept: a pass asks for thousands of bounds under the same sizes, and most have parts in common."""
    return _Intervals(dict(sizes))


def is_infinite(x: Bound) -> bool:
    return isinstance(x, float)


def _times(x: Bound, y: Bound) -> Bound:
    if not x or not y:
        return 0
    return math.copysign(math.inf, 1 if (x > 0) == (y > 0) else -1) if math.inf in (abs(x), abs(y)) else x * y


def _plus(x: Bound, y: Bound) -> Bound:
    return x + y if isinstance(x, int) and isinstance(y, int) else -math.inf  # lower bounds: none is +inf


def _power(base: Interval, exponent: int) -> Interval:
    if exponent % 2 or base[0] >= 0:
        return base[0] ** exponent, base[1] ** exponent
    low, high = sorted((base[0] ** exponent, base[1] ** exponent))
    return (low if base[1] <= 0 else 0), high


def _quotient(a: Interval, b: Interval) -> Interval:
    """Of a//b for 1 <= b: the quotient is monotonic in each, and goes to 0 or -1 as b grows."""

    def at(x: Bound, y: Bound) -> Bound:
        return x if is_infinite(x) else x // y if not is_infinite(y) else -(x < 0)

    return at(a[0], b[1] if a[0] >= 0 else b[0]), at(a[1], b[0] if a[1] >= 0 else b[1])


def _remainder(a: Interval, b: Interval) -> Interval:
    """Of a % b for 1 <= b."""
    if a[0] >= 0 and a[1] < b[0]:
        return a
    if b[0] == b[1] and not is_infinite(a[0]) and not is_infinite(a[1]) and a[0] // b[0] == a[1] // b[0]:
        return a[0] % b[0], a[1] % b[0]
    return 0, min(a[1], b[1] - 1) if a[0] >= 0 else b[1] - 1


def bounds(dim: Dim, sizes: Mapping[str, tuple[int | None, int | None]] | None = None) -> tuple[int | None, int | None]:
    """The least and the greatest value, None where unbounded: never too tight, and exact for linear expressions.

    Args:
        sizes: intervals of roots, in place of (0, None) for a size and (None, None) for a signed root. They must
            allow no value that the root's kind does not.
    """
    low, high = (_intervals(frozenset(sizes.items())) if sizes else DEFAULT).interval(dim)
    return (None if is_infinite(low) else int(low)), (None if is_infinite(high) else int(high))
