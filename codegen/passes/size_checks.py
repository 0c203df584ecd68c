"""What a program demands of its sizes, as flags of the module: for callers that have nothing but the module.

    before  func.func @main(%x: tensor<100xf64>, %n: tensor<i32>) -> tensor<f64>          // of a program with n >= 6
    after   func.func @main(%x, %n) -> (tensor<f64>, tensor<3xi1>)                        // n >= 0, 100 >= n, n >= 6

In: a module, what it demands, and where the sizes are that this is about. Out: the same module, whose last result also
says of each demand whether it holds, behind the flags of its own checks; or an assertion each. Decision to know: sizes
are taken as they come, so a live size may be negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from .. import dims as dimension
from .. import signature as signatures
from ..builder import Builder, SizeSource, Tensor, concatenate, reshape
from ..builder.sizes import emit_size
from ..builder.types import BOOL, Dims, DType
from ..constraints import Constraint
from ..ir import ops
from ..ir.bindings import ir
from ..ir.functions import adopt, call, return_values
from ..ir.values import main_function, returned_by, terminator
from ..signature import Argument, CheckSpec, Result

# Of a size the number of the argument that has it, or behind those of the result; its axis, or its element.
Source: TypeAlias = "tuple[int, int | None, int | None]"
Sources: TypeAlias = Mapping[str, Source]
_DIRECTIONS = {"==": "EQ", ">=": "GE", "!=": "NE"}


def own_name(place: int, axis: int) -> str:
    """A name for the size of an argument's open axis, whatever the signature calls it."""
    return f"axis_{place}_{axis}"


def report(
    module: ir.Module, demanded: Sequence[Constraint], sources: Sources, check: Callable[[Constraint], CheckSpec]
) -> None:
    """Makes a module return which demands hold, in place.

    Args:
        module: it.
        demanded: at least one.
        sources: of the sizes in them, but for those that are `own_name` of an argument's open axis.
        check: what the signature says of a demand.
    """
    function, signature = main_function(module), signatures.read(module)
    block = function.regions[0].blocks[0]
    values = returned_by(block)
    kept = values[: len(signature.results)]
    last = terminator(block)
    with last.location, ir.InsertionPoint(last):
        given = list(block.arguments)
        given += kept if any(place >= len(given) for place, _, _ in sources.values()) else []
        holds = _tested(module, demanded, sources, given)
        found = replace(signature, checks=(*signature.checks, *map(check, demanded)))
        kind = signatures.flags_type(found.checks)[1]
        flags = ops.concatenate([ops.convert(x, kind) for x in (*values[len(kept) :], holds)], 0)
    return_values(function, [*kept, flags])
    signatures.write(function, found)


def insist(module: ir.Module, demanded: Sequence[Constraint], sources: Sources) -> None:
    """Makes a module end with an error at its entry where a demand does not hold, in words that only IREE knows."""
    block = main_function(module).regions[0].blocks[0]
    module.context.allow_unregistered_dialects = True
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown(module.context):
        holds = _tested(module, demanded, sources, list(block.arguments))
        for number, demand in enumerate(demanded):
            one = ops.reshape(ops.slice(holds, [number], [number + 1]), [])
            flag = ir.Operation.create("tensor.extract", results=[ir.IntegerType.get_signless(1)], operands=[one])
            message: dict[str, ir.Attribute] = {"msg": ir.StringAttr.get(message_of(demand))}
            ir.Operation.create("cf.assert", operands=[flag.results[0]], attributes=message)


def message_of(demand: Constraint) -> str:
    """A demand in words."""
    return f"{demand}: {demand.where}" if demand.where else str(demand)


def _tested(
    module: ir.Module, demanded: Sequence[Constraint], sources: Sources, values: Sequence[ir.Value]
) -> ir.Value:
    """At the current place, which demands hold of values, as a vector: a call of a function of them."""
    signature = signatures.read(module)
    items: list[Argument | Result] = [*signature.arguments, *signature.results]
    builder = Builder(module.context, "sizes")
    specs: list[tuple[Dims, DType]] = []
    for place, item in enumerate(items[: len(values)]):
        own = [d if type(d) is int else dimension.symbol(own_name(place, k)) for k, d in enumerate(item.dims)]
        specs.append((tuple(own), item.dtype))
    with builder.function("main", specs) as tensors:
        for tensor, (dims, _) in zip(tensors, specs, strict=True):
            for axis, dim in enumerate(dims):
                if type(dim) is not int:
                    builder.add_root(SizeSource(str(dim), tensor, axis))
        for name, (place, where, element) in sources.items():
            data = place >= len(signature.arguments)
            builder.add_root(SizeSource(name, tensors[place], where, element, data=data))
        builder.finish([concatenate([_flag(builder, demand) for demand in demanded], 0)])
    type_ = ops.tensor_type(np.dtype(bool), [len(demanded)])
    return call(adopt(module, builder.module, "sizes_fit"), [type_], list(values))[0]


def _flag(builder: Builder, demand: Constraint) -> Tensor:
    """Whether a demand holds, as a vector of one element."""
    direction = (("comparison_direction", f"#stablehlo<comparison_direction {_DIRECTIONS[demand.relation]}>"),)
    sides = [emit_size(builder, dim) for dim in (demand.lhs, demand.rhs)]
    return reshape(builder.op("stablehlo.compare", sides, (), BOOL, direction), (1,))
