"""Calls of a compiled executable's kernels without PJRT: an experiment, off unless it is asked for.

In: an executable that JAX compiled for the CPU, and arguments to try it with. Out: a function from NumPy arrays to
NumPy arrays that gives the same bits in a fraction of the time (docs/direct_call.md: how much, where, what the risks
are). Decision to know: all that this rests on is private to XLA. So the parts (`executable` reads what was
compiled, `object_code` loads it) refuse whatever they do not know, and here nothing is given out before it has
computed the same bits as PJRT, with the caller's arguments and with random ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np

from ...codegen.errors import ArgumentShapeError, ArgumentTypeError
from ...codegen.ir.jax_compat import PROVEN_JAXLIB, enable_x64, proven_jaxlib, serialized_executable
from ..calls.memory import pool
from ..calls.writer import write
from .comparison import TRIALS, compare
from .steps import DirectCallRefused, Value

if TYPE_CHECKING:
    from .executable import CpuExecutable
    from .image import Workspace

Function = Callable[..., list[np.ndarray]]


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
        run: the function itself; calling it saves 0.1 us over calling this object.
        workspace: makes a `Workspace`, for callers who write and read arrays themselves. It belongs to one call at a
            time, and must be kept as long as its arrays and its table are used.
        size: of one, in bytes.
        run_table: what runs its table.
        parameters: dtype and shape of each argument.
        results: those of each result.
    """

    __slots__ = ("executable", "parameters", "results", "run", "run_table", "size", "workspace")

    def __init__(self, executable: CpuExecutable) -> None:
        """Loads an executable without trying it; `of` is what others use."""
        from .image import Image, Workspace
        from .native_code import runner

        self.executable = executable
        self.parameters = tuple((value.dtype, value.shape) for value in executable.parameters)
        self.results = tuple((value.dtype, value.shape) for value in executable.results)
        image = Image.of(executable)
        self.workspace: Callable[[], Workspace] = partial(Workspace, image)
        self.size = image.words.nbytes
        self.run_table = runner()
        self.run: Function = _function(self)

    @classmethod
    def of(
        cls,
        compiled: Compiled,
        arguments: Sequence[Any],
        *,
        trials: int = TRIALS,
        seed: int = 0,
        unproven: bool = False,
    ) -> DirectCall:
        """Loads an executable and compares it with PJRT, bit by bit.

        Args:
            compiled: what `jax.jit(f, keep_unused=True).lower(...).compile()` gives, for one CPU device; its arguments
                are arrays.
            arguments: with which both ways are tried first. They should be usual ones: random inputs are made from
                them, by 10% changes to floating-point numbers and by exchange of the elements of other arrays; one
                of the trials is with subnormal numbers, one with NaN and infinity.
            trials: number of random inputs.
            seed: of the random inputs.
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

        compare(direct.run, by_pjrt, inputs, trials, seed)
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

    def __call__(self, *arguments: Any) -> list[np.ndarray]:
        """The results for these arguments.

        Raises:
            ArgumentTypeError: an argument's dtype is not the one that was compiled for, or their number is another.
            ArgumentShapeError: an argument's shape is not the one that was compiled for.
        """
        return self.run(*arguments)


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


# --- The call


def _function(direct: DirectCall) -> Function:
    """The way of a call, written out for an executable as Python code; for one argument and one result

        def call(a0):
            try:
                place = take()
            except IndexError:
                place = more()
            memory, table, x0, r0 = place
            try:
                if a0.dtype != dtype0 or a0.shape != shape0:
                    wrong((a0,))
                x0[...] = a0
                if run(table):
                    failed()
                return [r0.copy()]
            finally:
                give(place)

    Each call has memory of its own while it runs: `take` and `give` are those of a `pool`, and atomic.
    """
    workspace, parameters = direct.workspace, direct.executable.parameters
    results = len(direct.executable.results)

    def more() -> tuple[Any, ...]:
        memory = workspace()
        return (memory, memory.table, *memory.arguments, *memory.results)

    def failed() -> None:
        raise RuntimeError("a kernel reported an error")

    def wrong(arguments: Sequence[Any]) -> None:
        _refuse_arguments(parameters, arguments)

    spaces = pool(direct.size)
    numbers = range(len(parameters))
    names = {
        "take": spaces.pop,
        "give": spaces.append,
        "more": more,
        "run": direct.run_table,
        "failed": failed,
        "wrong": wrong,
        **{f"dtype{i:d}": parameters[i].dtype for i in numbers},
        **{f"shape{i:d}": parameters[i].shape for i in numbers},
    }
    arguments = ", ".join(f"a{i:d}" for i in numbers)
    taken = ["memory", "table", *(f"x{i:d}" for i in numbers)]
    taken += [f"r{i:d}" for i in range(results)]
    lines = ["try:", "    place = take()", "except IndexError:", "    place = more()"]
    lines += [f"{', '.join(taken)} = place", "try:"]
    for i in numbers:
        # An array of no dimensions is written fastest by the empty index.
        index = "[...]" if parameters[i].shape else "[()]"
        lines += [f"    if a{i:d}.dtype != dtype{i:d} or a{i:d}.shape != shape{i:d}:", f"        wrong(({arguments},))"]
        lines += [f"    x{i:d}{index} = a{i:d}"]
    lines += ["    if run(table):", "        failed()"]
    copies = ", ".join(f"r{i:d}.copy()" for i in range(results))
    lines += [f"    return [{copies}]", "finally:", "    give(place)"]
    return write(arguments, lines, names)


def _refuse_arguments(parameters: Sequence[Value], arguments: Sequence[Any]) -> None:
    for i, (value, argument) in enumerate(zip(parameters, arguments, strict=True)):
        if argument.dtype != value.dtype:
            raise ArgumentTypeError(f"argument {i:d} has dtype {argument.dtype}, compiled for {value.dtype}")
        if argument.shape != value.shape:
            raise ArgumentShapeError(f"argument {i:d} has shape {argument.shape}, compiled for {value.shape}")
