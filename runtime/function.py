"""`Function`: a program as a Python callable.

In: numpy arrays, JAX arrays, Python numbers; or JAX tracers, inside a transformation. Out: JAX arrays, one alone when
there is one. For a new set of sizes the policy says how they are met: the program is specialized and handed to
`jax.jit` (*exact*), or padded to the bounds of a bucket, whose executable serves all sizes below (*padded*, see
`padded.py`). A call with known sizes is one dictionary lookup and JAX's C++ call path, which recognizes dtypes and
shapes itself. Arguments are therefore checked where JAX traces a new signature, and not again. What a call costs beyond
JAX's own is spent in `__call__` and in the key function (about 0.6 us): nothing goes there that a compile could do.
"""

from __future__ import annotations

import itertools
import operator
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ..codegen.errors import (
    ArgumentError,
    ArgumentShapeError,
    ArgumentTypeError,
    CompileError,
    HlographError,
    PaddingError,
    UnsupportedGraphError,
)
from ..codegen.jax_compat import enable_x64, keep_nan_options, x64_caller, x64_flag
from ..codegen.program import Program
from ..codegen.signature import Argument, CheckSpec, Root
from .arguments import check_count, check_fits, check_type, find_sizes, origin, shape_and_dtype
from .checks import raise_failed
from .padded import Executable, PaddedCall
from .policy import (
    PaddingRefusedWarning,
    Plan,
    Policies,
    PolicyArgument,
    PolicyError,
    RecompilationWarning,
)
from .primitive import StaticModule, call

DEFAULT_CACHE_SIZE = 128
_LIBRARY_REDUCTION = 4096  # elements from which XLA:CPU leaves a reduction to a library
_KNOWN_CALLS = 4096  # sets of sizes on padded executables that are remembered


@dataclass(frozen=True)
class ExecutableStats:
    """One executable of a function.

    Attributes:
        policy: "exact" or "padded".
        sizes: the sizes that it is for, e.g. "n<=64, m=3".
        compiles: number of compilations.
        calls: number of calls; 0 for exact ones, which are not counted apart.
        padding_share: the part of its calls' work that went into padding: 1 minus the mean of live sizes over bounds,
            multiplied over the padded sizes.
    """

    policy: str
    sizes: str
    compiles: int
    calls: int = 0
    padding_share: float = 0.0


@dataclass(frozen=True)
class Stats:
    """What a function has done so far.

    Attributes:
        calls: number of calls.
        compiles: number of compilations.
        compile_seconds: time of the calls that compiled, from arguments to dispatched result.
        cache_hits: calls that found their executable.
        executables: executables held now.
        by_executable: one entry for each of them, exact ones first.
        refusals: size name to the reason why it is not padded.
    """

    calls: int = 0
    compiles: int = 0
    compile_seconds: float = 0.0
    cache_hits: int = 0
    executables: int = 0
    by_executable: tuple[ExecutableStats, ...] = ()
    refusals: Mapping[str, str] = field(default_factory=dict)

    @property
    def padding_share(self) -> float:
        """The part of all padded calls' work that went into padding."""
        calls = sum(entry.calls for entry in self.by_executable)
        return sum(entry.calls * entry.padding_share for entry in self.by_executable) / calls if calls else 0.0

    @staticmethod
    def total(parts: Sequence[Stats]) -> Stats:
        """The statistics of several functions together."""
        return Stats(
            calls=sum(part.calls for part in parts),
            compiles=sum(part.compiles for part in parts),
            compile_seconds=sum(part.compile_seconds for part in parts),
            cache_hits=sum(part.cache_hits for part in parts),
            executables=sum(part.executables for part in parts),
            by_executable=tuple(entry for part in parts for entry in part.by_executable),
            refusals={name: reason for part in parts for name, reason in part.refusals.items()},
        )


Key = tuple[int, ...]

_X64 = x64_flag()
_call_in_x64 = x64_caller()


