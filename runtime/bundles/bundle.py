"""Bundles: a program, with executables for sets of sizes, in one file, written and read.

In: a program or a function, and sizes; or the path of such a file. Out: the file; or a `Function` of the program in it,
with the options that it was bundled with, whose executables are loaded where they fit. What is compiled is the program
as the file holds it, by the function's options, so that a call where an executable does not fit compiles the same. The
manifest, as JSON, has what a reader needs who does not load the executables; all else about one is in its part:

    {"format": 2, "hlograph": "0.1.0", "options": {...}, "machines": [{...}],
     "executables": [{"part": "executables/0", "machine": 0, "sizes": {"exact": {"n": 100}, "bounds": {}}, ...}]}

Decisions to know: executables are machine code, so they are loaded only for a caller who says that the file is trusted;
its digests tell damage, not malice. They call nothing of this process: neither functions of ours nor Python.
"""

from __future__ import annotations

import json
import os
import pickle
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ...codegen import errors
from ...codegen.analysis.platforms import refuse_others
from ...codegen.artifact.files import write_atomically
from ...codegen.artifact.parameters import Tensors, bind, contents, names
from ...codegen.errors import ArtifactError, CompileError, GraphError, HlographError, OptionError
from ...codegen.parameters import DEFAULT_LIMIT
from ...codegen.passes.registry import resolve
from ...codegen.program import Program
from ...codegen.renamed import OPTIONS
from ..executables.devices import choose_device, find_device, is_synchronous, platform_of
from ..executables.policy import Bucket, Plan, PolicyArgument
from ..executables.stored import Kept, Machine, Shelf, Stored
from ..function import Function
from ..options import CompileOptions, CpuOptions, Numpy

FORMAT = 2
PROGRAM = "program.mlirbc"
MANIFEST = "manifest.json"
PARAMETERS = "parameters.safetensors"
NOT_TRUSTED = "its executables are machine code, and the bundle was not said to be trusted"
_MALFORMED = (HlographError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)

Sizes = Mapping[str, int]


# ---- writing ---------------------------------------------------------------------------------------------------------


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
    anywhere else the program is compiled, as it is for sizes that are not in the file. See docs/how-to/bundles.md.

    Args:
        source: a program; or a function, whose options count.
        path: the file.
        sizes: of each executable, root name to size; those that follow from others, or that the policy bounds, may be
            left out. A size that is computed from data counts with its greatest value. Under a padded policy one
            executable serves all sizes of its bucket. None is one executable, where no size need be given; () is none.
        platforms: for which each is compiled: "cpu", "gpu", "tpu"; devices of them must be here. By default those that
            the program says it is for, or the CPU.
        derivatives: 1 to write the pullback too, see `Program.save`.
        parameter_limit: constants of this many bytes are large, see `Program.save`.
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
    from ...codegen.artifact.programs import parted

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
    notes = source.notes if isinstance(source, Function) else {}
    parts = {MANIFEST: _manifest(chosen, named, notes), PROGRAM: saved}
    parts |= {name: one.read() for name, one in named.items()}
    arrays = {name: np.frombuffer(data, np.uint8) for name, data in parts.items()}
    target = Path(path)
    try:
        with write_atomically(target) as stream:
            contents(arrays, inner={PARAMETERS: constants} if constants.parts else {}).write(stream)
    except OSError as error:
        raise ArtifactError(f"cannot write {target}: {error.strerror}") from None
    return target


