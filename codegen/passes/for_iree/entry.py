"""What a program demands of its sizes, at its entry: IREE's runtime knows nothing of names of sizes.

    before  @main(%x: tensor<?xf64>, %y: tensor<?xf64>) attributes {hlograph.constraints = [["n == m", ...]]}
    after   ... returns one flag more for each constraint; or, with `asserts=true`,
            cf.assert %holds, "..."                                at the function's head

A demand that fails means that some op reads past an array's end, so that a program that runs on arrays of others should
have the assertions: the runtime then refuses the call before anything is read. They are no StableHLO, so that such a
module is text, for IREE alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import dims as dimension
from ... import signature as signatures
from ...builder import Builder, SizeSource, Tensor, concatenate, reshape
from ...builder.types import BOOL
from ...constraints import Constraint
from ...ir import ops
from ...ir.adopt import adopt
from ...ir.bindings import ir
from ...ir.functions import call, return_values
from ...ir.walk import main_function, returned_by, terminator
from ...signature import CheckSpec, Signature, flags_type


def guard(module: ir.Module, *, asserts: bool, limit: int | None) -> int:
    """Makes a module test its own constraints, in place; and that no size is above a limit, where there is one.

    Returns:
        How many there are.
    """
    signature = signatures.read(module)
    demands = _demands(signature, limit)
    if not demands:
        return 0
    function = main_function(module)
    symbol = adopt(module, _tests(module, signature, demands), "sizes_fit")
    block = function.regions[0].blocks[0]
    messages = [f"{demand}: {demand.where}" if demand.where else str(demand) for demand in demands]
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown(module.context):
        type_ = ops.tensor_type(np.dtype(bool), [len(demands)])
        (holds,) = call(symbol, [type_], list(block.arguments))
        if asserts:
            for number, message in enumerate(messages):
                _assert(ops.reshape(ops.slice(holds, [number], [number + 1]), []), message)
    if not asserts:
        _return_flags(function, signature, holds, [CheckSpec("ValueError", message) for message in messages])
    return len(demands)


def _demands(signature: Signature, limit: int | None) -> list[Constraint]:
    """The constraints, that the sizes of the arguments are what their names say, and the limit."""
    sources = {(root.argument, root.axis) for root in signature.roots}
    named = [
        Constraint(dimension.symbol(_own(number, axis)), "==", dim, f"axis {axis} of {argument.name}")
        for number, argument in enumerate(signature.arguments)
        for axis, dim in enumerate(argument.dims)
        if not isinstance(dim, int) and (number, axis) not in sources
    ]
    largest = (
        []
        if limit is None
        else [
            Constraint(limit, ">=", dimension.symbol(root.name), "offsets in IREE's buffers")
            for root in signature.roots
        ]
    )
    return [*named, *signature.constraints, *largest]


def _own(number: int, axis: int) -> str:
    return f"axis_{number}_{axis}"


def _tests(module: ir.Module, signature: Signature, demands: list[Constraint]) -> ir.Module:
    """A function of the program's arguments to a vector of flags."""
    builder = Builder(module.context, "sizes")
    arguments = signature.arguments
    specs = [
        (tuple(d if isinstance(d, int) else dimension.symbol(_own(k, axis)) for axis, d in enumerate(a.dims)), a.dtype)
        for k, a in enumerate(arguments)
    ]
    with builder.function("main", specs) as tensors:
        for k, (tensor, spec) in enumerate(zip(tensors, specs, strict=True)):
            for axis, dim in enumerate(spec[0]):
                if not isinstance(dim, int):
                    builder.add_root(SizeSource(_own(k, axis), tensor, axis))
        for root in signature.roots:
            builder.add_root(SizeSource(root.name, tensors[root.argument], root.axis, root.element))
        builder.finish([concatenate([_flag(builder, demand) for demand in demands], 0)])
    return builder.module


_DIRECTIONS = {"==": "EQ", ">=": "GE", "!=": "NE"}


def _flag(builder: Builder, demand: Constraint) -> Tensor:
    """Whether a demand is fulfilled, as a vector of one element."""
    direction = (("comparison_direction", f"#stablehlo<comparison_direction {_DIRECTIONS[demand.relation]}>"),)
    sides = [builder.size(demand.lhs), builder.size(demand.rhs)]
    return reshape(builder.op("stablehlo.compare", sides, (), BOOL, direction), (1,))


def _return_flags(function: ir.Operation, signature: Signature, holds: ir.Value, checks: list[CheckSpec]) -> None:
    """Makes the function return the flags of more checks, in front of those that it has."""
    block = function.regions[0].blocks[0]
    values = returned_by(block)
    found = replace(signature, checks=(*checks, *signature.checks))
    kind = flags_type(found.checks)[1]
    last = terminator(block)
    with last.location, ir.InsertionPoint(last):
        own = values.pop() if signature.checks else None
        parts = [ops.convert(each, kind) for each in (holds, own) if each is not None]
        flags = ops.concatenate(parts, 0)
    return_values(function, [*values, flags])
    signatures.write(function, found)


def _assert(holds: ir.Value, message: str) -> None:
    """Ends a call with an error where a flag is false, in words that only IREE knows."""
    holds.context.allow_unregistered_dialects = True
    flag = ir.Operation.create("tensor.extract", results=[ir.IntegerType.get_signless(1)], operands=[holds])
    ir.Operation.create("cf.assert", operands=[flag.results[0]], attributes={"msg": ir.StringAttr.get(message)})
