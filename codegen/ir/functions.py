"""Functions, what they return, and calls of them: made, replaced by what they call, moved into another module.

Also custom calls that stand for ops until their sizes are known, as those ops; and calls that are put aside. In: a call
whose operands that say sizes are constants by now. Out: the op, with the call's types, open ones among them:
StableHLO's refinement infers them. Decision to know: XLA's own refinement does the same, but it inlines all functions,
also those that say what they implement, so that no library would come in their place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from . import ops
from .bindings import ir, run_pipeline, stablehlo
from .modules import parse_module
from .ops import Body, clone_block
from .values import (
    PREFIX,
    attributes_of,
    call_target,
    constant,
    dense_attr,
    free_symbol,
    integers,
    main_function,
    sizes_of,
    symbol_of,
    terminator,
    text_attribute,
    walk,
)


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


def call_function(wanted: str, operands: Sequence[ir.Value], body: Body, **attributes: ir.Attribute) -> list[ir.Value]:
    """The results of a call, at the current place, of a private function that is added to the module.

    Args:
        wanted: the function's name; another is found where the module has it.
        operands: what it is called with.
        body: makes the function's results of its arguments.
        attributes: of the call.
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
    return call(symbol, results, operands, **attributes)


def replace_by_call(operation: ir.Operation, symbol: str) -> None:
    """Calls a function of the same type in place of an operation."""
    with operation.location, ir.InsertionPoint(operation):
        values = call(symbol, [value.type for value in operation.results], operation.operands)
    for old, new in zip(operation.results, values, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()


# ---- calls replaced by what they call: MLIR's inliner leaves calls inside loops alone -------------------------------


# On a private function: the name of what it does, for rules and libraries that know it.
IMPLEMENTS = "hlograph.implements"
_FIXED = 'inlineable = "false"'
# Ops that call functions, and the attributes that name these.
_CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition", "stablehlo.custom_call": "called_computations"}


def inline_calls(
    module: ir.Module,
    *,
    fixed: bool = False,
    implementing: bool = False,
    only: Callable[[ir.Operation], bool] = lambda function: True,
) -> None:
    """Puts the callee's body in place of every call, those in loops included.

    Calls stay that are marked as not to be inlined, or whose functions are (`mhlo.frontend_attributes = {inlineable =
    "false"}`), without `fixed`; and calls of functions that say what they implement, for which a library may come
    later, without `implementing`. `only` says which functions, once what they call is inlined.

    StableHLO's shape refinement demands that all calls of a function have the same argument types at every moment,
    which a call in a loop breaks while the loop's own types are still being refined.
    """
    functions = {symbol_of(op.operation): op.operation for op in module.body.operations}
    counts = Counter(called(walk(module)))
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
                marks = [text_attribute(op, "mhlo.frontend_attributes") for op in (operation, function)]
                stays = not fixed and any(_FIXED in mark for mark in marks)
                if not stays and only(function) and (implementing or IMPLEMENTS not in function.attributes):
                    last = counts[callee] == 1 and "private" in text_attribute(function, "sym_visibility")
                    inline(operation, function, last=last)

    for symbol in functions:
        flatten(symbol)


def called(operations: Iterable[ir.Operation]) -> Iterator[str]:
    """The names of the functions that these ops call, for each time."""
    for operation in operations:
        found = attributes_of(operation.attributes).get(_CALLS[operation.name]) if operation.name in _CALLS else None
        if found is not None:
            for symbol in ir.ArrayAttr(found) if isinstance(found, ir.ArrayAttr) else [found]:
                yield ir.FlatSymbolRefAttr(symbol).value


def inline(call: ir.Operation, callee: ir.Operation, last: bool = False) -> None:
    """Puts a function's body in place of a call: a copy, or where this is the `last` call the body itself."""
    function = callee if last else callee.clone(ip=ir.InsertionPoint(call))
    body = function.regions[0].blocks[0]
    for argument, operand in zip(body.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    place = str(call.location)
    for op in [op.operation for op in body.operations][:-1]:
        op.move_before(call)
        # In functions that JAX keeps, ops have no line, or only lines that led to the call.
        own = '":' in place and re.fullmatch(r'loc\("([^"]*)"\(?(.*?)\)*', str(op.location))
        if own and own[2] in place:
            with suppress(AttributeError):  # of releases in which a location cannot be changed
                op.location = ir.Location.name(own[1], call.location, call.context)
    for result, value in zip(call.results, list(terminator(body).operands), strict=True):
        result.replace_all_uses_with(value)
    call.erase()
    function.erase()


# ---- functions of one module moved into another --------------------------------------------------------------------


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
    inline_calls(source, fixed=True)
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
        names[old] = free_symbol(module, wanted if old == symbol_of(main) else old, names.values())
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


_HIDDEN = "hlograph.call"


def hide(module: ir.Module) -> None:
    """Makes calls of functions custom calls, which a round of refinement passes over."""
    for operation in walk(module):
        if operation.name != "func.call":
            continue
        with module.context, ir.InsertionPoint(operation), operation.location:
            attributes = {
                "call_target_name": ir.StringAttr.get(_HIDDEN),
                _HIDDEN: ir.DictAttr.get(attributes_of(operation.attributes)),
            }
            hidden = _create("stablehlo.custom_call", operation, list(operation.operands), attributes)
        for result, value in zip(operation.results, hidden.results, strict=True):
            result.replace_all_uses_with(value)
        operation.erase()


def _create(
    name: str,
    like: ir.Operation,
    operands: Sequence[ir.Value],
    attributes: Mapping[str, ir.Attribute],
    regions: int = 0,
) -> ir.Operation:
    types = [result.type for result in like.results]
    return ir.Operation.create(name, results=types, operands=operands, attributes=dict(attributes), regions=regions)


def _numbers(value: ir.Value) -> list[int] | None:
    known = constant(value)
    return None if known is None else np.broadcast_to(known, sizes_of(value)).ravel().astype(np.int64).tolist()


def _reduce_window(operation: ir.Operation, functions: Mapping[str, ir.Operation]) -> ir.Operation | None:
    """Of arrays and their initial values, the window, strides, dilations (the arrays', the window's) and padding."""
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    count = 2 * len(operation.results)
    called = attributes_of(operation.attributes).get("called_computations")
    if called is None or len(operation.operands) != count + len(names) + 1 or len(ir.ArrayAttr(called)) != 1:
        return None
    *lists, padding = map(_numbers, list(operation.operands)[count:])
    if padding is None or len(padding) % 2 or None in lists:
        return None
    attributes: dict[str, ir.Attribute] = {
        "padding": dense_attr(np.array(padding, np.int64).reshape(-1, 2), operation.context),
        **{name: ops.integer_list(numbers) for name, numbers in zip(names, lists, strict=True) if numbers is not None},
    }
    made = _create("stablehlo.reduce_window", operation, list(operation.operands)[:count], attributes, regions=1)
    block = functions[ir.FlatSymbolRefAttr(ir.ArrayAttr(called)[0]).value].regions[0].blocks[0]
    types = [argument.type for argument in block.arguments]
    ops.fill(made.regions[0], types, lambda *xs: clone_block(block, dict(zip(block.arguments, xs, strict=True)))[0])
    return made


def _top_k(operation: ir.Operation, _functions: Any) -> ir.Operation | None:
    """Of an array, and how many of its elements."""
    known = _numbers(operation.operands[1]) if len(operation.operands) == 2 else None
    if known is None or len(known) != 1 or known[0] < 0:
        return None
    attributes: dict[str, ir.Attribute] = {"k": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), known[0])}
    if "is_stable" in operation.attributes:
        attributes["is_stable"] = operation.attributes["is_stable"]
    return _create("chlo.top_k", operation, [operation.operands[0]], attributes)


