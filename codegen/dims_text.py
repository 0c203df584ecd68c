"""Dimensions and constraints as text: the grammar that `str` of a dimension writes.

In: text such as ``2*n + min(m, (k + 1)//2)``. Out: a `Dim`. Precedence is Python's; ``floordiv`` and ``mod`` may be
written as functions too. Parts may have names: ``{_1: max(n - m, 0); _2: _1//3} _1*k + _2``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from operator import floordiv, mod
from typing import Any, NoReturn, cast

from .dims import NAME, RESERVED, Dim, maximum, minimum, symbol
from .dims_terms import Monomial, add_terms, settled, terms_of

_TOKEN = re.compile(rf"[ \t\n]*(?:(?P<number>[0-9]+)|(?P<name>{NAME.pattern})|(?P<sign>//|[-+*%(),{{}};:])|(?P<end>$))")
_MAX_NESTING = 200
_FUNCTIONS: dict[str, Any] = {"min": minimum, "max": maximum, "floordiv": floordiv, "mod": mod}


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
    """`parse`; modules say the same dimensions again and again, and each pass reads them."""
    return _Parser(text, 0, len(text), signed).whole()


def parse_between(text: str, start: int, stop: int, signed: Collection[str]) -> Dim:
    """`parse` of a part of a text; errors count columns in the whole text."""
    return _Parser(text, start, stop, signed).whole()
