"""`hlograph opt MODULE --pass NAME`: passes over a module, for tests of passes and for looking at what they do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ..codegen.artifact.files import write_atomically
from .console import columns, progress
from .files import (
    Dims,
    dims_option,
    display_name,
    for_target,
    module_output_option,
    read_module,
    target_option,
    trusted_option,
    with_dims,
)
from .graphs import load_option

if TYPE_CHECKING:
    from .. import Program
    from ..codegen.passes.report import Report

SEPARATOR = "// -----"


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
@click.option(
    "--explain",
    "explained",
    metavar="NAME[:TEXT]",
    multiple=True,
    help="Say on stderr what this pass or rewrite did to which op, and what it left alone and why; with a text, of the "
    "ops alone whose line has it ('pad:%3', 'pad:line 7'). It is run last if --pass does not name it.",
)
@load_option
@module_output_option
@target_option
@click.option(
    "--without-derivatives",
    "alone",
    is_flag=True,
    help="Leave out the pullback of a file that was saved with derivatives=1, which no pad or batch can follow.",
)
@dims_option
@click.option("--split-input-file", is_flag=True, help=f"Take the parts between lines '{SEPARATOR}' each by itself.")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_passes, help="List the passes.")
@trusted_option
def opt(
    module: str,
    passes: Sequence[str],
    explained: Sequence[str],
    output: str | None,
    target: str | None,
    alone: bool,
    dims: Sequence[Dims],
    split_input_file: bool,
    trusted: bool,
) -> None:
    """Run passes over a module, and over its pullback if it has one; with --dims it is made for these sizes before.

    MODULE is a .mlir or .mlirbc file, or - for stdin. Without --pass it is read, checked and printed again.
    """
    import hlograph

    names = [name.partition(":")[0] for name in explained]
    passes = [*passes, *(name for name in names if not _covered(name, passes))]
    if output is not None and split_input_file and not output.endswith(".mlir"):
        raise click.UsageError("--split-input-file gives several modules, which only a .mlir file can hold")
    if target is not None and output is not None and split_input_file:
        raise click.UsageError("--target with -o writes one module; leave out --split-input-file")
    source = read_module(module)
    sections = list(_sections(source)) if split_input_file else [source]
    programs: list[Program] = []
    failures: list[Exception] = []
    reports: list[Report] = []
    with progress(f"running {', '.join(passes) or 'no passes'}"):
        for section in sections:  # one that fails does not keep the others from being printed
            try:
                program = hlograph.Program.parse(section, filename=display_name(module), trusted=trusted, allow=["*"])
                program = with_dims(program.without_pullback() if alone else program, dims)
                programs.append(program.run_passes(passes, reports=reports if explained else None))
            except hlograph.errors.HlographError as error:
                failures.append(error)
    if reports:
        _explain(reports, explained)
    if not failures:
        programs = [for_target(program, target, output) for program in programs]
    if not failures and output is not None and not split_input_file:
        programs[0].save(output, target=target)
        return
    text = f"{SEPARATOR}\n".join(program.text.rstrip("\n") + "\n" for program in programs)
    if output is None:
        click.echo(text, nl=False)
    elif not failures:
        with write_atomically(output) as stream:
            stream.write(text.encode())
    if failures:
        raise failures[0] if len(sections) == 1 else click.ClickException("\n".join(map(str, failures)))


def _covered(name: str, passes: Sequence[str]) -> bool:
    """Whether one of the passes is this one, or holds the rewrite of this name."""
    from ..codegen.passes import find, parse_spec

    run = [find(parse_spec(spec)[0]) for spec in passes]
    return any(name == each.name or name in each.parts for each in run)


def _explain(reports: Sequence[Report], explained: Sequence[str]) -> None:
    """The notes that were asked for, on stderr."""
    for asked in explained:
        name, _, text = asked.partition(":")
        found = [note for report in reports for note in report.notes if name in (report.pass_name, note.rewrite)]
        shown = [str(note) for note in found if text in str(note)]
        for line in shown or [f"{name}: {f'nothing about {text!r}' if found else 'no op that it could apply to'}"]:
            click.echo(line, err=True)


def _sections(source: bytes) -> Iterator[bytes]:
    """The parts of a text between separator lines, without those that hold nothing but comments.

    Empty lines before a part make the parser's line numbers those of the file.
    """
    before = 0
    for part in re.split(rf"^{SEPARATOR}[ \t\r]*$".encode(), source, flags=re.MULTILINE):
        if re.search(rb"^\s*[^\s/]", part, re.MULTILINE):
            yield b"\n" * before + part
        before += part.count(b"\n")
