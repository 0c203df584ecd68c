"""Whether two dimensions are the same function of their roots.

In: two dimensions with the same values at some points. Out: True only where it is proven, by cases: in each, every
extremum is one of its arguments and every ``x//d`` an integer q with ``0 <= x - d*q < d``, so that what is left of the
difference is linear, and is shown to be 0 by eliminating unknowns from inequalities (Fourier and Motzkin's way, with
coefficients and constants rounded to integers).

The decision to know: a proof has a budget. What it does not find is "not known to be equal", never "equal".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import gcd, lcm
from typing import TypeAlias, TypeVar

from .dims_functions import reduce
from .dims_terms import Atom, Dim, add_terms, parts, structural, terms_of, values_of, without

_Unknowns: TypeAlias = tuple[int, ...]  # a product of unknowns, sorted; () is the constant
_Form: TypeAlias = dict[_Unknowns, int]  # a polynomial in unknowns with integer coefficients

T = TypeVar("T")
_ATOMS = 40  # of a difference that is examined
_EXTREMA = 12  # of these
_STEPS = 2_000  # of elimination, in one proof
_INEQUALITIES = 60  # in one question, while unknowns are eliminated
_TERMS = 40  # of a polynomial
_RESIDUES = 64  # sets of remainders that are examined one by one


class _TooLargeError(Exception):
    """The budget is used up."""


def equal(a: Dim, b: Dim) -> bool:
    """Whether the two are known to have the same value wherever both are defined."""
    difference = add_terms(terms_of(reduce(a)), [(m, -c) for m, c in terms_of(reduce(b))])
    return _vanishes(difference)


@structural
def _vanishes(difference: Dim) -> bool:
    if isinstance(difference, int):
        return difference == 0
    order = parts(difference)
    if len(order) > _ATOMS or sum(part.kind in ("min", "max") for part in order) > _EXTREMA:
        return False
    period = _period(order)
    known = range(len(values_of(difference)))
    return _proven(difference, order, 1, known) or (period > 1 and _proven(difference, order, period, ()))


def _proven(difference: Dim, order: list[Atom], period: int, points: Collection[int]) -> bool:
    """A proof for each remainder that the roots may have; divisions by integers leave nothing open in the period."""
    names = [part for part in order if part.kind == "root"]
    if period ** len(names) > _RESIDUES:
        return False
    proof = _Proof(difference, order)
    proof.period = period
    try:
        for residues in itertools.product(range(period), repeat=len(names)):
            proof.residues = dict(zip(names, residues, strict=True))
            if not proof.holds(0, {}, [], points):
                return False
    except _TooLargeError:
        return False
    return True


def _period(order: list[Atom]) -> int:
    """A number whose multiples can be added to a root, with linear effect on all quotients."""
    periods: dict[Atom, int] = {}
    for part in order:
        divisor = part.args[1] if part.kind in ("floordiv", "mod") else 1
        inner = lcm(*(periods[a] for arg in part.args for m, _ in terms_of(arg) for a in m))
        periods[part] = inner * (divisor if isinstance(divisor, int) else 1)
    return lcm(*periods.values())


class _Proof:
    """That a difference is 0, for the atoms in an order in which parts come first."""

    def __init__(self, difference: Dim, order: list[Atom]) -> None:
        self.difference, self.order = difference, order
        self.steps = 0
        self.period = 1
        self.residues: Mapping[Atom, int] = {}  # of roots, by the period
        self.unknowns: dict[object, int] = {}
        self.natural: set[int] = set()  # unknowns that are never negative

    def holds(self, done: int, forms: Mapping[Atom, _Form], facts: list[_Form], points: Collection[int]) -> bool:
        """Whether the difference is 0 where the first atoms have these forms and all the facts are >= 0.

        Args:
            points: at which of the points where values are known that is so, as far as is needed.
        """
        forms, facts = dict(forms), list(facts)
        for number in range(done, len(self.order)):
            part = self.order[number]
            if part.kind in ("min", "max"):
                return all(
                    self.holds(number + 1, {**forms, part: form}, [*facts, *more], there)
                    for form, more, there in self.cases(part, forms, facts, points)
                )
            forms[part] = self.form(part, forms, facts)
        rest = _form(self.difference, forms)
        return any(self.is_zero(form, facts) for form in (rest, _without_factor(rest), _substituted(rest, facts)))

    def is_zero(self, form: _Form, facts: list[_Form]) -> bool:
        """Whether the form is 0 where all the facts are >= 0."""
        return not form or all(self.contradict([*facts, _plus(_scaled(form, sign), {(): -1})]) for sign in (1, -1))

    def cases(
        self, part: Atom, forms: Mapping[Atom, _Form], facts: list[_Form], points: Collection[int]
    ) -> Iterator[tuple[_Form, list[_Form], Collection[int]]]:
        """For each argument that may decide an extremum: its form, what is >= 0 then, and points where it decides."""
        sign = 1 if part.kind == "max" else -1
        args = [_form(arg, forms) for arg in part.args]
        deciding = _deciding(part, points)
        for i, form in enumerate(args):
            ahead = [_plus(_scaled(form, sign), _scaled(other, -sign)) for other in args[:i] + args[i + 1 :]]
            # Of equal ones the first is the minimum and the last the maximum, so that n <= 3 decides both with n and 3.
            strict = [_plus(lead, {(): -1}) if (j < i) == (sign < 0) else lead for j, lead in enumerate(ahead)]
            there = [point for point, which in deciding.items() if which == i]
            if there or self.possible(strict, facts):
                yield form, strict, there

    def possible(self, more: list[_Form], facts: list[_Form]) -> bool:
        """Whether more may be >= 0 where the facts are."""
        if any(not form.keys() - {()} and form.get((), 0) < 0 for form in more):
            return False
        return not self.contradict([*facts, *more])

    def form(self, part: Atom, forms: Mapping[Atom, _Form], facts: list[_Form]) -> _Form:
        """The form of an atom that is no extremum; what is known of a quotient joins the facts."""
        if part.kind == "root":
            unknown = self.unknown(part, natural=not part.signed)
            return _plus(_scaled(unknown, self.period), _clean({(): self.residues.get(part, 0)}))
        first = _form(part.args[0], forms)
        if part.kind == "sum":
            return first
        divisor = _form(part.args[1], forms)
        if divisor.keys() - {()} or not divisor or divisor[()] < 0:
            return self.unknown((part.kind, *(tuple(sorted(f.items())) for f in (first, divisor))))
        quotient = self.quotient(first, divisor[()], facts)
        return quotient if part.kind == "floordiv" else _plus(first, _scaled(quotient, -divisor[()]))

    def quotient(self, dividend: _Form, divisor: int, facts: list[_Form]) -> _Form:
        whole = _clean({m: c // divisor for m, c in dividend.items()})
        rest = _clean({m: c % divisor for m, c in dividend.items()})
        if not rest.keys() - {()}:
            return whole
        unknown = self.unknown(("quotient", tuple(sorted(rest.items())), divisor))
        remainder = _plus(rest, _scaled(unknown, -divisor))
        facts += [remainder, _plus({(): divisor - 1}, _scaled(remainder, -1))]
        return _plus(whole, unknown)

    def unknown(self, key: object, natural: bool = False) -> _Form:
        number = self.unknowns.setdefault(key, len(self.unknowns))
        if natural:
            self.natural.add(number)
        return {(number,): 1}

    def contradict(self, facts: list[_Form]) -> bool:
        """Whether no integers make all the facts >= 0."""
        if self.steps > _STEPS:
            raise _TooLargeError
        products = {m for fact in facts for m in fact if m}
        natural = [{m: 1} for m in products if self.natural.issuperset(m)]
        contradiction, steps = _contradict([*facts, *natural, *self.multiples(facts, products)])
        self.steps += steps
        return contradiction

    def multiples(self, facts: list[_Form], products: set[_Unknowns]) -> Iterator[_Form]:
        """What is >= 0 as a fact times unknowns that are never negative, and speaks of these products: a*c - b*c."""
        for fact in facts:
            linear = {m: c for m, c in fact.items() if m}
            if len(linear) < 2 or fact.get((), 0) > 0:
                continue
            first = min(linear)
            for product in sorted(products):
                rest = without(product, first)
                if rest and self.natural.issuperset(rest):
                    multiple = {tuple(sorted(m + rest)): c for m, c in linear.items()}
                    if multiple.keys() <= products:
                        yield multiple


def _deciding(part: Atom, points: Collection[int]) -> dict[int, int]:
    """Which argument of an extremum decides it, for the points where that is known."""
    values = [values_of(arg) for arg in part.args]
    found = {}
    for point in points:
        here = [value[point] for value in values]
        if None not in here:
            extreme = part.values[point]
            found[point] = here.index(extreme) if part.kind == "min" else len(here) - 1 - here[::-1].index(extreme)
    return found


def _contradict(facts: list[_Form]) -> tuple[bool, int]:
    """Whether no integers make all the facts >= 0, as far as is found, and in how many steps."""
    steps = 0
    rows: dict[tuple[tuple[_Unknowns, int], ...], int] = {}  # the tightest constant of each linear part
    pending = facts
    while True:
        for fact in pending:
            divisor = gcd(*(c for m, c in fact.items() if m))
            constant = fact.get((), 0)
            if not divisor:
                if constant < 0:
                    return True, steps
                continue
            linear = tuple(sorted((m, c // divisor) for m, c in fact.items() if m))
            rows[linear] = min(rows.get(linear, constant // divisor), constant // divisor)
        if not rows:
            return False, steps
        unknown = _cheapest(rows)
        above: list[_Form] = []
        below: list[_Form] = []
        pending = []
        for linear, constant in rows.items():
            row = {**dict(linear), (): constant}
            (above if row.get(unknown, 0) > 0 else below if row.get(unknown, 0) < 0 else pending).append(row)
        steps += len(above) * len(below) + len(rows)
        if len(above) * len(below) + len(pending) > _INEQUALITIES:
            return False, steps
        rows = {}
        for a, b in itertools.product(above, below):
            pending.append(_plus(_scaled(a, -b[unknown]), _scaled(b, a[unknown])))


def _cheapest(rows: Mapping[tuple[tuple[_Unknowns, int], ...], int]) -> _Unknowns:
    """The unknown whose elimination leaves the fewest inequalities."""
    signs: dict[_Unknowns, list[int]] = {}
    for linear in rows:
        for m, c in linear:
            signs.setdefault(m, [0, 0])[c > 0] += 1
    return min(signs, key=lambda m: (signs[m][0] * signs[m][1], m))


def _form(dim: Dim, forms: Mapping[Atom, _Form]) -> _Form:
    return _composed(terms_of(dim), forms.__getitem__)


def _composed(terms: Iterable[tuple[tuple[T, ...], int]], form_of: Callable[[T], _Form]) -> _Form:
    """A sum of products, for forms of their factors."""
    total: _Form = {}
    for monomial, c in terms:
        product: _Form = {(): c}
        for factor in monomial:
            product = _product(product, form_of(factor))
        total = _plus(total, product)
    return total


def _substituted(form: _Form, facts: list[_Form]) -> _Form:
    """The form with an unknown in place that two opposite facts give: n where n - m >= 0 and m - n >= 0."""
    for fact in facts:
        if _scaled(fact, -1) in facts:
            for monomial, c in fact.items():
                others = {m: k for m, k in fact.items() if m != monomial}
                if len(monomial) == 1 and abs(c) == 1 and not any(monomial[0] in m for m in others):
                    own: dict[int, _Form] = {factor: {(factor,): 1} for m in form for factor in m}
                    own[monomial[0]] = _scaled(others, -c)
                    return _composed(form.items(), own.__getitem__)
    return form


def _without_factor(form: _Form) -> _Form:
    for unknown in set.intersection(*map(set, form)) if form else ():
        form = {without(m, (unknown,)) or (): c for m, c in form.items()}
    return form


def _product(a: _Form, b: _Form) -> _Form:
    if len(a) * len(b) > _TERMS:
        raise _TooLargeError
    found: _Form = {}
    for m, c in a.items():
        for n, k in b.items():
            both = tuple(sorted(m + n))
            found[both] = found.get(both, 0) + c * k
    return _clean(found)


def _plus(a: _Form, b: _Form) -> _Form:
    found = dict(a)
    for m, c in b.items():
        found[m] = found.get(m, 0) + c
    return _clean(found)


def _scaled(form: _Form, factor: int) -> _Form:
    return {m: c * factor for m, c in form.items()}


def _clean(form: _Form) -> _Form:
    return {m: c for m, c in form.items() if c}
