"""The steps from a plan to what runs an executable's calls.

In: a `CpuPlan`, and what the arguments must be. Out: a `jax.jit` of one primitive, which puts the module in; calls of
what it compiles, with JAX's or with NumPy arrays.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import numpy as np

from ...codegen.dtypes import is_packed
from ...codegen.interrupts import deferred
from ...codegen.ir.jax_compat import initialize_lapack, no_transformation, trace_state, x64_caller, x64_flag
from ...codegen.passes.pack_results import PackedResult
from ...codegen.signature import Signature
from .. import host
from ..calls.arguments import converted, is_misread, shapes_of
from ..calls.from_numpy import NumpyCalls, Place, alone
from ..options import Numpy
from ..transforms.callee import StaticModule
from .devices import default_device, platform_of
from .prepared import PreparedProgram

if TYPE_CHECKING:
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


def outside(run: Callable[[], Made]) -> Made:
    """Runs outside of what is being traced: JAX takes no compile options there."""
    if trace_state() == no_transformation():
        return run()
    with jax.ensure_compile_time_eval():
        return run()


def is_single(signature: Signature) -> bool:
    """Whether one result comes back alone: unless its caller takes the flags of checks off the end."""
    return len(signature.results) == 1 and not signature.checks


def jitted(plan: CpuPlan, check: Check, device: Any, traced: Callable[[], None], donated: Sequence[int] = ()) -> Any:
    """A `jax.jit` of a plan; `traced` is called when JAX traces it. Results may take the memory of what is donated."""
    program, callee, call = plan.prepared.program, callee_of(plan), _primitive().call
    arguments = program.signature.arguments
    if plan.prepared.calls_lapack and platform_of(device) == "cpu":
        initialize_lapack()
    single = len(callee.result_types(())) == 1 and not program.signature.checks

    def function(*arrays: Any) -> Any:
        check(arrays)
        traced()
        outputs = call(callee, converted(arguments, arrays))
        return outputs[0] if single else tuple(outputs)

    function.__name__ = function.__qualname__ = program.name
    # Where `jax.debug_nans` finds one, JAX does not run it again: who called it has the ops, which are gone here.
    function._apply_primitive = True  # type: ignore[attr-defined]
    sharding = None if device is None else jax.sharding.SingleDeviceSharding(device)
    placed: dict[str, Any] = {} if sharding is None else {"in_shardings": sharding, "out_shardings": sharding}
    options = None if plan.options is None else dict(plan.options)
    return jax.jit(function, compiler_options=options, donate_argnums=donated, **placed)


def inline(prepared: PreparedProgram, check: Check, args: Sequence[Any]) -> Any:
    """A call of tracers, as a part of what is traced."""
    check(args)
    signature = prepared.program.signature
    outputs = _primitive().call(StaticModule(prepared.program, prepared), converted(signature.arguments, args))
    return outputs[0] if is_single(signature) else tuple(outputs)


def _primitive() -> Any:
    with deferred():
        from ..transforms import primitive
    return primitive


def calling_host(run: Any, compiled: Any) -> Callable[..., Any]:
    """Calls of a program that calls Python functions, which may come back to it.

    They return when they are over, or raise what a function has raised.
    """
    inside = threading.local()

    def finished(*args: Any) -> Any:
        if getattr(inside, "now", False):  # JAX refuses a `jax.jit` whose first call comes back to it
            return compiled(*args)
        inside.now = True
        try:
            return jax.block_until_ready(run(*args))
        finally:
            inside.now = False

    return host.raising(finished)


# ---- NumPy arrays ----------------------------------------------------------------------------------------------------


def lies_in_memory(signature: Signature, device: Any) -> bool:
    """Whether NumPy and XLA have the elements of arguments and results in the same form in the same memory."""
    dtypes = [value.dtype for values in (signature.arguments, signature.results) for value in values]
    return platform_of(device) == "cpu" and not any(map(is_packed, dtypes))


def numpy_calls(
    compiled: Any,
    signature: Signature,
    numpy: Numpy,
    packed: Sequence[PackedResult] | None,
    device: Any,
    check: Check,
) -> NumpyCalls:
    """What writes the functions that take calls.

    Args:
        compiled: what they run.
        signature: the program's.
        numpy: which arrays are NumPy's.
        packed: where the results are in what it returns; None where each is an array of its own.
        device: None for JAX's default.
        check: raises what is wrong with arguments.
    """
    outputs = jax.tree.leaves(compiled.out_info)
    found = alone(outputs)
    if packed is not None:
        found = [Place(p.shape, outputs[p.output].dtype, p.output, p.start) for p in packed]
    results = [replace(place, numpy=i not in numpy.results) for i, place in enumerate(found)]
    given = [
        replace(x, numpy=i not in numpy.arguments, constant=i in numpy.constant)
        for i, x in enumerate(alone(jax.tree.leaves(compiled.args_info)))
    ]
    where, flags = default_device() if device is None else device, bool(signature.checks)
    return NumpyCalls(compiled, given, results, where, is_single(signature), flags, check, bool(numpy.arguments))


def by_jax(run: Any, signature: Signature, numpy: Numpy, packed: Sequence[PackedResult] | None) -> Callable[..., Any]:
    """The same by JAX's own conversions: on other devices, for elements smaller than a byte, where JAX is to look at
    every result or calls Python.
    """
    flag, in_x64, wide = x64_flag(), x64_caller(), x64_flag().value

    def converting(*args: Any) -> Any:
        if any(map(is_misread, args)):
            shapes_of(signature.arguments, args)  # which says what is wrong
        returned = in_x64(run, args) if wide and not flag.value else run(*args)
        found = unpacked(packed, jax.tree.leaves(returned))
        results = [x if number in numpy.results else np.array(x) for number, x in enumerate(found)]
        return results[0] if is_single(signature) else tuple(results)

    return converting
