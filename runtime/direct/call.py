"""Calls of a compiled executable's kernels without PJRT.

In: an executable that JAX compiled for the CPU, and arguments to try it with. Out: a function from NumPy arrays to
NumPy arrays that gives the same bits in a fraction of the time (docs/explanation/direct_call.md: how much, where, what
the risks are). Decision to know: all that this rests on is private to XLA. So the parts (`executable` reads what was
compiled, `object_code` loads it, `steps` runs it) refuse whatever they do not know, and here nothing is given out
before it has computed the same bits as PJRT, with the caller's arguments and with random ones.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Collection, Sequence
from typing import Any

import jax
import numpy as np

from ...codegen.ir.jax_compat import enable_x64, serialized_executable
from ..object_files import DirectCallRefused
from .executable import ALIGNMENT, CpuExecutable, Value
from .object_code import IrCode, ObjectCode

_LARGE = 1 << 20  # bytes, from which an allocator may keep what is freed; as in native/calls.src
TRIALS = 8  # random inputs tried before a function is given out


class StepFailed(RuntimeError):
    """A kernel, or another step, reported an error."""


class DirectCall:
    """A compiled function that is called without PJRT.

    Calls may come from several threads at once, and from forked processes, each with a `Workspace` of its own.

    Attributes:
        executable: what it calls.
        constants: of the executable, by the numbers of their allocations.
        code: the function that runs its steps in a workspace.
        steps: what it was made of.
        place: where an array is in a workspace, in bytes.
        size: of a workspace, in bytes.
    """

    def __init__(self, executable: CpuExecutable) -> None:
        """Loads an executable without trying it; `of` is what others use."""
        from .steps import Steps

        if any(value.buffer.allocation in executable.constants for value in executable.results):
            raise DirectCallRefused("a result lies in a constant's buffer")
        self.executable = executable
        self.constants = {number: _copied(data) for number, data in executable.constants.items()}
        self._objects = ObjectCode(executable.objects)
        self.steps = Steps(executable, self._objects.address, self.constants)
        self.code = IrCode(self.steps.text)
        self.place, self.size = self.layout()

    @classmethod
    def of(cls, compiled: Any, arguments: Sequence[Any], *, trials: int = TRIALS, data: bytes = b"") -> DirectCall:
        """Loads an executable and compares it with PJRT, bit by bit.

        Args:
            compiled: what `jax.jit(f, keep_unused=True).lower(...).compile()` gives, for one CPU device; its arguments
                are arrays.
            arguments: with which both ways are tried first. They should be usual ones: random inputs are made from
                them, by 10% changes to floating-point numbers and by exchange of the elements of other arrays; one
                of the trials is with subnormal numbers, one with NaN and infinity.
            trials: number of random inputs.
            data: what `serialized` gave of it, or of what it was loaded from.

        Raises:
            DirectCallRefused: something about the executable or this machine is not known, or
                a result differs; the message says what.
        """
        direct = cls.loaded(data or serialized(compiled), len(arguments))
        inputs = [np.asarray(argument) for argument in arguments]

        def by_pjrt(*arrays: np.ndarray) -> Any:
            with enable_x64(True):  # otherwise JAX would make float32 of the inputs
                return compiled(*arrays)

        compare(direct, by_pjrt, inputs, trials)
        return direct

    @classmethod
    def loaded(cls, data: bytes, arguments: int) -> DirectCall:
        """Loads what `serialized` gave, for this many arguments; it has not been tried then, see `compare`.

        Raises:
            DirectCallRefused: as `of` does, but for differences.
        """
        read = CpuExecutable.read(data)
        if len(read.parameters) != arguments:
            raise DirectCallRefused(
                f"the executable has {len(read.parameters):d} parameters for {arguments:d} arguments; compile "
                "with keep_unused=True"
            )
        return cls(read)

    def layout(self, referred: Collection[int] = ()) -> tuple[Callable[[Value], int], int]:
        """Where arrays are in a workspace, in bytes, and its size.

        Args:
            referred: parameters that have no buffer in it.
        """
        places, size = dict(self.steps.places), max(self.steps.size, ALIGNMENT)
        for i, value in enumerate(self.executable.parameters):
            places[value.buffer.allocation] = size = -(-size // ALIGNMENT) * ALIGNMENT
            size += 0 if i in referred else value.buffer.size
        return lambda value: places[value.buffer.allocation] + value.buffer.offset, -(-size // ALIGNMENT) * ALIGNMENT

    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        """The results for arrays of the right types, once; `calls.from_numpy` writes functions for many calls."""
        space = Workspace(self)
        for array, argument in zip(space.arguments, arguments, strict=True):
            array[...] = argument
        if self.code.run(space.address):
            raise StepFailed("a kernel reported an error")
        return [array.copy() for array in space.results]


class Workspace:
    """What one call at a time works on.

    A caller writes to `arguments`, calls `DirectCall.code.run(address)`, which returns 0 unless a step failed, and
    copies what it wants from `results` before the next call.

    Attributes:
        address: of its memory.
        arguments: an array for each parameter of the executable.
        results: an array for each of its results.
    """

    def __init__(self, direct: DirectCall) -> None:
        memory = _aligned(direct.size)
        self._held = direct, memory
        self.address = ctypes.c_void_p(memory.ctypes.data)
        executable, place = direct.executable, direct.place

        def array(value: Value) -> np.ndarray:
            return memory[place(value) : place(value) + value.buffer.size].view(value.dtype).reshape(value.shape)

        self.arguments = [array(value) for value in executable.parameters]
        self.results = [array(value) for value in executable.results]
        words = memory.view(np.uint64)
        words[1] = memory.ctypes.data
        for i, value in enumerate(executable.parameters, 2):
            words[i] = memory.ctypes.data + place(value)
        at, base, number = direct.steps.words.T
        words[at] = words[base] + number


def _aligned(size: int) -> np.ndarray:
    """Zero bytes at an address that kernels accept; many are the system's again when they are freed."""
    if size >= _LARGE:
        flags = (mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,) if hasattr(mmap, "MAP_PRIVATE") else ()
        return np.frombuffer(mmap.mmap(-1, size, *flags), np.uint8)
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def _copied(data: bytes) -> np.ndarray:
    memory = _aligned(len(data))
    memory[:] = np.frombuffer(data, np.uint8)
    return memory


