"""hlograph: tensor graphs, node by node, to StableHLO, with static and symbolic dimensions.

    program = hlograph.emit_stablehlo(graph)      # PyTensor graph -> Program (an MLIR module and its signature)
    fn = hlograph.function(inputs, outputs)       # emit and compile
    program = hlograph.load("model.mlir")         # no graph library needed

This module re-exports the public names, which are imported when first used. Importing it imports neither JAX nor a
graph library; the first name that needs JAX looks at the metadata of what is installed, and says what does not fit.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .codegen import verbs
from .codegen.interrupts import deferred
from .codegen.renamed import missing

__version__ = "0.1.0"

_WHERE = {
    "emit_stablehlo": ".dialects.frontend",
    "explain": ".tools.explanation",
    "Program": ".codegen.program",
    "load": ".codegen.artifact.programs",
    "bundle": ".runtime.bundles.bundle",
    "load_bundle": ".runtime.bundles.bundle",
    "Function": ".runtime.function",
    "Predictor": ".runtime.predictor",
    "SparseParts": ".codegen.sparse_parts",
    "Bucket": ".codegen.passes.buckets",
    "CpuOptions": ".runtime.options",
    "function": ".runtime.compile",
    "jit": ".runtime.jit",
    "Ragged": ".runtime.ragged.values",
    "Mode": ".runtime.mode.classes",
    "errors": ".errors",
    "builder": ".builder",
    "passes": ".passes",
}

# What a program can do that layers above it know how to.
verbs.WHERE.update(
    {
        "parse": f"{__name__}.codegen.artifact.programs",
        "to_text": f"{__name__}.codegen.artifact.programs",
        "save": f"{__name__}.codegen.artifact.programs",
        "plain": f"{__name__}.codegen.artifact.targets",
        "describe": f"{__name__}.codegen.artifact.targets",
        "compile": f"{__name__}.runtime.compile",
        "with_derivatives": f"{__name__}.runtime.compile",
        "interpret": f"{__name__}.runtime.interpret",
        "to_jax_export": f"{__name__}.runtime.lowered.jax_export",
    }
)

__all__ = sorted([*_WHERE, "__version__"])

if TYPE_CHECKING:
    from . import builder as builder
    from . import errors as errors
    from . import passes as passes
    from .codegen.artifact.programs import load as load
    from .codegen.passes.buckets import Bucket as Bucket
    from .codegen.program import Program as Program
    from .codegen.sparse_parts import SparseParts as SparseParts
    from .dialects.frontend import emit_stablehlo as emit_stablehlo
    from .runtime.bundles.bundle import bundle as bundle
    from .runtime.bundles.bundle import load_bundle as load_bundle
    from .runtime.compile import function as function
    from .runtime.function import Function as Function
    from .runtime.jit import jit as jit
    from .runtime.mode.classes import Mode as Mode
    from .runtime.options import CpuOptions as CpuOptions
    from .runtime.predictor import Predictor as Predictor
    from .runtime.ragged.values import Ragged as Ragged
    from .tools.explanation import explain as explain


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise missing("module hlograph", name)
    with deferred():
        module = import_module(_WHERE[name], __name__)
    globals()[name] = value = module if name in ("errors", "builder", "passes") else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
