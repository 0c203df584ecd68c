"""Programs written: text, and portable bytecode; a file is written whole or not at all.

In: a program and a path. Out: the file, with a digest (see `digest`); a program with its pullback is one module (see
`pullbacks`).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import ArtifactError, PassError
from ..ir.modules import with_attributes
from ..ir.portable import current_version, serialize_portable
from ..program import Program
from . import digest
from .files import write_atomically
from .pullbacks import attach

TEXT_SUFFIX, PORTABLE_SUFFIX = ".mlir", ".mlirbc"


def to_portable(program: Program, target_version: str | None) -> bytes:
    """See `Program.to_portable`."""
    program.refuse_host_calls("a file has none of them")
    version = target_version or current_version()
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise PassError(f"target_version {version!r} is not a StableHLO version such as {current_version()!r}")
    module = program.run_passes(["chlo-legalize-to-stablehlo"])._module
    with with_attributes(module, digest.marks()):
        return digest.seal(serialize_portable(module, version))


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
        data = digest.seal(program.to_text(locations=locations, marks=digest.marks()).encode())
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
