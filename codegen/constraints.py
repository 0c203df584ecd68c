"""What sizes must satisfy: equalities and lower bounds, collected while a graph is lowered.

In: pairs of dimensions that some node demands to be equal. Out: what follows from them (which dimension to write, what
is known equal, what can never hold), and the list of constraints that a call checks. Equalities only ever add
knowledge: a dimension that was equal to another stays so.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from .dims import Dim, DimSyntaxError, evaluate, parse_between, roots, substitute
from .dims_functions import DEFAULT, bounds
from .dims_terms import Atom, Monomial, coefficient_gcd, collect, constant_of, sole_atom, terms_of
from .errors import DemandKind


class DimMismatch(ValueError):
    """A demanded relation of two dimensions that can never hold."""

    def __init__(self, lhs: Dim, rhs: Dim, where: str = "", relation: str = "==", kind: DemandKind = "") -> None:
        at = f" at {where}" if where else ""
        super().__init__(f"{lhs} {relation} {rhs} is demanded{at}, and can never hold: change one of the two shapes")
        self.lhs, self.rhs, self.where, self.relation, self.kind = lhs, rhs, where, relation, kind

    def __reduce__(self) -> tuple[Any, ...]:
        return DimMismatch, (self.lhs, self.rhs, self.where, self.relation, self.kind)


_RELATIONS: Mapping[str, Callable[[int, int], bool]] = {"==": operator.eq, ">=": operator.ge, "!=": operator.ne}


@dataclass(frozen=True, slots=True)
class Constraint:
    """``lhs relation rhs``, which the roots' values must fulfil.

    Attributes:
        where: what demands it, for messages.
        kind: which error it is where they do not.
    """

    lhs: Dim
    relation: Literal["==", ">=", "!="]
    rhs: Dim
    where: str = ""
    kind: DemandKind = ""

    def __str__(self) -> str:
        return f"{self.lhs} {self.relation} {self.rhs}"

    def holds(self, sizes: Mapping[str, int]) -> bool:
        lhs, rhs = evaluate(self.lhs, sizes), evaluate(self.rhs, sizes)
        return _RELATIONS[self.relation](lhs, rhs)

    @classmethod
    def parse(cls, text: str, where: str = "", kind: str = "", *, signed: Collection[str] = ()) -> Constraint:
        """From ``"lhs == rhs"``, ``"lhs >= rhs"`` or ``"lhs != rhs"``; raises as `parse` does."""
        relation = re.search("[=<>!]+", text)
        if relation is None or relation[0] not in _RELATIONS:
            raise DimSyntaxError(text, relation.start() + 1 if relation else len(text) + 1, "'==', '>=' or '!='")
        lhs = parse_between(text, 0, relation.start(), signed)
        rhs = parse_between(text, relation.end(), len(text), signed)
        return cls(lhs, cast(Any, relation[0]), rhs, where, cast(Any, kind))


_Row: TypeAlias = tuple[Monomial, Dim]  # (lead, zero): zero == 0 is known, and no later row has the monomial lead


class Constraints:
    """What is demanded of the roots, in order, and what follows from the demanded equalities.

    An equality that has a root linearly and nowhere else solves it (``_solved``). Any other becomes a row of a
    linear system over monomials (``_rows``, in echelon form), so n//2 == m//3 also makes n//2 + 1 and m//3 + 1 equal.
    ``_sizes`` has the intervals of roots narrowed by `at_least`. The three are replaced, never changed in place.
    ``_demanded`` keeps the demanded differences as they came, since a substitution may hide what a root's sign told.
    A demand is left out of the record only if the recorded ones before it imply it.
    """

    def __init__(self) -> None:
        self._recorded: list[Constraint] = []
        self._solved: dict[str, Dim] = {}
        self._rows: list[_Row] = []
        self._sizes: dict[str, tuple[int | None, int | None]] = {}
        self._demanded: set[Dim] = set()

    def __iter__(self) -> Iterator[Constraint]:
        return iter(self._recorded)

    def __len__(self) -> int:
        return len(self._recorded)

    @property
    def intervals(self) -> Mapping[str, tuple[int | None, int | None]]:
        """Least and greatest value of the roots that demands have narrowed."""
        return self._sizes

    def canonical(self, dim: Dim) -> Dim:
        """An equal dimension without solved roots; idempotent. ZeroDivisionError if a divisor is known to be 0."""
        if isinstance(dim, int) or not (self._solved or self._rows):
            return dim
        dim = substitute(dim, self._solved)
        for lead, zero in self._rows:
            c, k = _coefficient(dim, lead), _coefficient(zero, lead)
            if c and c % k == 0:
                dim = dim - zero * (c // k)
        return dim

    def known_equal(self, a: Dim, b: Dim) -> bool:
        """Whether the two are equal for all values that fulfil the recorded equalities, as far as is known."""
        return a is b or a == b or _primitive(a - b) in self._demanded or self._residue(a - b) == 0

    def equate(self, a: Dim, b: Dim, where: str = "", kind: DemandKind = "") -> Dim:
        """Demand ``a == b``, recorded unless known. Returns the int if one is known for them, else ``a``.

        Raises:
            DimMismatch: they can never be equal; nothing is recorded then.
        """
        if a is b or (isinstance(a, int) and isinstance(b, int) and a == b):
            return a
        if not self.known_equal(a, b):
            saved = self._solved, self._rows, self._sizes
            try:
                self._learn(a - b, [atom.name for dim in (b, a) if (atom := sole_atom(dim))])
            except _ImpossibleError:
                self._solved, self._rows, self._sizes = saved
                raise DimMismatch(a, b, where, kind=kind) from None
            self._recorded.append(Constraint(a, "==", b, where, kind))
        self._demanded |= {_primitive(a - b), _primitive(b - a)}
        return value if isinstance(value := self.canonical(a), int) else b if isinstance(b, int) else a

    def at_least(self, a: Dim, lower: Dim, where: str = "", kind: DemandKind = "") -> None:
        """Demand ``a >= lower``, recorded unless implied. Raises DimMismatch if it can never hold.

        What a minimum is at least, each of its arguments is: they are demanded one by one.
        """
        excess = self.canonical(a - lower)
        low, high = bounds(excess, self._sizes)
        if high is not None and high < 0:
            raise DimMismatch(a, lower, where, ">=", kind)
        arguments = _least_of(a)
        if arguments:
            for argument in arguments:
                self.at_least(argument, lower, where, kind)
            return
        if (low is not None and low >= 0) or any(
            self.canonical(old.lhs - old.rhs) == excess for old in self._recorded if old.relation == ">="
        ):
            return
        self._recorded.append(Constraint(a, ">=", lower, where, kind))
        self._narrow(excess)

    def _residue(self, difference: Dim) -> Dim:
        """What is 0 exactly where the difference is, with all known equalities used, and coprime coefficients."""
        residue = substitute(difference, self._solved)
        for lead, zero in self._rows:
            c, k = _coefficient(residue, lead), _coefficient(zero, lead)
            if c:
                factor = math.gcd(c, k)
                residue = residue * (k // factor) - zero * (c // factor)
        return _primitive(residue)

    def _learn(self, zero: Dim, bare: list[str]) -> None:
        """Use that `zero` is 0, and all that follows from it for what was known."""
        pending = [zero]
        while pending:
            zero = self._residue(pending.pop())
            if zero == 0:
                continue
            low, high = bounds(zero, self._sizes)
            divisor = coefficient_gcd(zero)
            if isinstance(zero, int) or (low or 0) > 0 or (high or 0) < 0 or constant_of(zero) % divisor:
                raise _ImpossibleError
            solutions: list[tuple[Atom, Dim]] = []
            for monomial, c in zero.terms:
                rest = zero - collect({monomial: c})
                root = monomial[0] if len(monomial) == 1 and abs(c) == 1 else None
                if root and root.kind == "root" and root.name not in roots(rest):
                    solutions.append((root, rest * -c))
            if solutions:  # keep what the root's kind tells (m - 5 hides that n >= 0), then give up a side, b first
                names = [*bare, *(root.name for root, _ in solutions)]

                def cost(solution: tuple[Atom, Dim], names: list[str] = names) -> tuple[bool, bool, int]:
                    root, value = solution
                    hides = not root.signed and DEFAULT.interval(value)[0] < 0
                    return hides, root.name not in bare, names.index(root.name)

                root, value = min(solutions, key=cost)
                self._solved = {name: substitute(old, {root.name: value}) for name, old in self._solved.items()}
                self._solved[root.name] = value
                pending += [old for _, old in self._rows]
                self._rows = []
                least, greatest = self._sizes.get(root.name, (None if root.signed else 0, None))
                if least is not None:
                    self._narrow(value - least)
                if greatest is not None:
                    self._narrow(-(value - greatest))
            else:  # a compound leads if there is one, so that no root is replaced by what contains it
                compound = [term for term in zero.terms if any(atom.kind != "root" for atom in term[0])]
                self._rows = [*self._rows, ((compound or list(zero.terms))[0][0], zero)]

    def _narrow(self, excess: Dim) -> None:
        """Use ``excess >= 0`` for the interval of a root, where it has one root, linearly."""
        linear = [(m, c) for m, c in terms_of(excess) if m]
        if len(linear) != 1 or len(linear[0][0]) != 1 or linear[0][0][0].kind != "root":
            return
        (root,), c = linear[0]
        least, greatest = self._sizes.get(root.name, (None if root.signed else 0, None))
        limit = -(constant_of(excess) // c) if c > 0 else constant_of(excess) // -c
        if c > 0:
            least = limit if least is None else max(least, limit)
        else:
            greatest = limit if greatest is None else min(greatest, limit)
        if least is not None and greatest is not None and least > greatest:
            raise _ImpossibleError
        self._sizes = {**self._sizes, root.name: (least, greatest)}


class _ImpossibleError(Exception):
    """What was learned contradicts what is known."""


def _coefficient(dim: Dim, monomial: Monomial) -> int:
    return next((c for m, c in terms_of(dim) if m == monomial), 0)


def _least_of(dim: Dim) -> list[Dim]:
    """The dimensions of which one is the least, and equal to this one; none if it is not a minimum."""
    for monomial, c in terms_of(dim):
        if len(monomial) == 1 and monomial[0].kind == ("min" if c > 0 else "max"):
            rest = dim - collect({monomial: c})
            return [rest + argument * c for argument in monomial[0].args]
    return []


def _primitive(dim: Dim) -> Dim:
    factor = math.gcd(*(c for _, c in terms_of(dim)))
    return collect({m: c // factor for m, c in terms_of(dim)})
