"""Bundles read: a function whose executables are loaded where they fit.

In: a path. Out: a `Function` of the program in the file, with the options that it was bundled with. A file's manifest,
as JSON, has what a reader needs who does not load the executables; all else about one is in its part:

    {"format": 2, "hlograph": "0.1.0", "options": {...}, "machines": [{...}],
     "executables": [{"part": "executables/0", "machine": 0, "sizes": {"exact": {"n": 100}, "bounds": {}}, ...}]}

Decision to know: executables are machine code, so they are loaded only for a caller who says that the file is trusted;
its digests tell damage, not malice.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...codegen.artifact.parameters import Tensors, bind, names
from ...codegen.errors import ArtifactError, HlographError
from ...codegen.passes.registry import resolve
from ...codegen.program import Program
from ...codegen.renamed import OPTIONS
from ..executables.policy import Bucket, Plan
from ..executables.stored import Machine, Shelf, Stored
from ..function import Function
from ..options import CompileOptions, CpuOptions, Numpy

FORMAT = 2
PROGRAM = "program.mlirbc"
MANIFEST = "manifest.json"
PARAMETERS = "parameters.safetensors"
_MALFORMED = (HlographError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)

Fields = dict[str, Any]


@dataclass(frozen=True)
class Manifest:
    """What is in a bundle.

    Attributes:
        writer: the release of hlograph that wrote it.
        options: of the function.
        executables: they.
    """

    writer: str
    options: CompileOptions
    executables: Sequence[Stored]


NOT_TRUSTED = "its executables are machine code, and the bundle was not said to be trusted"


class UntrustedBundleWarning(UserWarning):
    """The executables of a bundle are not loaded, as nobody has said whether it is trusted."""


def is_bundle(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one, which may be cut off; of a pipe nothing is read."""
    try:
        return names(Path(path), MANIFEST)
    except ArtifactError:
        return False


def _opened(path: str | os.PathLike[str], refusal: str) -> tuple[Tensors, Manifest]:
    file = Tensors(Path(path))
    return file, _manifest(file.part(MANIFEST), str(path), file.part, refusal)


def described(path: str | os.PathLike[str]) -> list[Stored]:
    """What executables a bundle holds; none is loaded.

    Raises:
        ArtifactNotFoundError, ArtifactError: as `load_bundle` does.
    """
    return list(_opened(path, NOT_TRUSTED)[1].executables)


def facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What is in a bundle, as plain data; see `codegen/artifact/inspection.py`.

    Raises:
        ArtifactNotFoundError, ArtifactError: as `load_bundle` does.
    """
    file, manifest = _opened(path, NOT_TRUSTED)
    program = _program(file)
    executables = [
        {
            "sizes": str(stored.sizes),
            "platform": stored.machine.platform,
            "arrays": "NumPy" if stored.numpy else "JAX",
            "jaxlib": f"jaxlib {stored.machine.jaxlib}",
            "seconds": f"{stored.compile_seconds:.2f} s to make",
        }
        for stored in manifest.executables
    ]
    return {
        "file": str(path),
        "bytes": Path(path).stat().st_size,
        "kind": "bundle",
        "format": FORMAT,
        "written by": f"hlograph {manifest.writer}",
        "program": f"{program.name}{program.signature}",
        "policy": str(manifest.options.policy),
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
        trusted: True loads the executables, which are machine code: as with a Python file, who has written them can do
            whatever you can. False compiles the program in the file instead, as None does, with a warning; the program
            is parsed in a child process then, see `hlograph.load`, and the file may switch off what the plan for CPU
            does, but on nothing (`direct=True`), nor have passes that are none of the default ones.

    Raises:
        ArtifactNotFoundError: no such file.
        ArtifactError: it is no bundle, is damaged, or is from a later hlograph.
    """
    file, manifest = _opened(path, "" if trusted else NOT_TRUSTED)
    program = _program(file, trusted=bool(trusted))
    if manifest.executables and trusted is None:
        warnings.warn(
            f"{path}: its executables are machine code and are not loaded; load_bundle(..., trusted=True) loads "
            "them, trusted=False compiles the program without this warning",
            UntrustedBundleWarning,
            stacklevel=2,
        )
    try:
        return Function(program, manifest.options, Shelf(manifest.executables))
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


def _manifest(data: bytes, filename: str, part: Callable[[str], bytes], refusal: str) -> Manifest:
    """A manifest.

    Args:
        data: its bytes.
        filename: of the bundle, for messages.
        part: gives a part by its name.
        refusal: why no executable is loaded, of a file that is not trusted: its options then switch nothing on.

    Raises:
        ArtifactError: it is malformed, or of a later format.
    """
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
                partial(part, one["part"]),
                refusal,
            )
            for one in fields["executables"]
        ]
        options = _options(fields["options"], trusted=not refusal)
        return Manifest(fields["hlograph"], options, stored)
    except _MALFORMED as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ArtifactError(f"{filename} cannot be read as a bundle: its manifest is malformed: {what[:300]}") from None


def _options(fields: Fields, *, trusted: bool) -> CompileOptions:
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
                f"it asks for the pass {strange[0]!r:.80}, which is none of the default ones; "
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
