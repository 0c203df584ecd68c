"""Dimensions known only when the program runs: arithmetic on them, and their bounds.

In: root names (a size is >= 0, a signed root is any integer), Python ints, and text (`parse`).
Out: a `Dim`: a plain ``int`` whenever the result is known to be constant, else a `SymbolicDim`.

The decision to know: a dimension is kept as it was made, up to what is cheap and always right (`dims_terms`), is shown
and emitted as short as is found (`dims_functions`), and is compared as a function: by values, then by a proof
(`dims_equality`). A rewrite may use only the roots' default intervals, never a `Constraints`, and must give the same
integer wherever the original is defined (it may drop a division by zero, it never adds one). Every operator has a bound
on how much it makes of its operands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from functools import reduce as fold
from operator import floordiv, mod
from typing import Any, NoReturn, TypeVar, cast

from . import dims_equality, dims_functions, dims_terms
from .dims_functions import bounds as bounds
from .dims_functions import extremum
from .dims_terms import (
    INTEGERS,
    LARGEST_TREE,
    Atom,
    Monomial,
    add_terms,
    as_dim,
    atom,
    parts,
    settled,
    size,
    stages,
    terms_of,
)
from .dims_terms import Dim as Dim
from .dims_terms import SymbolicDim as SymbolicDim

T = TypeVar("T")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
RESERVED = frozenset({"min", "max", "floordiv", "mod"})

dims_terms.rules.update(
    divide=dims_functions.divide,
    equal=dims_equality.equal,
    settle=dims_functions.settle,
    text=dims_functions.text,
)


def _extremum(kind: str, of_integers: Callable[..., int], dims: tuple[Dim, ...]) -> Dim:
    if {*map(type, dims)} == {int}:
        return of_integers(dims)
    checked = tuple(map(as_dim, dims))
    if not checked or None in checked:
        raise TypeError(f"one or more dimensions are needed (int or SymbolicDim), not {dims}")
    return extremum(kind, *cast("tuple[Dim, ...]", checked))


def minimum(*dims: Dim) -> Dim:
    """The smallest of one or more dimensions."""
    return _extremum("min", min, dims)


def maximum(*dims: Dim) -> Dim:
    """The largest of one or more dimensions."""
    return _extremum("max", max, dims)


def symbol(name: str, *, signed: bool = False) -> SymbolicDim:
    """A root: a size, >= 0, or with ``signed`` any integer. One name should mean one root in a program.

    Raises:
        ValueError: the name does not match ``[A-Za-z_][A-Za-z0-9_.]*`` or is one of min, max, floordiv, mod.
    """
    if not NAME.fullmatch(name) or name in RESERVED:
        raise ValueError(f"{name!r} cannot name a dimension: it must match {NAME.pattern} and be none of {RESERVED}")
    return SymbolicDim((((atom("root", (), name, bool(signed)),), 1),))


def roots(dim: Dim) -> frozenset[str]:
    """The names that the dimension depends on."""
    return frozenset().union(*(part.roots for monomial, _ in terms_of(dim) for part in monomial))


def operands(dim: Dim) -> set[Dim]:
    """What a dimension's functions (`//`, `%`, `min`, `max`) are applied to, those inside of these too."""
    return {arg for part in parts(dim) for arg in part.args}


def evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The value for given roots.

    Raises:
        KeyError: a root has no value.
        ZeroDivisionError: a divisor is 0 for these values.
    """
    try:
        if size(dim) <= LARGEST_TREE:
            return _evaluate(dim, sizes)
        value: int = _fold(dim, lambda root: int(sizes[root.name]), int, INTEGERS)
        return value
    except KeyError as error:
        raise KeyError(f"no size is given for {error.args[0]!r}, which {dim} needs") from None


def _evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    total = 0
    for monomial, c in terms_of(dim):
        for part in monomial:
            if part.kind == "root":
                c *= int(sizes[part.name])
            else:
                args: list[int] = []
                for arg in part.args:
                    args.append(_evaluate(arg, sizes))
                c *= INTEGERS[part.kind](*args)
        total += c
    return total


def rebuild(
    dim: Dim,
    leaf: Callable[[str], T],
    *,
    minimum: Callable[[T, T], T],
    maximum: Callable[[T, T], T],
    const: Callable[[int], Any] = int,
    **functions: Callable[[T, T], T],
) -> T:
    """Fold the expression as it is shown, for instance into emitted arithmetic; what occurs twice is built once.

    Args:
        leaf: makes the value of a root from its name.
        const: makes the value of an integer; negative ones occur, a difference is ``add(x, mul(y, const(-1)))``.
        functions: `add`, `mul`, `floordiv` and `mod`, where Python's operators are not what is meant.
    """
    all_of_them = {**INTEGERS, "min": minimum, "max": maximum, **functions}
    return _fold(dims_functions.reduce(dim), lambda root: leaf(root.name), const, all_of_them)


def _fold(
    dim: Dim,
    leaf: Callable[[Atom], T],
    const: Callable[[int], T],
    functions: Mapping[str, Callable[..., Any]],
) -> T:
    """The value of a sum, made of values of its atoms, each made once."""
    built: dict[Atom, T] = {}
    add, mul = functions["add"], functions["mul"]

    def total(dim: Dim) -> T:
        summands: list[T] = []
        for monomial, c in terms_of(dim):
            for part in monomial:
                if part not in built:
                    built[part] = value(part)
            factors = [built[part] for part in monomial]
            summands.append(fold(mul, factors if c == 1 and factors else [*factors, const(c)]))
        return fold(add, summands) if summands else const(0)

    def value(part: Atom) -> T:
        if part.kind == "root":
            return leaf(part)
        args: list[T] = []
        for arg in part.args:
            args.append(total(arg))
        return args[0] if part.kind == "sum" else fold(functions[part.kind], args)

    for part in stages(dim):
        built[part] = value(part)
    return total(dim)


def substitute(dim: Dim, mapping: Mapping[str, Dim]) -> Dim:
    """Replace roots, all at once. A size must get what is >= 0, as `dim` may have been simplified by that."""
    if roots(dim).isdisjoint(mapping):
        return dim

    def leaf(root: Atom) -> Dim:
        return mapping[root.name] if root.name in mapping else SymbolicDim((((root,), 1),))

    result: Dim = _fold(dim, leaf, int, _FUNCTIONS)
    return result


# ---- StableHLO's ops on dimensions, by their full names; comparisons by their directions -----------------------------


def truth(dim: Dim) -> Dim:
    """Whether it is not 0, as 1 or 0."""
    return minimum(maximum(dim, -dim), 1)


def _less(a: Dim, b: Dim) -> Dim:
    return minimum(maximum(b - a, 0), 1)


COMPARE: dict[str, Callable[[Dim, Dim], Dim]] = {
    "LT": _less,
    "GT": lambda a, b: _less(b, a),
    "LE": lambda a, b: 1 - _less(b, a),
    "GE": lambda a, b: 1 - _less(a, b),
    "EQ": lambda a, b: 1 - truth(a - b),
    "NE": lambda a, b: truth(a - b),
}
SizeRule = Callable[..., "Dim | None"]  # of what tells the bounds of a size, and of each operand's size


def _truncating(divide: Callable[[Dim, Dim], Dim]) -> SizeRule:
    """Division by what is positive that rounds to zero: down, or up where the other side is negative."""

    def apply(interval: Callable[[Dim], tuple[int | None, int | None]], a: Dim, b: Dim) -> Dim | None:
        (low, high), least = interval(a), interval(b)[0]
        if low is None or least is None or least <= 0:
            return None
        if low >= 0:
            return divide(a, b)
        negative = high is not None and high <= 0
        quotient = -(-a // b) if negative else (a + (b - 1) * minimum(maximum(-a, 0), 1)) // b
        return quotient if divide is floordiv else a - quotient * b

    return apply


# What an op makes of integers that are known as sizes; of truth values (0 and 1) for the logical ones.
LOGICAL: dict[str, SizeRule] = {
    "stablehlo.and": lambda _, a, b: minimum(a, b),
    "stablehlo.or": lambda _, a, b: maximum(a, b),
    "stablehlo.xor": lambda _, a, b: truth(a - b),
    "stablehlo.not": lambda _, a: 1 - a,
}
ARITHMETIC: dict[str, SizeRule] = {
    "stablehlo.add": lambda _, a, b: a + b,
    "stablehlo.subtract": lambda _, a, b: a - b,
    "stablehlo.multiply": lambda _, a, b: a * b,
    "stablehlo.minimum": lambda _, a, b: minimum(a, b),
    "stablehlo.maximum": lambda _, a, b: maximum(a, b),
    "stablehlo.divide": _truncating(floordiv),
    "stablehlo.remainder": _truncating(mod),
    "stablehlo.negate": lambda _, a: -a,
    "stablehlo.abs": lambda _, a: maximum(a, -a),
    "stablehlo.sign": lambda _, a: maximum(minimum(a, 1), -1),
}


# ---- dimensions as text: the grammar that `str` of a dimension writes ----------------------------------------------


_TOKEN = re.compile(rf"[ \t\n]*(?:(?P<number>[0-9]+)|(?P<name>{NAME.pattern})|(?P<sign>//|[-+*%(),{{}};:])|(?P<end>$))")
_MAX_NESTING = 200
_FUNCTIONS = {**INTEGERS, "min": minimum, "max": maximum}


class DimSyntaxError(ValueError):
    """A text that is no dimension or constraint."""

    def __init__(self, text: str, column: int, expected: str) -> None:
        super().__init__(f"{text!r}, column {column}: expected {expected}, found {text[column - 1 :][:20]!r}")
        self.text, self.column, self.expected = text, column, expected


class _Parser:
    """Recursive descent with two Python frames per level of nesting."""

    def __init__(self, text: str, start: int, stop: int, signed: Collection[str]) -> None:
        self.text, self.stop, self.signed, self.nesting = text, stop, signed, 0
        self.named: dict[str, Dim] = {}
        self.advance(start)

    def advance(self, position: int) -> None:
        match = _TOKEN.match(self.text, position, self.stop)
        if match is None:
            self.start = len(self.text) - len(self.text[position:].lstrip())
            self.fail("a number, a name or an operator")
        self.kind = cast(str, match.lastgroup)
        self.token, self.start, self.end = match[self.kind], match.start(self.kind), match.end()

    def fail(self, expected: str) -> NoReturn:
        raise DimSyntaxError(self.text, self.start + 1, expected)

    def take(self, *tokens: str) -> str:
        """The current token if it is one of these, else ''."""
        token = self.token
        if self.kind != "sign" or token not in tokens:
            return ""
        self.advance(self.end)
        return token

    def whole(self) -> Dim:
        if self.take("{"):
            self.names()
        dim = self.sum()
        return dim if self.kind == "end" else self.fail("an operator or the end")

    def names(self) -> None:
        """The definitions up to the brace; one may use those before it."""
        closing = ""
        while closing != "}":
            name = self.token
            if self.kind != "name" or name in RESERVED or name in self.named:
                self.fail("a new name")
            self.advance(self.end)
            if not self.take(":"):
                self.fail("':'")
            self.named[name] = self.sum()
            closing = self.take(";", "}")
            if not closing:
                self.fail("';' or '}'")

    def sum(self) -> Dim:
        summands: list[tuple[Monomial, int]] = []
        sign: str = "+"
        while sign:
            value = self.factor()
            while operator := self.take("*", "//", "%"):
                other = self.factor()
                value = value * other if operator == "*" else value // other if operator == "//" else value % other
            summands += terms_of(value if sign == "+" else -value)
            sign = self.take("+", "-")
        return settled(add_terms((), summands))

    def factor(self) -> Dim:
        sign = 1
        while self.take("-"):
            sign = -sign
        kind, token = self.kind, self.token
        if kind not in ("number", "name") and token != "(":
            self.fail("a number, a name or '('")
        self.advance(self.end)
        if kind == "number":
            return sign * int(token)
        if kind == "name" and token not in RESERVED:
            named = self.named.get(token)
            return sign * (symbol(token, signed=token in self.signed) if named is None else named)
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            self.fail(f"at most {_MAX_NESTING} nested parentheses")
        if kind == "name" and not self.take("("):
            self.fail(f"'(' after {token}")
        args = [self.sum()]
        while kind == "name" and self.take(","):
            args.append(self.sum())
        if token in ("floordiv", "mod") and len(args) != 2:
            self.fail(f"two arguments of {token}")
        if not self.take(")"):
            self.fail("')'" if kind == "sign" else "',' or ')'")
        self.nesting -= 1
        if kind == "sign":
            return sign * args[0]
        return _FUNCTIONS[token](*args) * sign


def parse(text: str, *, signed: Collection[str] = ()) -> Dim:
    """The dimension that a text like ``2*n + min(m, (k + 1)//2)`` means; precedence is Python's.

    Args:
        signed: names of the roots that may be negative.

    Raises:
        DimSyntaxError: the text is not in the grammar, or nested more than 200 deep.
        ZeroDivisionError: a division by the constant 0.
    """
    return _parse(text, frozenset(signed))


@lru_cache(maxsize=4096)
def _parse(text: str, signed: frozenset[str]) -> Dim:
    return _Parser(text, 0, len(text), signed).whole()


def parse_between(text: str, start: int, stop: int, signed: Collection[str]) -> Dim:
    """`parse` of a part of a text; errors count columns in the whole text."""
    return _Parser(text, start, stop, signed).whole()


dims_terms.rules["parse"] = _parse
