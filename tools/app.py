"""The command group `hlograph`, the options before its commands, and the short commands: emit, inspect, bundle.

Importing this file must stay quick (`hlograph --help` is measured by a test): the command modules import numpy, JAX,
PyTensor and rich inside the functions that use them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from .console import columns, count, progress
from .explain import explain
from .files import (
    Dims,
    dims_option,
    for_target,
    load_program,
    module_output_option,
    output_option,
    sizes_option,
    target_option,
    trusted_option,
)
from .graphs import emit_program
from .opt import opt
from .run import run


def _print_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    releases = []
    for package in ("hlograph", "jax", "jaxlib"):
        try:
            releases.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            releases.append(f"no {package}")
    click.echo(f"{releases[0]} ({', '.join(releases[1:])})")
    context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
@click.option("--traceback", is_flag=True, help="Show Python's traceback of an error.")
@click.pass_obj
def app(flags: dict[str, bool] | None, traceback: bool) -> None:
    """Compile tensor graphs to StableHLO, and run, transform and explain the modules.

    \b
    hlograph emit model.py:loss --dims 'x=n,8' -o loss.mlir
    hlograph explain loss.mlir
    hlograph inspect loss.mlir
    hlograph run loss.mlir --inputs data.npz --output results.npz
    """
    if flags is not None:
        flags["traceback"] = traceback


# ---- emit ----


@click.command()
@click.argument("graph", metavar="FILE.py:NAME")
@module_output_option
@target_option
@dims_option
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
    platforms: Sequence[str],
    name: str,
) -> None:
    """Emit the graph NAME of FILE.py as StableHLO.

    NAME is a PyTensor output variable, an (inputs, outputs) pair, a FunctionGraph, a compiled function, a program, such
    as hlograph.emit_stablehlo makes of a function of JAX arrays, or a function without arguments that returns one of
    these.
    """
    program = emit_program(graph, dims=dims, name=name, platforms=platforms)
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


# ---- inspect ----


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@trusted_option
def inspect(file: str, as_json: bool, trusted: bool) -> None:
    """Show what is in a file, without compiling or running it.

    Prints the format and StableHLO version, who reads it and for how long, whether its digest matches, arguments and
    results with their dimensions, sizes, constraints, checks, platforms, custom calls, operations, constants,
    parameters, and the pullback.

    FILE is a module (.mlir, .mlirbc) or a bundle.
    """
    from ..codegen.artifact.inspection import inspect as facts_of
    from ..runtime.bundles import bundle as bundles

    is_bundle = bundles.is_bundle(file)
    facts = bundles.facts(file) if is_bundle else facts_of(file, trusted=trusted)
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    for title, rows in sections(facts):
        click.echo(title)
        if rows:
            click.echo(columns(rows, indent="  "))


def sections(facts: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[tuple[str, ...]]]]:
    """The facts as parts with a title and rows: first those that are one value, then the others as tables."""
    single = {name: value for name, value in facts.items() if not isinstance(value, list | dict) and value is not None}
    yield str(single.pop("file", "")), [(name, _text(value)) for name, value in single.items()]
    for name, value in facts.items():
        if isinstance(value, list) and value:
            if not isinstance(value[0], dict):
                yield f"{name}: {', '.join(map(str, value))}", []
                continue
            yield name, [tuple(_text(cell) for cell in row.values()) for row in value]
        elif isinstance(value, dict) and value:
            yield name, [(str(key), _text(cell)) for key, cell in value.items()]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"({', '.join(map(str, value))})"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


# ---- bundle ----


@click.command()
@click.argument("module", metavar="MODULE")
@output_option("--output", "-o", suffixes=(".bundle", ".safetensors"), text="The file to write.", required=True)
@sizes_option(
    "--sizes",
    "sizes",
    "Compile for 'n=100,m=3'; may be given again. Without it for the only sizes there are.",
)
@click.option(
    "--policy",
    type=click.Choice(["auto", "exact", "padded"]),
    default="auto",
    help="How sizes are met: padded executables serve all sizes of a bucket.",
)
@click.option("--outputs", type=click.Choice(["numpy", "jax"]), default="numpy", help="The arrays that calls return.")
@click.option(
    "--platform",
    "platforms",
    type=click.Choice(["cpu", "gpu", "tpu"]),
    multiple=True,
    help="Compile for this platform, of which a device must be here; may be given again. Without it for those that "
    "the module says it is for, or the CPU.",
)
@dims_option
@trusted_option
def bundle(
    module: str,
    output: str,
    sizes: Sequence[dict[str, int]],
    policy: str,
    outputs: str,
    platforms: Sequence[str],
    dims: Sequence[Dims],
    trusted: bool,
) -> None:
    """Write a module and executables for sets of sizes into one file, for a quick start.

    MODULE is a .mlir or .mlirbc file, or - for stdin. `hlograph run FILE --trusted` runs what is in the file, where it
    fits the processor and the releases.
    """
    import hlograph

    from ..runtime.bundles.bundle import facts

    program = load_program(module, trusted, dims=dims)
    with progress("compiling"):
        path = hlograph.bundle(
            program, output, sizes=list(sizes) or None, platforms=platforms or None, policy=policy, outputs=outputs
        )
    found = facts(path)["executables"]
    for one in found:
        click.echo(f"{one['sizes']} on {one['platform']}: {one['seconds']}")
    click.echo(f"wrote {path}: {os.stat(path).st_size:,} bytes, {len(found)} executables")


for command in (emit, run, opt, explain, inspect, bundle):
    app.add_command(command)
