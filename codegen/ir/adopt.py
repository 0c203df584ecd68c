"""Functions of one module moved into another.

In: a module that JAX lowered or exported, as text or as a module of the same context. Out: its functions as private
functions of ours, under names that were free.
"""

from __future__ import annotations

from collections.abc import Callable

from .attributes import PREFIX, attributes_of, call_target
from .bindings import ir, run_pipeline
from .inline import IMPLEMENTS, inline_calls
from .modules import parse_module
from .walk import free_symbol, main_function, symbol_of, walk


def adopt_text(module: ir.Module, text: str, wanted: str) -> str:
    """Adds the functions of a module that JAX wrote; its main function becomes `wanted`.

    Shape assertions, which JAX's export writes for symbolic sizes, are dropped: whoever calls the function has checked
    its sizes, and they would refuse size 0.

    Returns:
        The main function's symbol: `wanted`, or with a number where that is taken.
    """
    return adopt(module, flat(parse_module(text, module.context, "JAX lowering")), wanted)


def flat(source: ir.Module) -> ir.Module:
    """A module that JAX wrote, made one function without shape assertions, in place.

    Functions that say what they implement stay functions.
    """
    for operation in walk(source):
        if call_target(operation) == "shape_assertion":
            operation.erase()
    inline_calls(source, implementing=False)
    run_pipeline(source, "canonicalize,cse,symbol-dce")
    return source


def adopt(
    module: ir.Module,
    source: ir.Module,
    wanted: str,
    insert: Callable[[ir.Operation], None] | None = None,
) -> str:
    """Moves copies of all of `source`'s functions into `module`, as private functions.

    Of hlograph's attributes they keep what they implement.

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
        elif operation.name == "stablehlo.custom_call" and "called_computations" in operation.attributes:
            called = [ir.FlatSymbolRefAttr(x).value for x in ir.ArrayAttr(operation.attributes["called_computations"])]
            references = [ir.FlatSymbolRefAttr.get(names[symbol], module.context) for symbol in called]
            operation.attributes["called_computations"] = ir.ArrayAttr.get(references, module.context)
    result = names[symbol_of(main)]
    for function in functions:
        attributes = function.attributes
        attributes["sym_name"] = ir.StringAttr.get(names[symbol_of(function)], module.context)
        attributes["sym_visibility"] = private
        for name in attributes_of(attributes):
            if (name.startswith(PREFIX) and name != IMPLEMENTS) or name in ("arg_attrs", "res_attrs"):
                del attributes[name]
        copy = function.clone(ip=ir.InsertionPoint(module.body))
        if insert is not None:
            insert(copy)
    return result
