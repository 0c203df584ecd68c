"""A node rewriter: terms of a sum that cancel, zeros, and selections in it that have their zeros at the same place.

In: a tree of additions, subtractions and negations. Out: the same sum without what cancels. `n + v - 1 - v + 1` is `n`,
also where n is too small to survive an addition: the logarithm of a binomial coefficient is written so.

| terms | become |
|---|---|
| `x - x`, a zero | nothing |
| constants of different signs | one constant |
| `switch(c, 0, a) + switch(c, 0, b)` | `switch(c, 0, a + b)`, a mask of the product that the sum stands in |

Each sum is looked at from its root only, and at most `products.LIMIT` terms of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .patterns import derives
from .products import Factor, Mask, Module, Products

Term = tuple[Factor, bool]  # and whether it is subtracted


def sum_rewriter(module: Module) -> Any:
    """The node rewriter `local_sums` of a library.

    Args:
        module: imports a module of the library by its path below the package.
    """
    sums = _Sums(module)

    def local_sums(fgraph: Any, node: Any) -> list[Any] | None:
        return sums.simplify(node) if sums.is_sum(fgraph, node) else None

    tracks = [sums.functions[name] for name in ("add", "sub", "neg")]
    return module("graph.rewriting.basic").node_rewriter(tracks)(local_sums)


def one_rewriter(module: Module) -> Any:
    """The node rewriter `local_sum_of_one` of a library: a reduction over axes of size 1 alone, or over none.

    Differentiation leaves it where something may have been broadcast, and no mask is seen through it.

    Args:
        module: imports a module of the library by its path below the package.
    """
    cast, reduction = module("tensor.basic").cast, module("tensor.math").Sum
    dimshuffle = module("tensor.elemwise").DimShuffle

    def local_sum_of_one(fgraph: Any, node: Any) -> list[Any] | None:
        (x,) = node.inputs
        axes = range(x.type.ndim) if node.op.axis is None or x.type.ndim == 0 else node.op.axis
        if not all(x.type.broadcastable[axis] for axis in axes):
            return None
        kept = [axis for axis in range(x.type.ndim) if axis not in axes]
        dtype = node.outputs[0].type.dtype
        if len(kept) < x.type.ndim:
            inserted = x.owner is not None and derives(type(x.owner.op), dimshuffle)
            order = [x.owner.op.new_order[axis] for axis in kept] if inserted else kept
            below = x.owner.inputs[0] if inserted else x
            whole = order == list(range(below.type.ndim))
            x = below if whole else x.dimshuffle(*kept)
        return [x if x.type.dtype == dtype else cast(x, dtype)]

    return module("graph.rewriting.basic").node_rewriter([reduction])(local_sum_of_one)


class _Sums(Products):
    def is_sum(self, fgraph: Any, node: Any) -> bool:
        """Whether it is a sum that something else than a sum uses, or the negation of one."""
        if self.scalar_kind(node.op) is self.neg and self.kind(node.inputs[0]) not in self.sums:
            return False
        users = [x for x, _ in fgraph.clients[node.outputs[0]]]
        for user in users:
            if self.scalar_kind(getattr(user, "op", None)) is self.neg:
                users += [x for x, _ in fgraph.clients.get(user.outputs[0], ())]
        kinds = [self.scalar_kind(getattr(user, "op", None)) for user in users]
        return not kinds or not self.sums.issuperset(kinds)

    def simplify(self, node: Any) -> list[Any] | None:
        """The sum of the terms that are left, or None where nothing is simpler."""
        (root,) = node.outputs
        if not root.type.dtype.startswith(("float", "complex")):
            return None
        terms = self.terms(Factor(root))
        present = self._without_zeros(terms)
        kept = self._under_masks(self._one_constant(self._without_pairs(present)))
        if len(kept) == len(terms):
            return None
        gone = [factor for factor, _ in terms if all(factor is not x for x, _ in kept)]
        if not kept:
            return self._as(root, self.basic.zeros_like(gone[0].build(), dtype=root.type.dtype), gone)
        return self._as(root, self._sum(kept), gone)

    def _without_zeros(self, terms: list[Term]) -> list[Term]:
        """The terms without zeros, unless these alone make floats of integers."""
        kept = [term for term in terms if not self.is_zero(term[0].variable)]
        real = all(np.dtype(x.variable.type.dtype).kind in "fc" for x, _ in kept)
        return kept if real else terms

    def _under_masks(self, terms: list[Term]) -> list[Term]:
        """The terms with one selection in the place of several that have their zeros at the same place."""
        groups: list[tuple[Mask | None, list[Term]]] = []
        for term in terms:
            mask = self.mask(term[0])
            for other, members in groups:
                if mask is not None and other is not None and self._is_same_mask(mask, other):
                    members.append(term)
                    break
            else:
                groups.append((mask, [term]))
        return [
            members[0] if mask is None or len(members) == 1 else (self._selection(mask, members), False)
            for mask, members in groups
        ]

    def _is_same_mask(self, mask: Mask, other: Mask) -> bool:
        return (
            mask.first == other.first
            and mask.condition.expand == other.condition.expand
            and self.same(mask.condition.variable, other.condition.variable)
        )

    def _selection(self, mask: Mask, terms: list[Term]) -> Factor:
        """Between zero and the sum of what the terms select."""
        branches = [(Factor(x.variable.owner.inputs[1 + mask.first], x.expand), negative) for x, negative in terms]
        inside, zero = self._sum(branches), mask.zero.build()
        pair = (zero, inside) if mask.first else (inside, zero)
        return Factor(self.functions["switch"](mask.condition.build(), *pair))

    def _without_pairs(self, terms: list[Term]) -> list[Term]:
        """The terms without each two of opposite signs that are the same."""
        kept: list[Term] = []
        for factor, negative in terms:
            for number, (other, sign) in enumerate(kept):
                if sign != negative and self.same(other.variable, factor.variable):
                    del kept[number]
                    break
            else:
                kept.append((factor, negative))
        return kept

    def _one_constant(self, terms: list[Term]) -> list[Term]:
        """The terms with one constant in place of several with different signs, and none in place of zero."""
        values = [None if x.variable.type.dtype.startswith("complex") else self.value(x.variable) for x, _ in terms]
        found = [-v if negative else v for v, (_, negative) in zip(values, terms, strict=True) if v is not None]
        if not all(map(math.isfinite, found)) or not min(found, default=0.0) < 0 < max(found, default=0.0):
            return terms
        total = math.fsum(found)
        kept = [term for term, v in zip(terms, values, strict=True) if v is None]
        if not kept:
            return terms
        if not total:
            return kept
        ndim, dtype = kept[0][0].variable.type.ndim, kept[0][0].variable.type.dtype
        return [*kept, (Factor(self.basic.constant(np.full((1,) * ndim, total, dtype))), False)]

    def _sum(self, terms: Sequence[Term]) -> Any:
        positive = [x.build() for x, negative in terms if not negative]
        negative = [x.build() for x, negative in terms if negative]
        add, sub = self.functions["add"], self.functions["sub"]
        above = add(*positive) if len(positive) > 1 else positive[0] if positive else None
        below = add(*negative) if len(negative) > 1 else negative[0] if negative else None
        if above is None:
            return self.functions["neg"](below)
        return above if below is None else sub(above, below)

    def _as(self, root: Any, value: Any, gone: Sequence[Factor]) -> list[Any] | None:
        """The value with the root's dtype and axes, some of which only terms that are gone may have given."""
        for factor in gone:
            if value.type.broadcastable != root.type.broadcastable:
                value = self.basic.second(factor.build(), value)
        if value.type.broadcastable != root.type.broadcastable:
            return None
        return [value if value.type.dtype == root.type.dtype else self.basic.cast(value, root.type.dtype)]
