"""The command group `hlograph`: its commands and the options before them.

Importing this file must stay quick (`hlograph --help` is measured by a test): the command modules import numpy, JAX,
PyTensor and rich inside the functions that use them.
"""

from __future__ import annotations

import click

from .bundle import bundle
from .emit import emit
from .explain import explain
from .inspect import inspect
from .opt import opt
from .run import run

__all__ = ["app"]


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


for command in (emit, run, opt, explain, inspect, bundle):
    app.add_command(command)
