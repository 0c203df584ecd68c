"""Programs read: from text, MLIR bytecode and portable bytecode.

In: a path, or what stands in a file. Out: a program, verified, with its pullback if the file holds one. Decision to
know: nothing is parsed in this process that hlograph did not write, or that a child process did not parse before
(docs/security.md).
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ..errors import ArtifactError, ArtifactNotFoundError, HandEditWarning
from ..ir.bindings import ir
from ..program import Program
from . import (
    bytecode,
    custom_calls,
    defaults,
    digest,
    foreign,
    hazards,
    limits,
    meaning,
    nesting,
    pullbacks,
    structure,
    vocabulary,
)
from .foreign_dims import ForeignDims, name_sizes
from .parameters import bind
from .parsing import check_printed
from .parsing import parse as parse_module


def load(
    path: str | os.PathLike[str],
    *,
    trusted: bool = False,
    allow: Collection[str] = (),
    dims: ForeignDims | None = None,
    parameters: str | os.PathLike[str] | None = None,
) -> Program:
    """Reads a program that `Program.save` wrote, or any StableHLO module in text or bytecode.

    Text that was edited since it was saved is read with a `HandEditWarning`; bytecode that was is damaged.

    Args:
        path: the file; text and bytecode are told apart by their first bytes.
        trusted: parses the file in this process also if hlograph did not write it. Without it such a file is parsed in
            a child process first (0.3 s), because there are files that end the process that parses them. The values
            of parameters are taken as they are, too: without it they are read and compared with their digests.
        allow: names of custom calls that are taken as they are, besides those that hlograph knows with their shapes;
            what they name is code that runs in this process. "*" for all.
        dims: names for the sizes of a module that somebody else wrote, by the name or number of an argument: of its
            axes, `{"arg0": ["n", 8], 1: "2*n"}`, or of its values where it is an integer or a vector of so many
            integers, `{"arg2": "k"}`. The same name means the same size.
        parameters: the file of its parameters, see `Program.save`; by default the one in its folder that it names. It
            is mapped into memory: do not write to it, put another in its place.

    Raises:
        ArtifactNotFoundError: no such file, or none of its parameters.
        ArtifactError: it is malformed, damaged, too large, not StableHLO, or from a newer StableHLO or hlograph; it
            calls code that no file may call; what its attributes say cannot be true; `dims` does not fit it; or the
            file of parameters is not the one that it was saved with, truncated or damaged.
    """
    source = Path(path)
    program = _read(content(source), str(source), trusted, allow, level=3)
    program = name_sizes(program, dims or {})
    bind(program, source, parameters, trusted=trusted)
    return program


def parse(source: str | bytes, filename: str, *, trusted: bool | None = None, allow: Collection[str] = ()) -> Program:
    """See `Program.parse`."""
    if isinstance(source, bytes):
        return _read(source, filename, bool(trusted), allow, level=5)
    try:
        data = source.encode()
    except UnicodeEncodeError as error:
        raise ArtifactError(f"{filename} has characters that UTF-8 cannot express: {error}") from None
    return _read(data, filename, trusted is not False, allow, level=5)


def _read(data: bytes, filename: str, trusted: bool, allow: Collection[str], level: int) -> Program:
    """The program; `level` says how far up the caller stands whom a warning is for."""
    limits.check_size(len(data), filename)
    is_text = not data.startswith(bytecode.MAGIC)
    if is_text:
        limits.check_text(data, filename)
    origin = digest.origin(data, filename)
    if is_text and origin is digest.Origin.OURS:
        limits.check_strings(data, filename)
    if origin is not digest.Origin.OURS and not trusted:
        data = foreign.parse(data, filename)
    program = _program(data, filename, allow, ours=origin is digest.Origin.OURS, trusted=trusted)
    if origin is digest.Origin.EDITED:
        warnings.warn(
            f"{filename} was changed since hlograph saved it: its digest is that of other text. If you did not edit "
            "it, get it again; if you did, saving what was loaded writes a new digest",
            HandEditWarning,
            stacklevel=level,
        )
    return program


def _program(data: bytes, filename: str, allow: Collection[str], *, ours: bool, trusted: bool) -> Program:
    module = parse_module(data, filename)
    nesting.check(module, filename)
    if not ours:
        check_printed(module, filename)
    digest.unmark(module)
    vocabulary.check(module, filename)
    pullback = pullbacks.detach(
        module,
        filename,
        lambda inner, name: _program(inner, name, allow, ours=ours, trusted=trusted),
    )
    check = partial(_check, filename=filename, allow=allow)
    structure.check(module, filename, trusted=trusted)
    check(module)
    defaults.write(module)
    program = Program(module, filename=filename, pullback=pullback, check=check)
    meaning.check(module, program.signature, filename)
    if pullback is not None:
        pullbacks.check(pullback, program, filename)
    return program


def _check(module: ir.Module, filename: str, allow: Collection[str]) -> None:
    """What is looked at again once sizes are known that were open."""
    custom_calls.check(module, filename, allow)
    hazards.check(module, filename, allow)


def content(source: Path) -> bytes:
    """The bytes of a file or of a pipe."""
    try:
        with source.open("rb") as stream:
            status = os.fstat(stream.fileno())
            if stat.S_ISFIFO(status.st_mode):
                return _piped(stream, str(source))
            if not stat.S_ISREG(status.st_mode):
                raise ArtifactError(f"cannot read {source}: it is a device, no file")
            limits.check_size(status.st_size, str(source))
            return stream.read()
    except FileNotFoundError:
        raise ArtifactNotFoundError(f"no such file: {source}") from None
    except OSError as error:
        raise ArtifactError(f"cannot read {source}: {error.strerror}") from None
    except ValueError as error:  # a path with a NUL character
        raise ArtifactError(f"cannot read {source}: {error}") from None


def _piped(stream: BinaryIO, filename: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := stream.read(2**20):
        parts.append(part)
        size += len(part)
        limits.check_size(size, filename)
    return b"".join(parts)
