"""Dimensions known only when the program runs: arithmetic on them, and their bounds.

In: root names (a size is >= 0, a signed root is any integer) and Python ints (`dims_text` reads text).
Out: a `Dim`: a plain ``int`` whenever the result is constant, else a `SymbolicDim` in normal form.

The decision to know: every operator returns a normal form, a sum of integer-coefficient monomials over atoms, so
equality is structural and cheap. A rewrite may use only the roots' default intervals, never a `Constraints`, and must
give the same integer wherever the original is defined (it may drop a division by zero, it never adds one). Atoms are
interned, so they compare by identity; what depends on order (text, emission) follows the atoms' text.
"""

from __future__ import annotations

import itertools
import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from operator import add, floordiv, index, mod, mul
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, cast, final
from weakref import WeakValueDictionary

Dim: TypeAlias = "int | SymbolicDim"
T = TypeVar("T")

_Monomial: TypeAlias = "tuple[_Atom, ...]"  # a product, sorted, with repetition; () is the constant
_Bound: TypeAlias = float  # an int of any size, or +-math.inf
_Interval: TypeAlias = tuple[_Bound, _Bound]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
RESERVED = frozenset({"min", "max", "floordiv", "mod"})
_ELIMINATIONS = 4  # compound atoms that one bound may expand


@final
class _Atom:
    """A root or a function of normal forms, made only by `_atom`, which interns: equal atoms are one object."""

    __slots__ = ("__weakref__", "args", "key", "kind", "name", "roots", "signed", "text")

    def __init__(self, kind: str, args: tuple[Dim, ...], name: str, signed: bool, serial: int) -> None:
        self.kind, self.args, self.name, self.signed = kind, args, name, signed
        if kind == "root":
            self.text = name
        elif kind in ("min", "max"):
            self.text = f"{kind}({', '.join(map(str, args))})"
        else:
            self.text = ("//" if kind == "floordiv" else " % ").join(map(_operand_text, args))
        self.roots = frozenset((name,)) if kind == "root" else frozenset().union(*map(roots, args))
        self.key = (kind != "root", self.text, serial)  # the serial only separates roots that differ in sign alone

    def __reduce__(self) -> tuple[Any, ...]:
        return _atom, (self.kind, self.args, self.name, self.signed)


_atoms: WeakValueDictionary[tuple[object, ...], _Atom] = WeakValueDictionary()
_atoms_lock = threading.Lock()
_serials = itertools.count()


def _atom(kind: str, args: tuple[Dim, ...] = (), name: str = "", signed: bool = False) -> _Atom:
    key = (kind, args, name, signed)
    atom = _atoms.get(key)
    if atom is None:
        with _atoms_lock:
            atom = _atoms.get(key)
            if atom is None:
                atom = _atoms[key] = _Atom(kind, args, name, signed, next(_serials))
    return atom


