"""The option `--dims`: what the axes of arguments are, and what sizes are; the same for all commands.

    --dims x=n,8           the axes of the argument x: sizes, names, and expressions such as 2*n+1
    --dims n=100,m=3       the sizes n and m: the program is made for these alone
    --dims x=n,8,n=100     both

A graph takes names and sizes for all its inputs. A module has them in its text; where somebody else wrote it, it has
none, and names them as `hlograph.load(dims=)` does: `--dims arg2=k` for an integer that is a size, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from .. import Program

__all__ = ["DIMS", "Dims", "dims_option", "entries_of", "parted", "sizes_option", "with_dims"]

Entry = tuple[str, tuple[str | int, ...]]
Dims = tuple[Entry, ...]
Axes = dict[str, tuple[str | int, ...]]
Command = TypeVar("Command", bound=Callable[..., Any])

_NAME = re.compile(r"[A-Za-z_][\w.]*")


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


def dims_option(command: Command) -> Command:
    """The option `--dims` of the commands that take a graph or a module."""
    return click.option(
        "--dims",
        type=DIMS,
        multiple=True,
        help="The axes of an argument, 'x=n,8' (of a module: where it has no names for them), and what sizes are, "
        "'n=100,m=3'. The same name means the same size.",
    )(command)


def sizes_option(option: str, name: str, text: str) -> Callable[[Command], Command]:
    """An option that takes sizes, `n=100,m=3`, and may be given again."""

    def sizes(context: click.Context, parameter: click.Parameter, given: Sequence[Dims]) -> list[dict[str, int]]:
        of_one = [[(name, *dims) for name, dims in each if len(dims) == 1] for each in given]
        found = [{name: size for name, size in each if isinstance(size, int)} for each in of_one]
        if any(len(one) != len(each) for one, each in zip(found, given, strict=True)):
            raise click.BadParameter("expected sizes such as n=100,m=3, each once", context, parameter)
        return found

    return click.option(option, name, type=DIMS, metavar="NAME=SIZE,...", multiple=True, callback=sizes, help=text)


def entries_of(dims: Sequence[Dims]) -> list[Entry]:
    """The entries of all uses of the option, none of the same name."""
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
    from ..codegen.artifact.foreign_dims import name_sizes

    axes, sizes = parted(entries_of(dims), [root.name for root in program.signature.roots])
    named = name_sizes(program, {name: list(said) for name, said in axes.items()})
    return _made_for(named, sizes) if sizes else named


def _made_for(program: Program, sizes: Mapping[str, int]) -> Program:
    """The program for these sizes, and for those that are equal to something made of them."""
    from ..codegen import dims as dimension
    from ..runtime.executables.policy import dependent_roots

    follows = dependent_roots(program.signature).items()
    others = {name: dimension.evaluate(dim, sizes) for name, dim in follows if dimension.roots(dim) <= sizes.keys()}
    return program.specialize({**others, **sizes})


def _split(text: str) -> list[str]:
    """The parts between commas, but not between those of `min(n, m)`."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
