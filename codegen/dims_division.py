"""Floor division and remainder of dimensions.

In: dividend and divisor. Out: the quotient or the remainder in normal form, as Python defines them. What is dropped is
at most a division by zero; none is added.
"""

from __future__ import annotations

from math import gcd

from .dims_bounds import DEFAULT, is_infinite
from .dims_extremum import extremum, reduce, turned
from .dims_terms import (
    Dim,
    Monomial,
    add_terms,
    apply,
    coefficient_gcd,
    collect,
    constant_of,
    identity,
    is_plain,
    known,
    size,
    sole_atom,
    structural,
    terms_of,
)

_LARGEST = 24  # nodes of a dividend whose extremum moves out of the division
_LONGEST_DIVISOR = 8  # terms
_DIVISION_STEPS = 64  # of a division of polynomials


def _shrink(dim: Dim, factor: int) -> Dim:
    """``dim // factor`` where the factor divides all but the constant."""
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
        missing = _without(monomial, lead)
        if missing is None or c % k:
            r[monomial] = c
            rest = add_terms(terms_of(rest), [(monomial, -c)])
        else:
            q[missing] = c // k
            rest = add_terms(terms_of(rest), [(_times(missing, m), -c // k * t) for m, t in b.terms])
    else:
        return 0, a
    return (
        (collect(q), collect(r)) if len(r) < len(terms_of(a)) else (0, a)
    )  # n//(n + 1) shall not become 1 + -1//(n + 1)


def _times(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted(a + b, key=lambda atom: atom.key))


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _common_factor(inner: Dim, b: Dim) -> int:
    """A factor that leaves both sides of a division: the dividend's constant is floored only where b is an int > 0."""
    of_b = b if isinstance(b, int) else gcd(coefficient_gcd(b), constant_of(b), constant_of(inner))
    return gcd(coefficient_gcd(inner), of_b)


@structural
def floordiv(a: Dim, b: Dim) -> Dim:
    a, b = reduce(a), reduce(b)
    if b == 0:
        raise ZeroDivisionError(f"({a})//0")
    if terms_of(b)[0][1] < 0:
        return floordiv(-a, -b)
    outer, inner = _split(a, b)
    if isinstance(inner, int) and (inner == 0 != outer or isinstance(b, int)):
        return outer + (inner // b if isinstance(b, int) else 0)
    if (factor := _common_factor(inner, b)) > 1:
        return outer + floordiv(_shrink(inner, factor), _shrink(b, factor))
    low, high = DEFAULT.interval(inner)
    if isinstance(b, int):
        if not (is_infinite(low) or is_infinite(high)) and low // b == high // b:
            return outer + int(low) // b
        constant = constant_of(inner)
        nested = sole_atom(inner - constant)
        if nested and nested.kind == "floordiv" and isinstance(divisor := nested.args[1], int):
            return outer + floordiv(nested.args[0] + constant * divisor, divisor * b)
    elif low >= 0 and DEFAULT.interval(b - inner)[0] >= 1:
        return outer
    if identity(shorter := reduce(inner)) != identity(inner):
        return outer + floordiv(shorter, b)
    found = _quotient(inner, b)
    return outer + (found if isinstance(found, int) else known(found))


def _quotient(a: Dim, b: Dim) -> Dim:
    """Of dimensions that have nothing in common: ``max(x, y)//2`` is ``max(x//2, y//2)``, if that is shorter."""
    found: Dim = apply("floordiv", a, b)
    if isinstance(b, int) and size(a) <= _LARGEST:
        for kind, branches in turned(a):
            if all(map(is_plain, branches)):
                found = min(found, extremum(kind, *[floordiv(branch, b) for branch in branches]), key=size)
    return found


@structural
def mod(a: Dim, b: Dim) -> Dim:
    a, b = reduce(a), reduce(b)
    if b == 0:
        raise ZeroDivisionError(f"({a}) % 0")
    if terms_of(b)[0][1] < 0:
        return -mod(-a, -b)
    outer, inner = _split(a, b)
    if isinstance(inner, int) and (inner == 0 != outer or isinstance(b, int)):
        return inner % b if isinstance(b, int) else 0
    if (factor := _common_factor(inner, b)) > 1:
        return mod(_shrink(inner, factor), _shrink(b, factor)) * factor + constant_of(inner) % factor
    low, high = DEFAULT.interval(inner)
    if isinstance(b, int):
        if not (is_infinite(low) or is_infinite(high)) and low // b == high // b:
            return inner - int(low) // b * b
        for monomial, c in terms_of(inner):  # c*(x % d) is c*x modulo b where b divides c*d
            atom = monomial[0] if len(monomial) == 1 else None
            if atom and atom.kind == "mod" and isinstance(d := atom.args[1], int) and c * d % b == 0:
                return mod(inner - collect({monomial: c}) + c * atom.args[0], b)
    elif low >= 0 and DEFAULT.interval(b - inner)[0] >= 1:
        return inner
    if identity(shorter := reduce(inner)) != identity(inner):
        return mod(shorter, b)
    return known(apply("mod", inner, b))
