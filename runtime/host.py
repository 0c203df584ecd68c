"""Python functions that a program calls while it runs: what XLA calls, and errors on their way out.

In: a `HostCall`, and the types of what it gives. Out: a function for XLA's callback, from arrays that live as long as
it runs to arrays of these types. Decision to know: an error cannot pass XLA. It is kept here under a number, which the
message that XLA gives has in it, and raised again, as itself, where the call comes back (`raised`). Where that is
somebody else's `jax.jit`, JAX's error has the text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..codegen import forks
from ..codegen.ir.host_calls import HostCall

Shape = tuple[int, ...]

_KEPT = 256  # errors that nobody has asked for yet; the oldest is dropped first
_MARK = "hlograph error"
_NOTE = ", which a compiled program called"
_errors: dict[int, BaseException] = {}
_numbers = itertools.count()
_lock = forks.lock()


class ResultShapeError(ValueError):
    """A Python function has given another shape than the program was compiled for."""


class HostError(RuntimeError):
    """A Python function that a program calls has raised: what XLA sees of it."""


def callback(
    call: HostCall, types: Sequence[tuple[Shape, np.dtype[Any]]], ranks: Sequence[int] | None
) -> Callable[..., tuple[Any, ...]]:
    """What XLA calls.

    Args:
        call: the function.
        types: shape and dtype of each result, the order's (see `codegen/builder/host.py`) left out.
        ranks: number of axes of each operand, where the last one is a vector of live sizes; None where there is none.
    """

    def run(order: Any, *operands: Any) -> tuple[Any, ...]:
        try:
            return np.asarray(order), *_run(call, types, ranks, operands)
        except BaseException as error:
            raise _keep(call, error) from None

    return run


def joined(
    parts: Sequence[tuple[Sequence[int], Callable[..., tuple[Any, ...]]]], returned: Sequence[int]
) -> Callable[..., tuple[Any, ...]]:
    """What XLA calls for several functions at once.

    Args:
        parts: the places of what each takes, among the operands and behind them the results so far, and `callback`'s.
        returned: the places of what is returned.
    """

    def run(order: Any, *operands: Any) -> tuple[Any, ...]:
        pool = list(operands)
        for places, part in parts:
            pool += part(order, *[pool[place] for place in places])[1:]
        return np.asarray(order), *[pool[place] for place in returned]

    return run


def _run(
    call: HostCall,
    types: Sequence[tuple[Shape, np.dtype[Any]]],
    ranks: Sequence[int] | None,
    operands: Sequence[Any],
) -> list[np.ndarray[Any, Any]]:
    given = [np.asarray(x) for x in operands]
    live = [shape for shape, _ in types]
    if ranks is not None:
        *given, sizes = given
        places = iter(sizes.tolist())
        given = [x[tuple(slice(next(places)) for _ in range(rank))] for x, rank in zip(given, ranks, strict=True)]
        live = [tuple(next(places) for _ in shape) for shape in live]
    # Copies: the memory is XLA's, and gone when this returns.
    results = list(call.function([np.array(x) for x in given]))
    if len(results) != len(types):
        raise ValueError(f"{len(results)} results came back, expected {len(types)}")
    return [_checked(x, own, *type_, i) for i, (x, own, type_) in enumerate(zip(results, live, types, strict=True))]


def _checked(value: Any, live: Shape, shape: Shape, dtype: np.dtype[Any], place: int) -> np.ndarray[Any, Any]:
    """A result in the shape that the program has, zeros around it.

    Raises:
        TypeError: it has another dtype.
        ResultShapeError: it has another shape.
    """
    if value is None:
        raise ValueError(f"result {place} was not given")
    found = np.asarray(value)
    if found.dtype != dtype:
        raise TypeError(f"result {place} came back as {found.dtype}, expected {dtype}")
    if found.shape != live:
        raise ResultShapeError(f"result {place} came back with shape {found.shape}, expected {live}")
    if live == shape:
        return np.ascontiguousarray(found).reshape(shape)
    padded = np.zeros(shape, dtype)
    padded[tuple(map(slice, live))] = found
    return padded


# ---- errors ---------------------------------------------------------------------------------------------------------


def _keep(call: HostCall, error: BaseException) -> HostError:
    if not is_from_python(error):
        error.add_note(f"raised by {call.name}{_NOTE}")
    with _lock:
        number = next(_numbers)
        _errors[number] = error
        while len(_errors) > _KEPT:
            del _errors[next(iter(_errors))]
    return HostError(f"{call.name} raised {type(error).__name__}: {error} [{_MARK} {number}]")


def raised(error: Exception) -> BaseException | None:
    """What a Python function raised, of an error of XLA's that comes from it; None for others."""
    match = re.search(rf"\[{_MARK} (\d+)\]", str(error))
    if match is None:
        return None
    with _lock:
        return _errors.pop(int(match[1]), None)


def is_from_python(error: BaseException) -> bool:
    """Whether a Python function that a program called has raised this."""
    return any(note.endswith(_NOTE) for note in getattr(error, "__notes__", ()))


def raising(run: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with errors of the functions that it calls as themselves."""

    def run_raising(*args: Any) -> Any:
        try:
            return run(*args)
        except (RuntimeError, ValueError) as error:  # what waits for a result raises the second
            found = raised(error)
            if found is None:
                raise
        raise found

    return run_raising
