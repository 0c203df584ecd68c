"""The command group `hlograph`, the options before its commands, and all commands but explain.

Importing this file must stay quick (`hlograph --help` is measured by a test): NumPy, JAX, PyTensor and rich are
imported inside the functions that use them.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from . import files
from .console import columns, count, format_dims, format_seconds, progress
from .explain import explain

if TYPE_CHECKING:
    import numpy as np

    from .. import Function, Program
    from ..codegen.passes.report import Report


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
@files.module_output_option
@files.target_option
@files.dims_option
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
    dims: Sequence[files.Dims],
    platforms: Sequence[str],
    name: str,
) -> None:
    """Emit the graph NAME of FILE.py as StableHLO.

    NAME is a PyTensor output variable, an (inputs, outputs) pair, a FunctionGraph, a compiled function, a program, such
    as hlograph.emit_stablehlo makes of a function of JAX arrays, or a function without arguments that returns one of
    these.
    """
    program = files.emit_program(graph, dims=dims, name=name, platforms=platforms)
    program = files.for_target(program, target, output)
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


# ---- run: arrays by name in, arrays by name out ----

SECONDS_NOT_TO_REPEAT = 2.0
Arrays = Mapping[str, "np.ndarray[Any, Any]"]


@click.command()
@click.argument("module", metavar="MODULE")
@click.option("--inputs", metavar="FILE.npz", help="The arguments: one array for each name.")
@files.output_option("--output", "-o", suffixes=(".npz",), text="Write the results to this file, by name.")
@click.option("--device", type=click.Choice(["cpu", "gpu", "tpu"]), help="Where to run; else JAX's default device.")
@click.option("--interpret", is_flag=True, help="Use StableHLO's reference interpreter: slow, shares no code with XLA.")
@files.dims_option
@files.trusted_option
@click.option(
    "--allow",
    metavar="NAME",
    multiple=True,
    help="A custom call that the module may make although hlograph does not know it: code of this process runs then.",
)
def run(
    module: str,
    inputs: str | None,
    output: str | None,
    device: str | None,
    interpret: bool,
    dims: Sequence[files.Dims],
    trusted: bool,
    allow: tuple[str, ...],
) -> None:
    """Run a module once and show its results.

    MODULE is a .mlir or .mlirbc file, a file that `hlograph bundle` wrote, or - for stdin. The executables of a bundle
    are machine code: --trusted runs them; without it, and with --device, the program in the file is compiled.
    """
    import hlograph

    from ..codegen.graph import unique
    from ..runtime.bundles.bundle import is_bundle

    if device and interpret:
        raise click.UsageError("--device and --interpret exclude each other: the interpreter runs on the host")
    bundled = hlograph.load_bundle(module, trusted=trusted) if module != files.STDIN and is_bundle(module) else None
    if bundled is not None and dims:
        raise click.UsageError("--dims is for modules; a bundle has its sizes in it")
    program = files.load_program(module, trusted, allow, dims) if bundled is None else bundled.program
    arguments = match_arguments(program, {} if inputs is None else read_arrays(inputs), inputs)
    if interpret:
        with progress("interpreting"):
            results, seconds = _timed(program, program.interpret, arguments)
        timing = f"interpreted in {format_seconds(seconds)}"
    else:
        function = bundled if bundled is not None and device is None else program.compile(device=device)
        results, timing = _execute(function, arguments, device)
    names = unique([result.name or f"result{place}" for place, result in enumerate(program.signature.results)])
    if output is not None:
        _write_arrays(output, dict(zip(names, results, strict=True)))
    click.echo(columns([("result", "dtype", "shape", ""), *map(_row, names, results)]))
    click.echo(timing if output is None else f"{timing}; wrote {output}")


def read_arrays(file: str) -> Arrays:
    """The arrays in a .npz file. Pickled objects are refused: a data file must not be able to run code."""
    import numpy as np

    name = ""
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise click.ClickException(f"{file}: holds one array without a name; save it with np.savez(file, x=x)")
        found = {}
        with loaded as arrays:
            for name in arrays.files:
                found[name] = arrays[name]
                if not isinstance(found[name], np.ndarray):
                    raise ValueError("it is no array")
    except Exception as error:  # NumPy and `zipfile` raise whatever they like for damaged files
        if isinstance(error, click.ClickException) or (isinstance(error, OSError) and error.filename):
            raise
        what = f" (array {name!r})" if name else ""
        raise click.ClickException(f"{file}: not a readable .npz file{what}: {error}") from error
    return found


def match_arguments(program: Program, arrays: Arrays, file: str | None) -> list[Any]:
    """The arrays in the order of the program's arguments.

    Raises:
        click.ClickException: some are missing, or some have a name that no argument has; all of them are named.
    """
    arguments = [a for place, a in enumerate(program.signature.arguments) if place not in program.bindings]
    names = [argument.name for argument in arguments]
    faults = [
        f"no array for the argument {argument.name} ({argument.dtype}, {format_dims(argument.dims)})"
        for argument in arguments
        if argument.name not in arrays
    ]
    extra = [name for name in arrays if name not in names]
    if extra:
        takes = f"it takes {', '.join(names)}" if names else "it takes none"
        faults.append(f"the program has no argument {', '.join(extra)} ({takes})")
    if faults:
        raise click.ClickException(f"{file or '--inputs is missing'}: {'; '.join(faults)}")
    return [_as_dtype(arrays[argument.name], argument.dtype) for argument in arguments]


def _execute(function: Function, arguments: Sequence[Any], device: str | None) -> tuple[list[Any], str]:
    """Results as NumPy arrays, and what was measured.

    The first call compiles and runs. A second one, which only runs, tells the two apart; a long run is not repeated
    for that.
    """
    with progress(f"compiling and running on {device or 'the default device'}"):
        results, first = _timed(function.program, function, arguments)
        how = "loaded" if function.stats.loaded and not function.stats.compiles else "compiled"
        if first > SECONDS_NOT_TO_REPEAT:
            return results, f"{how} and ran in {format_seconds(first)}"
        _, again = _timed(function.program, function, arguments)
    return results, f"{how} in {format_seconds(max(first - again, 0.0))}, ran in {format_seconds(again)}"


def _timed(program: Program, function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[list[Any], float]:
    import numpy as np

    start = time.perf_counter()
    try:
        values = function(*arguments)
        results = [np.asarray(value) for value in (values if isinstance(values, tuple) else (values,))]
    except Exception as error:
        # A check raises the exception that the graph's author chose, of any class, with the message of the check.
        if any(error.args == (check.message,) for check in program.signature.checks):
            raise click.ClickException(f"check failed: {type(error).__name__}: {error.args[0]}") from error
        raise
    return results, time.perf_counter() - start


def _as_dtype(array: Any, dtype: Any) -> Any:
    """NumPy's files forget the dtypes that NumPy does not have itself (bfloat16 comes back as |V2): name it again.

    Files that `_write_arrays` wrote say which it was.
    """
    if array.dtype.kind != "V" or array.dtype.itemsize != dtype.itemsize:
        return array
    return array.view(dtype) if array.dtype.names in (None, (dtype.name,)) else array


def _named(array: Any) -> Any:
    import numpy as np

    if array.dtype.isbuiltin == 1:
        return array
    return array.view(np.dtype([(array.dtype.name, f"u{array.dtype.itemsize}")]))


def _write_arrays(file: str, arrays: Arrays) -> None:
    import numpy as np

    from ..codegen.artifact.files import write_atomically

    with write_atomically(file) as stream:
        np.savez(stream, **{name: _named(array) for name, array in arrays.items()})


def _row(name: str, result: Any) -> tuple[str, str, str, str]:
    return name, str(result.dtype), format_dims(result.shape), str(result[()]) if result.ndim == 0 else ""


# ---- opt: passes over a module, for tests of passes and for looking at what they do ----

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
@files.load_option
@files.module_output_option
@files.target_option
@click.option(
    "--without-derivatives",
    "alone",
    is_flag=True,
    help="Leave out the pullback of a file that was saved with derivatives=1, which no pad or batch can follow.",
)
@files.dims_option
@click.option("--split-input-file", is_flag=True, help=f"Take the parts between lines '{SEPARATOR}' each by itself.")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_passes, help="List the passes.")
@files.trusted_option
def opt(
    module: str,
    passes: Sequence[str],
    explained: Sequence[str],
    output: str | None,
    target: str | None,
    alone: bool,
    dims: Sequence[files.Dims],
    split_input_file: bool,
    trusted: bool,
) -> None:
    """Run passes over a module, and over its pullback if it has one; with --dims it is made for these sizes before.

    MODULE is a .mlir or .mlirbc file, or - for stdin. Without --pass it is read, checked and printed again.
    """
    import hlograph

    from ..codegen.artifact.files import write_atomically

    names = [name.partition(":")[0] for name in explained]
    passes = [*passes, *(name for name in names if not _covered(name, passes))]
    if output is not None and split_input_file and not output.endswith(".mlir"):
        raise click.UsageError("--split-input-file gives several modules, which only a .mlir file can hold")
    if target is not None and output is not None and split_input_file:
        raise click.UsageError("--target with -o writes one module; leave out --split-input-file")
    source = files.read_module(module)
    sections = list(_sections(source)) if split_input_file else [source]
    programs: list[Program] = []
    failures: list[Exception] = []
    reports: list[Report] = []
    with progress(f"running {', '.join(passes) or 'no passes'}"):
        for section in sections:  # one that fails does not keep the others from being printed
            try:
                program = hlograph.Program.parse(
                    section, filename=files.display_name(module), trusted=trusted, allow=["*"]
                )
                program = files.with_dims(program.with_derivatives(0) if alone else program, dims)
                programs.append(program.optimize(passes, reports=reports if explained else None))
            except hlograph.errors.HlographError as error:
                failures.append(error)
    if reports:
        _explain(reports, explained)
    if not failures:
        programs = [files.for_target(program, target, output) for program in programs]
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
    from ..codegen.passes.registry import find, parse_spec, resolve

    run = [find(parse_spec(spec)[0]) for spec in resolve(passes)]
    return any(name == each.name or name in each.parts for each in run)


def _explain(reports: Sequence[Report], explained: Sequence[str]) -> None:
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


# ---- inspect ----


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@files.trusted_option
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
@files.output_option("--output", "-o", suffixes=(".bundle", ".safetensors"), text="The file to write.", required=True)
@files.sizes_option("--sizes", "Compile for 'n=100,m=3'; may be given again. Without it for the only sizes there are.")
@files.policy_option
@click.option("--outputs", type=click.Choice(["numpy", "jax"]), default="numpy", help="The arrays that calls return.")
@click.option(
    "--platform",
    "platforms",
    type=click.Choice(["cpu", "gpu", "tpu"]),
    multiple=True,
    help="Compile for this platform, of which a device must be here; may be given again. Without it for those that "
    "the module says it is for, or the CPU.",
)
@files.dims_option
@files.trusted_option
def bundle(
    module: str,
    output: str,
    sizes: Sequence[dict[str, int]],
    policy: Any,
    outputs: str,
    platforms: Sequence[str],
    dims: Sequence[files.Dims],
    trusted: bool,
) -> None:
    """Write a module and executables for sets of sizes into one file, for a quick start.

    MODULE is a .mlir or .mlirbc file, or - for stdin. `hlograph run FILE --trusted` runs what is in the file, where it
    fits the processor and the releases.
    """
    import hlograph

    from ..runtime.bundles.bundle import facts

    program = files.load_program(module, trusted, dims=dims)
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
