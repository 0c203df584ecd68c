"""Modules as a whole: read, copied, verified, interpreted.

In: text, bytecode, modules. Out: modules, bytecode. Decision to know: a module changes its context by way of bytecode.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from ..errors import ArtifactError, PassError, UnsupportedGraphError
from .bindings import RELEASE, forget_operations, ir, new_context, stablehlo
from .values import dense_attr


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
