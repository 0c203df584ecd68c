"""What a module must be for others than MLIR's parser to survive it.

In: a module that hlograph did not write, verified. Out: nothing, or an `ArtifactError` that names the op or function.
Decision to know: MLIR's verifier takes modules that XLA and StableHLO's passes do not: with ops of other dialects,
functions that call themselves or have no body, types with encodings, and ops that wait for another program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ArtifactError
from ..ir.attributes import attributes_of, names_of
from ..ir.bindings import ir
from ..ir.walk import symbol_of, walk
from .limits import cut

_DIALECTS = ("func.", "stablehlo.", "chlo.", "sdy.")
_IMPLEMENTS = "hlograph.implements"
_BOUNDS = "#stablehlo.bounds<"
# Ops that call functions, and the attributes that name these.
_CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition", "stablehlo.custom_call": "called_computations"}


def check_attributes(module: ir.Module, filename: str) -> None:
    """Raises `ArtifactError` for an attribute that the Python bindings have no class for: a location."""
    for operation in walk(module):
        for name in names_of(operation.attributes):
            if operation.name == "stablehlo.constant" and name == "value":
                continue  # complex ones have no class either, and end the process in old releases
            if not _is_readable(operation.attributes, name):
                raise ArtifactError(
                    f"{filename} has an attribute {cut(name, 100)} on {cut(operation.name, 100)} that is or holds a "
                    "location; take it out"
                )


def _is_readable(source: Any, name: str) -> bool:
    try:
        waiting = [source[name]]
        while waiting:
            attribute = waiting.pop()
            if isinstance(attribute, ir.ArrayAttr):
                waiting += list(ir.ArrayAttr(attribute))
            elif isinstance(attribute, ir.DictAttr):
                waiting += attributes_of(ir.DictAttr(attribute)).values()
    except TypeError:
        return False
    return True


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
    _check_calls({name: set(_called(operations)) for name, operations in bodies.items()}, filename)


def _check_operation(operation: ir.Operation, filename: str) -> None:
    name = operation.name
    if not name.startswith(_DIALECTS):
        raise ArtifactError(f"{filename} has the op {cut(name, 100)}, which is not StableHLO")
    for value in operation.results:
        _check_type(value.type, filename)
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.arguments:
                _check_type(argument.type, filename)


def _check_type(type_: ir.Type, filename: str) -> None:
    encoding = type_.encoding if isinstance(type_, ir.RankedTensorType) else None
    if encoding is not None and not str(encoding).startswith(_BOUNDS):
        raise ArtifactError(f"{filename} has the type {cut(str(type_), 200)}, whose encoding is not StableHLO's")


def _called(operations: list[ir.Operation]) -> Iterator[str]:
    for operation in operations:
        attribute = _CALLS.get(operation.name, "")
        if attribute in operation.attributes:
            found = operation.attributes[attribute]
            for symbol in ir.ArrayAttr(found) if isinstance(found, ir.ArrayAttr) else [found]:
                yield ir.FlatSymbolRefAttr(symbol).value


def _check_calls(calls: Mapping[str, set[str]], filename: str) -> None:
    """Functions are taken away that call none of the others, until none is left or they call in a circle."""
    missing = set().union(*calls.values()) - calls.keys()
    if missing:
        raise ArtifactError(f"{filename} calls the function @{cut(min(missing), 100)}, which it does not hold")
    callers: dict[str, list[str]] = {name: [] for name in calls}
    for name, called in calls.items():
        for each in called:
            callers[each].append(name)
    left = {name: len(called) for name, called in calls.items()}
    ends = [name for name, count in left.items() if not count]
    while ends:
        name = ends.pop()
        del left[name]
        for caller in callers[name]:
            left[caller] -= 1
            if not left[caller]:
                ends.append(caller)
    if left:
        raise ArtifactError(f"{filename}: the function @{cut(min(left), 100)} calls itself, or one that does")
