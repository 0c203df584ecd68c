"""Functions of one module moved into another.

In: a module that JAX lowered or exported, as text or as a module of the same context. Out: its functions as private
functions of ours, under names that were free. MLIR's inliner is no help here: it leaves calls inside loops alone.
"""

from __future__ import annotations

from collections.abc import Callable

from . import mlir
from .mlir import attributes_of, ir
from .signature import PREFIX, main_function


def walk(root: ir.Module | ir.Operation) -> list[ir.Operation]:
    """An operation (a module's own) and all that its regions hold, without recursion."""
    found: list[ir.Operation] = []
    stack = [root.operation]
    while stack:
        current = stack.pop()
        found.append(current)
        for region in current.regions:
            for block in region.blocks:
                stack.extend(reversed([operation.operation for operation in block.operations]))
    return found


def has_operations(module: ir.Module, count: int) -> bool:
    """Whether a module holds at least so many operations, functions not counted."""
    stack = list(module.body.operations)
    while stack and count > 0:
        for region in stack.pop().operation.regions:
            for block in region.blocks:
                for operation in block.operations:
                    count -= 1
                    if count <= 0:
                        return True
                    if len(operation.operation.regions):
                        stack.append(operation)
    return count <= 0


def symbol_of(function: ir.Operation) -> str:
    """A function's name."""
    return ir.StringAttr(function.attributes["sym_name"]).value


def free_symbol(module: ir.Module, wanted: str) -> str:
    """A symbol that the module does not hold: `wanted`, or `wanted_1`, ..."""
    taken = {symbol_of(op.operation) for op in module.body.operations if "sym_name" in op.operation.attributes}
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def adopt_text(module: ir.Module, text: str, wanted: str) -> str:
    """Adds the functions of a module that JAX wrote; its main function becomes `wanted`.

    Shape assertions, which JAX's export writes for symbolic sizes, are dropped: whoever calls the function has checked
    its sizes, and they would refuse size 0.

    Returns:
        The main function's symbol: `wanted`, or with a number where that is taken.
    """
    return adopt(module, flat(mlir.parse_module(text, module.context, "JAX lowering")), wanted)


def flat(source: ir.Module) -> ir.Module:
    """A module that JAX wrote, made one function without shape assertions, in place."""
    for operation in walk(source):
        if operation.name == "stablehlo.custom_call" and "shape_assertion" in str(
            operation.attributes["call_target_name"]
        ):
            operation.erase()
    inline_calls(source)
    mlir.run_pipeline(source, "canonicalize,cse,symbol-dce")
    return source


_FIXED = 'inlineable = "false"'


def inline_calls(module: ir.Module, *, all_of_them: bool = True) -> None:
    """Puts the callee's body in place of every call, those in loops included.

    Without `all_of_them` calls and functions that are marked as not to be inlined stay
    (`mhlo.frontend_attributes = {inlineable = "false"}`).

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
                if all_of_them or not (_is_fixed(operation) or _is_fixed(functions[callee])):
                    _inline(operation, functions[callee])

    for symbol in functions:
        flatten(symbol)


def _is_fixed(operation: ir.Operation) -> bool:
    name = "mhlo.frontend_attributes"
    return name in operation.attributes and _FIXED in str(operation.attributes[name])


def _inline(call: ir.Operation, callee: ir.Operation) -> None:
    body = callee.regions[0].blocks[0]
    values = dict(zip(body.arguments, call.operands, strict=True))
    for operation in body.operations:
        if operation.operation.name == "func.return":
            for result, value in zip(call.results, operation.operands, strict=True):
                result.replace_all_uses_with(values[value])
            break
        copy = operation.operation.clone(ip=ir.InsertionPoint(call))
        for inner in walk(copy):
            for place, operand in enumerate(inner.operands):
                if operand in values:
                    inner.operands[place] = values[operand]
        values.update(zip(operation.results, copy.results, strict=True))
    call.erase()


def adopt(
    module: ir.Module,
    source: ir.Module,
    wanted: str,
    insert: Callable[[ir.Operation], None] | None = None,
) -> str:
    """Moves copies of all of `source`'s functions into `module`, as private functions without hlograph's attributes.

    Args:
        module: where to.
        source: a module of the same context; it is left changed.
        wanted: name for its main function; other functions keep theirs. A number is added where a name is taken.
        insert: called with each function put into `module` (for a symbol table that must know).

    Returns:
        The main function's symbol.
    """
    main = main_function(source)
    functions = [op.operation for op in source.body.operations]
    private = ir.StringAttr.get("private", module.context)
    names: dict[str, str] = {}
    for function in functions:
        old = symbol_of(function)
        new = free_symbol(module, wanted if old == symbol_of(main) else old)
        number = 0
        while new in names.values():
            number += 1
            new = free_symbol(module, f"{old}_{number}")
        names[old] = new
    for operation in walk(source):
        if operation.name == "func.call":
            callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            operation.attributes["callee"] = ir.FlatSymbolRefAttr.get(names[callee], module.context)
    result = names[symbol_of(main)]
    for function in functions:
        attributes = function.attributes
        attributes["sym_name"] = ir.StringAttr.get(names[symbol_of(function)], module.context)
        attributes["sym_visibility"] = private
        for name in attributes_of(attributes):
            if name.startswith(PREFIX) or name in ("arg_attrs", "res_attrs"):
                del attributes[name]
        copy = function.clone(ip=ir.InsertionPoint(module.body))
        if insert is not None:
            insert(copy)
    return result
