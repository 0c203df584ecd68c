"""A program as `jax.export.Exported`: serialized, loaded and called by plain JAX, with no hlograph installed.

In: a program. Out: what `jax.export.export` makes of a function that calls it, with symbolic sizes under their names.
JAX writes the calling convention; the program is a private function of the module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import jax
from jax import export

from ...codegen import dims as dimension
from ...codegen.analysis.platforms import PLATFORMS, has_no_form, in_the_way, known_platforms, possible, refuse_others
from ...codegen.analysis.symbolic_calls import evaluate
from ...codegen.errors import ArgumentShapeError, UnsupportedGraphError
from ...codegen.ir.jax_compat import enable_x64
from ...codegen.program import Program
from ...codegen.signature import known_constraints
from ..executables.prepared import prepare_open
from ..function import Function
from ..transforms.callee import FunctionCall
from ..transforms.primitive import call

Checks = Literal["refuse", "return", "drop"]


def to_jax_export(
    program: Program, platforms: Sequence[str] | None = None, *, checks: Checks = "refuse"
) -> export.Exported:
    """The program for plain JAX: `jax.export.deserialize` and `call`, with no hlograph installed.

    Symbolic sizes keep their names; as everywhere in JAX they are at least 1. Arguments and results of 64-bit
    types need JAX's x64 mode where it is called. A program that was emitted from a graph has its derivatives too
    (`exported.serialize(vjp_order=1)`).

    Args:
        platforms: "cpu", "cuda", "rocm", "tpu"; by default those that the program was emitted for, or the one that
            JAX runs on, or, where the program calls what that does not have, those that it can run on.
        checks: what becomes of checks that the program makes while it runs: "return" their flags as the last
            result (true where all is well), "drop" them, or "refuse" such a program.

    Raises:
        UnsupportedGraphError: a size is computed from data or is an argument's value, JAX cannot express the
            sizes, there are checks or shared variables, or a platform does not have what the program calls.
        DeviceError: the program was emitted for other platforms.
    """
    program.refuse_host_calls("what is exported runs without it")
    signature = program.signature
    if signature.checks and checks not in ("return", "drop"):
        messages = ", ".join(repr(check.message) for check in signature.checks)
        raise UnsupportedGraphError(
            f"{program.name} checks values while it runs ({messages}), and an exported function cannot raise; "
            'checks="return" returns the vector of flags as the last result, checks="drop" leaves them out'
        )
    names = ", ".join(signature.arguments[i].name for i in program.bindings if signature.arguments[i].shared)
    if names:
        raise UnsupportedGraphError(f"{program.name} reads shared variables ({names}); list them among the inputs")
    function = Function(program)
    parameters = [program.bindings[i].get_value() for i in sorted(program.bindings)]
    if signature.roots:
        prepare_open(program)  # refuses sizes that are no sizes of arguments
    count = len(signature.results) + (checks == "return" and bool(signature.checks))

    def exported(*arrays: Any) -> Any:
        results = list(call(FunctionCall(function), (*arrays, *parameters))[:count])
        if count > len(signature.results):
            results[-1] = results[-1] > 0
        return results[0] if len(results) == 1 else tuple(results)

    exported.__name__ = exported.__qualname__ = program.name
    with enable_x64(True):
        try:
            return export.export(jax.jit(exported), platforms=_platforms(program, platforms))(*_specs(program))
        except ArgumentShapeError as error:
            raise UnsupportedGraphError(
                f"JAX cannot decide by its rules what {program.name} demands of its sizes: {error}; specialize the "
                "program, or call it with hlograph"
            ) from None


def _platforms(program: Program, platforms: Sequence[str] | None) -> tuple[str, ...]:
    """The platforms to export for: those asked for, or the program's, or JAX's own, or those that it can run on."""
    module, said = program._module, program.signature.platforms
    here = possible(module)
    if platforms is None and said:
        wanted = said
    elif platforms is None:
        own = export.default_export_platform()
        wanted = here if own in PLATFORMS and own not in here and here else (own,)
    else:
        wanted = known_platforms(platforms)
        refuse_others(program.name, said, wanted)
    calls = in_the_way(module, wanted)
    if calls:
        raise UnsupportedGraphError(
            f"{program.name} calls {', '.join(calls)} and cannot be exported for {', '.join(wanted)}; "
            + (f"it can for {', '.join(here)}" if here else "no platform has them all")
        )
    if has_no_form(module) and (len(wanted) > 1 or not program.signature.is_static):
        raise UnsupportedGraphError(
            f"{program.name} has matrix functions that only a library has: specialize it, and export it for one "
            f"platform at a time ({', '.join(here)})"
        )
    return wanted


def _specs(program: Program) -> list[jax.ShapeDtypeStruct]:
    """The arguments, with symbols of JAX's for the sizes; what the constraints say about them goes into the scope.

    JAX rewrites sizes by those that are equal, so each constraint is written as those before it leave it: first what is
    equal of several sizes, then what is known of one. What JAX cannot express is refused by name.
    """
    signature, known = program.signature, known_constraints(program.signature)
    dims = [known.canonical(dim) for argument in signature.arguments for dim in argument.dims]
    names = sorted({name for dim in dims for name in dimension.roots(dim)})  # of sizes that follow from no others

    def symbols(limits: Sequence[str]) -> dict[str, Any]:
        found = {}
        with _said(program, "the constraints " + ", ".join(limits)):
            scope = export.SymbolicScope(limits)
        for name in names:
            with _said(program, f"the size {name}"):
                (found[name],) = export.symbolic_shape(name, scope=scope)
        return found

    roots = {root.name: known.canonical(dimension.symbol(root.name)) for root in signature.roots}
    limits: list[str] = []
    for constraint in sorted(
        signature.constraints, key=lambda c: c.relation != "==" or int in (type(c.lhs), type(c.rhs))
    ):
        lhs, rhs = dimension.substitute(constraint.lhs, roots), dimension.substitute(constraint.rhs, roots)
        if lhs == rhs:
            continue
        with _said(program, f"the constraint {constraint}"):
            if constraint.relation == "!=":
                raise ValueError("it has no constraint of this kind")
            sizes = symbols(limits)
            text = f"{evaluate(lhs, sizes)} {constraint.relation} {evaluate(rhs, sizes)}"
            export.SymbolicScope([text])
        limits.append(text)
    sizes, specs = symbols(limits), []
    for place, argument in enumerate(signature.arguments):
        if place not in program.bindings:
            shape = []
            for dim in argument.dims:
                with _said(program, f"the size {dim} of {argument.name}"):
                    shape.append(evaluate(known.canonical(dim), sizes))
            specs.append(jax.ShapeDtypeStruct(tuple(shape), argument.dtype))
    return specs


@contextmanager
def _said(program: Program, what: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, NotImplementedError, TypeError) as error:
        raise UnsupportedGraphError(
            f"JAX cannot express {what} of {program.name}: {error}; specialize it, or use hlograph to run it"
        ) from None
