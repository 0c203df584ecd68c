"""`Function`: a program as a Python callable.

In: numpy arrays, JAX arrays, Python numbers; or JAX tracers, inside a transformation. Out: JAX arrays, one alone when
there is one. For a new set of sizes the policy says how they are met: the program is specialized and handed to
`jax.jit` (*exact*), or padded to the bounds of a bucket, whose executable serves all sizes below (*padded*, see
`padded.py`). A call with known sizes is one dictionary lookup and JAX's C++ call path, which recognizes dtypes and
shapes itself. Arguments are therefore checked where JAX traces a new signature, and not again. That way of a call is
written out for each function, see `call_path.py`.
"""

from __future__ import annotations

import operator
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import jax
import numpy as np

from ..codegen.errors import (
    ArgumentError,
    ArgumentShapeError,
    CompileError,
    PaddingError,
    UnsupportedGraphError,
)
from ..codegen.ir.jax_compat import enable_x64, no_transformation, trace_state, unproven_note
from ..codegen.passes.optimize import Optimize, resolve
from ..codegen.program import Program
from ..codegen.signature import Argument, CheckSpec
from .calls import short
from .calls.arguments import check_count, check_type, find_sizes, key_data, narrowed, origin, shape_and_dtype
from .calls.checks import raise_failed
from .calls.path import X64, call_function, key_function
from .executables import cpu_plan
from .executables.cpu_plan import CpuArgument, CpuOptions
from .executables.devices import find_device, is_sharded
from .executables.padding import Executable, PaddedCall
from .executables.policy import PaddingRefusedWarning, Plan, Policies, PolicyArgument, PolicyError, RecompilationWarning
from .executables.runner import Numpy, Runner
from .executables.stats import Counter, ExecutableStats, Stats
from .lowered.stages import Lowered
from .transforms.callee import FunctionCall, Module
from .transforms.derived import Derived
from .transforms.primitive import call, report

DEFAULT_CACHE_SIZE = 128
_KNOWN_CALLS = 4096  # sets of sizes on padded executables that are remembered


Key = tuple[int, ...]
Outputs = Literal["jax", "numpy"] | Numpy


def check_outputs(outputs: Any) -> Outputs:
    """Raises `ValueError` for what `outputs=` does not take."""
    if isinstance(outputs, Numpy) or (isinstance(outputs, str) and outputs in ("jax", "numpy")):
        return outputs  # type: ignore[return-value]
    hint = "" if isinstance(outputs, str) else "; a graph's outputs are the second argument, without a keyword"
    raise ValueError(f'outputs must be "jax" or "numpy", got {outputs!r}{hint}')


