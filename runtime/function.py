"""`Function`: a program as a Python callable.

In: numpy arrays, JAX arrays, Python numbers; or JAX tracers, inside a transformation. Out: JAX arrays, one alone when
there is one. For a new set of sizes the policy says how they are met: the program is specialized and handed to
`jax.jit` (*exact*), or padded to the bounds of a bucket, whose executable serves all sizes below (*padded*). A call
with known sizes is one dictionary lookup and JAX's C++ call path, which recognizes dtypes and shapes itself. Arguments
are therefore checked where JAX traces a new signature, and not again.

    Function ── calls/path.py (the code of a call) ── executables/serving.py ── Executable
                                                                     └─ Adapter (pads and cuts) ─┘
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import jax

from ..codegen import forks
from ..codegen.analysis.platforms import refuse_others
from ..codegen.errors import ArgumentShapeError, ArgumentTypeError
from ..codegen.interrupts import deferred
from ..codegen.ir.jax_compat import enable_x64, is_checkified, no_transformation, trace_state
from ..codegen.program import Program
from ..codegen.signature import CheckSpec
from ..codegen.sparse_parts import grouped, joined, split
from .calls.arguments import (
    check_call,
    converted,
    in_order,
    key_data,
    key_of,
    narrowed,
    raise_failed,
    signature_of,
    sizes_of_call,
    to_arrays,
)
from .calls.path import ARRAY, X64, Written, call_function
from .direct.verdict import unproven
from .executables.devices import find_device, platform_of
from .executables.executable import Executable
from .executables.prepared import PreparedProgram
from .executables.serving import Entry, Serving
from .executables.stats import Counter, Stats
from .executables.stored import Shelf
from .host import is_from_python
from .options import CompileOptions
from .transforms.callee import Derived, FunctionCall

if TYPE_CHECKING:
    from .c_function import CFunction, FormName
    from .lowered.stages import Lowered
    from .warming import Sizes


class Function(Written):
    """A compiled program; see `Program.compile` and `hlograph.function`.

    A call takes arguments by their places or their names, and reads shared variables of the graph. It raises
    `ArgumentTypeError` or `ArgumentShapeError` before anything runs, `CompileError` where the device's compiler refuses
    the program, and what a failed check in the graph asks for.

    Attributes:
        program: what it runs.
        options: how it is compiled.
        device: the `jax.Device` it runs on, or None for JAX's default.
        changed: gives who is to be told that what runs calls has changed (a `weakref.WeakMethod`), or None.
        derived: its derivatives and batched versions, made when JAX asks for them.
        needs_x64: whether an argument or a result is 64 bits wide.
        shelf: executables that were compiled before, see `hlograph.load_bundle`.
        notes: what else bundles hold, as JSON has it.
    """

    notes: Mapping[str, Any] = {}

    def __init__(self, program: Program, options: CompileOptions | None = None, shelf: Shelf | None = None) -> None:
        # JAX's caches hold what `jax.jit(fn)` traces for as long as `fn` lives. What is traced holds the function to
        # call: were it `fn` itself, `fn` would live forever. So it is another object with the same state.
        held = object.__new__(Function)
        # A dictionary of no object's own: Python's collector counts what lies in an object itself twice.
        held.__dict__ = self.__dict__ = {}
        held._set_up(program, options or CompileOptions.of(), shelf or {})
        self.__call__ = held.__call__ = held._adapted_call if held._adapts else held._written

    def _set_up(self, program: Program, options: CompileOptions, shelf: Shelf) -> None:
        self.program, self.options, self.shelf = program, options, shelf
        self.device = find_device(options.device)
        if program.signature.platforms and self.device is not None:
            refuse_others(program.name, program.signature.platforms, [platform_of(self.device)])
        self.__name__ = self.__qualname__ = program.name
        self.__doc__ = f"Compiled StableHLO program {program.name}: {program.signature}"
        signature = self._signature = program.signature
        self._shared = [program.bindings[i] for i in sorted(program.bindings)]
        self._key_arguments = [i for i, a in enumerate(signature.arguments) if a.key]
        given = len(signature.arguments) - len(self._shared)
        self._given, self._returned = grouped(signature.arguments[:given]), grouped(signature.results)
        self._sparse = any(group.sparse for group in (*self._given, *self._returned))
        self.__signature__ = signature_of(self._given)
        self._adapts = bool(self._shared or self._key_arguments or self._sparse)
        self._single = len(signature.results) == 1
        self._for_jax: Function | None = None
        self.changed: Callable[[], Callable[[], object] | None] = lambda: None
        self.derived = Derived(program, self._like)
        self._calls = Counter()
        wide = [x.dtype for x in signature.arguments] + [x.dtype for x in signature.results]
        # 64-bit values need JAX's x64 mode in this thread for the time of the call; the global flag stays as it is.
        # What is 64 bits wide inside the module only is no business of JAX's.
        self.needs_x64 = any(narrowed(dtype) != dtype for dtype in wide)
        self._wide = [(i, x.dtype) for i, x in enumerate(signature.arguments) if narrowed(x.dtype) != x.dtype]
        self._serving = Serving(program, options, shelf, self.device, x64=self._x64, tell=self._tell)
        jax_arrays = options.numpy is None
        recorded = jax_arrays and signature.arguments and not signature.value_roots
        self._latest: list[tuple[Any, Any]] | None = [(None, None)] if recorded else None
        ways = {"entries": self._serving.entries, "count": self._calls.increment, "slow": self._slow_call}
        ways |= {"traced": self._traced_call, "failed": self._failed_call, "checked": self._checked}
        ways |= {"widened": self._widened if self.needs_x64 else None, "find": self._find}
        self._written = call_function(signature, ways, name=program.name, latest=self._latest, returns_jax=jax_arrays)

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _adapted_call(self, /, *args: Any, **keywords: Any) -> Any:
        """A call of a program with shared variables, typed keys or sparse matrices."""
        given: Sequence[Any] = in_order(self.__name__, self._given, args, keywords) if keywords else args
        if self._sparse:
            if len(given) != len(self._given):
                names = ", ".join(map(str, self._given)) or "none"
                raise ArgumentTypeError(f"expected {len(self._given)} arguments ({names}), got {len(given)}")
            given = split(self._given, given)
        values = [*given, *[container.get_value(borrow=True) for container in self._shared]]
        for i in self._key_arguments:
            if i < len(values):
                values[i] = key_data(self._signature.arguments[i], values[i])
        if not self._sparse:
            return self._written(*values)
        found = joined(self._returned, self.run(values), lambda x: not isinstance(x, jax.core.Tracer))
        return found[0] if len(found) == 1 else tuple(found)

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results, always a tuple, for the values of all arguments, those of shared variables included."""
        results = self._written(*arrays)
        return (results,) if self._single else results

    def _slow_call(self, args: Sequence[Any]) -> Any:
        """A call with sizes that are new, with lists for arrays, or with something wrong about its arguments."""
        arrays = to_arrays(self._signature.arguments, args)
        if arrays is not args:
            return self._written(*arrays)
        if is_checkified():
            return self._traced_call(args)
        number = self._calls.increment()
        try:
            sizes = self._sizes(args)
            if self.needs_x64 and not X64.value:
                args = self._widened(args)
            checks, outputs = self._serving.first_call(sizes, args, number)
        except FloatingPointError as error:
            return self._failed_call(None, args, error)
        except ArgumentShapeError as error:
            return self._loosened(error)._written(*args)
        return self._checked(checks, outputs) if checks else outputs

    def _loosened(self, error: ArgumentShapeError) -> Function:
        return self.derived.loosened(error, lambda program: Function(program, self.options))

    def _traced_call(self, args: Sequence[Any]) -> Any:
        """A call under a JAX transformation: one equation, for exactly these sizes."""
        with deferred():
            from .transforms.primitive import call, report

        forks.refuse_forked(f"{self.__name__} cannot run under a JAX transformation")
        args = to_arrays(self._signature.arguments, args)
        self._calls.increment()
        narrow = self.needs_x64 and not X64.value
        signature = self._signature
        shapes = check_call(signature, args, len(self._shared), narrow=narrow)
        key = zip(signature.roots, key_of(signature, args), strict=True)
        places = tuple(((root.argument, root.element), size) for root, size in key if root.axis is None)
        arrays = converted(signature.arguments, args, narrow)
        callee = FunctionCall(self._in_jax(), places, narrow)
        try:
            callee.sizes(shapes)
        except ArgumentShapeError as error:
            return self._loosened(error)._traced_call(args)
        results = report(callee, arrays, call(callee, arrays))
        return results[0] if self._single else tuple(results)

    def _failed_call(self, entry: Entry | None, args: Sequence[Any], error: Exception) -> Any:
        """A call that failed: while something else is traced, where JAX looks for NaN, or of what is no array."""
        if is_from_python(error):
            raise error
        if isinstance(error, FloatingPointError):
            from .transforms.primitive import debugged

            return debugged(self, args, error)
        if is_checkified() or any(isinstance(x, jax.core.Tracer) for x in args):  # one that got out of its trace
            return self._traced_call(args)
        if isinstance(error, TypeError):
            arrays = to_arrays(self._signature.arguments, args)
            if arrays is not args:
                return self._written(*arrays)
            self._sizes(args)
            raise error
        if not isinstance(entry, Executable) or trace_state() == no_transformation():
            raise error
        with self._x64():
            outputs = entry.compile_and_call(*args)
        return self._checked(entry.checks, outputs) if entry.checks else outputs

    def _sizes(self, args: Sequence[Any]) -> dict[str, int]:
        return sizes_of_call(self._signature, args, len(self._shared), narrow=self.needs_x64 and not X64.value)

    def _checked(self, checks: tuple[CheckSpec, ...], outputs: Any) -> Any:
        flags = outputs[-1]
        if isinstance(flags, jax.core.Tracer):
            jax.debug.callback(lambda values: raise_failed(checks, values), flags)
        elif flags is not None:
            raise_failed(checks, flags)
        return outputs[0] if self._single else outputs[:-1]

    def _widened(self, args: Sequence[Any]) -> Sequence[Any]:
        """JAX's arrays in the program's 64-bit types; from JAX without such types they come with 32."""
        for i, dtype in self._wide:
            x = args[i]
            if getattr(x, "dtype", dtype) is not dtype and isinstance(x, jax.Array) and x.dtype == narrowed(dtype):
                with enable_x64(True):
                    args = (*args[:i], jax.lax.convert_element_type(x, dtype), *args[i + 1 :])
        return args

    def _x64(self) -> Any:
        return enable_x64(True) if self.needs_x64 else nullcontext()

    # ---- for callers that check their arguments themselves, and for transformations ---------------------------------

    def executable(self, args: Sequence[Any]) -> Callable[..., Any] | None:
        """What runs arguments that a call has had: for callers that check theirs themselves.

        It takes arrays of these shapes and dtypes, where they are to be (with JAX arrays as results in JAX's x64 mode,
        if `needs_x64`); it returns one result, or a tuple, and raises what a failed check asks for.

        Returns:
            None where there is more to a call than that: sizes are padded, or an argument's value decides a size; and
            before the first call.
        """
        entry = None if self._signature.value_roots else self._serving.exact(args)
        if entry is None:
            return None
        run, checks, single = entry.way.trusting, entry.checks, self._single
        if not checks:
            return run

        def checked(*arrays: Any) -> Any:
            outputs = run(*arrays)
            if outputs[-1] is not None:
                raise_failed(checks, outputs[-1])
            return outputs[0] if single else outputs[:-1]

        return checked

    def prepared(self, sizes: Mapping[str, int]) -> PreparedProgram:
        """The program for these sizes, as what the primitive puts into other modules; see `prepare`."""
        return self._serving.prepared(sizes)

    def _in_jax(self) -> Function:
        if self.options.numpy is None:
            return self
        with self._serving.lock:
            if self._for_jax is None:
                self._for_jax = self._like(self.program)
            return self._for_jax

    def _like(self, program: Program) -> Function:
        return Function(program, self.options.for_derived(program))

    def _find(self, entry: Entry, args: Sequence[Any]) -> None:
        """Takes note of JAX arrays that an entry has just been found for, and of their types alone."""
        arguments = self._signature.arguments
        if all(type(x) is ARRAY and x.dtype == a.dtype for x, a in zip(args, arguments, strict=True)):
            with self._serving.lock:
                if self._latest is not None and self._serving.known(args) is entry:
                    self._latest[0] = tuple(x.aval for x in args), entry

    def _tell(self) -> None:
        """Tells who is to know that what runs calls has changed, or is no longer in the cache; forgets it."""
        if self._latest is not None:
            self._latest[0] = None, None
        listener = self.changed()
        if listener is not None:
            listener()

    def warm(self, sizes: Sizes = ({},), *, up_to: Mapping[str, int] | None = None) -> dict[str, float]:
        """Compiles what calls with these sizes will run on, so that they compile nothing; nothing is run.

        Several are compiled at once, in threads. What a call may still compile, is what JAX compiles for each kind of
        argument: results as JAX arrays for arguments that are Python's numbers, or committed to a device.

        Args:
            sizes: name to size, for each set of sizes: of all arguments, also where a size is an integer argument's
                value; and of sizes that are computed from data and have no bound before the run, for whose buckets the
                rest of a call is compiled. One set may stand alone; programs without sizes need none.
            up_to: name to the largest size, for sizes that `sizes` leaves out: every bucket is compiled that such calls
                can meet. Under "auto" they are padded from now on, from the first call on.

        Returns:
            From the sizes of each executable ("n=1000"; "n<=1024" where they are padded) to the seconds that it took.

        Raises:
            ArgumentError: a size is missing or unknown, the cache keeps fewer executables, or `up_to` has a size that
                is compiled exactly.
            ArgumentShapeError: the sizes contradict the program's constraints, or are above a bound.
            CompileError: the device's compiler refuses the program.
            PaddingError: the policy pads a size, and an op has no padding rule.
        """
        from .warming import compile_all

        return compile_all(self.works(sizes, up_to or {}), self._x64)

    def works(self, sizes: Sizes, up_to: Mapping[str, int]) -> list[Callable[[], Iterable[Executable]]]:
        """What makes the executables of `warm`, which are not compiled yet, for each of its calls."""
        from .warming import wanted

        serving = self._serving
        found = wanted(self.program, self.options, serving.policies, sizes, up_to, serving.planned, self.shelf)
        return [partial(serving.warmed, *each, self._calls.value) for each in found]

    def needs_threads(self, args: Sequence[Any]) -> str:
        """Compiles what a call with such arguments runs on; why that needs XLA's threads, or "" if it does not."""
        if not self._signature.has_data_sizes:
            self.warm(self._sizes(args))
        entry = self._serving.exact(args)
        return "its sizes are padded or computed from data" if entry is None else entry.needs_threads

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes that decide on a call's executable."""
        return tuple(root.name for root in self._signature.roots)

    # ---- looking ----------------------------------------------------------------------------------------------------

    def lower(self, *args: Any, sizes: Mapping[str, int] | None = None, **keywords: Any) -> Lowered:
        """The program for these arguments, on the function's device, ahead of time; see `AheadFunction.lower`.

        What is lowered is what a call compiles, with its plan for CPU.

        Args:
            args: arrays or `jax.ShapeDtypeStruct`, one per argument; or none, and all sizes by name.
            sizes: root name to size, for roots that the arguments do not tell.
            keywords: arguments by name.
        """
        with deferred():
            from .lowered.ahead import AheadFunction

        given = in_order(self.__name__, self._given, args, keywords) if keywords else args
        arrays = to_arrays(self._signature.arguments, split(self._given, given))
        return AheadFunction(self.program, None, self.options).lower(*arrays, sizes=sizes)

    def c_function(self, *arguments: Any, form: FormName = "arrays") -> CFunction:
        """The function for callers in C: an address that any number of threads may call: docs/how-to/c_functions.md.

        Where the direct call can run it, calls need neither Python nor its lock; elsewhere they go through Python, and
        a warning says why. Shared variables of the graph have the values of now.

        Args:
            arguments: one per argument, for its shape: an array, a `jax.ShapeDtypeStruct`, or None where all dimensions
                are known. Of arguments that the form has no place for, their values (`CFunction.data` makes others).
            form: "arrays" (`inputs` and `outputs` are tables of addresses of arrays in C's order), "logp" (of the first
                argument float64[dim]; the results are the value and its gradient), "density" (the same; -inf in place
                of codes above 0), or "expand" (of the first argument float64[dim]; the result is float64[expanded]).

        Raises:
            ArgumentTypeError, ArgumentShapeError: an argument does not fit.
            UnsupportedGraphError: the program does not have the form, or sizes that depend on data.
            CompileError: the device's compiler refuses the program.
        """
        with deferred():
            from .c_function import CFunction

        return CFunction(self.program, self.options, arguments, form)

    @property
    def stats(self) -> Stats:
        """Calls, compiles, compile seconds and cache hits so far."""
        calls, serving = self._calls.value, self._serving
        account = serving.account
        executables = serving.stats()
        return Stats(
            calls=calls,
            compiles=account.compiles.value,
            compile_seconds=account.compile_seconds,
            retries=account.retries.value,
            loaded=account.loaded.value,
            cache_hits=calls - serving.misses.value,
            executables=len(executables),
            by_executable=tuple(executables),
            refusals=serving.policies.refusals,
            unproven=unproven(),
            bundle=tuple(f"{stored.sizes}: {stored.state}" for stored in self.shelf.values()),
        )

    def clear_cache(self) -> None:
        """Drops all executables, those of derivatives and batches too."""
        self._serving.clear()
        for function in self.derived:
            function.clear_cache()

    def __repr__(self) -> str:
        return f"<Function {self.program.name}{self._signature}>"
