"""`hlograph bundle MODULE -o FILE --sizes n=100`: a module with executables for sets of sizes, in one file."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from .console import format_seconds, progress
from .dims import Dims, dims_option, sizes_option
from .files import load_program, output_option, trusted_option

__all__ = ["bundle"]


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

    program = load_program(module, trusted, dims=dims)
    with progress("compiling"):
        path = hlograph.bundle(
            program, output, sizes=list(sizes) or None, platforms=platforms or None, policy=policy, outputs=outputs
        )
    click.echo(_summary(path))


def _summary(path: str | os.PathLike[str]) -> str:
    from ..runtime.bundles.opening import described

    lines = []
    for stored in described(path):
        times = f"{format_seconds(stored.compile_seconds)} to make"
        lines.append(f"{stored.sizes} on {stored.machine.platform}: {times}")
    return "\n".join([*lines, f"wrote {path}: {os.stat(path).st_size:,} bytes, {len(lines)} executables"])
