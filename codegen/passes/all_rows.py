"""all_rows: sums over fewer rows that need a branch become sums over all rows again.

    %s = if %finite { %few } else { ... reduce ... }     ->    %all = ... reduce ... : tensor<100000xf64>
    ... %s                                                     ... %all

In: a module in which a branch is taken where values are not finite (`ops.usually`). Out: what that branch makes,
always; what the other one returned goes where nothing else uses it. This is for platforms on which a branch waits for
the host, which takes longer than the rows do.
"""

from __future__ import annotations

from ..ir import ops
from ..ir.bindings import ir
from ..ir.ops import clone_block
from ..ir.tidy import erase_unused
from .report import Report

TRIGGERS = frozenset({"stablehlo.if"})


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    for choice in ops.rare_choices(module):
        report.applied(choice)
        with ir.InsertionPoint(choice), choice.location:
            made, _ = clone_block(choice.regions[1].blocks[0], {})
        for old, new in zip(choice.results, made, strict=True):
            old.replace_all_uses_with(new)
        choice.erase()
    if report.rewritten:
        erase_unused(module)
