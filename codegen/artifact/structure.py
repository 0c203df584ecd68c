"""What a module must be for others than MLIR's parser to survive it.

In: a module that was read, verified. Out: nothing, or an `ArtifactError` that names the op or function.
Decision to know: MLIR's verifier takes modules that XLA and StableHLO's passes do not: with ops of other dialects,
and functions that have no body, or call themselves (see `hazards`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import ArtifactError
from ..ir.bindings import ir
from ..ir.walk import symbol_of, walk
from .limits import cut

_DIALECTS = ("stablehlo.", "chlo.", "sdy.")
# Functions are called by name, and are no values. Assertions are those of programs for IREE.
_OPS = frozenset({"func.func", "func.call", "func.return", "cf.assert"})
_IMPLEMENTS = "hlograph.implements"
# Ops that call functions, and the attributes that name these.
_CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition", "stablehlo.custom_call": "called_computations"}


def check(module: ir.Module, filename: str, *, trusted: bool) -> None:
    """Raises `ArtifactError` for a module that nothing but the parser takes.

    Functions without a body may stand in what is trusted, if nothing calls them or a pass knows what they are for.
    """
    bodies = {}
    for view in module.body.operations:
        function = view.operation
        if function.name != "func.func":
            _check_operation(function, filename)
        elif list(function.regions[0].blocks) or (trusted and _IMPLEMENTS in function.attributes):
            bodies[symbol_of(function)] = walk(function)
        elif not trusted:
            raise ArtifactError(f"{filename}: the function @{cut(symbol_of(function), 100)} has no body")
    for operations in bodies.values():
        for operation in operations:
            _check_operation(operation, filename)
    missing = {name for operations in bodies.values() for name in called(operations)} - bodies.keys()
    if missing:
        raise ArtifactError(f"{filename} calls the function @{cut(min(missing), 100)}, which it does not hold")


def _check_operation(operation: ir.Operation, filename: str) -> None:
    name = operation.name
    if not name.startswith(_DIALECTS) and name not in _OPS:
        raise ArtifactError(f"{filename} has the op {cut(name, 100)}, which is not StableHLO")


def called(operations: list[ir.Operation]) -> Iterator[str]:
    """The functions that ops call, each time that they do."""
    for operation in operations:
        attribute = _CALLS.get(operation.name, "")
        if attribute in operation.attributes:
            found = operation.attributes[attribute]
            for symbol in ir.ArrayAttr(found) if isinstance(found, ir.ArrayAttr) else [found]:
                yield ir.FlatSymbolRefAttr(symbol).value
