"""A program as a callable, and with its derivative: what `Program.compile` and `Program.with_pullback` are.

In: a program and options. Out: a `Function`, or an `AheadFunction` for devices that need not be here; another program.
"""

from __future__ import annotations

from typing import Any, Literal

from ..codegen.dtypes import kind_of
from ..codegen.errors import DerivativeError
from ..codegen.passes.registry import Optimize
from ..codegen.program import Program, Pullback
from ..codegen.renamed import renamed_options
from .executables.policy import PolicyArgument
from .function import Function
from .lowered.ahead import AheadFunction, Topology
from .options import DEFAULT_CACHE_SIZE, CompileOptions, CpuArgument


@renamed_options
def compile(
    program: Program,
    device: Any = None,
    *,
    topology: Topology | None = None,
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
        cache_size, policy, optimize, cpu, outputs: how many executables are kept, how sizes are met, which passes run
            before a module is compiled, how executables for CPU are made, and which arrays calls return; as for
            `hlograph.function`.

    Raises:
        ValueError: both `device` and `topology`.
        PassError: `optimize` names an unknown pass.
    """
    given: dict[str, Any] = {"policy": policy, "optimize": optimize}
    if topology is None:
        options = CompileOptions.of(device=device, cache_size=cache_size, cpu=cpu, outputs=outputs, **given)
        return Function(program, options)
    if device is not None:
        raise ValueError("compile takes a device or a topology, not both")
    return AheadFunction(program, topology, CompileOptions.of(cpu="plain", **given))


def with_pullback(program: Program) -> Program:
    """The program with its pullback by all real arguments from all real results, from what it was made from.

    Raises:
        DerivativeError: there is neither source nor pullback, or no derivative.
    """
    if program.pullback is not None:
        return program
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
