"""The representation of dimensions: sums of monomials over interned atoms, with their sums and products.

In: terms, which are monomials with integer coefficients. Out: a plain ``int`` whenever the result is constant, else a
`SymbolicDim`. A monomial is a product of atoms; an atom is a root or a function (`//`, `%`, `min`, `max`, a bracketed
sum) of dimensions.

The decision to know: an atom is made once, from atoms that exist already, and keeps what is asked of it (size, depth,
roots, label, values at some points), so nothing ever walks the expression as a tree. Sums are exact linear algebra
over the atoms: ``a + b - b`` has the terms of ``a``. The files that know more enter themselves in `rules`.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Callable, Iterable, Mapping
from operator import add, attrgetter, floordiv, index, mod, mul
from typing import Any, NoReturn, TypeAlias, TypeVar, cast, final
from weakref import WeakValueDictionary

from . import forks

Dim: TypeAlias = "int | SymbolicDim"
Monomial: TypeAlias = "tuple[Atom, ...]"  # a product, sorted, with repetition; () is the constant
Terms: TypeAlias = tuple[tuple[Monomial, int], ...]
Values: TypeAlias = "tuple[int | None, ...]"
R = TypeVar("R")

LONGEST_SUM = 48  # terms; a longer sum becomes one bracketed atom
LONGEST_PRODUCT = 256  # terms that a product of two sums may have before it is collected
LARGEST_TREE = 100  # nodes; what is larger is ordered by a digest, and printed with names for shared parts
_HIGHEST_DEGREE = 16
_DEEP = 40  # functions inside of each other that one recursion goes through
_LARGEST_VALUE = 1 << 1024  # values beyond are not kept
_RANGES = (2, 3, 4, 6, 9, 14, 20, 40, 100, 5_000, 1 << 33, 1 << 50)  # of a root's values
INTEGERS: Mapping[str, Callable[..., Any]] = {
    "add": add,
    "mul": mul,
    "floordiv": floordiv,
    "mod": mod,
    "min": min,
    "max": max,
    "sum": int,
}

# Operations on dimensions that are defined on top of sums, by name; `dims` imports the files that define them.
rules: dict[str, Callable[..., Any]] = {}


@final
class Atom:
    """A root or a function of dimensions, made only by `atom`, which interns: equal atoms are one object.

    Attributes:
        plain: no root in it may be negative.
        size, depth: of the expression written as a tree.
        values: at as many sets of the roots' values; None where it is not defined or very large.
        serial: parts have smaller ones.
    """

    __slots__ = (
        *("__weakref__", "args", "depth", "key", "kind", "name", "plain", "roots", "serial", "signed", "size"),
        *("text", "values"),
    )

    depth: int
    plain: bool
    roots: frozenset[str]
    text: str

    def __init__(self, kind: str, args: tuple[Dim, ...], name: str, signed: bool, serial: int) -> None:
        self.kind, self.args, self.name, self.signed, self.serial = kind, args, name, signed, serial
        inner = [a for arg in args for monomial, _ in terms_of(arg) for a in monomial]
        self.size = 1 + sum(map(size, args)) if args else 1
        self.depth = 1 + max((a.depth for a in inner), default=0)
        self.roots = frozenset((name,)) if kind == "root" else frozenset().union(*(a.roots for a in inner))
        self.plain = not signed and all(a.plain for a in inner)
        self.values = _values(kind, args)
        if kind == "root":
            choose = random.Random(f"{name} {signed}")  # the same in every process
            values = [choose.randrange(end) for end in _RANGES]
            self.values = tuple(v if not signed or choose.random() < 0.5 else -v for v in values)
        small = self.size <= LARGEST_TREE
        self.text = atom_text(self, sum_text) if small else _digest(kind, args)
        self.key = (kind != "root", self.text, serial)  # the serial only separates roots that differ in sign alone


def _values(kind: str, args: tuple[Dim, ...]) -> Values:
    found: list[int | None] = []
    for values in zip(*map(values_of, args), strict=True):
        undefined = None in values or (kind in ("floordiv", "mod") and values[1] == 0)
        found.append(None if undefined else INTEGERS[kind](*values))
    return tuple(found)


def _digest(kind: str, args: tuple[Dim, ...]) -> str:
    text = "|".join([kind, *(sum_text(terms_of(arg)) for arg in args)])
    return f"{kind}:{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


_atoms: WeakValueDictionary[tuple[object, ...], Atom] = WeakValueDictionary()
_atoms_lock = forks.lock()
_serials = itertools.count()


def atom(kind: str, args: tuple[Dim, ...] = (), name: str = "", signed: bool = False) -> Atom:
    key = (kind, tuple([identity(arg) for arg in args]), name, signed)
    found = _atoms.get(key)
    if found is None:
        with _atoms_lock:
            found = _atoms.get(key)
            if found is None:
                found = _atoms[key] = Atom(kind, args, name, signed, next(_serials))
    return found


def apply(kind: str, *args: Dim) -> SymbolicDim:
    """The function of the arguments as it stands."""
    return SymbolicDim((((atom(kind, args),), 1),))


@final
class SymbolicDim:
    """An immutable, never constant expression over roots; make one with `symbol`, operators, or `parse`.

    Two compare equal where they are known to be the same function of their roots, however they are written. The hash
    depends on values alone.
    """

    __slots__ = ("_hash", "_text", "_values", "reduced", "terms")
    __array_ufunc__ = None  # numpy integers then leave the operator to this class

    def __init__(self, terms: Terms) -> None:
        self.terms = terms  # sorted by _order, no zero coefficient, not the constant alone
        self.reduced: Dim | None = None  # kept here by `dims_functions.reduce`
        self._hash: int | None = None
        self._text: str | None = None
        self._values: Values | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        signed = frozenset(part.name for part in parts(self) if part.signed)
        return rules["parse"], (str(self), signed)

    def __copy__(self) -> SymbolicDim:
        return self

    def __deepcopy__(self, memo: object) -> SymbolicDim:
        return self

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is SymbolicDim:
            return self.terms == other.terms or (hash(self) == hash(other) and rules["equal"](self, other))
        return type(other) is int and set(self.values) == {other} and bool(rules["equal"](self, other))

    def __hash__(self) -> int:
        if self._hash is None:
            values = set(self.values)
            self._hash = hash(self.values if len(values) > 1 else values.pop())  # that of an int of this value
        return self._hash

    @property
    def values(self) -> Values:
        """The values at as many sets of the roots' values, the same for equal functions."""
        if self._values is None:
            self._values = tuple([None if v is None or abs(v) > _LARGEST_VALUE else v for v in _sums(self.terms)])
        return self._values

    def __add__(self, other: Dim) -> Dim:
        terms = self.terms
        if type(other) is int:
            constant = other
            if not terms[-1][0]:
                constant += terms[-1][1]
                terms = terms[:-1]
            if constant:
                terms = (*terms, ((), constant))
            return SymbolicDim(terms) if other else self
        if type(other) is SymbolicDim:
            return settled(add_terms(terms, other.terms))
        return NotImplemented if (dim := as_dim(other)) is None else self + dim

    def __mul__(self, other: Dim) -> Dim:
        if type(other) is int:
            if other == 1:
                return self
            return SymbolicDim(tuple([(m, c * other) for m, c in self.terms])) if other else 0
        if type(other) is SymbolicDim:
            return _product(self, other)
        return NotImplemented if (dim := as_dim(other)) is None else self * dim

    def __neg__(self) -> SymbolicDim:
        return SymbolicDim(tuple([(m, -c) for m, c in self.terms]))

    def __sub__(self, other: Dim) -> Dim:
        return NotImplemented if (dim := as_dim(other)) is None else self + -dim

    def __rsub__(self, other: int) -> Dim:
        return -self + other

    def __floordiv__(self, other: Dim) -> Dim:
        return NotImplemented if (dim := as_dim(other)) is None else rules["divide"]("floordiv", self, dim)

    def __rfloordiv__(self, other: int) -> Dim:
        return NotImplemented if (dim := as_dim(other)) is None else rules["divide"]("floordiv", dim, self)

    def __mod__(self, other: Dim) -> Dim:
        return NotImplemented if (dim := as_dim(other)) is None else rules["divide"]("mod", self, dim)

    def __rmod__(self, other: int) -> Dim:
        return NotImplemented if (dim := as_dim(other)) is None else rules["divide"]("mod", dim, self)

    __radd__ = __add__
    __rmul__ = __mul__

    def _no_order(self, other: object) -> NoReturn:
        raise TypeError(f"{self} and {other} have no known order when compiling: use bounds(), minimum() or maximum()")

    __lt__ = __le__ = __gt__ = __ge__ = _no_order

    def __bool__(self) -> NoReturn:
        raise TypeError(f"whether {self} is 0 is not known when compiling: use == or bounds()")

    def __str__(self) -> str:
        if self._text is None:
            self._text = rules["text"](self)
        return self._text

    def __repr__(self) -> str:
        return f"SymbolicDim({self})"


