"""Modules as a whole: read, copied, verified, interpreted; and StableHLO's portable bytecode (VHLO), which others read.

In: text, bytecode, modules. Out: modules, bytecode. Decision to know: a module changes its context by way of bytecode.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import numpy as np

from ..errors import ArtifactError, PassError, UnsupportedGraphError
from .bindings import RELEASE, diagnostics, forget_operations, ir, new_context, stablehlo
from .values import dense_attr, walk


def parse_module(text: str | bytes, context: ir.Context, filename: str = "<module>") -> ir.Module:
    """Parses module text or MLIR bytecode.

    Raises:
        ArtifactError: with the parser's message (line, column) when it is malformed.
    """
    try:
        return ir.Module.parse(text, context)
    except (ir.MLIRError, ValueError, UnicodeDecodeError) as error:
        # MLIR calls what it parses "-".
        message = str(error).replace('"-":', f"{filename}:")
        raise ArtifactError(f"{filename} is not a well-formed StableHLO module: {message}") from None


def to_bytecode(module: ir.Module | ir.Operation) -> bytes:
    """MLIR bytecode of a module, or of an op that is one: how modules travel between contexts."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """MLIR's refusals of a type, an attribute or an op, as errors of ours; `what` says what was being done.

    Raises:
        PassError: MLIR refuses something.
    """
    try:
        yield
    except ir.MLIRError as error:
        raise PassError(
            f"{what}: MLIR refuses what is made of the module: {error}. A type or an attribute of the module is none; "
            "a file is looked through for such ones where it is loaded without trusted=True"
        ) from None


def from_bytecode(data: bytes, context: ir.Context) -> ir.Module:
    """The module in bytecode of our own; raises as `refusals` does."""
    with refusals("a copy"):
        return ir.Module.parse(data, context)


@contextmanager
def with_attributes(module: ir.Module, texts: Mapping[str, str]) -> Iterator[None]:
    """Further attributes of a module, strings, as long as the block lasts."""
    attributes = module.operation.attributes
    with module.context:
        for name, text in texts.items():
            attributes[name] = ir.StringAttr.get(text)
    try:
        yield
    finally:
        for name in texts:
            del attributes[name]


def clone_module(module: ir.Module) -> ir.Module:
    """A copy in the same context: a `builtin.module` op, which can all that `ir.Module` can but be serialized.

    In jaxlib 0.7 the ops of such a copy find no way up to it ("detached operations have no parent"): it is read again.
    """
    if RELEASE == "0.7":
        return from_bytecode(to_bytecode(module), module.context)
    return cast(ir.Module, module.operation.clone(ip=False).opview)


def clone_bytes(data: bytes) -> ir.Module:
    """A module from MLIR bytecode, in a new context."""
    return from_bytecode(data, new_context())


def replace_body(module: ir.Module, other: ir.Module) -> None:
    """Puts the functions of another module of the same context in place of a module's own."""
    forget_operations(module)
    for operation in list(module.body.operations):
        operation.operation.erase()
    for operation in other.body.operations:
        operation.operation.clone(ip=ir.InsertionPoint(module.body))


def verify(module: ir.Module, what: str) -> None:
    """MLIR's verifier.

    Raises:
        PassError: with its message, what was being done, and the path of a file that the module is written to.
    """
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise PassError(f"{what} is not valid StableHLO: {error}{_kept(module)}") from None


def _kept(module: ir.Module) -> str:
    """Writes a module that is no valid one to a file; a line that says where."""
    text = str(module.operation.get_asm(print_generic_op_form=True, assume_verified=True))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="hlograph-", suffix=".mlir", delete=False) as file:
            file.write(text)
    except OSError as error:
        return f"\nThe module could not be written to a file: {error.strerror}"
    return f"\nThe module, in generic form: {file.name}"


def reference_eval(module: ir.Module, arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Runs a static module (no CHLO, no calls out of it) in StableHLO's reference interpreter.

    The interpreter changes the module: give it a copy.
    """
    context = module.context
    with context:
        attrs = [dense_attr(np.asarray(array), context) for array in arrays]
        return [_array(result) for result in stablehlo.eval_module(module, attrs)]


def _array(result: Any) -> np.ndarray[Any, Any]:
    try:
        return np.array(result)
    except TypeError:
        raise UnsupportedGraphError(
            f"the reference interpreter's results of type {result.type} cannot be read; compile the program, or "
            "convert the result to a wider type in it"
        ) from None


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
    """Puts what another dialect than StableHLO says about ops (how a library's call is sharded) into text."""
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
