"""Padding rule of calls of Python functions: they get the live sizes, cut what they are given, and pad with zeros."""

from __future__ import annotations

from ... import builder as hlo
from ...builder.types import INT32
from ...ir.attributes import attributes_of
from ...ir.bindings import ir
from ...ir.host_calls import TARGET, name_of
from . import facts
from .control import pads_custom_call
from .live import Live
from .padder import Padder
from .shape import result_dims


@pads_custom_call(TARGET)
def host_call(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """The last operand is a vector of the live sizes of the operands' axes, and then of the results'."""
    types = [padder.type_of(result) for result in operation.results]
    open_ = "indices_of_shape_operands" in attributes_of(operation.attributes)
    given, shapes = (operands[: -len(types)], operands[-len(types) :]) if open_ else (operands, [None] * len(types))
    dims = [padder.written(result_dims(padder, shape, x)) for (shape, _), x in zip(types, shapes, strict=True)]
    sizes = [dim for own in [*[x.dims for x in given[1:]], *dims[1:]] for dim in own]
    live = any(type(dim) is not int for dim in sizes)
    tensors = [x.tensor for x in given]
    if live:
        tensors.append(padder.builder.size_vector(sizes, INT32))
    config = {"name": f'"{name_of(operation)}"', **({"live": "true"} if live else {})}
    made = hlo.custom_call(
        TARGET,
        tensors,
        [(padder.static_shape(own), dtype) for own, (_, dtype) in zip(dims, types, strict=True)],
        backend_config=config,
        has_side_effect=True,
    )
    return [
        padder.make(tensor, own, [facts.constant(0, tensor.dtype)] * len(own))
        for tensor, own in zip(made, dims, strict=True)
    ]
