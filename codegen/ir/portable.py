"""StableHLO's portable bytecode (VHLO), which other releases and other programs read."""

from __future__ import annotations

import re

from ..errors import ArtifactError, PassError
from .bindings import diagnostics, ir, stablehlo


def current_version() -> str:
    """The StableHLO version of the jaxlib in use, e.g. `1.17.0`."""
    return stablehlo.get_current_version()


def minimum_version() -> str:
    """The oldest StableHLO version that portable bytecode can target."""
    return stablehlo.get_minimum_version()


def serialize_portable(module: ir.Module, version: str) -> bytes:
    """StableHLO's portable (VHLO) bytecode for the given target version.

    Raises:
        PassError: when the module holds what that version cannot express.
    """
    with diagnostics(module.context) as messages:
        try:
            return stablehlo.serialize_portable_artifact(module, version)
        except (ValueError, RuntimeError) as error:
            reason = _refused_op(messages, version) or "; ".join(messages) or error
            raise PassError(f"the module cannot be written as portable StableHLO {version}: {reason}") from None


def deserialize_portable(data: bytes, context: ir.Context, filename: str) -> ir.Module:
    """The module in portable bytecode; the inverse of `serialize_portable`.

    Raises:
        ArtifactError: when the bytes are malformed, truncated or from a newer StableHLO.
    """
    with diagnostics(context) as messages:
        try:
            return stablehlo.deserialize_portable_artifact(context, data)
        except (ValueError, RuntimeError) as error:
            written = producer(data)
            hint = f" (written for {written}; this jaxlib reads up to StableHLO {current_version()})" if written else ""
            reason = "; ".join(messages) or error
            raise ArtifactError(
                f"{filename} cannot be read as portable StableHLO bytecode{hint}: {reason}. It is truncated, damaged "
                "or written by a newer StableHLO; save it again with an older target_version, or upgrade jaxlib."
            ) from None


def is_portable(data: bytes) -> bool:
    """Whether bytes are bytecode that `serialize_portable` wrote, and not MLIR's own."""
    return data[:4] == b"ML\xefR" and (producer(data) or "").startswith("StableHLO")


def _refused_op(messages: list[str], version: str) -> str:
    """What StableHLO says of an op that a version does not have, in words; "" where it says something else."""
    found = re.search(r"failed to legalize operation 'vhlo\.(\w+?)_v\d+'", "; ".join(messages))
    return f"stablehlo.{found[1]} cannot be expressed in {version}; name a later version" if found else ""


def producer(data: bytes) -> str | None:
    """The producer string in MLIR bytecode's header, e.g. `StableHLO_v1.17.0`."""
    end = data.find(b"\0", 4, 80)
    text = data[5:end].decode("ascii", "replace") if end > 5 else ""
    return text if text.isprintable() and text else None
