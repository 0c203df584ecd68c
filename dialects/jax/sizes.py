"""JAX's symbolic sizes, and numbers made of them, as Python's integers and floats while a function is traced.

In: JAX's class of symbolic sizes, once per process. Out: the same class, whose comparisons, conversions and arithmetic
ask the size's `Scope` where Python asks and JAX has no answer for all sizes. Sizes of other scopes are what they were.
Arithmetic that leaves the integers (`1 / n`, `n ** 0.5`, `0.5 * n`) gives a `Number`, an expression of sizes that
becomes data where data begins: computed in the module from the sizes as 64-bit integers and floats, as Python computes
it, and rounded once to the type that JAX has for Python's numbers. Decision to know: what an expression cannot do as
Python does it (`n // 2.5`, `int(n / 3)`, `round`, comparisons, a power of a power) fixes its sizes: the function is
traced again, for these sizes alone.
"""

from __future__ import annotations

import functools
import gc
import math
import operator
import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

import jax
import numpy as np
from jax import export
from jax.extend.core import Primitive
from jax.interpreters import mlir as jax_mlir

from ...codegen import dims as dimension
from ...codegen.dims import Dim
from ...codegen.ir.jax_compat import inconclusive_error
from ...codegen.ir.jax_tracing import keep_scan_lengths, keep_staged, register_number
from .rules import Tree, lower_number
from .scope import LARGEST, Scope, asking, bounds_from_one, is_inside, is_size

_ARITHMETIC = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "**": "pow",
    "//": "floordiv",
    "%": "mod",
    "divmod": "divmod",
}
_INTEGERS_ONLY = (
    *("and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift"),
    *("invert", "pos", "abs", "round", "trunc", "floor", "ceil", "complex"),
)
_SAME = {"pos", "round", "trunc", "floor", "ceil"}  # of an integer it is itself
_SIGNS = {"ge": ">=", "le": "<=", "lt": "<", "gt": ">"}


@cache
def watch() -> None:
    """Makes JAX's symbolic sizes ask their `Scope`; those of other scopes are what they were."""
    (size,) = export.symbolic_shape("n")
    kind: Any = type(size)
    # A class takes no property of this name; its dictionary does, before what is set next makes Python look again.
    gc.get_referents(kind.__dict__)[0]["__class__"] = property(functools.partial(_class_of, kind))
    for name, method in _methods(kind).items():
        setattr(kind, name, method)
    keep_staged(_is_open)
    keep_scan_lengths(is_size, lambda size, other: size is other or size.scope.is_equal(size, other, asking()))


def _class_of(kind: type, size: Any) -> type:
    scope = size.scope
    return int if type(scope) is Scope and not scope.traced and not is_inside(sys._getframe(1)) else kind


def _is_open(value: Any) -> bool:
    """Whether a parameter of an equation has symbolic sizes of a `Scope`."""
    if isinstance(value, tuple):
        return any(map(_is_open, value))
    inner = getattr(value, "jaxpr", value)
    if hasattr(inner, "outvars"):
        return any(_is_open(getattr(x.aval, "shape", ())) for x in (*inner.invars, *inner.outvars))
    return is_size(value)


