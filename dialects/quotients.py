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
| `(a / f + b) * f` | | `a + b * f` |
| `--x` | | `x` |

Each product is looked at from its root only, and at most `LIMIT` factors of it, so that a chain of n multiplications
costs n looks and not n**2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .patterns import Reader

Module = Callable[[str], Any]

LIMIT = 24


@dataclass(frozen=True)
class Factor:
    """A variable, behind a `DimShuffle` that only inserts axes, or behind none."""

    variable: Any
    expand: Any = None

    def build(self) -> Any:
        """As one variable."""
        return self.variable if self.expand is None else self.expand(self.variable)


ONE = Factor(None)


def quotient_rewriter(module: Module) -> Any:
    """The node rewriter `local_quotients` of a library.

    Args:
        module: imports a module of the library by its path below the package.
    """
    quotients = _Quotients(module)

    def local_quotients(fgraph: Any, node: Any) -> list[Any] | None:
        if quotients.is_root(fgraph, node):
            return quotients.simplify(node)
        return None

    tracks = [quotients.functions[name] for name in ("mul", "true_div", "neg", "reciprocal")]
    return module("graph.rewriting.basic").node_rewriter(tracks)(local_quotients)


class _Quotients(Reader):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.mul, self.true_div, self.reciprocal = (self.scalar(x) for x in ("mul", "true_div", "reciprocal"))
        self.exp, self.erfc, self.abs = (self.scalar(x) for x in ("exp", "erfc", "abs"))
        self.sqr, self.pow = self.scalar("sqr"), self.scalar("pow")
        self.products = frozenset({self.mul, self.true_div, self.neg, self.reciprocal})
        self.basic = module("tensor.basic")
        self.second = type(self.basic.second.scalar_op)

    # ---- the product as a list of factors ---------------------------------------------------------------------------

    def is_root(self, fgraph: Any, node: Any) -> bool:
        """Whether something else than a product uses the node."""
        clients = [self.scalar_kind(getattr(x, "op", None)) for x, _ in fgraph.clients[node.outputs[0]]]
        return not clients or not self.products.issuperset(clients)

    def factors(self, root: Any) -> tuple[list[Factor], list[Factor], list[Factor], bool]:
        """Numerators, denominators, what only gives its axes, and whether the product has the other sign."""
        sides: tuple[list[Factor], list[Factor]] = ([], [])
        shapes: list[Factor] = []
        negative = False
        queue = deque([(Factor(root), False)])
        while queue:
            factor, below = queue.popleft()
            inner, kind = self._product(factor, root.type.dtype)
            if kind is None or len(queue) + len(sides[0]) + len(sides[1]) >= LIMIT:
                sides[below].append(factor)
                continue
            operands = [Factor(operand, inner.expand) for operand in inner.variable.owner.inputs]
            if kind is self.second:
                if self._product(operands[1], root.type.dtype)[1] is None:
                    sides[below].append(factor)
                else:
                    shapes.append(operands[0])
                    queue.append((operands[1], below))
                continue
            for number, operand in enumerate(operands):
                other = kind is self.reciprocal or (kind is self.true_div and number == 1)
                queue.append((operand, below != other))
            negative ^= kind is self.neg
        return *sides, shapes, negative

    def _product(self, factor: Factor, dtype: str) -> tuple[Factor, type | None]:
        """The factor below the axes that it inserts, and the class of scalar op if it is a product of that dtype."""
        owner = factor.variable.owner
        if owner is None or factor.variable.type.dtype != dtype:
            return factor, None
        if isinstance(owner.op, self.dimshuffle):
            if factor.expand is not None or not self._inserts_axes(owner.op):
                return factor, None
            factor = Factor(owner.inputs[0], owner.op)
        kind = self.kind(factor.variable)
        return factor, kind if kind is self.second or kind in self.products else None

    def _inserts_axes(self, op: Any) -> bool:
        return isinstance(op, self.dimshuffle) and [x for x in op.new_order if x != "x"] == list(
            range(op.input_ndim if hasattr(op, "input_ndim") else len(op.input_broadcastable))
        )

    # ---- what is taken together -------------------------------------------------------------------------------------

    def simplify(self, node: Any) -> list[Any] | None:
        """The product without its quotients, or None where it has none."""
        (root,) = node.outputs
        if self.kind(root) is self.neg and (x := self.argument(node.inputs[0], self.neg)) is not None:
            return [x]
        above, below, shapes, negative = self.factors(root)
        before = len(above) + len(below)
        self._drop_ones(above, below)
        while (cancelled := self._quotient(above, below, self._cancelled)) is not None:
            above.remove(ONE)
            shapes.append(cancelled)
        while self._quotient(above, below, self._ratio):
            pass
        if (distributed := self._distribute(above, below)) is not None:
            above[:] = [Factor(distributed)]
            return [self._build(root, above, below, shapes, negative)]
        changed = self._logistic(above, below)
        while self._sigmoid(above) or self._exponential(above):
            pass
        if not changed and before == len(above) + len(below):
            return None
        return [self._build(root, above, below, shapes, negative)]

    def _drop_ones(self, above: list[Factor], below: list[Factor]) -> None:
        """A factor 1 would hide what the product is; one stays where there is nothing else."""
        below[:] = [f for f in below if not self.is_constant(f.variable, 1)] or ([] if above else below[:1])
        above[:] = [f for f in above if not self.is_constant(f.variable, 1)] or above[:1]

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
        """1 for the same factor."""
        above, below = numerator.variable, denominator.variable
        if numerator.expand == denominator.expand:
            cancels = self.same(above, below)
        else:
            cancels = numerator.expand is None and self._is(above, denominator.expand, below)
        return ONE if cancels else None

    def _ratio(self, numerator: Factor, denominator: Factor) -> Factor | None:
        """The quotient of two factors that belong together."""
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

    def _distribute(self, above: Sequence[Factor], below: Sequence[Factor]) -> Any:
        """`(a / p + b) * p` is `a / p * p + b * p`: where a term of a sum has a denominator among the other factors.

        The new products are roots of their own, and lose their quotients when their turn comes.
        """
        for i, factor in enumerate(above):
            kind = self.kind(factor.variable)
            if kind is not self.add and kind is not self.sub:
                continue
            others = [*above[:i], *above[i + 1 :]]
            terms = [Factor(term, factor.expand) for term in factor.variable.owner.inputs]
            hidden = [
                Factor(d.variable, factor.expand) for t in terms for d in self.factors(t.variable)[1] if not d.expand
            ]
            if any(self._cancelled(other, d) for d in hidden for other in others):
                values = [other.build() for other in others]
                products = [self.functions["mul"](term.build(), *values) for term in terms]
                return self.functions["add"](*products) if kind is self.add else self.functions["sub"](*products)
        return None

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
        if variable.owner is not None and isinstance(variable.owner.op, self.dimshuffle):
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
                if factor.expand == above[i].expand and self.are_opposite(a, x):
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

    def _build(
        self, root: Any, above: Sequence[Factor], below: Sequence[Factor], shapes: Sequence[Factor], negative: bool
    ) -> Any:
        """Of these factors, with the root's dtype; `shapes` give the axes that no factor has."""
        numerators, denominators = [f.build() for f in above], [f.build() for f in below]
        missing = [axis for axis, broadcast in enumerate(root.type.broadcastable) if not broadcast]
        for shape in [None, *shapes]:
            if shape is not None:
                ones = self.basic.ones_like(shape.build(), dtype=root.type.dtype)
                if all(ones.type.broadcastable[axis] for axis in missing):
                    continue
                numerators.append(ones)
            present = [v.type.broadcastable for v in (*numerators, *denominators)]
            missing = [axis for axis in missing if all(flags[axis] for flags in present)]
            if not missing:
                break
        if not numerators:
            like = denominators[0] if denominators else shapes[0].build()
            numerators.append(self.basic.ones_like(like, dtype=root.type.dtype))
        result = self._times(numerators)
        if denominators:
            result = self.functions["true_div"](result, self._times(denominators))
        result = self.functions["neg"](result) if negative else result
        return result if result.type.dtype == root.type.dtype else self.basic.cast(result, root.type.dtype)

    def _times(self, variables: Sequence[Any]) -> Any:
        return variables[0] if len(variables) == 1 else self.functions["mul"](*variables)

    # ---- what a variable is -----------------------------------------------------------------------------------------

    def exponents(self, variable: Any) -> Iterator[Any]:
        """The `a` of a sum of `exp(a)`, or of `1 + exp(a)`; nothing for a sum with other terms."""
        owner = variable.owner
        while owner is not None and isinstance(owner.op, self.dimshuffle):
            owner = owner.inputs[0].owner
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

    def are_opposite(self, a: Any, b: Any) -> bool:
        """Whether one of them is the other's negation."""
        return any((x := self.argument(u, self.neg)) is not None and self.same(x, v) for u, v in ((a, b), (b, a)))

    def _is(self, variable: Any, op: Any, operand: Any) -> bool:
        return variable.owner is not None and variable.owner.op == op and self.same(variable.owner.inputs[0], operand)
