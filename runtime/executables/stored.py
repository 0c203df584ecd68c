"""Executables that were compiled before and kept in a file, see `runtime/bundles/` and `stored_cache.py`.

In: a description of each, and what reads its bytes. Out: `StoredExecutable`, which serves calls by what was loaded, and
compiles as any other one where that does not fit. Decision to know: what is loaded is machine code. It is loaded only
on the kind of machine, and with the releases, that made it (`Machine`), and whoever opened the file has vouched for it.
Loading refuses rather than fails: XLA may refuse its own code on some processors.
"""

from __future__ import annotations

import logging
import os
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import jax

from ...codegen import forks
from ...codegen.ir import jax_compat
from ...codegen.passes.pack_results import PackedResult
from ...codegen.signature import Signature
from ..calls.arguments import converted
from ..calls.from_numpy import Way
from .compiling import Check, by_jax, is_single, lies_in_memory, numpy_calls, outside, unpacked
from .devices import default_device, is_synchronous, platform_of
from .executable import Executable
from .policy import Plan, PlanKey
from .prepared import PreparedProgram


@dataclass(frozen=True)
class Machine:
    """Where an executable runs: all of it must be the same where it is loaded.

    Attributes:
        platform: JAX's name of it.
        kind: of the device.
        runtime: the platform's version, as its client has it.
        processor: see `jax_compat.processor`.
        flags: XLA's, of the environment.
        jaxlib, hlograph: releases.
    """

    platform: str
    kind: str
    runtime: str
    processor: str
    flags: str
    jaxlib: str
    hlograph: str

    @staticmethod
    def of(device: Any) -> Machine:
        """That of a device."""
        return Machine(
            platform_of(device),
            str(device.device_kind),
            str(device.client.platform_version),
            jax_compat.processor(device),
            os.environ.get("XLA_FLAGS", ""),
            version("jaxlib"),
            version("hlograph"),
        )

    def difference(self, other: Machine) -> str:
        """What does not fit another machine; "" where all does."""
        names = {"platform": "the platform", "kind": "the device", "runtime": "the runtime", "flags": "XLA_FLAGS"}
        for name in ("platform", "hlograph", "jaxlib", "kind", "runtime", "flags"):
            mine, others = getattr(self, name), getattr(other, name)
            if mine != others:
                return f"it is for {names.get(name, name)} {mine!r}, and here is {others!r}"
        return "" if self.processor == other.processor else "it is for another processor"


@dataclass(frozen=True)
class Kept:
    """What a part of a file holds of an executable, as a pickle: it is as trusted as the machine code in it.

    Attributes:
        name, signature: of the static program that was compiled.
        places: where the results are in what it returns; None where each is one.
        direct: whether it may be called without PJRT.
        lapack, blas: whether it may call LAPACK, and functions of ours.
        notes: a line on each decision.
        data: what `jax.experimental.serialize_executable.serialize` gives.
        endless, work: as of `Executable`; the latter of one for bounds.
    """

    name: str
    signature: Signature
    places: tuple[PackedResult, ...] | None
    direct: bool
    lapack: bool
    blas: bool
    notes: tuple[str, ...]
    data: tuple[bytes, Any, Any]
    endless: bool
    work: int

    @staticmethod
    def of(executable: Executable, compiled: Any, platform: str) -> Kept:
        """What is kept of an executable, which has not run yet.

        Raises:
            jax.errors.JaxRuntimeError, ValueError, NotImplementedError: XLA or JAX does not serialize it.
        """
        from jax.experimental import serialize_executable

        from ...codegen.passes.cpu_blas import TARGETS

        if isinstance(executable, StoredExecutable) and executable.found is not None:
            return executable.found[0]
        plan = executable.plan
        code = plan.prepared.bytecode(platform)
        return Kept(
            executable.name,
            executable.signature,
            None if plan.places is None else tuple(plan.places),
            plan.direct,
            executable.prepared.calls_lapack and platform == "cpu",
            any(target.encode() in code for target in TARGETS.values()),
            executable.notes,
            serialize_executable.serialize(compiled),
            executable.endless,
            executable.work if executable.sizes.bounds else 0,
        )


