"""Node rewriters from a table of expressions: what is recognized, and what it becomes.

In: a node. Out: the same value, where the expression as written overflows, vanishes or loses digits. An expression is
the name of a function of the library's `tensor.math` with its operands, a constant, or a name that stands for anything;
the same name stands for the same expression. A match looks at classes of scalar ops only and takes about a
microsecond, so that large graphs with thousands of logarithms can afford it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from jax.scipy import special

Expression = str | float | tuple[Any, ...]

# Sources: log(sigmoid(x)) = -log(1 + exp(-x)) and what follows from it; erfc(x) = 1 - erf(x) = exp(-x**2) * erfcx(x).
PATTERNS: dict[str, tuple[tuple[Expression, Expression], ...]] = {
    "local_log1p_expm1": (
        (("log", ("add", 1, "x")), ("log1p", "x")),
        (("log", ("add", "x", 1)), ("log1p", "x")),
        (("log", ("sub", 1, "x")), ("log1p", ("neg", "x"))),
        (("sub", ("exp", "x"), 1), ("expm1", "x")),
        (("add", ("exp", "x"), -1), ("expm1", "x")),
        (("add", -1, ("exp", "x")), ("expm1", "x")),
    ),
    "local_log_of_exp": (
        (("log", ("exp", "x")), "x"),
        (("log1p", ("expm1", "x")), "x"),
        (("log", ("reciprocal", "x")), ("neg", ("log", "x"))),
        (("log", ("true_div", 1, "x")), ("neg", ("log", "x"))),
        (("log1p", ("exp", "x")), ("softplus", "x")),
        (("log1p", ("neg", ("exp", "x"))), ("log1mexp", "x")),
        (("log", ("neg", ("expm1", "x"))), ("log1mexp", "x")),
        (("log1mexp", ("log", "x")), ("switch", ("ge", "x", 0), ("log1p", ("neg", "x")), np.nan)),
        (
            ("log", ("sub", ("exp", "x"), ("exp", "y"))),
            ("switch", ("eq", "y", -np.inf), "x", ("add", "x", ("log1mexp", ("sub", "y", "x")))),
        ),
    ),
    "local_log_of_sigmoid": (
        (("log", ("sigmoid", "x")), ("neg", ("softplus", ("neg", "x")))),
        (("log", ("sub", 1, ("sigmoid", "x"))), ("neg", ("softplus", "x"))),
        (("log1p", ("neg", ("sigmoid", "x"))), ("neg", ("softplus", "x"))),
        (("log", ("true_div", ("sigmoid", "x"), ("sub", 1, ("sigmoid", "x")))), "x"),
        (("log", ("true_div", ("sigmoid", "x"), ("sigmoid", ("neg", "x")))), "x"),
        (("sigmoid", ("log", ("true_div", "x", ("sub", 1, "x")))), "x"),
        (("sub", 1, ("sigmoid", "x")), ("sigmoid", ("neg", "x"))),
    ),
    "local_erf_and_one": (
        (("add", 1, ("erf", "x")), ("erfc", ("neg", "x"))),
        (("add", ("erf", "x"), 1), ("erfc", ("neg", "x"))),
        (("sub", 1, ("erf", "x")), ("erfc", "x")),
        (("sub", ("erf", "x"), 1), ("neg", ("erfc", "x"))),
        (("add", 1, ("neg", ("erf", "x"))), ("erfc", "x")),
        (("add", 1, ("neg", ("erfc", "x"))), ("erf", "x")),
        (("sub", 1, ("erfc", "x")), ("erf", "x")),
        (
            ("log", ("erfc", "x")),
            (
                "switch",
                ("lt", "x", 1),
                ("log1p", ("neg", ("erf", ("minimum", "x", 1)))),
                ("sub", ("log", ("erfcx", ("maximum", "x", 1))), ("sqr", "x")),
            ),
        ),
    ),
    "local_abs_of_positive": tuple((("abs", (function, "x")), (function, "x")) for function in ("abs", "exp", "sqr")),
    "local_sqrt_of_sqr": ((("sqrt", ("sqr", "x")), ("abs", "x")),),
    "local_log_of_bessel": (
        (("log", ("mul", ("kve", "v", "x"), ("exp", ("neg", "x")))), ("sub", ("log", ("kve", "v", "x")), "x")),
        (("log", ("mul", ("ive", "v", "x"), ("exp", ("abs", "x")))), ("add", ("log", ("ive", "v", "x")), ("abs", "x"))),
    ),
}


_USED = "abs add erfc erfcx exp log mul neg pow reciprocal sigmoid sign sqr sub true_div"


# Looked up: the libraries' op classes are abstract ones, which Python asks at length.
derives: Callable[[type, type], bool] = cache(issubclass)


class Reader:
    """Questions about variables: classes of scalar ops, constants, equal expressions.

    Args:
        module: imports a module of the library by its path below the package.
    """

    def __init__(self, module: Callable[[str], Any]) -> None:
        self.math = module("tensor.math")
        self._dimshuffle = module("tensor.elemwise").DimShuffle
        self._elemwise = module("tensor.elemwise").Elemwise
        self.constant = module("graph.basic").Constant
        names = {
            *_USED.split(),
            *(f for pairs in PATTERNS.values() for pair in pairs for side in pair for f in _functions(side)),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Aesara gives NumPy's names to some and warns of the others
            found = {name: getattr(self.math, name, None) for name in names}
        if not hasattr(special, "erfcx"):
            del found["erfcx"]  # no lowering in this release of JAX
        self.functions = {name: op for name, op in found.items() if isinstance(op, self._elemwise)}
        self.add, self.sub, self.neg, self.sigmoid = (self.scalar(x) for x in ("add", "sub", "neg", "sigmoid"))

    def scalar(self, name: str) -> type:
        """The class of the scalar op of a function of `tensor.math`."""
        return type(self.functions[name].scalar_op)

    def scalar_kind(self, op: Any) -> type | None:
        """The class of an elementwise op's scalar op, or None; a reduction is no elementwise op."""
        return type(op.scalar_op) if derives(type(op), self._elemwise) else None

    def kind(self, variable: Any) -> type | None:
        """The class of the scalar op that computes the variable, or None."""
        return None if variable.owner is None else self.scalar_kind(variable.owner.op)

    def argument(self, variable: Any, kind: type) -> Any:
        """`x` of a variable `op(x)`, for the class of op's scalar op, or None."""
        return variable.owner.inputs[0] if self.kind(variable) is kind else None

    def is_dimshuffle(self, op: Any) -> bool:
        """Whether an op inserts, drops or permutes axes."""
        return derives(type(op), self._dimshuffle)

    def below_axes(self, variable: Any) -> Any:
        """The variable behind the axes that are inserted, dropped or permuted."""
        while variable.owner is not None and self.is_dimshuffle(variable.owner.op):
            (variable,) = variable.owner.inputs
        return variable

    def is_constant(self, variable: Any, value: float) -> bool:
        """Whether it is that constant, behind inserted axes or not."""
        variable = self.below_axes(variable)
        return (
            isinstance(variable, self.constant) and np.size(variable.data) == 1 and bool(variable.data.item() == value)
        )

    def complement(self, variable: Any) -> Any:
        """`x` of `1 - x` or `1 + -x`, `sigmoid(x)` of `sigmoid(-x)`, or None."""
        kind = self.kind(variable)
        if kind is self.sigmoid:
            x = self.argument(variable.owner.inputs[0], self.neg)
            return None if x is None else self.functions["sigmoid"](x)
        if kind not in (self.sub, self.add):
            return None
        one, *others = variable.owner.inputs
        if len(others) != 1 or not self.is_constant(one, 1):
            return None
        return others[0] if kind is self.sub else self.argument(others[0], self.neg)

    def same(self, a: Any, b: Any, depth: int = 4) -> bool:
        """Whether both are the same expression, as far as `depth` nodes tell; constants count by value."""
        if a is b:
            return True
        if isinstance(a, self.constant) and isinstance(b, self.constant):
            return bool(np.size(a.data) == 1 and np.shape(a.data) == np.shape(b.data) and np.all(a.data == b.data))
        if a.owner is None or b.owner is None or depth == 0:
            return False
        x, y = self.complement(a), self.complement(b)
        if x is not None and y is not None:
            return self.same(x, y, depth - 1)
        return (
            type(a.owner.op) is type(b.owner.op)
            and len(a.owner.inputs) == len(b.owner.inputs)
            and a.owner.op == b.owner.op
            and a.owner.outputs.index(a) == b.owner.outputs.index(b)
            and all(self.same(x, y, depth - 1) for x, y in zip(a.owner.inputs, b.owner.inputs, strict=True))
        )