def _rng_bit_generator(operation: ir.Operation, _functions: Any) -> ir.Operation | None:
    """Of a state, and the shape of the bits."""
    known = _numbers(operation.operands[1]) if len(operation.operands) == len(operation.results) == 2 else None
    if known is None or any(size < 0 for size in known) or "rng_algorithm" not in operation.attributes:
        return None
    return ir.Operation.create(
        "stablehlo.rng_bit_generator",
        results=[operation.operands[0].type, ops.tensor_type(operation.results[1], known)],
        operands=[operation.operands[0]],
        attributes={"rng_algorithm": operation.attributes["rng_algorithm"]},
    )


def _call(operation: ir.Operation, _functions: Any) -> ir.Operation:
    attributes = attributes_of(ir.DictAttr(operation.attributes[_HIDDEN]))
    return _create("func.call", operation, list(operation.operands), attributes)


RULES: Mapping[str, Callable[[ir.Operation, Mapping[str, ir.Operation]], ir.Operation | None]] = {
    "stablehlo.dynamic_reduce_window": _reduce_window,
    "stablehlo.dynamic_top_k": _top_k,
    "stablehlo.dynamic_rng_bit_generator": _rng_bit_generator,
    _HIDDEN: _call,
}


# ---- Fourier transforms that waited for their lengths --------------------------------------------------------------


FFT = "hlograph.fft"


def fft_kind(operation: ir.Operation) -> tuple[str, int]:
    """The kind of transform that a custom call stands for, and the number of its axes."""
    config = ir.DictAttr(operation.attributes["backend_config"])
    return ir.StringAttr(config["kind"]).value, ir.IntegerAttr(config["rank"]).value


def of_fft(operation: ir.Operation) -> tuple[Any, tuple[int, ...]]:
    """The kind of a `stablehlo.fft`, and the lengths of its axes."""
    kind = str(operation.attributes["fft_type"]).removeprefix("#stablehlo<fft_type ").removesuffix(">")
    return kind, tuple(integers(operation, "fft_length"))


def close_transforms(module: ir.Module) -> None:
    """Puts `stablehlo.fft` in the place of the calls, whose types are static by now."""
    for operation in list(walk(module)):
        if call_target(operation) != FFT:
            continue
        kind, rank = fft_kind(operation)
        result = operation.results[0]
        real_side = operation.operands[0] if kind == "RFFT" else result
        lengths = ir.RankedTensorType(real_side.type).shape[-rank:]
        with module.context, ir.InsertionPoint(operation), operation.location:
            type_ = stablehlo.FftTypeAttr.get(kind)
            found = stablehlo.fft(operation.operands[0], type_, ops.integer_list(lengths))
        result.replace_all_uses_with(found)
        operation.erase()
