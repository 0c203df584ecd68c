"""StableHLO's portable bytecode (VHLO), which other releases and other programs read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from ..errors import ArtifactError, PassError
from .bindings import diagnostics, ir, stablehlo
from .values import walk

MAGIC = b"ML\xefR"  # of MLIR's bytecode, which portable bytecode is too
_KEPT = "hlograph.kept"  # names and texts of the attributes of an op that VHLO cannot express
_OTHERS = "sdy."
Written = TypeVar("Written")


def current_version() -> str:
    """The StableHLO version of the jaxlib in use, e.g. `1.17.0`."""
    return stablehlo.get_current_version()


def minimum_version() -> str:
    """The oldest StableHLO version that portable bytecode can target."""
    return stablehlo.get_minimum_version()


def serialize_portable(module: ir.Module, version: str) -> bytes:
    """StableHLO's portable (VHLO) bytecode for the given target version.

    Args:
        module: its caller's own: attributes of ops that VHLO has no form for become text.
        version: of StableHLO.

    Raises:
        PassError: when the module holds what that version cannot express.
    """
    _write_kept(module)
    with diagnostics(module.context) as messages:
        try:
            return stablehlo.serialize_portable_artifact(module, version)
        except (ValueError, RuntimeError) as error:
            reason: object = "; ".join(messages) or error
            if found := re.search(r"failed to legalize operation 'vhlo\.(\w+?)_v\d+'", str(reason)):
                reason = f"stablehlo.{found[1]} cannot be expressed in {version}; name a later version"
            raise PassError(f"the module cannot be written as portable StableHLO {version}: {reason}") from None


def first_version(versions: Sequence[str], write: Callable[[str], Written]) -> tuple[str, Written]:
    """The first version in which something can be written, and what was.

    Raises:
        PassError: it can be in none; what the last one says.
    """
    for version in versions[:-1]:
        with suppress(PassError):
            return version, write(version)
    return versions[-1], write(versions[-1])


def deserialize_portable(data: bytes, context: ir.Context, filename: str) -> ir.Module:
    """The module in portable bytecode; the inverse of `serialize_portable`.

    Raises:
        ArtifactError: when the bytes are malformed, truncated or from a newer StableHLO.
    """
    with diagnostics(context) as messages:
        try:
            module = stablehlo.deserialize_portable_artifact(context, data)
        except (ValueError, RuntimeError) as error:
            written = producer(data)
            hint = f" (written for {written}; this jaxlib reads up to StableHLO {current_version()})" if written else ""
            reason = "; ".join(messages) or error
            raise ArtifactError(
                f"{filename} cannot be read as portable StableHLO bytecode{hint}: {reason}. It is truncated, damaged "
                "or written by a newer StableHLO; save it again with target=, for an older version, or upgrade jaxlib."
            ) from None
    _read_kept(module, filename)
    return module


def _write_kept(module: ir.Module) -> None:
    """Puts what another dialect than StableHLO says of ops (how a library's call is sharded) into text."""
    for operation in walk(module):
        attributes = operation.attributes
        names = [name for item in attributes if (name := item if isinstance(item, str) else item.name)[:4] == _OTHERS]
        kept = {name: str(attributes[name]) for name in names}
        if kept:
            for name in kept:
                del operation.attributes[name]
            texts = [ir.StringAttr.get(text, module.context) for pair in kept.items() for text in pair]
            operation.attributes[_KEPT] = ir.ArrayAttr.get(texts, module.context)


def _read_kept(module: ir.Module, filename: str) -> None:
    """The inverse of `_write_kept`."""
    for operation in walk(module):
        if _KEPT not in operation.attributes:
            continue
        try:
            texts = [ir.StringAttr(text).value for text in ir.ArrayAttr(operation.attributes[_KEPT])]
            kept = dict(zip(texts[::2], texts[1::2], strict=True))
            if not all(name.startswith(_OTHERS) and text.startswith(f"#{_OTHERS}") for name, text in kept.items()):
                raise ValueError("they are of no dialect that is kept")
            parsed = {name: ir.Attribute.parse(text, module.context) for name, text in kept.items()}
        except (ValueError, ir.MLIRError) as error:
            raise ArtifactError(f"{filename}: the attributes in {_KEPT} cannot be read: {error}") from None
        del operation.attributes[_KEPT]
        for name, attribute in parsed.items():
            operation.attributes[name] = attribute


def is_portable(data: bytes) -> bool:
    """Whether bytes are bytecode that `serialize_portable` wrote, and not MLIR's own."""
    return data.startswith(MAGIC) and (producer(data) or "").startswith("StableHLO")


def producer(data: bytes) -> str | None:
    """The producer string in MLIR bytecode's header, e.g. `StableHLO_v1.17.0`."""
    end = data.find(b"\0", 4, 80)
    text = data[5:end].decode("ascii", "replace") if end > 5 else ""
    return text if text.isprintable() and text else None
