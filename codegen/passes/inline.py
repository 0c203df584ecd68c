"""inline: calls are replaced by what they call, and functions that nobody calls any more are dropped.

    before  %1 = call @f(%0)                   after   %1 = stablehlo.sine %0
            func.func private @f(%x) { %0 = stablehlo.sine %x ... }

In: a module, such as JAX lowers: `jnp.take`, `jnp.where` and others are functions that are called. Out: the module with
the calls of functions of one block inlined, those in loops and branches too, but for those that say what they
implement, for which a library may come later. MLIR's own inliner does nothing here: jaxlib does not register the
extension that lets it touch `func.call`. Rounding: none.
"""

from __future__ import annotations

from ..ir.bindings import ir, run_pipeline
from ..ir.functions import inline_calls
from .report import Report


def run(module: ir.Module, _report: Report) -> None:
    """The pass."""
    inline_calls(module)
    run_pipeline(module, "symbol-dce", name="inline")
