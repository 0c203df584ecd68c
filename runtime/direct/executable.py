"""What XLA's CPU compiler made of a module: machine code, the order of its kernels, and where their buffers are.

In: an executable as PJRT serializes it. Out: a `CpuExecutable`. The format is XLA's own and promised to nobody
(`CompilationResultProto` in `xla/service/cpu/executable.proto`, and what it includes): so a field that is not known
here is refused by name wherever it could change the meaning, and nothing is guessed. Decision to know: field numbers
are what is read, no generated classes, so that the same code reads every version of jaxlib that kept them.

Where a result lies is not in the serialization; XLA finds it again by its dataflow analysis. `_Module.source` is the
part of it that modules of kernels need: through calls, tuples and bitcasts to the instruction that defines a buffer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...codegen.errors import CompileError
from ..wire import Field, Message, WireError, varint

# xla_data.proto: PrimitiveType; the name and the number of the LiteralProto field that holds its values, and whether
# these are variable-length integers there (otherwise they are the bytes of the array).
_TYPES: dict[int, tuple[str, int, bool]] = {
    1: ("bool", 2, False),  # one byte each also as variable-length integers
    2: ("int8", 15, False),
    3: ("int16", 17, False),
    4: ("int32", 4, True),
    5: ("int64", 5, True),
    6: ("uint8", 3, False),
    7: ("uint16", 16, False),
    8: ("uint32", 6, True),
    9: ("uint64", 7, True),
    10: ("float16", 11, False),
    11: ("float32", 8, False),
    12: ("float64", 9, False),
    15: ("complex64", 12, False),
    18: ("complex128", 18, False),
}
_TUPLE = 13
KERNEL_ALIGNMENT = 64  # bytes; what XLA's kernels may assume of every buffer


class DirectCallRefused(CompileError):
    """This executable cannot be called without PJRT; the message says why."""


@dataclass(frozen=True)
class Slice:
    """A part of an allocation; offset and size in bytes."""

    allocation: int
    offset: int
    size: int


@dataclass(frozen=True)
class Kernel:
    """A call of the function `name` with the addresses of these buffers."""

    name: str
    buffers: tuple[Slice, ...]


@dataclass(frozen=True)
class Copy:
    """Bytes that are copied from one buffer to another that does not overlap it."""

    source: Slice
    destination: Slice


@dataclass(frozen=True)
class Value:
    """A parameter or a result: a dense array in row-major order."""

    buffer: Slice
    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True)
class CpuExecutable:
    """An executable that consists of kernels and copies, run one after the other by one thread.

    Attributes:
        objects: ELF object files with the kernels.
        steps: what is run, in this order.
        allocations: number of an allocation to its size in bytes; those of constants are not among them.
        constants: number of an allocation to its bytes, which nothing may write.
        parameters: in the order of the module's parameters.
        results: in the order of the module's results.
    """

    objects: tuple[bytes, ...]
    steps: tuple[Kernel | Copy, ...]
    allocations: dict[int, int]
    constants: dict[int, bytes]
    parameters: tuple[Value, ...]
    results: tuple[Value, ...]

    @classmethod
    def read(cls, serialized: bytes) -> CpuExecutable:
        """From the bytes that PJRT makes of an executable.

        Raises:
            DirectCallRefused: something in it is not known here, or is no kernel and no copy.
        """
        try:
            return _read(serialized)
        except WireError as error:
            raise DirectCallRefused(
                f"the serialized executable has another form in this version of XLA: {error}"
            ) from None
        except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise DirectCallRefused(f"the serialized executable cannot be read: {error!r}") from None


# --- Shapes, literals, slices


def _array_type(shape: Message, what: str) -> tuple[np.dtype, tuple[int, ...]]:
    """dtype and dimensions of a dense array in row-major order."""
    element = shape.integer(2)
    if element not in _TYPES:
        raise DirectCallRefused(f"{what} has XLA's element type {element:d}, which NumPy has not")
    dims = tuple(shape.integers(3))
    if any(shape.integers(6)):
        raise DirectCallRefused(f"{what} has a dynamic dimension")
    if dims and shape.message(5, "LayoutProto").integers(1) != list(range(len(dims)))[::-1]:
        raise DirectCallRefused(f"{what} is not in row-major order")
    return np.dtype(_TYPES[element][0]), dims


def _literal(instruction: Message) -> bytes:
    """The bytes of a constant, as they lie in memory."""
    name = instruction.text(1)
    dtype, dims = _array_type(instruction.message(3, "ShapeProto"), f"the constant {name}")
    literal = instruction.message(8, "LiteralProto")
    if _array_type(literal.message(1, "ShapeProto"), f"the value of {name}") != (dtype, dims):
        raise DirectCallRefused(f"the constant {name} has another shape than its value")
    _, number, variable = _TYPES[instruction.message(3, "ShapeProto").integer(2)]
    if variable:
        data = np.array(literal.integers(number), np.uint64).astype(dtype).tobytes()  # two's complement, cut off
    else:
        data = b"".join(bytes([value]) if isinstance(value, int) else value for value in literal.all(number))
    if len(data) != math.prod(dims) * dtype.itemsize:
        raise DirectCallRefused(f"the constant {name} is not in the executable with all its elements")
    return data


def _slice(data: Field) -> Slice:
    """A BufferAllocationSliceProto, alone or (from jaxlib 0.10) in a ShapedSliceProto with its shape."""
    outer = Message(data, "ShapedSliceProto")
    if outer.has(1) and isinstance(outer.all(1)[0], bytes):
        Message(data, "ShapedSliceProto", {1, 2})
        data = outer.bytes_(1)
    inner = Message(data, "BufferAllocationSliceProto", {1, 2, 3, 4})
    return Slice(inner.integer(3), inner.integer(1), inner.integer(2))


# --- The module: where constants and results come from


_Position = tuple[int, tuple[int, ...]]  # an instruction, and the index in its tuple, which define a buffer
_Places = dict[_Position, Slice]


class _Module:
    """The HLO module that was compiled."""

    def __init__(self, module: Message) -> None:
        self._instructions: dict[int, tuple[int, Message]] = {}  # the computation that an instruction is in, and it
        self._roots: dict[int, int] = {}
        for computation in module.messages(3, "HloComputationProto"):
            id_ = computation.integer(5)
            self._roots[id_] = computation.integer(6)
            for instruction in computation.messages(2, "HloInstructionProto"):
                self._instructions[instruction.integer(35)] = id_, instruction
        self.entry = module.integer(6)
        aliases = module.message(8, "HloInputOutputAliasProto")
        if aliases.has(1):
            raise DirectCallRefused("results may share memory with arguments (donated arguments)")
        if self.entry not in self._roots:
            raise DirectCallRefused("the module has no entry computation")

    def instruction(self, id_: int, computation: int) -> tuple[int, Message]:
        """By its number; later versions of XLA number those of a computation from 0 in places."""
        found = self._instructions.get(id_) or self._instructions.get(computation << 32 | id_)
        if found is None:
            raise DirectCallRefused(f"the module has no instruction {id_:d}")
        return found

    def root(self, computation: int) -> tuple[int, Message]:
        return self.instruction(self._roots[computation], computation)

    def constant(self, id_: int) -> bytes:
        instruction = self._instructions[id_][1]
        if instruction.text(2) != "constant":
            raise DirectCallRefused(f"a constant buffer is of {instruction.text(1)}, a {instruction.text(2)}")
        return _literal(instruction)

    def parameters(self) -> dict[int, tuple[np.dtype, tuple[int, ...]]]:
        """Number to dtype and dimensions."""
        return {
            instruction.integer(9): _array_type(instruction.message(3, "ShapeProto"), "a parameter")
            for computation, instruction in self._instructions.values()
            if computation == self.entry and instruction.text(2) == "parameter"
        }

    def results(self) -> list[tuple[tuple[int, ...], np.dtype, tuple[int, ...]]]:
        """Of each result the index in the root's tuple (empty without one), dtype and dimensions."""
        shape = self.root(self.entry)[1].message(3, "ShapeProto")
        if shape.integer(2) != _TUPLE:
            return [((), *_array_type(shape, "the result"))]
        return [((i,), *_array_type(leaf, f"result {i:d}")) for i, leaf in enumerate(shape.messages(4, "ShapeProto"))]

    def source(self, places: _Places, found: tuple[int, Message], index: tuple[int, ...]) -> Slice:
        """Where the value at `index` of this instruction's tuple lies: the buffer of the instruction that defines it.

        A loop defines what its body changes; anything else in its tuple is defined before it.
        """
        computation, instruction = found
        defined = instruction.integer(35), index
        if defined in places:
            return places[defined]
        opcode = instruction.text(2)
        operands = instruction.integers(36)
        if opcode == "tuple" and index:
            return self.source(places, self.instruction(operands[index[0]], computation), index[1:])
        if opcode == "get-tuple-element":
            index = (instruction.integer(13), *index)
            return self.source(places, self.instruction(operands[0], computation), index)
        if opcode in ("bitcast", "while"):
            return self.source(places, self.instruction(operands[0], computation), index)
        if opcode == "call":
            called = instruction.integers(38)[0]
            return self.source(places, self.root(called), index)
        if opcode == "parameter" and computation != self.entry:
            return self.source(places, self._argument(computation, instruction.integer(9)), index)
        raise DirectCallRefused(f"the buffer of a result of {instruction.text(1)}, a {opcode}, was not found")

    def _argument(self, computation: int, number: int) -> tuple[int, Message]:
        """What the one call of a computation passes to it."""
        callers = [
            (caller, instruction)
            for caller, instruction in self._instructions.values()
            if computation in instruction.integers(38)
        ]
        if len(callers) != 1 or callers[0][1].text(2) != "call":
            raise DirectCallRefused("a result is an argument of a computation that is not called exactly once")
        caller, call = callers[0]
        return self.instruction(call.integers(36)[number], caller)


