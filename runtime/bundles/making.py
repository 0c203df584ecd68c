"""Bundles written: a program, with executables for sets of sizes, in one file.

In: a program or a function, and sizes. Out: the file. What is compiled is the program as the file holds it, by the
function's options, so that a call where an executable does not fit compiles the same. Decision to know: executables
call nothing of this process: neither functions of ours nor Python.
"""

from __future__ import annotations

import json
import os
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import serialize_executable

from ...codegen.analysis.platforms import refuse_others
from ...codegen.artifact.files import write_atomically
from ...codegen.artifact.parameters import contents
from ...codegen.artifact.writing import parted
from ...codegen.errors import ArtifactError, CompileError, GraphError, OptionError
from ...codegen.parameters import DEFAULT_LIMIT
from ...codegen.program import Program
from ..executables.devices import choose_device, find_device, is_synchronous, platform_of
from ..executables.policy import Bucket, PolicyArgument
from ..executables.stored import Kept, Machine, Stored, key_of
from ..function import Function
from ..options import CompileOptions
from .opening import FORMAT, MANIFEST, PARAMETERS, PROGRAM

Sizes = Mapping[str, int]


def bundle(
    source: Program | Function,
    path: str | os.PathLike[str],
    *,
    sizes: Sequence[Sizes] | None = None,
    platforms: Sequence[str] | None = None,
    derivatives: int = 0,
    parameter_limit: int = DEFAULT_LIMIT,
    **options: Any,
) -> Path:
    """Writes a program with executables for sets of sizes, which `hlograph.load_bundle` loads in place of compiling.

    The file is one of safetensors: `manifest.json`, the program as portable bytecode, its parameters and large
    constants, which are mapped into memory where it is loaded, and each executable as XLA serializes it, pickled with
    what is known of it. Those are machine code, for this kind of processor and these releases of jaxlib and hlograph;
    anywhere else the program is compiled, as it is for sizes that are not in the file. See docs/aot.md.

    Args:
        source: a program; or a function, whose options count.
        path: the file.
        sizes: of each executable, root name to size; those that follow from others, or that the policy bounds, may be
            left out. A size that is computed from data is met by its greatest value. Under a padded policy one
            executable serves all sizes of its bucket. None is one executable, where no size need be given; () is none.
        platforms: for which each is compiled: "cpu", "gpu", "tpu"; devices of them must be here. By default those that
            the program says it is for, or the CPU.
        derivatives: 1 to write the pullback too, see `Program.save`.
        parameter_limit: constants of so many bytes are large, see `Program.save`.
        options: of `Program.compile`, for a program.

    Returns:
        The path.

    Raises:
        GraphError: it is neither a program nor a function of one.
        ArgumentError: a size is missing or unknown.
        ArtifactError: the file cannot be written.
        CompileError: XLA refuses the program, or does not serialize what it has made of it.
        DeviceError: no device of a platform is here, or the program is not for it.
        HlographError: the program calls Python; it has no derivative.
    """
    if not isinstance(source, (Function, Program)):
        raise GraphError(
            f"bundle takes a program, or a function that was made of one, not {type(source).__name__}; "
            "hlograph.emit_stablehlo makes programs of graphs and of JAX functions"
        )
    if isinstance(source, Function):
        if options:
            raise OptionError(f"bundle: a function has its options already: {', '.join(options)}")
        program, chosen = source.program, source.options
    else:
        program, chosen = source, CompileOptions.of(**options)
    own = program.signature.platforms
    wanted = dict.fromkeys(own or ("cpu",) if platforms is None else platforms)
    refuse_others(program.name, own, wanted)
    saved, constants = parted(program, PARAMETERS, parameter_limit, derivatives)
    read = Program.parse(saved, filename=f"{program.name} in {path}", trusted=True)
    executables = [stored for platform in wanted for stored in _compiled(read, chosen, platform, sizes)]
    named = {f"executables/{number}": stored for number, stored in enumerate(executables)}
    parts = {MANIFEST: _manifest(chosen, named), PROGRAM: saved, **{name: one.read() for name, one in named.items()}}
    arrays = {name: np.frombuffer(data, np.uint8) for name, data in parts.items()}
    target = Path(path)
    try:
        with write_atomically(target) as stream:
            contents(arrays, inner={PARAMETERS: constants} if constants.parts else {}).write(stream)
    except OSError as error:
        raise ArtifactError(f"cannot write {target}: {error.strerror}") from None
    return target


def _manifest(options: CompileOptions, parts: Mapping[str, Stored]) -> bytes:
    """The manifest of what has these options and executables, the latter by their parts."""
    machines = list(dict.fromkeys(stored.machine for stored in parts.values()))
    numpy = options.numpy
    fields = {
        "format": FORMAT,
        "hlograph": version("hlograph"),
        "options": {
            "cache_size": options.cache_size,
            "policy": _policy(options.policy),
            "passes": list(options.passes),
            "cpu": asdict(options.cpu),
            "numpy": None if numpy is None else [sorted(numpy.arguments), sorted(numpy.results)],
        },
        "machines": [asdict(machine) for machine in machines],
        "executables": [
            {
                "part": part,
                "machine": machines.index(stored.machine),
                "sizes": {"exact": dict(stored.sizes.exact), "bounds": dict(stored.sizes.bounds)},
                "synchronous": stored.synchronous,
                "numpy": stored.numpy,
                "compile_seconds": stored.compile_seconds,
            }
            for part, stored in parts.items()
        ],
    }
    return json.dumps(fields, indent=1).encode()


def _policy(policy: PolicyArgument) -> Any:
    if isinstance(policy, Bucket):
        return {"bucket": [policy.factor, policy.start, policy.multiple, policy.limit]}
    if isinstance(policy, Mapping):
        return {"each": {name: _policy(choice) for name, choice in policy.items()}}
    return policy


def _compiled(
    program: Program, options: CompileOptions, platform: str, sizes: Sequence[Sizes] | None
) -> Iterator[Stored]:
    """What calls with these sizes run on, compiled for a platform, each once.

    Raises:
        ArgumentError: a size is missing or unknown.
    """
    options = replace(options, device=platform, cpu=replace(options.cpu, blas=False))
    numpy, known, start = options.numpy is not None, set[Any](), time.perf_counter()
    device = choose_device(options.cpu, find_device(platform), numpy=numpy)
    for given in [{}] if sizes is None else sizes:
        # A function for each: how one is met does not depend on those before.
        for executable in (each for work in Function(program, options).works([given], {}) for each in work()):
            if key_of(executable.sizes) in known:
                continue
            known.add(key_of(executable.sizes))
            try:
                data = serialize_executable.serialize(executable.ahead())
            except (jax.errors.JaxRuntimeError, ValueError, NotImplementedError) as error:
                raise CompileError(
                    f"{program.name} for {executable.sizes}: XLA does not serialize it: {error}"
                ) from None
            kept = Kept(
                executable.name,
                executable.signature,
                None if executable.plan.places is None else tuple(executable.plan.places),
                executable.plan.direct,
                executable.prepared.calls_lapack and platform_of(device) == "cpu",
                executable.notes,
                data,
            )
            seconds, machine = time.perf_counter() - start, Machine.of(device)
            read = partial(pickle.dumps, kept)
            yield Stored(executable.sizes, machine, is_synchronous(device), numpy, seconds, read)
            start = time.perf_counter()
