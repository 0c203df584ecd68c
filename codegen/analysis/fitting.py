"""Sizes as expressions, from their values at several sets of sizes.

In: for each name its values, and the values of what is looked for, a size or a number made of one. Out: the first
expression found that has these: a polynomial of the names, a quotient or a remainder by a small number, of one of them
or of one that was found before.
Decision to know: many expressions have the same few values, so what is found is a guess.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dims as dimension
from ..dims import Dim

# Divisors, and factors before them, of quotients and remainders.
_DIVISORS = (*range(2, 17), 24, 32, 64, 128)
_FACTORS = (1, -1, 2, -2, 3, -3)
# This many expressions that were found are tried as parts of another one.
_PARTS = 24


class NumberOf(NamedTuple):
    """`factor * size` or `factor / size` (`sign`), or that of the size's square root, as Python computes floats."""

    factor: float
    sign: str
    root: bool
    dim: Dim

    def at(self, size: Any) -> float:
        """The number for a size."""
        part = math.sqrt(size) if self.root else int(size)
        return self.factor * part if self.sign == "*" else self.factor / part


class Fitter:
    """Looks for expressions over certain names.

    Attributes:
        roots: each name with its values.
        known: those, and what was found, by values.
    """

    def __init__(self, places: Sequence[Mapping[str, int]]) -> None:
        self.roots = [(np.array([at[name] for at in places]), dimension.symbol(name)) for name in places[0]]
        self.known: dict[tuple[int, ...], Dim] = {tuple(map(int, values)): dim for values, dim in self.roots}

    def find(self, values: Sequence[int]) -> Dim | None:
        """An expression with these values, or None."""
        key = tuple(map(int, values))
        if key not in self.known and (found := next(self._candidates(np.array(key)), None)) is not None:
            self.known[key] = found
        return self.known.get(key)

    def find_number(self, is_same: Callable[[float, int], bool], values: Any) -> NumberOf | None:
        """An integer, or a number made of one near a size; `is_same` says whether a number is that of a place."""
        are_whole = np.array_equal(values, np.rint(values)) and np.abs(values).max() < 2**53
        if are_whole and (whole := self.find([int(x) for x in values])) is not None:
            return NumberOf(1.0, "*", False, whole)
        parts = [(part + shift, dim + shift) for part, dim in self.roots for shift in (0, -1, 1, -2, 2)]
        parts += [(np.array(part), dim) for part, dim in self.known.items()]
        for (part, dim), sign, root in itertools.product(parts, "*/", (False, True)):
            if (part <= 0).any():
                continue
            scaled = float(values[0]) / NumberOf(1.0, sign, root, dim).at(part[0])
            for factor in (float(f"{scaled:.6g}"), scaled, math.pi * float(f"{scaled / math.pi:.6g}")):
                found = NumberOf(factor, sign, root, dim)
                if all(is_same(found.at(size), place) for place, size in enumerate(part)):
                    return found
        return None

    def _candidates(self, values: Any) -> Iterator[Dim]:
        parts = [*self.roots, *[(np.array(part), dim) for part, dim in list(self.known.items())[::-1][:_PARTS]]]
        for part, dim in parts:
            step = part[1] - part[0]
            slope = int((values[1] - values[0]) // step) if step else 0
            if slope and np.ptp(values - slope * part) == 0:
                yield dim * slope + int(values[0] - slope * part[0])
        yield from self._polynomials(values)
        for (one, dim), (other, too) in itertools.combinations_with_replacement(parts, 2):
            factor = int(values[0] // (one[0] * other[0])) if one[0] * other[0] else 0
            if factor and np.array_equal(values, factor * one * other):
                yield dim * too * factor
        for divisor, factor, (part, dim) in itertools.product(_DIVISORS, _FACTORS, parts):
            rest = values * divisor - factor * part
            low, high = int(rest.max()), int(rest.min()) + divisor - 1
            if low <= high:  # any shift between them
                yield (dim * factor + (0 if low <= 0 <= high else low if low > 0 else high)) // divisor
        for divisor, (part, dim) in itertools.product(_DIVISORS, parts):
            for sign, shift in itertools.product((1, -1), range(divisor)):
                rest = sign * ((part + shift) % divisor)
                if np.ptp(rest) and np.ptp(values - rest) == 0:
                    yield ((dim + shift) % divisor) * sign + int(values[0] - rest[0])

    def _polynomials(self, values: Any) -> Iterator[Dim]:
        """A sum of names, products of two or powers, with factors, and a number."""
        count = len(self.roots)
        pairs = list(itertools.combinations(range(count), 2))
        powers = [(i,) * power for power in (2, 3) for i in range(count)]
        for products in ([], pairs, powers[:count], powers):
            terms = [*[(i,) for i in range(count)], *products]
            if len(terms) >= len(values):
                continue
            columns = [np.prod([self.roots[i][0] for i in term], axis=0) for term in terms]
            matrix = np.array([*columns, np.ones_like(values)]).T
            *slopes, base = map(int, np.rint(np.linalg.lstsq(matrix, values, rcond=None)[0]))
            if np.array_equal(matrix @ [*slopes, base], values):
                made = [
                    math.prod([self.roots[i][1] for i in term], start=s) for s, term in zip(slopes, terms, strict=True)
                ]
                yield sum(made, base)
