"""What XLA's CPU compiler made of a module: machine code, the steps that run it, and where their buffers are.

In: an executable as PJRT serializes it. Out: a `CpuExecutable`. The format is XLA's own and promised to nobody
(`CompilationResultProto` in `xla/service/cpu/executable.proto`, and what it includes): so a field that is not known
here is refused by name wherever it could change the meaning, and nothing is guessed. Decision to know: field numbers
are what is read, no generated classes, so that the same code reads every version of jaxlib that kept them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..wire import Message, WireError, varint
from .hlo_module import HloModule, Position
from .steps import DirectCallRefused, Slice, Value, Words
from .thunks import Reader

__all__ = ["CpuExecutable", "DirectCallRefused", "Slice", "Value"]

STACK = 1 << 18  # bytes; threads of other programs may have no more than two megabytes, some far less


@dataclass(frozen=True)
class CpuExecutable:
    """An executable whose steps are run one after the other by one thread.

    Attributes:
        objects: ELF object files with the kernels.
        steps: the table of what is run.
        kinds: XLA's names of the kinds of steps in it.
        allocations: number of an allocation to its size in bytes; those of constants are not among them.
        constants: number of an allocation to its bytes, which nothing may write.
        parameters: in the order of the module's parameters.
        results: in the order of the module's results.
        donated: numbers of parameters in whose buffers results may be.
    """

    objects: tuple[bytes, ...]
    steps: Words
    kinds: frozenset[str]
    allocations: dict[int, int]
    constants: dict[int, bytes]
    parameters: tuple[Value, ...]
    results: tuple[Value, ...]
    donated: frozenset[int] = frozenset()

    @classmethod
    def read(cls, serialized: bytes) -> CpuExecutable:
        """From the bytes that PJRT makes of an executable.

        Raises:
            DirectCallRefused: something in it is not known here, or is done by XLA's own code.
        """
        try:
            return _read(serialized)
        except WireError as error:
            raise DirectCallRefused(
                f"the serialized executable has another form in this version of XLA: {error}"
            ) from None
        except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise DirectCallRefused(f"the serialized executable cannot be read: {error!r}") from None


def _compilation_result(serialized: bytes) -> Message:
    """The CompilationResultProto, behind the header that the array runtime (IFRT) puts before it from 0.10 on."""
    known = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
    size, at = varint(serialized, 0)
    if serialized[at : at + size].find(b"pjrt_ifrt", 0, 16) >= 0:
        serialized = serialized[at + size :]
    executable = Message(serialized, "ExecutableAndOptionsProto", {1, 2, 3})
    return executable.message(1, "CompilationResultProto", known)


def _read(serialized: bytes) -> CpuExecutable:
    result = _compilation_result(serialized)
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

    objects = tuple(_objects(result))
    reader = Reader()
    steps = reader.table(result.message(6, "ThunkSequenceProto", {1, 2}))
    if not objects and "kernel" in reader.kinds:
        raise DirectCallRefused(
            "the executable has no machine code: it was loaded from JAX's cache on disk, which cannot give it out again"
        )
    executable = CpuExecutable(
        objects=objects,
        steps=steps,
        kinds=frozenset(reader.kinds),
        allocations=allocations,
        constants=constants,
        parameters=_parameters(module, parameters),
        results=tuple(
            Value(module.source(places, module.root(module.entry), index), dtype, dims)
            for index, dtype, dims in module.results()
        ),
        donated=module.donated,
    )
    _check(executable, reader)
    return executable


def _objects(result: Message) -> Iterator[bytes]:
    """Object files, as bytes or (from 2025 on) with a name."""
    for value in result.all(4):
        if isinstance(value, bytes):
            yield value
    for file in result.messages(8, "ObjFileProto", {1, 2, 3}):
        yield file.bytes_(1)


def _parameters(module: HloModule, buffers: dict[int, Slice]) -> tuple[Value, ...]:
    shapes = module.parameters()
    if set(shapes) != set(buffers):
        raise DirectCallRefused("the module's parameters and their buffers differ in number")
    return tuple(Value(buffers[i], *shapes[i]) for i in range(len(shapes)))


def _check(executable: CpuExecutable, reader: Reader) -> None:
    """That every buffer lies in an allocation and has its value's size, and that no step writes to a constant."""
    sizes = {**executable.allocations, **{number: len(data) for number, data in executable.constants.items()}}
    if any(part.allocation in executable.constants for part in reader.written):
        raise DirectCallRefused("a constant is written to")
    values = [*executable.parameters, *executable.results, *reader.values]
    if any(value.buffer.size != math.prod(value.shape) * value.dtype.itemsize for value in values):
        raise DirectCallRefused("an array has another size than its buffer")
    for part in (*executable.steps.slices(), *(value.buffer for value in values)):
        if part.offset + part.size > sizes.get(part.allocation, -1):
            raise DirectCallRefused(f"{part} is not inside of its allocation")
