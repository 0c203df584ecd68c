"""What a file is and holds, without compiling or running it.

In: a path. Out: plain data, ready for JSON. Decision to know: a file that `load` refuses is described too, as far as it
can be read, with the reason.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ..analysis.platforms import PLATFORMS, platforms_of_call, possible
from ..errors import ArtifactError, HandEditWarning
from ..ir.bindings import ir
from ..ir.modules import MAGIC, producer
from ..ir.values import call_target, constants, op_counts, walk
from ..program import Program
from ..signature import Argument, Result, Root
from . import files, parameters, programs
from .custom_calls import KNOWN
from .targets import promise

Facts = dict[str, Any]
_SHOWN_CONSTANTS = 5


def inspect(path: str | os.PathLike[str], *, trusted: bool = False) -> Facts:
    """Describes a file.

    Args:
        path: a module in text or bytecode.
        trusted: as for `load`.

    Raises:
        ArtifactNotFoundError: no such file.
        ArtifactError: it is nothing that can be read at all.
    """
    file, name = Path(path), str(path)
    data = programs.content(file)
    facts = {"file": name, "bytes": len(data), **_envelope(data)}
    try:
        facts["digest"] = files.origin(data, name).value
        program, verdict = _read(file, data, trusted)
        return {**facts, **_program(program), **_parameters(program, file), **_pullback(program), "load": verdict}
    except ArtifactError as error:
        return {**facts, "load": f"refused: {error}"}


def _read(file: Path, data: bytes, trusted: bool) -> tuple[Program, str]:
    """The program, whatever it calls, and whether `load` takes it.

    Raises:
        ArtifactError: it cannot be read.
    """
    name = str(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HandEditWarning)
        try:
            program = programs.parse(data, filename=name, trusted=trusted)
            parameters.bind(program, file, None)
        except ArtifactError as error:
            return programs.parse(data, filename=name, trusted=trusted, allow="*"), f"refused: {error}"
    return program, "accepted"


def _envelope(data: bytes) -> Facts:
    written = producer(data) if data.startswith(MAGIC) else None
    facts: Facts = {"kind": "text", "stablehlo": None, "read by": "the jaxlib that wrote it; text has no version"}
    if written is not None and written.startswith("StableHLO_v"):
        version = written.removeprefix("StableHLO_v")
        facts = {"kind": "portable bytecode", "stablehlo": version, "read by": promise(version)}
    elif data.startswith(MAGIC):
        facts = {"kind": f"MLIR bytecode ({written or 'unknown writer'})", "stablehlo": None, "read by": "its writer"}
    writer, number = files.mark(data) or (None, None)
    return {**facts, "format": number, "written by": writer}


# ---- what is in a program -----------------------------------------------------------------------------------------


def _program(program: Program) -> Facts:
    signature, module = program.signature, program._module
    calls = Counter(target for target in map(call_target, walk(module)) if target)
    found = program.find(constants)
    return {
        "name": program.name,
        "arguments": [_tensor(argument, role(argument)) for argument in signature.arguments],
        "results": [_tensor(result, "size" if result.size else "") for result in signature.results],
        "sizes": [
            *({"name": root.name, "from": origin(root, signature.arguments)} for root in signature.roots),
            *(
                {"name": x.name, "from": "data" + f", at most {x.bound}" * (x.bound is not None)}
                for x in signature.counts
            ),
        ],
        "constraints": [{"constraint": str(each), "where": each.where} for each in signature.constraints],
        "checks": [{"exception": each.exception, "message": each.message} for each in signature.checks],
        "platforms": [*signature.platforms] or _platforms(module, calls),
        "custom calls": dict(calls.most_common()),
        "operations": dict(op_counts(module).most_common()),
        "constants": {"number": len(found), "bytes": sum(size for _, size, _ in found)},
        "largest constants": [{"type": type_, "bytes": size} for type_, size, _ in found[:_SHOWN_CONSTANTS]],
    }


def _tensor(item: Argument | Result, role: str) -> Facts:
    return {"name": item.name, "dtype": str(item.dtype), "dims": [str(dim) for dim in item.dims], "is": role}


def role(argument: Argument) -> str:
    if argument.parameter:
        return "parameter"
    if argument.shared:
        return "shared variable"
    if argument.key:
        return f"key ({argument.key})"
    if argument.sparse:
        return f"part of {argument.sparse[0]}"
    return "size" if argument.size else ""


def origin(root: Root, arguments: Sequence[Argument]) -> str:
    """Which input decides a size, in words."""
    name = arguments[root.argument].name
    if root.kind == "size":
        return f"size of axis {root.axis} of {name}"
    return f"value of {name}" if root.element is None else f"value of {name}[{root.element}]"


def _platforms(module: ir.Module, calls: Collection[str]) -> list[str]:
    found = possible(module)
    unknown = [target for target in calls if target not in KNOWN and platforms_of_call(target) == PLATFORMS]
    return [*(["any"] if found == PLATFORMS and not unknown else found), *(["unknown"] if unknown else [])] or ["none"]


def _parameters(program: Program, file: Path) -> Facts:
    named = [argument for argument in program.signature.arguments if argument.parameter]
    if not named:
        return {"parameters": None}
    facts: Facts = {"number": len(named)}
    try:
        beside, wanted = parameters.named_file(program, file)
        facts["file"] = beside.name
        found = parameters.Tensors(beside)
        facts["bytes"] = sum(array.nbytes for array in found.arrays.values())
        facts["state"] = "there" if found.digest == wanted else "another file"
    except ArtifactError as error:
        facts["state"] = str(error)
    return {"parameters": facts}


def _pullback(program: Program) -> Facts:
    held = program.pullback
    if held is None:
        return {"pullback": None}
    signature = program.signature
    return {
        "pullback": {
            "of": _names(signature.results, held.results),
            "by": _names(signature.arguments, held.arguments),
            "operations": sum(op_counts(held.program._module).values()),
        }
    }


def _names(items: Sequence[Argument | Result], places: Sequence[int]) -> list[str]:
    return [items[place].name if 0 <= place < len(items) else str(place) for place in places]
