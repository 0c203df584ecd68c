"""What XLA's CPU compiler made of a module: machine code, the steps that run it, and where their buffers are.

In: an executable as PJRT serializes it. Out: a `CpuExecutable`. The format is XLA's own and promised to nobody
(`CompilationResultProto` in `xla/service/cpu/executable.proto`, and what it includes): so a field that is not known
here is refused by name wherever it could change the meaning, and nothing is guessed. Where a result lies is not in the
serialization; XLA finds it again by its dataflow analysis. `HloModule.source` is the part of it that is needed: through
calls, tuples, bitcasts, loops and branches to the instruction that defines a buffer. Decision to know: field numbers
are what is read, no generated classes, so that the same code reads every version of jaxlib that kept them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..object_files import DirectCallRefused
from .wire import Field, Message, WireError, varint

ALIGNMENT = 64  # bytes; what XLA's kernels may assume of every buffer
STACK = 1 << 18  # bytes; threads of other programs may have no more than two megabytes, some far less
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
ELEMENT_TYPES = {np.dtype(name): number for number, (name, _, _) in _TYPES.items()}
_TUPLE = 13


@dataclass(frozen=True)
class Slice:
    """A part of an allocation; offset and size in bytes."""

    allocation: int
    offset: int
    size: int


@dataclass(frozen=True)
class Value:
    """An array in a buffer; a parameter or a result is dense and in row-major order."""

    buffer: Slice
    dtype: np.dtype
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.buffer.size != math.prod(self.shape) * self.dtype.itemsize:
            raise DirectCallRefused("an array has another size than its buffer")


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Whatever is wrong with the bytes that are read is a refusal."""
    try:
        yield
    except WireError as error:
        raise DirectCallRefused(f"the serialized executable has another format in this XLA: {error}") from None
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DirectCallRefused(f"the serialized executable cannot be read: {error!r}") from None


