"""simplify: what reaches XLA in bad shape, and XLA does not put right itself.

    before  %p = stablehlo.pad %a, %zero, low = [0], high = [2]    after  %s = stablehlo.concatenate %a, %b, dim = 0
            %q = stablehlo.pad %b, %zero, low = [2], high = [0]
            %s = stablehlo.add %p, %q

In: a module, best with static shapes and with calls inlined. Out: the module with this package's rewrites applied until
none applies; each is a pass of its own name too, and its file shows what it does, its preconditions and what it does to
rounding. Decision to know: a rewrite is here because `benchmarks/simplify.py` shows that it pays; what XLA does as well
by itself is listed in docs/passes.md. Rounding: with `reassociate=false` every bit is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...ir.bindings import ir
from ..report import Report
from ..rewriting import REWRITES, apply
from . import dots as dots
from . import gathers as gathers
from . import pads as pads
from . import powers as powers
from . import reductions as reductions
from . import scatters as scatters

# name -> ops without one of which the rewrite finds nothing: where it begins at an op that is in every module, what
# makes its pattern special.
_NEEDS: Mapping[str, frozenset[str]] = {
    "gather_to_slice": frozenset({"stablehlo.gather"}),
    "known_select": frozenset({"stablehlo.gather"}),
    "scatter_to_pad": frozenset({"stablehlo.scatter"}),
    "power_to_multiply": frozenset({"stablehlo.power"}),
    "reduce_of_broadcast": frozenset({"stablehlo.reduce"}),
    "transpose_into_dot": frozenset({"stablehlo.transpose"}),
}
# This comes after the others, because a scatter that becomes a pad may be a term of a sum; it needs two terms.
_SUMS = ("sum_of_pads",)
_TERMS = ("stablehlo.pad", "stablehlo.dynamic_update_slice", "stablehlo.scatter")

PARTS = (*_NEEDS, *_SUMS)

TRIGGERS: frozenset[str] = frozenset(_TERMS).union(*_NEEDS.values())


def run(module: ir.Module, report: Report, *, reassociate: bool = True) -> None:
    """The pass: all rewrites of this package; without `reassociate` those that keep every bit."""
    ops: Counter[str] = Counter()
    _count(module.operation, ops)
    single = [name for name, needs in _NEEDS.items() if any(op in ops for op in needs)]
    sums = _SUMS if sum(ops[name] for name in _TERMS) > 1 and ops["stablehlo.add"] else ()
    for names in (single, sums):
        if names:
            apply(module, [REWRITES[name] for name in names], report, reassociate=reassociate)


def _count(op: ir.Operation, ops: Counter[str]) -> None:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                operation = inner.operation
                ops[operation.name] += 1
                if len(operation.regions):
                    _count(operation, ops)
