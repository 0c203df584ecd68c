"""For tests of sizes from data: programs with them, run padded, and run without padding, one size after the other.

The value of the first marker's operand depends on sizes that are known; the interpreter computes it, it takes the
marker's place as a constant, and so on to the last. What is left is a program that knows all sizes from its arguments.
A branch that computes a size is put in the place of its `IfElse`, if it is the one that is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from support import assert_same, reference

import hlograph
from hlograph import Program
from hlograph.builder import dims as dimension
from hlograph.codegen import signature as signatures
from hlograph.codegen.constraints import Constraint
from hlograph.codegen.ir.modules import clone_bytes
from hlograph.codegen.ir.values import dense_attr, main_function, walk
from hlograph.codegen.passes.specialize import refine
from hlograph.passes import attributes_of, ir


def marker_name(operation: ir.Operation) -> str | None:
    """The size that an op marks, if it is a marker."""
    if operation.name != "stablehlo.custom_call":
        return None
    attributes = attributes_of(operation.attributes)
    if "hlograph.size" not in str(attributes["call_target_name"]):
        return None
    return ir.StringAttr(attributes["hlograph.dim"]).value


def markers(module: ir.Module) -> list[ir.Operation]:
    """All markers of sizes from data."""
    return [op for op in walk(module) if marker_name(op) is not None]


class DemandError(Exception):
    """A constraint on sizes from data does not hold."""


def resolve(program: Program, arrays: Sequence[Any]) -> tuple[Program, dict[str, int]]:
    """The program without sizes from data, for these arguments, and the sizes."""
    sizes: dict[str, int] = {}
    module = program.copy_module()
    signature = signatures.read(module)
    while True:
        block = main_function(module).regions[0].blocks[0]
        stop = next((op.operation for op in block.operations if marker_name(op.operation) or _holds_marker(op)), None)
        if stop is None:
            break
        value = int(_value_before(module, stop, arrays))
        name = marker_name(stop)
        with module.context, ir.Location.unknown(module.context), ir.InsertionPoint(stop):
            if name is None:
                _take_branch(stop, value)
            else:
                sizes[name] = value
                literal = dense_attr(np.asarray(value), module.context)
                constant = ir.Operation.create(
                    "stablehlo.constant", results=[stop.results[0].type], attributes={"value": literal}
                )
                stop.results[0].replace_all_uses_with(constant.result)
                stop.erase()
    constraints = []
    for constraint in signature.constraints:
        lhs, rhs = (dimension.substitute(side, sizes) for side in (constraint.lhs, constraint.rhs))
        if not isinstance(lhs, int) or not isinstance(rhs, int):
            constraints.append(Constraint(lhs, constraint.relation, rhs, constraint.where))
        elif not (lhs == rhs if constraint.relation == "==" else lhs >= rhs):
            raise DemandError(f"{constraint} ({constraint.where}) with {sizes}")
    results = tuple(
        replace(result, dims=tuple(dimension.substitute(dim, sizes) for dim in result.dims))
        for result in signature.results
    )
    final = replace(signature, results=results, constraints=tuple(constraints), counts=(), local_counts=())
    signatures.write(main_function(module), final)
    return _refined(Program(module, bindings=program.bindings)), sizes


def _refined(program: Program) -> Program:
    """Static types, where all arguments have them: `specialize` has nothing to do there."""
    if program.signature.roots:
        return program
    module = program.copy_module()
    refine(module, program.signature)
    return Program(module, bindings=program.bindings)


def _holds_marker(view: Any) -> bool:
    return any(
        marker_name(op.operation) or _holds_marker(op)
        for region in view.operation.regions
        for block in region.blocks
        for op in block.operations
    )


def _value_before(module: ir.Module, stop: ir.Operation, arrays: Sequence[Any]) -> Any:
    """What the first operand of an op at the top level is."""
    place = [op.operation for op in stop.block.operations].index(stop)
    part = clone_bytes(Program(module).to_bytecode())
    function = main_function(part)
    block = function.regions[0].blocks[0]
    operations = [op.operation for op in block.operations]
    operand = operations[place].operands[0]
    for operation in reversed(operations[place:]):
        operation.erase()
    attributes = function.attributes
    for name in attributes_of(attributes):
        if name.startswith("hlograph.") or name == "res_attrs":
            del attributes[name]
    with part.context, ir.Location.unknown(part.context):
        ir.Operation.create("func.return", operands=[operand], ip=ir.InsertionPoint(block))
        inputs = [argument.type for argument in block.arguments]
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, [operand.type]))
    part_alone = Program(part).run_passes(["canonicalize", "symbol-dce"])
    (value,) = _refined(part_alone).interpret(*arrays)
    return value


def _take_branch(operation: ir.Operation, value: int) -> None:
    assert operation.name == "stablehlo.if", f"a size from data inside {operation.name}"
    taken = operation.regions[0 if value else 1].blocks[0]
    *body, terminator = [op.operation for op in taken.operations]
    results = list(terminator.operands)
    for old, new in zip(operation.results, results, strict=True):
        old.replace_all_uses_with(new)
    for inner in body:
        inner.move_before(operation)
    terminator.erase()
    operation.erase()


def _call(program: Program, arrays: Sequence[Any]) -> tuple[Any, ...]:
    found = program.compile()(*arrays)
    return found if isinstance(found, tuple) else (found,)


def check_data_sizes(
    inputs: Sequence[Any],
    outputs: Any,
    *values: Any,
    dims: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    expected: Sequence[Any] | None = None,
) -> Program:
    """As `support.check_lowering`, for graphs with sizes from data: compares with PyTensor's own evaluation.

    Returns:
        The program with symbolic sizes.
    """
    outs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    arrays = [np.asarray(v, x.type.dtype) for v, x in zip(values, inputs, strict=True)]
    wanted = [np.asarray(x) for x in expected] if expected is not None else reference(inputs, outs, arrays)
    symbolic = hlograph.emit_stablehlo((list(inputs), outs), dims=dims)
    fixed = hlograph.emit_stablehlo(
        (list(inputs), outs), dims={x: array.shape for x, array in zip(inputs, arrays, strict=True)}
    )
    for kind, program in (("symbolic", symbolic), ("static", fixed)):
        bounds = {count.name: count.bound for count in program.signature.counts}
        exact, sizes = resolve(program, arrays)
        known = {
            root.name: np.shape(arrays[root.argument])[root.axis]
            for root in program.signature.roots
            if root.axis is not None
        }
        for name, size in sizes.items():
            if bounds.get(name) is not None and not dimension.roots(bounds[name]) - known.keys() - sizes.keys():
                assert size <= dimension.evaluate(bounds[name], known | sizes), f"{name} = {size} > {bounds[name]}"
        runs = {"exact": exact.interpret(*arrays) if kind == "symbolic" else _call(exact, arrays)}
        if not program.signature.local_counts:
            runs["padded"] = _call(program, arrays)
        for run, results in runs.items():
            for index, (actual, value) in enumerate(zip(results, wanted, strict=True)):
                assert_same(actual, value, rtol=rtol, label=f"{kind}, {run}, output {index}")
    return symbolic
