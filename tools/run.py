"""`hlograph run MODULE`: arrays by name in, arrays by name out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..codegen.artifact.files import write_atomically
from .console import columns, format_dims, format_seconds, progress
from .files import STDIN, Dims, dims_option, load_program, output_option, trusted_option

if TYPE_CHECKING:
    import numpy as np

    from .. import Function, Program

SECONDS_NOT_TO_REPEAT = 2.0
Arrays = Mapping[str, "np.ndarray[Any, Any]"]


@click.command()
@click.argument("module", metavar="MODULE")
@click.option("--inputs", metavar="FILE.npz", help="The arguments: one array for each name.")
@output_option("--output", "-o", suffixes=(".npz",), text="Write the results to this file, by name.")
@click.option("--device", type=click.Choice(["cpu", "gpu", "tpu"]), help="Where to run; else JAX's default device.")
@click.option("--interpret", is_flag=True, help="Use StableHLO's reference interpreter: slow, shares no code with XLA.")
@dims_option
@trusted_option
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
    dims: Sequence[Dims],
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
    bundled = hlograph.load_bundle(module, trusted=trusted) if module != STDIN and is_bundle(module) else None
    if bundled is not None and dims:
        raise click.UsageError("--dims is for modules; a bundle has its sizes in it")
    program = load_program(module, trusted, allow, dims) if bundled is None else bundled.program
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
    """The results of a call, on the host, and the seconds until they were there."""
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
    """An array for NumPy's files: of a dtype that NumPy does not have itself, its bits in a field of that name."""
    import numpy as np

    if array.dtype.isbuiltin == 1:
        return array
    return array.view(np.dtype([(array.dtype.name, f"u{array.dtype.itemsize}")]))


def _write_arrays(file: str, arrays: Arrays) -> None:
    import numpy as np

    with write_atomically(file) as stream:
        np.savez(stream, **{name: _named(array) for name, array in arrays.items()})


def _row(name: str, result: Any) -> tuple[str, str, str, str]:
    """Name, dtype and shape of a result, and its value when it is a single number."""
    return name, str(result.dtype), format_dims(result.shape), str(result[()]) if result.ndim == 0 else ""