@dataclass(frozen=True)
class CpuExecutable:
    """An executable whose steps are run one after the other by one thread.

    Attributes:
        objects: ELF object files with the kernels.
        steps: a ThunkSequenceProto, what is run.
        allocations: number of an allocation to its size in bytes; those of constants are not among them.
        constants: number of an allocation to its bytes, which nothing may write.
        parameters: in the order of the module's parameters.
        results: in the order of the module's results.
        donated: numbers of parameters in whose buffers results may be.
    """

    objects: tuple[bytes, ...]
    steps: Message
    allocations: dict[int, int]
    constants: dict[int, bytes]
    parameters: tuple[Value, ...]
    results: tuple[Value, ...]
    donated: frozenset[int] = frozenset()

    @staticmethod
    @reading()
    def read(serialized: bytes) -> CpuExecutable:
        """From the bytes that PJRT makes of an executable.

        Raises:
            DirectCallRefused: something in it is not known here, or is done by XLA's own code.
        """
        size, at = varint(serialized, 0)
        if b"pjrt_ifrt" in serialized[at : at + min(size, 16)]:  # the header of the array runtime (IFRT), from 0.10 on
            serialized = serialized[at + size :]
        executable = Message(serialized, "ExecutableAndOptionsProto", {1, 2, 3})
        result = executable.message(1, "CompilationResultProto", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
        if result.integer(5) != 2:
            raise DirectCallRefused("the executable is not made of kernels")
        module = HloModule(result.message(1, "HloModuleProtoWithConfig").message(1, "HloModuleProto"))
        assignment = result.message(2, "BufferAssignmentProto")
        defined: dict[int, Position] = {}  # number of a buffer to its position
        for buffer in assignment.messages(1, "LogicalBufferProto"):
            location = buffer.message(3, "Location", {1, 2, 3, 4})
            defined[buffer.integer(1)] = location.integer(4), tuple(location.integers(3))

        allocations: dict[int, int] = {}
        constants: dict[int, bytes] = {}
        parameters: dict[int, Slice] = {}
        places: dict[Position, Slice] = {}
        stack = 0
        for allocation in assignment.messages(3, "BufferAllocationProto", {1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13}):
            number, size = allocation.integer(1), allocation.integer(2)
            if allocation.integer(3):  # memory of one call inside of a kernel, which has it on its stack
                stack += size
                if stack > STACK:
                    raise DirectCallRefused(f"its kernels have more than {STACK >> 10:d} KiB on the stack")
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

        shapes = module.parameters()
        if set(shapes) != set(parameters):
            raise DirectCallRefused("the module's parameters and their buffers differ in number")
        objects = [value for value in result.all(4) if isinstance(value, bytes)]
        objects += [file.bytes_(1) for file in result.messages(8, "ObjFileProto", {1, 2, 3})]  # from 2025 on
        found = CpuExecutable(
            objects=tuple(objects),
            steps=result.message(6, "ThunkSequenceProto", {1, 2}),
            allocations=allocations,
            constants=constants,
            parameters=tuple(Value(parameters[i], *shapes[i]) for i in range(len(shapes))),
            results=tuple(
                Value(module.source(places, module.root(module.entry), index), dtype, dims)
                for index, dtype, dims in module.results()
            ),
            donated=module.donated,
        )
        for value in found.results:
            found.check(value.buffer)
        return found

    def check(self, part: Slice) -> None:
        """Refuses what is not inside of its allocation."""
        constant = self.constants.get(part.allocation)
        size = self.allocations.get(part.allocation, -1) if constant is None else len(constant)
        if part.offset + part.size > size:
            raise DirectCallRefused(f"{part} is not inside of its allocation")


def slice_of(data: Field) -> Slice:
    """A BufferAllocationSliceProto, alone or (from jaxlib 0.10) in a ShapedSliceProto with its shape."""
    outer = Message(data, "ShapedSliceProto")
    if outer.has(1) and isinstance(outer.all(1)[0], bytes):
        Message(data, "ShapedSliceProto", {1, 2})
        data = outer.bytes_(1)
    inner = Message(data, "BufferAllocationSliceProto", {1, 2, 3, 4})
    return Slice(inner.integer(3), inner.integer(1), inner.integer(2))


# ---- types and values ------------------------------------------------------------------------------------------------


def dense_type(shape: Message, what: str) -> tuple[np.dtype, tuple[int, ...], tuple[int, ...]]:
    """dtype, dimensions and their order in memory, from the one whose elements are farthest apart."""
    element = shape.integer(2)
    if element not in _TYPES:
        raise DirectCallRefused(f"{what} has XLA's element type {element:d}, which NumPy does not have")
    dims = tuple(shape.integers(3))
    if any(shape.integers(6)):
        raise DirectCallRefused(f"{what} has a dynamic dimension")
    order = tuple(shape.message(5, "LayoutProto").integers(1))[::-1] if dims else ()
    if sorted(order) != list(range(len(dims))):
        raise DirectCallRefused(f"{what} has a layout that is not one of dense arrays")
    return np.dtype(_TYPES[element][0]), dims, order


def array_type(shape: Message, what: str) -> tuple[np.dtype, tuple[int, ...]]:
    """dtype and dimensions of a dense array in row-major order."""
    dtype, dims, order = dense_type(shape, what)
    if order != tuple(range(len(dims))):
        raise DirectCallRefused(f"{what} is not in row-major order")
    return dtype, dims


# ---- the HLO module --------------------------------------------------------------------------------------------------

Position = tuple[int, tuple[int, ...]]  # an instruction, and the index in its tuple, which define a buffer


class HloModule:
    """The HLO module that was compiled.

    Attributes:
        entry: the number of its main computation.
        donated: parameters whose memory results may be in.
    """

    def __init__(self, module: Message) -> None:
        self._instructions: dict[int, tuple[int, Message]] = {}  # the computation that an instruction is in, and it
        self._roots: dict[int, int] = {}
        for computation in module.messages(3, "HloComputationProto"):
            id_ = computation.integer(5)
            self._roots[id_] = computation.integer(6)
            for instruction in computation.messages(2, "HloInstructionProto"):
                self._instructions[instruction.integer(35)] = id_, instruction
        self.entry = module.integer(6)
        aliases = module.message(8, "HloInputOutputAliasProto", {1}).messages(1, "AliasEntryProto", {1, 2, 3, 4})
        self.donated = frozenset(alias.integer(2) for alias in aliases)
        if any(alias.integers(3) for alias in aliases):
            raise DirectCallRefused("a part of a parameter is donated")
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
        """The bytes of an array."""
        instruction = self._instructions[id_][1]
        name, opcode = instruction.text(1), instruction.text(2)
        if opcode != "constant":
            raise DirectCallRefused(f"a constant buffer is of {name}, a {opcode}")
        shape, literal = instruction.message(3, "ShapeProto"), instruction.message(8, "LiteralProto")
        dtype, dims, _ = expected = dense_type(shape, f"the constant {name}")
        if dense_type(literal.message(1, "ShapeProto"), f"the value of {name}") != expected:
            raise DirectCallRefused(f"the constant {name} has another shape than its value")
        _, number, variable = _TYPES[shape.integer(2)]
        if variable:
            data = np.array(literal.integers(number), np.uint64).astype(dtype).tobytes()  # two's complement, cut off
        else:
            data = b"".join(bytes([value]) if isinstance(value, int) else value for value in literal.all(number))
        if len(data) != math.prod(dims) * dtype.itemsize:
            raise DirectCallRefused(f"the constant {name} is not in the executable with all its elements")
        return data

    def parameters(self) -> dict[int, tuple[np.dtype, tuple[int, ...]]]:
        """Number to dtype and dimensions."""
        return {
            instruction.integer(9): array_type(instruction.message(3, "ShapeProto"), "a parameter")
            for computation, instruction in self._instructions.values()
            if computation == self.entry and instruction.text(2) == "parameter"
        }

    def results(self) -> list[tuple[tuple[int, ...], np.dtype, tuple[int, ...]]]:
        """Of each result the index in the root's tuple (empty without one), dtype and dimensions."""
        shape = self.root(self.entry)[1].message(3, "ShapeProto")
        if shape.integer(2) != _TUPLE:
            return [((), *array_type(shape, "the result"))]
        return [((i,), *array_type(leaf, f"result {i:d}")) for i, leaf in enumerate(shape.messages(4, "ShapeProto"))]

    def source(self, places: Mapping[Position, Slice], place: tuple[int, Message], index: tuple[int, ...]) -> Slice:
        """Where the value at `index` of this instruction's tuple lies: the buffer of the instruction that defines it.

        A loop defines what its body changes, a conditional what its branches make differently; anything else in their
        tuples is defined before.
        """
        computation, instruction = place
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
        if opcode in ("call", "conditional"):
            found = {self.source(places, self.root(called), index) for called in instruction.integers(38)}
            if len(found) != 1:
                raise DirectCallRefused(f"a result of {instruction.text(1)} is in several buffers")
            return found.pop()
        if opcode == "parameter" and computation != self.entry:
            return self.source(places, self._argument(computation, instruction.integer(9)), index)
        raise DirectCallRefused(f"the buffer of a result of {instruction.text(1)}, a {opcode}, was not found")

    def _argument(self, computation: int, number: int) -> tuple[int, Message]:
        callers = [
            (caller, instruction)
            for caller, instruction in self._instructions.values()
            if computation in instruction.integers(38)
        ]
        if len(callers) != 1 or callers[0][1].text(2) not in ("call", "conditional"):
            raise DirectCallRefused("a result is an argument of a computation that is not called exactly once")
        caller, call = callers[0]
        # A conditional has one argument for each of its computations, behind the index.
        place = number if call.text(2) == "call" else 1 + call.integers(38).index(computation)
        return self.instruction(call.integers(36)[place], caller)
