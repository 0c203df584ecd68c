"""The steps of an executable from their serialization (`ThunkSequenceProto` in XLA's `backends/cpu/runtime`).

A step of a kind that is not known, or that XLA's own code does and nobody else can call (its dot products, FFTs,
convolutions), is refused by its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ...codegen.ir.bindings import ir
from ...codegen.ir.types import numpy_dtype
from ..wire import Field, Message
from .hlo_module import dense_type
from .steps import KERNEL_ALIGNMENT, Case, Copy, CustomCall, DirectCallRefused, Kernel, Slice, Sort, Step, Value, While

_TYPED_FFI = 4  # xla.CustomCallApiVersion


def steps_of(sequence: Message) -> tuple[Step, ...]:
    """The steps of a ThunkSequenceProto.

    Raises:
        DirectCallRefused: something in it is not known here, or cannot be done without XLA's runtime.
    """
    return tuple(_steps(sequence))


def _steps(sequence: Message) -> Iterator[Step]:
    for thunk in sequence.messages(1, "ThunkProto"):
        kind = thunk.text(1)
        if kind == "call":
            yield from _steps(_sequence(thunk.message(3, "CallThunkProto", {1}), 1))
        elif kind in _READERS:
            number, name, known, read = _READERS[kind]
            yield read(thunk.message(number, name, known), thunk.message(2, "InfoProto").text(1))
        else:
            raise DirectCallRefused(f"{thunk.message(2, 'InfoProto').text(1)} is no kernel, but a {kind}")


def _sequence(thunk: Message, number: int) -> Message:
    return thunk.message(number, "ThunkSequenceProto", {1, 2})


def _optional(thunk: Message, number: int) -> int | None:
    """An Int64Optional or another message of its form."""
    optional = thunk.message(number, "Int64Optional", {1, 2})
    return optional.integer(1) if optional.integer(2) else None


def _kernel(kernel: Message, name: str) -> Kernel:
    groups = kernel.message(2, "NumWorkGroups", {1, 2, 3})
    if kernel.message(4, "Int64Optional").integer(1) > KERNEL_ALIGNMENT:
        raise DirectCallRefused(f"the kernel {kernel.text(1)} wants buffers aligned to more than 64 bytes")
    x, y, z = (groups.integer(axis) for axis in (1, 2, 3))
    if not 1 <= x * y * z < 1 << 20:
        raise DirectCallRefused(f"{name} has {x * y * z:d} work groups")
    return Kernel(kernel.text(1), tuple(map(slice_of, kernel.all(5) + kernel.all(6))), (x, y, z))


def _copy(copy: Message, _name: str) -> Copy:
    ends = [copy.message(number, "ShapeBufferAllocationSliceProto", {1, 2}) for number in (1, 2)]
    types = [dense_type(end.message(1, "ShapeProto"), "a copied buffer") for end in ends]
    source, destination = (slice_of(end.bytes_(2)) for end in ends)
    if types[0] != types[1] or source.size != destination.size:
        raise DirectCallRefused("a copy changes the order of elements")
    return Copy(source, destination)


def _while(loop: Message, _name: str) -> While:
    condition, body = (steps_of(_sequence(loop, number)) for number in (1, 2))
    return While(condition, body, _flag(slice_of(loop.bytes_(4)), (1,)), _optional(loop, 3))


def _case(case: Message, name: str) -> Case:
    branches = tuple(map(steps_of, case.messages(1, "ThunkSequenceProto", {1, 2})))
    index = _flag(slice_of(case.bytes_(2)), (1, 4))
    if not branches or (index.size == 1 and len(branches) != 2):
        raise DirectCallRefused(f"{name} has {len(branches):d} branches")
    return Case(index, branches)


def _flag(buffer: Slice, sizes: tuple[int, ...]) -> Slice:
    if buffer.size not in sizes:
        raise DirectCallRefused(f"a predicate or an index has {buffer.size:d} bytes")
    return buffer


def _sort(sort: Message, name: str) -> Sort:
    arrays, orders = [], set()
    for proto in sort.messages(5, "ShapeBufferAllocationSliceProto", {1, 2}):
        dtype, dims, order = dense_type(proto.message(1, "ShapeProto"), f"an array that {name} sorts")
        arrays.append(Value(slice_of(proto.bytes_(2)), dtype, dims))
        orders.add((dims, order))
    if len(orders) != 1:
        raise DirectCallRefused(f"{name} sorts arrays of different shapes")
    ((dims, order),) = orders
    by_builtin = len(arrays) == 1 and sort.message(3, "SortDirectionOptional").integer(2)
    # Equal integers cannot be told from one another, so any order of theirs is the stable one.
    of_integers = len(arrays) == 1 and arrays[0].dtype.kind in "iub"
    if not (sort.integer(2) or of_integers):
        raise DirectCallRefused(f"{name} is a sort that is not stable")
    if by_builtin and not of_integers:
        raise DirectCallRefused(f"{name} sorts floating-point numbers by an order that NaN has no place in")
    axis = order.index(sort.integer(1))
    memory = [dims[i] for i in order]
    shape = math.prod(memory[:axis]), memory[axis], math.prod(memory[axis + 1 :])
    return Sort(sort.text(4), tuple(arrays), shape)


def _custom_call(call: Message, name: str) -> CustomCall:
    target = call.text(2)
    if call.integer(1) != _TYPED_FFI:
        raise DirectCallRefused(f"{name} calls {target} by an interface other than XLA's typed one")
    buffers = call.message(4, "OpBuffers", {1, 2, 3})  # 3: whether the results are a tuple
    arguments, results = (
        tuple(
            Value(slice_of(proto.bytes_(2)), *dense_type(proto.message(1, "ShapeProto"), f"a value of {name}")[:2])
            for proto in buffers.messages(number, "ShapeBufferAllocationSliceProto", {1, 2})
        )
        for number in (1, 2)
    )
    return CustomCall(target, arguments, results, _attributes(call.text(3), name))


def _attributes(text: str, name: str) -> dict[str, np.generic]:
    """A dictionary of scalars, as MLIR writes it."""
    with ir.Context():
        try:
            parsed = ir.DictAttr(ir.Attribute.parse(text or "{}"))
        except (ir.MLIRError, ValueError) as error:
            raise DirectCallRefused(f"attributes of {name} cannot be read: {error}") from None
        named = (parsed[i] for i in range(len(parsed)))
        return {item.name: _scalar(item.attr, name) for item in named}


def _scalar(attribute: ir.Attribute, name: str) -> np.generic:
    if isinstance(attribute, ir.BoolAttr):
        return np.bool_(attribute.value)
    if isinstance(attribute, ir.IntegerAttr | ir.FloatAttr):
        return numpy_dtype(attribute.type).type(attribute.value)
    raise DirectCallRefused(f"{name} has an attribute {attribute}, which is no scalar")


def slice_of(data: Field) -> Slice:
    """A BufferAllocationSliceProto, alone or (from jaxlib 0.10) in a ShapedSliceProto with its shape."""
    outer = Message(data, "ShapedSliceProto")
    if outer.has(1) and isinstance(outer.all(1)[0], bytes):
        Message(data, "ShapedSliceProto", {1, 2})
        data = outer.bytes_(1)
    inner = Message(data, "BufferAllocationSliceProto", {1, 2, 3, 4})
    return Slice(inner.integer(3), inner.integer(1), inner.integer(2))


# Kind to the field of ThunkProto, its message's name and known fields, and what reads it.
_READERS: dict[str, tuple[int, str, set[int], Callable[[Message, str], Step]]] = {
    "conditional": (4, "ConditionalThunkProto", {1, 2}, _case),
    "sort": (5, "SortThunkProto", {1, 2, 3, 4, 5}, _sort),
    "while": (10, "WhileThunkProto", {1, 2, 3, 4}, _while),
    "kernel": (11, "KernelThunkProto", {1, 2, 3, 4, 5, 6}, _kernel),
    "copy": (12, "CopyThunkProto", {1, 2}, _copy),
    "custom-call": (16, "CustomCallThunkProto", {1, 2, 3, 4}, _custom_call),
}