def _methods(kind: type) -> dict[str, Callable[..., Any]]:
    jaxs: Any = kind
    inconclusive = inconclusive_error()
    equal, at_least, at_most = jaxs.__eq__, jaxs.__ge__, jaxs.__le__
    as_text, as_array = jaxs.__str__, jaxs.__jax_array__
    methods: dict[str, Callable[..., Any]] = {}

    def watched(name: str, own: Callable[..., Any], ask: Callable[..., Any]) -> None:
        """A method: the class's own for sizes of other scopes, else `ask`, which gets the frame of who calls it too."""

        def method(self: Any, *others: Any) -> Any:
            return ask(self, sys._getframe(1), *others) if type(self.scope) is Scope else own(self, *others)

        methods[f"__{name}__"] = method

    # ---- comparisons

    def is_equal(self: Any, frame: FrameType, other: Any) -> Any:
        if isinstance(other, float) and not is_inside(frame):
            other = int(other) if other == math.floor(other) else None
        elif isinstance(other, jaxs):
            if other.scope is not self.scope:
                return False
        elif not _is_integer(other):
            return False if is_inside(frame) else NotImplemented
        if other is None:
            return False
        return bool(equal(self, other)) or self.scope.is_equal(self, other, frame)

    def is_different(self: Any, frame: FrameType, other: Any) -> Any:
        found = is_equal(self, frame, other)
        return found if found is NotImplemented else not found

    def compared(sign: str, own: Any, below: bool, negated: bool) -> Callable[..., Any]:
        """`<` is not `>=`, and `>` is not `<=`; `below` says that the other one comes below."""

        def compare(self: Any, frame: FrameType, other: Any) -> Any:
            if isinstance(other, float):
                if not math.isfinite(other):
                    return getattr(operator, sign)(1, other)
                other = math.ceil(other) if below else math.floor(other)  # n >= 2.5 is n >= 3
            elif not isinstance(other, jaxs) and not _is_integer(other):
                return NotImplemented
            try:
                holds = at_least(self, other) if below else at_most(self, other)
            except inconclusive:
                if self.scope.sizes is None and is_inside(frame):  # JAX may have another way
                    return own(self, other)
                a, b = (self, other) if below else (other, self)
                holds = self.scope.is_at_least(a, b, f"{as_text(self)} {_SIGNS[sign]} {other!s}", frame)
            return holds != negated

        return compare

    watched("eq", equal, is_equal)
    watched("ne", lambda self, other: not equal(self, other), is_different)
    for sign, below, negated in (("ge", True, False), ("le", False, False), ("lt", True, True), ("gt", False, True)):
        own = getattr(jaxs, f"__{sign}__")
        watched(sign, own, compared(sign, own, below, negated))

    # ---- conversions

    def is_true(self: Any, frame: FrameType) -> bool:
        return not (equal(self, 0) or self.scope.is_equal(self, 0, frame))

    def shown(self: Any, frame: FrameType, spec: str = "") -> str:
        if self.scope.sizes is None or is_inside(frame):
            return format(as_text(self), spec)
        return format(self.scope.fix(self, frame, go_on=True), spec)

    def refused(message: str) -> Callable[..., Any]:
        def refuse(self: Any, *others: Any) -> Any:
            if others and isinstance(others[0], int | jaxs):
                return NotImplemented
            raise TypeError(message)

        return refuse

    def as_integer(name: str, own: Callable[..., Any]) -> None:
        """A method of integers that fixes the size; `own` where JAX asks."""

        def ask(self: Any, frame: FrameType, *others: Any) -> Any:
            if is_inside(frame):
                return own(self, *others)
            positive = name == "abs" and (bounds_from_one(self.scope.dim(self))[0] or -1) > 0
            if not others and (name in _SAME or positive):
                return self
            return getattr(self.scope.fix(self, frame), f"__{name}__")(*others)

        watched(name, own, ask)

    def array(self: Any, frame: FrameType) -> Any:
        self.scope.limit(self.scope.dim(self), LARGEST[64 if jax.config.jax_enable_x64 else 32], frame)
        return as_array(self)

    watched("bool", lambda self: True, is_true)
    for name in ("format", "str", "repr"):
        watched(name, lambda self, spec="": format(as_text(self), spec), shown)
    as_integer("hash", jaxs.__hash__)
    as_integer("int", jaxs.__int__)
    as_integer("index", refused(f"{kind.__name__!r} object cannot be interpreted as an integer"))
    as_integer("float", refused(f"float() argument must be a string or a real number, not {kind.__name__!r}"))
    for name in _INTEGERS_ONLY:
        as_integer(name, refused(f"bad operand type: {kind.__name__!r}"))
    watched("jax_array", as_array, array)

    # ---- arithmetic, and what else integers have

    def calculated(sign: str, own: Any, swapped: bool) -> Callable[..., Any]:
        """`+` and the others: JAX's where the result is an integer that it can write, else a `Number`."""

        def calculate(self: Any, frame: FrameType, other: Any, *modulo: Any) -> Any:
            if isinstance(other, list | tuple | str | bytes):  # which asks for the size's value
                return NotImplemented
            a, b = (other, self) if swapped else (self, other)
            is_number = isinstance(other, Number | float)
            if is_inside(frame) or not (is_number or is_size(other) or type(other) in (int, bool)):
                return own(self, other, *modulo)
            if sign in ("//", "%", "divmod"):
                if not is_number:
                    self.scope.check_divisor(b, frame)
                    return own(self, other)
            elif sign == "/" or is_number:
                return arithmetic(sign, a, b, frame)
            elif sign == "**" and (swapped or modulo or type(other) not in (int, bool)):
                pass
            elif sign == "**" and other < 0:
                return arithmetic(sign, a, b, frame)
            else:
                return own(self, other)
            return self.scope.fix_all(_roots(*(tree for tree in map(_tree, (self, other)) if tree is not None)), frame)

        return calculate

    def __getattr__(self: Any, name: str) -> Any:
        """Other attributes of integers; NumPy's functions look for themselves among an object's attributes, too."""
        if not name.startswith("_") and (hasattr(int, name) or isinstance(getattr(np, name, None), np.ufunc)):
            frame = sys._getframe(1)
            if type(self.scope) is Scope and not is_inside(frame):
                if name == "sqrt":
                    return Number(self.scope, self.scope.dim(self)).sqrt
                self.scope.fix_all(dimension.roots(self.scope.dim(self)), frame)
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=self)

    for sign, name in _ARITHMETIC.items():
        for prefix in ("", "r"):
            own = getattr(kind, f"__{prefix}{name}__")
            watched(prefix + name, own, calculated(sign, own, prefix == "r"))
    return {**methods, "__getattr__": __getattr__}