def _product(a: SymbolicDim, b: SymbolicDim) -> Dim:
    """Multiplied out, unless that has too many terms or too high a degree."""
    if min(len(a.terms), len(b.terms)) > 1 and len(a.terms) * len(b.terms) > LONGEST_PRODUCT:
        a, b = (bracketed(x) if len(x.terms) ** 2 > LONGEST_PRODUCT else x for x in (a, b))
    if len(a.terms[0][0]) + len(b.terms[0][0]) > _HIGHEST_DEGREE:
        a, b = (bracketed(x) if len(x.terms[0][0]) > _HIGHEST_DEGREE // 2 else x for x in (a, b))
    product: dict[Monomial, int] = {}
    for left, c in a.terms:
        for right, k in b.terms:
            both = tuple(sorted(left + right, key=attrgetter("key"))) if left and right else left or right
            product[both] = product.get(both, 0) + c * k
    return settled(collect(product))


def bracketed(dim: SymbolicDim) -> SymbolicDim:
    """The dimension as one atom."""
    return dim if sole_atom(dim) else apply("sum", dim)


def settled(dim: Dim) -> Dim:
    """The result of a sum: an int where that is known to be its value, one atom where it has too many terms."""
    if isinstance(dim, int) or all(len(m) == 1 and m[0].kind == "root" for m, _ in dim.terms if m):
        return dim
    return cast(Dim, rules["settle"](dim))


def known(dim: SymbolicDim) -> Dim:
    """The dimension, or the int that it is known to be."""
    first = dim.values[0]
    constant = first is not None and set(dim.values) == {first} and rules["equal"](dim, first)
    return cast(int, first) if constant else dim


def _order(term: tuple[Monomial, int]) -> tuple[int, list[tuple[bool, str, int]]]:
    return -len(term[0]), [atom.key for atom in term[0]]


def collect(terms: Mapping[Monomial, int]) -> Dim:
    """The sum of the terms as they stand."""
    items = [item for item in terms.items() if item[1]]
    if len(items) > 1:
        items.sort(key=_order)
    elif not items or not items[0][0]:
        return items[0][1] if items else 0
    return SymbolicDim(tuple(items))


def add_terms(left: Iterable[tuple[Monomial, int]], right: Iterable[tuple[Monomial, int]]) -> Dim:
    """The sum of two sums, with nothing but equal monomials collected."""
    terms = dict(left)
    for monomial, c in right:
        terms[monomial] = terms.get(monomial, 0) + c
    return collect(terms)


def as_dim(value: object) -> Dim | None:
    """A plain int for whatever counts as an integer (a numpy one too), None for what is no dimension."""
    if type(value) is int or type(value) is SymbolicDim:
        return value
    return int(index(cast(Any, value))) if hasattr(value, "__index__") else None


def terms_of(dim: Dim) -> Terms:
    return dim.terms if isinstance(dim, SymbolicDim) else (((), dim),) if dim else ()


def identity(dim: Dim) -> object:
    """What two dimensions have in common only if they are written the same: tables whose content is text need it."""
    return dim if isinstance(dim, int) else dim.terms


def values_of(dim: Dim) -> Values:
    return dim.values if isinstance(dim, SymbolicDim) else (dim,) * len(_RANGES)


def _sums(terms: Terms) -> list[int | None]:
    totals: list[Any] = [0] * len(_RANGES)
    for monomial, c in terms:
        products: list[Any] = [c] * len(_RANGES)
        for factor in monomial:
            products = [None if x is None or y is None else x * y for x, y in zip(products, factor.values, strict=True)]
        totals = [None if x is None or y is None else x + y for x, y in zip(totals, products, strict=True)]
    return totals


def size(dim: Dim) -> int:
    """How many terms and functions the expression has, written as a tree."""
    return sum([1 + sum([a.size for a in m if a.args]) for m, _ in terms_of(dim)])


def without(product: tuple[R, ...], divisor: tuple[R, ...]) -> tuple[R, ...] | None:
    """What a product has besides another one; None where it does not have that."""
    left = list(product)
    for factor in divisor:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def constant_of(dim: Dim) -> int:
    terms = terms_of(dim)
    return terms[-1][1] if terms and not terms[-1][0] else 0


def coefficient_gcd(dim: Dim) -> int:
    return math.gcd(*(c for m, c in terms_of(dim) if m))


def sole_atom(dim: Dim) -> Atom | None:
    """The atom that the dimension is, if it is one."""
    if isinstance(dim, SymbolicDim) and len(dim.terms) == 1 and dim.terms[0][1] == 1 and len(dim.terms[0][0]) == 1:
        return dim.terms[0][0][0]
    return None


def is_plain(dim: Dim) -> bool:
    """Whether no root in it may be negative."""
    return all(a.plain for m, _ in terms_of(dim) for a in m)


def parts(dim: Dim) -> list[Atom]:
    """The atoms of the expression, each once and behind its own parts."""
    found: set[Atom] = set()
    pending = [dim]
    while pending:
        for monomial, _ in terms_of(pending.pop()):
            for part in monomial:
                if part not in found:
                    found.add(part)
                    pending += part.args
    return sorted(found, key=lambda part: part.serial)


def stages(dim: Dim) -> list[Atom]:
    """Parts of a deep expression, to be looked at in order before it, so that no recursion goes deep."""
    deep = any(part.depth > _DEEP for monomial, _ in terms_of(dim) for part in monomial)
    return [part for part in parts(dim) if part.depth % _DEEP == 0] if deep else []


def structural(function: Callable[..., R]) -> Callable[..., R]:
    """The function, with its last few thousand results; arguments are the same only if they are written the same."""
    found: dict[tuple[object, ...], R] = {}

    def call(*args: Any) -> R:
        key = tuple([a.terms if type(a) is SymbolicDim else a for a in args])
        try:
            return found[key]
        except KeyError:
            result = function(*args)
        if len(found) > 4096:
            found.clear()
        found[key] = result
        return result

    return call


def sum_text(terms: Terms, of_atom: Callable[[Atom], str] = lambda part: part.text) -> str:
    """The sum as text, for texts of its atoms."""
    pieces: list[str] = []
    for monomial, c in terms:
        factors = [f"({of_atom(a)})" if a.kind in ("floordiv", "mod") else of_atom(a) for a in monomial]
        if len(monomial) == 1 and (c == 1 or (c == -1 and pieces)):
            factors = [of_atom(monomial[0])]  # n//2 needs no parentheses as a summand
        elif abs(c) != 1 or not monomial:
            factors.insert(0, str(abs(c)))
        pieces.append((" - " if c < 0 else " + ") if pieces else ("-" if c < 0 else ""))
        pieces.append("*".join(factors))
    return "".join(pieces) or "0"


def atom_text(part: Atom, text: Callable[[Terms], str]) -> str:
    """The function as text, for texts of its arguments."""
    if part.kind == "root":
        return part.name
    if part.kind in ("min", "max"):
        return f"{part.kind}({', '.join([text(terms_of(arg)) for arg in part.args])})"
    if part.kind == "sum":
        return f"({text(terms_of(part.args[0]))})"
    operands = [text(terms_of(arg)) if _is_bare(arg) else f"({text(terms_of(arg))})" for arg in part.args]
    return ("//" if part.kind == "floordiv" else " % ").join(operands)


def _is_bare(dim: Dim) -> bool:
    if isinstance(dim, int):
        return dim >= 0
    found = sole_atom(dim)
    return found is not None and found.kind not in ("floordiv", "mod")