def serialized(compiled: Any) -> bytes:
    """What an executable consists of. One with a sort must not have run.

    Raises:
        DirectCallRefused: the executable is for more than one CPU device, or this version of jaxlib gives it out in
            another way.
    """
    try:
        executable = compiled.runtime_executable()
        if executable.client.platform != "cpu" or len(executable.local_devices()) != 1:
            raise DirectCallRefused("the executable is not for one CPU device")
        return serialized_executable(executable)
    except (jax.errors.JaxRuntimeError, AttributeError, TypeError) as error:  # one with a sort, once it has run
        raise DirectCallRefused(f"PJRT does not serialize the executable: {error}") from None


Way = Callable[..., Any]


def compare(direct: Way, pjrt: Way, arrays: Sequence[np.ndarray], trials: int = TRIALS, seed: int = 0) -> None:
    """Runs both ways with these arrays, and with random ones made of them.

    Raises:
        DirectCallRefused: a result differs; the message says which.
    """
    random = np.random.default_rng(seed)
    for trial in range(-1, trials):
        given = [varied(array, trial, random) for array in arrays] if trial >= 0 else arrays
        what = f"random input {trial:d}" if trial >= 0 else "the arguments"
        expected = pjrt(*given)
        try:
            found = difference(direct(*given), expected)
        except StepFailed as error:
            raise DirectCallRefused(f"for {what} {error}") from None
        if found:
            raise DirectCallRefused(f"{found} for {what}")


def difference(found: Any, expected: Any) -> str:
    """What differs from PJRT's results; "" where every bit is the same."""
    ours, theirs = (list(map(np.asarray, jax.tree.leaves(results))) for results in (found, expected))
    if len(ours) != len(theirs):
        return f"{len(ours):d} results where PJRT gives {len(theirs):d}"
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes():
            return f"result {i:d} differs from PJRT's"
    return ""


def varied(array: np.ndarray, trial: int, random: np.random.Generator) -> np.ndarray:
    """An array of the same dtype and shape with other values; integers and booleans only change places."""
    if array.dtype.kind not in "fc":
        return random.permutation(array.reshape(-1)).reshape(array.shape)
    noise = random.standard_normal(array.shape)
    with np.errstate(all="ignore"):
        changed = array * (1 + 0.1 * noise) + 0.01 * random.standard_normal(array.shape)
        if trial == 1:
            changed = noise * float(np.finfo(array.dtype).tiny) / 8
        if trial == 2:
            changed = np.where(
                random.random(array.shape) < 0.2, random.choice([np.nan, np.inf, -np.inf], array.shape), changed
            )
        return np.asarray(changed, array.dtype)
