"""Programs read: from text, MLIR bytecode and portable bytecode.

In: a path, or what stands in a file. Out: a program, verified, with its pullback if the file holds one.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ArtifactError, ArtifactNotFoundError
from ..ir.bindings import ir, new_context
from ..ir.modules import parse_module
from ..ir.portable import deserialize_portable, is_portable
from ..program import Program
from . import pullbacks


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
    pullback = pullbacks.detach(module, filename, parse)
    program = Program(module, filename=filename, pullback=pullback)
    if pullback is not None:
        pullbacks.check(pullback, program, filename)
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