@final
class SymbolicDim:
    """An immutable, never constant expression over roots; make one with `symbol`, operators, or `parse`."""

    __slots__ = ("_hash", "_interval", "_terms", "_text")
    __array_ufunc__ = None  # numpy integers then leave the operator to this class

    def __init__(self, terms: tuple[tuple[_Monomial, int], ...]) -> None:
        self._terms = terms  # sorted by _order, no zero coefficient, not the constant alone
        self._hash: int | None = None
        self._text: str | None = None
        self._interval: _Interval | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return SymbolicDim, (self._terms,)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is SymbolicDim and self._terms == other._terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._terms)
        return self._hash

    def __add__(self, other: Dim) -> Dim:
        terms = self._terms
        if type(other) is int:
            constant = other
            if not terms[-1][0]:
                constant += terms[-1][1]
                terms = terms[:-1]
            if constant:
                terms = (*terms, ((), constant))
            return SymbolicDim(terms) if other else self
        if type(other) is SymbolicDim:
            return _sum(terms, other._terms)
        return NotImplemented if (dim := _as_dim(other)) is None else self + dim

    def __mul__(self, other: Dim) -> Dim:
        if type(other) is int:
            if other == 1:
                return self
            return SymbolicDim(tuple([(m, c * other) for m, c in self._terms])) if other else 0
        if type(other) is SymbolicDim:
            product: dict[_Monomial, int] = {}
            for left, c in self._terms:
                for right, k in other._terms:
                    both = tuple(sorted(left + right, key=_atom_key)) if left and right else left or right
                    product[both] = product.get(both, 0) + c * k
            return _collect(product)
        return NotImplemented if (dim := _as_dim(other)) is None else self * dim

    def __neg__(self) -> SymbolicDim:
        return SymbolicDim(tuple([(m, -c) for m, c in self._terms]))

    def __sub__(self, other: Dim) -> Dim:
        return NotImplemented if (dim := _as_dim(other)) is None else self + -dim

    def __rsub__(self, other: int) -> Dim:
        return -self + other

    def __floordiv__(self, other: Dim) -> Dim:
        return NotImplemented if (dim := _as_dim(other)) is None else _floordiv(self, dim)

    def __rfloordiv__(self, other: int) -> Dim:
        return NotImplemented if (dim := _as_dim(other)) is None else _floordiv(dim, self)

    def __mod__(self, other: Dim) -> Dim:
        return NotImplemented if (dim := _as_dim(other)) is None else _mod(self, dim)

    def __rmod__(self, other: int) -> Dim:
        return NotImplemented if (dim := _as_dim(other)) is None else _mod(dim, self)

    __radd__ = __add__
    __rmul__ = __mul__

    def _no_order(self, other: object) -> NoReturn:
        raise TypeError(f"{self} and {other} have no known order when compiling: use bounds(), minimum() or maximum()")

    __lt__ = __le__ = __gt__ = __ge__ = _no_order

    def __bool__(self) -> NoReturn:
        raise TypeError(f"whether {self} is 0 is not known when compiling: use == or bounds()")

    def __str__(self) -> str:
        if self._text is None:
            pieces: list[str] = []
            for monomial, c in self._terms:
                factors = [f"({a.text})" if a.kind in ("floordiv", "mod") else a.text for a in monomial]
                if len(monomial) == 1 and (c == 1 or (c == -1 and pieces)):
                    factors = [monomial[0].text]  # n//2 needs no parentheses as a summand
                elif abs(c) != 1 or not monomial:
                    factors.insert(0, str(abs(c)))
                pieces.append((" - " if c < 0 else " + ") if pieces else ("-" if c < 0 else ""))
                pieces.append("*".join(factors))
            self._text = "".join(pieces)
        return self._text

    def __repr__(self) -> str:
        return f"SymbolicDim({self})"


def _atom_key(atom: _Atom) -> tuple[bool, str, int]:
    return atom.key


def _order(term: tuple[_Monomial, int]) -> tuple[int, list[tuple[bool, str, int]]]:
    """Higher degree first, then by text: a monomial order, so `_split` can divide by leading terms."""
    return -len(term[0]), [atom.key for atom in term[0]]


def _collect(terms: dict[_Monomial, int]) -> Dim:
    items = [item for item in terms.items() if item[1]]
    if len(items) > 1:
        items.sort(key=_order)
    elif not items or not items[0][0]:
        return items[0][1] if items else 0
    return SymbolicDim(tuple(items))


def _sum(left: Iterable[tuple[_Monomial, int]], right: Iterable[tuple[_Monomial, int]]) -> Dim:
    terms = dict(left)
    for monomial, c in right:
        terms[monomial] = terms.get(monomial, 0) + c
    return _collect(terms)


def _as_dim(value: object) -> Dim | None:
    """A plain int for whatever counts as an integer (a numpy one too), None for what is no dimension."""
    if type(value) is int or type(value) is SymbolicDim:
        return value
    return int(index(cast(Any, value))) if hasattr(value, "__index__") else None


def _terms(dim: Dim) -> tuple[tuple[_Monomial, int], ...]:
    return dim._terms if isinstance(dim, SymbolicDim) else (((), dim),) if dim else ()


def _constant(dim: Dim) -> int:
    return next((c for m, c in _terms(dim) if not m), 0)


def _coefficient_gcd(dim: Dim) -> int:
    return math.gcd(*(c for m, c in _terms(dim) if m))


def _sole_atom(dim: Dim) -> _Atom | None:
    """The atom that the dimension is, if it is one."""
    if isinstance(dim, SymbolicDim) and len(dim._terms) == 1 and dim._terms[0][1] == 1 and len(dim._terms[0][0]) == 1:
        return dim._terms[0][0][0]
    return None


def _operand_text(dim: Dim) -> str:
    atom = _sole_atom(dim)
    bare = dim >= 0 if isinstance(dim, int) else atom is not None and atom.kind not in ("floordiv", "mod")
    return str(dim) if bare else f"({dim})"