def _is_integer(value: Any) -> bool:
    try:
        operator.index(value)
    except Exception:  # whatever a foreign class raises, it is no integer
        return False
    return True


# ---- numbers that Python makes of sizes -----------------------------------------------------------------------------


_EXACT = 2**53  # integers up to here are floats


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


def as_array(value: Any) -> Any:
    """A number, a symbolic size, or a number made of such, as data."""
    return value.__jax_array__() if is_size(value) or isinstance(value, Number) else jax.numpy.asarray(value)


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


def _tree(value: Any) -> Tree:
    if isinstance(value, Number):
        return value.tree
    if is_size(value):
        return value.scope.dim(value)
    if isinstance(value, float):
        return ("float", value.hex())
    return int(value) if type(value) in (int, bool) else None


def _roots(*trees: Tree) -> frozenset[str]:
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
        function = getattr(operator, _ARITHMETIC[sign])
        return function(other, array) if swapped else function(array, other)

    return method


for _sign in ("+", "-", "*", "/", "**"):
    setattr(Number, f"__{_ARITHMETIC[_sign]}__", _operator(_sign, swapped=False))
    setattr(Number, f"__r{_ARITHMETIC[_sign]}__", _operator(_sign, swapped=True))
for _name in (
    *("eq", "ne", "lt", "le", "gt", "ge", "hash", "bool", "int", "float", "complex", "str", "format", "abs", "round"),
    *("floor", "ceil", "trunc", "floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod"),
):
    setattr(Number, f"__{_name}__", lambda self, *_: self.fixed(sys._getframe(1)))

# ---- as data ------------------------------------------------------------------------------------------------------


@cache
def _number() -> Primitive:
    primitive = Primitive("number_of_sizes")
    primitive.def_abstract_eval(lambda *, tree, dtype, weak: _aval(dtype, weak))
    jax_mlir.register_lowering(primitive, lower_number)
    return primitive


def _aval(dtype: Any, weak: bool) -> Any:
    shaped: Any = jax.core.ShapedArray
    return shaped((), dtype, weak_type=weak)


def _dtype() -> np.dtype[Any]:
    return np.dtype(np.float64 if jax.config.jax_enable_x64 else np.float32)


register_number(Number, Number.__jax_array__, lambda number: _aval(_dtype(), not number.numpy))