def pattern_rewriters(module: Callable[[str], Any]) -> dict[str, Any]:
    """A node rewriter of the library for each entry of `PATTERNS`, without what this version has no function for.

    Args:
        module: imports a module of the library by its path below the package.
    """
    reader = Reader(module)
    cast = module("tensor.basic").cast
    node_rewriter = module("graph.rewriting.basic").node_rewriter
    made = {}
    for name, patterns in PATTERNS.items():
        known = [pair for pair in patterns if all(f in reader.functions for side in pair for f in _functions(side))]
        if known:
            tracks = {pattern[0]: reader.functions[pattern[0]] for pattern, _ in known if isinstance(pattern, tuple)}
            made[name] = node_rewriter(list(tracks.values()))(_rewriter(known, reader, cast))
    return made


def _rewriter(patterns: Sequence[tuple[Expression, Expression]], reader: Reader, cast: Any) -> Callable[..., Any]:
    def rewrite(fgraph: Any, node: Any) -> list[Any] | None:
        (out,) = node.outputs
        if any(x.type.dtype.startswith("complex") for x in node.inputs):
            return None  # where logarithms have branches, and squares signs
        for pattern, result in patterns:
            found: dict[str, Any] = {}
            if _match(reader, pattern, out, found):
                value = _build(reader, result, found)
                if value.type.broadcastable == out.type.broadcastable:
                    return [value if value.type.dtype == out.type.dtype else cast(value, out.type.dtype)]
        return None

    return rewrite


def _functions(expression: Expression) -> Iterator[str]:
    if isinstance(expression, tuple):
        yield expression[0]
        for operand in expression[1:]:
            yield from _functions(operand)


def _match(reader: Reader, pattern: Expression, variable: Any, found: dict[str, Any]) -> bool:
    if isinstance(pattern, str):
        return reader.same(found.setdefault(pattern, variable), variable)
    if not isinstance(pattern, tuple):
        return reader.is_constant(variable, pattern)
    function, *operands = pattern
    if reader.kind(variable) is not reader.scalar(function) or len(variable.owner.inputs) != len(operands):
        return False
    return all(_match(reader, p, v, found) for p, v in zip(operands, variable.owner.inputs, strict=True))


def _build(reader: Reader, expression: Expression, found: dict[str, Any]) -> Any:
    if isinstance(expression, str):
        return found[expression]
    if not isinstance(expression, tuple):
        return expression
    function, *operands = expression
    return reader.functions[function](*[_build(reader, operand, found) for operand in operands])
