"""An executable of a function: a module, its plan, and `jax.jit` of it.

In: a static module, what the plan may use, and what the arguments must be. Out: a callable from a call's arguments to
the results, as JAX or as NumPy arrays. The first call compiles; a plan that XLA refuses then is dropped, once, for a
compile of the module as it is. A plan that may be slower than that is tried, see `trial`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np

from ...codegen.errors import DeviceError, PassError
from ...codegen.ir.jax_compat import enable_x64, initialize_lapack, no_transformation, trace_state, x64_flag
from ..calls.from_numpy import Place, alone, numpy_call
from ..direct.call import DirectCall
from ..direct.executable import DirectCallRefused
from ..transforms.callee import Callee, Module, Shape, StaticModule
from ..transforms.primitive import call
from . import cpu_plan
from .cpu_plan import CpuOptions, CpuPlan
from .devices import compile_options, default_device, platform_of
from .sync_client import is_synchronous, was_forked
from .trial import Trial, Ways


class PlannedCall(Callee):
    """What a plan makes of a static program, as a callee: its results may be packed."""

    def __init__(self, plan: CpuPlan, name: str) -> None:
        assert plan.outputs is not None
        self.name = name
        self.result_count = len(plan.outputs)
        self._plan = plan

    def result_types(self, shapes: Sequence[Shape]) -> list[tuple[Shape, Any]]:
        """The plan's."""
        return list(self._plan.outputs or ())

    def module(self, shapes: Sequence[Shape]) -> Module:
        """The plan's."""
        return self._plan.module

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Numpy:
    """NumPy arrays in and out, but for what stays on the device as JAX arrays.

    Attributes:
        arguments: numbers of arguments that are JAX arrays.
        results: numbers of such results.
    """

    arguments: frozenset[int] = frozenset()
    results: frozenset[int] = frozenset()


