"""What the commands share: options, modules and graphs in files, and files out, none of which is left half-written.

The option `--dims` says what the axes of arguments are, and what sizes are:

    --dims x=n,8           the axes of the argument x: sizes, names, and expressions such as 2*n+1
    --dims n=100,m=3       the sizes n and m: the program is made for these alone
    --dims x=n,8,n=100     both

A graph takes names and sizes for all its inputs. A module has them in its text; a foreign one has
none, and names them as `hlograph.load(dims=)` does: `--dims arg2=k` for an integer that is a size, too.

What a graph is, is for `hlograph.emit_stablehlo` to say; here it is only told whether what `FILE.py:NAME` names is one,
or a function that makes one.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from .console import progress

if TYPE_CHECKING:
    from .. import Program

Entry = tuple[str, tuple[str | int, ...]]
Dims = tuple[Entry, ...]
Axes = dict[str, tuple[str | int, ...]]
STDIN = "-"
_NAME = re.compile(r"[A-Za-z_][\w.]*")


# ---- files ----


def read_module(file: str) -> bytes:
    """The content of a module file, or of stdin for `-`."""
    from ..codegen.artifact.programs import content

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


trusted_option = click.option(
    "--trusted",
    is_flag=True,
    help="Parse the module here; else in its own process first, since some modules end the process that parses them.",
)


def output_option(*names: str, suffixes: tuple[str, ...], text: str, **more: Any) -> Callable[..., Any]:
    """An option that names a file to write, with one of these suffixes; more as `click.option` takes it.

    A file that cannot be written is refused before any work is done: with another suffix the command is wrong, with a
    missing folder the input.
    """

    def check(context: click.Context, parameter: click.Parameter, file: str | None) -> str | None:
        path = Path(file or "")
        if file is not None and path.suffix not in suffixes:
            raise click.BadParameter(f"{file}: the name must end in {' or '.join(suffixes)}")
        if file is not None and path.is_dir():
            raise click.ClickException(f"{file}: is a folder, not a file to write")
        if not path.parent.is_dir():
            raise click.ClickException(f"{file}: there is no folder {path.parent} to write to")
        return file

    return click.option(*names, metavar=f"FILE{suffixes[0]}", callback=check, help=text, **more)


module_output_option = output_option(
    *("-o", "--output"),
    suffixes=(".mlir", ".mlirbc"),
    text="Write the module to this file (.mlir: text, .mlirbc: portable bytecode) instead of stdout.",
)
target_option = click.option(
    "--target",
    metavar="NAME",
    help="Whom the module is for: a StableHLO version ('1.9.0'), a date ('2025-01-01'), 'jax 0.7', 'iree' or 'pjrt'. "
    "What it costs goes to stderr.",
)


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
    click.echo(targets.costs(program, target), err=True)
    return program if output is not None else targets.for_target(program, found)


# ---- sizes ----


class DimsType(click.ParamType):
    """`x=n,8` and `n=100,m=3`: names, each with what its axes are, or with what it is."""

    name = "NAME=DIM,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Dims:
        """The entries in `value`."""
        found: list[tuple[str, list[str]]] = []
        for part in _split(str(value)):
            name, equals, first = part.partition("=")
            if equals:
                found.append((name.strip(), [first.strip()]))
            elif found:
                found[-1][1].append(part)
            else:
                found.append(("", [""]))
        if not all(name and (dims == [""] or all(dims)) for name, dims in found):
            self.fail(
                f"{value}: write the axes of an argument, as in 'x=n,8', or what sizes are, as in 'n=100,m=3'",
                param,
                ctx,
            )
        return tuple((name, tuple(int(dim) if dim.isdecimal() else dim for dim in dims if dim)) for name, dims in found)


DIMS = DimsType()

dims_option = click.option(
    "--dims",
    type=DIMS,
    multiple=True,
    help="The axes of an argument, 'x=n,8' (of a module: where it has no names for them), and what sizes are, "
    "'n=100,m=3'. The same name means the same size.",
)
policy_option = click.option(
    "--policy",
    default="auto",
    show_default=True,
    callback=lambda _context, _parameter, policy: int(policy) if policy.isdecimal() else policy,
    help="How sizes are handled: auto, exact, padded (to a bound of a bucket), or a bound.",
)


def sizes_option(option: str, text: str) -> Callable[..., Any]:
    """An option that takes sizes, `n=100,m=3`, and may be given again."""

    def sizes(context: click.Context, parameter: click.Parameter, given: Sequence[Dims]) -> list[dict[str, int]]:
        of_one = [[(name, *dims) for name, dims in each if len(dims) == 1] for each in given]
        found = [{name: size for name, size in each if isinstance(size, int)} for each in of_one]
        if any(len(one) != len(each) for one, each in zip(found, given, strict=True)):
            raise click.BadParameter("expected sizes such as n=100,m=3, each once", context, parameter)
        return found

    return click.option(option, type=DIMS, metavar="NAME=SIZE,...", multiple=True, callback=sizes, help=text)


def entries_of(dims: Sequence[Dims]) -> list[Entry]:
    """The entries of all uses of `--dims`, none of the same name."""
    found = [entry for each in dims for entry in each]
    names = [name for name, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is given twice", param_hint="'--dims'")
    return found


def parted(entries: Sequence[Entry], known: Collection[str]) -> tuple[Axes, dict[str, int]]:
    """The axes of arguments, and what sizes are: of those known, and of those that other entries name."""
    named = {*known} | {name for _, dims in entries for dim in dims for name in _NAME.findall(str(dim))}
    sizes = {name: dims[0] for name, dims in entries if name in named and len(dims) == 1 and isinstance(dims[0], int)}
    return {name: dims for name, dims in entries if name not in sizes}, sizes


def with_dims(program: Program, dims: Sequence[Dims]) -> Program:
    """The program of a module with names for its sizes, made for those that are given.

    Raises:
        ArtifactError: it has neither an argument nor a size of a name, or its sizes have names already.
        PassError: a size violates a constraint.
    """
    from ..codegen import dims as dimension
    from ..codegen.artifact.foreign_dims import name_sizes
    from ..runtime.executables.policy import dependent_roots

    axes, sizes = parted(entries_of(dims), [root.name for root in program.signature.roots])
    named = name_sizes(program, {name: list(said) for name, said in axes.items()})
    if not sizes:
        return named
    follows = dependent_roots(named.signature).items()  # what is equal to something made of these sizes
    others = {name: dimension.evaluate(dim, sizes) for name, dim in follows if dimension.roots(dim) <= sizes.keys()}
    return named.specialize({**others, **sizes})


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


# ---- graphs ----


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
            raise click.UsageError("--name and --platform are for graphs; a program already has both")
        return with_dims(graph, dims)
    axes, sizes = parted(entries_of(dims), ())
    with progress(f"emitting {held}"):
        program = hlograph.emit_stablehlo(graph, dims=axes or None, name=name, platforms=platforms or None)
        return program.specialize(sizes) if sizes else program


def _load(file: Path, name: str) -> Any:
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


def _load_rewrites(context: click.Context, _parameter: click.Parameter, files: Sequence[str]) -> None:
    for file in () if context.resilient_parsing else files:
        run_file(Path(file))


# Before anything else is examined.
load_option = click.option(
    "--load",
    metavar="FILE.py",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_load_rewrites,
    help="A file with rewrites of your own (see hlograph.passes), which are passes by their names then.",
)


def _call_user_code(function: Any, file: Path) -> Any:
    try:
        return function()
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        place = _line_in(file, error)
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise click.ClickException(f"{place}: {type(error).__name__}{f': {said}' if said else ''}") from error


def _line_in(file: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    resolved = file.resolve()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == resolved]
    return f"{file}:{lines[-1]}" if lines else str(file)


def _find(module: ModuleType, file: Path, name: str) -> Any:
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