@dataclass
class _Entry:
    """The exact executable for one set of sizes.

    Attributes:
        sizes: what it is for.
        run: what runs the specialized program, once that is made.
        runner: what knows how.
        checks: those of the specialized program: what the sizes decide is not among them.
        ready: whether it has been compiled.
        compiles: number of compilations.
        used: number of the last call that ran it; the least recently used one is dropped first.
        records: what runs it in `jax.jit`'s place, by the arguments' types and places, see `short.py`.
    """

    sizes: Mapping[str, int]
    run: Any = None
    runner: Runner | None = None
    checks: tuple[CheckSpec, ...] = ()
    ready: bool = False
    compiles: int = 0
    used: int = 0
    records: dict[Any, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Function:
    """A compiled program; see `Program.compile` and `hlograph.function`.

    Attributes:
        program: what it runs.
        device: the `jax.Device` it runs on, or None for JAX's default.
        policy: how each named size is met.
        passes: what each executable's module goes through before it is compiled.
        cpu: what the plan of an executable for CPU may use, see `runtime/executables/cpu_plan.py`.
        outputs: "jax" or "numpy", the arrays that calls return.
        changed: gives who is to be told that what runs calls has changed (a `weakref.WeakMethod`), or None.
        derived: its derivatives and batched versions, made when JAX asks for them.
    """

    def __init__(
        self,
        program: Program,
        *,
        device: Any = None,
        cache_size: int = DEFAULT_CACHE_SIZE,
        policy: PolicyArgument = "auto",
        optimize: Optimize = "default",
        reassociate: bool = True,
        cpu: CpuArgument = "auto",
        outputs: Outputs = "jax",
    ) -> None:
        # JAX's caches hold what `jax.jit(fn)` traces for as long as `fn` lives. What is traced holds the function to
        # call: were it `fn` itself, `fn` would live forever. So it is another object with the same state.
        held = object.__new__(Function)
        passes, plans = resolve(optimize, reassociate), CpuOptions.of(cpu, reassociate)
        held._set_up(program, device, cache_size, policy, passes, plans, check_outputs(outputs))
        self.__dict__ = held.__dict__
        if not held._adapts:
            # One Python function less in every call: this one's class calls what was written for it.
            self.__class__ = type("Function", (Function,), {"__call__": held._written, "__doc__": Function.__doc__})

    def __reduce__(self) -> Any:
        raise TypeError(
            f"the compiled function {self.__name__} cannot be pickled; save its program (`fn.program.save(path)`) and "
            "compile what `hlograph.load(path)` gives"
        )

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: Any) -> Function:
        return self

    def _set_up(
        self,
        program: Program,
        device: Any,
        cache_size: int,
        policy: PolicyArgument,
        passes: tuple[str, ...],
        cpu: CpuOptions,
        outputs: Outputs,
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
        self._key = key_function(signature.roots)
        self._key_arguments = [i for i, a in enumerate(signature.arguments) if a.key]
        self._single = len(signature.results) == 1
        self.policy = policy
        self.passes = passes
        self.cpu = cpu
        self.outputs = outputs
        self._numpy = outputs if isinstance(outputs, Numpy) else Numpy() if outputs == "numpy" else None
        self._runs_on = cpu_plan.choose_device(cpu, self.device, numpy=self._numpy is not None)
        self._for_jax: Function | None = None
        self._retries = Counter()
        self._trials = Counter()
        self.changed: Callable[[], Callable[[], object] | None] = _nobody
        self.derived = Derived(self)
        self._policies = Policies(policy, signature)
        self._data_sizes = signature.has_data_sizes
        self._cache_size = cache_size
        self._entries: dict[Key, _Entry | PaddedCall] = {}
        self._padded: dict[Any, Executable] = {}
        self._modules: dict[Key, Module] = {}
        self._lock = threading.Lock()
        self._calls = Counter()
        self._misses = Counter()
        self._compiles = Counter()
        self._compile_seconds = 0.0
        wide = [x.dtype for x in signature.arguments] + [x.dtype for x in signature.results]
        # 64-bit values need JAX's x64 mode in this thread for the time of the call; the global flag stays as it is.
        # What is 64 bits wide inside the module only is no business of JAX's.
        self._needs_x64 = any(narrowed(dtype) != dtype for dtype in wide)
        self._wide = [(i, x.dtype) for i, x in enumerate(signature.arguments) if narrowed(x.dtype) != x.dtype]
        questions = None if self._numpy is not None else short.asked(signature)
        self._short: short.ShortCall | None = None
        if questions is not None:
            self._short = short.ShortCall(signature, questions, self._lock, self._known, self._x64)
        self._written = call_function(
            signature,
            entries=self._entries,
            count=self._calls.increment,
            slow=self._slow_call,
            traced=self._traced_call,
            nested=self._nested_call,
            checked=self._checked,
            widened=self._widened if self._needs_x64 else None,
            short=self._short,
        )
        self._adapts = bool(self._shared or self._key_arguments)
        self._depth = 7 if self._adapts else 5  # from where a warning is given to the user's call

    # ---- calls ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        """Runs the program; shared variables of the graph are read now.

        Raises:
            ArgumentTypeError, ArgumentShapeError: before anything runs.
            CompileError: the device's compiler refuses the program.
            Exception: what a failed check in the graph asks for.
        """
        if self._adapts:  # shared variables and typed keys
            args = (*args, *[container.get_value(borrow=True) for container in self._shared])
            args = self._with_key_data(args)
        return self._run(args)

    def _run(self, args: Sequence[Any]) -> Any:
        return self._written(self, *args)

    def _with_key_data(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Typed PRNG keys as the integers that they consist of."""
        found = list(args)
        for i in self._key_arguments:
            if i < len(args):
                found[i] = key_data(self._signature.arguments[i], args[i])
        return tuple(found)

    def _slow_call(self, args: Sequence[Any]) -> Any:
        """A call with sizes that are new, or with something wrong about its arguments."""
        number = self._calls.increment()
        key = self._careful_key(args)
        if self._needs_x64 and not X64.value:
            args = self._widened(args)
        entry, outputs = self._first_call(key, args, number)
        return self._checked(entry.checks, outputs) if entry.checks else outputs

    def _traced_call(self, args: Sequence[Any]) -> Any:
        """A call under a JAX transformation: one equation, for exactly these sizes."""
        self._calls.increment()
        narrow = self._needs_x64 and not X64.value
        key = self._careful_key(args)
        shapes, arrays = _convert(self._signature.arguments, args, narrow)
        values = {r.name: size for r, size in zip(self._signature.roots, key, strict=True) if r.axis is None}
        callee = FunctionCall(self._in_jax(), self._places(values), narrow)
        callee.sizes(shapes)
        results = report(callee, arrays, call(callee, arrays))
        return results[0] if self._single else tuple(results)

    def _nested_call(self, entry: _Entry | PaddedCall, args: Sequence[Any], error: ValueError) -> Any:
        """A call with arrays that failed, as it does while something else is traced: see `Runner.first`."""
        if not isinstance(entry, _Entry) or entry.runner is None or trace_state() == no_transformation():
            raise error
        with self._x64():
            return entry.runner.first(*args)

    def _in_jax(self) -> Function:
        """This function for transformations, which calls with JAX's arrays and expects such."""
        if self._numpy is None:
            return self
        with self._lock:
            if self._for_jax is None:
                self._for_jax = self.like(self.program)
            return self._for_jax

    def _places(self, values: Mapping[str, int]) -> tuple[tuple[tuple[int, int | None], int], ...]:
        """Arguments' values that decide sizes, by argument and element: see `FunctionCall`."""
        roots = [root for root in self._signature.roots if root.axis is None]
        return tuple(((r.argument, r.element), values[r.name]) for r in roots)

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results, always a tuple, for the values of all arguments, those of shared variables included."""
        results = self._run(arrays)
        return (results,) if self._single else results

    def static_module(self, sizes: Mapping[str, int]) -> Module:
        """The program for these sizes, as what the primitive puts into other modules.

        Where sizes depend on data it is padded to what they can be at most.

        Raises:
            UnsupportedGraphError: a size that depends on data has no bound.
        """
        key = tuple(sizes[root.name] for root in self._signature.roots)
        with self._lock:
            found = self._modules.get(key)
        if found is None:
            if self._data_sizes:
                found = self._padded_module(sizes)
            else:
                program = self.program.specialize(sizes)
                program.source = None  # JAX's caches hold it, and must not lead back to what they are for
                found = Module(program, passes=self.passes)
            with self._lock:
                while len(self._modules) >= self._cache_size:
                    del self._modules[next(iter(self._modules))]
                found = self._modules.setdefault(key, found)
        return found

    def _padded_module(self, sizes: Mapping[str, int]) -> Module:
        signature = self._signature
        program = self.program.pad(sizes)
        padded = program.signature
        if padded.results and padded.results[0].size:
            raise UnsupportedGraphError(
                f"the size {padded.results[0].size} depends on data and has no bound known before the run; such a "
                "function cannot be called inside jax.jit or another transformation"
            )
        live = [sizes[argument.size] for argument in padded.arguments[len(signature.arguments) :]]
        results = [place for place, result in enumerate(padded.results) if not result.size]
        return Module(program, live, results, self.passes)

    def open_module(self) -> Module:
        """The program with its sizes open, for a module whose shapes JAX has as symbols.

        Raises:
            UnsupportedGraphError: a size is no matter of shapes.
        """
        if self._data_sizes or self._signature.value_arguments:
            names = ", ".join(
                [root.name for root in self._signature.roots if root.axis is None]
                + [count.name for count in (*self._signature.counts, *self._signature.local_counts)]
            )
            raise UnsupportedGraphError(
                f"{self.__name__} has sizes that are no sizes of arguments ({names}), which JAX's symbolic shapes do "
                "not know; specialize the program first"
            )
        return Module(self.program)

    @property
    def needs_x64(self) -> bool:
        """Whether an argument or a result is 64 bits wide."""
        return self._needs_x64

    def executable(self, args: Sequence[Any]) -> Callable[..., Any] | None:
        """What runs arguments that a call has had: for callers that check theirs themselves.

        It takes arrays of these shapes and dtypes, where they are to be (with JAX arrays as results in JAX's x64 mode,
        if `needs_x64`); it returns one result, or a tuple, and raises what a failed check asks for.

        Returns:
            None where there is more to a call than that: sizes are padded, or an argument's value decides a size; and
            before the first call.
        """
        if self._data_sizes or any(root.axis is None for root in self._signature.roots):
            return None
        entry = self._entries.get(self._key(args))
        if not isinstance(entry, _Entry) or not entry.ready or entry.runner is None:
            return None
        run, checks = entry.runner.trusting, entry.checks
        return (lambda *arrays: self._checked(checks, run(*arrays))) if checks else run

    def settled(self, args: Sequence[Any]) -> tuple[_Entry, Callable[[], int], Any] | None:
        """For a caller that recognizes arguments like these: what they run on, and what its calls are counted by.

        Args:
            args: JAX arrays that a call has had.

        Returns:
            The cache's entry, whose `used` is the number of the last call, what gives such numbers, and what returns
            the results, until `changed` is told. None where there is more to a call.
        """
        if self._numpy is not None or self._data_sizes or self._adapts or (self._needs_x64 and not X64.value):
            return None
        entry = self._entries.get(self._key(args))
        if not isinstance(entry, _Entry) or not entry.ready or entry.checks:
            return None
        return entry, self._calls.increment, entry.run

    def like(self, program: Program) -> Function:
        """A function of another program with this one's options; policies count for the sizes that it has too."""
        policy = self.policy
        if isinstance(policy, Mapping):
            names = {root.name for root in program.signature.roots} | {c.name for c in program.signature.counts}
            policy = {name: choice for name, choice in policy.items() if name in names}
        return Function(
            program,
            device=self.device,
            cache_size=self._cache_size,
            policy=policy,
            optimize=self.passes,
            cpu=self.cpu if self.cpu.client != "sync" else replace(self.cpu, client="jax"),
        )

    def _widened(self, args: Sequence[Any]) -> Sequence[Any]:
        """JAX's arrays in the program's 64-bit types; from JAX without such types they come with 32."""
        for i, dtype in self._wide:
            x = args[i]
            if getattr(x, "dtype", dtype) is not dtype and isinstance(x, jax.Array) and x.dtype == narrowed(dtype):
                with enable_x64(True):
                    args = (*args[:i], jax.lax.convert_element_type(x, dtype), *args[i + 1 :])
        return args

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
        narrow = self._needs_x64 and not X64.value
        check_count(signature, len(args) - len(self._shared), len(self._shared))
        shapes: list[tuple[int, ...]] = []
        for argument, value in zip(signature.arguments, args, strict=True):
            shape, dtype, weak = shape_and_dtype(argument, value)
            check_type(argument, dtype, weak=weak, narrow=narrow and isinstance(value, jax.Array))
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
                plan = self._policies.plan(sizes, exact=traced or any(map(is_sharded, args)))
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
                runner = entry.runner
                if runner is None:
                    module = self.static_module(sizes)
                    entry.checks = module.checks
                    runner = entry.runner = self._build(module, entry, sizes, values)
                outputs = self._first_run(runner, args)
                entry.run = runner.run
            except BaseException:
                self._forget(key, entry)
                raise
            if not entry.ready:
                self._compile_seconds += time.perf_counter() - start
                entry.ready = not any(isinstance(x, jax.core.Tracer) for x in args)
        return entry, outputs

    def _known(self, args: Sequence[Any]) -> _Entry | PaddedCall | None:
        """What the cache has for arguments that a call has had."""
        return self._entries.get(self._key(args))

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

        return PaddedCall(executable, self._signature, sizes, self._runs_on, go_on)

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

        def check(arrays: Sequence[Any]) -> None:
            for argument, shape in zip(arguments, _shapes(arguments, arrays), strict=True):
                if shape != argument.dims:
                    raise ArgumentShapeError(f"argument {argument.name!r}: expected shape {argument.dims}, got {shape}")

        runner = self._runner(Module(program, passes=self.passes), check, executable)
        executable.runner = runner
        started = threading.Lock()

        def first(*arrays: Any) -> Any:
            with started:
                start = time.perf_counter()
                outputs = self._first_run(runner, arrays)
                if executable.run is first:
                    self._compile_seconds += time.perf_counter() - start
                    if not any(isinstance(x, jax.core.Tracer) for x in arrays):
                        executable.run, executable.ready = runner.run, True
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
            if self._short is not None:
                self._short.forget()
            self._tell()
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
                stacklevel=self._depth,
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
                    stacklevel=self._depth,
                )

    def _forget(self, key: Key, entry: _Entry) -> None:
        """Leaves no half-built executable behind."""
        with self._lock:
            if not entry.ready and self._entries.get(key) is entry:
                del self._entries[key]

    def _build(self, module: Module, entry: _Entry, sizes: dict[str, int], values: dict[str, int]) -> Runner:
        """What runs the program as it was specialized for these sizes; it checks what it is traced with."""
        signature = self._signature

        def check(arrays: Sequence[Any]) -> None:
            if len(arrays) != len(signature.arguments):
                check_count(signature, len(arrays) - len(self._shared), len(self._shared))
            found = find_sizes(signature, _shapes(signature.arguments, arrays), values)
            if found != sizes:
                raise ArgumentError(f"sizes {found} reached the executable for {sizes}")

        return self._runner(module, check, entry)

    def _runner(self, module: Module, check: Callable[[Sequence[Any]], None], entry: _Entry | Executable) -> Runner:
        def counted() -> None:
            self._compiles.increment()
            entry.compiles += 1

        def tried(runner: Runner) -> None:
            self._trials.increment()
            entry.run = runner.run
            self._tell()

        return Runner(module, check, counted, self._retries.increment, tried, self.cpu, self._runs_on, self._numpy)

    def _tell(self) -> None:
        """Tells who is to know that what runs calls has changed, or is no longer in the cache."""
        listener = self.changed()
        if listener is not None:
            listener()

    def _first_run(self, runner: Runner, args: Sequence[Any]) -> Any:
        """The first call of an executable.

        Raises:
            CompileError: XLA refuses the program.
        """
        try:
            return runner.run(*args)
        except jax.errors.JaxRuntimeError as error:
            raise CompileError(f"compiling or first running {self.program.name} failed: {error}") from None

    def lower(self, *args: Any, sizes: Mapping[str, int] | None = None) -> Lowered:
        """The program for these arguments, on the function's device, ahead of time; see `AheadFunction.lower`.

        Args:
            args: arrays or `jax.ShapeDtypeStruct`, one per argument; or none, and all sizes by name.
            sizes: root name to size, for roots that the arguments do not tell.
        """
        from .lowered.ahead import AheadFunction

        devices = None if self.device is None else [self.device]
        return AheadFunction(self.program, devices, self.policy, optimize=self.passes).lower(*args, sizes=sizes)

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
        described = [
            ExecutableStats("exact", str(Plan(entry.sizes, {})), entry.compiles, plan=_notes(entry)) for entry in exact
        ]
        for x in padded:
            share = 1 - x.live / x.calls if x.calls and x.plan.bounds else 0.0
            described.append(ExecutableStats("padded", str(x.plan), x.compiles, x.calls, share, _notes(x)))
        return Stats(
            calls=calls,
            compiles=self._compiles.value,
            compile_seconds=self._compile_seconds,
            cache_hits=calls - self._misses.value,
            executables=len(exact) + len(padded),
            by_executable=tuple(described),
            refusals=self._policies.refusals,
            retries=self._retries.value,
            unproven=unproven_note(),
            trials=self._trials.value,
        )

    def clear_cache(self) -> None:
        """Drops all executables, those of derivatives and batches too."""
        with self._lock:
            self._entries.clear()
            self._padded.clear()
            self._modules.clear()
            if self._short is not None:
                self._short.forget()
        for function in self.derived:
            function.clear_cache()

    def __repr__(self) -> str:
        return f"<Function {self.program.name}{self._signature}>"


