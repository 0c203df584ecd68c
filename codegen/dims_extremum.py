"""Minima and maxima of dimensions, and sums that become shorter with one of them.

In: dimensions. Out: equal ones, written shorter. All rests on four identities of integers, with c > 0:

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

from collections.abc import Iterable, Iterator
from math import gcd
from typing import cast

from .dims_bounds import DEFAULT
from .dims_terms import (
    LONGEST_SUM,
    Atom,
    Dim,
    Monomial,
    SymbolicDim,
    add_terms,
    apply,
    bracketed,
    collect,
    identity,
    is_plain,
    known,
    size,
    sole_atom,
    structural,
    sum_text,
    terms_of,
    values_of,
)

_LONGEST = 16  # terms of a sum that is searched for a shorter one
_LARGEST = 24  # nodes of expressions whose extrema are moved
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
    """The terms that are a small extremum of sizes, with their coefficients."""
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
    """The sum with nothing but equal monomials collected."""
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
    """Whether the dimension is known to be never negative."""
    return DEFAULT.lowest(dim) >= 0


def _distributed(kind: str, dims: list[Dim]) -> Iterator[Dim]:
    """The extremum with an extremum in one of its arguments turned inside out."""
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
