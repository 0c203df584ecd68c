"""What a call of an executable's steps works on, as words: its buffers, and the table of steps that refers to them.

In: a `CpuExecutable` and where its code and constants are. Out: an `Image`, of which each workspace is a copy: words,
and which of them are addresses in the workspace itself, to be moved to where it lies. C makes workspaces of it
(`native/function.c`), and Python (`Workspace`), for callers who have NumPy arrays.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Collection

import numpy as np

from .comparator import makes_an_order
from .executable import CpuExecutable
from .native_code import runner
from .object_code import ObjectCode
from .steps import KERNEL_ALIGNMENT, DirectCallRefused, Function, Slice, Value, Word, Words

_ALIGNED_WORDS = KERNEL_ALIGNMENT // 8
_LARGE = 1 << 20  # bytes, from which an allocator may keep what is freed; as in native/function.c


class Image:
    """A workspace with addresses that count from its own start.

    Args:
        executable: what it is for; it is loaded.
        referred: parameters that have no buffer in a workspace: their addresses are put in by each call.

    Attributes:
        words: its content.
        addresses: which words are such addresses.
        table: place of the table of steps, in bytes.
        uses: of each parameter, the words that refer to its buffer, and how many bytes behind its start.
        executable, referred: what it was made of.
        constants: the executable's, to which addresses in it point.

    Raises:
        DirectCallRefused: the code cannot be loaded.
    """

    def __init__(self, executable: CpuExecutable, referred: Collection[int] = ()) -> None:
        if any(value.buffer.allocation in executable.constants for value in executable.results):
            raise DirectCallRefused("a result lies in a constant's buffer")
        if executable.donated & set(referred):
            raise DirectCallRefused("results may be in the memory of an argument that is the caller's")
        self.executable = executable
        self.constants = {number: _constant(data) for number, data in executable.constants.items()}
        self._code = ObjectCode(executable.objects)
        self._parameters = {value.buffer.allocation: i for i, value in enumerate(executable.parameters)}
        self.referred = referred
        self._used = 0
        self._places: dict[int, int] = {}
        self._written: dict[int, int] = {}  # words by their identity
        self._parts: list[tuple[int, np.ndarray]] = []
        self._addresses: list[int] = []
        self._uses: list[list[tuple[int, int]]] = [[] for _ in executable.parameters]
        for number, size in executable.allocations.items():
            absent = self._parameters.get(number) in referred
            self._places[number] = 8 * self._take(0 if absent else -(-size // 8))
        self.table = self._write(executable.steps)
        self.words = np.zeros(self._used, np.uint64)
        for start, part in self._parts:
            self.words[start : start + len(part)] = part
        self.addresses = np.array(self._addresses, np.uint32)
        self.uses = [np.array(use, np.uint32).reshape(-1, 2) for use in self._uses]

    def place(self, value: Value) -> int:
        """Where a parameter or result is, in bytes."""
        return self._places[value.buffer.allocation] + value.buffer.offset

    def _take(self, words: int) -> int:
        """The first of so many words, where a buffer may begin."""
        start = self._used
        self._used += -(-words // _ALIGNED_WORDS) * _ALIGNED_WORDS
        return start

    def _write(self, words: Words) -> int:
        """The place of words, in bytes."""
        start = self._written.get(id(words))
        if start is None:
            start = self._written[id(words)] = self._take(len(words.words))
            content = np.zeros(len(words.words), np.uint64)
            for i, word in enumerate(words.words):
                content[i] = self._number(start + i, word)
            self._parts.append((start, content))
        return 8 * start

    def _number(self, at: int, word: Word) -> int:
        """What stands in a word, which is at this place."""
        match word:
            case Words():
                self._addresses.append(at)
                return self._write(word)
            case Function(name, compares):
                address = self._code.address(name)
                if compares and not makes_an_order(address, compares):
                    raise DirectCallRefused("a sort's comparator puts NaN in no place of the order")
                return address
            case Slice(allocation, offset) if allocation in self.constants:
                return self.constants[allocation].ctypes.data + offset
            case Slice(allocation, offset):
                parameter = self._parameters.get(allocation)
                if parameter is not None:
                    self._uses[parameter].append((at, offset - self.executable.parameters[parameter].buffer.offset))
                if parameter not in self.referred:
                    self._addresses.append(at)
                return self._places[allocation] + offset
        return word


class Workspace:
    """A copy of an image: what one call at a time uses.

    A caller writes to `arguments`, calls `run(table)`, which returns 0 unless a step failed, and copies what it
    wants from `results` before the next call.

    Attributes:
        run: without the interpreter's lock, in the calling thread.
        table: what it takes.
        arguments: an array for each parameter of the executable.
        results: an array for each of its results.
    """

    def __init__(self, image: Image) -> None:
        memory = _aligned(8 * len(image.words))
        words = memory.view(np.uint64)
        words[:] = image.words
        words[image.addresses] += np.uint64(memory.ctypes.data)
        self._held = image, memory
        self.run = runner()
        self.table = ctypes.c_void_p(memory.ctypes.data + image.table)
        executable = image.executable
        self.arguments = [_array(memory, image.place(value), value) for value in executable.parameters]
        self.results = [_array(memory, image.place(value), value) for value in executable.results]


def _array(memory: np.ndarray, place: int, value: Value) -> np.ndarray:
    return memory[place : place + value.buffer.size].view(value.dtype).reshape(value.shape)


def _aligned(size: int) -> np.ndarray:
    """Zero bytes at an address that kernels accept; many are the system's again when they are freed."""
    if size >= _LARGE:
        return np.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    memory = np.zeros(size + KERNEL_ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % KERNEL_ALIGNMENT
    return memory[start : start + size]


def _constant(data: bytes) -> np.ndarray:
    memory = _aligned(len(data))
    memory[:] = np.frombuffer(data, np.uint8)
    return memory
