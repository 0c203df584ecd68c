"""The one door from a program to what runs, saves and exports it. Each room opens when it is first asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..codegen.interrupts import deferred

if TYPE_CHECKING:
    import numpy as np
    from jax.export import Exported as Exported

    from ..codegen.artifact.targets import TargetCosts as TargetCosts
    from ..codegen.ir.bindings import ir
    from ..codegen.program import Program
    from .executables.policy import PolicyArgument as PolicyArgument
    from .function import Function as Function
    from .lowered.ahead import AheadFunction as AheadFunction
    from .lowered.ahead import Topology as Topology
    from .options import CpuArgument as CpuArgument


def parse(source: str | bytes, filename: str, trusted: bool | None, allow: Collection[str]) -> Program:
    """See `Program.parse`."""
    from ..codegen.artifact import reading

    return reading.parse(source, filename, trusted=trusted, allow=allow)


def to_portable(program: Program, target_version: str | None) -> bytes:
    """See `Program.to_portable`."""
    from ..codegen.artifact import writing

    return writing.to_portable(program, target_version)


def save(program: Program, path: str | os.PathLike[str], **options: Any) -> Path:
    """See `Program.save`."""
    from ..codegen.artifact import writing

    return writing.save(program, path, **options)


def pickled(program: Program) -> tuple[Callable[..., Program], tuple[Any, ...]]:
    """What pickles hold of a program: its module, the values that it is bound to, and its pullback.

    What it was made from stays behind; `Program.with_pullback` keeps its derivative.

    Raises:
        UnsupportedGraphError: it calls Python.
    """
    program.refuse_host_calls("a pickle has none of them")
    kept = {name: getattr(program, name) for name in ("filename", "bindings", "pullback", "check")}
    return unpickled, (version("jaxlib"), program.to_bytecode(), kept, program.optimized)


def unpickled(writer: str, bytecode: bytes, kept: dict[str, Any], optimized: tuple[str, ...]) -> Program:
    """The program in a pickle, which the release of jaxlib reads that wrote it.

    Raises:
        ArtifactError: this is another one.
    """
    from ..codegen.errors import ArtifactError
    from ..codegen.ir.modules import clone_bytes
    from ..codegen.program import Program

    if writer != version("jaxlib"):
        raise ArtifactError(
            f"{kept['filename']} was pickled with jaxlib {writer}, and here is {version('jaxlib')}, which may not read "
            "that: save the program to a file (`program.save(path)`), which other releases read"
        )
    program = Program(clone_bytes(bytecode), **kept)
    program.optimized = optimized
    return program


def plain(program: Program, **options: Any) -> Program:
    """See `Program.plain`."""
    from ..codegen.artifact.plain import plain

    return plain(program, **options)


def describe(program: Program) -> dict[str, Any]:
    """See `Program.describe`."""
    from ..codegen.artifact.description import describe

    return describe(program)


def self_contained(program: Program) -> Program:
    """The program with its parameters as constants."""
    from ..codegen.artifact import parameters

    return parameters.self_contained(program)


def target_costs(program: Program, target: str) -> TargetCosts:
    """See `Program.target_costs`."""
    from ..codegen.artifact import targets

    return targets.costs(program, target)


def whole_module(program: Program) -> ir.Module:
    """See `Program.whole_module`."""
    from ..codegen.artifact import pullbacks

    assert program.pullback is not None
    return pullbacks.attach(program.copy_module(), program.pullback)


def with_pullback(program: Program) -> Program:
    """See `Program.with_pullback`."""
    with deferred():
        from ..codegen.program import Program
        from .function import Function

    found = Function(program).derived.whole_pullback()
    return Program(
        program.copy_module(),
        filename=program.filename,
        bindings=program.bindings,
        pullback=found,
        host_calls=program.host_calls,
    )


def interpret(program: Program, arrays: Sequence[Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """See `Program.interpret`."""
    with deferred():
        from .interpret import interpret

    return interpret(program, arrays)


def compile(program: Program, **options: Any) -> Function:
    """See `Program.compile`."""
    with deferred():
        from .function import Function
        from .options import CompileOptions

    return Function(program, CompileOptions.of(**options))


def compile_ahead(program: Program, topology: Topology, **options: Any) -> AheadFunction:
    """See `Program.compile`."""
    with deferred():
        from .lowered.ahead import AheadFunction
        from .options import CompileOptions

    return AheadFunction(program, topology, CompileOptions.of(cpu="plain", **options))


def to_jax_export(program: Program, platforms: Sequence[str] | None, checks: Any) -> Exported:
    """See `Program.to_jax_export`."""
    with deferred():
        from .lowered.jax_export import to_jax_export

    return to_jax_export(program, platforms, checks)
