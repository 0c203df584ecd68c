"""Calls of Python functions, as JAX's own callbacks in a module that JAX is building.

In: a module with `hlograph.host` calls, and the functions. Out: the same module with the calls that jaxlib knows, whose
functions JAX hands to the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ...codegen.errors import DeviceError, UnsupportedGraphError
from ...codegen.ir.attributes import attributes_of
from ...codegen.ir.host_calls import HostCall, data_of, host_calls, is_merged, name_of, parts_of, returned_by
from ...codegen.ir.jax_compat import host_callback
from ...codegen.ir.types import numpy_dtype
from .. import host


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
        _replace(operation, target, index)


def _function(operation: ir.Operation, functions: Mapping[str, HostCall]) -> Any:
    """What XLA calls for an op."""
    types = [_type_of(value.type) for value in data_of(operation)]
    runs = []
    for part in parts_of(operation):
        results = [_type_of(type_) for type_ in part.results]
        ranks = [len(types[place][0]) for place in part.operands[:-1]] if part.live else None
        runs.append((part.operands, host.callback(functions[part.name], results, ranks)))
        types += results
    return host.joined(runs, returned_by(operation)) if is_merged(operation) else runs[0][1]


def _type_of(type_: ir.Type) -> tuple[tuple[int, ...], np.dtype[Any]]:
    ranked = ir.RankedTensorType(type_)
    return tuple(ranked.shape), numpy_dtype(ranked.element_type)


def _replace(operation: ir.Operation, target: str, index: int) -> None:
    attributes = attributes_of(operation.attributes)
    with operation.context, operation.location, ir.InsertionPoint(operation):
        number = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(64), index)
        attributes["call_target_name"] = ir.StringAttr.get(target)
        attributes["backend_config"] = ir.DictAttr.get({"index": number})
        attributes["operand_layouts"] = _row_major(operation.operands)
        attributes["result_layouts"] = _row_major(operation.results)
        made = ir.Operation.create(
            operation.name,
            results=[result.type for result in operation.results],
            operands=list(operation.operands),
            attributes=attributes,
        )
    for old, new in zip(operation.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()


def _row_major(values: Any) -> ir.Attribute:
    ranks = [ir.RankedTensorType(value.type).rank for value in values]
    layouts = [
        ir.DenseIntElementsAttr.get(np.arange(rank)[::-1].astype(np.int64), type=ir.IndexType.get(), shape=[rank])
        for rank in ranks
    ]
    return ir.ArrayAttr.get(layouts)
