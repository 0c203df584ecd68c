"""`Executable`: a recipe's module, compiled, and what runs its calls.

In: a prepared program, what its plan may use, and what the arguments must be. Out: a `Way`, from a call's arguments to
the results, as JAX or as NumPy arrays. The first call compiles, and other threads wait for it; a plan that XLA refuses
then is dropped, once, for a compile of the module as it is (`compiling.py` has the steps).

    compiles ── PJRT ── directly, with NumPy arrays, and back to PJRT (`direct_way.py`)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

from ...codegen import forks
from ...codegen.analysis.costs import work
from ...codegen.errors import CompileError, DeviceError, PassError
from ...codegen.ir.bindings import ir
from ...codegen.ir.jax_compat import enable_x64, execution, x64_flag
from ...codegen.signature import CheckSpec, Signature
from ..calls.from_numpy import NumpyCalls, Way
from ..direct.object_code import loading
from ..options import CpuOptions, Numpy
from .compiling import Check, Made, by_jax, calling_host, inline, jitted, lies_in_memory, numpy_calls, outside
from .devices import is_synchronous
from .direct_way import DirectWay
from .policy import Plan
from .prepared import PreparedProgram
from .stats import Counter, ExecutableStats

if TYPE_CHECKING:
    from .cpu_plan import CpuPlan

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
        way: what runs its calls; `use` puts another in its place.
        used: number of the last call that ran it; the least recently used one is dropped first.
        compiles: number of compilations.
        calls, live: number of calls by adapters, and the sum of their parts that were not padding.
        counting: held while these change.
        rooms: memory for padded arguments, by their numbers (`padding.Room`).
    """

    prepared: PreparedProgram
    signature: Signature
    name: str
    plan: CpuPlan
    notes: tuple[str, ...] = ()
    donated: Sequence[int] = ()
    serialized = b""  # by PJRT when it was compiled, of one that was loaded and has not been called

    def __init__(self, sizes: Plan, account: Account, options: CpuOptions, device: Any, numpy: Numpy | None) -> None:
        self.sizes = sizes
        self.account = account
        self.checks: tuple[CheckSpec, ...] = ()
        self.used = self.compiles = self.calls = 0
        self.live = 0.0
        self.rooms: dict[int, Any] = {}
        self.counting = forks.lock()
        self._options = options
        self._device = device
        self._numpy = numpy
        self._lock = forks.lock()
        self._prepared = False
        self._check: Check
        self._compiled: Way | None = None
        self._direct: DirectWay | None = None
        self._needs_threads = True
        self.way = Way(self.compile_and_call, self.compile_and_call, ready=False)

    def use(self, way: Way) -> None:
        """Calls are run by this from now on."""
        known, self.way = self.way.ready, way
        if known:  # else nobody knows of another
            self.account.changed()

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
            numpy = self._numpy is not None and lies_in_memory(self.signature, self._device)
            try:
                self.plan = cpu_plan.plan(prepared, self._options, self._device, numpy=numpy, alone=alone)
                self.notes = self.plan.notes
            except PassError as error:
                self._drop_plan((f"a pass failed, compiled as it is: {error}",))
            self._prepared = True
            self.account.compile_seconds += time.perf_counter() - start

    def after_fork(self) -> bool:
        """Whether it runs in this process, which was forked; the first call says so within a time limit."""
        if not self.way.ready or not is_synchronous(self._device):
            return False
        self.use(Way(once_within(self.way.run), once_within(self.way.trusting)))
        return True

    def stats(self, policy: str) -> ExecutableStats:
        """What is to be said about it."""
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
            return inline(self.prepared, self._check, args)
        run = self._compile(args).run
        return outside(lambda: run(*args))

    def compile(self) -> bool:
        """Compiles without a call, so that no later call of arrays of the program's types does.

        Returns:
            Whether it was new.

        Raises:
            CompileError: XLA refuses the program.
        """
        new = not self.way.ready
        if new:
            insists = self._numpy is not None and self._options.direct and not self.prepared.program.host_calls
            self._compile(self._zeros if insists else self._specs)
        return new

    def _compile(self, args: Sequence[Any]) -> Way:
        """What calls take, compiled for these arguments if that is new; other threads wait."""
        with self._lock:
            if self._compiled is None:
                start = time.perf_counter()
                self._compiled = self._by_plan(lambda: self._made(args))
                self.account.compile_seconds += time.perf_counter() - start
                if not self.way.ready:
                    self._begin(self._compiled)
            return self._compiled

    def _begin(self, way: Way) -> None:
        self.use(way) if self._direct is None else self._direct.begin()

    def _by_plan(self, make: Callable[[], Made]) -> Made:
        """What is compiled by the plan, or where XLA refuses that, as it is; outside of what is being traced.

        Raises:
            CompileError: XLA refuses the program.
        """
        try:
            try:
                return outside(make)
            except REFUSED:
                if not self.plan.planned:
                    raise
                self._drop_plan((*self.notes, "XLA refused the plan: compiled as it is"))
                return outside(make)
        except REFUSED as error:
            raise CompileError(f"compiling {self.name} failed: {error}") from None

    def _drop_plan(self, notes: tuple[str, ...]) -> None:
        from . import cpu_plan

        self.account.retries.increment()
        self._direct = None
        self.plan, self.notes = cpu_plan.plain(self.prepared, self._device, notes), notes

    @cached_property
    def endless(self) -> bool:
        """Whether a loop could go on forever with other arguments than the user's."""
        from . import cpu_plan

        return self.prepared.program.find(cpu_plan.may_run_forever)

    @cached_property
    def work(self) -> int:
        """What a call computes, see `codegen.analysis.costs.work`."""
        return self.prepared.program.find(work)

    @property
    def _specs(self) -> list[jax.ShapeDtypeStruct]:
        return [jax.ShapeDtypeStruct(argument.dims, argument.dtype) for argument in self.signature.arguments]

    @property
    def _zeros(self) -> list[np.ndarray]:
        return [np.zeros(spec.shape, spec.dtype) for spec in self._specs]

    def _jit(self) -> Any:
        def traced() -> None:
            self.account.compiles.increment()
            self.compiles += 1

        forks.refuse_forked(f"{self.name} cannot be compiled for {self.sizes}")
        return jitted(self.plan, self._check, self._device, traced, self.donated)

    def ahead(self) -> Any:
        """A `jax.stages.Compiled` of it, for callers who run it in their own way.

        Raises:
            CompileError: XLA refuses the program.
        """
        with enable_x64(True):
            compiled = self._by_plan(lambda: self._jit().lower(*self._specs).compile())
        self._keep(compiled)
        return compiled

    def _keep(self, compiled: Any) -> None:
        """Has what was compiled kept, before it has run, where something is to be kept."""

    def _made(self, args: Sequence[Any]) -> Way:
        run, numpy, debugged = self._jit(), self._numpy, cast(Any, jax.config)
        host_calls = self.prepared.program.host_calls
        by_jax_alone = debugged.jax_debug_nans or debugged.jax_debug_infs or host_calls
        if numpy is not None and not by_jax_alone and lies_in_memory(self.signature, self._device):
            with loading() if self._options.direct and self.plan.direct else nullcontext():
                compiled = run.lower(*self._specs).compile()
            if execution(compiled, proven=False) is not None:
                self._keep(compiled)
                found = numpy_calls(compiled, self.signature, numpy, self.plan.places, self._device, self._check)
                return self._in_numpy(found, args, len(self.plan.prepared.bytecode("cpu")), self.plan.direct)
        else:
            compiled = run.lower(*args).compile()
        run = calling_host(run, compiled) if host_calls else run
        if numpy is not None:
            run = by_jax(run, self.signature, numpy, self.plan.places)
        return Way(run, run)

    def _in_numpy(self, found: NumpyCalls, args: Sequence[Any], size: int, may_be_direct: bool) -> Way:
        if not may_be_direct:
            return found.way()
        self._direct = direct = DirectWay(self.name, found, self._options, size, self.use, self.serialized)
        if self._options.direct:  # insisted on
            direct.insist(args)
            self._needs_threads = direct.refused
        return direct.way


# ---- in processes that were forked, where XLA's threads are missing --------------------------------------------------

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
    has_come, failed = False, ""

    def guarded(*args: Any) -> Any:
        nonlocal has_come, failed
        if has_come:
            return call(*args)
        if failed:
            raise DeviceError(failed)
        try:
            found = within(SECONDS, lambda: call(*args))
        except DeviceError as error:
            failed = str(error)
            raise
        has_come = True
        return found

    return guarded
