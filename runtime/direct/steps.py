"""The function that runs an executable's steps, one after the other: what XLA's CPU runtime does, in one thread.

In: XLA's steps (`ThunkSequenceProto` in XLA's `backends/cpu/runtime`), and where code and constants are. Out: LLVM IR
of a function, which takes the address of a *workspace*: a 0, its own address, those of the parameters' buffers, other
buffers, and words: the frames that steps are called with. It returns 0, or 1 where a step failed. A step of a kind that
is not known, or that XLA's own code does and nobody else can call (its dot products, FFTs, convolutions), is refused by
its name.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...codegen.ir.bindings import ir
from ...codegen.ir.jax_compat import initialize_lapack, lapack_handlers
from ...codegen.ir.values import numpy_dtype
from ..object_files import DirectCallRefused
from .executable import ALIGNMENT, ELEMENT_TYPES, CpuExecutable, Slice, Value, dense_type, reading, slice_of
from .llvm_ir import Writer
from .native_code import BLAS, blas_code, native_code
from .object_code import c_function, here, once
from .wire import Message

WORKSPACE, PARAMETERS = 1, 2  # words of a workspace: where it is, and where its first parameter is
_TYPED_FFI = 4  # xla.CustomCallApiVersion
_MOST_ARRAYS = 16  # that are sorted together; as in native/calls.src

# Pointers have types, as LLVM has them up to 15. Floating point is as XLA's threads have it: round to nearest, no
# traps, subnormal numbers are zero. The caller's mode comes back afterwards. Of each register: declarations, its value
# kept as %before and ours put into it, and the one before.
_MODES = {
    "mxcsr": (
        "declare void @llvm.x86.sse.stmxcsr(i8*)\ndeclare void @llvm.x86.sse.ldmxcsr(i8*)",
        """  %before = alloca i8, i64 4, align 4
  %mode = alloca i32
  %ours = bitcast i32* %mode to i8*
  call void @llvm.x86.sse.stmxcsr(i8* %before)
  store i32 40896, i32* %mode
  call void @llvm.x86.sse.ldmxcsr(i8* %ours)""",
        "  call void @llvm.x86.sse.ldmxcsr(i8* %before)",
    ),
    "fpcr": (
        "declare i64 @llvm.aarch64.get.fpcr()\ndeclare void @llvm.aarch64.set.fpcr(i64)",
        """  %before = call i64 @llvm.aarch64.get.fpcr()
  call void @llvm.aarch64.set.fpcr(i64 16777216)""",
        "  call void @llvm.aarch64.set.fpcr(i64 %before)",
    ),
}
_TEXT = """
{declare}

