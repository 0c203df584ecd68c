"""`hlograph opt MODULE --pass NAME`: passes over a module, for tests of passes and for looking at what they do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from .console import columns, progress
from .files import display_name, module_output_option, read_module, write_atomically
from .settings import traceback_option

if TYPE_CHECKING:
    from .. import Program

__all__ = ["opt"]

SEPARATOR = "// -----"


@dataclass(frozen=True)
class Section:
    """One module of a file.

    Attributes:
        source: its text, or the whole file's bytes when that is bytecode.
        line: the line in the file on which it begins, from 1.
    """

    source: str | bytes
    line: int = 1


def _list_passes(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from ..codegen.passes import available

    click.echo(columns(sorted(available().items())))
    context.exit()


@click.command()
@click.argument("module", metavar="MODULE")
@click.option(
    "--pass",
    "passes",
    metavar="NAME",
    multiple=True,
    help="A pass to run, in the order given. Options go in braces: --pass 'specialize{n=128,m=3}'.",
)
@module_output_option
@click.option("--split-input-file", is_flag=True, help=f"Take the parts between lines '{SEPARATOR}' each by itself.")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_passes, help="List the passes.")
@traceback_option()
def opt(module: str, passes: Sequence[str], output: str | None, split_input_file: bool) -> None:
    """Run passes over a module.

    MODULE is a .mlir or .mlirbc file, or - for stdin. Without --pass it is read, checked and printed again.
    """
    check_pass_names(passes)
    if output is not None and split_input_file and not output.endswith(".mlir"):
        raise click.UsageError("--split-input-file gives several modules, which only a .mlir file can hold")
    source = read_module(module)
    sections = split_sections(source) if split_input_file and isinstance(source, str) else [Section(source)]
    programs, failures = _run_passes(sections, passes, display_name(module))
    if not failures and output is not None and not split_input_file:
        programs[0].save(output)
        return
    text = f"{SEPARATOR}\n".join(program.text.rstrip("\n") + "\n" for program in programs)
    if output is None:
        click.echo(text, nl=False)
    elif not failures:
        with write_atomically(output) as stream:
            stream.write(text.encode())
    if failures:
        raise failures[0] if len(sections) == 1 else click.ClickException("\n".join(map(str, failures)))


def check_pass_names(passes: Sequence[str]) -> None:
    """Refuse an unknown pass before anything is read.

    Raises:
        click.BadParameter: there is no such pass; the message offers names that are like it.
    """
    from ..codegen.passes import available

    known = available()
    for text in passes:
        name = text.partition("{")[0].strip()
        if name not in known:
            close = difflib.get_close_matches(name, known)
            hint = f"did you mean {' or '.join(close)}?" if close else "'hlograph opt --list' shows those there are"
            raise click.BadParameter(f"there is no pass {name or text!r}; {hint}", param_hint="'--pass'")


def split_sections(source: str) -> list[Section]:
    """The parts of a text between separator lines, without those that hold nothing but comments."""
    sections, lines, first = [], [], 1
    for number, line in enumerate([*source.splitlines(), SEPARATOR], start=1):
        if line.rstrip() != SEPARATOR:
            lines.append(line)
            continue
        if any(re.match(r"\s*[^\s/]", each) for each in lines):
            sections.append(Section("\n".join(lines) + "\n", first))
        lines, first = [], number + 1
    return sections


def _run_passes(
    sections: Sequence[Section], passes: Sequence[str], filename: str
) -> tuple[list[Program], list[Exception]]:
    """Each section by itself: one that fails does not keep the others from being printed."""
    from .. import HlographError, Program

    programs: list[Program] = []
    failures: list[Exception] = []
    with progress(f"running {', '.join(passes) or 'no passes'}"):
        for section in sections:
            try:
                programs.append(Program.parse(_at_its_lines(section), filename=filename).run_passes(passes))
            except HlographError as error:
                failures.append(error)
    return programs, failures


def _at_its_lines(section: Section) -> str | bytes:
    """Empty lines before a section make the parser's line numbers those of the file."""
    if isinstance(section.source, bytes):
        return section.source
    return "\n" * (section.line - 1) + section.source
