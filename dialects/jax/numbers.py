"""Numbers that Python makes of symbolic sizes while JAX traces a function: exact on integers, in 64 bits on floats.

In: arithmetic of sizes with Python's numbers that leaves the integers which JAX's symbolic sizes are (`1 / n`,
`n ** 0.5`, `0.5 * n`). Out: a `Number`, an expression of sizes that becomes data where data begins: computed in the
module from the sizes as 64-bit integers and floats, as Python computes it, and rounded once to the type that JAX has
for Python's numbers. Decision to know: what an expression cannot do as Python does it (`n // 2.5`, `int(n / 3)`,
`round`, comparisons, a power of a power) fixes its sizes: the function is traced again, for these sizes alone.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import FrameType
from typing import Any, NoReturn

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir as jax_mlir

from ...codegen import dims as dimension
from ...codegen.dims import Dim
from ...codegen.ir.jax_compat import register_number
from .scope import LARGEST, Scope, bounds_from_one, is_size
from .size_values import Tree, lower_number

_EXACT = 2**53  # integers up to here are floats
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}


class Number:
    """A float that depends on sizes; under `jax.jit` it is Python's.

    Attributes:
        scope: of the sizes.
        tree: the expression.
        numpy: whether it is NumPy's float64, which JAX takes for an array's element, not for a Python number.
    """

    __array_priority__ = 1000  # NumPy's arrays leave the operator to this class
    __slots__ = ("numpy", "scope", "tree")

    def __init__(self, scope: Scope, tree: Tree, *, numpy: bool = False) -> None:
        self.scope, self.tree, self.numpy = scope, tree, numpy

    def __jax_array__(self) -> Any:
        dtype = _dtype()
        for size in _sizes(self.tree):
            self.scope.limit(size, _EXACT if dtype.itemsize == 8 else LARGEST[64], sys._getframe(1))
        return _number().bind(tree=self.tree, dtype=dtype, weak=not self.numpy)

    def fixed(self, frame: FrameType) -> Any:
        """Ends the trace: what is asked the sizes have to answer."""
        self.scope.fix_all(_roots(self.tree), frame)

    def sqrt(self) -> Number:
        """`numpy.sqrt` looks for it."""
        return Number(self.scope, ("sqrt", self.tree), numpy=True)

    def __neg__(self) -> Number:
        return Number(self.scope, ("neg", self.tree), numpy=self.numpy)

    def __pos__(self) -> Number:
        return self

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and (hasattr(float, name) or isinstance(getattr(np, name, None), np.ufunc)):
            self.fixed(sys._getframe(1))
        raise AttributeError(f"a number made of sizes has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<number {self.tree}>"


def arithmetic(sign: str, a: Any, b: Any, frame: FrameType) -> Any:
    """A `Number`; NotImplemented where an operand is no Python number."""
    scope = next(x.scope for x in (a, b) if isinstance(x, Number) or is_size(x))
    trees = [_tree(x) for x in (a, b)]
    if None in trees:
        return NotImplemented
    left, right = trees
    if sign == "/" and is_size(b):
        scope.check_divisor(b, frame)
    elif (sign == "/" and not _is_not_zero(right)) or (sign == "**" and (_roots(right) or not _is_positive(left))):
        scope.fix_all(_roots(left, right), frame)
    wide = any(isinstance(x, np.float64) or (isinstance(x, Number) and x.numpy) for x in (a, b))
    return Number(scope, (sign, left, right), numpy=wide)


def fix_sizes(scope: Scope, values: Sequence[Any], frame: FrameType) -> NoReturn:
    """Fixes all sizes in numbers, which ends the trace."""
    trees = [tree for tree in map(_tree, values) if tree is not None]
    scope.fix_all(_roots(*trees), frame)


def _tree(value: Any) -> Tree:
    if isinstance(value, Number):
        return value.tree
    if is_size(value):
        return value.scope.dim(value)
    if isinstance(value, float):
        return ("float", value.hex())
    return int(value) if type(value) in (int, bool) else None


def _roots(*trees: Tree) -> frozenset[str]:
    """The sizes of expressions."""
    return frozenset().union(*[dimension.roots(size) for tree in trees for size in _sizes(tree)])


def _sizes(tree: Tree) -> list[Dim]:
    if not isinstance(tree, tuple):
        return [tree]
    return [] if tree[0] == "float" else [size for part in tree[1:] for size in _sizes(part)]


def _is_not_zero(tree: Tree) -> bool:
    if isinstance(tree, tuple) and tree[0] == "float":
        return float.fromhex(tree[1]) != 0.0
    return tree != 0 if isinstance(tree, int) else _is_positive(tree)


def _is_positive(tree: Tree) -> bool:
    if not isinstance(tree, tuple):
        return (bounds_from_one(tree)[0] or 0) > 0
    if tree[0] == "float":
        return float.fromhex(tree[1]) > 0.0
    if tree[0] == "**":
        return _is_positive(tree[1])
    return tree[0] in ("+", "*", "/", "sqrt") and all(map(_is_positive, tree[1:]))


# ---- what Python asks of a number -------------------------------------------------------------------------------


def _operator(sign: str, swapped: bool) -> Callable[[Any, Any], Any]:
    def method(self: Number, other: Any) -> Any:
        a, b = (other, self) if swapped else (self, other)
        found = arithmetic(sign, a, b, sys._getframe(1))
        if found is not NotImplemented:
            return found
        array = self.__jax_array__()
        return _PYTHON[sign](other, array) if swapped else _PYTHON[sign](array, other)

    return method


def _question(self: Number, *_: Any) -> Any:
    return self.fixed(sys._getframe(1))


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}.items():
    setattr(Number, f"__{_name}__", _operator(_sign, swapped=False))
    setattr(Number, f"__r{_name}__", _operator(_sign, swapped=True))
for _name in (
    *("eq", "ne", "lt", "le", "gt", "ge", "hash", "bool", "int", "float", "complex", "str", "format", "abs", "round"),
    *("floor", "ceil", "trunc", "floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod"),
):
    setattr(Number, f"__{_name}__", _question)

# ---- as data ------------------------------------------------------------------------------------------------------


@cache
def _number() -> Primitive:
    """The primitive: an expression of sizes as a scalar."""
    primitive = Primitive("number_of_sizes")
    primitive.def_abstract_eval(lambda *, tree, dtype, weak: _aval(dtype, weak))
    jax_mlir.register_lowering(primitive, lower_number)
    return primitive


def _aval(dtype: Any, weak: bool) -> Any:
    shaped: Any = jax.core.ShapedArray
    return shaped((), dtype, weak_type=weak)


def _dtype() -> np.dtype[Any]:
    """The dtype that JAX has for Python's floats."""
    return np.dtype(np.float64 if jax.config.jax_enable_x64 else np.float32)


register_number(Number, Number.__jax_array__, lambda number: _aval(_dtype(), not number.numpy))