class Runner:
    """Runs one module.

    Args:
        module: a static one.
        check: called with arrays, or what JAX traces with, before they are used; raises what is wrong with them.
        counted: called when the module is compiled.
        retried: called when a plan is dropped.
        tried: called when it is decided by a trial what runs calls from then on; `run` and the others are that then.
        options: what the plan may use.
        device: where to run, None for JAX's default device.
        numpy: for NumPy arrays; None for JAX's.

    Attributes:
        plan: the one in use.
        run: what serves every call after the first one.
        trusting: the same for a caller that knows its arguments to be arrays of the right types, where they are to be.
        jitted: the `jax.jit` that every call after the first one is a call of; None where there is more to calls.
        compiled: of `jitted`, what is run in its place.
    """

    def __init__(
        self,
        module: Module,
        check: Callable[[Sequence[Any]], None],
        counted: Callable[[], None],
        retried: Callable[[], object],
        tried: Callable[[Runner], object],
        options: CpuOptions,
        device: Any,
        numpy: Numpy | None,
    ) -> None:
        self._module = module
        self._check = check
        self._counted = counted
        self._retried = retried
        self._tried = tried
        self._options = options
        self._device = device
        self._numpy = numpy
        self._arguments = module.program.signature.arguments
        alone = frozenset() if numpy is None else numpy.results
        try:
            self.plan = cpu_plan.plan(module, options, device, numpy=numpy is not None, alone=alone)
        except PassError as error:
            self._drop_plan((f"a pass failed, compiled as it is: {error}",))
        self.run: Callable[..., Any] = self.first
        self.trusting: Callable[..., Any] = self.first
        self.jitted: Any = None
        self.compiled: list[Any] = []
        self._call: Callable[..., Any] | None = None
        self._plain: Runner | None = None  # of the same module, while the plan is tried

    def first(self, *args: Any) -> Any:
        """The first call, which compiles; any call may take this way.

        Calls with arrays must where something else is being traced: JAX takes no compile options there, so they run
        outside of that.

        Raises:
            jax.errors.JaxRuntimeError: XLA refuses the module, with a plan and without.
        """
        if any(isinstance(x, jax.core.Tracer) for x in args):
            return self._inline(args)
        start = time.perf_counter()
        try:
            outputs = self._try(args)
        except jax.errors.JaxRuntimeError:
            if not self.plan.planned:
                raise
            self._drop_plan((*self.plan.notes, "XLA refused the plan: compiled as it is"))
            self._call = None
            outputs = self._try(args)
        assert self._call is not None
        if self.run == self.first:
            self.run = self._call
            if self.plan.unsure and self._options.trial:
                self._start_trial(time.perf_counter() - start)
        return outputs

    def _start_trial(self, compile_seconds: float) -> None:
        """From now on a trial takes the calls. No call goes past it, as those of `jitted` might."""
        ways, jitted, x64 = Ways(self.run, self.trusting), self.jitted, x64_flag().value
        notes = self.plan.notes
        self.plan = replace(self.plan, notes=(*notes, "to be tried beside a plain compile"))
        plain = replace(self._options, forms=False, math=False, regions=False, trial=False)

        def compile_plain(args: Sequence[Any]) -> tuple[Any, Ways]:
            runner = self._plain = Runner(
                self._module, self._check, self._counted, self._retried, self._tried, plain, self._device, self._numpy
            )
            with enable_x64(x64):
                outputs = runner.run(*args)
            return outputs, Ways(runner.run, runner.trusting)

        def settled(take_plain: bool, note: str) -> None:
            other, self._plain = self._plain, None
            if take_plain:
                assert other is not None
                self.plan, self._call = other.plan, other._call
                self.run, self.trusting, self.jitted, self.compiled = other.run, other.trusting, other.jitted, []
            else:
                (self.run, self.trusting), self.jitted = ways, jitted
            self.plan = replace(self.plan, notes=(*notes, note))
            self._tried(self)

        wait = None if self._numpy is not None else jax.block_until_ready
        trial = Trial(ways, compile_plain, compile_seconds, settled, wait)
        (self.run, self.trusting), self.jitted = trial.ways, None

    def _drop_plan(self, notes: tuple[str, ...]) -> None:
        self._retried()
        self.plan = CpuPlan(self._module, compile_options(self._module.program, self._device), notes=notes)

    def _inline(self, args: Sequence[Any]) -> Any:
        """A call of tracers, as a part of what is traced."""
        self._check(args)
        callee = StaticModule(self._module.program, self._module)
        outputs = call(callee, self._converted(args))
        return outputs[0] if len(outputs) == 1 and not self._module.checks else tuple(outputs)

    def _converted(self, arrays: Sequence[Any]) -> list[Any]:
        return [jax.lax.convert_element_type(x, a.dtype) for x, a in zip(arrays, self._arguments, strict=True)]

    def _try(self, args: Sequence[Any]) -> Any:
        if trace_state() != no_transformation():
            with jax.ensure_compile_time_eval():
                return self._compiled_call(args)(*args)
        return self._compiled_call(args)(*args)

    def _compiled_call(self, args: Sequence[Any]) -> Callable[..., Any]:
        if self._call is None:
            if is_synchronous(self._device) and was_forked():
                raise DeviceError(
                    f"{self._module.program.name} must be compiled for arguments like these, and XLA's compiler has no "
                    "threads in a process that was forked; call it once before the fork, or use multiprocessing's "
                    '"forkserver" or "spawn" (pm.sample(..., mp_ctx="forkserver") in PyMC)'
                )
            self._call = self._make(args)
        return self._call

    def _make(self, args: Sequence[Any]) -> Callable[..., Any]:
        plan = self.plan
        name = self._module.program.name
        if self._module.calls_lapack and platform_of(self._device) == "cpu":
            initialize_lapack()
        callee = StaticModule(plan.module.program, plan.module) if plan.outputs is None else PlannedCall(plan, name)
        # One output comes back alone, unless its caller takes the flags of checks off the end.
        alone = len(callee.result_types(())) == 1 and not plan.module.checks

        def traced(*arrays: Any) -> Any:
            self._check(arrays)
            self._counted()
            outputs = call(callee, self._converted(arrays))
            return outputs[0] if alone else tuple(outputs)

        traced.__name__ = traced.__qualname__ = name
        sharding = None if self._device is None else jax.sharding.SingleDeviceSharding(self._device)
        placed: dict[str, Any] = {} if sharding is None else {"in_shardings": sharding, "out_shardings": sharding}
        options = None if plan.options is None else dict(plan.options)
        jitted = jax.jit(traced, compiler_options=options, keep_unused=plan.direct, **placed)
        if self._numpy is not None:
            return self._in_numpy(jitted, self._numpy, args)
        self.trusting = jitted
        if is_synchronous(self._device):
            return _in_jax(jitted)
        self.jitted = jitted
        return jitted

    def _in_numpy(self, jitted: Any, numpy: Numpy, args: Sequence[Any]) -> Callable[..., Any]:
        """From NumPy arrays to NumPy arrays; these are the arguments of the first call."""
        debugged: Any = jax.config
        if platform_of(self._device) != "cpu" or debugged.jax_debug_nans or debugged.jax_debug_infs:
            return self._by_jax(jitted, numpy)
        specs = [jax.ShapeDtypeStruct(argument.dims, argument.dtype) for argument in self._arguments]
        compiled = jitted.lower(*specs).compile()
        outputs = jax.tree.leaves(compiled.out_info)
        results = alone(outputs) if self.plan.places is None else self._places(outputs)
        results = [replace(place, numpy=number not in numpy.results) for number, place in enumerate(results)]
        # A live size is an array on the device already.
        given = [
            replace(place, numpy=not a.size and number not in numpy.arguments)
            for number, (place, a) in enumerate(zip(alone(specs), self._arguments, strict=True))
        ]
        single = len(results) == 1 and not self.plan.module.checks
        device = self._device if self._device is not None else default_device()

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
            return trusting(*arrays)

        direct = self._direct_call(compiled, given, results, args)
        written = partial(numpy_call, compiled, given, results, device, single=single, direct_call=direct)
        trusting = self.trusting = written(otherwise=None)
        return convert if numpy.arguments else written(otherwise=convert)

    def _direct_call(
        self, compiled: Any, given: Sequence[Place], results: Sequence[Place], args: Sequence[Any]
    ) -> DirectCall | None:
        """The kernels without PJRT, if the plan has that and they compute the same bits."""
        if not self.plan.direct or not all(place.numpy for place in (*given, *results)):
            return None
        arrays = [np.asarray(x, a.dtype) for x, a in zip(args, self._arguments, strict=True)]
        try:
            found = DirectCall.of(compiled, arrays)
        except DirectCallRefused as error:
            self.plan = replace(self.plan, notes=(*self.plan.notes, f"no direct call: {error}"))
            return None
        self.plan = replace(self.plan, notes=(*self.plan.notes, "direct call of the kernels"))
        return found

    def _places(self, outputs: Sequence[Any]) -> list[Place]:
        """Where the results are in what the executable returns."""
        return [Place(p.shape, outputs[p.output].dtype, p.output, p.start) for p in self.plan.places or ()]

    def _by_jax(self, jitted: Any, numpy: Numpy) -> Callable[..., Any]:
        """The same by JAX's own conversions: on other devices, and where JAX is to look at every result."""

        def call(*args: Any) -> Any:
            outputs = jitted(*args)
            if not isinstance(outputs, tuple):
                outputs = (outputs,)
            results = []
            for number, place in enumerate(alone(outputs) if self.plan.places is None else self._places(outputs)):
                output = outputs[place.array]
                if number not in numpy.results:
                    output = np.array(output)
                if place.start is not None:
                    output = output[place.start : place.start + math.prod(place.dims)].reshape(place.dims)
                results.append(output)
            return results[0] if len(results) == 1 and not self.plan.module.checks else tuple(results)

        self.trusting = call
        return call


def _in_jax(run: Callable[..., Any]) -> Callable[..., Any]:
    """The same with results on JAX's own client, which share the memory of those on ours."""

    def call(*args: Any) -> Any:
        outputs = run(*args)
        (device, *_) = jax.devices("cpu")
        if isinstance(outputs, tuple):
            return tuple([jax.device_put(np.asarray(output), device) for output in outputs])
        return jax.device_put(np.asarray(outputs), device)

    return call