# --- The executable


def _compilation_result(serialized: bytes) -> Message:
    """The CompilationResultProto, behind the header that the array runtime (IFRT) puts before it from 0.10 on."""
    known = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
    size, at = varint(serialized, 0)
    if serialized[at : at + size].find(b"pjrt_ifrt", 0, 16) >= 0:
        serialized = serialized[at + size :]
    executable = Message(serialized, "ExecutableAndOptionsProto", {1, 2, 3})
    return executable.message(1, "CompilationResultProto", known)


def _steps(sequence: Message) -> Iterator[Kernel | Copy]:
    for thunk in sequence.messages(1, "ThunkProto"):
        kind = thunk.text(1)
        if kind == "call":
            yield from _steps(thunk.message(3, "CallThunkProto", {1}).message(1, "ThunkSequenceProto"))
        elif kind == "copy":
            copy = thunk.message(12, "CopyThunkProto", {1, 2})
            ends = [copy.message(number, "ShapeBufferAllocationSliceProto", {1, 2}) for number in (1, 2)]
            types = [_array_type(end.message(1, "ShapeProto"), "a copied buffer") for end in ends]
            source, destination = (_slice(end.bytes_(2)) for end in ends)
            if types[0] != types[1] or source.size != destination.size:
                raise DirectCallRefused("a copy changes the order of elements")
            yield Copy(source, destination)
        elif kind == "kernel":
            kernel = thunk.message(11, "KernelThunkProto", {1, 2, 3, 4, 5, 6})
            groups = kernel.message(2, "NumWorkGroups", {1, 2, 3})
            if any(groups.integer(axis) != 1 for axis in (1, 2, 3)):
                raise DirectCallRefused(f"the kernel {kernel.text(1)} is for several threads")
            if kernel.message(4, "Int64Optional").integer(1) > KERNEL_ALIGNMENT:
                raise DirectCallRefused(f"the kernel {kernel.text(1)} wants buffers aligned to more than 64 bytes")
            yield Kernel(kernel.text(1), tuple(map(_slice, kernel.all(5) + kernel.all(6))))
        else:
            raise DirectCallRefused(f"{thunk.message(2, 'InfoProto').text(1)} is no kernel, but a {kind}")


