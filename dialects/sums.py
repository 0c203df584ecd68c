"""A node rewriter: terms of a sum that cancel, and selections in it that have their zeros at the same place.

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

from .products import Factor, Module, Products

Term = tuple[Factor, bool]  # and whether it is subtracted


def sum_rewriter(module: Module) -> Any:
    """The node rewriter `local_sums` of a library.

    Args:
        module: imports a module of the library by its path below the package.
    """
    sums = _Sums(module)

    def local_sums(fgraph: Any, node: Any) -> list[Any] | None:
        return sums.common_mask(node) or (sums.without_cancelled(node) if sums.is_sum(fgraph, node) else None)

    tracks = [sums.functions[name] for name in ("add", "sub")]
    return module("graph.rewriting.basic").node_rewriter(tracks)(local_sums)


class _Sums(Products):
    def is_sum(self, fgraph: Any, node: Any) -> bool:
        """Whether something else than a sum uses the node."""
        clients = [self.scalar_kind(getattr(x, "op", None)) for x, _ in fgraph.clients[node.outputs[0]]]
        return not clients or not self.sums.issuperset(clients)

    def common_mask(self, node: Any) -> list[Any] | None:
        """The sum under the mask that all of its operands have, or None."""
        masks = [self.mask(Factor(x)) for x in node.inputs]
        first = masks[0]
        if first is None:
            return None
        for mask in masks[1:]:
            if mask is None or mask.first != first.first:
                return None
            if not self.same(mask.condition.variable, first.condition.variable):
                return None
        inside = node.op(*(x.owner.inputs[1 + first.first] for x in node.inputs))
        zero = first.zero.build()
        branches = (zero, inside) if first.first else (inside, zero)
        return self._as(node.outputs[0], self.functions["switch"](first.condition.build(), *branches))

    def without_cancelled(self, node: Any) -> list[Any] | None:
        """The sum of the terms that are left, or None where nothing cancels."""
        (root,) = node.outputs
        if not root.type.dtype.startswith(("float", "complex")):
            return None
        terms = self.terms(Factor(root))
        present = [term for term in terms if not self.is_zero(term[0].variable)]
        kept = self._without_pairs(present)
        constants = self._one_constant(kept)
        # A zero alone, or constants of one sign, cost nothing: XLA's business.
        if len(constants) == len(present) and not self._widens(root, kept):
            return None
        if not constants:
            return self._as(root, self.basic.zeros_like(terms[0][0].build(), dtype=root.type.dtype))
        return self._as(root, self._sum(constants))

    def _widens(self, root: Any, terms: Sequence[Term]) -> bool:
        """Whether the sum of floats has its dtype from zeros alone."""
        dtypes = {np.dtype(x.variable.type.dtype) for x, _ in terms}
        return bool(dtypes) and all(x.kind == "f" and x < np.dtype(root.type.dtype) for x in dtypes)

    def _without_pairs(self, terms: list[Term]) -> list[Term]:
        """Without each two of opposite signs that are the same."""
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
        """With one constant in the place of several with different signs, and none in the place of zero."""
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

    def _as(self, root: Any, value: Any) -> list[Any] | None:
        """With the root's dtype, or None where axes are lost."""
        if value.type.broadcastable != root.type.broadcastable:
            return None
        return [value if value.type.dtype == root.type.dtype else self.basic.cast(value, root.type.dtype)]
