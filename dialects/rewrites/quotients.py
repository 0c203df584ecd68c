"""A node rewriter: factors of a product that overflow or vanish against each other are taken together.

In: the root of a tree of multiplications, divisions and negations, as differentiation leaves them behind. Out: the
same product without them. The derivative of `log(sigmoid(x))` is `g / s * s * (1 - s)` with `s = sigmoid(x)`, which is
0/0 at -1000; this gives `g * (1 - s)`.

| numerator | denominator | becomes |
|---|---|---|
| `f` | `f` | nothing |
| `x` | `abs(x)` | `sign(x)` |
| `exp(a)` | `1 + exp(a)` | `sigmoid(a)` |
| | `1 + exp(a)` | `sigmoid(-a)` |
| `exp(a) * sigmoid(-a)` | | `sigmoid(a)` |
| `exp(a)` | a sum that has `exp(a)` among its terms | `exp(a - log(the sum))`, whose logarithm is stable |
| `exp(a)` | `exp(b)` | `exp(a - b)` |
| `exp(a) * exp(b)` | | `exp(a + b)` |
| `exp(-u**2)` | `erfc(u)` | `1 / erfcx(u)` |
| `(a / f + b) * f` | | `a + b * f`, also where masks stand between the factors |
| `a * f + b * f` | `f` | `a + b`, also of exponentials that differ |
| | `(1 + a / f) * f` | `f + a` |
| `--x` | | `x` |
| `2 * x * -0.5` | | `-x` |
| `0 * x`, `0` | `x` | `0` |

A product with a mask (`products.py`) becomes a selection between the product and zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .products import ONE, Factor, Module, Product, Products


class Quotients(Products):
    """Products whose quotients are taken together."""

    roots = ("mul", "true_div", "neg", "reciprocal")

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.exp, self.erfc, self.abs = (self.scalar(x) for x in ("exp", "erfc", "abs"))

    # ---- what is taken together -------------------------------------------------------------------------------------

    def simplify(self, node: Any) -> list[Any] | None:
        """The product without its quotients, or None where it has none."""
        (root,) = node.outputs
        twice_negative = self.kind(root) is self.neg and self.kind(node.inputs[0]) is self.neg
        product = self.read(Factor(root))
        above, below = product.above, product.below
        before = len(product)
        zero = next((f for f in above if self.is_zero(f.variable)), None)
        if zero is not None and before > 1 and root.type.dtype.startswith("float"):
            # With the axes of all the rest: a value that does not depend on a variable has no gradient by it.
            masks = [part for mask in product.masks for part in (mask.condition, mask.zero)]
            rest = [f for f in [*above, *below] if f is not zero]
            return [self.build(root, Product(above=[zero], shapes=[*rest, *product.shapes, *masks]))]
        self._drop_units(product)
        # A factor 1 would hide what the product is; one stays where there is nothing else.
        below[:] = [f for f in below if not self.is_constant(f.variable, 1)] or ([] if above else below[:1])
        above[:] = [f for f in above if not self.is_constant(f.variable, 1)] or above[:1]
        while (cancelled := self._quotient(above, below, self._cancelled)) is not None:
            above.remove(ONE)
            product.shapes.append(cancelled)
        while self._quotient(above, below, self._ratio):
            pass
        if self._distribute(product) or self._distribute_below(product):
            return [self.build(root, product)]
        changed = self._logistic(above, below) or twice_negative or product.flipped
        while self._sigmoid(above) or self._exponential(above):
            pass
        if not changed and before == len(product) and not (product.masks and before > 1):
            return None
        return [self.build(root, product)]

    def _drop_units(self, product: Product) -> None:
        """Drops constants whose product is 1 or -1: `2 * x * -0.5` overflows where x is the largest number."""
        constants = [f for f in product.above if self.value(f.variable) is not None]
        total = math.prod(self.value(f.variable) or 0.0 for f in constants)
        if len(constants) > 1 and abs(total) == 1 and len(constants) < len(product.above):
            product.above[:] = [f for f in product.above if f not in constants]
            product.shapes += constants
            product.negative ^= total < 0

    def _quotient(
        self, above: list[Factor], below: list[Factor], ratio: Callable[[Factor, Factor], Factor | None]
    ) -> Factor | None:
        """Puts the ratio of a numerator and a denominator in the numerator's place; the numerator that it was."""
        for j, denominator in enumerate(below):
            for i, numerator in enumerate(above):
                found = ratio(numerator, denominator)
                if found is not None:
                    above[i] = found
                    del below[j]
                    return numerator
        return None

    def _cancelled(self, numerator: Factor, denominator: Factor) -> Factor | None:
        above, below = numerator.variable, denominator.variable
        if numerator.expand == denominator.expand:
            cancels = self.same(above, below)
        else:
            expanded = numerator.expand is None and above.owner is not None and above.owner.op == denominator.expand
            cancels = expanded and self.same(above.owner.inputs[0], below)
        return ONE if cancels else None

    def _ratio(self, numerator: Factor, denominator: Factor) -> Factor | None:
        f, expand = self.functions, numerator.expand
        above, below = numerator.variable, denominator.variable
        a = self.argument(above, self.exp)
        if a is None:
            x = self.argument(below, self.abs)
            real = not above.type.dtype.startswith("complex")
            together = x is not None and real and expand == denominator.expand and self.same(x, above)
            return Factor(f["sign"](above), expand) if together else None
        terms = list(self.exponents(below))
        if denominator.expand == expand and below.owner is not None:
            if len(terms) == 1 and self.kind(below) is self.add and self.same(a, terms[0]):
                return Factor(f["sigmoid"](a), expand)
            if (b := self.argument(below, self.exp)) is not None:
                return Factor(f["exp"](a - b), expand)
            u = self.argument(below, self.erfc) if "erfcx" in f else None
            if u is not None and self.is_minus_square(a, u):
                return Factor(f["reciprocal"](f["erfcx"](u)), expand)
        if any(self.same(a, term) for term in terms):
            return Factor(f["exp"](Factor(a, expand).build() - self._log(denominator)))
        return None

    def _distribute(self, product: Product) -> bool:
        """`(a / p + b) * p` is `a / p * p + b * p`: where a term of a sum has a denominator among the other factors.

        So is `(a * p + b * p) / p`, where all terms have it, and a sum of masks, which then keep the other factors out.
        The new products are roots of their own, and lose their quotients when their turn comes.
        """
        above, below = product.above, product.below
        for i, factor in enumerate(above):
            others = [*above[:i], *above[i + 1 :]]
            terms = self.terms(factor) if others or below else []
            zeros = [term for term, _ in terms if self.is_zero(term.variable)]
            terms = [term for term in terms if term[0] not in zeros]
            if len(terms) > 1 and self._cancels(terms, others, below):
                signed = [self._signed(term, negative) for term, negative in terms]
                numerators = [other.build() for other in others]
                products = [self.times([term, *numerators]) for term in signed]
                if below:
                    denominator = self.times([other.build() for other in below])
                    products = [self.functions["true_div"](x, denominator) for x in products]
                above[:], below[:] = [Factor(self.functions["add"](*products))], []
                product.shapes += zeros
                return True
        return False

    def _distribute_below(self, product: Product) -> bool:
        """`(1 + a / p) * p` below is `p + a`; denominators that no term has below it stay.

        Not so without a constant or the inverse of something: `(s + z) * p` with a quotient z may stand in other terms
        too, and cancel there.
        """
        below = product.below
        for i, factor in enumerate(below):
            others = [*below[:i], *below[i + 1 :]]
            terms = self.terms(factor) if others else []
            if len(terms) < 2 or not any(self._is_over_constant(term.variable) for term, _ in terms):
                continue
            inside: list[Factor] = []
            for denominator in (d for term, _ in terms for d in self._denominators(term)):
                found = next((f for f in others if self._cancelled(f, denominator) is not None), None)
                if found is not None:
                    inside.append(found)
                    others.remove(found)
            if inside:
                numerators = [f.build() for f in inside]
                total = self.functions["add"](*(self.times([self._signed(*term), *numerators]) for term in terms))
                below[:] = [Factor(total), *others]
                return True
        return False

    def _is_over_constant(self, variable: Any) -> bool:
        if self.kind(variable) is self.true_div:
            variable = variable.owner.inputs[0]
        return self.kind(variable) is self.reciprocal or self.value(variable) is not None

    def _denominators(self, term: Factor) -> list[Factor]:
        """The denominators of the term's own division; a quotient in its numerator, which others may have, stays."""
        kind = self.kind(term.variable)
        if kind not in (self.true_div, self.reciprocal):
            return []
        return self.read(Factor(term.variable.owner.inputs[-1], term.expand)).above

    def _cancels(self, terms: Sequence[tuple[Factor, bool]], above: Sequence[Factor], below: Sequence[Factor]) -> bool:
        """Whether a term has one of the factors above below it, all have one of those below, or all are masked."""
        products = [self.read(term) for term, _ in terms]
        if all(x.masks for x in products):
            return True
        denominators = [d for x in products for d in x.below]
        return any(self._meets(f, denominators) for f in above) or any(
            all(self._meets(f, x.above) for x in products) for f in below
        )

    def _meets(self, factor: Factor, others: Sequence[Factor]) -> bool:
        """Whether one of the others is the same, or both are exponentials, whose quotient is one."""
        exponential = self.kind(factor.variable) is self.exp
        return any(
            self._cancelled(factor, other) is not None
            or (exponential and self.kind(other.variable) is self.exp and other.expand == factor.expand)
            for other in others
        )

    def _signed(self, term: Factor, negative: bool) -> Any:
        value = term.build()
        return self.functions["neg"](value) if negative else value

    def _logistic(self, above: list[Factor], below: list[Factor]) -> bool:
        """`1 / (1 + exp(a))` is `sigmoid(-a)`; whether there was one."""
        found = False
        for factor in list(below):
            terms = list(self.exponents(factor.variable)) if self.kind(factor.variable) is self.add else []
            if len(terms) == 1:
                below.remove(factor)
                above.append(Factor(self.functions["sigmoid"](self.functions["neg"](terms[0])), factor.expand))
                found = True
        return found

    def _log(self, factor: Factor) -> Any:
        """The logarithm below the inserted axes, where the value's own logarithm is computed."""
        variable, expand = factor.variable, factor.expand
        if variable.owner is not None and self.is_dimshuffle(variable.owner.op):
            inner = Factor(self.functions["log"](variable.owner.inputs[0]), variable.owner.op).build()
        else:
            inner = self.functions["log"](variable)
        return Factor(inner, expand).build()

    def _sigmoid(self, above: list[Factor]) -> bool:
        """`exp(a) * sigmoid(-a)` is `sigmoid(a)`."""
        sigmoids = [(i, x) for i, f in enumerate(above) if (x := self.argument(f.variable, self.sigmoid)) is not None]
        if not sigmoids:
            return False
        for j, factor in enumerate(above):
            a = self.argument(factor.variable, self.exp)
            if a is None:
                continue
            for i, x in sigmoids:
                pairs = (a, x), (x, a)
                opposite = any((y := self.argument(u, self.neg)) is not None and self.same(y, v) for u, v in pairs)
                if factor.expand == above[i].expand and opposite:
                    above[j] = Factor(self.functions["sigmoid"](a), factor.expand)
                    del above[i]
                    return True
        return False

    def _exponential(self, above: list[Factor]) -> bool:
        """`exp(a) * exp(b)` is `exp(a + b)`, where both have the same axes."""
        for i, factor in enumerate(above):
            a = self.argument(factor.variable, self.exp)
            if a is None:
                continue
            for j in range(i + 1, len(above)):
                b = self.argument(above[j].variable, self.exp)
                if b is not None and factor.expand == above[j].expand and a.type.broadcastable == b.type.broadcastable:
                    above[i] = Factor(self.functions["exp"](a + b), factor.expand)
                    del above[j]
                    return True
        return False

    # ---- what a variable is -----------------------------------------------------------------------------------------

    def exponents(self, variable: Any) -> Iterator[Any]:
        """The `a` of a sum of `exp(a)`, or of `1 + exp(a)`; nothing for a sum with other terms."""
        owner = self.below_axes(variable).owner
        if owner is None or not (self.kind(owner.outputs[0]) is self.add or isinstance(owner.op, self.math.Sum)):
            return
        terms = [self.argument(x, self.exp) for x in owner.inputs if not self.is_constant(x, 1)]
        ones = len(owner.inputs) - len(terms)
        if None not in terms and terms and ones <= (len(terms) == 1):
            yield from terms

    def is_minus_square(self, a: Any, u: Any) -> bool:
        """Whether a is `-(u**2)`, `-(u * u)` or `-u * u`."""
        if a.owner is None:
            return False
        if self.kind(a) is self.mul and len(a.owner.inputs) == 2:
            x, y = a.owner.inputs
            return any(
                (n := self.argument(v, self.neg)) is not None and self.same(n, u) and self.same(w, u)
                for v, w in ((x, y), (y, x))
            )
        square = self.argument(a, self.neg)
        if square is None or square.owner is None:
            return False
        kind, inputs = self.kind(square), square.owner.inputs
        if kind is self.pow:
            return self.same(inputs[0], u) and self.is_constant(inputs[1], 2)
        return (kind is self.sqr or (kind is self.mul and len(inputs) == 2)) and all(self.same(x, u) for x in inputs)
