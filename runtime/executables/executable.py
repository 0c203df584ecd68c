"""`Executable`: a recipe's module, compiled, and how it is called.

In: a prepared program, what its plan may use, and what the arguments must be. Out: `call`, from a call's arguments to
the results, as JAX or as NumPy arrays. The first call compiles, and other threads wait for it; a plan that XLA refuses
then is dropped, once, for a compile of the module as it is.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import jax
import numpy as np

from ...codegen import forks
from ...codegen.dtypes import is_packed
from ...codegen.errors import CompileError, DeviceError, PassError
from ...codegen.interrupts import deferred
from ...codegen.ir.bindings import ir
from ...codegen.ir.jax_compat import (
    enable_x64,
    execution,
    initialize_lapack,
    no_transformation,
    trace_state,
    x64_caller,
    x64_flag,
)
from ...codegen.passes.pack_results import PackedResult
from ...codegen.signature import CheckSpec, Signature
from .. import host
from ..calls.from_numpy import Due, Place, Ways, alone, numpy_call
from ..direct.object_code import loading
from ..options import CpuOptions, Numpy
from ..transforms.callee import StaticModule
from .devices import default_device, is_synchronous, platform_of
from .direct_way import DirectWay
from .policy import Plan
from .prepared import PreparedProgram
from .stats import Counter, ExecutableStats

if TYPE_CHECKING:
    from ..direct.call import DirectCall
    from .cpu_plan import CpuPlan

Check = Callable[[Sequence[Any]], None]
Made = TypeVar("Made")


def callee_of(plan: CpuPlan) -> StaticModule:
    """What a plan makes of a program, as JAX calls it; its results may be packed."""
    return StaticModule(plan.prepared.program, plan.prepared, plan.outputs)


def unpacked(places: Sequence[PackedResult] | None, outputs: Sequence[Any]) -> Sequence[Any]:
    """The results that a program has, from those of `callee_of` its plan, which has these places."""
    if places is None:
        return outputs
    results = []
    for place in places:
        output = outputs[place.output]
        if place.start is not None:
            output = output[place.start : place.start + math.prod(place.shape)].reshape(place.shape)
        results.append(output)
    return results


# What XLA and MLIR raise for a module that they do not take.
REFUSED = (jax.errors.JaxRuntimeError, ir.MLIRError)


@dataclass
class Account:
    """What the executables of one function count together.

    Attributes:
        compiles, retries: number of compilations, and of plans that were dropped.
        loaded: number of executables that were loaded in place of compiled.
        compile_seconds: time that plans and compiles took.
        changed: called when what serves an executable's calls is another function than before.
    """

    changed: Callable[[], None]
    compiles: Counter = field(default_factory=Counter)
    retries: Counter = field(default_factory=Counter)
    loaded: Counter = field(default_factory=Counter)
    compile_seconds: float = 0.0


class Executable:
    """One program compiled for one set of sizes, or for all below bounds.

    Args:
        sizes: what it is for.
        account: of the function.
        options: what its plan may use.
        device: where to run, None for JAX's default device.
        numpy: for NumPy arrays; None for JAX's.

    Attributes:
        prepared: the program; not there until `prepare`.
        signature: its signature; likewise.
        name: the program's; likewise.
        checks: those that the caller reads from the last result, which may be None: they have passed.
        plan: how it is compiled and run on CPU; not there until `prepare`.
        notes: a line on each decision of the plan.
        call: serves a call with arguments of the right shapes.
        call_unchecked: the same for a caller that knows its arguments to be arrays of the right types, where they are
            to be.
        ready: whether it has been compiled.
        used: number of the last call that ran it; the least recently used one is dropped first.
        compiles: number of compilations.
        calls, live: number of calls by adapters, and the sum of their parts that were not padding.
        counting: held while these change.
    """

    prepared: PreparedProgram
    signature: Signature
    name: str
    plan: CpuPlan
    notes: tuple[str, ...] = ()

    def __init__(self, sizes: Plan, account: Account, options: CpuOptions, device: Any, numpy: Numpy | None) -> None:
        self.sizes = sizes
        self.account = account
        self.checks: tuple[CheckSpec, ...] = ()
        self.ready = False
        self.used = self.compiles = self.calls = 0
        self.live = 0.0
        self.counting = forks.lock()
        self._options = options
        self._device = device
        self._numpy = numpy
        self._lock = forks.lock()
        self._prepared = False
        self._check: Check
        self._compiled: Ways | None = None
        self._direct: DirectWay | None = None
        self._needs_threads = True
        self._install(Ways(self.compile_and_call, self.compile_and_call))

    @property
    def needs_threads(self) -> str:
        """Why calls need XLA's threads; "" where direct calls were insisted on, and there are such."""
        return "; ".join(self._told) or "it is not called directly" if self._needs_threads else ""

    @property
    def _told(self) -> tuple[str, ...]:
        return (*self.notes, self._direct.note) if self._direct is not None and self._direct.note else self.notes

    def prepare(self, make: Callable[[], PreparedProgram], check: Callable[[Signature], Check]) -> None:
        """Makes the program and the plan, unless another thread has.

        Args:
            make: makes the program.
            check: makes of its signature what is called with arrays, or what JAX traces with, before they are used;
                that raises what is wrong with them.
        """
        with self._lock:
            if self._prepared:
                return
            forks.refuse_forked(f"an executable for {self.sizes} cannot be compiled or run")
            from . import cpu_plan

            start = time.perf_counter()
            prepared = self.prepared = make()
            self.signature, self.name, self.checks = prepared.program.signature, prepared.program.name, prepared.checks
            self._check = check(self.signature)
            alone = frozenset() if self._numpy is None else self._numpy.results
            numpy = self._numpy is not None and self._in_memory(self._device)
            try:
                self.plan = cpu_plan.plan(prepared, self._options, self._device, numpy=numpy, alone=alone)
                self.notes = self.plan.notes
            except PassError as error:
                self._drop_plan((f"a pass failed, compiled as it is: {error}",))
            self._prepared = True
            self.account.compile_seconds += time.perf_counter() - start

    def after_fork(self) -> bool:
        """Whether it runs in this process, which was forked; the first call says so within a time limit."""
        if not self.ready or not is_synchronous(self._device):
            return False
        self._install(Ways(once_within(self.call), once_within(self.call_unchecked)))
        return True

    def stats(self, policy: str) -> ExecutableStats:
        """What is to be said of it."""
        share = 1 - self.live / self.calls if self.calls and self.sizes.bounds else 0.0
        return ExecutableStats(policy, str(self.sizes), self.compiles, self.calls, share, self._told)

    # ---- the first call ---------------------------------------------------------------------------------------------

    def compile_and_call(self, *args: Any) -> Any:
        """A call that compiles if need be; any call may take this way.

        Calls with arrays must where something else is being traced: JAX takes no compile options there, so they run
        outside of that. Only the compile is under the lock: a program that calls Python may come back here.

        Raises:
            CompileError: XLA refuses the program, with a plan and without.
        """
        if any(isinstance(x, jax.core.Tracer) for x in args):
            return self._inline(args)
        run = self._compile(args).run
        return self._outside(lambda: run(*args))

    def compile(self) -> bool:
        """Compiles without a call, so that no later call of arrays of the program's types does.

        Returns:
            Whether it was new.

        Raises:
            CompileError: XLA refuses the program.
        """
        new = not self.ready
        if new:
            insists = self._numpy is not None and self._options.direct and not self._calls_host
            self._compile([np.zeros(spec.shape, spec.dtype) if insists else spec for spec in self._specs])
        return new

    def _compile(self, args: Sequence[Any]) -> Ways:
        """What calls take, compiled for these arguments if that is new; other threads wait."""
        with self._lock:
            if self._compiled is None:
                start = time.perf_counter()
                self._compiled = self._by_plan(lambda: self._made(args))
                self.account.compile_seconds += time.perf_counter() - start
                if not self.ready:
                    self._install(self._compiled)
                    if self._direct is not None:
                        self._direct.begin()
                    self.ready = True
            return self._compiled

    def _by_plan(self, make: Callable[[], Made]) -> Made:
        """What is compiled by the plan, or where XLA refuses that, as it is; outside of what is being traced.

        Raises:
            CompileError: XLA refuses the program.
        """
        try:
            try:
                return self._outside(make)
            except REFUSED:
                if not self.plan.planned:
                    raise
                self._drop_plan((*self.notes, "XLA refused the plan: compiled as it is"))
                return self._outside(make)
        except REFUSED as error:
            raise CompileError(f"compiling {self.name} failed: {error}") from None

    def _drop_plan(self, notes: tuple[str, ...]) -> None:
        from . import cpu_plan

        self.account.retries.increment()
        self._direct = None
        self.plan, self.notes = cpu_plan.plain(self.prepared, self._device, notes), notes

    def _inline(self, args: Sequence[Any]) -> Any:
        """A call of tracers, as a part of what is traced."""
        self._check(args)
        callee = StaticModule(self.prepared.program, self.prepared)
        outputs = _primitive().call(callee, self._converted(args))
        return outputs[0] if len(outputs) == 1 and not self.checks else tuple(outputs)

    def _converted(self, arrays: Sequence[Any]) -> list[Any]:
        arguments = self.signature.arguments
        return [jax.lax.convert_element_type(x, a.dtype) for x, a in zip(arrays, arguments, strict=True)]

    @staticmethod
    def _outside(run: Callable[[], Made]) -> Made:
        if trace_state() == no_transformation():
            return run()
        with jax.ensure_compile_time_eval():
            return run()

    @property
    def _specs(self) -> list[jax.ShapeDtypeStruct]:
        return [jax.ShapeDtypeStruct(argument.dims, argument.dtype) for argument in self.signature.arguments]

    @property
    def _calls_host(self) -> bool:
        return bool(self.prepared.program.host_calls)

    # ---- compiling --------------------------------------------------------------------------------------------------

    def _made(self, args: Sequence[Any]) -> Ways:
        jitted, numpy, debugged = self._jit(), self._numpy, cast(Any, jax.config)
        looked_at = debugged.jax_debug_nans or debugged.jax_debug_infs
        if numpy is not None and not self._calls_host and not looked_at and self._in_memory(self._device):
            with loading() if self._options.direct and self.plan.direct else nullcontext():
                compiled = jitted.lower(*self._specs).compile()
            if execution(compiled, proven=False) is not None:
                return self._in_numpy(compiled, numpy, args)
        else:
            compiled = jitted.lower(*args).compile()
        run = self._calling_host(jitted, compiled) if self._calls_host else jitted
        if numpy is not None:
            run = self._by_jax(run, numpy, self.plan.places)
        return Ways(run, run)

    def _jit(self) -> Any:
        plan = self.plan
        forks.refuse_forked(f"{self.name} cannot be compiled for {self.sizes}")
        if self.prepared.calls_lapack and platform_of(self._device) == "cpu":
            initialize_lapack()
        callee, call = callee_of(plan), _primitive().call
        # One output comes back alone, unless its caller takes the flags of checks off the end.
        alone = len(callee.result_types(())) == 1 and not self.checks

        def traced(*arrays: Any) -> Any:
            self._check(arrays)
            self.account.compiles.increment()
            self.compiles += 1
            outputs = call(callee, self._converted(arrays))
            return outputs[0] if alone else tuple(outputs)

        traced.__name__ = traced.__qualname__ = self.name
        # Where `jax.debug_nans` finds one, JAX does not run it again: who called it has the ops, which are gone here.
        traced._apply_primitive = True  # type: ignore[attr-defined]
        sharding = None if self._device is None else jax.sharding.SingleDeviceSharding(self._device)
        placed: dict[str, Any] = {} if sharding is None else {"in_shardings": sharding, "out_shardings": sharding}
        options = None if plan.options is None else dict(plan.options)
        return jax.jit(traced, compiler_options=options, **placed)

    def ahead(self) -> Any:
        """A `jax.stages.Compiled` of it, for callers who run it in their own way.

        Raises:
            CompileError: XLA refuses the program.
        """
        with enable_x64(True):
            return self._by_plan(lambda: self._jit().lower(*self._specs).compile())

    @staticmethod
    def _calling_host(jitted: Any, compiled: Any) -> Callable[..., Any]:
        """For a program that calls Python functions, which may come back to it.

        Its calls return when they are over, or raise what a function has raised.
        """
        inside = threading.local()

        def finished(*args: Any) -> Any:
            if getattr(inside, "now", False):  # JAX refuses a `jax.jit` whose first call comes back to it
                return compiled(*args)
            inside.now = True
            try:
                return jax.block_until_ready(jitted(*args))
            finally:
                inside.now = False

        return host.raising(finished)

    # ---- NumPy arrays -----------------------------------------------------------------------------------------------

    def _in_numpy(self, compiled: Any, numpy: Numpy, args: Sequence[Any]) -> Ways:
        given, results, ways = self._numpy_ways(compiled, numpy, self.plan.places)
        if not self.plan.direct:
            return ways()
        size = len(self.plan.prepared.bytecode("cpu"))
        self._direct = way = DirectWay(self.name, compiled, given, results, ways, self._options, size, self._install)
        if self._options.direct:  # insisted on
            way.insist(args)
            self._needs_threads = way.refused
        return way.ways

    def _in_memory(self, device: Any) -> bool:
        """Whether NumPy and XLA have the elements of arguments and results in the same form in the same memory."""
        dtypes = [value.dtype for values in (self.signature.arguments, self.signature.results) for value in values]
        return platform_of(device) == "cpu" and not any(map(is_packed, dtypes))

    def _numpy_ways(
        self, compiled: Any, numpy: Numpy, packed: Sequence[PackedResult] | None
    ) -> tuple[list[Place], list[Place], Callable[..., Ways]]:
        """What makes the functions that take calls.

        Args:
            compiled: what they run.
            numpy: which arrays are NumPy's.
            packed: where the results are in what it returns; None where each is an array of its own.

        Returns:
            The places of arguments and results, and what makes functions of a `DirectCall` and a `Due`, or without.
        """
        arguments = self.signature.arguments
        outputs = jax.tree.leaves(compiled.out_info)
        found = alone(outputs)
        if packed is not None:
            found = [Place(p.shape, outputs[p.output].dtype, p.output, p.start) for p in packed]
        results = [replace(place, numpy=i not in numpy.results) for i, place in enumerate(found)]
        # A live size is an array on the device already.
        given = [
            replace(place, numpy=not a.size and i not in numpy.arguments)
            for i, (place, a) in enumerate(zip(alone(jax.tree.leaves(compiled.args_info)), arguments, strict=True))
        ]
        single, flags = len(results) == 1 and not self.checks, bool(self.checks)
        device = self._device if self._device is not None else default_device()

        def ways(direct: DirectCall | None = None, due: Due | None = None) -> Ways:
            """What takes calls, directly or by PJRT."""

            def convert(*args: Any) -> Any:
                """Arguments of other types: JAX arrays, Python's numbers."""
                self._check(args)
                arrays: list[Any] = []
                for x, place in zip(args, given, strict=True):
                    if place.numpy:
                        arrays.append(np.asarray(x, place.dtype))
                    elif isinstance(x, jax.Array) and x.devices() == {device}:
                        arrays.append(x)
                    else:
                        arrays.append(jax.device_put(np.asarray(x, place.dtype), device))
                return unchecked(*arrays)

            written = partial(numpy_call, compiled, given, results, device)
            written = partial(written, single=single, flags=flags, direct_call=direct, due=due)
            unchecked = written(otherwise=None)
            return Ways(convert if numpy.arguments else written(otherwise=convert), unchecked)

        return given, results, ways

    def _install(self, ways: Ways) -> None:
        self.call, self.call_unchecked = ways
        if self.ready:  # nobody knows it before
            self.account.changed()

    def _by_jax(self, jitted: Any, numpy: Numpy, packed: Sequence[PackedResult] | None) -> Callable[..., Any]:
        """The same by JAX's own conversions: on other devices, for elements smaller than a byte, where JAX is to look
        at every result or calls Python.
        """
        flag, in_x64, wide = x64_flag(), x64_caller(), x64_flag().value

        def by_jax(*args: Any) -> Any:
            returned = in_x64(jitted, args) if wide and not flag.value else jitted(*args)
            found = unpacked(packed, jax.tree.leaves(returned))
            results = [x if number in numpy.results else np.array(x) for number, x in enumerate(found)]
            return results[0] if len(results) == 1 and not self.checks else tuple(results)

        return by_jax