define i32 @run(i64 %workspace) {{
{enter}
{body}
  br label %end
failed:
  br label %end
end:
  %code = phi i32 [ 0, %{last} ], [ 1, %failed ]
{leave}
  ret i32 %code
}}
"""

# A number, or an address: the number of the workspace's word that it is counted from, and bytes.
Word = int | tuple[int, int]


class Steps:
    """Writes the function of an executable, and what it finds in a workspace.

    Attributes:
        text: the function `run`.
        words: of each word that calls refer to its place, the one that is added to it, and a number.
        places: of allocations in a workspace, in bytes; parameters' buffers are behind `size`, or elsewhere.
        size: bytes of a workspace without them.
        kinds: XLA's names of the kinds of steps that there are.
    """

    def __init__(
        self, executable: CpuExecutable, address: Callable[[str], int], constants: Mapping[int, np.ndarray]
    ) -> None:
        """Reads and writes the steps.

        Args:
            executable: whose they are.
            address: gives that of a function in its machine code.
            constants: the executable's, at addresses that stay.

        Raises:
            DirectCallRefused: something in them is not known here, or cannot be done without XLA's runtime.
        """
        self._executable, self._address, self._constants = executable, address, constants
        self._parameters = {value.buffer.allocation: i for i, value in enumerate(executable.parameters, PARAMETERS)}
        self.size, self.kinds = 8 * (PARAMETERS + len(executable.parameters)), set[str]()
        self.places = {n: self._take(size) for n, size in executable.allocations.items() if n not in self._parameters}
        self._written: list[tuple[int, int, int]] = []
        self._one, self._first = self._words([1, 1, 1]), self._words([0, 0, 0])
        self._code = Writer()
        self._code.go("steps")
        with reading():
            self._sequence(executable.steps)
        self.words = np.array(self._written, np.uint64)
        declare, enter, leave = _MODES[here().mode]
        body, last = "\n".join(self._code.lines), self._code.block
        self.text = _TEXT.format(declare=declare, enter=enter, body=body, last=last, leave=leave)

    # ---- workspaces --------------------------------------------------------------------------------------------------

    def _take(self, size: int, alignment: int = ALIGNMENT) -> int:
        start = -(-self.size // alignment) * alignment
        self.size = start + size
        return start

    def _words(self, words: Sequence[Word]) -> tuple[int, int]:
        start = self._take(8 * len(words), 8)
        for at, word in enumerate(words, start // 8):
            self._written.append((at, *(word if isinstance(word, tuple) else (0, word))))
        return WORKSPACE, start

    def _bytes(self, data: bytes) -> Word:
        return self._words([int(word) for word in np.frombuffer(data + bytes(-len(data) % 8), np.uint64)])

    def _buffer(self, part: Slice, *, written: bool = False) -> Word:
        self._executable.check(part)
        constant = self._constants.get(part.allocation)
        if constant is not None:
            if written:
                raise DirectCallRefused("a constant is written to")
            return int(constant.ctypes.data) + part.offset
        if part.allocation in self._parameters:
            return self._parameters[part.allocation], part.offset
        return WORKSPACE, self.places[part.allocation] + part.offset

    # ---- code; all values are i64 ------------------------------------------------------------------------------------

    def _value(self, word: Word) -> str:
        if isinstance(word, int):
            return f"{word:d}"
        base = "%workspace" if word[0] == WORKSPACE else self._code.load(self._value((WORKSPACE, 8 * word[0])))
        return self._code.add(f"add i64 {base}, {word[1]:d}")

    def _call(self, function: int, *operands: Word) -> str:
        return self._code.invoke(f"{function:d}", [self._value(operand) for operand in operands])

    def _try(self, function: int, frame: Word) -> None:
        failed = self._code.add(f"icmp eq i64 {self._call(function, frame)}, 0")
        self._code.choose(failed, self._code.new(), "failed")

    def _repeat(self, turns: int, body: Callable[[str], object]) -> None:
        """A loop of this many turns; the body takes the turn's number."""
        code, at = self._code, self._words([0])
        code.store("0", self._value(at))

        def step() -> None:
            turn = code.load(self._value(at))
            body(turn)
            code.store(code.add(f"add i64 {turn}, 1"), self._value(at))

        code.loop(lambda: code.add(f"icmp ult i64 {code.load(self._value(at))}, {turns:d}"), step)

    # ---- steps -------------------------------------------------------------------------------------------------------

    def _sequence(self, sequence: Message) -> None:
        # Kind to the field of ThunkProto, its message's name and known fields, and what writes it.
        writers = {
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
                self._sequence(_steps(thunk.message(3, "CallThunkProto", {1}), 1))
            elif kind in writers:
                number, message, known, write = writers[kind]
                self.kinds.add(kind)
                write(thunk.message(number, message, known), name)
            else:
                raise DirectCallRefused(f"{name} is no kernel, but a {kind}")

    def _kernel(self, kernel: Message, name: str) -> None:
        """Calls it for each of its work groups, with an XLA_CPU_KernelCallFrame."""
        if kernel.message(4, "Int64Optional").integer(1) > ALIGNMENT:
            raise DirectCallRefused(f"the kernel {kernel.text(1)} wants buffers aligned to more than 64 bytes")
        x, y, z = (kernel.message(2, "NumWorkGroups", {1, 2, 3}).integer(axis) for axis in (1, 2, 3))
        if not 1 <= x * y * z < 1 << 20:
            raise DirectCallRefused(f"{name} has {x * y * z:d} work groups")
        if not self._executable.objects:
            raise DirectCallRefused(
                "the executable has no machine code: it was loaded from JAX's cache on disk, which cannot give it out "
                "again"
            )
        function = self._address(kernel.text(1))
        parts = list(map(slice_of, kernel.all(5) + kernel.all(6)))
        buffers = self._words([word for part in parts for word in (self._buffer(part), part.size)])
        if x * y * z == 1:
            self._try(function, self._words([self._one, self._first, len(parts), buffers]))
            return
        place = self._words([0, 0, 0])
        frame = self._words([self._words([x, y, z]), place, len(parts), buffers])

        def call(number: str) -> None:
            row = self._code.add(f"udiv i64 {number}, {x:d}")
            for i, (op, value, count) in enumerate((("urem", number, x), ("urem", row, y), ("udiv", row, y))):
                part = self._code.add(f"{op} i64 {value}, {count:d}")
                self._code.store(part, self._value((WORKSPACE, place[1] + 8 * i)))
            self._try(function, frame)

        self._repeat(x * y * z, call)

    def _copy(self, copy: Message, _name: str) -> None:
        ends = [copy.message(number, "ShapeBufferAllocationSliceProto", {1, 2}) for number in (1, 2)]
        types = [dense_type(end.message(1, "ShapeProto"), "a copied buffer") for end in ends]
        source, target = (slice_of(end.bytes_(2)) for end in ends)
        if types[0] != types[1] or source.size != target.size:
            raise DirectCallRefused("a copy changes the order of elements")
        self._call(c_function("memcpy"), self._buffer(target, written=True), self._buffer(source), source.size)

    def _while(self, loop: Message, _name: str) -> None:
        """As often as XLA knows, else until the condition's steps have made the predicate false."""
        condition, body = _steps(loop, 1), _steps(loop, 2)
        predicate, turns = slice_of(loop.bytes_(4)), loop.message(3, "Int64Optional", {1, 2})
        if turns.integer(2):
            self._repeat(turns.integer(1), lambda _: self._sequence(body))
            return

        def goes_on() -> str:
            self._sequence(condition)
            return self._code.add(f"icmp ne i64 {self._flag(predicate, (1,))}, 0")

        self._code.loop(goes_on, lambda: self._sequence(body))

    def _case(self, case: Message, name: str) -> None:
        """A boolean is true for the first of two branches; an int32 that is no branch's is for the last one."""
        branches, index = case.messages(1, "ThunkSequenceProto", {1, 2}), slice_of(case.bytes_(2))
        code, value = self._code, self._flag(index, (1, 4))
        blocks, after = [code.new() for _ in branches], code.new()
        if not branches or (index.size == 1 and len(branches) != 2):
            raise DirectCallRefused(f"{name} has {len(branches):d} branches")
        numbers = [1] if index.size == 1 else range(len(branches))
        cases = " ".join(f"i64 {number:d}, label %{block}" for number, block in zip(numbers, blocks, strict=False))
        code.lines.append(f"  switch i64 {value}, label %{blocks[-1]} [ {cases} ]")
        code.open(blocks[0])
        for branch, then in zip(branches, [*blocks[1:], after], strict=True):
            self._sequence(branch)
            code.go(after, then)

    def _flag(self, part: Slice, sizes: tuple[int, ...]) -> str:
        if part.size not in sizes:
            raise DirectCallRefused(f"a predicate or an index has {part.size:d} bytes")
        stored = f"i{8 * part.size:d}"
        return self._code.add(f"zext {stored} {self._code.load(self._value(self._buffer(part)), stored)} to i64")

    def _sort(self, sort: Message, name: str) -> None:
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
            raise DirectCallRefused(f"{name} sorts floating-point numbers by a comparison that does not order NaN")
        axis = order.index(sort.integer(1))
        memory = [dims[i] for i in order]
        length = memory[axis]
        if len(arrays) > _MOST_ARRAYS or length >= 1 << 32:
            raise DirectCallRefused(f"{name} sorts {len(arrays):d} arrays together, of {length:d} elements")
        comparator = self._address(sort.text(4))
        if not makes_an_order(comparator, [array.dtype for array in arrays]):
            raise DirectCallRefused("a sort's comparator does not order NaN")
        scratch = self._take(length * (8 + max(array.dtype.itemsize for array in arrays)))
        shape = math.prod(memory[:axis]), length, math.prod(memory[axis + 1 :])
        places = [word for a in arrays for word in (self._buffer(a.buffer, written=True), a.dtype.itemsize)]
        what = [comparator, len(arrays), *shape, (WORKSPACE, scratch), *places]
        self._call(native_code().address("hlograph_sort"), self._words(what))

    # ---- calls by XLA's foreign function interface: jaxlib's LAPACK, and our own -------------------------------------

    def _custom_call(self, call: Message, name: str) -> None:
        """Calls it with an XLA_FFI_CallFrame (`xla/ffi/api/c_api.h`).

        Only functions that are known to need nothing but their arguments are called. Where one asks XLA for more
        (memory, threads, state), the frame's table of XLA's functions refuses, and its call fails.
        """
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
        attributes = sorted((key.encode(), value) for key, value in _attributes(call.text(3), name).items())
        spans = [self._words([self._bytes(key), len(key)]) for key, _ in attributes]
        scalars = [self._words([ELEMENT_TYPES[x.dtype], self._bytes(x.tobytes())]) for _, x in attributes]
        types = self._bytes(np.full(len(attributes), _SCALAR, np.int32).tobytes())
        frame = [
            _FRAME_BYTES,
            0,
            _api().ctypes.data,
            0,
            _EXECUTE,
            *self._values(arguments),
            *self._values(results, written=True),
        ]
        frame += [_ATTRIBUTES_BYTES, 0, len(attributes), types, self._words(spans), self._words(scalars), 0]
        self._try(_target(target), self._words(frame))

    def _values(self, values: Sequence[Value], *, written: bool = False) -> list[Word]:
        """XLA_FFI_Args or XLA_FFI_Rets, of XLA_FFI_Buffer; XLA_FFI_DataType has XLA's numbers of types."""
        buffers = []
        for value in values:
            kind, dims, address = ELEMENT_TYPES[value.dtype], value.shape, self._buffer(value.buffer, written=written)
            buffers.append(self._words([_BUFFER_BYTES, 0, kind, address, len(dims), self._words(dims)]))
        types = self._bytes(np.full(len(values), _BUFFER, np.int32).tobytes())
        return [_ARGUMENTS_BYTES, 0, len(values), types, self._words(buffers)]


_BUFFER = 1  # XLA_FFI_ArgType, XLA_FFI_RetType
_SCALAR = 3  # XLA_FFI_AttrType
_EXECUTE = 3  # XLA_FFI_ExecutionStage
_FUNCTIONS = 40  # of XLA_FFI_Api, and some to spare
_DETAILS = 1  # the one of them that returns nothing
# Sizes in bytes up to the last field that the interface counts.
_FRAME_BYTES, _ARGUMENTS_BYTES, _ATTRIBUTES_BYTES, _BUFFER_BYTES = 168, 40, 48, 48


@once
def _api() -> np.ndarray:
    """XLA_FFI_Api: size, extension, version (a struct of three words), internal functions, functions."""
    code = native_code()
    functions = [code.address("hlograph_ffi_refuse")] * _FUNCTIONS
    functions[_DETAILS] = code.address("hlograph_ffi_details")
    words = [0, 0, 24, 0, 0, 0, *functions]
    return np.array([8 * len(words), *words[1:]], np.uint64)


def _target(target: str) -> int:
    if target in BLAS:
        return blas_code().address(target)
    if target not in lapack_handlers():
        raise DirectCallRefused(f"{target} is a function that is not known to do without XLA's runtime")
    initialize_lapack()
    return lapack_handlers()[target]


def _steps(thunk: Message, number: int) -> Message:
    return thunk.message(number, "ThunkSequenceProto", {1, 2})


def _attributes(text: str, name: str) -> dict[str, np.generic]:
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
    raise DirectCallRefused(f"{name} has an attribute {attribute}, which is not a scalar")


# ---- comparators -----------------------------------------------------------------------------------------------------


def makes_an_order(address: int, dtypes: Sequence[np.dtype]) -> bool:
    """Whether the comparator of tuples of these dtypes at an address is an order of NaN, infinities and zeros too.

    Only then do all stable sorts agree.
    """
    compare = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(address)
    result = ctypes.c_bool(False)

    def less(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> bool:
        pointers = [array.ctypes.data for pair in zip(left, right, strict=True) for array in pair]
        elements = (ctypes.c_void_p * len(pointers))(*pointers)
        compare(ctypes.byref(result), None, elements, None, None, None)
        return result.value

    samples = _samples(dtypes)
    table = np.array([[less(left, right) for right in samples] for left in samples])
    alike = ~(table | table.T)  # neither is before the other
    transitive = not any((steps @ steps & ~steps).any() for steps in (table, alike))
    return transitive and not (table & table.T).any()


def _samples(dtypes: Sequence[np.dtype]) -> list[list[np.ndarray]]:
    """Tuples of elements: all of the special ones of the first two arrays with one another."""
    floats = (1.0, np.nan, -np.inf, -1.0, -0.0, 0.0, np.inf, -np.nan)
    special = [[np.array(x, dtype) for x in (floats if dtype.kind in "fc" else range(3))] for dtype in dtypes]
    first = [column if i < 2 else column[:2] for i, column in enumerate(special[:3])]
    rest = [column[0] for column in special[3:]]
    return [[*chosen, *rest] for chosen in itertools.product(*first)]
