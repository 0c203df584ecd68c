"""Files in and out: programs are read from a path or from stdin, and nothing is ever left half-written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .dims import Dims, with_dims

if TYPE_CHECKING:
    from .. import Program

__all__ = [
    "for_target",
    "load_program",
    "module_output_option",
    "output_option",
    "read_module",
    "target_option",
    "trusted_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])

MODULE_SUFFIXES = (".mlir", ".mlirbc")
STDIN = "-"


def read_module(file: str) -> bytes:
    """The content of a module file, or of stdin for `-`."""
    from ..codegen.artifact.reading import content

    if file != STDIN:
        return content(Path(file))
    if sys.stdin is None:
        raise click.ClickException("there is no stdin to read a module from")
    return sys.stdin.buffer.read()


def load_program(file: str, trusted: bool, allow: Collection[str] = (), dims: Sequence[Dims] = ()) -> Program:
    """The program in a .mlir or .mlirbc file, or on stdin for `-`; `allow` as for `hlograph.load`."""
    import hlograph

    if file == STDIN:
        name = display_name(file)
        program = hlograph.Program.parse(read_module(file), filename=name, trusted=trusted, allow=allow)
    else:
        program = hlograph.load(file, trusted=trusted, allow=allow)
    return with_dims(program, dims)


def display_name(file: str) -> str:
    """How messages name an input file."""
    return "<stdin>" if file == STDIN else file


def trusted_option(command: Command) -> Command:
    """The option `--trusted` of the commands that read a module."""
    return click.option(
        "--trusted",
        is_flag=True,
        help="Parse the module here; else in a process of its own first, since some modules end the process that "
        "parses them.",
    )(command)


def output_option(*names: str, suffixes: tuple[str, ...], text: str, **more: Any) -> Callable[[Command], Command]:
    """An option that names a file to write, with one of these suffixes; more as `click.option` takes it."""

    def check(context: click.Context, parameter: click.Parameter, file: str | None) -> str | None:
        return check_output(file, suffixes)

    return click.option(*names, metavar=f"FILE{suffixes[0]}", callback=check, help=text, **more)


def module_output_option(command: Command) -> Command:
    """The option `-o FILE` of the commands that write a module."""
    text = "Write the module to this file (.mlir: text, .mlirbc: portable bytecode) instead of stdout."
    return output_option("-o", "--output", suffixes=MODULE_SUFFIXES, text=text)(command)


def target_option(command: Command) -> Command:
    """The option `--target NAME` of the commands that write a module."""
    return click.option(
        "--target",
        metavar="NAME",
        help="Whom the module is for: a StableHLO version ('1.9.0'), a date ('2025-01-01'), 'jax 0.7', 'iree' or "
        "'pjrt'. What it costs goes to stderr.",
    )(command)


def for_target(program: Program, target: str | None, output: str | None) -> Program:
    """The program to print or to save for a target; says on stderr what becomes of it.

    Raises:
        OptionError, PassError, UnsupportedGraphError: see `targets.costs`.
    """
    if target is None:
        return program
    from ..codegen.artifact import targets

    found = targets.find_target(target)
    if output is None and not found.consumer:
        raise click.UsageError(f"--target {target!r} is a version of bytecode: give -o FILE.mlirbc")
    click.echo(str(targets.costs(program, target)), err=True)
    return program if output is not None else targets.for_target(program, found)


def check_output(file: str | None, suffixes: tuple[str, ...]) -> str | None:
    """Refuse an output file that cannot be written, before any work is done.

    Args:
        file: the path given, or None.
        suffixes: the suffixes it may have.

    Returns:
        `file`.

    Raises:
        click.BadParameter: the suffix is none of `suffixes` (the command is wrong).
        click.ClickException: the folder does not exist, or the path is a folder (the input is wrong).
    """
    if file is None:
        return None
    path = Path(file)
    if path.suffix not in suffixes:
        raise click.BadParameter(f"{file}: the name must end in {' or '.join(suffixes)}")
    if path.is_dir():
        raise click.ClickException(f"{file}: is a folder, not a file to write")
    if not path.parent.is_dir():
        raise click.ClickException(f"{file}: there is no folder {path.parent} to write to")
    return file
