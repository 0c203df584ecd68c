"""`hlograph bundle MODULE -o FILE --sizes n=100`: a module with executables for sets of sizes, in one file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import click

from .console import format_seconds, progress
from .dims import Dims, dims_option
from .files import check_output, load_program, trusted_option
from .settings import traceback_option

__all__ = ["bundle"]

SUFFIXES = (".bundle", ".safetensors")

_SIZE = re.compile(r"\s*([^=,]+?)\s*=\s*(\d{1,18})\s*")


def _sizes(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> list[dict[str, int]]:
    """`n=100,m=3` as sizes by name, for each use of the option."""
    found = []
    for value in values:
        matches = [_SIZE.fullmatch(part) for part in value.split(",")] if value.strip() else []
        names = [match[1] for match in matches if match is not None]
        if None in matches or len(set(names)) != len(names):
            raise click.BadParameter(f"{value!r}: expected sizes such as n=100,m=3, each once", context, parameter)
        found.append({match[1]: int(match[2]) for match in matches if match is not None})
    return found


@click.command()
@click.argument("module", metavar="MODULE")
@click.option(
    "--output",
    "-o",
    metavar="FILE.bundle",
    required=True,
    callback=lambda context, parameter, value: check_output(value, SUFFIXES),
    help="The file to write.",
)
@click.option(
    "--sizes",
    metavar="n=100,m=3",
    multiple=True,
    callback=_sizes,
    help="Compile for these sizes; may be given again, for one executable each. Without it for the only ones there "
    "are.",
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
@traceback_option()
def bundle(
    module: str,
    output: str,
    sizes: list[dict[str, int]],
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

    program = load_program(module, trusted, dims=dims)
    with progress("compiling"):
        path = hlograph.bundle(
            program, output, sizes=sizes or None, platforms=platforms or None, policy=policy, outputs=outputs
        )
    click.echo(_summary(path))


def _summary(path: str | os.PathLike[str]) -> str:
    from ..runtime.bundles.opening import described

    lines = []
    for stored in described(path):
        times = f"{format_seconds(stored.compile_seconds)} to make"
        lines.append(f"{stored.sizes} on {stored.machine.platform}: {times}")
    return "\n".join([*lines, f"wrote {path}: {os.stat(path).st_size:,} bytes, {len(lines)} executables"])
