"""`Function`: a program as a Python callable.

In: numpy arrays, JAX arrays, Python numbers; or JAX tracers, inside a transformation. Out: JAX arrays, one alone when
there is one. For each new set of sizes the program is specialized and handed to `jax.jit` (the *exact* policy); a call
with known sizes is one dictionary lookup and JAX's C++ call path, which recognizes dtypes and shapes itself. Arguments
are therefore checked where JAX traces a new signature, and not again. What a call costs beyond JAX's own is spent in
`__call__` and in the key function (about 0.6 us): nothing goes there that a compile could do.
"""

from __future__ import annotations

import itertools
import operator
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ..codegen.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    HlographError,
    UnsupportedGraphError,
)
from ..codegen.jax_compat import enable_x64, x64_caller, x64_flag
from ..codegen.program import Program
from ..codegen.signature import CheckSpec, Root
from .arguments import check_count, check_fits, check_type, find_sizes, shape_and_dtype
from .checks import raise_failed
from .primitive import StaticModule, call

DEFAULT_CACHE_SIZE = 128


@dataclass(frozen=True)
class Stats:
    """What a function has done so far.

    Attributes:
        calls: number of calls.
        compiles: number of compilations.
        compile_seconds: time of the calls that compiled, from arguments to dispatched result.
        cache_hits: calls that found their executable.
        executables: executables held now.
    """

    calls: int = 0
    compiles: int = 0
    compile_seconds: float = 0.0
    cache_hits: int = 0
    executables: int = 0


Key = tuple[int, ...]

_X64 = x64_flag()
_call_in_x64 = x64_caller()


@dataclass
class _Entry:
    """The executable for one set of sizes.

    Attributes:
        run: `jax.jit` of the specialized program, once that is made.
        checks: those of the specialized program: what the sizes decide is not among them.
        ready: whether it has been compiled.
        used: number of the last call that ran it; the least recently used one is dropped first.
    """

    run: Any = None
    checks: tuple[CheckSpec, ...] = ()
    ready: bool = False
    used: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Counter:
    """Counts without a lock: `next` on `itertools.count` is atomic."""

    def __init__(self) -> None:
        self._count = itertools.count()
        self.increment = self._count.__next__
        self._reads = 0
        self._lock = threading.Lock()

    @property
    def value(self) -> int:
        """Number of increments."""
        with self._lock:
            value = next(self._count) - self._reads
            self._reads += 1
            return value


