"""Graphs of `FILE.py:NAME`: runs the user's file, finds the object, and calls it when it is a function.

What a graph is, is for `hlograph.emit_stablehlo` to say; this file only tells a function that makes a graph from the
graph itself.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .console import progress
from .files import Dims, entries_of, parted, with_dims

if TYPE_CHECKING:
    from .. import Program

Command = TypeVar("Command", bound=Callable[..., Any])


def is_graph(text: str) -> bool:
    """Whether a text is meant as a graph in a Python file, `FILE.py:NAME`, well written or not."""
    return text.endswith(".py") or ".py:" in text


def emit_program(text: str, *, dims: Sequence[Dims], name: str = "main", platforms: Sequence[str] = ()) -> Program:
    """Runs the file of `FILE.py:NAME`, where NAME may be dotted, and emits the graph that it holds under the name; of a
    program there, that.

    Raises:
        click.BadParameter: there is no NAME, or FILE is not a Python file.
    """
    import hlograph

    file, colon, held = text.rpartition(":")
    if not colon or not file.endswith(".py") or not held:
        raise click.BadParameter(
            f"{text}: give a Python file and a name in it, as in model.py:loss", param_hint="'FILE.py:NAME'"
        )
    graph = _load(Path(file), held)
    if isinstance(graph, hlograph.Program):
        if platforms or name != "main":
            raise click.UsageError("--name and --platform are for graphs; what a program is for was said to its maker")
        return with_dims(graph, dims)
    axes, sizes = parted(entries_of(dims), ())
    with progress(f"emitting {held}"):
        program = hlograph.emit_stablehlo(graph, dims=axes or None, name=name, platforms=platforms or None)
        return program.specialize(sizes) if sizes else program


def _load(file: Path, name: str) -> Any:
    """What a file holds under a name, or what that returns when it is a function without arguments."""
    # What the user's code prints must not get into a module that goes to stdout.
    with contextlib.redirect_stdout(sys.stderr):
        with progress(f"running {file}"):
            found = _find(run_file(file), file, name)
        # A compiled PyTensor function is callable too, but is a graph by itself.
        if not inspect.isroutine(found) and not isinstance(found, functools.partial):
            return found
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        parameters = inspect.signature(found).parameters.values()
        needed = [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in variadic]
        if needed:
            raise click.ClickException(
                f"{file}:{name}: is a function that takes {', '.join(needed)}; give a graph, or a function without "
                "arguments that returns one, or the program that hlograph.emit_stablehlo makes of a function of JAX "
                "arrays"
            )
        with progress(f"calling {name}()"):
            return _call_user_code(found, file)


def run_file(file: Path) -> ModuleType:
    """Run a Python file as a module of its own name, with its folder on the path, as `python FILE` has it."""
    if not file.is_file():
        raise click.ClickException(f"{file}: no such file")
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    sys.path.insert(0, str(file.parent.resolve()))
    # Dataclasses and pickles look their module up by name. A file named like a module that is in use (numpy.py) is
    # run under its own name only, and does not replace that module.
    sys.modules.setdefault(file.stem, module)
    _call_user_code(lambda: exec(compile(file.read_bytes(), str(file), "exec"), vars(module)), file)
    return module


def load_option(command: Command) -> Command:
    """The option `--load FILE.py`: rewrites of the user's own, registered before anything else is looked at."""

    def load(context: click.Context, _parameter: click.Parameter, files: Sequence[str]) -> None:
        for file in files:
            if not context.resilient_parsing:
                run_file(Path(file))

    return click.option(
        "--load",
        metavar="FILE.py",
        multiple=True,
        is_eager=True,
        expose_value=False,
        callback=load,
        help="A file with rewrites of your own (see hlograph.passes), which are passes by their names then.",
    )(command)


def _call_user_code(function: Any, file: Path) -> Any:
    """Call it; whatever it raises becomes one line that names the line of the user's file."""
    try:
        return function()
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        place = _line_in(file, error)
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise click.ClickException(f"{place}: {type(error).__name__}{f': {said}' if said else ''}") from error


def _line_in(file: Path, error: BaseException) -> str:
    """`FILE:LINE` of the innermost line of the file that led to the error."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    resolved = file.resolve()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == resolved]
    return f"{file}:{lines[-1]}" if lines else str(file)


def _find(module: ModuleType, file: Path, name: str) -> Any:
    """The object with a (dotted) name, or an error that offers the names there are."""
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            held = {n: x for n, x in vars(module).items() if not n.startswith("_") and not inspect.ismodule(x)}
            close = difflib.get_close_matches(name, held, n=3) or list(held)[:8]
            there = f"; it has {', '.join(close)}" if close else ""
            raise click.ClickException(f"{file}: there is no {name} in this file{there}") from error
    return found
