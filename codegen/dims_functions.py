"""Functions of dimensions: bounds, minima and maxima, sums that become shorter with one of them, division; their text.

In: dimensions. Out: intervals of them; and equal ones, written shorter, by four identities of integers, with c > 0:

* ``x + max(a, b) == max(x + a, x + b)``, so a sum moves into an extremum: ``n - min(n, 1)`` is ``max(n - 1, 0)``;
* ``max(max(a, b), c) == max(a, b, c)``: with the first, ``max(max(n - 1, 0) - 1, 0)`` is ``max(n - 2, 0)``;
* ``max(min(a, b), c) == min(max(a, c), max(b, c))``, which is shorter where sides of it are decided;
* ``min(a, b) == a - max(a - b, 0)`` and ``max(a, b) == b + max(a - b, 0)``: extrema of equal differences join,
  ``min(n, 3) + max(n - 3, 0)`` is ``n``.

The decision to know: a rewrite is taken only where the expression becomes strictly smaller, and only on parts of
bounded size: nothing is ever multiplied out or distributed at a loss. And only where no root may be negative: the
program computes in 64 bits, where ``s - 3`` may wrap and ``min(s, 3)`` does not.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from math import gcd
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar, cast

from .dims_terms import (
    LARGEST_TREE,
    LONGEST_SUM,
    Atom,
    Dim,
    Monomial,
    SymbolicDim,
    Terms,
    add_terms,
    apply,
    atom_text,
    bracketed,
    coefficient_gcd,
    collect,
    constant_of,
    identity,
    is_plain,
    known,
    parts,
    size,
    sole_atom,
    stages,
    structural,
    sum_text,
    terms_of,
    values_of,
    without,
)

# ---- bounds: interval arithmetic, with compound atoms expanded where that tells more ---------------------------------


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
            low = _plus(low, _multiplied(c, self.product(monomial)[c < 0]))
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
            corners = [_multiplied(low, a), _multiplied(low, b), _multiplied(high, a), _multiplied(high, b)]
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
        of = _quotients if atom.kind == "floordiv" else _remainder
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
    return _Intervals(dict(sizes))


def is_infinite(x: Bound) -> bool:
    return isinstance(x, float)


def _multiplied(x: Bound, y: Bound) -> Bound:
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


def _quotients(a: Interval, b: Interval) -> Interval:
    """Of a//b for 1 <= b: the quotient is monotonic in each, and goes to 0 or -1 as b grows."""

    def at(x: Bound, y: Bound) -> Bound:
        return x if is_infinite(x) else x // y if not is_infinite(y) else -(x < 0)

    return at(a[0], b[1] if a[0] >= 0 else b[0]), at(a[1], b[0] if a[1] >= 0 else b[1])


def _remainder(a: Interval, b: Interval) -> Interval:
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


# ---- minima, maxima and sums -----------------------------------------------------------------------------------------


_LONGEST = 16  # terms of a sum that is searched for a shorter one
_LARGEST = 24  # nodes of expressions whose extrema are moved, also out of a division
_SMALL = 16  # nodes of sums that are searched in depth
_ARGUMENTS = 12  # of an extremum, beyond which extrema in it stay nested
_OTHER = {"min": "max", "max": "min"}


def reduce(dim: Dim) -> Dim:
    """The dimension as it is shown and emitted: as short as is found; idempotent."""
    if isinstance(dim, int):
        return dim
    if dim.reduced is None:
        found = _reduce(dim, True)
        if isinstance(found, SymbolicDim):
            found.reduced = found
        dim.reduced = found
    return dim.reduced


@structural
def _reduce(dim: Dim, deep: bool) -> Dim:
    """`reduce`; where it is not deep, what would move into an extremum is taken as it is."""
    while isinstance(dim, SymbolicDim) and len(dim.terms) <= _LONGEST:
        smaller = min((*_joined(dim), *_absorbed(dim, deep)), key=size, default=dim)
        if size(smaller) >= size(dim):
            return dim
        dim = smaller
    return dim


def settle(dim: SymbolicDim) -> Dim:
    """A sum of which not all is linear: an int where that is its value, one atom where it has too many terms."""
    if any(_extrema(dim)):
        shorter = reduce(dim)
        if isinstance(shorter, int):
            return shorter
        dim = shorter
    return bracketed(dim) if len(dim.terms) > LONGEST_SUM else known(dim)


