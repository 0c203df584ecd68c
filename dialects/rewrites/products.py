"""A tree of multiplications as a list of factors, and back; and sums, which are rewritten here.

In: the root of a tree of multiplications, divisions, negations, and selections that have zero for one branch, as
differentiation leaves them behind. Out: a `Product`, and from a product a variable.

A selection between a value and zero is a *mask* of the product: `switch(c, a, 0) * b` is `switch(c, a * b, 0)`, which
is 0 where the branch is not taken, also where b is infinite there. PyTensor's own rewrites (`local_mul_switch_sink`)
define it so. Axes that a `DimShuffle` inserts and shapes that `second` gives may stand between two factors.

Each product is read from its root only, and at most `LIMIT` factors of it, so that a chain of n multiplications costs n
looks and not n**2. So is each sum, which becomes the same sum without what cancels: `n + v - 1 - v + 1` is `n`, also
where n is too small to survive an addition (the logarithm of a binomial coefficient is written so).

| terms | become |
|---|---|
| `x - x`, a zero | nothing |
| constants of different signs | one constant |
| `switch(c, 0, a) + switch(c, 0, b)` | `switch(c, 0, a + b)`, a mask of the product that the sum stands in |
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .patterns import Reader

Module = Callable[[str], Any]
Term = tuple["Factor", bool]  # and whether it is subtracted

LIMIT = 24


@dataclass(frozen=True)
class Factor:
    """A variable, behind a `DimShuffle` that only inserts axes, or behind none."""

    variable: Any
    expand: Any = None

    def build(self) -> Any:
        """The factor as one variable."""
        return self.variable if self.expand is None else self.expand(self.variable)


ONE = Factor(None)


@dataclass(frozen=True)
class Mask:
    """A selection that makes a product zero.

    Attributes:
        condition: of the selection.
        zero: its branch that is zero.
        first: whether that branch is the one taken where the condition holds.
    """

    condition: Factor
    zero: Factor
    first: bool


@dataclass
class Product:
    """Factors of a product.

    Attributes:
        above: numerators.
        below: denominators.
        shapes: what only gives its axes.
        masks: the outermost first.
        negative: whether the product has the other sign.
        flipped: whether one of the numerators is a denominator's.
        quotients: those among the numerators whose own factors these are.
    """

    above: list[Factor] = field(default_factory=list)
    below: list[Factor] = field(default_factory=list)
    shapes: list[Factor] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    negative: bool = False
    flipped: bool = False
    quotients: list[Factor] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.above) + len(self.below)


class Products(Reader):
    """Reads and builds products.

    Args:
        module: imports a module of the library by its path below the package.
    """

    roots: tuple[str, ...]  # functions of what is simplified

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._module = module
        self.mul, self.true_div, self.reciprocal = (self.scalar(x) for x in ("mul", "true_div", "reciprocal"))
        self.products = frozenset({self.mul, self.true_div, self.neg, self.reciprocal})
        self.sums = frozenset({self.add, self.sub, self.neg})
        self.basic = module("tensor.basic")
        self.second = type(self.basic.second.scalar_op)
        self.switch, self.sqr, self.pow, self.exp = (self.scalar(x) for x in ("switch", "sqr", "pow", "exp"))
        self.cast = module("scalar.basic").Cast

    def is_root(self, fgraph: Any, node: Any) -> bool:
        """Whether something else than a product uses the node."""
        clients = [self.scalar_kind(getattr(x, "op", None)) for x, _ in fgraph.clients[node.outputs[0]]]
        return not clients or not self.products.issuperset(clients)

    @abstractmethod
    def simplify(self, node: Any) -> list[Any] | None:
        """What stands for a root, or None where nothing is simpler."""

    def rewriter(self) -> Any:
        """The library's node rewriter that simplifies the roots."""

        def rewrite(fgraph: Any, node: Any) -> list[Any] | None:
            return self.simplify(node) if self.is_root(fgraph, node) else None

        tracks = [self.functions[name] for name in self.roots]
        return self._module("graph.rewriting.basic").node_rewriter(tracks)(rewrite)

    # ---- reading ----------------------------------------------------------------------------------------------------

    def read(self, root: Factor) -> Product:
        """The factors of a variable."""
        found = Product()
        dtype = root.variable.type.dtype
        queue = deque([(root, False)])
        while queue:
            factor, below = queue.popleft()
            side = found.below if below else found.above
            inner, kind = self._product(factor, dtype)
            if kind is None or len(queue) + len(found) >= LIMIT:
                side.append(factor)
                continue
            operands = [Factor(operand, inner.expand) for operand in inner.variable.owner.inputs]
            if kind in (self.pow, self.sqr):
                # A quotient stays one: its square may be known where the squares of its factors overflow.
                side.extend([operands[0]] * (2 if kind is self.sqr else self._exponent(inner.variable)))
            elif kind is self.second:
                known = self._product(operands[1], dtype)[1] is not None or self.is_constant(operands[1].variable, 1)
                if not known:
                    side.append(factor)
                else:
                    found.shapes.append(operands[0])
                    queue.append((operands[1], below))
            elif kind is self.switch:
                mask = None if below else self.mask(inner)
                if mask is None:
                    side.append(factor)
                else:
                    found.masks.append(mask)
                    queue.append((operands[1 + mask.first], below))
            else:
                for number, operand in enumerate(operands):
                    other = kind is self.reciprocal or (kind is self.true_div and number == 1)
                    queue.append((operand, below != other))
                if kind is self.true_div and not below and factor is not root:
                    found.quotients.append(inner)
                found.negative ^= kind is self.neg
                found.flipped |= below and kind is self.reciprocal
        return found

    def fold(self, product: Product) -> None:
        """Puts quotients whose factors are all left back in their place.

        Their rounding is then the same where other terms have them, and what overflows is what overflowed before.
        """
        for quotient in product.quotients:
            inner = self.read(quotient)
            pairs = (product.above, inner.above), (product.below, inner.below)
            if inner.masks or inner.negative or inner.shapes or not all(Counter(y) <= Counter(x) for x, y in pairs):
                continue
            for factors, taken in pairs:
                for factor in taken:
                    factors.remove(factor)
            product.above.insert(0, quotient)

    def mask(self, factor: Factor) -> Mask | None:
        """The mask of a selection that has zero for one of its branches, or None."""
        if self.kind(factor.variable) is not self.switch:
            return None
        condition, *branches = (Factor(x, factor.expand) for x in factor.variable.owner.inputs)
        for number, branch in enumerate(branches):
            if self.is_zero(branch.variable):
                return Mask(condition, branch, number == 0)
        return None

    def terms(self, factor: Factor) -> list[tuple[Factor, bool]]:
        """The terms of a sum and whether they are subtracted, at most `LIMIT`; the factor alone if it is no sum."""
        found: list[tuple[Factor, bool]] = []
        queue = deque([(factor, False)])
        while queue:
            term, negative = queue.popleft()
            term = Factor(self.without_casts(term.variable), term.expand)
            kind = self.kind(term.variable)
            same_type = term.variable.type.dtype == factor.variable.type.dtype
            if kind not in self.sums or not same_type or len(queue) + len(found) >= LIMIT:
                found.append((term, negative))
                continue
            for number, operand in enumerate(term.variable.owner.inputs):
                other = kind is self.neg or (kind is self.sub and number == 1)
                queue.append((Factor(operand, term.expand), negative != other))
        return found

    def _product(self, factor: Factor, dtype: str) -> tuple[Factor, type | None]:
        """The factor below the axes that it inserts, and the class of scalar op if it is a product of that dtype.

        A selection may have any dtype, and a negation any of floats: they do not round.
        """
        factor = Factor(self.without_casts(self._cast_inside(factor.variable)), factor.expand)
        below = self.below_axes(factor.variable)
        order: list[Any] = list(range(factor.variable.type.ndim))
        outer = factor.variable
        while outer is not below:
            order = [x if x == "x" else outer.owner.op.new_order[x] for x in order]
            (outer,) = outer.owner.inputs
        if [x for x in order if x != "x"] != list(range(below.type.ndim)):
            return factor, None
        if "x" not in order:
            factor = Factor(below, factor.expand)
        elif factor.expand is None:
            owner = factor.variable.owner
            factor = Factor(below, (owner if owner.inputs[0] is below else below.dimshuffle(order).owner).op)
        else:
            return factor, None
        if below.owner is None:
            return factor, None
        kind = self.kind(factor.variable)
        exact = kind is self.switch or (kind is self.neg and factor.variable.type.dtype.startswith("float"))
        known = kind is self.second or kind in self.products or kind is self.sqr
        if kind is self.pow:
            known = self._exponent(factor.variable) > 0 and factor.variable.owner.inputs[0].type.dtype == dtype
        return factor, kind if exact or (known and factor.variable.type.dtype == dtype) else None

    def _exponent(self, power: Any) -> int:
        """1 or 2 where that is the exponent of a power without axes of its own, else 0."""
        base, exponent = power.owner.inputs
        value = self.value(exponent)
        if value not in (1, 2) or base.type.broadcastable != power.type.broadcastable:
            return 0
        return int(value)

    def without_casts(self, variable: Any) -> Any:
        """`x` of a cast of x to a wider dtype and back."""
        if self.kind(variable) is self.cast and self.kind(variable.owner.inputs[0]) is self.cast:
            x = variable.owner.inputs[0].owner.inputs[0]
            wide = np.dtype(variable.owner.inputs[0].type.dtype)
            if x.type.dtype == variable.type.dtype and np.can_cast(x.type.dtype, wide, "safe"):
                return x
        return variable

    def _cast_inside(self, variable: Any) -> Any:
        """A cast of a selection that has a zero, as a selection of casts."""
        inner = variable.owner.inputs[0] if self.kind(variable) is self.cast else variable
        if inner is variable or self.mask(Factor(inner)) is None:
            return variable
        condition, *branches = inner.owner.inputs
        return self.functions["switch"](condition, *(self.basic.cast(x, variable.type.dtype) for x in branches))

    def value(self, variable: Any) -> float | None:
        """The value of a constant of one element, or of a sum of two, behind inserted axes or not; else None."""
        variable = self.below_axes(variable)
        if self.kind(variable) in (self.add, self.sub) and len(variable.owner.inputs) == 2:
            first, second = (self._single(x) for x in variable.owner.inputs)
            if first is None or second is None:
                return None
            return first + second if self.kind(variable) is self.add else first - second
        return self._single(variable)

    def _single(self, variable: Any) -> float | None:
        variable = self.below_axes(variable)
        known = isinstance(variable, self.constant) and np.size(variable.data) == 1
        return float(variable.data.item()) if known else None

    def is_zero(self, variable: Any) -> bool:
        """Whether it is the constant 0, in any shape."""
        while (owner := variable.owner) is not None:
            if self.kind(variable) is self.second:
                variable = owner.inputs[1]
            elif (
                self.is_dimshuffle(owner.op)
                or isinstance(owner.op, self.basic.Alloc)
                or self.kind(variable) is self.cast
            ):
                variable = owner.inputs[0]
            else:
                return False
        return isinstance(variable, self.constant) and not np.any(variable.data)

    # ---- building ---------------------------------------------------------------------------------------------------

    def build(self, root: Any, product: Product) -> Any:
        """The variable of a product, with the root's dtype and axes."""
        self.fold(product)
        result = self._build_factors(root, product)
        for mask in reversed(product.masks):
            branches = (mask.zero.build(), result) if mask.first else (result, mask.zero.build())
            result = self.functions["switch"](mask.condition.build(), *branches)
        return result if result.type.dtype == root.type.dtype else self.basic.cast(result, root.type.dtype)

    def _build_factors(self, root: Any, product: Product) -> Any:
        """The product without its masks; `shapes` give the axes that no factor has."""
        numerators = [f.build() for f in product.above]
        denominators = [f.build() for f in product.below]
        masks = [part.build().type.broadcastable for mask in product.masks for part in (mask.condition, mask.zero)]
        missing = [axis for axis, broadcast in enumerate(root.type.broadcastable) if not broadcast]
        for shape in [None, *product.shapes]:
            if shape is not None:
                ones = self.basic.ones_like(shape.build(), dtype=root.type.dtype)
                if all(ones.type.broadcastable[axis] for axis in missing):
                    continue
                numerators.append(ones)
            present = [*masks, *(v.type.broadcastable for v in (*numerators, *denominators))]
            missing = [axis for axis in missing if all(flags[axis] for flags in present)]
            if not missing:
                break
        if not numerators:
            like = denominators[0] if denominators else product.shapes[0].build()
            numerators.append(self.basic.ones_like(like, dtype=root.type.dtype))
        result = self.times(numerators)
        apart = self._apart(denominators)
        together = [v for v in denominators if v not in apart]
        for denominator in ([self.times(together)] if together else []) + apart:
            result = self.functions["true_div"](result, denominator)
        return self.functions["neg"](result) if product.negative else result

    def _apart(self, denominators: Sequence[Any]) -> list[Any]:
        """Factors to divide by one after another: squares, and products of two exponentials, overflow or vanish."""
        exponentials = [v for v in denominators if self.kind(v) is self.exp]
        if len(exponentials) < 2:
            exponentials = []
        return [v for v in denominators if v in exponentials or denominators.count(v) > 1]

    def times(self, variables: Sequence[Any]) -> Any:
        """Their product."""
        return variables[0] if len(variables) == 1 else self.functions["mul"](*variables)


