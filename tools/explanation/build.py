"""`hlograph.explain`: from a graph, a program or a compiled function to its explanation.

What is said about padding is what the padding pass did (`walk.py`), at one representative bound for each size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...codegen.analysis.host_groups import given_by, host_groups, taken_by
from ...codegen.constraints import Constraint
from ...codegen.dims_text import parse
from ...codegen.ir.host_calls import name_of, parts_of
from ...codegen.program import Program
from ...runtime.executables.policy import (
    Policies,
    PolicyArgument,
)
from ...runtime.function import Function
from ...runtime.transforms.derived import Transformable
from ..console import count
from .explanation import Explanation
from .record import DerivedFunction, PythonCall
from .sizes import axes_of, bounds_of, sizes_of
from .walk import PYTHON, Node, Value, walk


def explain(
    source: Any,
    *specs: Any,
    policy: PolicyArgument | None = None,
    bounds: Mapping[str, int] | None = None,
    dims: Any = None,
) -> Explanation:
    """Explains every size of a program that is not static: where it comes from, how it is met, what padding does.

        print(hlograph.explain(program))
        hlograph.explain(fn).save_html("fn.html")

    Args:
        source: a `Program`; a compiled function (of `hlograph.function` or `Program.compile`, or of `hlograph.jit` once
            it was called), whose own policy and statistics are used; or what `emit_stablehlo` takes.
        specs: for a function of JAX arrays, its arguments' shapes and dtypes, see `emit_stablehlo`. For a jitted
            function that has traced several programs, arguments that say which one is meant.
        policy: how sizes are met, see `hlograph.function`; by default "auto", or what a compiled function has.
        bounds: size name to the bound for which padding is looked at; by default what the policy says, or 128.
        dims: for a graph, names of axes, see `emit_stablehlo`.

    Returns:
        The explanation; printed it is text, `.html` is the same as a page.

    Raises:
        HlographError: the source cannot be explained, a policy or bound names what is no size, ...
    """
    program, function = _find(source, specs, dims)
    chosen = policy if policy is not None else function.options.policy if function is not None else "auto"
    signature = program.signature
    choices = Policies(chosen, signature).choices
    limits = bounds_of(signature, choices, bounds or {})
    facts = walk(program.copy_module(), limits)
    sizes = sizes_of(signature, choices, limits, facts.refusals)
    nodes = [node for node in facts.nodes if not node.sizes_only]
    return Explanation(
        name=program.name,
        signature=signature,
        sizes=sizes,
        axes=axes_of(signature, sizes, nodes),
        actions=tuple(facts.actions),
        refusals=tuple(facts.refusals),
        operations=len(nodes),
        touched=sum(bool(node.names) for node in nodes),
        stats=function.stats if function is not None else None,
        plan=_plan(program) if function is None and signature.is_static else (),
        derived=tuple(_derived(function)) if function is not None else (),
        decided=_decided(source, program),
        python=tuple(_python(program, facts.nodes)),
    )


def _python(program: Program, found: Sequence[Node]) -> Iterator[PythonCall]:
    """The calls of Python, without what says sizes and order; those that are one call together."""
    if not program.host_calls:
        return
    nodes = {node.name.removeprefix(PYTHON): node for node in found if node.name.startswith(PYTHON)}
    module = program.copy_module()  # it lives as long as its ops are looked at
    for group in host_groups(module):
        names = [part.name for call in group for part in parts_of(call)]
        values: dict[Any, Value] = {}
        for call in group:
            node = nodes[name_of(call)]
            values.update(zip(call.operands, node.operands, strict=True))
            values.update(zip(call.results, node.results, strict=True))
        taken, given = ([values[x] for x in side] for side in (taken_by(group), given_by(group)))
        calls = [program.host_calls.get(name) for name in names]
        yield PythonCall(
            tuple(name if call is None else call.name for name, call in zip(names, calls, strict=True)),
            tuple("" if call is None else call.why for call in calls),
            tuple(f"{value.dtype}{value}" for value in taken),
            tuple(f"{value.dtype}{value}" for value in given),
            _bytes_of([*taken, *given]),
            node.block,
        )


def _bytes_of(values: Sequence[Value]) -> str:
    """How many bytes values are together, as an expression of sizes."""
    if any("?" in value.dims for value in values):
        return "?"
    sizes = [prod(map(parse, value.dims)) * np.dtype(value.dtype).itemsize for value in values]
    return str(sum(sizes))


def _decided(source: Any, program: Program) -> tuple[Constraint, ...]:
    from ...runtime.jit import Jit

    guards = source.guards(program) if isinstance(source, Jit) else ()
    return tuple(guard for guard in guards if guard not in program.signature.constraints)


def _plan(program: Program) -> tuple[str, ...]:
    from ...runtime.executables import cpu_plan
    from ...runtime.options import CpuOptions

    return cpu_plan.describe(program.optimize(), CpuOptions())


def _derived(function: Transformable) -> Iterator[DerivedFunction]:
    """All that was made of a function, and of what was made of it."""
    derived = function.derived
    for mapped, reason in derived.loops.items():
        arguments = [a.name for a, flag in zip(function.program.signature.arguments, mapped, strict=True) if flag]
        means = "a loop over the batch" if derived.inline is None else "jax.vmap of the function, by a batch"
        yield DerivedFunction(f"{function.program.name}_batched", f"{means} of {', '.join(arguments)}: {reason}")
    for what, reason in derived.inlined.items():
        yield DerivedFunction(f"{function.program.name}, {what}", f"by JAX from the function: {reason}")
    for made in derived:
        stats = made.stats
        yield DerivedFunction(made.program.name, f"{count(stats.calls, 'call')}, {count(stats.compiles, 'compile')}")
        yield from _derived(made)


def _find(source: Any, specs: Sequence[Any], dims: Any) -> tuple[Program, Function | None]:
    """The program that is meant, and the compiled function if it is one."""
    from ...dialects.frontend import emit_stablehlo
    from ...runtime.jit import Jit
    from ...runtime.ragged.graphs import RaggedFunction
    from ...runtime.ragged.jitted import RaggedJit

    if isinstance(source, Jit):
        functions = source.functions
        if specs:
            program = source.program(*specs)
            return program, next((function for function in functions if function.program is program), None)
        function = _only(source, functions)
        return function.program, function
    if isinstance(source, RaggedFunction):  # of rows, the program of one is what there is to explain
        return source.program, None
    if isinstance(source, RaggedJit):
        found = [source.program(*specs)] if specs else source.programs
        return _only(source, found), None
    if isinstance(source, Function | Program) and (specs or dims is not None):
        raise TypeError("explain: dims and specs are for graphs; a program has its own")
    if isinstance(source, Function):
        return source.program, source
    return source if isinstance(source, Program) else emit_stablehlo(source, *specs, dims=dims), None


def _only(source: Any, found: Sequence[Any]) -> Any:
    """What there is one of."""
    if len(found) != 1:
        raise ValueError(
            f"explain: {source!r} has traced {count(len(found), 'program')}; "
            "give arguments to say which is meant: explain(function, *arguments)"
        )
    return found[0]