@dataclass
class Stored:
    """One executable in a file.

    Attributes:
        sizes: what it is for.
        machine: where it runs.
        synchronous: whether it is for the synchronous client.
        numpy: whether it is for calls with NumPy arrays.
        compile_seconds: what it took to make it.
        read: gives the pickle of its `Kept`, which is empty where a cache has none; raises `ArtifactError` where the
            bytes are damaged.
        refusal: why it is not loaded here; "" while nothing is known.
        state: a line on what became of it.
        keep: of a cache, takes what was compiled in its place.
    """

    sizes: Plan
    machine: Machine
    synchronous: bool
    numpy: bool
    compile_seconds: float
    read: Callable[[], bytes]
    refusal: str = ""
    state: str = field(default="not called yet")
    keep: Callable[[Kept], object] | None = None

    def load(self, device: Any) -> tuple[Kept, Any] | str:
        """It on a device, as a `jax.stages.Compiled`; or why not."""
        reason = self.refusal or self._misfit(device)
        if not reason:
            from jax.experimental import serialize_executable

            try:
                if not (data := self.read()):
                    return _ABSENT
                kept: Kept = pickle.loads(data)
                if kept.lapack:
                    jax_compat.initialize_lapack()
                if kept.blas:
                    from ..direct.native_code import register_blas

                    register_blas()
                where: Any = {"backend": device.client, "execution_devices": [device]}
                return kept, serialize_executable.deserialize_and_load(*kept.data, **where)
            except jax.errors.JaxRuntimeError as error:
                reason = f"XLA refuses it: {_first_line(error)}"
            except Exception as error:  # whatever its bytes say
                reason = f"it cannot be read: {_first_line(error)}"
        self.refusal = reason
        return reason

    def _misfit(self, device: Any) -> str:
        config: Any = jax.config
        if config.jax_debug_nans or config.jax_debug_infs:
            return "JAX looks for NaN in every result"
        if is_synchronous(device) != self.synchronous:
            return "it is for another client"
        if forks.was_forked():
            return "this process was forked"
        return self.machine.difference(Machine.of(device))


_ABSENT = "it is not there yet"
Shelf = Mapping[PlanKey, Stored]  # the executables of one function that were kept, by the keys of their plans


