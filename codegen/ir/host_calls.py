"""Calls of Python functions in a module: the custom call `hlograph.host`, by names that a table explains.

    %0:2 = stablehlo.custom_call @hlograph.host(%order, %x) {backend_config = {name = "host_0"}, has_side_effect = true}

The first operand and the first result, int32 scalars that mean nothing, are for the pass `order_host_calls`, which
strings the calls of a program together. `Program.host_calls` has the functions: what is written to a file has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bindings import ir
from .values import attributes_of, call_target, owner, walk

TARGET = "hlograph.host"


@dataclass(frozen=True, eq=False)
class HostCall:
    """A Python function that a program calls.

    Attributes:
        name: what messages call it: the op.
        function: from NumPy arrays of its own, which it may write to, to the results.
        why: why the program calls it, and does not compute what it gives; "" where nothing is known.
    """

    name: str
    function: Callable[[Sequence[np.ndarray[Any, Any]]], Sequence[Any]]
    why: str = ""


def is_host_call(operation: ir.Operation) -> bool:
    """Whether an op calls a Python function."""
    return call_target(operation) == TARGET


def host_calls(module: ir.Module) -> list[ir.Operation]:
    """Those of a module, in order."""
    return [operation for operation in walk(module) if is_host_call(operation)]


def name_of(operation: ir.Operation) -> str:
    """The name of the function that is called, or of the first of those that are parts of one call."""
    return parts_of(operation)[0].name


def data_of(operation: ir.Operation) -> list[ir.Value]:
    """What a call gives to its function: without the order, and without what says the shapes of open results."""
    shapes = len(operation.results) if "indices_of_shape_operands" in operation.attributes else 0
    return list(operation.operands)[1 : len(operation.operands) - shapes]


# ---- calls of several functions --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A function among those of one call.

    Attributes:
        name: its name in the program's table.
        operands: what it takes: places among the operands of the call, and behind them the results of the parts.
        results: the types of what it gives.
        live: whether its last operand is a vector with the live sizes of all axes, of the others and of the results.
    """

    name: str
    operands: tuple[int, ...]
    results: tuple[ir.Type, ...]
    live: bool


def is_merged(operation: ir.Operation) -> bool:
    """Whether a call has several parts."""
    return "parts" in attributes_of(ir.DictAttr(operation.attributes["backend_config"]))


def parts_of(operation: ir.Operation) -> list[Part]:
    """The functions of a call, in the order in which they run."""
    config = ir.DictAttr(operation.attributes["backend_config"])
    if is_merged(operation):
        return [_read(ir.DictAttr(entry)) for entry in ir.ArrayAttr(config["parts"])]
    types = tuple(result.type for result in operation.results)[1:]
    places = tuple(range(len(data_of(operation))))
    return [Part(ir.StringAttr(config["name"]).value, places, types, "live" in attributes_of(config))]


def returned_by(operation: ir.Operation) -> tuple[int, ...]:
    """Which of the operands and the parts' results a call returns, behind its order."""
    if is_merged(operation):
        return tuple(ir.DenseI64ArrayAttr(ir.DictAttr(operation.attributes["backend_config"])["returned"]))
    count = len(data_of(operation))
    return tuple(range(count, count + len(operation.results) - 1))


def merged(order: ir.Value, given: Sequence[ir.Value], parts: Sequence[Part], returned: Sequence[int]) -> ir.Operation:
    """One call of several functions; see `Part` and `returned_by`."""
    types = [*(value.type for value in given), *(type_ for part in parts for type_ in part.results)]
    entries = {
        "parts": ir.ArrayAttr.get([_written(part) for part in parts]),
        "returned": ir.DenseI64ArrayAttr.get(list(returned)),
    }
    attributes = {
        "call_target_name": ir.StringAttr.get(TARGET),
        "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
        "backend_config": ir.DictAttr.get(entries),
        "has_side_effect": ir.BoolAttr.get(True),
    }
    results = [order.type, *(types[place] for place in returned)]
    operands = [order, *given]
    return ir.Operation.create("stablehlo.custom_call", results=results, operands=operands, attributes=attributes)


def _written(part: Part) -> ir.Attribute:
    entries: dict[str, ir.Attribute] = {
        "name": ir.StringAttr.get(part.name),
        "operands": ir.DenseI64ArrayAttr.get(list(part.operands)),
        "results": ir.ArrayAttr.get([ir.TypeAttr.get(type_) for type_ in part.results]),
    }
    return ir.DictAttr.get({**entries, **({"live": ir.BoolAttr.get(True)} if part.live else {})})


def _read(entry: ir.DictAttr) -> Part:
    return Part(
        ir.StringAttr(entry["name"]).value,
        tuple(ir.DenseI64ArrayAttr(entry["operands"])),
        tuple(ir.TypeAttr(item).value for item in ir.ArrayAttr(entry["results"])),
        "live" in attributes_of(entry),
    )


# ---- calls that can be one -----------------------------------------------------------------------------------------


Group = list[ir.Operation]


def host_groups(module: ir.Module) -> list[Group]:
    """The calls in groups of one or more: of which one takes what another gives, and nothing compiled is between them.

    They follow each other, so that what a group needs can be there before it, and what needs it comes behind.
    """
    groups: list[Group] = []
    for block in [block for op in walk(module) for region in op.regions for block in region.blocks]:
        last: Group = []
        needing: set[ir.Operation] = set()  # what is no call, and needs one of the last group
        for op in [view.operation for view in block.operations]:
            if is_host_call(op):
                needed = set(map(owner, data_of(op)))
                if needed & set(last) and not needed & needing:
                    last.append(op)
                    continue
                last, needing = [op], set()
                groups.append(last)
            elif op.regions and any(map(is_host_call, walk(op))):
                last = []
            elif set(map(owner, reads_of(op))) & (needing | set(last)):
                needing.add(op)
    return groups


def taken_by(group: Group) -> list[ir.Value]:
    """What the functions of a group take of others."""
    inside = set(group)
    return list(dict.fromkeys(x for call in group for x in data_of(call) if owner(x) not in inside))


def given_by(group: Group) -> list[ir.Value]:
    """What they give to others."""
    inside = set(group)
    results = (result for call in group for result in list(call.results)[1:])
    return [result for result in results if any(use.owner.operation not in inside for use in result.uses)]


def reads_of(op: ir.Operation) -> Iterable[ir.Value]:
    """Values that an op, or an op inside, reads."""
    return dict.fromkeys(operand for inner in walk(op) for operand in inner.operands)
