"""sink_reductions: what a loop stacks only to be reduced afterwards is reduced in the loop.

In: a module. Out: loops without such stacks (`sink.py`); loops that read others' stacks step by step do elementwise
work themselves instead of reading its results (`reads.py`, `saved.py`: what gradients keep). Decision to know: all
happens in a copy with calls inlined, which takes the module's place only if something was found.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.bindings import ir, run_pipeline
from ...ir.inline import inline_calls
from ...ir.modules import clone_module, replace_body, verify
from ...ir.walk import walk
from ..report import Report
from ..rewriting import reassociates
from . import reads, saved, writes
from .sink import sink

_HOLDERS = ("stablehlo.while", "stablehlo.if", "stablehlo.case")

# See `triggers` in `passes`.
TRIGGERS = frozenset({"stablehlo.while"})


def run(module: ir.Module, options: Mapping[str, str], report: Report) -> None:
    """The pass; option `reassociate`."""
    reassociate = reassociates(options, "sink_reductions")
    names = {op.name for op in walk(module)}
    if "stablehlo.while" not in names:
        return
    copy = clone_module(module)
    if "func.call" in names:
        inline_calls(copy, all_of_them=False)
    run_pipeline(copy, "canonicalize,cse,symbol-dce")
    if "stablehlo.scatter" in names:
        writes.run(copy, report)
        run_pipeline(copy, "canonicalize")
    reads.run(copy, report, reassociate)
    saved.run(copy, report, reassociate, before_sinking=True)
    run_pipeline(copy, "canonicalize")
    while _sink_all(copy, report, reassociate):
        # Drops what the old loops consisted of; all handles of operations are invalid after it.
        run_pipeline(copy, "canonicalize")
    if report.rewritten:
        saved.run(copy, report, reassociate)
        run_pipeline(copy, "cse")
        verify(copy, "what sink_reductions made")
        replace_body(module, copy)


def _sink_all(module: ir.Module, report: Report, reassociate: bool) -> bool:
    """Moves reductions into all loops but those in new bodies, which have their turn in the next round."""
    pending = [block for op in module.body.operations for region in op.operation.regions for block in region.blocks]
    dead: set[ir.Operation] = set()
    while pending:
        operations = [operation.operation for operation in pending.pop().operations]
        for op in operations:
            if op.name not in _HOLDERS or op in dead:
                continue
            if op.name == "stablehlo.while" and sink(op, dead, report, reassociate):
                continue
            pending.extend(inner for region in op.regions for inner in region.blocks)
    return bool(dead)
