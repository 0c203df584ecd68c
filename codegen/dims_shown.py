"""Dimensions as text, for users and for modules; `dims_text` reads it.

A small expression is written as a tree. In a larger one the parts that occur more than once, or lie very deep, get
names in front, so that the text is as long as the graph and never as long as the tree:

    {_1: max(n - m, 0) + k*n; _2: min(_1, m)//3} _2*k + _1
"""

from __future__ import annotations

import itertools
from collections import Counter

from .dims_extremum import reduce
from .dims_terms import LARGEST_TREE, Atom, Dim, Terms, atom_text, parts, size, sum_text, terms_of

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
