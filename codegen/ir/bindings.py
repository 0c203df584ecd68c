"""jaxlib's MLIR bindings: the only module that imports jaxlib's private parts.

Out: `ir`, the dialects' builders of ops, contexts, pass pipelines. Whatever differs between jaxlib releases is absorbed
here. Decision to know: every `Program` has an MLIR context of its own, because a context is not safe to share between
threads; modules travel between contexts as MLIR bytecode, never as text.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any

# JAX sets this default before it loads jaxlib, to keep XLA's info lines from the terminal; whoever imports hlograph
# first loads jaxlib here.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from ..errors import PassError
from ..interrupts import deferred

with deferred():
    from jaxlib.mlir import ir as ir
    from jaxlib.mlir import passmanager
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo as chlo
    from jaxlib.mlir.dialects import func as func
    from jaxlib.mlir.dialects import sdy
    from jaxlib.mlir.dialects import stablehlo as stablehlo

RELEASE = ".".join(version("jaxlib").split(".")[:2])
DYNAMIC: int = ir.ShapedType.get_dynamic_size()


@functools.cache
def _registry() -> Any:
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    stablehlo.register_stablehlo_passes()
    return registry


@functools.cache
def load_mhlo() -> None:
    """Imports the dialect that JAX imports in a first compile (80 ms), where Ctrl-C cannot cut that short."""
    with deferred(), suppress(ImportError):
        importlib.import_module("jaxlib.mlir.dialects.mhlo")


def new_context() -> ir.Context:
    """A fresh MLIR context with the func, StableHLO, CHLO and sdy dialects loaded (about 1 ms).

    JAX's other dialects are registered: a module that holds them loads them when it is parsed. Loading them all takes
    ten times as long, and each copy of a module has its own context.
    """
    context = ir.Context()
    context.append_dialect_registry(_registry())
    context.get_dialect_descriptor("func")  # which loads it
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    sdy.register_dialect(context)
    return context


def current_context() -> ir.Context:
    """The context of the `with` statement that this thread is in; there must be one."""
    context: Any = ir.Context.current
    return context


@contextmanager
def diagnostics(context: ir.Context) -> Iterator[list[str]]:
    """Collects MLIR's diagnostics, which would go to stderr."""
    messages: list[str] = []

    def handle(diagnostic: Any) -> bool:
        messages.append(diagnostic.message)
        return True

    handler: Any = context.attach_diagnostic_handler(handle)
    try:
        yield messages
    finally:
        handler.detach()


def run_pipeline(module: ir.Module, pipeline: str, *, name: str | None = None) -> None:
    """Runs an MLIR pass pipeline on the module, in place.

    Raises:
        PassError: with MLIR's diagnostics when the pipeline does not parse or a pass fails.
    """
    with module.context:
        try:
            manager = passmanager.PassManager.parse(f"builtin.module({pipeline})")
        except ValueError as error:
            raise PassError(f"pass {name or pipeline!r} cannot be built: {error}") from None
        try:
            manager.run(module.operation)
        except (ir.MLIRError, RuntimeError) as error:
            raise PassError(f"pass {name or pipeline!r} failed: {error}") from None


def forget_operations(module: ir.Module) -> None:
    """Makes Python's handles of a module's operations invalid.

    To be called before an op with regions is erased: a handle of an op inside that outlives it would be taken for that
    of whatever is made at the same address later.
    """
    with module.context:
        passmanager.PassManager.parse("builtin.module()").run(module.operation)