@dataclass
class _Entry:
    """The exact executable for one set of sizes.

    Attributes:
        sizes: what it is for.
        run: `jax.jit` of the specialized program, once that is made.
        checks: those of the specialized program: what the sizes decide is not among them.
        ready: whether it has been compiled.
        compiles: number of compilations.
        used: number of the last call that ran it; the least recently used one is dropped first.
    """

    sizes: Mapping[str, int]
    run: Any = None
    checks: tuple[CheckSpec, ...] = ()
    ready: bool = False
    compiles: int = 0
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
        policy: how each named size is met.
    """

    def __init__(
        self,
        program: Program,
        *,
        device: Any = None,
        cache_size: int = DEFAULT_CACHE_SIZE,
        policy: PolicyArgument = "auto",
    ) -> None:
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
        self.policy = policy
        self._policies = Policies(policy, signature)
        self._data_sizes = signature.has_data_sizes
        self._cache_size = cache_size
        self._entries: dict[Key, _Entry | PaddedCall] = {}
        self._padded: dict[Any, Executable] = {}
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

    def _first_call(self, key: Key, args: Sequence[Any], number: int) -> tuple[_Entry | PaddedCall, Any]:
        """A call with sizes that are new: plans how they are met, and runs; compiles if need be."""
        self._misses.increment()
        shapes = self._check(args)
        values = {root.name: size for root, size in zip(self._signature.roots, key, strict=True) if root.axis is None}
        sizes = find_sizes(self._signature, shapes, values)
        traced = any(isinstance(x, jax.core.Tracer) for x in args)
        while True:
            try:
                plan = self._policies.plan(sizes, exact=traced)
            except PolicyError as error:
                raise ArgumentShapeError(f"{error}{origin(self._signature, frozenset([error.size]))}") from None
            if not plan.bounds and not self._data_sizes:
                self._warn_of_recompilation(plan)
                return self._exact_call(key, args, number, sizes, values)
            try:
                call = self._padded_call(plan, sizes, number)
            except PaddingError as error:
                if not self._refused(error):  # all sizes are exact as it is
                    raise
                continue
            if not traced:
                call = self._remember(key, call)
            with self._x64():
                try:
                    outputs = call.run(*args)
                except BaseException:
                    self._forget_failed(call.executable)
                    raise
            return call, outputs

    def _exact_call(
        self, key: Key, args: Sequence[Any], number: int, sizes: dict[str, int], values: dict[str, int]
    ) -> tuple[_Entry, Any]:
        """Specializes, compiles and runs; other threads with the same sizes wait for the executable."""
        with self._lock:
            entry = self._entries.get(key)
            if not isinstance(entry, _Entry):
                self._make_room()
                entry = self._entries[key] = _Entry(sizes)
            entry.used = number
        with entry.lock, self._x64():
            start = time.perf_counter()
            try:
                if entry.run is None:
                    program = self.program.specialize(sizes)
                    entry.checks = program.signature.checks
                    entry.run = self._build(program, entry, sizes, values)
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

    def _x64(self) -> Any:
        return enable_x64(True) if self._needs_x64 else nullcontext()

    # ---- padded executables -----------------------------------------------------------------------------------------

    def _padded_call(self, plan: Plan, sizes: Mapping[str, int], number: int) -> PaddedCall:
        """What these sizes need on the executable of their bucket, which is made if it is new."""
        with self._lock:
            executable = self._padded.get(plan.key)
            if executable is None:
                self._make_room()
                executable = self._padded[plan.key] = Executable(plan)
            executable.used = number
        with executable.lock:
            if executable.run is None:
                try:
                    program = self.program.specialize(plan.exact) if plan.exact else self.program
                    executable.program = program.pad(plan.bounds)
                    executable.run = self._build_padded(executable)
                except BaseException:
                    with self._lock:
                        self._padded.pop(plan.key, None)
                    raise

        def go_on(name: str, count: int) -> PaddedCall:
            return self._second_stage(plan, sizes, name, count, number)

        return PaddedCall(executable, self._signature, sizes, self.device, go_on)

    def _second_stage(self, plan: Plan, sizes: Mapping[str, int], name: str, count: int, number: int) -> PaddedCall:
        """The call that goes on where a size from data is known; it is met at a bucket of its own."""
        try:
            bound = self._policies.bound(name, count)
        except PolicyError as error:
            raise ArgumentShapeError(str(error)) from None
        return self._padded_call(Plan(plan.exact, {**plan.bounds, name: bound}), sizes, number)

    def _build_padded(self, executable: Executable) -> Callable[..., Any]:
        """`jax.jit` of a padded program; the time of its first call is counted as compile time."""
        program = executable.program
        arguments = program.signature.arguments
        module = StaticModule(program)
        alone = len(program.signature.results) == 1 and not program.signature.checks

        def traced(*arrays: Any) -> Any:
            shapes, converted = _convert(arguments, arrays)
            for argument, shape in zip(arguments, shapes, strict=True):
                if shape != argument.dims:
                    raise ArgumentShapeError(f"argument {argument.name!r}: expected shape {argument.dims}, got {shape}")
            self._compiles.increment()
            executable.compiles += 1
            outputs = call(module, converted)
            return outputs[0] if alone else tuple(outputs)

        traced.__name__ = traced.__qualname__ = program.name
        jitted = self._jit(traced, program)
        started = threading.Lock()

        def first(*arrays: Any) -> Any:
            with started:
                start = time.perf_counter()
                try:
                    outputs = jitted(*arrays)
                except jax.errors.JaxRuntimeError as error:
                    raise CompileError(f"compiling or first running {program.name} failed: {error}") from None
                if executable.run is first:
                    self._compile_seconds += time.perf_counter() - start
                    if not any(isinstance(x, jax.core.Tracer) for x in arrays):
                        executable.run, executable.ready = jitted, True
            return outputs

        return first

    def _make_room(self) -> None:
        """Drops the least recently used executable when the cache is full; called with the lock held."""
        exact = {key: entry for key, entry in self._entries.items() if isinstance(entry, _Entry)}
        if len(exact) + len(self._padded) < self._cache_size:
            return
        for entry in self._entries.values():
            if isinstance(entry, PaddedCall):
                entry.executable.used = max(entry.executable.used, entry.used)
        oldest_exact = min(exact, key=lambda key: exact[key].used, default=None)
        oldest_padded = min(self._padded, key=lambda key: self._padded[key].used, default=None)
        if oldest_padded is None or (
            oldest_exact is not None and exact[oldest_exact].used <= self._padded[oldest_padded].used
        ):
            assert oldest_exact is not None
            del self._entries[oldest_exact]
        else:
            del self._padded[oldest_padded]
            self._forget_padded_calls()

    def _remember(self, key: Key, call: PaddedCall) -> PaddedCall:
        """Keeps what these sizes need, unless another thread has just done so; the one that is kept."""
        with self._lock:
            known = self._entries.get(key)
            if isinstance(known, PaddedCall) and known.executable is call.executable:
                return known
            if len(self._entries) >= _KNOWN_CALLS + self._cache_size:
                self._forget_padded_calls()
            self._entries[key] = call
        return call

    def _forget_failed(self, executable: Executable) -> None:
        """Leaves nothing behind of an executable whose first run failed."""
        with self._lock:
            if not executable.ready and self._padded.get(executable.plan.key) is executable:
                del self._padded[executable.plan.key]
                self._forget_padded_calls()

    def _forget_padded_calls(self) -> None:
        """Drops what is remembered of sets of sizes on padded executables; called with the lock held."""
        for key, entry in list(self._entries.items()):
            if isinstance(entry, PaddedCall):
                del self._entries[key]
                entry.retire()

    def _refused(self, error: PaddingError) -> bool:
        """Takes note that sizes cannot be padded; says so where the user asked for it. False where that is no news."""
        names = self._policies.refuse(error.roots, str(error))
        wanted = [name for name in names if self._policies.demanded(name)]
        if wanted:
            warnings.warn(
                f"{self.program.name}: {', '.join(wanted)} cannot be padded, each new size compiles anew: {error}",
                PaddingRefusedWarning,
                stacklevel=4,
            )
        return bool(names)

    def _warn_of_recompilation(self, plan: Plan) -> None:
        for name in plan.exact:
            sizes = self._policies.due_warning(name)
            if sizes is not None:
                reason = self._policies.refusals.get(name)
                remedy = (
                    f"it cannot be padded: {reason}" if reason else 'policy="auto" or "padded" compiles once per bucket'
                )
                warnings.warn(
                    f"{self.program.name}: size {name}{origin(self._signature, frozenset([name]))} has had "
                    f"{len(sizes)} values ({', '.join(map(str, sizes))}), and each was compiled anew; {remedy}",
                    RecompilationWarning,
                    stacklevel=4,
                )

    def _forget(self, key: Key, entry: _Entry) -> None:
        """Leaves no half-built executable behind."""
        with self._lock:
            if not entry.ready and self._entries.get(key) is entry:
                del self._entries[key]

    def _build(
        self, program: Program, entry: _Entry, sizes: dict[str, int], values: dict[str, int]
    ) -> Callable[..., Any]:
        """`jax.jit` of the program as it was specialized for these sizes; it checks what it is traced with."""
        signature = self._signature
        module = StaticModule(program)
        alone = self._single and not program.signature.checks

        def traced(*arrays: Any) -> Any:
            if len(arrays) != len(signature.arguments):
                check_count(signature, len(arrays) - len(self._shared), len(self._shared))
            shapes, converted = _convert(signature.arguments, arrays)
            found = find_sizes(signature, shapes, values)
            if found != sizes:
                raise ArgumentError(f"sizes {found} reached the executable for {sizes}")
            self._compiles.increment()
            entry.compiles += 1
            outputs = call(module, converted)
            return outputs[0] if alone else tuple(outputs)

        traced.__name__ = traced.__qualname__ = program.name
        return self._jit(traced, program)

    def _jit(self, traced: Callable[..., Any], program: Program) -> Callable[..., Any]:
        config: Any = jax.config
        device = self.device or config.jax_default_device
        platform = device.platform if hasattr(device, "platform") else device or jax.default_backend()
        options = None
        if platform == "cpu" and program.has_reduction({"stablehlo.maximum", "stablehlo.minimum"}, _LIBRARY_REDUCTION):
            options = dict(keep_nan_options()) or None
        if self.device is None:
            return jax.jit(traced, compiler_options=options)
        sharding = jax.sharding.SingleDeviceSharding(self.device)
        return jax.jit(traced, in_shardings=sharding, out_shardings=sharding, compiler_options=options)

    # ---- looking ----------------------------------------------------------------------------------------------------

    @property
    def stats(self) -> Stats:
        """Calls, compiles, compile seconds and cache hits so far."""
        calls = self._calls.value
        with self._lock:
            exact = [entry for entry in self._entries.values() if isinstance(entry, _Entry)]
            for entry in self._entries.values():
                if isinstance(entry, PaddedCall):
                    entry.report()
            padded = list(self._padded.values())
        described = [ExecutableStats("exact", str(Plan(entry.sizes, {})), entry.compiles) for entry in exact]
        described += [
            ExecutableStats(
                "padded", str(x.plan), x.compiles, x.calls, 1 - x.live / x.calls if x.calls and x.plan.bounds else 0.0
            )
            for x in padded
        ]
        return Stats(
            calls=calls,
            compiles=self._compiles.value,
            compile_seconds=self._compile_seconds,
            cache_hits=calls - self._misses.value,
            executables=len(exact) + len(padded),
            by_executable=tuple(described),
            refusals=self._policies.refusals,
        )

    def clear_cache(self) -> None:
        """Drops all executables."""
        with self._lock:
            self._entries.clear()
            self._padded.clear()

    def __repr__(self) -> str:
        return f"<Function {self.program.name}{self._signature}>"


def _convert(arguments: Sequence[Argument], arrays: Sequence[Any]) -> tuple[list[tuple[int, ...]], list[Any]]:
    """Shapes, and arrays of the arguments' dtypes, of what an executable is traced with."""
    shapes, converted = [], []
    for argument, array in zip(arguments, arrays, strict=True):
        shape, dtype, weak = shape_and_dtype(argument, array)
        check_type(argument, dtype, weak=weak)
        shapes.append(shape)
        converted.append(jax.lax.convert_element_type(array, argument.dtype))
    return shapes, converted


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
    policy: PolicyArgument = "auto",
) -> Function:
    """Emits and compiles in one.

    Args:
        inputs: the graph's inputs, in call order.
        outputs: one output variable, or several.
        dims: names or sizes for the axes of inputs, see `emit_stablehlo`.
        device: "cpu", "gpu", "tpu", a `jax.Device`, or None for JAX's default device.
        name: the program's name, seen in profiles.
        rewrite: apply PyTensor's own rewrites first, as its compiled modes do.
        cache_size: how many executables are kept.
        policy: how sizes are met: "auto" (exact for the first few, then padded to buckets), "exact" (one compile per
            size), "padded" (one compile per bucket), a `Bucket`, an int (one bound); or a dictionary of these by size
            name, e.g. `{"n": "padded", "m": hlograph.Bucket(factor=2), "k": 128}`.

    Returns:
        The callable. A single output comes back as one array, several as a tuple.
    """
    from ..codegen.emit import emit_stablehlo

    program = emit_stablehlo((inputs, outputs), dims=dims, name=name, rewrite=rewrite)
    return program.compile(device, cache_size=cache_size, policy=policy)


__all__ = ["ArgumentTypeError", "Function", "Stats", "function"]
