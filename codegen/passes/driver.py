"""Passes run one behind the other.

In: a module and passes, each written as `name` or `name{option=value, ...}`. Out: the module, changed in place and
verified, and a `Report` of each pass. Decision to know: passes on loops that follow each other share one copy of the
module, in which calls are inlined; it takes the module's place, and is verified, once, and only if one of them found
something.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ..ir.bindings import ir, run_pipeline
from ..ir.functions import inline_calls
from ..ir.modules import clone_module, refusals, replace_body, to_bytecode, verify
from ..ir.walk import has_operations, walk
from ..signature import forget_unused_counts
from .registry import find, parse_spec, write_spec
from .report import Report, Watch
from .rewriting import Pass


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
    planned = [_Planned.of(spec) for spec in specs]
    found = _Found(promising, detailed)
    while planned:
        count = next((n for n, each in enumerate(planned) if not each.how.on_loops), len(planned))
        if count:
            yield from _on_loops(module, planned[:count], found)
        else:
            count = 1
            yield _run(module, planned[0], found)
        del planned[:count]
    if found.changed:
        forget_unused_counts(module)


@dataclass(frozen=True)
class _Planned:
    """A pass and its options."""

    spec: str
    how: Pass
    options: dict[str, Any]

    @staticmethod
    def of(spec: str) -> _Planned:
        name, options = parse_spec(spec)
        how = find(name)
        return _Planned(write_spec(name, options), how, how.parse(options))


class _Found:
    """What is known of a module between passes.

    Args:
        promising: see `run_all`.
        detailed: see `run_all`.

    Attributes:
        changed: the passes that rewrote something.
    """

    def __init__(self, promising: bool, detailed: bool) -> None:
        self._promising, self.detailed = promising, detailed
        self._names: Set[str] | None = None
        self.changed: set[str] = set()

    def start(self, module: ir.Module, planned: _Planned) -> bool:
        """Whether a pass is started."""
        if planned.options.get("after", "nothing") not in {"nothing", *self.changed}:
            return False
        wanted = planned.how.triggers if self._promising else None
        if wanted is None:
            return True
        if isinstance(wanted, int):
            return has_operations(module, wanted)
        return not self.names(module).isdisjoint(wanted)

    def names(self, module: ir.Module) -> Set[str]:
        """The names of the ops in the module."""
        if self._names is None:
            self._names = {op.name for op in walk(module)}
        return self._names

    def note(self, report: Report) -> None:
        """Takes in what a pass has done."""
        if report.changed:
            self._names = None
            self.changed.add(report.pass_name)


def _run(module: ir.Module, planned: _Planned, found: _Found) -> Step:
    if not found.start(module, planned):
        return Step(planned.spec, module)
    step = _started(module, planned, found)
    if step.report is not None and step.report.changed:
        verify(module, f"the result of pass {planned.how.name!r}")
    return step


def _on_loops(module: ir.Module, group: Sequence[_Planned], found: _Found) -> Iterator[Step]:
    """Runs passes on loops in one copy of the module."""
    copy: ir.Module | None = None
    changed = []
    for planned in group:
        if not found.start(copy or module, planned):
            yield Step(planned.spec, copy or module)
            continue
        if copy is None:
            copy = clone_module(module)
            if "func.call" in found.names(copy):
                inline_calls(copy, all_of_them=False)
            run_pipeline(copy, "canonicalize,cse,symbol-dce")
        step = _started(copy, planned, found)
        changed += [planned.how.name] if step.report is not None and step.report.changed else []
        yield step if changed else Step(step.spec, module, step.report, step.seconds)
    if copy is not None and changed:
        verify(copy, f"the result of {', '.join(changed)}")
        replace_body(module, copy)


def _started(module: ir.Module, planned: _Planned, found: _Found) -> Step:
    started = time.perf_counter()
    report = Report(planned.how.name, found.detailed, silent=not (planned.how.on_loops or planned.how.reassociates))
    with refusals(f"pass {planned.how.name!r}"):
        planned.how.run(module, report, **planned.options)
    found.note(report)
    return Step(planned.spec, module, report, time.perf_counter() - started)
