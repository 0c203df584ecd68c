"""`hlograph explain FILE`: what a program takes and gives, how its sizes are met, and what it consists of.

What is said about sizes is `hlograph.explain`'s (`explanation.py`), as text or as a page. With `--stages` it shows what
becomes of the module on its way to the compiler, a row for each stage of `Function.lower`: what is shown is what XLA
gets.
"""

from __future__ import annotations

import difflib
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from . import files
from .console import columns, format_dims, progress
from .console import page as html_page

if TYPE_CHECKING:
    from .. import Program
    from ..runtime.lowered.stages import Lowered

_HLO = "hlo"
_NUMBERED = re.compile(r"%\w+(?:#\d+)?(?::\d+)?")
_CONTEXT = 3  # lines around a difference
_LINES = 2000  # of a difference on a page
_NOTE = """\
ops: operations of the module, those in loops once. flops, bytes: what the executable that XLA makes of the stage
computes, reads and writes, by XLA's own count, loops as often as they run; temporary: its memory besides arguments and
results; compile: how long XLA took, and pass: the pass. What XLA gets is the stage "lowered"."""


@click.command()
@click.argument("file", metavar="FILE")
@files.dims_option
@files.policy_option
@files.sizes_option("--bounds", "Look at padding with these bounds of sizes: 'n=128,m=16'.")
@files.output_option(
    *("--html", "page"),
    suffixes=(".html",),
    text="Write a page to this file instead: with all operations, or of stages with what each changes.",
)
@click.option("--stages", is_flag=True, help="Show the module on its way to the compiler, a row for each stage.")
@files.sizes_option("--sizes", "For --stages: what sizes are: 'n=128,m=16'.")
@click.option(
    "--optimize",
    metavar="NAME",
    multiple=True,
    help="For --stages: a pass, default, exact or none, in place of the default ones.",
)
@files.load_option
@click.option("--stage", metavar="NAME", help="Print one stage's text: emitted, a pass, lowered (XLA's input), hlo.")
@click.option("--diff", is_flag=True, help="For --stage: print how it differs from the stage before.")
@click.option(
    "--costs/--no-costs", default=True, help="For --stages: flops, bytes and memory, a compile for each stage."
)
@files.trusted_option
def explain(
    file: str,
    dims: Sequence[files.Dims],
    policy: Any,
    bounds: Sequence[dict[str, int]],
    page: str | None,
    stages: bool,
    sizes: Sequence[dict[str, int]],
    optimize: Sequence[str],
    stage: str | None,
    diff: bool,
    costs: bool,
    trusted: bool,
) -> None:
    """Explain what a program takes and gives, how each of its sizes is handled, and what it consists of.

    Prints inputs, outputs, dimensions and their policy, constraints, checks, what padding does, and what refuses to be
    padded; hlograph inspect counts operations and constants. With --stages: operations, flops, bytes and temporary
    memory of the module as it was emitted, after each pass that changed it, and as XLA gets it.

    FILE is a module (.mlir, .mlirbc, or - for stdin) or a graph in a Python file (FILE.py:NAME).
    """
    from ..codegen.artifact.files import write_atomically

    if files.is_graph(file):
        program = files.emit_program(file, dims=dims)
    else:
        # Where it is only read, and not compiled, all calls may be in it.
        program = files.load_program(file, trusted, () if stages or stage is not None else ["*"], dims)
    title = "stdin" if file == files.STDIN else file
    if stages or stage is not None:
        if bounds:
            raise click.UsageError("--bounds does not go with --stages: --policy 128 pads, --sizes gives sizes")
        if stage is None and diff:
            raise click.UsageError("--diff needs --stage NAME")
        lowered = _lower(program, dict(ChainMap(*sizes)), optimize, policy)
        given = [f"{name} = {size}" for name, size in ChainMap(*sizes).items()]
        heading = f"{program.name} {format_dims(given)}" if given else program.name
        if page is not None:
            with write_atomically(page) as stream:
                stream.write(html_page(heading, _sections(lowered, costs)).encode())
        elif stage is not None:
            click.echo(_stage_text(lowered, stage, diff=diff).rstrip("\n"))
        else:
            table = [columns(_measured(lowered, costs), indent="  "), *lowered.stages.remarks()]
            click.echo("\n".join([title, heading, *table, *(["", _NOTE] if costs else [])]))
        return
    if sizes or optimize or diff:
        raise click.UsageError("--sizes, --optimize and --diff are for --stages")
    from .explanation import explain as explain_program

    with progress("explaining"):
        explanation = explain_program(program, policy=policy, bounds=ChainMap(*bounds))
    if page is not None:
        with write_atomically(page) as stream:
            stream.write(explanation.html.encode())
        return
    click.echo(title)
    click.echo(explanation.text, nl=False)


# ---- stages ----


def _lower(program: Program, sizes: Mapping[str, int], passes: Sequence[str], policy: Any) -> Lowered:
    optimize: Any = "none" if list(passes) == ["none"] else passes or "default"
    with progress("lowering and running passes"):
        lowered = program.compile(policy=policy, optimize=optimize).lower(sizes=sizes)
        _ = lowered.stages
    return lowered


def _measured(lowered: Lowered, costs: bool) -> list[tuple[str, ...]]:
    names = lowered.stages.names if costs else ()
    for number, name in enumerate(names, start=1):
        with progress(f"compiling {name} ({number} of {len(names)})"):
            lowered.cost(name)
    rows = lowered.table(names)
    return rows if costs else [(name, ops, *rest[4:]) for name, ops, *rest in rows]


def _sections(lowered: Lowered, costs: bool) -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
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
            raise click.UsageError("--diff compares stages of the StableHLO module; the optimized HLO is not one")
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