# ---- sums ------------------------------------------------------------------------------------------------------------


class Sums(Products):
    """Sums without what cancels."""

    roots = ("add", "sub", "neg")

    def is_root(self, fgraph: Any, node: Any) -> bool:
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
        present = [term for term in terms if not self.is_zero(term[0].variable)]
        if any(np.dtype(x.variable.type.dtype).kind not in "fc" for x, _ in present):
            present = terms  # zeros alone make floats of integers
        kept = self._under_masks(self._one_constant(self._without_pairs(present)))
        if len(kept) == len(terms):
            return None
        gone = [factor for factor, _ in terms if all(factor is not x for x, _ in kept)]
        if not kept:
            return self._as(root, self.basic.zeros_like(gone[0].build(), dtype=root.type.dtype), gone)
        return self._as(root, self._sum(kept), gone)

    def _under_masks(self, terms: list[Term]) -> list[Term]:
        """The terms with one selection in the place of several that have their zeros at the same place."""
        groups: list[tuple[Mask | None, list[Term]]] = []
        for term in terms:
            mask = self.mask(term[0])
            for other, members in groups:
                if mask is None or other is None or mask.first != other.first:
                    continue
                one, two = mask.condition, other.condition
                if one.expand == two.expand and self.same(one.variable, two.variable):
                    members.append(term)
                    break
            else:
                groups.append((mask, [term]))
        kept = []
        for mask, members in groups:
            if mask is None or len(members) == 1:
                kept.append(members[0])
                continue
            branches = [(Factor(x.variable.owner.inputs[1 + mask.first], x.expand), minus) for x, minus in members]
            inside, zero = self._sum(branches), mask.zero.build()
            pair = (zero, inside) if mask.first else (inside, zero)
            kept.append((Factor(self.functions["switch"](mask.condition.build(), *pair)), False))
        return kept

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
