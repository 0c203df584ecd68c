"""`hlograph explain FILE`: what a program takes, gives, requires and consists of, as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from .console import columns, count, format_dims
from .files import STDIN, load_program
from .graphs import DIMS, Dims, GraphPath, emit_program
from .settings import traceback_option

if TYPE_CHECKING:
    from .. import Program
    from ..codegen.signature import Argument, Result, Root

__all__ = ["explain"]

Rows = Sequence[tuple[str, ...]]


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--dims", type=DIMS, multiple=True, help="Dimensions of an input of a graph: 'x=n,8' (FILE.py:NAME only)."
)
@click.option(
    "--constants", "shown", type=click.IntRange(min=0), default=5, show_default=True, help="How many constants to show."
)
@traceback_option()
def explain(file: str, dims: Sequence[Dims], shown: int) -> None:
    """Explain what a program takes, gives and consists of.

    Prints inputs, outputs, dimensions, constraints, checks, operations and the largest constants.

    FILE is a module (.mlir, .mlirbc, or - for stdin) or a graph in a Python file (FILE.py:NAME).
    """
    if GraphPath.matches(file):
        program = emit_program(GraphPath.parse(file), dims=dims)
    elif dims:
        raise click.UsageError("--dims is for FILE.py:NAME; the dimensions of a module are fixed in it")
    else:
        program = load_program(file)
    click.echo("stdin" if file == STDIN else file)
    for title, rows in _sections(program, shown):
        click.echo(title)
        if rows:
            click.echo(columns(rows, indent="  "))


def _sections(program: Program, shown: int) -> Iterator[tuple[str, Rows]]:
    """The title and the rows of each part; parts that a program need not have are left out when it has none."""
    signature = program.signature
    yield "inputs", [_argument_row(argument) for argument in signature.arguments]
    yield "outputs", [_tensor_row(result) for result in signature.results]
    if signature.roots:
        yield "dimensions", [(root.name, _origin(root, signature.arguments)) for root in signature.roots]
    if signature.constraints:
        yield "constraints", [(str(constraint), constraint.where) for constraint in signature.constraints]
    if signature.checks:
        yield "checks", [(check.exception, check.message) for check in signature.checks]

    counts = program.op_counts()
    by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    yield f"operations: {sum(counts.values())}", [(name, str(number)) for name, number in by_frequency]

    constants = program.constants()
    if constants:
        total = sum(size for _, size, _ in constants)
        rows = [(type_text, count(size, "byte"), _place(location)) for type_text, size, location in constants[:shown]]
        yield f"constants: {len(constants)}, {count(total, 'byte')}; the largest" if rows else "constants", rows


def _tensor_row(tensor: Argument | Result) -> tuple[str, ...]:
    return tensor.name, str(tensor.dtype), format_dims(tensor.dims)


def _argument_row(argument: Argument) -> tuple[str, ...]:
    return *_tensor_row(argument), "shared variable" if argument.shared else ""


def _origin(root: Root, arguments: Sequence[Argument]) -> str:
    """Which input decides a dimension."""
    name = arguments[root.argument].name
    if root.kind == "size":
        return f"size of axis {root.axis} of {name}"
    return f"value of {name}" if root.element is None else f"value of {name}[{root.element}]"


def _place(location: str) -> str:
    """The text of an MLIR location: `loc("w")` is `w`, and `loc("-":3:9)`, a place in parsed text, is `line 3`."""
    inside = re.sub(r"^loc\((.*)\)$", r"\1", location, flags=re.DOTALL).replace('"', "")
    return "" if inside == "unknown" else re.sub(r"^-:(\d+):\d+$", r"line \1", inside)
