"""Calls replaced by what they call. MLIR's inliner is no help: it leaves calls inside loops alone."""

from __future__ import annotations

from collections.abc import Callable

from .bindings import ir
from .clone import clone_block
from .walk import symbol_of, walk

# On a private function: the name of what it does, for rules and libraries that know it.
IMPLEMENTS = "hlograph.implements"
_FIXED = 'inlineable = "false"'


def inline_calls(
    module: ir.Module,
    *,
    all_of_them: bool = True,
    implementing: bool = True,
    only: Callable[[ir.Operation], bool] = lambda function: True,
) -> None:
    """Puts the callee's body in place of every call, those in loops included.

    Without `all_of_them` calls and functions that are marked as not to be inlined stay
    (`mhlo.frontend_attributes = {inlineable = "false"}`); without `implementing` calls of functions that say what they
    implement, for which a library may come later. `only` says of which functions, once what they call is inlined.

    StableHLO's shape refinement demands that all calls of a function have the same argument types at every moment,
    which a call in a loop breaks while the loop's own types are still being refined.
    """
    functions = {symbol_of(op.operation): op.operation for op in module.body.operations}
    flat: set[str] = set()

    def flatten(symbol: str) -> None:
        if symbol in flat:
            return
        flat.add(symbol)
        for operation in walk(functions[symbol]):
            if operation.name == "func.call":
                callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
                flatten(callee)
                function = functions[callee]
                stays = not all_of_them and (_is_fixed(operation) or _is_fixed(function))
                if not stays and only(function) and (implementing or IMPLEMENTS not in function.attributes):
                    _inline(operation, function)

    for symbol in functions:
        flatten(symbol)


def _is_fixed(operation: ir.Operation) -> bool:
    name = "mhlo.frontend_attributes"
    return name in operation.attributes and _FIXED in str(operation.attributes[name])


def _inline(call: ir.Operation, callee: ir.Operation) -> None:
    body = callee.regions[0].blocks[0]
    values = dict(zip(body.arguments, call.operands, strict=True))
    with ir.InsertionPoint(call):
        returned, _ = clone_block(body, values)
    for result, value in zip(call.results, returned, strict=True):
        result.replace_all_uses_with(value)
    call.erase()