def _read(serialized: bytes) -> CpuExecutable:
    result = _compilation_result(serialized)
    if result.integer(5) != 2:
        raise DirectCallRefused("the executable is not made of kernels")
    module = _Module(result.message(1, "HloModuleProtoWithConfig").message(1, "HloModuleProto"))
    assignment = result.message(2, "BufferAssignmentProto")
    defined: dict[int, _Position] = {}  # number of a buffer to its position
    for buffer in assignment.messages(1, "LogicalBufferProto"):
        location = buffer.message(3, "Location", {1, 2, 3, 4})
        defined[buffer.integer(1)] = location.integer(4), tuple(location.integers(3))

    allocations: dict[int, int] = {}
    constants: dict[int, bytes] = {}
    parameters: dict[int, Slice] = {}
    places: _Places = {}
    for allocation in assignment.messages(3, "BufferAllocationProto", {1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12}):
        number, size = allocation.integer(1), allocation.integer(2)
        if allocation.integer(3):  # memory of one call inside of a kernel, which has it on its stack
            continue
        if allocation.integer(8):
            raise DirectCallRefused(f"a buffer is in memory space {allocation.integer(8):d}")
        for assigned in allocation.messages(9, "Assigned", {1, 2, 3, 4}):
            part = Slice(number, assigned.integer(2), assigned.integer(3))
            places[defined[assigned.integer(1)]] = part
            if allocation.integer(12):
                constants[number] = module.constant(defined[assigned.integer(1)][0])
        if allocation.integer(12):
            if len(constants.get(number, b"")) != size:
                raise DirectCallRefused("a constant has another size than its buffer")
            continue
        allocations[number] = size
        if allocation.integer(5):
            if allocation.integers(10):
                raise DirectCallRefused("a parameter is a tuple")
            parameters[allocation.integer(6)] = Slice(number, 0, size)

    objects = tuple(_objects(result))
    steps = tuple(_steps(result.message(6, "ThunkSequenceProto", {1, 2})))
    if not objects and any(isinstance(step, Kernel) for step in steps):
        raise DirectCallRefused(
            "the executable has no machine code: it was loaded from JAX's cache on disk, which cannot give it out again"
        )
    executable = CpuExecutable(
        objects=objects,
        steps=steps,
        allocations=allocations,
        constants=constants,
        parameters=_parameters(module, parameters),
        results=tuple(
            Value(module.source(places, module.root(module.entry), index), dtype, dims)
            for index, dtype, dims in module.results()
        ),
    )
    _check(executable)
    return executable