class Function:
    """A compiled program; see `Program.compile` and `hlograph.function`.

    Attributes:
        program: what it runs.
        device: the `jax.Device` it runs on, or None for JAX's default.
    """

    def __init__(self, program: Program, *, device: Any = None, cache_size: int = DEFAULT_CACHE_SIZE) -> None:
        if cache_size < 1:
            raise ValueError(f"cache_size must be at least 1, got {cache_size}")
        self.program = program
        self.device = find_device(device)
        self.__name__ = self.__qualname__ = program.name
        self.__doc__ = f"Compiled StableHLO program {program.name}: {program.signature}"
        signature = program.signature
        self._signature = signature
        self._shared = [program.bindings[i] for i in sorted(program.bindings)]
        # A Python int has no dtype that could be checked; JAX would wrap it around.
        self._integers = [i for i, a in enumerate(signature.arguments) if a.dtype.kind in "iu" and not a.dims]
        self._key = _key_function(signature.roots)
        self._single = len(signature.results) == 1
        self._cache_size = cache_size
        self._entries: dict[Key, _Entry] = {}
        self._lock = threading.Lock()
        self._calls = _Counter()
        self._count_call = self._calls.increment
        self._misses = _Counter()
        self._compiles = _Counter()
        self._compile_seconds = 0.0
        wide = [x.dtype for x in signature.arguments] + [x.dtype for x in signature.results]
        # 64-bit values need JAX's x64 mode in this thread for the time of the call; the global flag stays as it is.
        # What is 64 bits wide inside the module only is no business of JAX's.
        self._needs_x64 = any(_is_wide(dtype) for dtype in wide)

    # ---- calls ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        """Runs the program; shared variables of the graph are read now.

        Raises:
            ArgumentTypeError, ArgumentShapeError: before anything runs.
            CompileError: the device's compiler refuses the program.
            Exception: what a failed check in the graph asks for.
        """
        if self._shared:
            args = (*args, *[container.get_value(borrow=True) for container in self._shared])
        number = self._count_call()
        for i in self._integers:
            if i < len(args) and type(args[i]) is int:
                check_fits(self._signature.arguments[i], args[i])
        try:
            entry = self._entries[self._key(args)]
        except (KeyError, AttributeError, IndexError, TypeError):
            entry = None
        if entry is None or not entry.ready:
            entry, outputs = self._first_call(self._careful_key(args), args, number)
        elif self._needs_x64 and not _X64.value:
            entry.used = number
            outputs = _call_in_x64(entry.run, args)
        else:
            entry.used = number
            outputs = entry.run(*args)
        return self._checked(entry.checks, outputs) if entry.checks else outputs

    def _careful_key(self, args: Sequence[Any]) -> Key:
        """The key for any arguments; says what is wrong with them."""
        self._check(args)
        key = []
        for root in self._signature.roots:
            value = args[root.argument]
            if root.axis is not None:
                key.append(np.shape(value)[root.axis])
            elif isinstance(value, jax.core.Tracer):
                name = self._signature.arguments[root.argument].name
                raise UnsupportedGraphError(
                    f"argument {name!r} decides a size, so its value must be known when the program is compiled; "
                    "inside jax.jit, mark it static"
                )
            else:
                key.append(operator.index(value if root.element is None else value[root.element]))
        return tuple(key)

    def _check(self, args: Sequence[Any]) -> list[tuple[int, ...]]:
        """Checks count, dtypes and ranks; returns the shapes."""
        signature = self._signature
        check_count(signature, len(args) - len(self._shared), len(self._shared))
        shapes: list[tuple[int, ...]] = []
        for argument, value in zip(signature.arguments, args, strict=True):
            shape, dtype, weak = shape_and_dtype(argument, value)
            check_type(argument, dtype, weak=weak)
            if len(shape) != len(argument.dims):
                find_sizes(signature, [*shapes, shape, *[()] * len(args)][: len(args)])
            shapes.append(shape)
        return shapes

    def _checked(self, checks: tuple[CheckSpec, ...], outputs: Any) -> Any:
        *results, flags = outputs
        if isinstance(flags, jax.core.Tracer):
            jax.debug.callback(lambda values: raise_failed(checks, values), flags)
        else:
            raise_failed(checks, flags)
        return results[0] if self._single else tuple(results)

    # ---- compiling --------------------------------------------------------------------------------------------------

    def _first_call(self, key: Key, args: Sequence[Any], number: int) -> tuple[_Entry, Any]:
        """Specializes, compiles and runs; other threads with the same sizes wait for the executable."""
        self._misses.increment()
        shapes = self._check(args)
        values = {root.name: size for root, size in zip(self._signature.roots, key, strict=True) if root.axis is None}
        sizes = find_sizes(self._signature, shapes, values)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                if len(self._entries) >= self._cache_size:
                    del self._entries[min(self._entries, key=lambda other: self._entries[other].used)]
                entry = self._entries[key] = _Entry()
            entry.used = number
        with entry.lock, enable_x64(True) if self._needs_x64 else nullcontext():
            start = time.perf_counter()
            try:
                if entry.run is None:
                    program = self.program.specialize(sizes)
                    entry.checks = program.signature.checks
                    entry.run = self._build(program, sizes, values)
                outputs = entry.run(*args)
            except jax.errors.JaxRuntimeError as error:
                self._forget(key, entry)
                raise CompileError(f"compiling or first running {self.program.name} failed: {error}") from None
            except BaseException:
                self._forget(key, entry)
                raise
            if not entry.ready:
                self._compile_seconds += time.perf_counter() - start
                entry.ready = not any(isinstance(x, jax.core.Tracer) for x in args)
        return entry, outputs

    def _forget(self, key: Key, entry: _Entry) -> None:
        """Leaves no half-built executable behind."""
        with self._lock:
            if not entry.ready and self._entries.get(key) is entry:
                del self._entries[key]

    def _build(self, program: Program, sizes: dict[str, int], values: dict[str, int]) -> Callable[..., Any]:
        """`jax.jit` of the program as it was specialized for these sizes; it checks what it is traced with."""
        signature = self._signature
        module = StaticModule(program)
        alone = self._single and not program.signature.checks

        def traced(*arrays: Any) -> Any:
            if len(arrays) != len(signature.arguments):
                check_count(signature, len(arrays) - len(self._shared), len(self._shared))
            shapes, converted = [], []
            for argument, array in zip(signature.arguments, arrays, strict=True):
                shape, dtype, weak = shape_and_dtype(argument, array)
                check_type(argument, dtype, weak=weak)
                shapes.append(shape)
                converted.append(jax.lax.convert_element_type(array, argument.dtype))
            found = find_sizes(signature, shapes, values)
            if found != sizes:
                raise ArgumentError(f"sizes {found} reached the executable for {sizes}")
            self._compiles.increment()
            outputs = call(module, converted)
            return outputs[0] if alone else tuple(outputs)

        traced.__name__ = traced.__qualname__ = program.name
        if self.device is None:
            return jax.jit(traced)
        sharding = jax.sharding.SingleDeviceSharding(self.device)
        return jax.jit(traced, in_shardings=sharding, out_shardings=sharding)

    # ---- looking ----------------------------------------------------------------------------------------------------

    @property
    def stats(self) -> Stats:
        """Calls, compiles, compile seconds and cache hits so far."""
        calls = self._calls.value
        return Stats(
            calls=calls,
            compiles=self._compiles.value,
            compile_seconds=self._compile_seconds,
            cache_hits=calls - self._misses.value,
            executables=len(self._entries),
        )

    def clear_cache(self) -> None:
        """Drops all executables."""
        with self._lock:
            self._entries.clear()

    def __repr__(self) -> str:
        return f"<Function {self.program.name}{self._signature}>"


def _key_function(roots: Sequence[Root]) -> Callable[[Sequence[Any]], Key]:
    """From a call's arguments to the sizes and values that decide on the executable.

    Written out for these roots (`lambda args: (args[0].shape[0], index(args[1]), ...)`) and compiled once: a loop over
    them takes three times as long, in every call.
    """
    parts = []
    for root in roots:
        value = f"args[{root.argument:d}]"
        if root.axis is not None:
            parts.append(f"{value}.shape[{root.axis:d}],")
        else:
            element = "" if root.element is None else f"[{root.element:d}]"
            parts.append(f"index({value}{element}),")
    found: Callable[[Sequence[Any]], Key] = eval(f"lambda args: ({''.join(parts)})", {"index": operator.index})
    return found


def _is_wide(dtype: Any) -> bool:
    return dtype.itemsize // (2 if dtype.kind == "c" else 1) == 8


def find_device(device: Any) -> Any:
    """The `jax.Device` for "cpu", "gpu", "tpu", a device, or None (JAX's default).

    Raises:
        HlographError: no such platform here.
    """
    if device is None or not isinstance(device, str):
        return device
    try:
        return jax.devices(device)[0]
    except RuntimeError as error:
        raise HlographError(f"no device {device!r} is available: {error}") from None


def function(
    inputs: Any,
    outputs: Any,
    *,
    dims: Any = None,
    device: Any = None,
    name: str = "main",
    rewrite: bool = True,
    cache_size: int = DEFAULT_CACHE_SIZE,
) -> Function:
    """Emits and compiles in one.

    Args:
        inputs: the graph's inputs, in call order.
        outputs: one output variable, or several.
        dims: names or sizes for the axes of inputs, see `emit_stablehlo`.
        device: "cpu", "gpu", "tpu", a `jax.Device`, or None for JAX's default device.
        name: the program's name, seen in profiles.
        rewrite: apply PyTensor's own rewrites first, as its compiled modes do.
        cache_size: how many executables (sets of sizes) are kept.

    Returns:
        The callable. A single output comes back as one array, several as a tuple.
    """
    from ..codegen.emit import emit_stablehlo

    program = emit_stablehlo((inputs, outputs), dims=dims, name=name, rewrite=rewrite)
    return program.compile(device, cache_size=cache_size)


__all__ = ["ArgumentTypeError", "Function", "Stats", "function"]