def _shrink(dim: Dim, factor: int) -> Dim:
    """``dim // factor`` where the factor divides all but the constant."""
    return _collect({m: c // factor for m, c in _terms(dim)})


def _split(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """(q, r) with ``a == q*b + r``, so that ``a//b == q + r//b`` and ``a % b == r % b``; (0, a) if b may be 0."""
    if isinstance(b, int):  # b > 0; a coefficient keeps its sign: -n % 8 shall not become 7*n % 8
        quotient = {m: (c // b if c > 0 or not m else -(-c // b)) for m, c in _terms(a)}
        return _collect(quotient), _collect({m: c - b * quotient[m] for m, c in _terms(a)})
    low, high = _DEFAULT.interval(b)
    if low <= 0 <= high:
        return 0, a
    q: Dim = 0
    r: Dim = 0
    rest = a
    (lead, k) = b._terms[0]
    while rest != 0:
        monomial, c = _terms(rest)[0]
        missing = _without(monomial, lead)
        if missing is None or c % k:
            r, rest = r + _collect({monomial: c}), rest - _collect({monomial: c})
        else:
            part = _collect({missing: c // k})
            q, rest = q + part, rest - part * b
    return (q, r) if len(_terms(r)) < len(_terms(a)) else (0, a)  # n//(n + 1) shall not become 1 + -1//(n + 1)


def _without(monomial: _Monomial, divisor: _Monomial) -> _Monomial | None:
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _common_factor(inner: Dim, b: Dim) -> int:
    """A factor that leaves both sides of a division: the dividend's constant is floored only where b is an int > 0."""
    of_b = b if isinstance(b, int) else math.gcd(_coefficient_gcd(b), _constant(b), _constant(inner))
    return math.gcd(_coefficient_gcd(inner), of_b)


@lru_cache(maxsize=4096)
def _floordiv(a: Dim, b: Dim) -> Dim:
    if b == 0:
        raise ZeroDivisionError(f"({a})//0")
    if _terms(b)[0][1] < 0:
        return _floordiv(-a, -b)
    outer, inner = _split(a, b)
    if isinstance(inner, int) and (inner == 0 != outer or isinstance(b, int)):
        return outer + (inner // b if isinstance(b, int) else 0)
    if (factor := _common_factor(inner, b)) > 1:
        return outer + _floordiv(_shrink(inner, factor), _shrink(b, factor))
    low, high = _DEFAULT.interval(inner)
    if isinstance(b, int):
        if math.isfinite(low) and math.isfinite(high) and low // b == high // b:
            return outer + int(low) // b
        constant = _constant(inner)
        nested = _sole_atom(inner - constant)
        if nested and nested.kind == "floordiv" and isinstance(divisor := nested.args[1], int):
            return outer + _floordiv(nested.args[0] + constant * divisor, divisor * b)
    elif low >= 0 and _DEFAULT.interval(b - inner)[0] >= 1:
        return outer
    return outer + _apply("floordiv", inner, b)


@lru_cache(maxsize=4096)
def _mod(a: Dim, b: Dim) -> Dim:
    if b == 0:
        raise ZeroDivisionError(f"({a}) % 0")
    if _terms(b)[0][1] < 0:
        return -_mod(-a, -b)
    outer, inner = _split(a, b)
    if isinstance(inner, int) and (inner == 0 != outer or isinstance(b, int)):
        return inner % b if isinstance(b, int) else 0
    if (factor := _common_factor(inner, b)) > 1:
        return _mod(_shrink(inner, factor), _shrink(b, factor)) * factor + _constant(inner) % factor
    low, high = _DEFAULT.interval(inner)
    if isinstance(b, int):
        if math.isfinite(low) and math.isfinite(high) and low // b == high // b:
            return inner - int(low) // b * b
        for monomial, c in _terms(inner):  # c*(x % d) is c*x modulo b where b divides c*d
            atom = monomial[0] if len(monomial) == 1 else None
            if atom and atom.kind == "mod" and isinstance(d := atom.args[1], int) and c * d % b == 0:
                return _mod(inner - _collect({monomial: c}) + c * atom.args[0], b)
    elif low >= 0 and _DEFAULT.interval(b - inner)[0] >= 1:
        return inner
    return _apply("mod", inner, b)


def _apply(kind: str, *args: Dim) -> Dim:
    return SymbolicDim((((_atom(kind, args),), 1),))


@lru_cache(maxsize=4096)
def _extremum(kind: Literal["min", "max"], dims: tuple[Dim, ...]) -> Dim:
    flat: dict[Dim, None] = {}
    for dim in dims:
        atom = _sole_atom(dim)
        flat.update(dict.fromkeys(atom.args if atom and atom.kind == kind else (dim,)))
    kept: list[Dim] = []
    for dim in sorted(flat, key=lambda d: (isinstance(d, int), len(_terms(d)), str(d))):
        if not any(_dominates(kind, other, dim) for other in kept):
            kept = [other for other in kept if not _dominates(kind, dim, other)]
            kept.append(dim)
    return _apply(kind, *kept) if len(kept) > 1 else kept[0]


def _dominates(kind: str, winner: Dim, loser: Dim) -> bool:
    return _DEFAULT.interval(loser - winner if kind == "min" else winner - loser)[0] >= 0


def _checked(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    checked = tuple(map(_as_dim, dims))
    if not checked or None in checked:
        raise TypeError(f"one or more dimensions are needed (int or SymbolicDim), not {dims}")
    return cast("tuple[Dim, ...]", checked)


def minimum(*dims: Dim) -> Dim:
    """The smallest of one or more dimensions."""
    return min(cast("tuple[int, ...]", dims)) if {*map(type, dims)} == {int} else _extremum("min", _checked(dims))


def maximum(*dims: Dim) -> Dim:
    """The largest of one or more dimensions."""
    return max(cast("tuple[int, ...]", dims)) if {*map(type, dims)} == {int} else _extremum("max", _checked(dims))


def symbol(name: str, *, signed: bool = False) -> SymbolicDim:
    """A root: a size, >= 0, or with ``signed`` any integer. One name should mean one root in a program.

    Raises:
        ValueError: the name does not match ``[A-Za-z_][A-Za-z0-9_.]*`` or is one of min, max, floordiv, mod.
    """
    if not NAME.fullmatch(name) or name in RESERVED:
        raise ValueError(f"{name!r} cannot name a dimension: it must match {NAME.pattern} and be none of {RESERVED}")
    return SymbolicDim((((_atom("root", (), name, bool(signed)),), 1),))


def roots(dim: Dim) -> frozenset[str]:
    """The names that the dimension depends on."""
    return frozenset().union(*(atom.roots for monomial, _ in _terms(dim) for atom in monomial))


class _Intervals:
    """Interval arithmetic with given intervals for some roots; without any, results are kept on the dims."""

    __slots__ = ("atoms", "lows", "memo", "sizes")

    def __init__(self, sizes: Mapping[str, tuple[int | None, int | None]]) -> None:
        self.sizes = sizes
        self.memo: dict[SymbolicDim, _Interval] = {}
        self.atoms: dict[_Atom, _Interval] = {}  # both only with sizes, as the memo
        self.lows: dict[tuple[SymbolicDim, int], _Bound] = {}

    def interval(self, dim: Dim) -> _Interval:
        if isinstance(dim, int):
            return dim, dim
        found = self.memo.get(dim) if self.sizes else dim._interval
        if found is None:
            found = self.lower(dim, _ELIMINATIONS), -self.lower(-dim, _ELIMINATIONS)
            if self.sizes:
                self.memo[dim] = found
            else:
                dim._interval = found
        return found

    def lower(self, dim: Dim, eliminations: int) -> _Bound:
        """A lower bound: of the terms one by one, or after replacing a compound atom by what bounds it."""
        if isinstance(dim, int):
            return dim
        if not self.sizes:
            return self._lower(dim, eliminations)
        found = self.lows.get((dim, eliminations))
        if found is None:
            found = self.lows[dim, eliminations] = self._lower(dim, eliminations)
        return found

    def _lower(self, dim: SymbolicDim, eliminations: int) -> _Bound:
        low: _Bound = 0
        compound: tuple[_Atom, int] | None = None
        for monomial, c in _terms(dim):
            if len(monomial) == 1 and monomial[0].kind != "root":
                compound = compound or (monomial[0], c)
            low = _plus(low, _times(c, self.product(monomial)[c < 0]))
        if compound and eliminations and len(_terms(dim)) - (_constant(dim) != 0) > 1:
            low = max(low, self.eliminated(dim, *compound, eliminations - 1))
        return low

    def eliminated(self, dim: Dim, atom: _Atom, c: int, eliminations: int) -> _Bound:
        """A lower bound of ``dim``, which has the term ``c*atom``, with the atom expanded (n - min(n, m) >= 0)."""
        rest = dim - _collect({(atom,): c})
        x, divisor = atom.args[0], atom.args[1]
        if atom.kind in ("min", "max"):
            lows = [self.lower(rest + c * arg, eliminations) for arg in atom.args]
            return min(lows) if (atom.kind == "min") == (c > 0) else max(lows)
        if atom.kind == "floordiv" and isinstance(divisor, int):  # divisor * (x//divisor) == x - x % divisor
            low = _plus(self.lower(rest * divisor + c * x, eliminations), -c * (divisor - 1) if c > 0 else 0)
            return low if math.isinf(low) else -(-low // divisor)
        if atom.kind == "mod" and c < 0 and self.interval(x)[0] >= 0 and self.interval(divisor)[0] >= 0:
            return self.lower(rest + c * x, eliminations)  # x % divisor <= x
        return -math.inf

    def product(self, monomial: _Monomial) -> _Interval:
        low: _Bound = 1
        high: _Bound = 1
        for atom, group in itertools.groupby(monomial):
            a, b = _power(self.atom(atom), len(list(group)))
            corners = [_times(low, a), _times(low, b), _times(high, a), _times(high, b)]
            low, high = min(corners), max(corners)
        return low, high

    def atom(self, atom: _Atom) -> _Interval:
        if atom.kind == "root":
            least, greatest = self.sizes.get(atom.name, (None if atom.signed else 0, None))
            return -math.inf if least is None else least, math.inf if greatest is None else greatest
        if not self.sizes:
            return self._compound(atom)
        found = self.atoms.get(atom)
        if found is None:
            found = self.atoms[atom] = self._compound(atom)
        return found

    def _compound(self, atom: _Atom) -> _Interval:
        intervals = list(map(self.interval, atom.args))
        if atom.kind in ("min", "max"):
            pick = min if atom.kind == "min" else max
            return pick(low for low, _ in intervals), pick(high for _, high in intervals)
        a, (low, high) = intervals
        of = _quotient if atom.kind == "floordiv" else _remainder
        parts: list[_Interval] = []
        if high >= 1:
            parts.append(of(a, (max(low, 1), high)))
        if low <= -1:
            x, y = of((-a[1], -a[0]), (max(-high, 1), -low))
            parts.append((x, y) if atom.kind == "floordiv" else (-y, -x))
        return min((p[0] for p in parts), default=-math.inf), max((p[1] for p in parts), default=math.inf)


_DEFAULT = _Intervals({})


@lru_cache(maxsize=64)
def _intervals(sizes: frozenset[tuple[str, tuple[int | None, int | None]]]) -> _Intervals:
    """Kept: a pass asks for thousands of bounds under the same sizes, and most have parts in common."""
    return _Intervals(dict(sizes))


def _times(x: _Bound, y: _Bound) -> _Bound:
    if not x or not y:
        return 0
    return math.copysign(math.inf, 1 if (x > 0) == (y > 0) else -1) if math.inf in (abs(x), abs(y)) else x * y


def _plus(x: _Bound, y: _Bound) -> _Bound:
    return x + y if isinstance(x, int) and isinstance(y, int) else -math.inf  # lower bounds: none is +inf


def _power(base: _Interval, exponent: int) -> _Interval:
    if exponent % 2 or base[0] >= 0:
        return base[0] ** exponent, base[1] ** exponent
    low, high = sorted((base[0] ** exponent, base[1] ** exponent))
    return (low if base[1] <= 0 else 0), high


def _quotient(a: _Interval, b: _Interval) -> _Interval:
    """Of a//b for 1 <= b: the quotient is monotonic in each, and goes to 0 or -1 as b grows."""

    def at(x: _Bound, y: _Bound) -> _Bound:
        return x if math.isinf(x) else x // y if math.isfinite(y) else -(x < 0)

    return at(a[0], b[1] if a[0] >= 0 else b[0]), at(a[1], b[0] if a[1] >= 0 else b[1])


def _remainder(a: _Interval, b: _Interval) -> _Interval:
    """Of a % b for 1 <= b."""
    if a[0] >= 0 and a[1] < b[0]:
        return a
    if b[0] == b[1] and math.isfinite(a[0]) and math.isfinite(a[1]) and a[0] // b[0] == a[1] // b[0]:
        return a[0] % b[0], a[1] % b[0]
    return 0, min(a[1], b[1] - 1) if a[0] >= 0 else b[1] - 1


def bounds(dim: Dim, sizes: Mapping[str, tuple[int | None, int | None]] | None = None) -> tuple[int | None, int | None]:
    """The least and the greatest value, None where unbounded: never too tight, and exact for linear expressions.

    Args:
        sizes: intervals of roots, in place of (0, None) for a size and (None, None) for a signed root. They must
            allow no value that the root's kind does not.
    """
    low, high = (_intervals(frozenset(sizes.items())) if sizes else _DEFAULT).interval(dim)
    return (None if math.isinf(low) else int(low)), (None if math.isinf(high) else int(high))


_INTEGERS: dict[str, Callable[..., int]] = {"floordiv": floordiv, "mod": mod, "min": min, "max": max}


def operands(dim: Dim) -> set[Dim]:
    """What a dimension's functions (`//`, `%`, `min`, `max`) are applied to, those inside of these too."""
    found: set[Dim] = set()
    pending = [arg for monomial, _ in _terms(dim) for atom in monomial for arg in atom.args]
    while pending:
        operand = pending.pop()
        if operand not in found:
            found.add(operand)
            pending += [arg for monomial, _ in _terms(operand) for atom in monomial for arg in atom.args]
    return found


def evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The value for given roots.

    Raises:
        KeyError: a root has no value.
        ZeroDivisionError: a divisor is 0 for these values.
    """
    try:
        return _evaluate(dim, sizes)
    except KeyError as error:
        raise KeyError(f"no size is given for {error.args[0]!r}, which {dim} needs") from None


def _evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    total = 0
    for monomial, c in _terms(dim):
        for atom in monomial:
            if atom.kind == "root":
                c *= int(sizes[atom.name])
            else:
                args: list[int] = []
                for arg in atom.args:
                    args.append(_evaluate(arg, sizes))
                c *= _INTEGERS[atom.kind](*args)
        total += c
    return total


def rebuild(
    dim: Dim,
    leaf: Callable[[str], T],
    *,
    const: Callable[[int], T],
    add: Callable[[T, T], T],
    mul: Callable[[T, T], T],
    floordiv: Callable[[T, T], T],
    mod: Callable[[T, T], T],
    minimum: Callable[[T, T], T],
    maximum: Callable[[T, T], T],
) -> T:
    """Fold the expression, for instance into emitted arithmetic; an atom that occurs twice is built once.

    Args:
        leaf: makes the value of a root from its name.
        const: makes the value of an integer; negative ones occur, a difference is ``add(x, mul(y, const(-1)))``.
    """
    functions = {"floordiv": floordiv, "mod": mod, "min": minimum, "max": maximum}
    return _fold(dim, lambda root: leaf(root.name), const, add, mul, functions, {})


def _fold(
    dim: Dim,
    leaf: Callable[[_Atom], T],
    const: Callable[[int], T],
    add: Callable[[T, T], T],
    mul: Callable[[T, T], T],
    functions: Mapping[str, Callable[[T, T], T]],
    built: dict[_Atom, T],
) -> T:
    summands: list[T] = []
    for monomial, c in _terms(dim):
        for atom in monomial:
            if atom not in built and atom.kind == "root":
                built[atom] = leaf(atom)
            elif atom not in built:
                args: list[T] = []
                for arg in atom.args:
                    args.append(_fold(arg, leaf, const, add, mul, functions, built))
                built[atom] = reduce(functions[atom.kind], args)
        factors = [built[atom] for atom in monomial]
        summands.append(reduce(mul, factors if c == 1 and factors else [*factors, const(c)]))
    return reduce(add, summands) if summands else const(0)


_DIMS: dict[str, Callable[[Dim, Dim], Dim]] = {"floordiv": _floordiv, "mod": _mod, "min": minimum, "max": maximum}


def substitute(dim: Dim, mapping: Mapping[str, Dim]) -> Dim:
    """Replace roots, all at once. A size must get what is >= 0, as `dim` may have been simplified by that."""
    if roots(dim).isdisjoint(mapping):
        return dim

    def leaf(root: _Atom) -> Dim:
        return mapping[root.name] if root.name in mapping else SymbolicDim((((root,), 1),))

    result: Dim = _fold(dim, leaf, int, add, mul, _DIMS, {})
    return result