class StoredExecutable(Executable):
    """One that is loaded in place of compiled, where it fits.

    Args:
        stored: what is loaded.
        others: as those of `Executable`.

    Attributes:
        is_loaded: whether calls run what was loaded.
        found: what was loaded, and how JAX has it, until calls are run.
    """

    found: tuple[Kept, Any] | None = None

    def __init__(self, stored: Stored, *others: Any) -> None:
        super().__init__(*others)
        self._stored, self.is_loaded = stored, False
        self._make: tuple[Callable[[], PreparedProgram], Callable[[Signature], Check]]

    @property
    def _told(self) -> tuple[str, ...]:
        refusal, place = self._stored.refusal, "cache" if self._stored.keep else "bundle"
        line = f"not out of the {place}: {refusal}" if refusal else f"out of the {place}"
        return (line, *super()._told) if refusal or self.is_loaded else super()._told

    def prepare(self, make: Callable[[], PreparedProgram], check: Callable[[Signature], Check]) -> None:
        """Loads, where nothing has been prepared yet; compiles later where that is refused."""
        with self._lock:
            self._make = make, check
            if not self.is_loaded and not self._prepared:
                self._load(check)
        if not self.is_loaded:
            super().prepare(make, check)

    def compile_and_call(self, *args: Any) -> Any:
        """A call that the loaded executable cannot take: of tracers, or with arrays on other devices."""
        super().prepare(*self._make)
        return super().compile_and_call(*args)

    def compile(self) -> bool:
        """Whether it was new; direct calls that are insisted on are tried now."""
        if self.found is not None and self._options.direct and not self.endless:
            self.way.run(*self._zeros)
        return super().compile()

    def ahead(self) -> Any:
        """A `jax.stages.Compiled` of it: what was loaded, until calls are run."""
        if self.found is not None:
            return self.found[1]
        super().prepare(*self._make)
        return super().ahead()

    def leave(self, error: Exception) -> bool:
        """What was loaded does not run here: it is compiled in its place. Whether it was loaded."""
        with self._lock:
            was_loaded, self.is_loaded, self.found, self.serialized = self.is_loaded, False, None, b""
            if was_loaded:
                self._stored.refusal = f"XLA does not run it: {_first_line(error)}"
                self._stored.state = f"compiled: {self._stored.refusal}"
                self.use(Way(self.compile_and_call, self.compile_and_call, ready=False))
            return was_loaded

    def _keep(self, compiled: Any) -> None:
        if self._stored.keep is None or jax_compat.execution(compiled, proven=False) is None:
            return
        try:
            self._stored.keep(Kept.of(self, compiled, platform_of(self._device)))
        except Exception as error:  # the call goes on without
            logging.getLogger("hlograph").info(f"{self.name} for {self.sizes} is not kept: {_first_line(error)}")

    def _load(self, check: Callable[[Signature], Check]) -> None:
        start = time.perf_counter()
        stored, numpy = self._stored, self._numpy
        device = self._device if self._device is not None else default_device()
        found = stored.load(device)
        if isinstance(found, str):
            stored.state = f"compiled: {found}"
            return
        self.found = kept, loaded = found
        self.serialized, self.endless, self.work = jax_compat.in_pickle(kept.data[0]), kept.endless, kept.work
        self.name, self.signature, self.checks = kept.name, kept.signature, kept.signature.checks
        self._check, self.notes = check(kept.signature), kept.notes
        calls = None
        direct = numpy is not None and jax_compat.execution(loaded, proven=False) is not None
        if numpy is None or not direct or not lies_in_memory(self.signature, device):
            call = self._in_jax(kept, loaded)
            call = call if numpy is None else by_jax(call, self.signature, numpy, None)
            way = Way(call, call)
        else:
            calls = numpy_calls(loaded, self.signature, numpy, kept.places, device, self._check)
            way = calls.way()

        def settle(args: Sequence[Any]) -> None:
            with self._lock:
                if self.way is first:
                    may = kept.direct and self._options.direct is not False
                    self._begin(way if calls is None else self._in_numpy(calls, args, len(kept.data[0]), may))
                    self.found, self.serialized = None, b""

        def at_first(run: Callable[..., Any]) -> Callable[..., Any]:
            """The first call tells whether XLA runs it, too; where it does not, it is left for a compile."""

            def call(*args: Any) -> Any:
                try:
                    outputs = run(*args)
                except jax.errors.JaxRuntimeError as error:
                    self.leave(error)
                    return self.way.run(*args)
                settle(args)
                return outputs

            return call

        first = Way(at_first(way.run), at_first(way.trusting))
        self.use(first)
        self.is_loaded = True
        stored.state = f"loaded in {1e3 * (time.perf_counter() - start):.1f} ms"
        self.account.loaded.increment()

    def _in_jax(self, kept: Kept, loaded: Any) -> Callable[..., Any]:
        arguments = self.signature.arguments
        dtypes = [argument.dtype for argument in arguments]

        def in_jax(*args: Any) -> Any:
            given = args if [getattr(x, "dtype", None) for x in args] == dtypes else converted(arguments, args)
            try:
                found = outside(lambda: loaded(*given))
            except (TypeError, ValueError):  # tracers, arrays on other devices or of other shapes
                return self.compile_and_call(*args)
            outputs = unpacked(kept.places, jax.tree.leaves(found))
            return outputs[0] if is_single(self.signature) else tuple(outputs)

        return in_jax


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
