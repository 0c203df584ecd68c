"""The methods of JAX's symbolic sizes that ask their `Scope`.

In: JAX's class of symbolic sizes, once per process. Out: the same class, whose comparisons, conversions and arithmetic
ask the size's `Scope` where Python asks and JAX has no answer for all sizes. Sizes of other scopes are what they were.
Arithmetic that leaves the integers gives a `Number`.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from jax import export

from ...codegen import dims as dimension
from ...codegen.ir.jax_compat import inconclusive_error
from .numbers import Number, arithmetic, fix_sizes
from .scope import LARGEST, Scope, bounds_from_one, is_inside, is_size

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
_SAME = {"__pos__", "__round__", "__trunc__", "__floor__", "__ceil__"}  # of an integer it is itself
_SIGNS = {"ge": ">=", "le": "<=", "lt": "<", "gt": ">"}


@cache
def watch() -> None:
    """Makes JAX's symbolic sizes ask their `Scope`; those of other scopes are what they were."""
    (size,) = export.symbolic_shape("n")
    kind: Any = type(size)
    for name, method in _methods(kind).items():
        setattr(kind, name, method)


def _methods(kind: Any) -> dict[str, Callable[..., Any]]:
    """The methods that take the place of the class's own, which they use."""
    jaxs: Any = kind
    inconclusive = inconclusive_error()
    equal, at_least, at_most = jaxs.__eq__, jaxs.__ge__, jaxs.__le__
    as_hash, as_int, as_text, as_array = jaxs.__hash__, jaxs.__int__, jaxs.__str__, jaxs.__jax_array__

    def __eq__(self: Any, other: Any) -> Any:
        scope = self.scope
        if type(scope) is not Scope:
            return equal(self, other)
        frame = sys._getframe(1)
        if frame.f_code is __ne__.__code__:
            frame = frame.f_back  # type: ignore[assignment]
        if isinstance(other, float) and not is_inside(frame):
            other = int(other) if other == math.floor(other) else None
        elif isinstance(other, kind):
            if other.scope is not scope:
                return False
        elif not _is_integer(other):
            return False if is_inside(frame) else NotImplemented
        if other is None:
            return False
        return bool(equal(self, other)) or scope.is_equal(self, other, frame)

    def __ne__(self: Any, other: Any) -> Any:
        if type(self.scope) is not Scope:
            return not equal(self, other)
        found = __eq__(self, other)
        return found if found is NotImplemented else not found

    def compared(sign: str, own: Any, below: bool, negated: bool) -> Callable[..., Any]:
        """`<` is not `>=`, and `>` is not `<=`; `below` says that the other one comes below."""

        def compare(self: Any, other: Any) -> Any:
            scope = self.scope
            if type(scope) is not Scope:
                return own(self, other)
            if isinstance(other, float):
                if not math.isfinite(other):
                    return getattr(operator, sign)(1, other)
                other = math.ceil(other) if below else math.floor(other)  # n >= 2.5 is n >= 3
            elif not isinstance(other, kind) and not _is_integer(other):
                return NotImplemented
            frame = sys._getframe(1)
            try:
                holds = at_least(self, other) if below else at_most(self, other)
            except inconclusive:
                if scope.sizes is None and is_inside(frame):  # JAX may have another way
                    return own(self, other)
                a, b = (self, other) if below else (other, self)
                holds = scope.is_at_least(a, b, f"{as_text(self)} {_SIGNS[sign]} {other!s}", frame)
            return holds != negated

        return compare

    def __bool__(self: Any) -> bool:
        if type(self.scope) is not Scope:
            return True
        return not (equal(self, 0) or self.scope.is_equal(self, 0, sys._getframe(1)))

    def refused(message: str) -> Callable[[Any], Any]:
        def refuse(self: Any) -> Any:
            raise TypeError(message)

        return refuse

    def converted(convert: Callable[[int], Any], own: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A conversion that fixes the size; the class's own where JAX asks."""

        def method(self: Any) -> Any:
            if type(self.scope) is not Scope or is_inside(frame := sys._getframe(1)):
                return own(self)
            return convert(self.scope.fix(self, frame))

        return method

    def __format__(self: Any, spec: str = "") -> str:
        scope = self.scope
        if type(scope) is not Scope or scope.sizes is None or is_inside(frame := sys._getframe(1)):
            return format(as_text(self), spec)
        return format(scope.fix(self, frame, go_on=True), spec)

    def __getattr__(self: Any, name: str) -> Any:
        """Other attributes of integers; NumPy's functions look for themselves among an object's attributes, too."""
        if not name.startswith("_") and (hasattr(int, name) or isinstance(getattr(np, name, None), np.ufunc)):
            frame = sys._getframe(1)
            if type(self.scope) is Scope and not is_inside(frame):
                if name == "sqrt":
                    return Number(self.scope, self.scope.dim(self)).sqrt
                self.scope.fix_all(dimension.roots(self.scope.dim(self)), frame)
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=self)

    methods: dict[str, Callable[..., Any]] = {
        method.__name__: method for method in (__eq__, __ne__, __bool__, __format__, __getattr__)
    }
    methods["__str__"] = methods["__repr__"] = __format__
    methods["__hash__"] = converted(hash, as_hash)
    methods["__int__"] = converted(int, as_int)
    no_index = f"{kind.__name__!r} object cannot be interpreted as an integer"
    no_float = f"float() argument must be a string or a real number, not {kind.__name__!r}"
    methods["__index__"] = converted(int, refused(no_index))
    methods["__float__"] = converted(float, refused(no_float))

    def calculated(sign: str, own: Any, swapped: bool) -> Callable[..., Any]:
        """`+` and the others: JAX's where the result is an integer that it can write, else a `Number`."""

        def calculate(self: Any, other: Any, *modulo: Any) -> Any:
            scope = self.scope
            if type(scope) is not Scope:
                return own(self, other, *modulo)
            if isinstance(other, list | tuple | str | bytes):  # which asks for the size's value
                return NotImplemented
            frame = sys._getframe(1)
            a, b = (other, self) if swapped else (self, other)
            is_number = isinstance(other, Number | float)
            if is_inside(frame) or not (is_number or is_size(other) or type(other) in (int, bool)):
                return own(self, other, *modulo)
            if sign in ("//", "%", "divmod"):
                if not is_number:
                    scope.check_divisor(b, frame)
                    return own(self, other)
            elif sign == "/" or is_number:
                return arithmetic(sign, a, b, frame)
            elif sign == "**" and (swapped or modulo or type(other) not in (int, bool)):
                pass
            elif sign == "**" and other < 0:
                return arithmetic(sign, a, b, frame)
            else:
                return own(self, other)
            return fix_sizes(scope, (self, other), frame)

        return calculate

    for sign, name in _ARITHMETIC.items():
        for prefix in ("", "r"):
            own = getattr(kind, f"__{prefix}{name}__")
            methods[f"__{prefix}{name}__"] = calculated(sign, own, prefix == "r")
    for name in _INTEGERS_ONLY:
        methods[f"__{name}__"] = _as_integer(kind, f"__{name}__")

    def __jax_array__(self: Any) -> Any:
        if type(self.scope) is Scope:
            wide = bool(jax.config.jax_enable_x64)
            self.scope.limit(self.scope.dim(self), LARGEST[64 if wide else 32], sys._getframe(1))
        return as_array(self)

    methods["__jax_array__"] = __jax_array__
    methods["__ge__"] = compared("ge", at_least, True, False)
    methods["__le__"] = compared("le", at_most, False, False)
    methods["__lt__"] = compared("lt", jaxs.__lt__, True, True)
    methods["__gt__"] = compared("gt", jaxs.__gt__, False, True)
    return methods


def _as_integer(kind: type, name: str) -> Callable[..., Any]:
    """A method that integers have and JAX's sizes have not: it fixes the sizes."""

    def method(self: Any, *others: Any) -> Any:
        if type(self.scope) is not Scope or is_inside(frame := sys._getframe(1)):
            if others and name != "__round__":
                return NotImplemented
            raise TypeError(f"bad operand type: {kind.__name__!r}")
        dim = self.scope.dim(self)
        if not others and (name in _SAME or (name == "__abs__" and (bounds_from_one(dim)[0] or -1) > 0)):
            return self
        return self.scope.fix_all(dimension.roots(dim), frame)

    return method


def _is_integer(value: Any) -> bool:
    try:
        operator.index(value)
    except Exception:  # whatever a foreign class raises, it is no integer
        return False
    return True
