"""Programs through StableHLO's reference interpreter: the oracle that shares no code with XLA.

In: a program and arrays. Out: arrays. The program is specialized to the arrays' sizes;
factorizations and CHLO ops are written as plain StableHLO, which is all that the interpreter knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen import dims as dimension
from ..codegen.builder.linalg import NO_FORM
from ..codegen.errors import UnsupportedGraphError
from ..codegen.ir import ops
from ..codegen.ir.bindings import ir, stablehlo
from ..codegen.ir.functions import return_values
from ..codegen.ir.modules import reference_eval
from ..codegen.ir.values import call_target, main_function, terminator, walk
from ..codegen.recipe import Recipe
from .calls.arguments import check_constraints, raise_failed, sizes_of_call

if TYPE_CHECKING:
    from ..codegen.program import Program


_PASSES = ("expand_linalg", "chlo-legalize-to-stablehlo", "canonicalize")


def interpret(program: Program, *arrays: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """Runs the program in StableHLO's reference interpreter: slow, and shares no code with XLA.

    Args:
        arrays: one per argument, checked as in a call.

    Returns:
        One array per result, always a tuple.
    """
    program.refuse_host_calls("the reference interpreter runs no Python")
    signature = program.signature
    given = list(arrays)
    missing = len(signature.arguments) - len(given)
    if missing == len(program.bindings):
        given += [np.asarray(program.bindings[i].get_value()) for i in sorted(program.bindings)]
    sizes = sizes_of_call(signature, given)
    values = [np.asarray(value, argument.dtype) for argument, value in zip(signature.arguments, given, strict=True)]
    if not signature.has_data_sizes:
        return _evaluate(Recipe(sizes, passes=_PASSES).static(program), values)
    # Sizes from data: arrays as long as they can be, cut when the counts are known.
    bounds: dict[str, int] = {}
    while True:
        padded = Recipe(sizes, bounds, _PASSES).static(program)
        outputs = _evaluate(padded, values)
        first = padded.signature.results[0]
        if not first.size:
            break
        bounds[first.size] = int(outputs[0])
    counts = {r.size: int(x) for r, x in zip(padded.signature.results, outputs, strict=True) if r.size}
    check_constraints(signature, signature.constraints, {**sizes, **counts})
    found = []
    for result, output in zip(padded.signature.results, outputs, strict=True):
        if not result.size:
            live = [dimension.evaluate(dim, {**sizes, **counts}) for dim in result.live or result.dims]
            found.append(output[tuple(map(slice, live))])
    return tuple(found)


def _evaluate(static: Program, values: Sequence[np.ndarray[Any, Any]]) -> tuple[np.ndarray[Any, Any], ...]:
    module = static.copy_module()
    _refuse_unknown(module)
    _copy_scattered(module)
    _fill_empty_dots(module)
    results, checks = static.signature.results, static.signature.checks
    parts = [result.dtype.kind == "c" for result in results] + [False] * bool(checks)
    if any(parts):
        _split_complex(module, parts)
    outputs = iter(reference_eval(module, values))
    found: list[np.ndarray[Any, Any]] = []
    for is_complex in parts:
        first = next(outputs)
        found.append(_complex(first, next(outputs)) if is_complex else first)
    if checks:
        raise_failed(checks, found.pop())
    return tuple(x.astype(result.dtype) for x, result in zip(found, results, strict=True))


def _complex(real: np.ndarray[Any, Any], imag: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    whole = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    whole.real, whole.imag = real, imag
    return whole


# What the interpreter does not know, ops of several devices among it. It would end the process.
_UNKNOWN = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute", "partition_id"),
        *("reduce_scatter", "replica_id", "batch_norm_grad", "batch_norm_inference", "batch_norm_training", "cholesky"),
        *("custom_call", "dynamic_conv", "einsum", "rng", "rng_bit_generator", "set_dimension_size"),
        "triangular_solve",
    )
)


def _refuse_unknown(module: ir.Module) -> None:
    unknown = set()
    for op in walk(module):
        if call_target(op) == NO_FORM:
            name = ir.StringAttr(ir.DictAttr(op.attributes["backend_config"])["name"]).value
            raise UnsupportedGraphError(
                f"{name} is a library's and has no portable form, which the reference interpreter could run; run the "
                "program compiled instead"
            )
        if op.name in _UNKNOWN or op.name.startswith("chlo."):
            unknown.add(op.name)
        elif op.name == "stablehlo.convolution" and _is_empty(op):  # which would end the process too (jaxlib 0.10)
            unknown.add("a convolution of empty arrays")
    if unknown:
        raise UnsupportedGraphError(
            f"the reference interpreter does not know {', '.join(sorted(unknown))}; run the program compiled instead"
        )


def _is_empty(op: ir.Operation) -> bool:
    return any(0 in ir.RankedTensorType(value.type).shape for value in op.operands)


def _fill_empty_dots(module: ir.Module) -> None:
    """Writes products over no elements as zeros: the interpreter ends the process on them (jaxlib 0.10)."""
    for operation in walk(module):
        if operation.name == "stablehlo.dot_general" and _is_empty(operation):
            result = operation.results[0]
            with operation.location, ir.InsertionPoint(operation):
                result.replace_all_uses_with(ops.full_like(result, 0))
            operation.erase()


def _copy_scattered(module: ir.Module) -> None:
    """Gives each scatter a copy of its operands: the interpreter writes its result into them (jaxlib 0.10)."""
    for operation in walk(module):
        if operation.name != "stablehlo.scatter":
            continue
        with module.context, operation.location, ir.InsertionPoint(operation):
            for place in range((len(operation.operands) - 1) // 2):
                value = operation.operands[place]
                same = ops.integer_list(range(ir.RankedTensorType(value.type).rank))
                operation.operands[place] = stablehlo.transpose(value, same)


def _split_complex(module: ir.Module, parts: Sequence[bool]) -> None:
    """Returns real and imaginary parts in place of complex results, which cannot be read back from the interpreter."""
    function = main_function(module)
    last = terminator(function.regions[0].blocks[0])
    values: list[ir.Value] = []
    with last.location, ir.InsertionPoint(last):
        for value, is_complex in zip(list(last.operands), parts, strict=True):
            values += [stablehlo.real(value), stablehlo.imag(value)] if is_complex else [value]
    return_values(function, values)
