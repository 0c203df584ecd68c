"""Passes: StableHLO to StableHLO, run by name, one behind the other.

In: a module and passes, each written as `name` or `name{option=value, ...}`. Out: the module, changed in place and
verified, and a `Report` of each pass. `registry.py` has the table of them and says which ones a program goes through
before it is compiled, `rewriting.py` has rewrites on matched ops; every other file or folder is its own pass.
Decision to know: passes on loops that follow each other share one copy of the module, in which calls are inlined; it
takes the module's place, and is verified, once, and only if one of them found something.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence, Set

from ..ir.bindings import ir, run_pipeline
from ..ir.functions import inline_calls
from ..ir.modules import clone_module, refusals, replace_body, to_bytecode, verify
from ..ir.values import has_operations, walk
from ..signature import forget_unused_counts
from .registry import available, find, parse_spec, write_spec
from .report import Report, Watch

__all__ = ["available", "find", "parse_spec", "run", "run_all"]


def run(module: ir.Module, spec: str, *, detailed: bool = False, watch: Watch | None = None) -> Report:
    """Runs one pass on a module in place, and verifies the result; see `run_all`."""
    reports = run_all(module, [spec], detailed=detailed, watch=watch)
    return reports[0] if reports else Report(parse_spec(spec)[0], detailed)


def run_all(
    module: ir.Module,
    specs: Sequence[str],
    *,
    detailed: bool = False,
    promising: bool = False,
    watch: Watch | None = None,
) -> list[Report]:
    """Runs passes on a module in place, and verifies what they make.

    Args:
        module: the module; where a pass fails it may be half changed, so callers give a copy.
        specs: the passes.
        detailed: whether the reports say about each op what was done, or why not.
        promising: whether passes that cannot find anything in the module are left out; they have no report then.
        watch: is told of each pass; whether it wants details counts, too.

    Raises:
        PassError: for an unknown pass, wrong options, or a pass that fails.
    """
    named = [parse_spec(spec) for spec in specs]
    planned = [(write_spec(name, options), find(name), find(name).parse(options)) for name, options in named]
    reports: list[Report] = []
    copy: ir.Module | None = None  # for passes on loops that follow each other
    names: Set[str] = set()  # of the ops in the module; none where they are not known

    def has(wanted: Collection[str] | int) -> bool:
        nonlocal names
        if isinstance(wanted, int):
            return has_operations(copy or module, wanted)
        names = names or {op.name for op in walk(copy or module)}
        return not names.isdisjoint(wanted)

    for number, (spec, how, options) in enumerate(planned):
        wanted = how.triggers if promising else None
        if wanted is not None and not has(wanted):
            if watch is not None:
                watch.skipped(spec)
        else:
            if how.on_loops and copy is None:
                copy, on_copy = clone_module(module), list[str]()
                if has({"func.call"}):
                    inline_calls(copy)
                run_pipeline(copy, "canonicalize,cse,symbol-dce")
            begin = time.perf_counter()
            report = Report(how.name, detailed, silent=not (how.on_loops or how.reassociates))
            with refusals(f"pass {how.name!r}"):
                how.run(copy or module, report, **options)
            seconds = time.perf_counter() - begin
            reports.append(report)
            if report.changed:
                names = set()
                if copy is not None:
                    on_copy.append(how.name)
                else:
                    verify(module, f"the result of pass {how.name!r}")
            if watch is not None:
                shown = module if copy is None or not on_copy else copy
                watch.ran(spec, to_bytecode(shown), seconds, report)
        if copy is not None and not (number + 1 < len(planned) and planned[number + 1][1].on_loops):
            if on_copy:
                verify(copy, f"the result of {', '.join(on_copy)}")
                replace_body(module, copy)
            copy = None
    if any(report.changed for report in reports):
        forget_unused_counts(module)
    return reports
