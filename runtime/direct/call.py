"""Calls of a compiled executable's kernels without PJRT.

In: an executable that JAX compiled for the CPU, and arguments to try it with. Out: a function from NumPy arrays to
NumPy arrays that gives the same bits in a fraction of the time (docs/direct_call.md: how much, where, what the risks
are). Decision to know: all that this rests on is private to XLA. So the parts (`executable` reads what was
compiled, `object_code` loads it) refuse whatever they do not know, and here nothing is given out before it has
computed the same bits as PJRT, with the caller's arguments and with random ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np

from ...codegen.errors import ArgumentShapeError, ArgumentTypeError
from ...codegen.ir.jax_compat import PROVEN_JAXLIB, enable_x64, proven_jaxlib, serialized_executable
from ..calls.memory import pool
from .comparison import TRIALS, compare
from .steps import DirectCallRefused

if TYPE_CHECKING:
    from .executable import CpuExecutable
    from .image import Workspace


class Compiled(Protocol):
    """`jax.stages.Compiled`, as far as it is needed."""

    def runtime_executable(self) -> Any: ...

    def __call__(self, *args: Any) -> Any: ...


class DirectCall:
    """A compiled function that is called without PJRT.

    Calls may come from several threads at once, and from forked processes. Arguments are copied in and results copied
    out; a call takes NumPy arrays (or what converts to them and has `dtype` and `shape`) of exactly the dtypes and
    shapes that were compiled.

    Attributes:
        executable: what it calls.
        size: of a workspace, in bytes.
        run_table: what runs a workspace's table.
    """

    def __init__(self, executable: CpuExecutable) -> None:
        """Loads an executable without trying it; `of` is what others use."""
        from .image import Image
        from .native_code import runner

        self.executable = executable
        self.run_table = runner()
        self._image = Image(executable)
        self.size = self._image.words.nbytes
        self._spaces = pool(self.size)

    @classmethod
    def of(
        cls, compiled: Compiled, arguments: Sequence[Any], *, trials: int = TRIALS, unproven: bool = False
    ) -> DirectCall:
        """Loads an executable and compares it with PJRT, bit by bit.

        Args:
            compiled: what `jax.jit(f, keep_unused=True).lower(...).compile()` gives, for one CPU device; its arguments
                are arrays.
            arguments: with which both ways are tried first. They should be usual ones: random inputs are made from
                them, by 10% changes to floating-point numbers and by exchange of the elements of other arrays; one
                of the trials is with subnormal numbers, one with NaN and infinity.
            trials: number of random inputs.
            unproven: takes versions of jaxlib that are not in `jax_compat.PROVEN_JAXLIB`, too.

        Raises:
            DirectCallRefused: something about the executable, this version of jaxlib or this machine is not known, or
                a result differs; the message says what.
            ArgumentTypeError: an argument's dtype is not the one that was compiled for.
            ArgumentShapeError: likewise, its shape.
        """
        direct = cls.loaded(serialized(compiled, unproven=unproven), len(arguments))
        inputs = [np.asarray(argument) for argument in arguments]

        def by_pjrt(*arrays: np.ndarray) -> Any:
            with enable_x64(True):  # otherwise JAX would make float32 of the inputs
                return compiled(*arrays)

        compare(direct, by_pjrt, inputs, trials)
        return direct

    @classmethod
    def loaded(cls, data: bytes, arguments: int) -> DirectCall:
        """Loads what `serialized` gave, for so many arguments; it has not been tried then, see `comparison`.

        Raises:
            DirectCallRefused: as `of` does, but for differences.
        """
        from .executable import CpuExecutable

        read = CpuExecutable.read(data)
        if len(read.parameters) != arguments:
            raise DirectCallRefused(
                f"the executable has {len(read.parameters):d} parameters for {arguments:d} arguments; compile "
                "with keep_unused=True"
            )
        return cls(read)

    def workspace(self) -> Workspace:
        """Memory for callers who write and read arrays themselves: for one call at a time, kept as long as its arrays
        and its table are used.
        """
        from .image import Workspace

        return Workspace(self._image)

    def __call__(self, *arguments: Any) -> list[np.ndarray]:
        """The results for these arguments. `calls.from_numpy` writes faster functions.

        Raises:
            ArgumentTypeError: an argument's dtype is not the one that was compiled for.
            ArgumentShapeError: an argument's shape is not the one that was compiled for.
        """
        try:
            space = self._spaces.pop()
        except IndexError:
            space = self.workspace()
        try:
            for i, (array, argument) in enumerate(zip(space.arguments, arguments, strict=True)):
                if argument.dtype != array.dtype:
                    raise ArgumentTypeError(f"argument {i:d} has dtype {argument.dtype}, compiled for {array.dtype}")
                if argument.shape != array.shape:
                    raise ArgumentShapeError(f"argument {i:d} has shape {argument.shape}, compiled for {array.shape}")
                array[...] = argument
            if self.run_table(space.table):
                raise RuntimeError("a kernel reported an error")
            return [array.copy() for array in space.results]
        finally:
            self._spaces.append(space)


def serialized(compiled: Compiled, *, unproven: bool = False) -> bytes:
    """What an executable consists of. One with a sort must not have run.

    Raises:
        DirectCallRefused: this version of jaxlib is not proven, or the executable is for more than one CPU device.
    """
    if not (unproven or proven_jaxlib()):
        proven = ", ".join(PROVEN_JAXLIB)
        raise DirectCallRefused(f"not tried with jaxlib {metadata.version('jaxlib')}, only with {proven}")
    executable = compiled.runtime_executable()
    if executable.client.platform != "cpu" or len(executable.local_devices()) != 1:
        raise DirectCallRefused("the executable is not for one CPU device")
    try:
        return serialized_executable(executable)
    except jax.errors.JaxRuntimeError as error:  # one with a sort, once it has run
        raise DirectCallRefused(f"PJRT does not serialize the executable: {error}") from None
