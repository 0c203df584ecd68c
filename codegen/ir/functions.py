"""Functions, what they return, and calls of them."""

from __future__ import annotations

from collections.abc import Sequence

from .bindings import ir
from .ops import Body
from .walk import free_symbol, terminator


def return_values(function: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Makes a function return other values; attributes of its results go."""
    block = function.regions[0].blocks[0]
    last = terminator(block)
    with last.location, ir.InsertionPoint(last):
        ir.Operation.create("func.return", operands=list(values))
        last.erase()
        inputs = [argument.type for argument in block.arguments]
        type_ = ir.FunctionType.get(inputs, [value.type for value in values])
        function.attributes["function_type"] = ir.TypeAttr.get(type_)
        if "res_attrs" in function.attributes:
            del function.attributes["res_attrs"]


def add_function(symbol: str, inputs: Sequence[ir.Type], body: Body, **attributes: ir.Attribute) -> ir.Operation:
    """A function at the current place: arguments of these types, and as results what `body` makes of them."""
    named = {"sym_name": ir.StringAttr.get(symbol), "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, []))}
    function = ir.Operation.create("func.func", attributes=named | attributes, regions=1)
    block = function.regions[0].blocks.append(*inputs, arg_locs=[ir.Location.current] * len(inputs))
    with ir.InsertionPoint(block):
        values = list(body(*block.arguments))
        ir.Operation.create("func.return", operands=values)
    type_ = ir.FunctionType.get(inputs, [value.type for value in values])
    function.attributes["function_type"] = ir.TypeAttr.get(type_)
    return function


def call(
    symbol: str, results: Sequence[ir.Type], operands: Sequence[ir.Value], **attributes: ir.Attribute
) -> list[ir.Value]:
    """The results of a call at the current place."""
    named = {"callee": ir.FlatSymbolRefAttr.get(symbol), **attributes}
    made = ir.Operation.create("func.call", results=list(results), operands=list(operands), attributes=named)
    return list(made.results)


def call_function(wanted: str, operands: Sequence[ir.Value], body: Body) -> list[ir.Value]:
    """The results of a call, at the current place, of a private function that is added to the module.

    Args:
        wanted: the function's name; another is found where the module has it.
        operands: what it is called with.
        body: makes the function's results of its arguments.
    """
    place = ir.InsertionPoint.current.block.owner.operation
    while place.parent is not None and place.name != "builtin.module":
        place = place.parent.operation
    (top,) = place.regions[0].blocks
    symbol = free_symbol(place, wanted)
    with ir.InsertionPoint(top):
        visibility = ir.StringAttr.get("private")
        made = add_function(symbol, [value.type for value in operands], body, sym_visibility=visibility)
    results = ir.FunctionType(ir.TypeAttr(made.attributes["function_type"]).value).results
    return call(symbol, results, operands)


def replace_by_call(operation: ir.Operation, symbol: str) -> None:
    """Calls a function of the same type in place of an operation."""
    with operation.location, ir.InsertionPoint(operation):
        values = call(symbol, [value.type for value in operation.results], operation.operands)
    for old, new in zip(operation.results, values, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()
