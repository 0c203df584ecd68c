"""expand_linalg: factorizations as plain StableHLO loops, transforms as products, for the reference interpreter.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<8x8xf64>
    after   %l = call @cholesky_expanded(%a) : ...        // a while over the columns

Preconditions and rounding: see `factor_loops.py`, which has the forms.
"""

from __future__ import annotations

from ..ir.bindings import ir
from .factor_loops import expand
from .report import Report


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    expand(module, report)
