"""`emit_stablehlo`: from a graph object, or a function that JAX can trace, to a `Program`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from ..codegen.analysis.platforms import known_platforms
from ..codegen.emit import emit
from ..codegen.errors import GraphError, OptionError
from ..codegen.graph import DimsArgument
from ..codegen.program import Program
from ..codegen.renamed import renamed_options
from ..codegen.source import GraphSource
from . import registry
from .tensor import host

OnUnsupported: TypeAlias = Literal["refuse", "host"]


@renamed_options
def emit_stablehlo(
    graph: Any,
    *specs: Any,
    dims: DimsArgument | None = None,
    name: str | None = None,
    rewrite: bool | Literal["full"] = False,
    constraints: Sequence[str] = (),
    on_unsupported: OnUnsupported = "refuse",
    parameter_limit: int | None = None,
    platforms: Sequence[str] | None = None,
) -> Program:
    """Lowers a tensor graph, or a function that JAX can trace, to StableHLO.

    Args:
        graph: a PyTensor `FunctionGraph`, an `(inputs, outputs)` pair (a tuple, each side a variable or several), a
            compiled PyTensor function, an output variable, or a list of output variables (their root inputs are
            found); or a function of JAX arrays, or a `jax.extend.core.ClosedJaxpr`.
        specs: for a function, one per positional argument: a pytree of arrays or of
            `jax.ShapeDtypeStruct(("n", 8), "float32")`, whose shapes may hold names and expressions (`"2*n + 1"`).
        dims: names or sizes for the axes of inputs, e.g. `{"x": ("n", 8)}`; the same name means the same size. Axes
            of a graph that nothing says more about become symbolic dimensions named `x_0`; those of a function's
            arguments stay as the specs have them. For a pytree by prefix: a tuple of names counts for all leaves with
            that many axes, a dictionary or tuple of such for its entries.
        name: the module's name; by default "main", or the function's.
        rewrite: what is done to the graph first: False, it is lowered as it stands; True, hlograph's selection of the
            library's rewrites (numerical stabilization: `log(sigmoid(x))` becomes `-softplus(-x)`); "full", those of
            the library's own compiled modes.
        constraints: for a function, what JAX may take for granted of the sizes besides `n >= 1`: `"n >= 2"`,
            `"n % 8 == 0"`.
        on_unsupported: for a graph, what becomes of ops without a rule: they are refused, or with "host" run by the
            graph library itself, in Python, which the program calls (docs/how-to/host.md).
        parameter_limit: constants of this many bytes are parameters: arguments that callers do not give, so that no
            module or executable holds a copy (docs/how-to/files.md). For a graph those of floating-point numbers, for a
            function what it closes over. By default all constants are in the module.
        platforms: those that the program is for, some of "cpu", "cuda", "rocm" and "tpu". It says so, in files too:
            it is compiled, bundled and exported for these and no others, and everything in it is what all of them
            have. By default it runs wherever what it calls is there; a function is lowered by JAX for the platform
            that JAX runs on.

    Returns:
        The program. Shared variables become trailing arguments; `Program.compile` feeds their current values.

    Raises:
        UnsupportedOpError: ops without a rule, all of them.
        MissingInputError: an output depends on variables that are not inputs.
        GraphError: `graph` is nothing that can be read, or `dims` does not fit it.
        DataDependentSizeError: a size is computed from data.
        OptionError: an option has no such value.
        UnsupportedGraphError: JAX cannot trace the function with symbolic sizes; or one of the platforms does not have
            what the program calls, which is named.
    """
    options: dict[str, Any] = {"dims": dims, "name": name, "parameter_limit": parameter_limit, "platforms": platforms}
    if registry.is_function(graph):
        if rewrite:
            raise GraphError("rewrite is for graphs: a function is lowered as JAX traces it")
        wanted = () if platforms is None else known_platforms(platforms)
        return registry.trace(graph, specs, **{**options, "constraints": constraints, "platforms": wanted})
    if specs or constraints:
        raise GraphError("specs and constraints are for functions that JAX traces; for a graph, give dims")
    emitted: Callable[..., Program] = emit_graph
    return _loosening(partial(emitted, graph, rewrite=rewrite, on_unsupported=on_unsupported, **options))


def _loosening(emitted: Callable[..., Program]) -> Program:
    program = emitted()
    if isinstance(program.source, GraphSource):
        program.source = replace(program.source, loosened=lambda demand: _loosening(partial(emitted, **{demand: True})))
    return program


def emit_graph(
    graph: Any,
    *,
    dims: DimsArgument | None = None,
    name: str | None = None,
    rewrite: bool | Literal["full"] = False,
    on_unsupported: OnUnsupported = "refuse",
    parameter_limit: int | None = None,
    platforms: Sequence[str] | None = None,
    rng_inputs: bool = False,
    **loose: bool,
) -> Program:
    """`emit_stablehlo` of a graph, with what is for hlograph to ask for.

    Args:
        graph, dims, name, rewrite, on_unsupported, parameter_limit, platforms: as for `emit_stablehlo`.
        rng_inputs: generators are arguments and results of their own, as keys.
        loose: demands on sizes that are not made, at the price of a larger program: `own_branch_sizes` of the branches
            of an `IfElse` to agree, `open_sizes` of the sizes of a new shape not to be -1, `stretched_indices` of index
            tensors to have one shape. The errors of calls that break one have its name (`ArgumentShapeError.option`).
    """
    wanted = () if platforms is None else known_platforms(platforms)
    read = registry.read_graph(graph, rewrite=rewrite, rng_inputs=rng_inputs, parameter_limit=parameter_limit)
    if on_unsupported not in get_args(OnUnsupported):
        raise OptionError(f'on_unsupported must be "refuse" or "host", got {on_unsupported!r}')
    find = host.find if on_unsupported == "host" else registry.find
    program = emit(read, dims or {}, name or "main", find, platforms=wanted, **loose)
    if read.transforms is not None:
        again: Callable[..., Program] = emit_graph
        more = partial(again, on_unsupported=on_unsupported, platforms=platforms, **loose)
        program.source = GraphSource(read, more)
    return program
