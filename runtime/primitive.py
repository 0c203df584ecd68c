"""One JAX primitive under every compiled function: a StableHLO module as a JAX operation.

In: a static program and traced arrays. Out: traced arrays. Lowering puts the program's module, as a private function,
into the module that JAX is building, so that XLA inlines it and optimizes across the border. JAX's own machinery then
compiles, caches (also on disk) and dispatches.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir

from ..codegen.merge import adopt
from ..codegen.passes import device_linalg
from ..codegen.program import Program
from ..codegen.signature import main_function


class StaticModule:
    """A static program as the primitive's parameter: compared by identity, prepared once per platform."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._prepared: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def bytecode(self, platform: str) -> bytes:
        """The module for a platform, as MLIR bytecode."""
        with self._lock:
            if platform not in self._prepared:
                program = self.program
                if not device_linalg.OPS.isdisjoint(program.op_counts()):
                    program = program.run_passes([f"device-linalg{{platform={platform}}}"])
                self._prepared[platform] = program.to_bytecode()
            return self._prepared[platform]

    def __repr__(self) -> str:
        return self.program.name


stablehlo_call = Primitive("stablehlo_call")
stablehlo_call.multiple_results = True


def call(module: StaticModule, arrays: Sequence[Any]) -> list[Any]:
    """Applies a static module to JAX arrays or tracers; returns all of its results."""
    return stablehlo_call.bind(*arrays, module=module)


def _abstract(*arrays: Any, module: StaticModule) -> list[Any]:
    signature = module.program.signature
    results = [jax.core.ShapedArray(result.dims, result.dtype) for result in signature.results]
    if signature.checks:
        results.append(jax.core.ShapedArray((len(signature.checks),), bool))
    return results


def _lower(ctx: Any, *operands: Any, module: StaticModule) -> Any:
    module_context = ctx.module_context
    context = module_context.module.context
    platform = (module_context.platforms or ("cpu",))[0]
    source = ir.Module.parse(module.bytecode(platform), context)
    function_type = ir.FunctionType(ir.TypeAttr(main_function(source).attributes["function_type"]).value)
    name = adopt(
        module_context.module, source, f"hlograph_{module.program.name}", insert=module_context.symbol_table.insert
    )
    call_op = ir.Operation.create(
        "func.call",
        results=function_type.results,
        operands=list(operands),
        attributes={"callee": ir.FlatSymbolRefAttr.get(name, context)},
    )
    return call_op.results


def _impl(*arrays: Any, module: StaticModule) -> Any:
    return jax.jit(lambda *xs: call(module, xs))(*arrays)


stablehlo_call.def_abstract_eval(_abstract)
stablehlo_call.def_impl(_impl)
jax_mlir.register_lowering(stablehlo_call, _lower)
