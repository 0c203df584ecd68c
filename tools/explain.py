"""`hlograph explain FILE`: what a program takes and gives, how its sizes are met, and what it consists of.

What is said about sizes is `hlograph.explain`'s (`explanation/`), as text or as a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from .console import columns, count, progress
from .files import STDIN, check_output, load_program, write_atomically
from .graphs import DIMS, Dims, GraphPath, emit_program
from .settings import traceback_option

if TYPE_CHECKING:
    from .. import Program

__all__ = ["explain"]

Rows = Sequence[tuple[str, ...]]


class BoundType(click.ParamType):
    """`n=128`: a size and its bound."""

    name = "NAME=BOUND"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """The name and the bound in `value`."""
        name, _, bound = str(value).partition("=")
        if not name.strip() or not bound.strip().isdecimal():
            self.fail(f"{value}: write the name of a size and its bound, as in 'n=128'", param, ctx)
        return name.strip(), int(bound)


BOUND = BoundType()


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--dims", type=DIMS, multiple=True, help="Dimensions of an input of a graph: 'x=n,8' (FILE.py:NAME only)."
)
@click.option("--policy", default="auto", show_default=True, help="How sizes are met: auto, exact, padded, or a bound.")
@click.option(
    "--bound", "bounds", type=BOUND, multiple=True, help="Look at padding with this bound of a size: 'n=128'."
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    callback=lambda context, parameter, value: check_output(value, (".html",)),
    help="Write a page with the graph drawn to FILE (.html) instead.",
)
@click.option(
    "--constants", "shown", type=click.IntRange(min=0), default=5, show_default=True, help="How many constants to show."
)
@traceback_option()
def explain(
    file: str, dims: Sequence[Dims], policy: str, bounds: Sequence[tuple[str, int]], page: str | None, shown: int
) -> None:
    """Explain what a program takes and gives, how each of its sizes is met, and what it consists of.

    Prints inputs, outputs, dimensions and their policy, constraints, checks, axes whose size is not static, what
    padding does, what refuses to be padded, operations and the largest constants.

    FILE is a module (.mlir, .mlirbc, or - for stdin) or a graph in a Python file (FILE.py:NAME).
    """
    if GraphPath.matches(file):
        program = emit_program(GraphPath.parse(file), dims=dims)
    elif dims:
        raise click.UsageError("--dims is for FILE.py:NAME; the dimensions of a module are fixed in it")
    else:
        program = load_program(file)
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


def _choice(policy: str) -> Any:
    return int(policy) if policy.isdecimal() else policy


def _sections(program: Program, shown: int) -> Iterator[tuple[str, Rows]]:
    """What the program consists of: the title and the rows of each part."""
    counts = program.op_counts()
    by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    yield f"operations: {sum(counts.values())}", [(name, str(number)) for name, number in by_frequency]

    constants = program.constants()
    if constants:
        total = sum(size for _, size, _ in constants)
        rows = [(type_text, count(size, "byte"), _place(location)) for type_text, size, location in constants[:shown]]
        yield f"constants: {len(constants)}, {count(total, 'byte')}; the largest" if rows else "constants", rows


def _place(location: str) -> str:
    """The text of an MLIR location: `loc("w")` is `w`, and `loc("-":3:9)`, a place in parsed text, is `line 3`."""
    inside = re.sub(r"^loc\((.*)\)$", r"\1", location, flags=re.DOTALL).replace('"', "")
    return "" if inside == "unknown" else re.sub(r"^-:(\d+):\d+$", r"line \1", inside)