def _primitive() -> Any:
    """What puts a program into JAX's; it imports parts of JAX that executables which are there already need not."""
    with deferred():
        from ..transforms import primitive
    return primitive


# ---- in forked processes ---------------------------------------------------------------------------------------------

SECONDS = 20.0  # for a first call there, which has no compile to wait for


def within(seconds: float, work: Callable[[], Made]) -> Made:
    """What `work` returns or raises, made in another thread.

    XLA splits some programs (sorts, large factorizations) among threads, which are not in a process that was forked; no
    one knows which before they run.

    Raises:
        DeviceError: it does not come back.
    """
    from concurrent.futures import Future, wait

    done: Future[Made] = Future()
    wide = x64_flag().value

    def attempt() -> None:
        try:
            with enable_x64(wide):
                done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=attempt, daemon=True).start()
    if wait([done], seconds).not_done:
        raise DeviceError(
            f"a call did not come back within {seconds:g} s: XLA's threads are not in a process that was forked after "
            'the first function was compiled; use multiprocessing\'s "forkserver" or "spawn", which is '
            'pm.sample(..., mp_ctx="forkserver") in PyMC, or one process (cores=1)'
        )
    return done.result()


def once_within(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call of which the first one has a time limit; where that was over, those after it fail at once."""
    outcome: bool | DeviceError = False  # whether one has come through

    def guarded(*args: Any) -> Any:
        nonlocal outcome
        if outcome is True:
            return call(*args)
        if outcome:
            raise DeviceError(*outcome.args)
        try:
            found = within(SECONDS, lambda: call(*args))
        except DeviceError as error:
            outcome = error
            raise
        outcome = True
        return found

    return guarded
