"""Calls of functions made with the builder, in the module that JAX lowers to.

In: a lowering rule's context, its operands, and a function as a module's bytecode or as what builds it. Out: the
results of a call of it; the function is a private one of JAX's module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlib.mlir import ir

from ...codegen.builder import Builder, Tensor
from ...codegen.ir.adopt import adopt
from ...codegen.ir.bindings import new_context
from ...codegen.ir.modules import from_bytecode, to_bytecode
from ...codegen.ir.types import numpy_dtype
from ...codegen.ir.walk import main_function

Build = Callable[..., Tensor]


def call(ctx: Any, name: str, bytecode: bytes, operands: Sequence[Any]) -> Any:
    target = ctx.module_context.module
    source = from_bytecode(bytecode, target.context)
    results = ir.FunctionType(ir.TypeAttr(main_function(source).attributes["function_type"]).value).results
    symbol = adopt(target, source, f"hlograph_{name}", insert=ctx.module_context.symbol_table.insert)
    callee = ir.FlatSymbolRefAttr.get(symbol, target.context)
    call = ir.Operation.create("func.call", results=results, operands=operands, attributes={"callee": callee})
    return call.results


def call_scalar(ctx: Any, name: str, build: Build, scalars: Sequence[Any]) -> Any:
    """Calls a function of scalars, made with the builder, in a lowering rule."""
    builder = Builder(new_context(), name)
    types = [((), numpy_dtype(ir.RankedTensorType(x.type).element_type)) for x in scalars]
    with builder.function("main", types) as handles:
        builder.finish([build(*handles)])
    return call(ctx, name, to_bytecode(builder.module), scalars)
