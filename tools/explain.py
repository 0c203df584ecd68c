"""`hlograph explain FILE`: what a program takes and gives, how its sizes are met, and what it consists of.

What is said about sizes is `hlograph.explain`'s (`explanation.py`), as text or as a page. With `--stages` it shows what
becomes of the module on its way to the compiler (`stages.py`).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from typing import Any

import click

from ..codegen.artifact.files import write_atomically
from .console import progress
from .dims import Dims, dims_option, sizes_option
from .files import STDIN, load_program, output_option, trusted_option
from .graphs import GraphPath, emit_program, load_option
from .stages import View, show

__all__ = ["explain"]


@click.command()
@click.argument("file", metavar="FILE")
@dims_option
@click.option("--policy", default="auto", show_default=True, help="How sizes are met: auto, exact, padded, or a bound.")
@sizes_option("--bound", "bounds", "Look at padding with these bounds of sizes: 'n=128,m=16'.")
@output_option(
    *("--html", "page"),
    suffixes=(".html",),
    text="Write a page to this file instead: with all operations, or of stages with what each changes.",
)
@click.option("--stages", is_flag=True, help="Show the module on its way to the compiler, a row for each stage.")
@sizes_option("--size", "sizes", "For --stages: what sizes are: 'n=128,m=16'.")
@click.option(
    "--pass", "passes", metavar="NAME", multiple=True, help="For --stages: the passes, in place of the default ones."
)
@load_option
@click.option("--stage", metavar="NAME", help="Print one stage's text: emitted, a pass, lowered (XLA's input), hlo.")
@click.option("--diff", is_flag=True, help="For --stage: print how it differs from the stage before.")
@click.option(
    "--costs/--no-costs", default=True, help="For --stages: flops, bytes and memory, a compile for each stage."
)
@trusted_option
def explain(
    file: str,
    dims: Sequence[Dims],
    policy: str,
    bounds: Sequence[dict[str, int]],
    page: str | None,
    stages: bool,
    sizes: Sequence[dict[str, int]],
    passes: Sequence[str],
    stage: str | None,
    diff: bool,
    costs: bool,
    trusted: bool,
) -> None:
    """Explain what a program takes and gives, how each of its sizes is met, and what it consists of.

    Prints inputs, outputs, dimensions and their policy, constraints, checks, axes whose size is not static, what
    padding does, and what refuses to be padded; hlograph inspect counts operations and constants. With --stages:
    operations, flops, bytes and temporary memory of the module as it was emitted, after each pass that changed it, and
    as XLA gets it.

    FILE is a module (.mlir, .mlirbc, or - for stdin) or a graph in a Python file (FILE.py:NAME).
    """
    if GraphPath.matches(file):
        program = emit_program(GraphPath.parse(file), dims=dims)
    else:
        # Where it is only read, and not compiled, all calls may be in it.
        program = load_program(file, trusted, () if stages or stage is not None else ["*"], dims)
    if stages or stage is not None:
        if bounds:
            raise click.UsageError("--bound is not for --stages: --policy 128 pads there, --size says what sizes are")
        view = View(dict(ChainMap(*sizes)), passes, costs, stage, diff)
        show(program, view, _choice(policy), page, "stdin" if file == STDIN else file)
        return
    if sizes or passes or diff:
        raise click.UsageError("--size, --pass and --diff are for --stages")
    from .explanation import explain as explain_program

    with progress("explaining"):
        explanation = explain_program(program, policy=_choice(policy), bounds=ChainMap(*bounds))
    if page is not None:
        with write_atomically(page) as stream:
            stream.write(explanation.html.encode())
        return
    click.echo("stdin" if file == STDIN else file)
    click.echo(explanation.text, nl=False)


def _choice(policy: str) -> Any:
    return int(policy) if policy.isdecimal() else policy
