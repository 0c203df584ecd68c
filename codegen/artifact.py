"""Programs as files and bytes: text, MLIR bytecode, portable bytecode; a program with its pullback in one module.

In: a program and a path, or the other way round. Out: a file, written whole or not at all; a program, verified. What
`Program.save(..., derivatives=1)` writes is

    module @logp {
      func.func @main(%X, %beta) -> (%logp)
      module @pullback attributes {hlograph.of = ["1"], hlograph.from = ["0"]} {
        func.func @main(%X, %beta, %logp_cotangent) -> (%beta_cotangent)
      }
    }

The inner module's `@main` takes the arguments of the outer one and cotangents of the results `hlograph.from`; it gives
the cotangents of the arguments `hlograph.of`. Arguments that are not listed have none, or it is zero.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from .errors import ArtifactError, ArtifactNotFoundError, PassError
from .files import write_atomically
from .ir.bindings import ir, new_context
from .ir.modules import clone_bytes, parse_module, to_bytecode
from .ir.portable import current_version, deserialize_portable, is_portable, serialize_portable
from .program import Program, Pullback

TEXT_SUFFIX, PORTABLE_SUFFIX = ".mlir", ".mlirbc"
_NAME, _OF, _FROM = "pullback", "hlograph.of", "hlograph.from"


def parse(source: str | bytes, filename: str) -> Program:
    """See `Program.parse`."""
    context = new_context()
    if isinstance(source, bytes) and is_portable(source):
        module = deserialize_portable(source, context, filename)
    else:
        module = parse_module(source, context, filename)
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise ArtifactError(f"{filename} is not valid StableHLO: {error}") from None
    pullback = detach(module, filename)
    program = Program(module, filename=filename, pullback=pullback)
    if pullback is not None:
        check(pullback, program, filename)
    return program


def load(path: str | os.PathLike[str]) -> Program:
    """Reads a program that `Program.save` wrote, or any StableHLO module in text or bytecode.

    Args:
        path: the file; text and bytecode are told apart by their first bytes.

    Raises:
        ArtifactNotFoundError: no such file.
        ArtifactError: it is malformed, truncated, not StableHLO, or from a newer StableHLO.
    """
    source = Path(path)
    try:
        data = source.read_bytes()
    except FileNotFoundError:
        raise ArtifactNotFoundError(f"no such file: {source}") from None
    except OSError as error:
        raise ArtifactError(f"cannot read {source}: {error.strerror}") from None
    if data[:4] == b"ML\xefR":
        return parse(data, str(source))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ArtifactError(f"{source} is neither StableHLO text nor bytecode") from None
    if not text.strip():
        raise ArtifactError(f"{source} is empty")
    return parse(text, str(source))


def to_portable(program: Program, target_version: str | None) -> bytes:
    """See `Program.to_portable`."""
    program.refuse_host_calls("a file has none of them")
    version = target_version or current_version()
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise PassError(f"target_version {version!r} is not a StableHLO version such as {current_version()!r}")
    module = program.run_passes(["chlo-legalize-to-stablehlo"])._module
    return serialize_portable(module, version)


def save(
    program: Program,
    path: str | os.PathLike[str],
    *,
    target_version: str | None = None,
    locations: bool = False,
    derivatives: int = 0,
) -> Path:
    """See `Program.save`."""
    program.refuse_host_calls("a file has none of them")
    if derivatives not in (0, 1):
        raise ValueError(f"derivatives must be 0 or 1, got {derivatives!r}")
    if derivatives:
        whole = program.with_pullback()
        assert whole.pullback is not None
        joined = Program(attach(whole._module, whole.pullback), filename=program.filename)
        return save(joined, path, target_version=target_version, locations=locations)
    target = Path(path)
    if target.suffix == TEXT_SUFFIX:
        data = program.to_text(locations=locations).encode()
    elif target.suffix == PORTABLE_SUFFIX:
        data = to_portable(program, target_version)
    else:
        raise ArtifactError(
            f"cannot tell the format of {target}: the name must end in {TEXT_SUFFIX} (text) or "
            f"{PORTABLE_SUFFIX} (portable bytecode)"
        )
    try:
        with write_atomically(target) as file:
            file.write(data)
    except OSError as error:
        raise ArtifactError(f"cannot write {target}: {error.strerror}") from None
    return target


def attach(module: ir.Module, pullback: Pullback) -> ir.Module:
    """A copy of a module that holds the pullback too."""
    joined = clone_bytes(to_bytecode(module))
    inner = ir.Module.parse(pullback.program.to_bytecode(), joined.context).operation
    with joined.context:
        inner.attributes["sym_name"] = ir.StringAttr.get(_NAME)
        for name, places in ((_OF, pullback.arguments), (_FROM, pullback.results)):
            inner.attributes[name] = ir.ArrayAttr.get([ir.StringAttr.get(str(place)) for place in places])
    inner.clone(ip=ir.InsertionPoint(joined.body))
    return joined


def detach(module: ir.Module, filename: str) -> Pullback | None:
    """Takes the pullback out of a module that was read.

    Raises:
        ArtifactError: it is not what `attach` writes.
    """
    for operation in module.body.operations:
        inner = operation.operation
        if inner.name == "builtin.module" and _OF in inner.attributes and _FROM in inner.attributes:
            try:
                arguments, results = (_places(inner.attributes[name]) for name in (_OF, _FROM))
            except ValueError as error:
                raise ArtifactError(f"{filename}: the attributes of @{_NAME} cannot be read: {error}") from None
            program = parse(str(inner), f"{filename}, @{_NAME}")
            inner.erase()
            return Pullback(program, arguments, results)
    return None


def check(pullback: Pullback, program: Program, filename: str) -> None:
    """Raises `ArtifactError` unless the pullback's arguments and results are those that the program's make."""
    outer, inner = program.signature, pullback.program.signature
    places = [*pullback.arguments, *pullback.results]
    fits = all(place >= 0 for place in places)
    fits = fits and all(place < len(outer.arguments) for place in pullback.arguments)
    fits = fits and all(place < len(outer.results) for place in pullback.results)
    if fits:
        taken = [*outer.arguments, *[outer.results[place] for place in pullback.results]]
        given = [outer.arguments[place] for place in pullback.arguments]
        fits = [_kind(x) for x in taken] == [_kind(x) for x in inner.arguments]
        fits = fits and [_kind(x) for x in given] == [_kind(x) for x in inner.results]
    if not fits:
        raise ArtifactError(f"{filename}: @{_NAME} is not the pullback of {program.signature}: {inner}")


def _kind(item: object) -> tuple[object, int]:
    return getattr(item, "dtype", None), len(getattr(item, "dims", ()))


def _places(attribute: ir.Attribute) -> tuple[int, ...]:
    return tuple(int(ir.StringAttr(text).value) for text in ir.ArrayAttr(attribute))
