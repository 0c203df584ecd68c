"""Which op of a function makes NaN or infinity first, for `jax.debug_nans` and `jax.debug_infs`.

In: a call in which JAX has found one. Out: an error that names the op. JAX runs a function that came from it op by op;
the program of a graph is run with a flag for each value of `@main` as its result: a loop, a branch or a call is one op.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import jax
import numpy as np

from ...codegen.dtypes import kind_of
from ...codegen.ir import ops
from ...codegen.ir.bindings import ir, stablehlo
from ...codegen.ir.functions import return_values
from ...codegen.ir.jax_checks import without_nan_checks
from ...codegen.ir.jax_compat import enable_x64
from ...codegen.ir.values import location_text, main_function, numpy_dtype, terminator
from ...codegen.program import Program
from ..transforms.callee import StaticModule
from ..transforms.primitive import call
from .arguments import key_of

_KINDS = {"nan": np.isnan, "inf": np.isinf}


def debugged(function: Any, args: Sequence[Any], error: FloatingPointError) -> Any:
    """A call of a `Function` in which JAX has found what it was asked to look for.

    Returns:
        The results, where only their padding has it.

    Raises:
        FloatingPointError: with the op that makes it first; for a function that came from JAX, with the line.
    """
    program, signature, inline = function.program, function.program.signature, function.derived.inline
    if program.host_calls:
        raise error
    with without_nan_checks():
        results = function.run(args)
    config: Any = jax.config
    asked = [(kind, find) for kind, find in _KINDS.items() if getattr(config, f"jax_debug_{kind}s")]
    floats = [np.asarray(x) for x in jax.tree.leaves(results) if kind_of(np.dtype(x.dtype)) in "fc"]
    if not any(find(x).any() for _, find in asked for x in floats):
        return results[0] if len(results) == 1 else results
    with enable_x64(True) if function.needs_x64 else nullcontext():
        arrays = [
            x if isinstance(x, jax.Array) and x.dtype == a.dtype else jax.device_put(np.asarray(x).astype(a.dtype))
            for x, a in zip(args, signature.arguments, strict=True)
        ]
        if inline is not None:
            inline(arrays)
        elif not signature.has_data_sizes:
            sizes = dict(zip([root.name for root in signature.roots], key_of(signature, arrays), strict=True))
            static = function.prepared(sizes).program
            for kind, _ in asked:
                flagged, names = _flagged(static, kind)
                found = np.asarray(call(StaticModule(flagged), arrays)[0]) if names else np.zeros(1, bool)
                if found.any():
                    first = names[int(found.argmax())]
                    raise FloatingPointError(f"invalid value ({kind}) encountered in {first}, in {program.name}")
    raise error


def _flagged(program: Program, kind: str) -> tuple[Program, list[str]]:
    """The program with a vector of flags as its only result, and what each is of."""
    module = program.copy_module()
    function = main_function(module)
    block = function.regions[0].blocks[0]
    values = [(f"argument {a.name!r}", x) for a, x in zip(program.signature.arguments, block.arguments, strict=True)]
    for op in [view.operation for view in block.operations]:
        if op.name != "stablehlo.constant":
            text = f"{op.name.removeprefix('stablehlo.')} ({location_text(op.location)})"
            values += [(text, x) for x in op.results]
    last = terminator(block)
    with module.context, ir.Location.unknown(), ir.InsertionPoint(last):
        made = [(name, flag) for name, x in values if (flag := _flag(x, kind)) is not None]
        joined = [ops.concatenate([ops.reshape(flag, [1]) for _, flag in made], 0)] if made else []
    return_values(function, joined)
    if "hlograph.checks" in function.attributes:
        del function.attributes["hlograph.checks"]
    return Program(module, filename=program.filename), [name for name, _ in made]


def _flag(value: ir.Value, kind: str) -> ir.Value | None:
    """Whether an element of a value is NaN, or infinite; None for what can be neither."""
    if not isinstance(value.type, ir.RankedTensorType):
        return None
    type_ = ir.RankedTensorType(value.type)
    dtype = kind_of(numpy_dtype(type_.element_type))
    if dtype == "c":
        real, imag = _flag(stablehlo.real(value), kind), _flag(stablehlo.imag(value), kind)
        return None if real is None or imag is None else ops.elementwise("stablehlo.or", real, imag)
    if dtype != "f":
        return None
    if kind == "nan":
        found = ops.compare("NE", value, value)
    else:
        found = ops.compare("EQ", ops.elementwise("stablehlo.abs", value), ops.full_like(value, np.inf))
    return ops.reduce("stablehlo.or", found, ops.scalar(0, found), range(type_.rank))