def _manifest(options: CompileOptions, parts: Mapping[str, Stored], notes: Mapping[str, Any]) -> bytes:
    machines = list(dict.fromkeys(stored.machine for stored in parts.values()))
    numpy = options.numpy
    fields = {
        "format": FORMAT,
        "hlograph": version("hlograph"),
        "notes": notes,
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
        # A function for each: how one is handled does not depend on those before.
        for executable in (each for work in Function(program, options).works([given], {}) for each in work()):
            if executable.sizes.key in known:
                continue
            known.add(executable.sizes.key)
            try:
                kept = Kept.of(executable, executable.ahead(), platform_of(device))
            except (jax.errors.JaxRuntimeError, ValueError, NotImplementedError) as error:
                raise CompileError(
                    f"{program.name} for {executable.sizes}: XLA does not serialize it: {error}"
                ) from None
            seconds, machine = time.perf_counter() - start, Machine.of(device)
            read = partial(pickle.dumps, kept)
            yield Stored(executable.sizes, machine, is_synchronous(device), numpy, seconds, read)
            start = time.perf_counter()


# ---- reading ---------------------------------------------------------------------------------------------------------


def is_bundle(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one, which may be cut off; of a pipe nothing is read."""
    try:
        return names(Path(path), MANIFEST)
    except ArtifactError:
        return False


def facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What is in a bundle, as plain data; see `codegen/artifact/inspection.py`.

    Raises:
        ArtifactNotFoundError, ArtifactError: as `load_bundle` does.
    """
    file = Tensors(Path(path))
    writer, _, options, shelf = _read(file, NOT_TRUSTED)
    program = _program(file)
    executables = [
        {
            "sizes": str(one.sizes),
            "platform": one.machine.platform,
            "arrays": "NumPy" if one.numpy else "JAX",
            "jaxlib": f"jaxlib {one.machine.jaxlib}",
            "seconds": f"{one.compile_seconds:.2f} s to make",
        }
        for one in shelf.values()
    ]
    return {
        "file": str(path),
        "bytes": Path(path).stat().st_size,
        "kind": "bundle",
        "format": FORMAT,
        "written by": f"hlograph {writer}",
        "program": f"{program.name}{program.signature}",
        "policy": str(options.policy),
        "executables": executables,
        "parts": {name: f"{size:,} bytes" for name, (_, size) in file.places.items() if name in file.arrays},
    }


def load_bundle(path: str | os.PathLike[str], *, trusted: bool | None = None) -> Function:
    """The function in a file that `hlograph.bundle` wrote; its calls run what is in there, or compile.

    What became of each executable says `Function.stats`: `loaded` counts those that were loaded, `bundle` has a line
    for each. They are loaded by the first call that needs them, if the processor and the releases are those that made
    them; where XLA refuses one, or the bundle has none for a call's sizes, the program is compiled.

    Args:
        path: the file.
        trusted: True loads the executables, which are machine code: as with a Python file, whoever wrote them can do
            whatever you can. False compiles the program in the file instead, as None does, with a warning; the program
            is parsed in a child process then, see `hlograph.load`, and the file may switch off what the plan for CPU
            does, but on nothing (`direct=True`), nor have passes other than the default ones.

    Raises:
        ArtifactNotFoundError: no such file.
        ArtifactError: it is no bundle, is damaged, or is from a later hlograph.
    """
    file = Tensors(Path(path))
    _, notes, options, shelf = _read(file, "" if trusted else NOT_TRUSTED)
    program = _program(file, trusted=bool(trusted))
    if shelf and trusted is None:
        warnings.warn(
            f"{path}: its executables are machine code and are not loaded; load_bundle(..., trusted=True) loads "
            "them, trusted=False compiles the program without this warning",
            errors.UntrustedBundleWarning,
            stacklevel=2,
        )
    try:
        function = Function(program, options, shelf)
        function.notes = notes
        return function
    except HlographError as error:
        raise ArtifactError(f"{path} cannot be read as a bundle: {error}") from None


def _program(file: Tensors, *, trusted: bool = False) -> Program:
    path = file.path
    program = Program.parse(file.part(PROGRAM), filename=str(path), trusted=trusted)
    place = file.places.get(PARAMETERS)
    if place is None and any(argument.parameter for argument in program.signature.arguments):
        raise ArtifactError(f"{path} does not hold the parameters of its program")
    bind(program, path, place=place)
    return program


def _read(file: Tensors, refusal: str) -> tuple[str, dict[str, Any], CompileOptions, Shelf]:
    """The release that wrote a bundle, its notes, the options of its function, and its executables.

    Args:
        file: the bundle.
        refusal: why no executable is loaded, of a file that is not trusted: its options then switch nothing on.

    Raises:
        ArtifactError: its manifest is malformed, or of a later format.
    """
    data = file.part(MANIFEST)
    try:
        fields = json.loads(data)
        if fields["format"] != FORMAT:
            raise ValueError(f"its format is {fields['format']}, and this hlograph reads {FORMAT}")
        machines = [Machine(**one) for one in fields["machines"]]
        stored = [
            Stored(
                Plan(**one["sizes"]),
                machines[one["machine"]],
                one["synchronous"],
                one["numpy"],
                one["compile_seconds"],
                partial(file.part, one["part"]),
                refusal,
            )
            for one in fields["executables"]
        ]
        shelf = {one.sizes.key: one for one in stored}
        options = _options(fields["options"], trusted=not refusal)
        return fields["hlograph"], dict(fields.get("notes", {})), options, shelf
    except _MALFORMED as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ArtifactError(
            f"{file.path} cannot be read as a bundle: its manifest is malformed: {what[:300]}"
        ) from None


def _options(fields: Mapping[str, Any], *, trusted: bool) -> CompileOptions:
    """The options; of a file that is not trusted those that switch something off, the client, and default passes."""
    given = {name: x for name, x in fields["cpu"].items() if name not in OPTIONS}  # which there were once
    cpu, passes, numpy = CpuOptions(**given), tuple(fields["passes"]), fields["numpy"]
    if not trusted:
        passes = resolve(passes)
        cpu = CpuOptions(**{name: x for name, x in asdict(cpu).items() if x is False or name == "client"})
        default = resolve("default")
        strange = [spec for spec in passes if spec not in (*default, *resolve("exact"))]
        if strange:
            raise ValueError(
                f"it asks for the pass {strange[0]!r:.80}, which is not one of the default ones; "
                "load_bundle(..., trusted=True) runs it"
            )
    if fields["cache_size"] < 1:
        raise ValueError(f"cache_size is {fields['cache_size']}")
    arrays = None if numpy is None else Numpy(*map(frozenset, numpy))
    return CompileOptions(None, fields["cache_size"], _read_policy(fields["policy"]), passes, cpu, arrays)


def _read_policy(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice
    if "bucket" in choice:
        return Bucket(*choice["bucket"])
    return {name: _read_policy(one) for name, one in choice["each"].items()}
