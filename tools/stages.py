"""`hlograph explain FILE --stages`: a program on its way to the compiler, a row for each stage of its module.

In: a program and sizes. Out: a table of operations, flops, bytes and memory by stage, one stage's text, what changed
from one stage to the next, or all of it as a page. The stages are those of `Function.lower`: what is shown is what XLA
gets.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from ..codegen.artifact.files import write_atomically
from .console import columns, format_dims, progress
from .console import page as html_page

if TYPE_CHECKING:
    from .. import Program
    from ..runtime.lowered.stages import Lowered

__all__ = ["View", "show"]

_HLO = "hlo"
_NUMBERED = re.compile(r"%\w+(?:#\d+)?(?::\d+)?")
_CONTEXT = 3  # lines around a difference
_LINES = 2000  # of a difference on a page
_NOTE = """\
ops: operations of the module, those in loops once. flops, bytes: what the executable that XLA makes of the stage
computes, reads and writes, by XLA's own count, loops as often as they run; temporary: its memory besides arguments and
results; compile: how long XLA took, and pass: the pass. What XLA gets is the stage "lowered"."""


@dataclass(frozen=True)
class View:
    """The options of `--stages`: sizes by name; passes, none for the default ones; whether stages are compiled for
    their costs; the only stage to print; and whether to print how that differs from the one before."""

    sizes: Mapping[str, int]
    passes: Sequence[str] = ()
    costs: bool = True
    stage: str | None = None
    diff: bool = False


def show(program: Program, view: View, policy: Any, page: str | None, file: str) -> None:
    """Prints the table or one stage's text, or writes a page."""
    if view.stage is None and view.diff:
        raise click.UsageError("--diff needs --stage NAME")
    lowered = _lower(program, view, policy)
    given = [f"{name} = {size}" for name, size in view.sizes.items()]
    heading = f"{program.name} {format_dims(given)}" if given else program.name
    if page is not None:
        with write_atomically(page) as stream:
            stream.write(html_page(heading, _sections(lowered, view.costs)).encode())
    elif view.stage is not None:
        click.echo(_stage_text(lowered, view.stage, diff=view.diff).rstrip("\n"))
    else:
        table = [columns(_measured(lowered, view.costs), indent="  "), *lowered.stages.remarks()]
        click.echo("\n".join([file, heading, *table, *(["", _NOTE] if view.costs else [])]))


def _lower(program: Program, view: View, policy: Any) -> Lowered:
    """The program lowered by JAX for the sizes, with its stages."""
    optimize: Any = view.passes or "default"
    if "none" in view.passes:
        if len(view.passes) > 1:
            raise click.UsageError("--pass none stands alone")
        optimize = "none"
    with progress("lowering and running passes"):
        lowered = program.compile(policy=policy, optimize=optimize).lower(sizes=view.sizes)
        _ = lowered.stages
    return lowered


def _measured(lowered: Lowered, costs: bool) -> list[tuple[str, ...]]:
    """The table's rows; with the costs of stages, which are compiled for that."""
    names = lowered.stages.names if costs else ()
    for number, name in enumerate(names, start=1):
        with progress(f"compiling {name} ({number} of {len(names)})"):
            lowered.cost(name)
    rows = lowered.table(names)
    return rows if costs else [(name, ops, *rest[4:]) for name, ops, *rest in rows]


def _sections(lowered: Lowered, costs: bool) -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
    """The table, the first stage's text, and how each of the others differs from the one before, for a page."""
    yield "stages", _measured(lowered, costs)
    yield "", [(line,) for line in lowered.stages.remarks()]
    stages = list(lowered.stages)
    yield stages[0].name, [(stages[0].short_text(),)]
    for before, after in pairwise(stages):
        lines = list(_unified(before, after))[2:]
        more = [f"... {len(lines) - _LINES} more"] if len(lines) > _LINES else []
        yield f"{before.name} to {after.name}", [("\n".join(lines[:_LINES] + more),)]


def _stage_text(lowered: Lowered, name: str, *, diff: bool) -> str:
    """The text of one stage, the optimized HLO for `hlo`, or how a stage differs from the one before.

    Raises:
        PassError: there is no such stage.
        click.UsageError: the difference to nothing, or of HLO, is asked for.
    """
    if name == _HLO:
        if diff:
            raise click.UsageError("--diff compares stages of the StableHLO module; the optimized HLO is none of them")
        from ..runtime.lowered.hlo import readable

        with progress("compiling"):
            return readable(lowered.compile().as_text() or "")
    stages = lowered.stages
    stage = stages[name]
    if not diff:
        return stage.text
    place = list(stages).index(stage)
    if place == 0:
        raise click.UsageError(f"--diff: {stage.name} is the first stage; there is none before it")
    return "".join(f"{line}\n" for line in _unified(stages[place - 1], stage))


def _unified(before: Any, after: Any) -> Iterator[str]:
    """How one stage differs from another, as `diff -u` has it; values that are only numbered anew do not differ."""
    yield f"--- {before.name}"
    yield f"+++ {after.name}"
    old, new = (stage.short_text().splitlines() for stage in (before, after))
    left, right = ([_NUMBERED.sub("%", line) for line in side] for side in (old, new))
    for group in difflib.SequenceMatcher(None, left, right).get_grouped_opcodes(_CONTEXT):
        yield "..."
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from (f" {line}" for line in new[c:d])
            else:
                yield from (f"-{line}" for line in old[a:b])
                yield from (f"+{line}" for line in new[c:d])
