"""What a caller gives in place of an array: lists and tuples of numbers or arrays, and other libraries' arrays.

In: an argument of a program, and a value that JAX does not take for an array. Out: an array. Decision to know: Python's
numbers in a list convert as they do alone, where no information is lost (`[1, 2]` for floats, never `[1.5]` for
integers), and arrays in a list keep their dtype. Calls with arrays do not come here: what is no array shows where the
code of a call, or JAX, refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from ...codegen.dtypes import kind_of
from ...codegen.errors import ArgumentShapeError, ArgumentTypeError
from ...codegen.signature import Argument, describe
from .arguments import check_fits

_LISTS = (list, tuple)  # and no named tuples, which are pytrees to JAX
_ARRAYS = (np.ndarray, np.generic, jax.Array)
_NUMBERS = (bool, int, float, complex)


def to_arrays(arguments: Sequence[Argument], args: Sequence[Any]) -> Sequence[Any]:
    """A call's arguments as arrays; `args` itself where there is nothing to convert.

    Raises:
        ArgumentTypeError: a list of what does not fit the argument's dtype.
        ArgumentShapeError: lists of unequal lengths.
    """
    found = [to_array(argument, value) for argument, value in zip(arguments, args, strict=False)]
    if all(one is other for one, other in zip(found, args, strict=False)):
        return args
    return (*found, *args[len(found) :])


def to_array(argument: Argument, value: Any) -> Any:
    """A value as an array; the value itself if it is one, or nothing that can be one."""
    if type(value) in _LISTS:
        return _of_list(argument, value)
    if isinstance(value, _ARRAYS):
        return value
    if hasattr(value, "__jax_array__"):
        return value.__jax_array__()
    has_dtype = isinstance(getattr(value, "dtype", None), np.dtype) and hasattr(value, "__array__")
    return np.asarray(value) if has_dtype and type(value).__name__ != "DataArray" else value


def _of_list(argument: Argument, value: Sequence[Any]) -> Any:
    leaves = list(_leaves(value))
    wanted = f"argument {argument.name!r}: expected an array ({describe(argument.dtype, argument.dims)}), got"
    for leaf in leaves:
        if not isinstance(leaf, (*_ARRAYS, *_NUMBERS)):
            raise ArgumentTypeError(f"{wanted} a {type(value).__name__} that holds {type(leaf).__name__}: {leaf!r:.60}")
    try:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return jax.numpy.asarray(value)
        found = np.asarray(value)
    except (ValueError, TypeError):
        raise ArgumentShapeError(f"{wanted} a {type(value).__name__} whose entries differ in length") from None
    if any(type(leaf) not in _NUMBERS for leaf in leaves):
        return found
    for leaf in leaves:
        _check_number(argument, leaf)
    return found.astype(argument.dtype)


def _check_number(argument: Argument, value: Any) -> None:
    """Raises `ArgumentTypeError` for a Python number that the argument's dtype cannot hold."""
    if _NUMBERS.index(type(value)) > "bifc".index(kind_of(argument.dtype).replace("u", "i")):
        raise ArgumentTypeError(
            f"argument {argument.name!r}: expected dtype {argument.dtype}, got a list that holds {value!r}; convert it "
            f"with numpy.asarray(..., {argument.dtype.name!r})"
        )
    if type(value) is int and kind_of(argument.dtype) in "iu":
        check_fits(argument, value)


def _leaves(value: Any) -> Iterator[Any]:
    if type(value) in _LISTS:
        for entry in value:
            yield from _leaves(entry)
    else:
        yield value
