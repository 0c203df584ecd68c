"""Passes run one behind the other.

In: a module and passes, each written as `name` or `name{option=value, ...}`. Out: the module, changed in place and
verified, and a `Report` of each pass. Decision to know: passes on loops that follow each other share one copy of the
module, in which calls are inlined; it takes the module's place, and is verified, once, and only if one of them found
something.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass

from ..ir.bindings import ir, run_pipeline
from ..ir.functions import inline_calls
from ..ir.modules import clone_module, refusals, replace_body, to_bytecode, verify
from ..ir.values import has_operations, walk
from ..signature import forget_unused_counts
from .registry import find, parse_spec, write_spec
from .report import Report, Watch


@dataclass(frozen=True)
class Step:
    """A pass behind others.

    Attributes:
        spec: the pass, as it is written.
        module: the module behind it: for a moment only, as the next pass goes on with it.
        report: what it did; None where it was not started.
        seconds: that it took.
    """

    spec: str
    module: ir.Module
    report: Report | None = None
    seconds: float = 0.0


def run(module: ir.Module, spec: str, *, detailed: bool = False) -> Report:
    """Runs one pass on a module in place, and verifies the result; see `run_all`."""
    reports = run_all(module, [spec], detailed=detailed)
    return reports[0] if reports else Report(parse_spec(spec)[0], detailed)


def run_all(
    module: ir.Module, specs: Sequence[str], *, detailed: bool = False, promising: bool = False
) -> list[Report]:
    """Runs passes on a module in place, and verifies what they make.

    Args:
        module: the module; where a pass fails it may be half changed, so callers give a copy.
        specs: the passes.
        detailed: whether the reports say of each op what was done, or why not.
        promising: whether passes that cannot find anything in the module are left out; they have no report then.

    Raises:
        PassError: for an unknown pass, wrong options, or a pass that fails.
    """
    found = steps(module, specs, detailed=detailed, promising=promising)
    return [step.report for step in found if step.report is not None]


def run_watched(
    module: ir.Module, specs: Sequence[str], watch: Watch | None = None, *, promising: bool = False
) -> list[Report]:
    """As `run_all`; a watch is told of each pass."""
    if watch is None:
        return run_all(module, specs, promising=promising)
    reports = []
    for step in steps(module, specs, detailed=watch.detailed, promising=promising):
        if step.report is None:
            watch.skipped(step.spec)
        else:
            reports.append(step.report)
            watch.ran(step.spec, to_bytecode(step.module), step.seconds, step.report)
    return reports


def steps(
    module: ir.Module, specs: Sequence[str], *, detailed: bool = False, promising: bool = False
) -> Iterator[Step]:
    """As `run_all`, pass by pass; the module itself is ready when all have run."""
    named = [parse_spec(spec) for spec in specs]
    planned = [(write_spec(name, options), find(name), find(name).parse(options)) for name, options in named]
    changed: set[str] = set()  # the passes that rewrote something
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
        after = options.get("after", "nothing") in {"nothing", *changed}
        if not after or not (wanted is None or has(wanted)):
            yield Step(spec, copy or module)
        else:
            if how.on_loops and copy is None:
                copy, on_copy = clone_module(module), list[str]()
                if has({"func.call"}):
                    inline_calls(copy, all_of_them=False)
                run_pipeline(copy, "canonicalize,cse,symbol-dce")
            current = copy or module
            begin = time.perf_counter()
            report = Report(how.name, detailed, silent=not (how.on_loops or how.reassociates))
            with refusals(f"pass {how.name!r}"):
                how.run(current, report, **options)
            seconds = time.perf_counter() - begin
            if report.changed:
                names = set()
                changed.add(how.name)
                if copy is not None:
                    on_copy.append(how.name)
                else:
                    verify(module, f"the result of pass {how.name!r}")
            yield Step(spec, current if copy is None or on_copy else module, report, seconds)
        if copy is not None and not (number + 1 < len(planned) and planned[number + 1][1].on_loops):
            if on_copy:
                verify(copy, f"the result of {', '.join(on_copy)}")
                replace_body(module, copy)
            copy = None
    if changed:
        forget_unused_counts(module)
