"""`hlograph explain FILE`: what a program takes and gives, how its sizes are met, and what it consists of.

What is said about sizes is `hlograph.explain`'s (`explanation.py`). With `--stages` it shows what
becomes of the module on its way to the compiler, a row for each stage of `Function.lower`: what is shown is what XLA
gets.
"""

from __future__ import annotations

import difflib
import re
from collections import ChainMap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from . import files
from .console import columns, format_dims

if TYPE_CHECKING:
    from ..runtime.lowered.stages import Lowered

_HLO = "hlo"
_NUMBERED = re.compile(r"%\w+(?:#\d+)?(?::\d+)?")
_CONTEXT = 3  # lines around a difference
_NOTE = """\
ops: operations of the module, those in loops once. flops, bytes: what the executable that XLA makes of the stage
computes, reads and writes, by XLA's own count, loops as often as they run; temporary: its memory besides arguments and
results; compile: how long XLA took, and pass: the pass. What XLA gets is the stage "lowered"."""


@click.command()
@click.argument("file", metavar="FILE")
@files.dims_option
@files.policy_option
@files.sizes_option("--bounds", "Look at padding with these bounds of sizes: 'n=128,m=16'.")
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
    if files.is_graph(file):
        program = files.emit_program(file, dims=dims)
    else:
        # Where it is only read, and not compiled, all calls may be in it.
        program = files.load_program(file, trusted, () if stages or stage is not None else ["*"], dims)
    title = "stdin" if file == files.STDIN else file
    if stages or stage is not None:
        if bounds:
            raise click.UsageError("--bounds is not for --stages: --policy 128 pads there, --sizes says what sizes are")
        if stage is None and diff:
            raise click.UsageError("--diff needs --stage NAME")
        passes: Any = "none" if list(optimize) == ["none"] else optimize or "default"
        lowered = program.compile(policy=policy, optimize=passes).lower(sizes=dict(ChainMap(*sizes)))
        given = [f"{name} = {size}" for name, size in ChainMap(*sizes).items()]
        heading = f"{program.name} {format_dims(given)}" if given else program.name
        if stage is not None:
            click.echo(_stage_text(lowered, stage, diff=diff).rstrip("\n"))
        else:
            rows = lowered.table(None if costs else ())
            rows = rows if costs else [(name, ops, *rest[4:]) for name, ops, *rest in rows]
            table = [columns(rows, indent="  "), *lowered.stages.remarks()]
            click.echo("\n".join([title, heading, *table, *(["", _NOTE] if costs else [])]))
        return
    if sizes or optimize or diff:
        raise click.UsageError("--sizes, --optimize and --diff are for --stages")
    from .explanation import explain as explain_program

    explanation = explain_program(program, policy=policy, bounds=ChainMap(*bounds))
    click.echo(title)
    click.echo(explanation.text, nl=False)


# ---- stages ----


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
