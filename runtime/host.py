"""Python functions that a program calls while it runs: what XLA calls, and errors on their way out.

In: a module with `hlograph.host` calls, and the functions. Out: the same module with the calls that jaxlib knows, whose
functions JAX hands to the compiler: from arrays that live as long as one runs to arrays of known types. Decision to
know: an error cannot pass XLA. It is kept here under a number, which the message that XLA gives has in it, and raised
again, as itself, where the call comes back (`raised`). Where that is another `jax.jit`, JAX's error has the
text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen import forks
from ..codegen.errors import DeviceError, UnsupportedGraphError
from ..codegen.ir.bindings import ir
from ..codegen.ir.host_calls import HostCall, data_of, host_calls, name_of, parts_of, returned_by
from ..codegen.ir.jax_compat import host_callback
from ..codegen.ir.values import numpy_dtype

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


def _run(
    call: HostCall, types: Sequence[tuple[Shape, np.dtype[Any]]], ranks: Sequence[int] | None, operands: Sequence[Any]
) -> list[np.ndarray[Any, Any]]:
    """The results of a function, of these types.

    Args:
        call: the function.
        types: shape and dtype of each result, the order's (see `codegen/ir/host_calls.py`) left out.
        ranks: number of axes of each operand, where the last one is a vector of live sizes; None where there is none.
        operands: its arguments.
    """
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


# ---- in modules that JAX builds --------------------------------------------------------------------------------------


def install(lowering: Any, module: ir.Module, functions: Mapping[str, HostCall]) -> None:
    """Puts JAX's callbacks in the place of the calls, in place.

    Args:
        lowering: the context of the primitive's lowering rule.
        module: static, of the same context.
        functions: by the names that the calls have.

    Raises:
        UnsupportedGraphError: a function is not in this process.
        DeviceError: the platform calls no Python.
    """
    for operation in host_calls(module):
        missing = [part.name for part in parts_of(operation) if part.name not in functions]
        if missing:
            raise UnsupportedGraphError(
                f"the program calls a Python function ({missing[0]}) of the process that made it, which is not here"
            )
        try:
            target, index = host_callback(lowering, _function(operation, functions))
        except ValueError as error:
            name = functions[name_of(operation)].name
            raise DeviceError(f"the graph has {name}, which runs Python: {error}") from None
        with operation.context:
            number = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(64), index)
            operation.attributes["call_target_name"] = ir.StringAttr.get(target)
            operation.attributes["backend_config"] = ir.DictAttr.get({"index": number})
            operation.attributes["operand_layouts"] = _row_major(operation.operands)
            operation.attributes["result_layouts"] = _row_major(operation.results)


def _function(operation: ir.Operation, functions: Mapping[str, HostCall]) -> Callable[..., tuple[Any, ...]]:
    """What XLA calls for an op: its functions one after the other, each with operands and results of those before."""
    types = [_type_of(value.type) for value in data_of(operation)]
    parts = []
    for part in parts_of(operation):
        results = [_type_of(type_) for type_ in part.results]
        ranks = [len(types[place][0]) for place in part.operands[:-1]] if part.live else None
        parts.append((functions[part.name], part.operands, results, ranks))
        types += results
    returned = returned_by(operation)

    def run(order: Any, *operands: Any) -> tuple[Any, ...]:
        pool = list(operands)
        for call, places, results, ranks in parts:
            try:
                pool += _run(call, results, ranks, [pool[place] for place in places])
            except BaseException as error:
                raise _keep(call, error) from None
        return np.asarray(order), *[pool[place] for place in returned]

    return run


def _type_of(type_: ir.Type) -> tuple[tuple[int, ...], np.dtype[Any]]:
    ranked = ir.RankedTensorType(type_)
    return tuple(ranked.shape), numpy_dtype(ranked.element_type)


def _row_major(values: Any) -> ir.Attribute:
    ranks = [ir.RankedTensorType(value.type).rank for value in values]
    layouts = [
        ir.DenseIntElementsAttr.get(np.arange(rank)[::-1].astype(np.int64), type=ir.IndexType.get(), shape=[rank])
        for rank in ranks
    ]
    return ir.ArrayAttr.get(layouts)


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