def _nobody() -> None:
    return None


def _notes(entry: _Entry | Executable) -> tuple[str, ...]:
    """What was decided about an executable."""
    return () if entry.runner is None else entry.runner.plan.notes


def _shapes(arguments: Sequence[Argument], arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    """The arrays' shapes; their dtypes are checked."""
    shapes = []
    for argument, array in zip(arguments, arrays, strict=True):
        shape, dtype, weak = shape_and_dtype(argument, array)
        check_type(argument, dtype, weak=weak)
        shapes.append(shape)
    return shapes


def _convert(
    arguments: Sequence[Argument], arrays: Sequence[Any], narrow: bool = False
) -> tuple[list[tuple[int, ...]], list[Any]]:
    """Shapes, and arrays of the arguments' dtypes (as JAX has them without 64-bit types, if `narrow`)."""
    shapes, converted = [], []
    for argument, array in zip(arguments, arrays, strict=True):
        shape, dtype, weak = shape_and_dtype(argument, array)
        check_type(argument, dtype, weak=weak, narrow=narrow)
        shapes.append(shape)
        wanted = narrowed(argument.dtype) if narrow else argument.dtype
        known = isinstance(array, jax.Array) and array.dtype == wanted  # what JAX makes of it takes long
        converted.append(array if known else jax.lax.convert_element_type(array, wanted))
    return shapes, converted


def function(
    inputs: Any,
    results: Any,
    /,
    *,
    dims: Any = None,
    device: Any = None,
    name: str = "main",
    rewrite: bool | Literal["full"] = True,
    cache_size: int = DEFAULT_CACHE_SIZE,
    policy: PolicyArgument = "auto",
    optimize: Optimize = "default",
    reassociate: bool = True,
    cpu: CpuArgument = "auto",
    outputs: Literal["jax", "numpy"] = "jax",
) -> Function:
    """Emits and compiles in one.

    Args:
        inputs: the graph's inputs, in call order.
        results: one output variable, or several.
        dims: names or sizes for the axes of inputs, see `emit_stablehlo`.
        device: "cpu", "gpu", "tpu", a `jax.Device`, or None for JAX's default device.
        name: the program's name, seen in profiles.
        rewrite: what is done to the graph first: True for hlograph's selection of the library's rewrites (numerical
            stabilization), "full" for those of its own compiled modes, False for none; see docs/rewriting.md.
        cache_size: how many executables are kept.
        policy: how sizes are met: "auto" (exact for the first few, then padded to buckets), "exact" (one compile per
            size), "padded" (one compile per bucket), a `Bucket`, an int (one bound); or a dictionary of these by size
            name, e.g. `{"n": "padded", "m": hlograph.Bucket(factor=2), "k": 128}`.
        optimize: passes over each executable's module before it is compiled: "default", "none", or a list such as
            `["sink_reductions"]`; see docs/passes.md.
        reassociate: False keeps every bit of the results of what `optimize` does.
        cpu: how executables for CPU are made: "auto" (on JAX's client where JAX arrays come back, on a synchronous one
            of hlograph's own where NumPy arrays do), "jax", "sync", "direct" (calls without PJRT, an experiment),
            "plain" (as `jax.jit` would), or a `hlograph.CpuOptions`; see docs/cpu.md.
        outputs: "jax" or "numpy", the arrays that calls return.

    Returns:
        The callable. A single output comes back as one array, several as a tuple.
    """
    from ..dialects.frontend import emit_stablehlo

    program = emit_stablehlo((inputs, results), dims=dims, name=name, rewrite=rewrite)
    return program.compile(
        device=device,
        cache_size=cache_size,
        policy=policy,
        optimize=optimize,
        reassociate=reassociate,
        cpu=cpu,
        outputs=outputs,
    )


__all__ = ["Function", "Stats", "function"]
