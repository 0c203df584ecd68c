"""The steps of an executable from their serialization (`ThunkSequenceProto` in XLA's `backends/cpu/runtime`).

A step of a kind that is not known, or that XLA's own code does and nobody else can call (its dot products, FFTs,
convolutions), is refused by its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...codegen.ir.bindings import ir
from ...codegen.ir.types import numpy_dtype
from ..wire import Field, Message
from .ffi import call_frame
from .hlo_module import dense_type
from .steps import (
    CASE,
    COPY,
    CUSTOM_CALL,
    GROUPS,
    KERNEL,
    KERNEL_ALIGNMENT,
    SORT,
    WHILE,
    DirectCallRefused,
    Function,
    Slice,
    Value,
    Word,
    Words,
    table,
)

_TYPED_FFI = 4  # xla.CustomCallApiVersion
_MOST_ARRAYS = 16  # that are sorted together; as in native/sort.c
# XLA_CPU_KernelCallFrame's numbers of work groups {x, y, z} and this one's, for kernels of one.
_ONE, _FIRST = Words([1, 1, 1]), Words([0, 0, 0])


class Reader:
    """Makes tables of steps.

    Attributes:
        kinds: XLA's names of the kinds of steps that there are.
        written: buffers that steps write; which ones of its buffers a kernel writes is not known.
        values: arrays that steps use.
    """

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.written: list[Slice] = []
        self.values: list[Value] = []

    def table(self, sequence: Message) -> Words:
        """The steps of a ThunkSequenceProto.

        Raises:
            DirectCallRefused: something in it is not known here, or cannot be done without XLA's runtime.
        """
        return table(list(self._lines(sequence)))

    def _lines(self, sequence: Message) -> Iterator[list[Word]]:
        # Kind to the field of ThunkProto, its message's name and known fields, and what reads it.
        readers = {
            "conditional": (4, "ConditionalThunkProto", {1, 2}, self._case),
            "sort": (5, "SortThunkProto", {1, 2, 3, 4, 5}, self._sort),
            "while": (10, "WhileThunkProto", {1, 2, 3, 4}, self._while),
            "kernel": (11, "KernelThunkProto", {1, 2, 3, 4, 5, 6}, self._kernel),
            "copy": (12, "CopyThunkProto", {1, 2}, self._copy),
            "custom-call": (16, "CustomCallThunkProto", {1, 2, 3, 4}, self._custom_call),
        }
        for thunk in sequence.messages(1, "ThunkProto"):
            kind, name = thunk.text(1), thunk.message(2, "InfoProto").text(1)
            if kind == "call":
                yield from self._lines(_sequence(thunk.message(3, "CallThunkProto", {1}), 1))
            elif kind in readers:
                number, message, known, read = readers[kind]
                self.kinds.add(kind)
                yield read(thunk.message(number, message, known), name)
            else:
                raise DirectCallRefused(f"{name} is no kernel, but a {kind}")

    def _kernel(self, kernel: Message, name: str) -> list[Word]:
        if kernel.message(4, "Int64Optional").integer(1) > KERNEL_ALIGNMENT:
            raise DirectCallRefused(f"the kernel {kernel.text(1)} wants buffers aligned to more than 64 bytes")
        groups = [kernel.message(2, "NumWorkGroups", {1, 2, 3}).integer(axis) for axis in (1, 2, 3)]
        if not 1 <= math.prod(groups) < 1 << 20:
            raise DirectCallRefused(f"{name} has {math.prod(groups):d} work groups")
        buffers = list(map(slice_of, kernel.all(5) + kernel.all(6)))
        places = Words([word for buffer in buffers for word in (buffer, buffer.size)])
        several = groups != [1, 1, 1]
        counted = (Words(groups), Words([0, 0, 0])) if several else (_ONE, _FIRST)
        frame = Words([*counted, len(buffers), places])
        return [GROUPS if several else KERNEL, Function(kernel.text(1)), frame]

    def _copy(self, copy: Message, _name: str) -> list[Word]:
        ends = [copy.message(number, "ShapeBufferAllocationSliceProto", {1, 2}) for number in (1, 2)]
        types = [dense_type(end.message(1, "ShapeProto"), "a copied buffer") for end in ends]
        source, destination = (slice_of(end.bytes_(2)) for end in ends)
        if types[0] != types[1] or source.size != destination.size:
            raise DirectCallRefused("a copy changes the order of elements")
        self.written.append(destination)
        return [COPY, destination, source, source.size]

    def _while(self, loop: Message, _name: str) -> list[Word]:
        """As often as XLA knows, else until the condition's steps have made the predicate false."""
        condition, body = (self.table(_sequence(loop, number)) for number in (1, 2))
        turns = loop.message(3, "Int64Optional", {1, 2})
        known = int(bool(turns.integer(2)))
        return [WHILE, condition, body, _flag(slice_of(loop.bytes_(4)), (1,)), known, turns.integer(1) if known else 0]

    def _case(self, case: Message, name: str) -> list[Word]:
        """A boolean is true for the first of two branches; an int32 that is no branch's is for the last one."""
        branches = [self.table(branch) for branch in case.messages(1, "ThunkSequenceProto", {1, 2})]
        index = _flag(slice_of(case.bytes_(2)), (1, 4))
        if not branches or (index.size == 1 and len(branches) != 2):
            raise DirectCallRefused(f"{name} has {len(branches):d} branches")
        return [CASE, index, index.size, len(branches), Words(branches)]

    def _sort(self, sort: Message, name: str) -> list[Word]:
        """In place, and stably: arrays of the same shape, seen as outer x length x inner in memory."""
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
        length = memory[axis]
        if len(arrays) > _MOST_ARRAYS or length >= 1 << 32:
            raise DirectCallRefused(f"{name} sorts {len(arrays):d} arrays together, of {length:d} elements")
        self.values += arrays
        self.written += [array.buffer for array in arrays]
        comparator = Function(sort.text(4), tuple(array.dtype for array in arrays))
        largest = max(array.dtype.itemsize for array in arrays)
        scratch = Words([0] * -(-length * (8 + largest) // 8))
        shape = math.prod(memory[:axis]), length, math.prod(memory[axis + 1 :])
        places = [word for array in arrays for word in (array.buffer, array.dtype.itemsize)]
        return [SORT, Words([comparator, len(arrays), *shape, scratch, *places])]

    def _custom_call(self, call: Message, name: str) -> list[Word]:
        target = call.text(2)
        if call.integer(1) != _TYPED_FFI:
            raise DirectCallRefused(f"{name} calls {target} by an interface other than XLA's typed one")
        buffers = call.message(4, "OpBuffers", {1, 2, 3})  # 3: whether the results are a tuple
        arguments, results = (
            [
                Value(slice_of(proto.bytes_(2)), *dense_type(proto.message(1, "ShapeProto"), f"a value of {name}")[:2])
                for proto in buffers.messages(number, "ShapeBufferAllocationSliceProto", {1, 2})
            ]
            for number in (1, 2)
        )
        self.values += [*arguments, *results]
        self.written += [value.buffer for value in results]
        return [CUSTOM_CALL, *call_frame(target, arguments, results, _attributes(call.text(3), name))]


def _sequence(thunk: Message, number: int) -> Message:
    return thunk.message(number, "ThunkSequenceProto", {1, 2})


def _flag(buffer: Slice, sizes: tuple[int, ...]) -> Slice:
    if buffer.size not in sizes:
        raise DirectCallRefused(f"a predicate or an index has {buffer.size:d} bytes")
    return buffer


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
