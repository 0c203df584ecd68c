"""What makes callables: of a graph `function`, of a program `compile`; and a program with its derivative.

In: a graph of variables or a program, and keyword arguments on how it is compiled. Out: a `Function`; a
`RaggedFunction`, where names of axes say that rows have sizes of their own; an `AheadFunction`, for devices that need
not be here; another program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack

from ..codegen.dtypes import kind_of
from ..codegen.errors import DerivativeError, OptionError
from ..codegen.program import Program, Pullback
from .function import Function
from .options import CompileOptions, Options, taking_options
from .ragged.values import is_ragged

if TYPE_CHECKING:
    from ..dialects.frontend import OnUnsupported
    from .lowered.ahead import AheadFunction, Topology
    from .ragged.callables import RaggedFunction


@taking_options()
def function(
    inputs: Any,
    results: Any,
    /,
    *,
    dims: Any = None,
    data: Sequence[Any] = (),
    name: str = "main",
    rewrite: bool | Literal["full"] = True,
    on_unsupported: OnUnsupported = "refuse",
    **options: Unpack[Options],
) -> Function | RaggedFunction:
    """Emits and compiles in one.

    Args:
        inputs: the graph's inputs, in call order.
        results: one output variable, or several.
        dims: names or sizes for the axes of inputs, see `emit_stablehlo`; with `{"x": ("b", "n[b]")}` the graph is of
            one row (`x` is a vector), and the callable takes `b` rows, each with its own `n`: docs/how-to/ragged.md.
        data: inputs and shared variables, or their names, that stay the same for many calls: what only they decide is
            computed when they change, see docs/how-to/data.md.
        name: the program's name, seen in profiles.
        rewrite: what is done to the graph first: True for hlograph's selection of the library's rewrites (numerical
            stabilization), "full" for those of its own compiled modes, False for none: docs/explanation/rewriting.md.
        on_unsupported: "host" has ops without a lowering rule run by the graph library, in Python: docs/how-to/host.md.
        options: those of `Options`.

    Returns:
        The callable. A single output comes back as one array, several as a tuple.
    """
    how = CompileOptions.of(**options)
    from ..dialects.frontend import emit_stablehlo  # what a program is compiled by needs no reader of graphs

    emit = partial(emit_stablehlo, (inputs, results), name=name, rewrite=rewrite, on_unsupported=on_unsupported)
    if is_ragged(dims):
        if data:
            raise OptionError("data= does not go with rows of different lengths")
        from .ragged.callables import RaggedFunction  # with the passes that rows go through, which take long to import

        return RaggedFunction(emit, inputs if isinstance(inputs, list | tuple) else [inputs], dims, how)
    program = emit(dims=dims)
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    named = {id(x): argument.name for x, argument in zip(given, program.signature.arguments, strict=False)}
    names = [each if isinstance(each, str) else named.get(id(each), str(each)) for each in data]
    return _compiled(program, how, names)


def _compiled(program: Program, options: CompileOptions, data: Sequence[str]) -> Function:
    if not data:
        return Function(program, options)
    from .data import DataFunction  # with the passes that prepare them

    return DataFunction(program, options, data)


@taking_options()
def compile(
    program: Program,
    device: Any = None,
    *,
    topology: Topology | None = None,
    data: Sequence[str] = (),
    **options: Any,
) -> Function | AheadFunction:
    """A callable that compiles the program for the sizes that it meets, and runs it.

    Args:
        topology: in place of `device`: devices that need not be here, as
            `jax.experimental.topologies.get_topology_desc` describes them. What comes back is not called; its
            `lower` gives what JAX has ahead of time, see `AheadFunction`.
        data: names of arguments that stay the same for many calls, as for `hlograph.function`.
        options: those of `Options`.

    Raises:
        ValueError: a `topology`, and a `device` or `data`.
        PassError: `optimize` names an unknown pass.
    """
    from .lowered.ahead import AheadFunction

    if topology is None:
        return _compiled(program, CompileOptions.of(**{**options, "device": device}), data)
    if device is not None or data:
        raise ValueError(f"compile takes {'data' if data else 'a device'} or a topology, not both")
    return AheadFunction(program, topology, CompileOptions.of(**{**options, "cpu": "plain"}))


def with_derivatives(program: Program, derivatives: int) -> Program:
    """The program with this many derivatives beside it, which files, text and pickles hold.

    Args:
        derivatives: 1 for its pullback by all real arguments from all real results, from what it was made from; 0 for
            the program alone, as for what a pullback cannot follow (`pad`).

    Raises:
        DerivativeError: there is neither source nor pullback, or no derivative.
    """
    if derivatives not in (0, 1):
        raise ValueError(f"derivatives must be 0 or 1, got {derivatives!r}")
    if not derivatives or program.pullback is not None:
        return program if derivatives else program.alone()
    signature = program.signature
    given = [i for i, a in enumerate(signature.arguments) if not a.shared and not a.parameter]
    active = tuple(i for i in given if kind_of(signature.arguments[i].dtype) == "f")
    seeded = tuple(j for j, result in enumerate(signature.results) if kind_of(result.dtype) == "f")
    found = Function(program).derived.made("pullback", active, seeded) if active and seeded else None
    if found is None:
        raise DerivativeError(f"no result of {program.name} depends smoothly on an argument")
    return Program(
        program.copy_module(),
        filename=program.filename,
        bindings=program.bindings,
        pullback=Pullback(found[0].program, found[1], seeded),
        host_calls=program.host_calls,
    )
