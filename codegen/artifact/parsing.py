"""From the bytes of a file to an MLIR module, verified.

In: text, MLIR bytecode or portable bytecode. Out: the module, in a context of its own. Decision to know: files are
parsed in a child process first (see `foreign`), which makes sure that what the loading process parses is not too much.
"""

from __future__ import annotations

from ..errors import ArtifactError
from ..ir.bindings import diagnostics, ir, new_context
from ..ir.modules import parse_module
from ..ir.portable import deserialize_portable, is_portable
from . import nesting
from .limits import cut


def parse(data: bytes, filename: str) -> ir.Module:
    """The module; what MLIR says about it is in the error, not on stderr.

    Raises:
        ArtifactError: the bytes are malformed, truncated, not StableHLO, or from a newer StableHLO.
    """
    context = new_context()
    with diagnostics(context):
        try:
            if is_portable(data):
                module = deserialize_portable(data, context, filename)
            else:
                module = parse_module(data, context, filename)
            module.operation.verify()
        except ir.MLIRError as error:
            raise ArtifactError(cut(f"{filename} is not valid StableHLO: {error}")) from None
        except ArtifactError as error:
            raise ArtifactError(cut(str(error))) from None
        except (RuntimeError, OverflowError, MemoryError, SystemError) as error:
            raise ArtifactError(cut(f"{filename} is not a module that MLIR can read: {error}")) from None
    return module


def parse_limited(data: bytes, filename: str) -> ir.Module:
    """`parse`, of a module that is not too much for others than the parser.

    Raises:
        ArtifactError: as `parse` and `nesting.check` do.
    """
    module = parse(data, filename)
    nesting.check(module, filename)
    return module