def _extrema(dim: Dim) -> Iterator[tuple[Atom, int]]:
    for monomial, c in terms_of(dim):
        if len(monomial) == 1 and (found := monomial[0]).kind in _OTHER and found.plain and found.size <= _LARGEST:
            yield found, c


def _joined(dim: SymbolicDim) -> Iterator[Dim]:
    """The sums in which two extrema with one difference are one or none."""
    met: dict[object, tuple[Atom, int]] = {}
    for found, c in _extrema(dim):
        if len(found.args) != 2:
            continue
        difference, base, factor = _by_difference(found)
        key = identity(difference)
        if key not in met:
            met[key] = found, c
            continue
        other, k = met[key]
        _, other_base, other_factor = _by_difference(other)
        rest = collect({m: t for m, t in dim.terms if m not in ((found,), (other,))})
        linear = _sum(rest, base * c, other_base * k)
        yield _sum(linear, extremum("max", difference, 0) * (factor * c + other_factor * k))


@structural
def _by_difference(found: Atom) -> tuple[Dim, Dim, int]:
    """(d, base, k) with ``base + k*max(d, 0)`` for the extremum of two; d has no common factor, and a fixed sign."""
    a, b = found.args
    difference = cast(SymbolicDim, _sum(a, -b))
    if difference.terms[0][1] < 0:
        a, b, difference = b, a, -difference
    factor = gcd(*(c for _, c in difference.terms))
    primitive = collect({m: c // factor for m, c in difference.terms})
    return (primitive, b, factor) if found.kind == "max" else (primitive, a, -factor)


def _absorbed(dim: SymbolicDim, deep: bool) -> Iterator[Dim]:
    """The sums in which a part has moved into an extremum."""
    for found, c in _extrema(dim):
        rest = {m: t for m, t in dim.terms if m != (found,) and t % c == 0 and all(a.plain for a in m)}
        for part in _movable(found, c, rest):
            kind = found.kind if c > 0 else _OTHER[found.kind]
            left = add_terms(dim.terms, [((found,), -c), *((m, -t) for m, t in part.items())])
            shift = collect({m: t // abs(c) for m, t in part.items()})
            sign = 1 if c > 0 else -1
            args = [_sum(arg * sign, shift) for arg in found.args]
            if sum(map(size, args)) > _LARGEST:
                continue
            if deep and size(dim) <= _SMALL:
                args = [_reduce(arg, False) for arg in args]
            if size(left) + size(_merged(kind, args)) < size(dim):
                yield _sum(left, extremum(kind, *args) * abs(c))


def _movable(found: Atom, c: int, rest: dict[Monomial, int]) -> Iterator[dict[Monomial, int]]:
    """Parts of the rest of a sum that may make an extremum shorter, or the sum."""
    inside = {m for arg in found.args for m, _ in terms_of(arg)}
    matching = {m: t for m, t in rest.items() if m in inside or not m}
    candidates = [rest, matching, {m: t for m, t in matching.items() if m}]
    for arg in found.args:  # what cancels this argument
        candidates.append({m: -c * k for m, k in terms_of(arg) if m and m in rest})
    met: list[dict[Monomial, int]] = []
    for candidate in candidates:
        if candidate and candidate not in met:
            met.append(candidate)
            yield candidate


def _sum(*dims: Dim) -> Dim:
    total: Dim = dims[0]
    for dim in dims[1:]:
        total = add_terms(terms_of(total), terms_of(dim))
    return total


@structural
def extremum(kind: str, *dims: Dim) -> Dim:
    """The minimum or maximum, without what never decides it, and turned inside out where that is shorter."""
    found = _merged(kind, map(reduce, dims))
    atom = sole_atom(found)
    if atom is None or atom.kind != kind or not atom.plain or atom.size > _LARGEST:
        return found
    shorter = min((found, *_distributed(kind, list(atom.args))), key=size)
    nested = sole_atom(shorter)
    if shorter is found or nested is None or nested.kind not in _OTHER:
        return shorter
    return extremum(nested.kind, *nested.args)


def _merged(kind: str, dims: Iterable[Dim]) -> Dim:
    """The extremum without what never decides it, terms that all have in common outside."""
    kept = _decisive(kind, _flattened(kind, dims))
    if len(kept) == 1:
        return kept[0]
    common = set(terms_of(kept[0])).intersection(*map(terms_of, kept)) if all(map(is_plain, kept)) else None
    if common:
        shared = collect(dict(common))
        return _sum(shared, extremum(kind, *[_sum(dim, -shared) for dim in kept]))
    return known(apply(kind, *kept))


def _flattened(kind: str, dims: Iterable[Dim]) -> list[Dim]:
    flat: dict[object, Dim] = {}
    for dim in dims:
        found = sole_atom(dim)
        nested = found.args if found and found.kind == kind else ()
        inner = nested if 0 < len(nested) + len(flat) <= _ARGUMENTS else ()
        flat.update({identity(arg): arg for arg in inner or (dim,)})
    return list(flat.values())


def _decisive(kind: str, dims: list[Dim]) -> list[Dim]:
    kept: list[Dim] = []
    for dim in sorted(dims, key=lambda d: (isinstance(d, int), len(terms_of(d)), sum_text(terms_of(d)))):
        if not any(_dominates(kind, other, dim) for other in kept):
            kept = [other for other in kept if not _dominates(kind, dim, other)]
            kept.append(dim)
    return kept


def _dominates(kind: str, winner: Dim, loser: Dim) -> bool:
    low, high = (winner, loser) if kind == "min" else (loser, winner)
    if any(a is not None and b is not None and a > b for a, b in zip(values_of(low), values_of(high), strict=True)):
        return False
    return _is_natural(_sum(high, -low))


@structural
def _is_natural(dim: Dim) -> bool:
    return DEFAULT.interval(dim)[0] >= 0


def _distributed(kind: str, dims: list[Dim]) -> Iterator[Dim]:
    for place, dim in enumerate(dims):
        others = dims[:place] + dims[place + 1 :]
        for inner, branches in turned(dim):
            yield _merged(inner, [extremum(kind, branch, *others) for branch in branches])


def turned(dim: Dim) -> Iterator[tuple[str, list[Dim]]]:
    """(kind, branches) with the dimension as that extremum of its branches, where it has one extremum."""
    found = list(_extrema(dim))
    if len(found) == 1:
        inner, c = found[0]
        rest = add_terms(terms_of(dim), [((inner,), -c)])
        yield inner.kind if c > 0 else _OTHER[inner.kind], [_sum(rest, arg * c) for arg in inner.args]


# ---- floor division and remainder, as Python defines them: at most a division by zero is dropped, none is added ----


_LONGEST_DIVISOR = 8  # terms
_DIVISION_STEPS = 64  # of a division of polynomials


def _shrink(dim: Dim, factor: int) -> Dim:
    return collect({m: c // factor for m, c in terms_of(dim)})


def _split(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """(q, r) with ``a == q*b + r``, so that ``a//b == q + r//b`` and ``a % b == r % b``; (0, a) if b may be 0."""
    if isinstance(b, int):  # b > 0; a coefficient keeps its sign: -n % 8 shall not become 7*n % 8
        quotient = {m: (c // b if c > 0 or not m else -(-c // b)) for m, c in terms_of(a)}
        return collect(quotient), collect({m: c - b * quotient[m] for m, c in terms_of(a)})
    low, high = DEFAULT.interval(b)
    if low <= 0 <= high or len(b.terms) > _LONGEST_DIVISOR:
        return 0, a
    q: dict[Monomial, int] = {}
    r: dict[Monomial, int] = {}
    rest = a
    (lead, k) = b.terms[0]
    for _ in range(_DIVISION_STEPS):
        if isinstance(rest, int) and rest == 0:
            break
        monomial, c = terms_of(rest)[0]
        missing = without(monomial, lead)
        if missing is None or c % k:
            r[monomial] = c
            rest = add_terms(terms_of(rest), [(monomial, -c)])
        else:
            q[missing] = c // k
            product = [(tuple(sorted(missing + m, key=attrgetter("key"))), -c // k * t) for m, t in b.terms]
            rest = add_terms(terms_of(rest), product)
    else:
        return 0, a
    return (
        (collect(q), collect(r)) if len(r) < len(terms_of(a)) else (0, a)
    )  # n//(n + 1) shall not become 1 + -1//(n + 1)


@structural
def divide(kind: str, a: Dim, b: Dim) -> Dim:
    """The quotient ("floordiv") or the remainder ("mod")."""
    a, b = reduce(a), reduce(b)
    is_quotient = kind == "floordiv"
    if b == 0:
        raise ZeroDivisionError(f"({a})//0" if is_quotient else f"({a}) % 0")
    if terms_of(b)[0][1] < 0:
        return divide(kind, -a, -b) * (1 if is_quotient else -1)
    outer, inner = _split(a, b)
    if isinstance(inner, int) and (inner == 0 != outer or isinstance(b, int)):
        whole, rest = divmod(inner, b) if isinstance(b, int) else (0, 0)
        return outer + whole if is_quotient else rest
    outer = outer if is_quotient else 0
    # A factor leaves both sides; the dividend's constant is floored only where b is an int > 0.
    of_b = b if isinstance(b, int) else gcd(coefficient_gcd(b), constant_of(b), constant_of(inner))
    if (factor := gcd(coefficient_gcd(inner), of_b)) > 1:
        shorter = divide(kind, _shrink(inner, factor), _shrink(b, factor))
        return outer + shorter if is_quotient else shorter * factor + constant_of(inner) % factor
    low, high = DEFAULT.interval(inner)
    if isinstance(b, int):
        if not (is_infinite(low) or is_infinite(high)) and low // b == high // b:
            return outer + int(low) // b if is_quotient else inner - int(low) // b * b
        if (found := _nested(kind, inner, b)) is not None:
            return outer + found
    elif low >= 0 and DEFAULT.interval(b - inner)[0] >= 1:
        return outer if is_quotient else inner
    if identity(shorter := reduce(inner)) != identity(inner):
        return outer + divide(kind, shorter, b)
    found = _quotient(inner, b) if is_quotient else apply(kind, inner, b)
    return outer + (found if isinstance(found, int) else known(found))


def _nested(kind: str, inner: Dim, b: int) -> Dim | None:
    """Of a quotient in a quotient one quotient, of a remainder in a remainder one remainder."""
    if kind == "floordiv":
        constant = constant_of(inner)
        nested = sole_atom(inner - constant)
        if nested and nested.kind == kind and isinstance(divisor := nested.args[1], int):
            return divide(kind, nested.args[0] + constant * divisor, divisor * b)
        return None
    for monomial, c in terms_of(inner):  # c*(x % d) is c*x modulo b where b divides c*d
        atom = monomial[0] if len(monomial) == 1 else None
        if atom and atom.kind == kind and isinstance(d := atom.args[1], int) and c * d % b == 0:
            return divide(kind, inner - collect({monomial: c}) + c * atom.args[0], b)
    return None


def _quotient(a: Dim, b: Dim) -> Dim:
    """Of dimensions that have nothing in common: ``max(x, y)//2`` is ``max(x//2, y//2)``, if that is shorter."""
    found: Dim = apply("floordiv", a, b)
    if isinstance(b, int) and size(a) <= _LARGEST:
        for kind, branches in turned(a):
            if all(map(is_plain, branches)):
                found = min(found, extremum(kind, *[divide("floordiv", branch, b) for branch in branches]), key=size)
    return found


# ---- text ----------------------------------------------------------------------------------------------------------


_SMALLEST_NAMED = 4  # nodes of a part that gets a name
_DEEPEST = 60  # functions inside of each other before one gets a name


def text(dim: Dim) -> str:
    shown = reduce(dim)
    return sum_text(terms_of(shown)) if size(shown) <= LARGEST_TREE else _with_names(shown)


def _with_names(dim: Dim) -> str:
    order = parts(dim)
    taken = {part.name for part in order}
    names = (name for number in itertools.count(1) if (name := f"_{number}") not in taken)
    uses = Counter(a for d in [dim, *(arg for part in order for arg in part.args)] for m, _ in terms_of(d) for a in m)
    texts: dict[Atom, str] = {}
    nesting: dict[Atom, int] = {}
    definitions: list[str] = []

    def written(terms: Terms) -> str:
        return sum_text(terms, texts.__getitem__)

    for part in order:
        nesting[part] = 1 + max((nesting[a] for arg in part.args for m, _ in terms_of(arg) for a in m), default=0)
        texts[part] = atom_text(part, written)
        if part.args and (nesting[part] >= _DEEPEST or (uses[part] > 1 and part.size >= _SMALLEST_NAMED)):
            name = next(names)
            definitions.append(f"{name}: {texts[part]}")
            texts[part], nesting[part] = name, 0
    return f"{{{'; '.join(definitions)}}} {written(terms_of(dim))}" if definitions else written(terms_of(dim))
