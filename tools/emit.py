"""`hlograph emit FILE.py:NAME`: a graph in a Python file becomes a StableHLO module."""

from __future__ import annotations

from collections.abc import Sequence

import click

from .console import count
from .dims import Dims, dims_option
from .files import for_target, module_output_option, target_option
from .graphs import GraphPath, emit_program

__all__ = ["emit"]


@click.command()
@click.argument("graph", metavar="FILE.py:NAME")
@module_output_option
@target_option
@dims_option
@click.option("--arg", "specs", multiple=True, hidden=True, help="There once; its error says what to do instead.")
@click.option(
    "--platform",
    "platforms",
    type=click.Choice(["cpu", "cuda", "rocm", "tpu"]),
    multiple=True,
    help="A platform that the module is for; may be given again. Without it, it runs wherever what it calls is there.",
)
@click.option("--name", default="main", show_default=True, help="The name of the module.")
def emit(
    graph: str,
    output: str | None,
    target: str | None,
    dims: Sequence[Dims],
    specs: Sequence[str],
    platforms: Sequence[str],
    name: str,
) -> None:
    """Emit the graph NAME of FILE.py as StableHLO.

    NAME is a PyTensor output variable, an (inputs, outputs) pair, a FunctionGraph, a compiled function, a program, such
    as hlograph.emit_stablehlo makes of a function of JAX arrays, or a function without arguments that returns one of
    these.
    """
    if specs:
        raise click.UsageError(
            "--arg is not there any more; name a function without arguments that returns the program: "
            "def made(): return hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct(('n', 8), 'float32'))"
        )
    program = emit_program(GraphPath.parse(graph), dims=dims, name=name, platforms=platforms)
    program = for_target(program, target, output)
    if output is None:
        click.echo(program.text.rstrip("\n"))
        return
    program.save(output, target=target)
    signature = program.signature
    parts = [
        count(len(signature.arguments), "input"),
        count(len(signature.results), "output"),
        count(sum(program.op_counts().values()), "operation"),
    ]
    click.echo(f"{output}: {', '.join(parts)}")
