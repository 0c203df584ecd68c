"""`hlograph explain FILE`: what a program takes and gives, how its sizes are met, and what it consists of.

What is said about sizes is `hlograph.explain`'s (`explanation/`), as text or as a page. With `--stages` it shows what
becomes of the module on its way to the compiler (`stages.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..codegen.artifact.files import write_atomically
from .console import columns, count, progress
from .dims import Dims, dims_option
from .files import STDIN, check_output, load_program, trusted_option
from .graphs import GraphPath, emit_program
from .settings import traceback_option
from .stages import Measure, View, load_option

if TYPE_CHECKING:
    from .. import Program

__all__ = ["explain"]

Rows = Sequence[tuple[str, ...]]


class NumberType(click.ParamType):
    """`n=128`: the name of a size, and a number: its bound, or what it is."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.name = f"NAME={what.upper()}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """The name and the number in `value`."""
        name, _, number = str(value).partition("=")
        if not name.strip() or not number.strip().isdecimal():
            self.fail(f"{value}: write the name of a size and its {self.what}, as in 'n=128'", param, ctx)
        return name.strip(), int(number)


BOUND, SIZE = NumberType("bound"), NumberType("value")


@click.command()
@click.argument("file", metavar="FILE")
@dims_option
@click.option("--policy", default="auto", show_default=True, help="How sizes are met: auto, exact, padded, or a bound.")
@click.option(
    "--bound", "bounds", type=BOUND, multiple=True, help="Look at padding with this bound of a size: 'n=128'."
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    callback=lambda context, parameter, value: check_output(value, (".html",)),
    help="Write a page to FILE (.html) instead: with the graph drawn, or with the stages side by side.",
)
@click.option(
    "--constants", "shown", type=click.IntRange(min=0), default=5, show_default=True, help="How many constants to show."
)
@click.option("--stages", is_flag=True, help="Show the module on its way to the compiler, a row for each stage.")
@click.option("--size", "sizes", type=SIZE, multiple=True, help="For --stages: what a size is: 'n=128'.")
@click.option(
    "--pass", "passes", metavar="NAME", multiple=True, help="For --stages: the passes, in place of the default ones."
)
@load_option
@click.option("--no-reassociate", "exactly", is_flag=True, help="For --stages: leave out what changes rounding.")
@click.option("--stage", metavar="NAME", help="Print one stage's text: emitted, a pass, lowered (XLA's input), hlo.")
@click.option("--diff", is_flag=True, help="For --stage: print how it differs from the stage before.")
@click.option(
    "--measure",
    type=click.Choice(["all", "ends", "last", "none"]),
    default="all",
    show_default=True,
    help="For --stages: which stages to compile for flops, bytes and memory; a compile each.",
)
@trusted_option
@traceback_option()
def explain(
    file: str,
    dims: Sequence[Dims],
    policy: str,
    bounds: Sequence[tuple[str, int]],
    page: str | None,
    shown: int,
    stages: bool,
    sizes: Sequence[tuple[str, int]],
    passes: Sequence[str],
    exactly: bool,
    stage: str | None,
    diff: bool,
    measure: Measure,
    trusted: bool,
) -> None:
    """Explain what a program takes and gives, how each of its sizes is met, and what it consists of.

    Prints inputs, outputs, dimensions and their policy, constraints, checks, axes whose size is not static, what
    padding does, what refuses to be padded, operations and the largest constants. With --stages: operations, flops,
    bytes and temporary memory of the module as it was emitted, after each pass that changed it, and as XLA gets it.

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
        view = View(dict(sizes), passes, not exactly, measure, stage, diff)
        _show_stages(program, view, _choice(policy), page, file)
        return
    if sizes or passes or exactly or diff:
        raise click.UsageError("--size, --pass, --no-reassociate and --diff are for --stages")
    from .explanation import explain as explain_program

    with progress("explaining"):
        explanation = explain_program(program, policy=_choice(policy), bounds=dict(bounds))
    if page is not None:
        with write_atomically(page) as stream:
            stream.write(explanation.html.encode())
        return
    click.echo("stdin" if file == STDIN else file)
    click.echo(explanation.text, nl=False)
    for title, rows in _sections(program, shown):
        click.echo(title)
        if rows:
            click.echo(columns(rows, indent="  "))


def _show_stages(program: Program, view: View, policy: Any, page: str | None, file: str) -> None:
    from . import stages
    from .opt import check_pass_names

    check_pass_names([name for name in view.passes if name not in stages.SETS])
    if view.stage is None and view.diff:
        raise click.UsageError("--diff needs --stage NAME")
    lowered = stages.lower(program, view, policy)
    if page is not None:
        from .explanation.stages_page import render

        text = render(lowered, stages.heading(program, view.sizes), stages.measure(lowered, view.measure))
        with write_atomically(page) as stream:
            stream.write(text.encode())
    elif view.stage is not None:
        click.echo(stages.stage_text(lowered, view.stage, diff=view.diff).rstrip("\n"))
    else:
        click.echo("stdin" if file == STDIN else file)
        click.echo(stages.heading(program, view.sizes))
        click.echo(stages.table_text(lowered, view.measure))


def _choice(policy: str) -> Any:
    return int(policy) if policy.isdecimal() else policy


def _sections(program: Program, shown: int) -> Iterator[tuple[str, Rows]]:
    """The parts of the program, each with a title and rows."""
    from ..codegen.ir.contents import constants as constants_of

    counts = program.op_counts()
    by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    yield f"operations: {sum(counts.values())}", [(name, str(number)) for name, number in by_frequency]

    constants = program.find(constants_of)
    if constants:
        total = sum(size for _, size, _ in constants)
        rows = [(type_text, count(size, "byte"), _place(location)) for type_text, size, location in constants[:shown]]
        yield f"constants: {len(constants)}, {count(total, 'byte')}; the largest" if rows else "constants", rows


def _place(location: str) -> str:
    """The text of an MLIR location: `loc("w")` is `w`, and `loc("-":3:9)`, a place in parsed text, is `line 3`."""
    inside = re.sub(r"^loc\((.*)\)$", r"\1", location, flags=re.DOTALL).replace('"', "")
    return "" if inside == "unknown" else re.sub(r"^-:(\d+):\d+$", r"line \1", inside)
