"""Functions, what they return, and calls of them."""

from __future__ import annotations

from collections.abc import Sequence

from .bindings import ir
from .ops import Body
from .walk import terminator


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


def replace_by_call(operation: ir.Operation, symbol: str) -> None:
    """Calls a function of the same type in place of an operation."""
    with operation.location, ir.InsertionPoint(operation):
        values = call(symbol, [value.type for value in operation.results], operation.operands)
    for old, new in zip(operation.results, values, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()
