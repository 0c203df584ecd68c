"""What makes callables: of a graph `function`, of a program `compile`; and a program with its derivative.

In: a graph of variables or a program, and keyword arguments on how it is compiled. Out: a `Function`; a
`RaggedFunction`, where names of axes say that rows have sizes of their own; an `AheadFunction`, for devices that need
not be here; another program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ..codegen.dtypes import kind_of
from ..codegen.errors import DerivativeError, OptionError
from ..codegen.passes.registry import Optimize
from ..codegen.program import Program, Pullback
from ..codegen.renamed import renamed_options
from .executables.policy import PolicyArgument
from .function import Function
from .options import DEFAULT_CACHE_SIZE, CompileOptions, CpuArgument
from .ragged.values import is_ragged

if TYPE_CHECKING:
    from ..dialects.frontend import OnUnsupported
    from .lowered.ahead import AheadFunction, Topology
    from .ragged.callables import RaggedFunction


@renamed_options
def function(
    inputs: Any,
    results: Any,
    /,
    *,
    dims: Any = None,
    data: Sequence[Any] = (),
    device: Any = None,
    name: str = "main",
    rewrite: bool | Literal["full"] = True,
    cache_size: int = DEFAULT_CACHE_SIZE,
    policy: PolicyArgument = "auto",
    optimize: Optimize = "default",
    cpu: CpuArgument = "auto",
    outputs: Literal["jax", "numpy"] = "jax",
    on_unsupported: OnUnsupported = "refuse",
) -> Function | RaggedFunction:
    """Emits and compiles in one.

    Args:
        inputs: the graph's inputs, in call order.
        results: one output variable, or several.
        dims: names or sizes for the axes of inputs, see `emit_stablehlo`; with `{"x": ("b", "n[b]")}` the graph is of
            one row (`x` is a vector), and the callable takes `b` rows, each with its own `n`: docs/how-to/ragged.md.
        data: inputs and shared variables, or their names, that stay the same for many calls: what only they decide is
            computed when they change, see docs/how-to/data.md.
        device: "cpu", "gpu", "tpu", a `jax.Device`, or None for JAX's default device.
        name: the program's name, seen in profiles.
        rewrite: what is done to the graph first: True for hlograph's selection of the library's rewrites (numerical
            stabilization), "full" for those of its own compiled modes, False for none: docs/explanation/rewriting.md.
        cache_size: how many executables are kept.
        policy: how sizes are handled: "auto" (exact for the first, then padded to buckets), "exact" (one compile per
            size), "padded" (one compile per bucket), a `Bucket`, an int (one bound); or a dictionary of these by size
            name, e.g. `{"n": "padded", "m": hlograph.Bucket(factor=2), "k": 128}`.
        optimize: passes over each executable's module before it is compiled: "default"; "exact", which keeps every bit
            of the results; "none"; or a list such as `["sink_reductions"]`; see docs/reference/passes.md.
        cpu: how executables for CPU are made: "auto" (on JAX's client where JAX arrays come back, on a synchronous one
            of hlograph's own where NumPy arrays do), "jax", "sync", "direct" (calls without PJRT, an experiment),
            "plain" (as `jax.jit` would), or a `hlograph.CpuOptions`; see docs/explanation/cpu.md.
        outputs: "jax" or "numpy", the arrays that calls return.
        on_unsupported: "host" has ops without a lowering rule run by the graph library, in Python: docs/how-to/host.md.

    Returns:
        The callable. A single output comes back as one array, several as a tuple.
    """
    options = CompileOptions.of(
        device=device, cache_size=cache_size, policy=policy, optimize=optimize, cpu=cpu, outputs=outputs
    )
    from ..dialects.frontend import emit_stablehlo  # what a program is compiled by needs no reader of graphs

    emit = partial(emit_stablehlo, (inputs, results), name=name, rewrite=rewrite, on_unsupported=on_unsupported)
    if is_ragged(dims):
        if data:
            raise OptionError("data= does not go with rows of different lengths")
        from .ragged.callables import RaggedFunction  # with the passes that rows go through, which take long to import

        return RaggedFunction(emit, inputs if isinstance(inputs, list | tuple) else [inputs], dims, options)
    program = emit(dims=dims)
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    named = {id(x): argument.name for x, argument in zip(given, program.signature.arguments, strict=False)}
    names = [each if isinstance(each, str) else named.get(id(each), str(each)) for each in data]
    return _compiled(program, options, names)


def _compiled(program: Program, options: CompileOptions, data: Sequence[str]) -> Function:
    if not data:
        return Function(program, options)
    from .data import DataFunction  # with the passes that prepare them

    return DataFunction(program, options, data)


@renamed_options
def compile(
    program: Program,
    device: Any = None,
    *,
    topology: Topology | None = None,
    data: Sequence[str] = (),
    cache_size: int = DEFAULT_CACHE_SIZE,
    policy: PolicyArgument = "auto",
    optimize: Optimize = "default",
    cpu: CpuArgument = "auto",
    outputs: Literal["jax", "numpy"] = "jax",
) -> Function | AheadFunction:
    """A callable that compiles the program for the sizes that it meets, and runs it.

    Args:
        device: "cpu", "gpu", "tpu", a `jax.Device`, or None for JAX's default device.
        topology: in place of `device`: devices that need not be here, as
            `jax.experimental.topologies.get_topology_desc` describes them. What comes back is not called; its
            `lower` gives what JAX has ahead of time, see `AheadFunction`.
        data: names of arguments that stay the same for many calls, as for `hlograph.function`.
        cache_size, policy, optimize, cpu, outputs: how many executables are kept, how sizes are handled, the passes
            before a module is compiled, how executables for CPU are made, and which arrays calls return; as for
            `hlograph.function`.

    Raises:
        ValueError: a `topology`, and a `device` or `data`.
        PassError: `optimize` names an unknown pass.
    """
    from .lowered.ahead import AheadFunction

    given: dict[str, Any] = {"policy": policy, "optimize": optimize}
    if topology is None:
        options = CompileOptions.of(device=device, cache_size=cache_size, cpu=cpu, outputs=outputs, **given)
        return _compiled(program, options, data)
    if device is not None or data:
        raise ValueError(f"compile takes {'data' if data else 'a device'} or a topology, not both")
    return AheadFunction(program, topology, CompileOptions.of(cpu="plain", **given))


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
