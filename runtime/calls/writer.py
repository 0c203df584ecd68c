"""The one writer of generated code: functions written out for their arguments and compiled once.

In: parameters, lines, and what the names in them stand for. Out: a function. Decision to know: names are the function's
closure, not its globals, so that a function holds what it uses and no dictionary; guards of arguments are written here
too, one for each kind of argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

# Python's numbers that NumPy and JAX convert to the same value.
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "d": (float, int),
    "f": (float,),
    "e": (float,),
    "?": (bool,),
    "D": (complex, float),
}


def write(
    parameters: str,
    lines: Sequence[str],
    names: Mapping[str, Any],
    *,
    name: str = "",
    keywords: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """A function of these parameters and lines.

    Args:
        parameters: as they stand between the parentheses of a definition.
        lines: the body; deeper lines are indented by four spaces a level.
        names: what the names in the lines stand for.
        name: what the function is called in tracebacks.
        keywords: for parameters the names that callers give them by; any text.
    """
    body = "".join(f"        {line}\n" for line in lines)
    source = f"def make({', '.join(names)}):\n    def call({parameters}):\n{body}    return call\n"
    scope: dict[str, Any] = {}
    exec(source, scope)
    made: Any = scope["make"](**names)
    if name:
        made.__name__ = made.__qualname__ = name
    if keywords:
        # Arguments are bound by these names alone, and the lines find them by their places: Python itself takes
        # keywords, at no cost to calls without.
        code = made.__code__
        made.__code__ = code.replace(co_varnames=tuple(keywords.get(x, x) for x in code.co_varnames))
    return made


def not_an_array(name: str, number: int, names: dict[str, Any], dtype: Any, shape: tuple[int, ...] | None) -> str:
    """Whether an argument is no NumPy array of a dtype and, if one is given, of a shape: a condition."""
    names |= {"ndarray": np.ndarray, f"dtype{number}": dtype}
    text = f"type({name}) is not ndarray or {name}.dtype is not dtype{number}"
    if shape is None:
        return text
    names[f"shape{number}"] = shape
    return f"{text} or {name}.shape != shape{number}"


def not_a_scalar(name: str, number: int, names: dict[str, Any], dtype: np.dtype[Any]) -> tuple[str, str]:
    """Whether an argument is nothing that becomes a scalar of a dtype without loss: a line before, and a condition."""
    names |= {"ndarray": np.ndarray, f"dtype{number}": dtype}
    names[f"scalars{number}"] = {dtype.type, *_PYTHON_TYPES.get(dtype.char, ())}
    test = f"t not in scalars{number}"
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        test += f" and (t is not int or not {info.min:d} <= {name} <= {info.max:d})"
    return f"t = type({name})", f"({name}.dtype is not dtype{number} or {name}.shape) if t is ndarray else {test}"


def is_jax_array(name: str, number: int) -> str:
    """Whether an argument is a JAX array like the one whose type is `aval`: a condition."""
    return f"type({name}) is array and {name}.aval is aval{number}"


class Written:
    """A callable whose calls run what was written for their arguments.

    Python finds what stands in the slot `__call__` of the instance and calls it, with nothing in between: it may be
    replaced at any time, in one step, and costs no class and no second Python function. What it holds, executables and
    caches among it, is neither copied nor pickled.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self