def _objects(result: Message) -> Iterator[bytes]:
    """Object files, as bytes or (from 2025 on) with a name."""
    for value in result.all(4):
        if isinstance(value, bytes):
            yield value
    for file in result.messages(8, "ObjFileProto", {1, 2, 3}):
        yield file.bytes_(1)


def _parameters(module: _Module, buffers: dict[int, Slice]) -> tuple[Value, ...]:
    shapes = module.parameters()
    if set(shapes) != set(buffers):
        raise DirectCallRefused("the module's parameters and their buffers differ in number")
    return tuple(Value(buffers[i], *shapes[i]) for i in range(len(shapes)))


def _check(executable: CpuExecutable) -> None:
    """That every buffer lies in an allocation and has its value's size, and that no copy writes to a constant."""
    sizes = {**executable.allocations, **{number: len(data) for number, data in executable.constants.items()}}
    slices: list[Slice] = []
    for step in executable.steps:
        slices += step.buffers if isinstance(step, Kernel) else (step.source, step.destination)
    for value in (*executable.parameters, *executable.results):
        slices.append(value.buffer)
        if value.buffer.size != math.prod(value.shape) * value.dtype.itemsize:
            raise DirectCallRefused("a parameter or result has another size than its buffer")
    if any(isinstance(step, Copy) and step.destination.allocation in executable.constants for step in executable.steps):
        raise DirectCallRefused("a constant is written to")
    for part in slices:
        if part.offset + part.size > sizes.get(part.allocation, -1):
            raise DirectCallRefused(f"{part} is not inside of its allocation")
